"""`_ts`, the timestamps of a stream, wherever a name can stand.

A query may be made before anything has said what kind of time the database has. It must then have
the elements that it has if the kind of time was known from the beginning.
"""

from __future__ import annotations

import datetime

import pytest

import cqlduck

TABLES = "CREATE STREAM s (k INTEGER, v BIGINT); CREATE STREAM t (k INTEGER, w BIGINT);"
KNOWN = {
    "integer": "CREATE STREAM known (at BIGINT) TIMESTAMP BY at;",
    "wall": "CREATE STREAM known (at TIMESTAMP) TIMESTAMP BY at;",
}
ROWS = [(1, 10), (2, 20), (1, None), (3, 10), (2, 5)]
AT = [3, 4, 4, 9, 11]
QUERIES = [
    "SELECT _ts AS x FROM s [ROWS 10]",
    "SELECT _ts AS x FROM s [ROWS 2 SLIDE 2]",
    "SELECT k, s._ts AS x FROM s [NOW]",
    "SELECT k, _ts AS x FROM s [RANGE 5 SECONDS]",
    "SELECT k, _ts AS x FROM s [HOP 4 SECONDS EVERY 2 SECONDS] WHERE v > 5",
    "SELECT _ts AS x FROM s [PARTITION BY k ROWS 1]",
    "SELECT k FROM s [PARTITION BY _ts ROWS 1]",
    "SELECT max(_ts) AS m, count(*) AS n FROM s [RANGE 5 SECONDS]",
    "SELECT _ts = _ts AS x, typeof(_ts) AS y FROM s",
    "SELECT Dstream(_ts AS x) FROM s [ROWS 1]",
    "SELECT x + d AS later FROM (SELECT _ts - _ts AS d, _ts AS x FROM s [ROWS 2]) y",
    "SELECT a.k FROM s [ROWS 9] a JOIN t [ROWS 9] b ON a._ts = b._ts",
    "SELECT _ts AS x FROM s [ROWS 9] ORDER BY x LIMIT 2",
    "SELECT k FROM s [ROWS 9] WHERE _ts = (SELECT max(_ts) FROM t [ROWS 3])",
    "SELECT _ts AS x FROM s [ROWS 2] UNION ALL SELECT _ts AS x FROM t [ROWS 1]",
]


def moment(kind: str, instant: int) -> object:
    start = datetime.datetime(2020, 1, 1)
    return instant if kind == "integer" else start + datetime.timedelta(seconds=instant)


def run(con: cqlduck.Connection, kind: str, queries: list[str]) -> list[object]:
    at = [moment(kind, instant) for instant in AT]
    con.append("s", ROWS[:3], at=at[:3])
    con.append("t", ROWS[1:4], at=at[1:4])
    con.advance(moment(kind, 6))
    con.append("s", ROWS[3:], at=at[3:])
    con.append("t", ROWS[4:], at=at[4:])
    con.advance(moment(kind, 20))
    found = []
    for name in queries:
        relation = con.changes(name)
        found.append((relation.types, sorted(relation.fetchall(), key=repr)))
    return found


@pytest.mark.parametrize("kind", ["integer", "wall"])
def test_a_query_is_the_same_whether_the_kind_of_time_was_known_before_it_or_not(kind):
    queries = QUERIES if kind == "wall" else QUERIES[::4]
    names = [f"q{place}" for place in range(len(queries))]
    made = ";".join(
        f"CREATE CONTINUOUS QUERY {name} AS {query}"
        for name, query in zip(names, queries, strict=True)
    )
    # a query over another one gets the types that the inner one has in the end
    made += "; CREATE CONTINUOUS QUERY over_q0 AS SELECT max(x) AS m FROM q0"
    found = []
    for first in (TABLES + made, KNOWN[kind] + TABLES + made):
        with cqlduck.connect() as con:
            con.execute(first)
            if first.startswith(KNOWN[kind]):
                con.heartbeat("known", moment(kind, 20))
            found.append(run(con, kind, [*names, "over_q0"]))
    unknown, known = found
    for query, ours, theirs in zip([*queries, "over q0"], unknown, known, strict=True):
        assert theirs == ours, query
        assert ours[1], query


def test_a_file_is_opened_again_after_its_kind_of_time_was_learned(tmp_path):
    path = tmp_path / "late.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(TABLES)
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT _ts AS x FROM s [ROWS 2]")
    with cqlduck.connect(path) as con:
        con.append("s", ROWS[:1], at=moment("wall", 3))
        con.advance(moment("wall", 4))
        assert [(moment("wall", 3),)] == con.table("q").fetchall()
    with cqlduck.connect(path) as con:
        assert [(moment("wall", 3),)] == con.table("q").fetchall()
        con.append("s", ROWS[:1], at=moment("wall", 5))
        con.advance(moment("wall", 6))
        assert [(moment("wall", 3),), (moment("wall", 5),)] == con.table("q").fetchall()


def test_a_query_that_does_not_fit_the_kind_of_time_is_named_and_can_be_dropped():
    with cqlduck.connect() as con:
        con.execute(TABLES)
        con.execute("CREATE CONTINUOUS QUERY sums AS SELECT sum(_ts) AS x FROM s [ROWS 2]")
        with pytest.raises(cqlduck.BindError, match="query sums") as error:
            con.append("s", ROWS[:1], at=moment("wall", 3))
        assert "DROP CONTINUOUS QUERY sums" in error.value.hint
        assert [] == con.sql("FROM s").fetchall()
        con.execute("DROP CONTINUOUS QUERY sums")
        con.append("s", ROWS[:1], at=moment("wall", 3))
        assert 1 == len(con.sql("FROM s").fetchall())


def test_what_does_not_fit_a_time_whose_kind_is_open_says_so():
    text = "CREATE CONTINUOUS QUERY q AS SELECT date_trunc('minute', _ts) AS m FROM s"
    with cqlduck.connect() as con:
        con.execute(TABLES)
        with pytest.raises(cqlduck.BindError) as caught:
            con.execute(text)
        assert "wall-clock" in caught.value.hint
        con.heartbeat("s", "2024-01-01")
        con.execute(text)
    with cqlduck.connect() as con:
        con.execute(TABLES + KNOWN["integer"])
        with pytest.raises(cqlduck.BindError) as caught:
            con.execute(text)
        assert not caught.value.hint
