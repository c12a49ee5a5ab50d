"""DROP … CASCADE: what reads what is dropped goes too, and nothing else does."""

import random
from pathlib import Path

import pytest

import cqlduck

INPUTS = """
    CREATE STREAM s (k INTEGER, v INTEGER);
    CREATE STREAM t (k INTEGER, v INTEGER);
    CREATE RELATION r (k INTEGER, v INTEGER);
"""
FORMS = [
    # of one shape: these are computed together
    "SELECT k, count(*) AS v FROM {} WHERE v > {} GROUP BY k",
    "SELECT k, max(v) AS v FROM {} GROUP BY k",
    "SELECT a.k, b.v FROM {} AS a, {} AS b WHERE a.k = b.k",
    "SELECT DISTINCT k, v FROM {}",
]
WINDOWS = {"s": "s [RANGE 5 SECONDS]", "t": "t [RANGE 3 SECONDS]"}
ROWS = ("operators", "plans", "statements", "synopses", "stubs", "query_rows", "input_rows",
        "open_batches")  # fmt: skip


def left(con: cqlduck.Connection) -> set[str]:
    """Return the tables that there are, and those of the catalogue that have rows."""
    tables = con.sql(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'cqlduck' "
        "UNION ALL SELECT view_name FROM duckdb_views() WHERE database_name = 'cqlduck' "
        "AND NOT internal"
    )
    found = {name for (name,) in tables.fetchall()}
    # those of ticks, which only the engine's own connection sees
    made = con.engine.database.rows(
        "SELECT table_name FROM duckdb_tables() WHERE temporary "
        "UNION ALL SELECT view_name FROM duckdb_views() WHERE starts_with(view_name, '_cql_fresh')"
    )
    found |= {name for (name,) in made}
    for name in ROWS:
        if con.sql(f"FROM cql_state.{name} LIMIT 1").fetchall():
            found.add(f"rows of {name}")
    return found


def read(names: list[str], form: str, drawn: random.Random) -> tuple[str, set[str]]:
    """Return a query over some of what there is, and what it reads."""
    chosen = [drawn.choice(names) for _ in range(2)]
    text = form.format(*(WINDOWS.get(name, name) for name in chosen))
    if "> {}" in form:
        text = form.format(WINDOWS.get(chosen[0], chosen[0]), drawn.randrange(3))
        chosen = chosen[:1]
    elif form.count("{}") == 1:
        chosen = chosen[:1]
    return text, set(chosen)


def fill(con: cqlduck.Connection, at: int) -> None:
    for name in ("s", "t", "r"):
        if name in con.streams or name in con.relations:
            con.append(name, [(k % 3, k + at) for k in range(4)], at=at)
    con.advance(at)


@pytest.mark.parametrize("seed", range(6))
def test_what_depends_on_it_goes_and_nothing_else(seed: int, tmp_path: Path) -> None:
    drawn = random.Random(seed)
    path = ":memory:" if seed % 2 else str(tmp_path / "a.duckdb")
    con = cqlduck.connect(path)
    fresh = left(con)
    con.execute(INPUTS)
    reads: dict[str, set[str]] = {}
    for number in range(8):
        text, below = read(["s", "t", "r", *reads], drawn.choice(FORMS), drawn)
        name = f"q{number}"
        con.execute(f"CREATE CONTINUOUS QUERY {name} AS {text}")
        reads[name] = below
    fill(con, now := 1)
    things = ["s", "t", "r", *reads]
    while things:
        gone = {drawn.choice(things)}
        for name, below in reads.items():
            if below & gone:
                gone.add(name)
        (first,) = [name for name in things if name in gone][:1]
        # what is registered first of these is what all others depend on
        kind = {"s": "STREAM", "t": "STREAM", "r": "RELATION"}.get(first, "CONTINUOUS QUERY")
        if len(gone) > 1:
            with pytest.raises(cqlduck.CatalogError, match="is read by") as caught:
                con.execute(f"DROP {kind} {first}{drawn.choice(['', ' RESTRICT'])}")
            assert "CASCADE" in (caught.value.hint or "")
        con.execute(f"DROP {kind} {first} CASCADE")
        things = [name for name in things if name not in gone]
        reads = {name: below for name, below in reads.items() if name not in gone}
        assert set(things) == {*con.streams, *con.relations, *con.queries}
        if seed % 2 == 0 and drawn.random() < 0.3:
            con.close()
            con = cqlduck.connect(path)
        if drawn.random() < 0.4:
            assert [] == con.check().filter("state <> 'right'").fetchall()
        fill(con, now := now + 1)
    assert fresh == left(con)
    con.close()


def test_elements_that_wait_in_memory_leave_no_view_behind() -> None:
    with cqlduck.connect() as con:
        con.execute(INPUTS)
        fresh = left(con)
        for at in range(3):
            con.execute(f"CREATE CONTINUOUS QUERY q{at} AS SELECT k, v FROM s WHERE v > 1")
            con.append("s", [(1, 2), (2, 3)], at=at)
            con.advance(at)
            assert [(1, 2), (2, 3)] == con.sql(f"SELECT k, v FROM q{at} ORDER BY k").fetchall()
            con.execute(f"DROP CONTINUOUS QUERY q{at}")
        assert fresh == left(con)


def test_what_is_left_goes_on_as_before() -> None:
    """A member of a family goes with what it reads; its sisters, which read the same, too."""
    with cqlduck.connect() as con, cqlduck.connect() as other:
        for one in (con, other):
            one.execute(INPUTS)
            one.execute("""
                CREATE CONTINUOUS QUERY kept AS SELECT k, max(v) AS v FROM s [RANGE 3 SECONDS]
                    WHERE v > 1 GROUP BY k;
            """)
        con.execute("""
            CREATE CONTINUOUS QUERY gone AS SELECT k, max(v) AS v FROM s [RANGE 3 SECONDS]
                WHERE v > 0 GROUP BY k;
            CREATE CONTINUOUS QUERY above AS SELECT g.k FROM gone AS g, t [RANGE 3 SECONDS] AS t
                WHERE g.k = t.k;
        """)
        for one in (con, other):
            fill(one, 1)
        con.execute("DROP CONTINUOUS QUERY gone CASCADE")
        assert ["kept"] == [*con.queries]
        for at in (2, 3, 9):
            for one in (con, other):
                fill(one, at)
            rows = [one.changes("kept").fetchall() for one in (con, other)]
            assert sorted(rows[0]) == sorted(rows[1])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DROP STREAM nothing CASCADE", "there is no stream"),
        ("DROP STREAM s CASCADES", "should end here"),
        ("DROP STREAM s CASCADE CASCADE", "should end here"),
        ("DROP STREAM r CASCADE", "there is no stream"),
    ],
)
def test_what_cannot_be_dropped_is_refused(text: str, said: str) -> None:
    with cqlduck.connect() as con:
        con.execute(INPUTS)
        with pytest.raises(cqlduck.Error, match=said):
            con.execute(text)
        con.execute("DROP STREAM IF EXISTS nothing CASCADE")
        assert ["s", "t"] == [*con.streams]
