"""The bases of condensed logs, as people see them: in `cql.stores` and in EXPLAIN ANALYZE."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import cqlduck
from cqlduck.state import condensed, inspection

CREATE = """
    CREATE STREAM s (k INTEGER, v INTEGER);
    CREATE RELATION r (k INTEGER, v INTEGER);
    CREATE CONTINUOUS QUERY few AS SELECT k, v FROM r WHERE v < 3;
"""
PAIRS = "SELECT a.v AS k, b.v FROM few AS a, few AS b WHERE a.k = b.k"
WHY = "reads it, and the log after it"


@pytest.fixture(autouse=True)
def _short_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(condensed, "TAIL", 3)


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as connection:
        connection.execute(CREATE)
        yield connection


MEMBERS = """
    CREATE CONTINUOUS QUERY low AS SELECT k, count(*) AS n FROM s [RANGE 9] WHERE v > 1 GROUP BY k;
    CREATE CONTINUOUS QUERY high AS SELECT k, count(*) AS n FROM s [RANGE 9] WHERE v > 2 GROUP BY k;
    CREATE CONTINUOUS QUERY on_low AS SELECT a.k FROM low AS a, low AS b WHERE a.n = b.n;
    CREATE CONTINUOUS QUERY on_high AS SELECT a.k FROM high AS a, high AS b WHERE a.n = b.n;
    CREATE CONTINUOUS QUERY more AS SELECT k, max(n) AS n FROM low WHERE n > 1 GROUP BY k;
    CREATE CONTINUOUS QUERY most AS SELECT k, max(n) AS n FROM low WHERE n > 2 GROUP BY k;
"""


def run(con: cqlduck.Connection, first: int, last: int) -> None:
    for at in range(first, last + 1):
        con.append("s", [(at % 3, 3)], at=at)
        con.append("r", [(0, at % 4)], at=at)
        con.advance(at)


LISTED = (
    "SELECT name, table_name, row_count, first_instant, last_instant "
    "FROM cql.stores WHERE kind = 'base' ORDER BY ALL"
)


def listed(con: cqlduck.Connection) -> list[Any]:
    """Return what `cql.stores` says of the bases, which is what there is."""
    found = con.sql(LISTED).fetchall()
    tables = con.sql(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'cql_state' "
        "AND starts_with(table_name, 'base_')"
    ).fetchall()
    assert sorted(f'cql_state."{table}"' for (table,) in tables) == sorted(row[1] for row in found)
    for _, table, count, first, last in found:
        rows = con.sql(f"SELECT count(*), min(_ts)::VARCHAR, max(_ts)::VARCHAR FROM {table}")
        assert [(count, first, last)] == rows.fetchall()
    return found


def base_of(con: cqlduck.Connection, name: str) -> Any:
    """Return the row of the base of a query."""
    (found,) = (row for row in listed(con) if row[0] == name)
    return found


def held(con: cqlduck.Connection, name: str) -> list[Any]:
    """Return who holds the base of a query: from when on, and why."""
    sql = "SELECT unnest(held_by, recursive := true) FROM cql.stores WHERE name = ?"
    return con.engine.database.rows(sql, [name])


# -- cql.stores -----------------------------------------------------------------------------------


def test_a_query_that_nobody_reads_has_none(con: cqlduck.Connection) -> None:
    run(con, 0, 9)
    assert [] == listed(con)


def test_a_base_is_listed_with_its_rows_and_its_instant(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {PAIRS}")
    assert [("few", 'cql_state."base_few"', 0, None, None)] == listed(con)
    run(con, 0, 20)
    ((_, _, rows, first, last),) = listed(con)
    (at,) = con.engine.condensed.of("few")
    assert (3, str(at), str(at)) == (rows, first, last)


def test_a_stream_that_is_read_has_none(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE CONTINUOUS QUERY new AS SELECT Istream(k, v) FROM few;
        CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM new [RANGE 5];
    """)
    assert ["few"] == [row[0] for row in listed(con)]


def test_a_base_says_who_reads_it(con: cqlduck.Connection) -> None:
    con.execute(f"""
        CREATE CONTINUOUS QUERY q AS {PAIRS};
        CREATE CONTINUOUS QUERY other AS SELECT max(v) AS v FROM few;
    """)
    assert [(name, None, WHY) for name in ("other", "q")] == held(con, "few")
    con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
    still = f"{WHY}, and it stands still (inactive)"
    assert [("other", None, WHY), ("q", None, still)] == held(con, "few")


def test_stores_of_inputs_are_listed_as_before(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {PAIRS}")
    run(con, 0, 9)
    assert [("r", "relation", 10), ("few", "base", 3)] == con.sql(
        "SELECT name, kind, row_count FROM cql.stores WHERE name <> 's'"
    ).fetchall()
    columns = con.sql("FROM cql.stores").columns
    assert "name kind table_name row_count first_instant last_instant forgotten_until held_by" == (
        " ".join(columns)
    )


def test_members_of_a_family_have_bases_of_their_own(con: cqlduck.Connection) -> None:
    con.execute(f"""
        CREATE CONTINUOUS QUERY some AS SELECT k, v FROM r WHERE v < 2;
        CREATE CONTINUOUS QUERY q AS {PAIRS.replace("few", "some")};
        CREATE CONTINUOUS QUERY p AS {PAIRS};
    """)
    run(con, 0, 20)
    assert [("few", 3), ("some", 2)] == [(row[0], row[2]) for row in listed(con)]
    for name in ("few", "some"):
        con.execute(f"CREATE CONTINUOUS QUERY last_{name} AS SELECT max(k) AS k FROM {name}")
    run(con, 21, 30)
    assert ["few", "some"] == [row[0] for row in listed(con)]


def test_a_member_keeps_its_row_when_it_stands_still_or_leaves(con: cqlduck.Connection) -> None:
    con.execute(MEMBERS)
    assert con.plan("low").family == ("low", "high")
    run(con, 0, 19)
    assert ["high", "low"] == [row[0] for row in listed(con)]
    con.execute("ALTER CONTINUOUS QUERY low DEACTIVATE")
    run(con, 20, 29)
    assert ["high", "low"] == [row[0] for row in listed(con)]
    con.execute("ALTER CONTINUOUS QUERY low ACTIVATE")
    run(con, 30, 39)
    assert 3 == base_of(con, "low")[2]
    con.execute("ALTER CONTINUOUS QUERY low SET (sharing = false)")
    assert 0 == base_of(con, "low")[2]
    run(con, 40, 59)
    assert [("high", 3), ("low", 3)] == [(row[0], row[2]) for row in listed(con)]


def test_a_query_that_is_merged_keeps_its_row(con: cqlduck.Connection) -> None:
    count = "SELECT k, count(*) AS n FROM s [RANGE 9] GROUP BY k"
    for first, name in ((0, "one"), (10, "two")):
        con.execute(f"""
            CREATE CONTINUOUS QUERY {name} AS {count};
            CREATE CONTINUOUS QUERY on_{name} AS SELECT a.k FROM {name} AS a, {name} AS b
                WHERE a.n = b.n;
        """)
        run(con, first, first + 9)
    run(con, 20, 50)
    assert con.plan("two").family == ("one", "two")
    assert [("one", 3), ("two", 3)] == [(row[0], row[2]) for row in listed(con)]


def test_a_base_of_a_query_that_stands_still_is_listed(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {PAIRS}")
    run(con, 0, 9)
    then = listed(con)
    con.execute("ALTER CONTINUOUS QUERY few DEACTIVATE")
    run(con, 10, 20)
    assert then == listed(con)
    con.execute("ALTER CONTINUOUS QUERY few ACTIVATE FROM NOW")
    run(con, 21, 30)
    assert 3 == base_of(con, "few")[2]


def test_a_replaced_query_has_one_row(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {PAIRS}")
    run(con, 0, 9)
    con.execute("CREATE OR REPLACE CONTINUOUS QUERY Few AS SELECT k, v FROM r WHERE v < 2")
    run(con, 10, 20)
    assert 2 == base_of(con, "few")[2]


@pytest.mark.parametrize(
    "statement",
    [
        "DROP CONTINUOUS QUERY q",
        "DROP CONTINUOUS QUERY few CASCADE",
        "DROP RELATION r CASCADE",
        "CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT k FROM r",
    ],
)
def test_no_base_is_left_that_nobody_reads(
    con: cqlduck.Connection, statement: str, tmp_path: Path
) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {PAIRS}")
    run(con, 0, 9)
    assert listed(con)
    con.execute(statement)
    assert [] == listed(con)
    with cqlduck.connect(con.snapshot(tmp_path / "a.duckdb")) as again:
        assert [] == listed(again)


def test_a_base_that_an_earlier_build_left_goes_with_the_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One stayed there until its query was dropped, although nobody read it any more."""
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {PAIRS}")
        run(con, 0, 9)
        with monkeypatch.context() as patch:
            patch.setattr(condensed.Condensed, "drop_unread", lambda self: None)
            con.execute("DROP CONTINUOUS QUERY q")
        assert listed(con)
    with cqlduck.connect(path) as con:
        assert [] == listed(con)


def undone(con: cqlduck.Connection, statement: str) -> None:
    with con.engine.still(), con.engine.changing():
        con.execute(statement)
        raise RuntimeError


def test_what_is_undone_is_not_listed(con: cqlduck.Connection) -> None:
    statement = f"CREATE CONTINUOUS QUERY q AS {PAIRS}"
    with pytest.raises(RuntimeError):
        undone(con, statement)
    assert [] == listed(con)
    con.execute(statement)
    run(con, 0, 9)
    then = listed(con)
    with pytest.raises(RuntimeError):
        undone(con, "DROP CONTINUOUS QUERY q")
    assert then == listed(con)


def test_a_file_lists_them_to_any_shell(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {PAIRS}")
        run(con, 0, 9)
        then = listed(con)
    with duckdb.connect(path, read_only=True) as shell:
        assert then == shell.sql(LISTED).fetchall()
    with cqlduck.connect(path) as con:
        assert then == listed(con)
        run(con, 10, 20)
        assert then != listed(con)
        con.execute("DROP CONTINUOUS QUERY few CASCADE")
        assert [] == listed(con)


def test_a_file_of_an_earlier_build_lists_them_too(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {PAIRS}")
        run(con, 0, 9)
        then = listed(con)
    with duckdb.connect(path) as old:
        old.execute("DROP VIEW cql_state.bases; DROP VIEW cql_state.bases_0")
        old.execute("CREATE OR REPLACE VIEW cql.stores AS SELECT 'an earlier build' AS name")
    with cqlduck.connect(path) as con:
        assert then == listed(con)


def test_they_are_listed_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "PAGE", 2)
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path, sharing=False) as con:
        con.execute(CREATE)
        for number in range(5):
            con.execute(f"""
                CREATE CONTINUOUS QUERY p{number} AS SELECT k, v FROM r WHERE v < {number};
                CREATE CONTINUOUS QUERY q{number} AS {PAIRS.replace("few", f"p{number}")};
            """)
        run(con, 0, 20)
        rows = [(f"p{number}", min(number, 4)) for number in range(5)]
        assert rows == [(row[0], row[2]) for row in listed(con)]
        con.execute("DROP CONTINUOUS QUERY p2 CASCADE; DROP CONTINUOUS QUERY q4")
        assert ["p0", "p1", "p3"] == [row[0] for row in listed(con)]
    monkeypatch.setattr(inspection, "PAGE", 3)
    with cqlduck.connect(path) as con:
        assert ["p0", "p1", "p3"] == [row[0] for row in listed(con)]
        con.execute("DROP RELATION r CASCADE")
        assert [] == listed(con)
        pages = "SELECT view_name FROM duckdb_views() WHERE starts_with(view_name, 'bases_')"
        assert [] == con.sql(pages).fetchall()


@pytest.mark.parametrize("name", ["bases", "rows", "s_0", '"bases_0"', '"it\'s"', "of_x"])
def test_no_name_of_a_query_is_in_the_way(con: cqlduck.Connection, name: str) -> None:
    con.execute(f"""
        CREATE CONTINUOUS QUERY {name} AS SELECT k, sum(v) AS v FROM r GROUP BY k;
        CREATE CONTINUOUS QUERY q AS {PAIRS.replace("few", name)};
    """)
    run(con, 0, 9)
    assert [name.strip('"')] == [row[0] for row in con.sql(LISTED).fetchall()]
    assert [(1,)] == con.sql(f"SELECT count(*) FROM {name}").fetchall()


def test_a_tick_runs_no_statement_for_it(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {PAIRS}")
    run(con, 0, 9)
    said: list[str] = []
    con.engine.database.trace = lambda text, _: said.append(text)
    run(con, 10, 30)
    assert any("base_few" in text for text in said)
    assert [] == [text for text in said if "cql_state.bases" in text or '"bases_' in text]


# -- EXPLAIN ANALYZE ------------------------------------------------------------------------------


def explained(con: cqlduck.Connection, query: str) -> str:
    rows = con.execute(f"EXPLAIN ANALYZE CONTINUOUS QUERY {query}").fetchall()
    return "\n".join(" ".join(map(str, row)) for row in rows)


def test_explain_analyze_says_how_many_rows_of_a_base_are_read(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {PAIRS}")
    assert "relation: base has 0 rows, 0.0 kB" in explained(con, "q")
    run(con, 0, 20)
    assert "relation: base has 3 rows, 0.1 kB" in explained(con, "q")
    assert "base has" not in explained(con, "few")
    assert "base has" not in con.explain("q")


def test_a_plan_has_the_base_beside_the_log(con: cqlduck.Connection) -> None:
    con.execute(f"""
        CREATE CONTINUOUS QUERY q AS {PAIRS};
        CREATE CONTINUOUS QUERY other AS SELECT max(v) AS v FROM few;
    """)
    run(con, 0, 20)
    plan = con.plan("q", analyze=True)
    log, base = next(one.synopses for one in plan.operators if one.kind == "relation")
    assert ("log", "base") == (log.kind, base.kind)
    assert ('cql_state."base_few"', ("q", "other"), 3) == (base.table, base.readers, base.rows)
    assert "is bounded by the answer of few" == base.bound
    assert '[("base<br/>3 rows<br/>2 readers")] -->' in plan.mermaid()


def test_a_plan_over_a_stream_has_no_base(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE CONTINUOUS QUERY new AS SELECT Istream(k, v) FROM few;
        CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM new [RANGE 5];
    """)
    assert {"log"} == {
        one.kind for operator in con.plan("q").operators for one in operator.synopses
        if operator.kind == "stream"
    }  # fmt: skip


def test_explain_analyze_of_a_member_says_it_of_its_family(con: cqlduck.Connection) -> None:
    con.execute(MEMBERS)
    run(con, 0, 19)
    assert con.plan("more").family == ("more", "most")
    for query in ("on_low", "more", "most"):
        assert "relation: base has 3 rows" in explained(con, query)
