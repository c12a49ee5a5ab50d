"""SysStream: what operators did, read by queries."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import cqlduck

APPLICATION = """
    CREATE STREAM s (k INTEGER, v INTEGER);
    CREATE CONTINUOUS QUERY sums AS
        SELECT k, sum(v) AS total FROM s [RANGE 10 SECONDS] WHERE v > 3 GROUP BY k;
"""
RAW = "CREATE CONTINUOUS QUERY raw AS SELECT query, operator, property, value FROM SysStream"


@pytest.fixture(params=["memory", "a file"])
def con(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[cqlduck.Connection]:
    path = ":memory:" if request.param == "memory" else str(tmp_path / "a.duckdb")
    with cqlduck.connect(path) as connection:
        # in one form, so that all ticks have the same statements
        connection.pin("stages", "staged")
        yield connection


def rows(con: cqlduck.Connection, name: str = "raw") -> list[tuple[object, ...]]:
    """Return what the stream had of all but seconds, sorted."""
    found = con.changes(name).filter("property <> 'seconds'").fetchall()
    return sorted(found, key=repr)


def feed(con: cqlduck.Connection, at: int, count: int = 10) -> None:
    con.append("s", [(n % 3, n) for n in range(count)], at=at)
    con.advance(at)


def test_each_tick_says_what_operators_did_at_the_instant_that_they_reached(
    con: cqlduck.Connection,
) -> None:
    con.execute(APPLICATION + RAW)
    feed(con, 5)
    feed(con, 7, 5)
    expected = [
        # of ten elements six have v > 3, of three keys; each gets a tuple
        ("sums", 1, "rows_in", 10.0, 5, 1),
        ("sums", 1, "rows_out", 3.0, 5, 1),
        ("sums", 1, "selectivity", 0.3, 5, 1),
        ("sums", 0, "rows_in", 3.0, 5, 1),
        ("sums", 0, "rows_out", 3.0, 5, 1),
        ("sums", 0, "selectivity", 1.0, 5, 1),
        ("sums", None, "rows_out", 3.0, 5, 1),
        # of five elements one, whose key had a tuple
        ("sums", 1, "rows_in", 5.0, 7, 1),
        ("sums", 1, "rows_out", 1.0, 7, 1),
        ("sums", 1, "selectivity", 0.2, 7, 1),
        ("sums", 0, "rows_in", 1.0, 7, 1),
        ("sums", 0, "rows_out", 2.0, 7, 1),
        ("sums", 0, "selectivity", 2.0, 7, 1),
        ("sums", None, "rows_out", 2.0, 7, 1),
    ]
    assert sorted(expected, key=repr) == rows(con)
    took = con.changes("raw").filter("property = 'seconds' AND value > 0")
    # of two operators, and of the query
    assert 2 * 3 == len(took.fetchall())
    # who reads it is where the others are
    frontiers = con.sql("SELECT DISTINCT frontier FROM cql.queries").fetchall()
    assert [("7",)] == frontiers
    assert [] == con.check().filter("state <> 'right'").fetchall()


def test_a_test_of_selectivity_over_some_time(con: cqlduck.Connection) -> None:
    con.execute(APPLICATION)
    con.execute("""
        CREATE CONTINUOUS QUERY busy AS
            SELECT query, operator, avg(value) AS selectivity FROM SysStream [RANGE 4 SECONDS]
            WHERE property = 'selectivity' AND operator = 1
            GROUP BY query, operator HAVING avg(value) > 0.25
    """)
    for at in range(1, 6):
        feed(con, at)
    assert [("sums", 1, pytest.approx(0.3))] == con.table("busy").fetchall()
    for at in range(6, 11):
        feed(con, at, 5)
    assert [] == con.table("busy").fetchall()
    # what no window needs goes
    store = con.sql('SELECT min(_ts) FROM cql_state."stream_SysStream"').fetchall()
    for at in range(11, 60):
        feed(con, at, 1)
    assert con.sql('SELECT min(_ts) FROM cql_state."stream_SysStream"').fetchall() > store


def test_in_memory_its_rows_wait_beside_the_store(tmp_path: Path) -> None:
    """Answers are those of a file, where each tick writes them into the store."""
    answers = []
    for path in (":memory:", tmp_path / "a.duckdb"):
        with cqlduck.connect(path) as con:
            con.pin("stages", "staged")
            con.execute(APPLICATION)
            con.execute("""
                CREATE CONTINUOUS QUERY recent AS
                SELECT query, operator, property, sum(value) AS total
                FROM SysStream [RANGE 3 SECONDS] WHERE property <> 'seconds'
                GROUP BY query, operator, property
            """)
            store = 'SELECT count(*) FROM cql_state."stream_SysStream"'
            for at in range(1, 9):
                feed(con, at, at)
                stored = con.engine.database.value(store)
                assert (stored == 0) == (path == ":memory:")
            answers.append(sorted(con.changes("recent").fetchall(), key=repr))
            # once somebody has looked they go there
            assert con.sql(store).fetchall()[0][0] > 0
            feed(con, 9, 9)
            assert con.engine.database.value(store) > 0
            assert [] == con.check().filter("state <> 'right'").fetchall()
    assert answers[0] == answers[1]


def test_it_never_feeds_itself(con: cqlduck.Connection) -> None:
    con.execute(APPLICATION + RAW)
    con.execute("""
        CREATE CONTINUOUS QUERY above AS SELECT query, count(*) AS n FROM raw GROUP BY query;
        CREATE CONTINUOUS QUERY beside AS SELECT DISTINCT k FROM s [NOW];
        CREATE CONTINUOUS QUERY both AS SELECT y.query FROM s [NOW] x, SysStream [NOW] y;
    """)
    for at in (1, 2, 3):
        feed(con, at)
    assert {"sums", "beside"} == {row[0] for row in rows(con)}
    ticks = con.engine.ticks
    con.advance(3)
    assert ticks == con.engine.ticks


def test_it_is_there_while_it_is_read(con: cqlduck.Connection) -> None:
    con.execute(APPLICATION)
    feed(con, 1)
    assert ["s"] == [*con.streams]
    assert None is con.engine.catalogue.system
    con.execute("EXPLAIN CREATE CONTINUOUS QUERY x AS SELECT * FROM SysStream")
    con.execute("CREATE CONTINUOUS QUERY y AS SELECT 'SysStream' AS n FROM s [NOW]")
    for text in ("SELECT nothing FROM SysStream", "SELECT * FROM sysstream, nowhere"):
        with pytest.raises(cqlduck.Error):
            con.execute(f"CREATE CONTINUOUS QUERY x AS {text}")
    assert ["s"] == [*con.streams]
    con.execute(RAW)
    feed(con, 2)
    assert ["s", "SysStream"] == [*con.streams]
    # it began with its first reader
    assert {2} == {row[-2] for row in rows(con)}
    con.execute("CREATE OR REPLACE CONTINUOUS QUERY raw AS SELECT count(*) AS n FROM SysStream")
    assert ["s", "SysStream"] == [*con.streams]
    con.execute("CREATE OR REPLACE CONTINUOUS QUERY raw AS SELECT k FROM s [NOW]")
    assert ["s"] == [*con.streams]
    con.execute("DROP CONTINUOUS QUERY raw")
    con.execute(RAW)
    con.execute("DROP STREAM SysStream CASCADE")
    assert (["s"], ["sums", "y"]) == ([*con.streams], [*con.queries])
    con.execute(RAW)
    con.execute("DROP STREAM s CASCADE")
    assert ["SysStream"] == [*con.streams]
    con.execute("DROP CONTINUOUS QUERY raw")
    assert [] == [*con.streams]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM SysStream (a INTEGER)",
        "CREATE RELATION sysstream (a INTEGER)",
        "CREATE CONTINUOUS QUERY main.SYSSTREAM AS SELECT k FROM s",
        "DROP STREAM SysStream",
        "INSERT INTO SysStream VALUES ('a', 1, 'b', 2.0)",
        "ALTER STREAM SysStream HEARTBEAT 1",
    ],
)
def test_it_is_ours_alone(text: str) -> None:
    with cqlduck.connect() as con:
        con.execute(APPLICATION + RAW)
        feed(con, 1)
        found = rows(con)
        with pytest.raises(cqlduck.Error, match=r"(?i)sysstream"):
            con.execute(text)
        for call in (
            lambda: con.append("SysStream", [("a", 1, "b", 2.0)], at=2),
            lambda: con.heartbeat("sysstream", 9),
            lambda: con.tick({"SysStream": [("a", 1, "b", 2.0)]}, 2),
            lambda: con.register("SysStream", [1]),
        ):
            with pytest.raises(cqlduck.CatalogError, match="SysStream"):
                call()
        assert found == rows(con)


def test_a_query_that_stands_still_holds_it_back_no_longer_than_it_is_active(
    con: cqlduck.Connection,
) -> None:
    con.execute(APPLICATION + RAW)
    con.execute(
        "CREATE STREAM t (a INTEGER); CREATE CONTINUOUS QUERY slow AS SELECT a FROM t [NOW]"
    )
    feed(con, 1)
    con.append("s", [(1, 9)], at=5)
    con.heartbeat("s", 5)
    con.advance()
    # complete up to where the slowest is
    assert 1 == con.engine.catalogue.system.heartbeat  # type: ignore[union-attr]
    con.heartbeat("t", 4)
    con.advance()
    assert 4 == con.engine.catalogue.system.heartbeat  # type: ignore[union-attr]
    con.execute("ALTER CONTINUOUS QUERY slow DEACTIVATE")
    con.append("s", [(1, 9)], at=8)
    con.heartbeat("s", 8)
    con.advance()
    assert 8 == con.engine.catalogue.system.heartbeat  # type: ignore[union-attr]
    con.execute("ALTER CONTINUOUS QUERY slow ACTIVATE")
    con.heartbeat("t", 6)
    con.advance()
    con.advance(12)
    # behind what its readers have seen it is said at the next instant
    late = {(row[0], row[-2]) for row in rows(con)}
    assert {("sums", 1), ("sums", 5), ("sums", 8), ("slow", 1), ("slow", 4), ("slow", 9)} <= late


def test_a_query_whose_tick_runs_nothing_says_nothing(con: cqlduck.Connection) -> None:
    """Its window hops, and stays between two boundaries."""
    con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
    con.execute("CREATE CONTINUOUS QUERY hops AS SELECT count(*) AS n FROM s [TUMBLE 10 SECONDS]")
    con.execute(RAW)
    for at in (11, 12, 13, 24, 25):
        feed(con, at)
    said = [row[-2] for row in rows(con) if row[:3] == ("hops", None, "rows_out")]
    assert [11, 24] == said


def test_without_queries_to_speak_of_it_goes_with_the_inputs() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        con.execute(RAW)
        feed(con, 4)
        assert 4 == con.advance(4)
        con.execute(APPLICATION.split(";", 1)[1])
        feed(con, 6)
        con.execute("ALTER CONTINUOUS QUERY sums DEACTIVATE")
        feed(con, 8)
        assert 8 == con.queries["raw"].frontier
        # nobody reads what it keeps
        assert {6} == {row[-2] for row in rows(con)}


def test_the_members_of_a_family_are_named(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
    for n in range(3):
        con.execute(
            f"CREATE CONTINUOUS QUERY q{n} AS SELECT k, sum(v) AS t FROM s [RANGE 3 SECONDS] "
            f"WHERE k = {n} GROUP BY k"
        )
    con.execute(RAW)
    feed(con, 1)
    assert {"q0", "q1", "q2"} == {row[0] for row in rows(con)}


def test_a_restart_repeats_none(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path) as con:
        con.pin("stages", "staged")
        con.execute(APPLICATION + RAW)
        feed(con, 1)
        before = rows(con)
    with cqlduck.connect(path) as con:
        con.advance(1)
        assert before == rows(con)
        feed(con, 2)
        after = rows(con)
        assert len(after) > len(before)
        assert {1, 2} == {row[-2] for row in after}
        assert before == [row for row in after if row[-2] == 1]


def test_a_tick_that_is_undone_says_nothing() -> None:
    with cqlduck.connect() as con:
        con.execute(APPLICATION + RAW)
        con.execute("CREATE CONTINUOUS QUERY bad AS SELECT v::UTINYINT AS b FROM s [NOW]")
        feed(con, 1)
        con.append("s", [(1, 9)], at=2)
        con.append("s", [(1, -1)], at=3)
        with pytest.warns(RuntimeWarning, match="bad failed"):
            con.advance(3)
        of_sums = [row for row in rows(con) if row[:3] == ("sums", None, "rows_out")]
        instants = [row[-2] for row in of_sums]
        assert sorted(set(instants)) == instants
        assert con.queries["bad"].state == "failed"
        feed(con, 4)
        assert 4 in {row[-2] for row in rows(con)}


def test_wall_clock_time_and_what_does_not_adapt() -> None:
    with cqlduck.connect(adaptive=False) as con:
        con.execute("""
            CREATE STREAM s (v INTEGER, at TIMESTAMP) TIMESTAMP BY at;
            CREATE CONTINUOUS QUERY big AS SELECT v FROM s [NOW] WHERE v > 3;
        """)
        con.execute(RAW)
        con.append("s", [(v, "2026-01-01 12:00:00") for v in range(6)])
        con.advance("2026-01-01 12:00:01")
        # two begin and end
        (found,) = con.changes("raw").filter("operator IS NULL AND value = 4").fetchall()
        assert ("big", None, "rows_out") == found[:3]
        assert "2026-01-01 12:00:01" == str(found[4])[:19]
        assert "depends on how time is cut" in con.explain("raw")


@pytest.mark.parametrize("text", ["CREATE TABLE sysstream (a INTEGER)",
                                  'CREATE OR REPLACE VIEW "SysStream" AS SELECT 1 AS a',
                                  "CREATE STREAM SYSSTREAM (a INTEGER)"])  # fmt: skip
def test_its_name_is_reserved(con: cqlduck.Connection, text: str) -> None:
    with pytest.raises(cqlduck.CatalogError, match="SysStream is a reserved name"):
        con.execute(text)
