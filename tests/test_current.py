"""`current_timestamp` means τ: lifetimes from comparisons, against DuckDB at each instant."""

from __future__ import annotations

import datetime

import duckdb
import pytest
from sqlglot import exp, parse_one

import cqlduck
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.text.time import Clock

DAY = 86_400_000_000
BASES = (datetime.datetime(1969, 12, 30), datetime.datetime(2026, 2, 27))
OFFSETS = (0, 1, 999_999, 1_000_000, 3_600_000_000, DAY - 1, DAY + 7)
WALL = [
    "a > current_timestamp",
    "a >= now() - INTERVAL '5 minutes'",
    "a < now()",
    "a <= localtimestamp + INTERVAL 90 SECOND",
    "a = current_timestamp",
    "a > current_date",
    "a >= today() - 1",
    "a < current_date + INTERVAL '1 hour'",
    "a = current_date",
    "now() - a < INTERVAL '1 hour 30 minutes'",
    "a - transaction_timestamp() >= INTERVAL '2 hours'",
    "CAST(now() - INTERVAL '3 hours' AS DATE) < a",
]
INTEGER = [
    "a > current_timestamp",
    "a >= now() - 2",
    "now() + 3 >= a",
    "a = current_timestamp",
    "now() - a < 5",
    "a - now() >= -2",
    "current_timestamp - INTERVAL '3 seconds' <= a",
    "now() - a <= INTERVAL '2 seconds'",
]


@pytest.fixture(scope="module")
def plain():
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        yield con


def condition_of(text: str, clock: Clock) -> exp.Expr:
    tree = parse_one(f"SELECT 1 FROM s WHERE {text}", read="duckdb")
    return current_time.normalize(tree, clock).args["where"].this


def check(plain, text: str, kind: str, clock: Clock, values: list[str]) -> None:
    """Compare the lifetime that a condition gives a tuple with its truth around both ends."""
    condition = condition_of(text, clock)
    known = current_time.compared(condition, clock)
    assert known is not None
    if not current_time.is_exact(known, kind, clock):
        return
    ends = current_time.lifetime(known, kind, clock)
    shown = ", ".join("NULL" if end is None else end.sql("duckdb") for end in ends)
    truth = current_time.at(condition, clock, exp.column("tau")).sql("duckdb")
    for value in values:
        row = f"(SELECT CAST({value} AS {kind}) AS a) AS s"
        begin, end = plain.execute(f"SELECT {shown} FROM {row}").fetchone()
        near = {at + i for at in (begin, end) if at is not None for i in (-1, 0, 1)}
        near = {at for at in near if abs(at) * clock.granularity < 2**62} or {0}
        for tau in near:
            holds = plain.execute(
                f"SELECT {truth} FROM {row}, (SELECT CAST({tau} AS BIGINT) AS tau) AS i"
            ).fetchone()[0]
            lives = (ends[0] is None or (begin is not None and begin <= tau)) and (
                ends[1] is None or (end is not None and tau < end)
            )
            assert bool(holds) == lives, (text, kind, value, tau)


@pytest.mark.parametrize(
    "granularity",
    [1, 7_000_000, *(pytest.param(g, marks=pytest.mark.long) for g in (10**6, 5 * 3_600_000_000))],
)
@pytest.mark.parametrize("text", WALL)
def test_a_comparison_is_a_lifetime_on_wall_clock_time(plain, text, granularity):
    moments = [base + datetime.timedelta(microseconds=o) for base in BASES for o in OFFSETS]
    values = [f"TIMESTAMP '{moment}'" for moment in moments] + ["NULL"]
    for kind in ("TIMESTAMP", "DATE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S"):
        check(plain, text, kind, Clock("wall", granularity), values)


@pytest.mark.parametrize("text", INTEGER)
def test_a_comparison_is_a_lifetime_on_integer_time(plain, text):
    clock = Clock("integer")
    check(plain, text, "BIGINT", clock, ["-3", "0", "4", "NULL", "9223372036854775807"])
    check(plain, text, "UTINYINT", clock, ["0", "5"])
    check(plain, text, "DECIMAL(9,2)", clock, ["0.25", "-1.5", "3"])
    doubles = ["0.5", "-1.5", "3", "1e-20", "1e300", "'inf'", "'-inf'", "'nan'", "NULL"]
    check(plain, text, "DOUBLE", clock, doubles)


def test_an_infinite_timestamp_is_beyond_all_instants(con):
    con.execute("""
        CREATE STREAM clock (at TIMESTAMP) TIMESTAMP BY at;
        CREATE RELATION offers (name VARCHAR, until_ TIMESTAMP);
        CREATE CONTINUOUS QUERY open AS SELECT name FROM offers WHERE until_ > current_timestamp;
    """)
    rows = [("ever", "infinity"), ("never", "-infinity"), ("null", None), ("day", "2026-01-02")]
    con.append("offers", rows, at="2026-01-01")
    con.advance("2026-01-03")

    first, second = datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 2)
    assert {("ever", first, 1), ("day", first, 1), ("day", second, -1)} == set(
        con.changes("open").fetchall()
    )


def test_a_stream_forgets_what_a_comparison_with_its_timestamps_cannot_reach(con):
    con.execute("""
        CREATE STREAM s (k INTEGER, t BIGINT) TIMESTAMP BY t;
        CREATE CONTINUOUS QUERY fresh AS
            SELECT count(*) AS n FROM s WHERE t > current_timestamp - 5;
        CREATE CONTINUOUS QUERY same AS SELECT count(*) AS n FROM s [RANGE 4];
    """)
    con.append("s", [(1, t) for t in range(100)])
    for to in (3, 20, 99):
        con.advance(to)

    assert con.changes("same").fetchall() == con.changes("fresh").fetchall()
    assert con.sql("SELECT count(*) AS n FROM s").fetchall()[0][0] < 20


def test_a_granularity_lets_the_time_stand_anywhere(con_second):
    con = con_second
    con.execute("""
        CREATE STREAM s (k INTEGER, t TIMESTAMP) TIMESTAMP BY t;
        CREATE CONTINUOUS QUERY q AS
            SELECT localtimestamp AS now, count(*) AS n FROM s [RANGE 1 SECOND];
    """)
    con.append("s", [(1, "2026-01-01 00:00:00.25"), (2, "2026-01-01 00:00:01")])
    con.advance("2026-01-01 00:00:03.999999")

    at = [datetime.datetime(2026, 1, 1, 0, 0, s) for s in range(4)]
    come = [row[1:3] for row in con.changes("q").fetchall() if row[3] > 0]
    assert [(1, at[0]), (2, at[1]), (1, at[2]), (0, at[3])] == come
    assert [(at[3], 0)] == con.table("q").fetchall()


@pytest.fixture
def con_second():
    with cqlduck.connect(granularity="1 second") as con:
        yield con


def test_at_microseconds_the_time_stands_in_comparisons_only(con):
    con.execute("""
        CREATE STREAM s (k INTEGER, t TIMESTAMP) TIMESTAMP BY t;
        CREATE RELATION r (k INTEGER, until_ TIMESTAMP);
        CREATE CONTINUOUS QUERY q AS
            SELECT s.k, r.k AS partner FROM s [RANGE 1 HOUR] LEFT JOIN r
            ON s.k = r.k AND r.until_ > current_timestamp;
    """)
    with pytest.raises(cqlduck.NotSupportedError, match="every microsecond"):
        con.execute("CREATE CONTINUOUS QUERY no AS SELECT k, now() - t AS age FROM s [ROWS 5]")
    with pytest.raises(cqlduck.NotSupportedError, match="every microsecond"):
        con.execute("CREATE CONTINUOUS QUERY no AS SELECT k FROM s WHERE age(t) > INTERVAL 1 DAY")
    con.append("r", [(1, "2026-01-01 00:30")], at="2026-01-01")
    con.append("s", [(1, "2026-01-01 00:10")])
    con.advance("2026-01-01 01:00")

    come, turn = datetime.datetime(2026, 1, 1, 0, 10), datetime.datetime(2026, 1, 1, 0, 30)
    assert {(1, 1, come, 1), (1, 1, turn, -1), (1, None, turn, 1)} == set(
        con.changes("q").fetchall()
    )


def test_an_aggregate_of_the_time_alone_is_refused(con):
    """DuckDB would take it for an aggregate over the instants."""
    con.execute("CREATE STREAM s (t BIGINT) TIMESTAMP BY t")
    for call in ("max(current_timestamp % 3)", "count(*) FILTER (WHERE now() > 3)"):
        with pytest.raises(cqlduck.NotSupportedError, match="the current time alone"):
            con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT {call} FROM s [ROWS 5]")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT max(now() - t) AS oldest FROM s [ROWS 5]")
    con.append("s", [(1,), (3,)])
    con.advance(4)

    assert [(3,)] == con.table("q").fetchall()


def test_while_the_kind_of_time_is_open_the_time_has_no_type(con):
    con.execute("CREATE STREAM s (k INTEGER)")
    with pytest.raises(cqlduck.BindError, match="kind of time"):
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s WHERE k > current_timestamp")
    con.heartbeat("s", -1)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s WHERE k > current_timestamp")
    with pytest.raises(cqlduck.BindError, match="integer time"):
        con.execute("CREATE CONTINUOUS QUERY d AS SELECT current_date AS d FROM s [ROWS 1]")


def test_a_comparison_with_the_time_is_not_monotonic(con):
    con.execute("""
        CREATE STREAM s (t BIGINT) TIMESTAMP BY t;
        CREATE CONTINUOUS QUERY q AS SELECT t FROM s WHERE t < current_timestamp;
    """)
    assert [("relation",)] == con.sql("SELECT kind FROM cql.queries").fetchall()


@pytest.mark.parametrize(
    "body", ["SELECT t FROM s [ROWS 5 WHERE t > now()]", "SELECT t FROM s [ROWS 5] ORDER BY age(t)"]
)
def test_the_time_has_places_where_it_means_nothing(con, body):
    con.execute("CREATE STREAM s (t TIMESTAMP) TIMESTAMP BY t")
    with pytest.raises(cqlduck.NotSupportedError, match="cannot stand in"):
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")


def test_a_month_before_now_has_a_hint_of_its_own() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, at TIMESTAMP) TIMESTAMP BY at")
        with pytest.raises(cqlduck.NotSupportedError, match="no fixed length"):
            con.execute(
                "CREATE CONTINUOUS QUERY q AS SELECT k FROM s WHERE at > now() - INTERVAL '1 month'"
            )
