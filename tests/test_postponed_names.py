"""Names in queries whose subqueries show what may raise: each means what it means in DuckDB.

What a subquery shows and may raise is worked out in the text around it, so a name there becomes an
expression. A name may also be an alias, a field, a variable of a comprehension or a column further
in: as in DuckDB, which is asked at each instant, over the rows that stand.
"""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cqlduck

LAST, RANGE = 3, 1
S = [(0, 0, "3"), (0, 1, "4"), (1, 1, "4"), (1, 2, "5"), (2, 0, "3"), (3, 2, "5")]
R = [(0, 0), (0, 1), (1, 1), (1, 2)]
"""(instant, k, x) of the stream and (instant, k) of the relation; x follows from k, so no ties."""

LATE = "(SELECT k, x::INTEGER AS v, {'f': x::INTEGER} AS st FROM s [RANGE 1]) AS a"
JOINED = f"{LATE} JOIN r ON a.k = r.k"

QUERIES = (
    # the field of a struct
    f"SELECT st.f AS n FROM {JOINED}",
    f"SELECT a.st.f AS n FROM {JOINED}",
    f"SELECT st.* FROM {JOINED}",
    f"SELECT v.abs() AS n, a.v.abs() AS m FROM {JOINED}",
    # names of comprehensions and lambdas
    f"SELECT [v + 1 FOR v IN [1, 2]] AS l, a.v FROM {JOINED}",
    f"SELECT list_transform([1, 2], lambda v: v + 1) AS l, a.v FROM {JOINED}",
    f"SELECT list_transform([1, 2], lambda i: i + v) AS l FROM {JOINED}",
    # aliases: before a column in DISTINCT ON and as a term of ORDER BY
    f"SELECT DISTINCT ON (v) a.k // 2 AS v FROM {JOINED} ORDER BY v",
    f"SELECT -v AS v FROM {JOINED} ORDER BY v LIMIT 1",
    f"SELECT a.k FROM {JOINED} WHERE a.k IN (SELECT max(k) AS v FROM r GROUP BY ALL HAVING v > 0)",
    # and behind it elsewhere
    f"SELECT -v AS v FROM {JOINED} ORDER BY v + 0 LIMIT 1",
    f"SELECT -v AS v, list(a.k ORDER BY v) AS l FROM {JOINED} GROUP BY ALL",
    f"SELECT -v AS v, row_number() OVER (ORDER BY v) > 1 AS later FROM {JOINED}",
    f"SELECT a.k AS v FROM {JOINED} WHERE v > 3",
    f"SELECT a.k AS v, count(*) AS n FROM {JOINED} GROUP BY v, a.k",
    f"SELECT 5 AS v, v + 1 AS w FROM {JOINED}",
    # aliases that a subquery itself reads
    "SELECT o.v FROM (SELECT a.k, a.x::INTEGER AS v FROM s [RANGE 1] a JOIN r ON a.k = r.k "
    "WHERE v > 3) AS o JOIN r ON o.k = r.k",
    "SELECT o.v, o.w FROM (SELECT a.k, a.x::INTEGER AS v, v + 1 AS w FROM s [RANGE 1] a "
    "JOIN r ON a.k = r.k) AS o JOIN r ON o.k = r.k",
    # and names of no such kind
    f"SELECT v FROM {JOINED} UNION ALL SELECT k FROM r ORDER BY v LIMIT 2",
    f"SELECT a.* EXCLUDE (st) REPLACE (v + 1 AS v) FROM {JOINED}",
    f"SELECT r.k, coalesce(a.v, -1) AS v FROM r LEFT JOIN {LATE} ON a.k = r.k AND a.v > 3",
    f"SELECT a.k, n FROM {LATE}, LATERAL (SELECT v + r.k AS n FROM r WHERE r.k = a.k) AS l",
    f"SELECT a.k, (SELECT max(v + r.k) FROM r) AS n FROM {LATE} JOIN r AS o ON a.k = o.k",
)

RECOMPUTED = (
    # and before one that is no key in HAVING, which the delta rules refuse
    f"SELECT max(v) AS v FROM {JOINED} GROUP BY a.k HAVING v > 3",
    f"SELECT count(*) AS v FROM {JOINED} GROUP BY a.k HAVING v > 1",
)

ITEMS = ("v", "a.v", "-v AS v", "a.k AS v", "v + 1 AS w", "st.f AS f", "5 AS v", "r.k AS j",
         "max(v) AS v", "count(*) AS v", "[v FOR v IN [a.v]] AS l", "a.st", "v AS k")  # fmt: skip
CLAUSES = ("WHERE v > 3", "WHERE a.v > 3 AND v < 5", "WHERE st.f > 3", "GROUP BY v", "GROUP BY ALL",
           "GROUP BY v, a.k", "GROUP BY a.k", "HAVING v > 3", "HAVING max(v) > 3", "QUALIFY v > 3",
           "QUALIFY row_number() OVER (ORDER BY v) = 1", "ORDER BY v LIMIT 1",
           "ORDER BY -v LIMIT 1", "ORDER BY a.v LIMIT 1")  # fmt: skip


def wanted(query: str, now: int) -> Counter[str] | None:
    """What DuckDB holds at an instant over the rows that stand; None if it refuses the query."""
    with duckdb.connect() as con:
        con.execute("CREATE TABLE s (k INTEGER, x VARCHAR); CREATE TABLE r (k INTEGER)")
        con.executemany(
            "INSERT INTO s VALUES (?, ?)", [r[1:] for r in S if r[0] <= now <= r[0] + 1]
        )
        con.executemany("INSERT INTO r VALUES (?)", [r[1:] for r in R if r[0] <= now])
        try:
            return Counter(map(repr, con.execute(query.replace(" [RANGE 1]", "")).fetchall()))
        except duckdb.Error:
            return None


def check(queries: list[str], recompute: str = "always") -> None:
    with cqlduck.connect(recompute=recompute) as con:  # type: ignore[arg-type]
        con.execute("CREATE STREAM s (k INTEGER, x VARCHAR); CREATE RELATION r (k INTEGER)")
        for number, query in enumerate(queries):
            con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {query}")
        for now in range(LAST + 1):
            con.append("s", [row[1:] for row in S if row[0] == now], at=now)
            con.append("r", [row[1:] for row in R if row[0] == now], at=now)
        con.advance(LAST)
        for number, query in enumerate(queries):
            for now in range(LAST + 1):
                found = Counter(map(repr, con.as_of(f"q{number}", now).fetchall()))
                assert wanted(query, now) == found, (query, now)


@pytest.mark.parametrize("recompute", ["always", "allow"])
def test_names_mean_what_they_mean_in_duckdb(recompute: str) -> None:
    check([*QUERIES, *(RECOMPUTED if recompute == "always" else ())], recompute)


@settings(max_examples=fewer_if_brief(20), suppress_health_check=[HealthCheck.too_slow])
@given(
    items=st.lists(st.sampled_from(ITEMS), min_size=1, max_size=3, unique=True),
    clauses=st.sets(st.integers(0, len(CLAUSES) - 1), max_size=3),
)
def test_random_names_mean_what_they_mean_in_duckdb(items: list[str], clauses: set[int]) -> None:
    listed = " ".join(CLAUSES[place] for place in sorted(clauses))
    query = f"SELECT {', '.join(items)} FROM {JOINED} {listed}".rstrip()
    if wanted(query, LAST) is not None:
        check([query])
