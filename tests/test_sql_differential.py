"""Any SQL on the engine, against the reference evaluator: what is worked out again at each change.

`HAND_WRITTEN` has a query for each construct, over literal data with empty instants, NULLs in keys
and in what NOT IN sees, groups that come and go; `sql_strategies` draws the rest. Nothing is
refused. What is marked `long` says more of the same.
"""

import tempfile
from pathlib import Path

import duckdb
import pytest
import reference
import strategies
from counts import fewer_if_brief, some_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import Edge, Query, Relation, Stream
from sql_strategies import CONSTRUCTS, SHAPES, constructs, sql_cases, written
from test_differential import play

import cqlduck

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def check(
    case: strategies.Case, database: str = ":memory:", window_edge: Edge = "closed", **options
) -> None:
    """Compare all elements of all queries with the reference evaluator's."""
    options = {"threads": 1, **options}
    try:
        actual = play(case, database, window_edge=window_edge, **options)
    except cqlduck.NotSupportedError as error:
        shown = sorted(set().union(*(constructs(query.cql) for query in case.queries)))
        pytest.fail(f"refused, with {', '.join(shown) or 'no construct'}: {error}\n{case}")
    expected = reference.evaluate_all(case.queries, None, case.t_end, window_edge=window_edge)
    for result in expected:
        found = reference.from_changes(actual[result.query.name])
        problems = reference.differences(result, found)
        assert not problems, f"{result.query.name}: {problems[:5]}\n{case}"


# ------------------------------------------------------------------------------ hand-written

S = Stream(
    "s",
    [("k", "BIGINT"), ("a", "BIGINT"), ("v", "VARCHAR")],
    [
        (1, (1, 10, "x")),
        (1, (1, 10, "x")),
        (1, (2, 20, "y")),
        (2, (None, 30, "x")),
        (2, (1, None, None)),
        (3, (2, 20, "z")),
        (3, (2, 10, "y")),
        (7, (3, 5, "")),
        (8, (None, None, None)),
        (8, (1, 10, "x")),
        (8, (3, 5, "w")),
    ],
)
U = Stream(
    "u",
    [("k", "BIGINT"), ("b", "BIGINT")],
    [(0, (1, 10)), (2, (2, 20)), (2, (None, 10)), (3, (1, 20)), (7, (3, None)), (8, (1, 10))],
)
R = Relation(
    "r",
    [("k", "BIGINT"), ("c", "BIGINT")],
    [
        (0, 1, (1, 10)),
        (0, 1, (2, 20)),
        (2, 1, (1, 10)),
        (3, 1, (None, 30)),
        (4, -1, (1, 10)),
        (4, -1, (1, 10)),
        (5, -1, (None, 30)),
        (5, 1, (3, None)),
        (6, -1, (2, 20)),
        (6, 1, (2, 10)),
        (9, -1, (3, None)),
        (9, -1, (2, 10)),
    ],
)
END = 11

HAND_WRITTEN: dict[str, str] = {
    # Joins.
    "left join": "SELECT x.k, a, c FROM ⟦s RANGE 1⟧ x LEFT JOIN ⟦r⟧ y ON x.k = y.k",
    "right join": "SELECT x.k, a, c FROM ⟦s RANGE 1⟧ x RIGHT JOIN ⟦r⟧ y ON x.k = y.k",
    "full join": "SELECT x.k, y.k AS j, a, c FROM ⟦s NOW⟧ x FULL JOIN ⟦r⟧ y ON x.k = y.k",
    "full join using": "SELECT k, a, b FROM ⟦s ROWS 2⟧ x FULL JOIN ⟦u ROWS 2⟧ y USING (k)",
    "full join using, star": "SELECT * FROM ⟦s ROWS 2⟧ x FULL JOIN ⟦u ROWS 2⟧ y USING (k)",
    "left join using": "SELECT k, a, b FROM ⟦s RANGE 2⟧ LEFT JOIN ⟦u RANGE 0⟧ USING (k)",
    "right join using": "SELECT k, a, b FROM ⟦s RANGE 2⟧ x RIGHT JOIN ⟦u RANGE 0⟧ y USING (k)",
    "left join, non-equi": "SELECT a, b FROM ⟦s ROWS 3⟧ x LEFT JOIN ⟦u RANGE 2⟧ y ON a > b",
    "left join, both": "SELECT a, b FROM ⟦s⟧ x LEFT JOIN ⟦u ROWS 1⟧ y ON x.k = y.k AND a <> b",
    "left join, null-safe": (
        "SELECT a, c FROM ⟦s ROWS 3⟧ x LEFT JOIN ⟦r⟧ y ON x.k IS NOT DISTINCT FROM y.k"
    ),
    "left join, on one side": "SELECT a, c FROM ⟦s ROWS 3⟧ x LEFT JOIN ⟦r⟧ y ON a > 10",
    "left join on true": "SELECT a, c FROM ⟦s NOW⟧ x LEFT JOIN ⟦r⟧ y ON true",
    "left join then where": (
        "SELECT a FROM ⟦s RANGE 1⟧ x LEFT JOIN ⟦r⟧ y ON x.k = y.k WHERE y.k IS NULL"
    ),
    "two left joins": (
        "SELECT a, b, c FROM ⟦s ROWS 3⟧ x LEFT JOIN ⟦u ROWS 2⟧ y ON x.k = y.k "
        "LEFT JOIN ⟦r⟧ z ON z.k = y.k"
    ),
    "left and inner": (
        "SELECT a, b, c FROM ⟦s ROWS 3⟧ x JOIN ⟦u⟧ y ON x.k = y.k LEFT JOIN ⟦r⟧ z ON z.c = x.a"
    ),
    "left join in parentheses": (
        "SELECT a, b, c FROM ⟦s ROWS 3⟧ x LEFT JOIN (⟦u⟧ y JOIN ⟦r⟧ z ON y.k = z.k) ON x.k = y.k"
    ),
    "semi join": "SELECT x.k, a FROM ⟦s RANGE 2⟧ x SEMI JOIN ⟦r⟧ y ON x.k = y.k",
    "semi join using": "SELECT k, a FROM ⟦s RANGE 2⟧ x SEMI JOIN ⟦r⟧ y USING (k)",
    "anti join": "SELECT x.k, a FROM ⟦s RANGE 2⟧ x ANTI JOIN ⟦r⟧ y ON x.k = y.k",
    "anti join using": "SELECT k, a FROM ⟦s RANGE 2⟧ x ANTI JOIN ⟦u ROWS 1⟧ y USING (k)",
    "a comma before a left join": (
        "SELECT x.a, y.b, z.c FROM ⟦s NOW⟧ x, ⟦u ROWS 2⟧ y LEFT JOIN ⟦r⟧ z ON y.k = z.k"
    ),
    "a comma before a right join": (
        "SELECT x.a, y.b, z.c FROM ⟦s NOW⟧ x, ⟦u ROWS 2⟧ y RIGHT JOIN ⟦r⟧ z ON y.k = z.k"
    ),
    "a join before a comma, a full join behind": (
        "SELECT x.a, y.b, z.c FROM ⟦s NOW⟧ x JOIN ⟦u⟧ w ON x.k = w.k, ⟦u ROWS 2⟧ y "
        "FULL JOIN ⟦r⟧ z ON y.k = z.k AND y.b < z.c"
    ),
    "right join then left join, using": (
        "SELECT * FROM ⟦s ROWS 2⟧ x RIGHT JOIN ⟦r⟧ y USING (k) LEFT JOIN ⟦u RANGE 1⟧ z USING (k)"
    ),
    "two full joins, using": (
        "SELECT k, x.k AS i, a, b, c FROM ⟦s ROWS 2⟧ x FULL JOIN ⟦r⟧ y USING (k) "
        "FULL JOIN ⟦u RANGE 1⟧ z USING (k)"
    ),
    "left join of other types": (
        "SELECT a, b FROM ⟦s ROWS 3⟧ x LEFT JOIN ⟦u RANGE 2⟧ y ON a = b / 2 + 5"
    ),
    "semi join on an expression": "SELECT a FROM ⟦s RANGE 2⟧ x SEMI JOIN ⟦r⟧ y ON x.k + 1 = y.k",
    "anti join, non-equi": "SELECT a FROM ⟦s RANGE 2⟧ x ANTI JOIN ⟦r⟧ y ON x.k = y.k AND a < c",
    "anti join on one side": "SELECT a FROM ⟦s RANGE 2⟧ x ANTI JOIN ⟦r⟧ y ON a > 10 AND c > 10",
    "left join of a group": (
        "SELECT x.k, a, n FROM ⟦s RANGE 2⟧ x LEFT JOIN "
        "(SELECT k, count(*) AS n FROM ⟦u RANGE 3⟧ GROUP BY k) y ON x.k = y.k"
    ),
    "aggregate of a left join": (
        "SELECT x.k, count(y.c) AS n, sum(a) AS t FROM ⟦s RANGE 2⟧ x LEFT JOIN ⟦r⟧ y "
        "ON x.k = y.k GROUP BY x.k"
    ),
    "cross join": "SELECT x.k, c FROM ⟦s NOW⟧ x CROSS JOIN ⟦r⟧ y",
    "natural join": "SELECT k, a, c FROM ⟦s RANGE 1⟧ NATURAL JOIN ⟦r⟧",
    "natural left join": "SELECT k, a, c FROM ⟦s RANGE 1⟧ NATURAL LEFT JOIN ⟦r⟧",
    "natural full join": "SELECT * FROM ⟦s RANGE 1⟧ NATURAL FULL JOIN ⟦r⟧",
    "asof join": (
        "SELECT x.a, y.c FROM ⟦s RANGE 1⟧ x ⟦-ASOF JOIN ⟦r⟧ y ON x.k = y.k AND x.a >= y.c-⟧"
        "⟦+JOIN LATERAL (SELECT * FROM {1} y WHERE x.k = y.k AND x.a >= y.c "
        "ORDER BY y.c DESC LIMIT 1) y ON true+⟧"
    ),
    "asof left join": (
        "SELECT x.a, y.c FROM ⟦s RANGE 1⟧ x ⟦-ASOF LEFT JOIN ⟦r⟧ y ON x.k = y.k AND x.a >= y.c-⟧"
        "⟦+LEFT JOIN LATERAL (SELECT * FROM {1} y WHERE x.k = y.k AND x.a >= y.c "
        "ORDER BY y.c DESC LIMIT 1) y ON true+⟧"
    ),
    "asof join, ties": (
        "SELECT x.a, y.k FROM ⟦s RANGE 1⟧ x ⟦-ASOF JOIN ⟦r⟧ y ON x.a >= y.c-⟧"
        "⟦+JOIN LATERAL (SELECT * FROM {1} y WHERE x.a >= y.c "
        "ORDER BY y.c DESC, y.k NULLS LAST LIMIT 1) y ON true+⟧"
    ),
    "asof join, ties against arrival": (
        "SELECT x.c, y.a FROM ⟦r⟧ x ⟦-ASOF JOIN ⟦s RANGE 3⟧ y ON x.k >= y.k-⟧"
        "⟦+JOIN LATERAL (SELECT * FROM {1} y WHERE x.k >= y.k "
        "ORDER BY y.k DESC, y.a NULLS LAST, y.v NULLS LAST LIMIT 1) y ON true+⟧"
    ),
    # Subqueries in WHERE.
    "exists": "SELECT k, a FROM ⟦s ROWS 4⟧ x WHERE EXISTS (SELECT 1 FROM ⟦r⟧ y WHERE y.k = x.k)",
    "not exists": (
        "SELECT k, a FROM ⟦s ROWS 4⟧ x WHERE NOT EXISTS (SELECT 1 FROM ⟦r⟧ y WHERE y.k = x.k)"
    ),
    "exists, windows": (
        "SELECT k FROM ⟦s RANGE 2⟧ x WHERE EXISTS (SELECT 1 FROM ⟦u NOW⟧ y WHERE y.k = x.k)"
    ),
    "exists, uncorrelated": "SELECT k FROM ⟦s RANGE 2⟧ WHERE EXISTS (SELECT 1 FROM ⟦u NOW⟧)",
    "not exists, uncorrelated": (
        "SELECT k FROM ⟦s RANGE 2⟧ WHERE NOT EXISTS (SELECT 1 FROM ⟦u NOW⟧ WHERE b = 20)"
    ),
    "exists, non-equi": (
        "SELECT k FROM ⟦s RANGE 2⟧ x WHERE EXISTS (SELECT 1 FROM ⟦u RANGE 3⟧ y WHERE y.b > x.a)"
    ),
    "in": "SELECT k, a FROM ⟦s ROWS 4⟧ WHERE k IN (SELECT k FROM ⟦r⟧)",
    "not in": "SELECT k, a FROM ⟦s ROWS 4⟧ WHERE k NOT IN (SELECT k FROM ⟦r⟧)",
    "not in, window": "SELECT k FROM ⟦r⟧ WHERE k NOT IN (SELECT k FROM ⟦s NOW⟧)",
    "not in, correlated": (
        "SELECT k FROM ⟦s ROWS 4⟧ x WHERE a NOT IN (SELECT c FROM ⟦r⟧ y WHERE y.k = x.k)"
    ),
    "in, correlated": (
        "SELECT k FROM ⟦s ROWS 4⟧ x WHERE a IN (SELECT c FROM ⟦r⟧ y WHERE y.k = x.k)"
    ),
    "in or": "SELECT k, a FROM ⟦s ROWS 4⟧ WHERE a = 10 OR k IN (SELECT k FROM ⟦r⟧)",
    "in, negated": "SELECT k, a FROM ⟦s ROWS 4⟧ WHERE NOT (k IN (SELECT k FROM ⟦u ROWS 2⟧))",
    "in a group": (
        "SELECT k FROM ⟦s ROWS 4⟧ WHERE k IN (SELECT k FROM ⟦u⟧ GROUP BY k HAVING count(*) > 1)"
    ),
    "scalar": "SELECT k, a FROM ⟦s ROWS 4⟧ WHERE a = (SELECT max(a) FROM ⟦s RANGE 2⟧)",
    "scalar, correlated": (
        "SELECT k, a FROM ⟦s ROWS 4⟧ x WHERE a = (SELECT max(a) FROM ⟦s⟧ y WHERE y.k = x.k)"
    ),
    "scalar over a join, correlated": (
        "SELECT k, a FROM ⟦s ROWS 4⟧ x WHERE a = "
        "(SELECT max(y.b) FROM ⟦u⟧ y, ⟦r⟧ z WHERE x.k = y.k AND y.k = z.k)"
    ),
    "scalar in a subquery": (
        "SELECT k, a FROM ⟦s ROWS 4⟧ x WHERE k IN (SELECT k FROM ⟦u⟧ y WHERE b <= "
        "(SELECT max(c) FROM ⟦r⟧ z WHERE z.k = y.k) AND b <> (SELECT min(c) FROM ⟦r⟧))"
    ),
    "scalar in a subquery, correlated with both": (
        "SELECT k, a FROM ⟦s ROWS 4⟧ x WHERE EXISTS (SELECT 1 FROM ⟦u⟧ y WHERE b <= "
        "(SELECT max(c) FROM ⟦r⟧ z WHERE z.k = y.k AND z.c <= x.a))"
    ),
    "count in a subquery": (
        "SELECT k, a FROM ⟦s ROWS 4⟧ x WHERE EXISTS (SELECT 1 FROM ⟦u⟧ y WHERE y.k = x.k AND "
        "b > (SELECT count(*) FROM ⟦r⟧ z WHERE z.k = y.k))"
    ),
    "scalar, empty": "SELECT k FROM ⟦r⟧ WHERE (SELECT max(a) FROM ⟦s NOW⟧) IS NULL",
    "scalar count, correlated": (
        "SELECT k FROM ⟦r⟧ x WHERE (SELECT count(*) FROM ⟦s NOW⟧ y WHERE y.k = x.k) = 0"
    ),
    "scalar with limit": (
        "SELECT k FROM ⟦r⟧ WHERE c = (SELECT a FROM ⟦s RANGE 3⟧ ORDER BY a DESC LIMIT 1)"
    ),
    "scalar with limit, ties": (
        "SELECT k FROM ⟦r⟧ WHERE k = (SELECT k FROM ⟦s RANGE 3⟧ y ORDER BY a DESC"
        "⟦+, k, a, v+⟧ LIMIT 1)"
    ),
    "any": "SELECT k FROM ⟦s ROWS 4⟧ WHERE a > ANY (SELECT c FROM ⟦r⟧)",
    "all": "SELECT k FROM ⟦s ROWS 4⟧ WHERE a >= ALL (SELECT c FROM ⟦r⟧)",
    "not any": "SELECT k FROM ⟦s ROWS 4⟧ WHERE NOT a > ANY (SELECT c FROM ⟦r⟧)",
    "not all": "SELECT k FROM ⟦s ROWS 4⟧ WHERE NOT (a >= ALL (SELECT c FROM ⟦r⟧))",
    "equal to any": "SELECT k FROM ⟦s ROWS 4⟧ WHERE a = ANY (SELECT c FROM ⟦r⟧ y WHERE c > k)",
    "equal to all": "SELECT k FROM ⟦s ROWS 4⟧ WHERE a = ALL (SELECT c FROM ⟦r⟧)",
    "unequal to all": "SELECT k FROM ⟦s ROWS 4⟧ WHERE a <> ALL (SELECT c FROM ⟦r⟧)",
    "unequal to any": "SELECT k FROM ⟦s ROWS 4⟧ WHERE a <> ANY (SELECT c FROM ⟦r⟧)",
    "in, the same names": (
        "SELECT k, a FROM ⟦s ROWS 4⟧ s WHERE a IN (SELECT a FROM ⟦s NOW⟧ s WHERE k = 1)"
    ),
    "in, another type": "SELECT k FROM ⟦s ROWS 4⟧ WHERE k IN (SELECT c / 10 FROM ⟦r⟧)",
    "in a join": (
        "SELECT a, b FROM ⟦s ROWS 4⟧ x, ⟦u ROWS 2⟧ y WHERE x.k = y.k AND b IN (SELECT c FROM ⟦r⟧) "
        "AND EXISTS (SELECT 1 FROM ⟦r⟧ z WHERE z.c > x.a + y.b - 20)"
    ),
    "not in a join": (
        "SELECT a, b FROM ⟦s ROWS 4⟧ x, ⟦u ROWS 2⟧ y "
        "WHERE x.k = y.k AND a NOT IN (SELECT c FROM ⟦r⟧ z WHERE z.k <> y.k)"
    ),
    "in a distinct list": "SELECT k FROM ⟦s ROWS 4⟧ WHERE a IN (SELECT DISTINCT c FROM ⟦r⟧)",
    "in a union": (
        "SELECT k FROM ⟦s ROWS 4⟧ WHERE k IN (SELECT k FROM ⟦r⟧ UNION ALL SELECT k FROM ⟦u NOW⟧)"
    ),
    "exists of an aggregate": (
        "SELECT k FROM ⟦s ROWS 4⟧ WHERE EXISTS (SELECT count(*) FROM ⟦u NOW⟧)"
    ),
    "all, window": "SELECT k FROM ⟦r⟧ WHERE c <= ALL (SELECT a FROM ⟦s NOW⟧)",
    "nested subqueries": (
        "SELECT k FROM ⟦s ROWS 4⟧ x WHERE EXISTS (SELECT 1 FROM ⟦u⟧ y WHERE y.k = x.k AND "
        "EXISTS (SELECT 1 FROM ⟦r⟧ z WHERE z.k = x.k AND z.c = y.b))"
    ),
    "two subqueries": (
        "SELECT k FROM ⟦s ROWS 4⟧ x WHERE k IN (SELECT k FROM ⟦r⟧) AND "
        "a NOT IN (SELECT b FROM ⟦u RANGE 1⟧ WHERE b IS NOT NULL)"
    ),
    "a subquery of what is worked out again": (
        "SELECT k FROM ⟦s ROWS 4⟧ WHERE a IN (SELECT a FROM (SELECT median(a) AS a FROM ⟦s⟧) z)"
    ),
    # Subqueries in the SELECT list, in HAVING, in ON.
    "listed scalar": "SELECT k, (SELECT count(*) FROM ⟦s NOW⟧) AS n FROM ⟦r⟧",
    "listed scalar, correlated": (
        "SELECT k, (SELECT sum(a) FROM ⟦s RANGE 2⟧ y WHERE y.k = x.k) AS n FROM ⟦r⟧ x"
    ),
    "listed count, correlated": (
        "SELECT k, (SELECT count(*) FROM ⟦s NOW⟧ y WHERE y.k = x.k) AS n FROM ⟦r⟧ x"
    ),
    "listed, where HAVING has a subquery": (
        "SELECT k, (SELECT sum(y.b) FROM ⟦u⟧ y WHERE y.k >= x.k HAVING count(*) <= "
        "(SELECT count(*) FROM ⟦s RANGE 3⟧)) AS n FROM ⟦r⟧ x"
    ),
    "compared, where HAVING has a subquery": (
        "SELECT k FROM ⟦r⟧ x WHERE x.c > (SELECT count(*) FROM ⟦u⟧ y WHERE y.k = x.k "
        "HAVING min(y.b) >= (SELECT count(*) FROM ⟦s NOW⟧))"
    ),
    "listed exists": ("SELECT k, EXISTS (SELECT 1 FROM ⟦s NOW⟧ y WHERE y.k = x.k) AS e FROM ⟦r⟧ x"),
    "listed in": "SELECT a, k IN (SELECT k FROM ⟦r⟧) AS i FROM ⟦s RANGE 2⟧",
    "listed not in": "SELECT a, k NOT IN (SELECT k FROM ⟦r⟧) AS i FROM ⟦s RANGE 2⟧",
    "listed array": "SELECT k, ARRAY(SELECT a FROM ⟦s RANGE 1⟧ ORDER BY a) AS l FROM ⟦r⟧",
    "listed array, correlated": (
        "SELECT k, ARRAY(SELECT a FROM ⟦s RANGE 1⟧ y WHERE y.k = x.k ORDER BY a) AS l FROM ⟦r⟧ x"
    ),
    "in having": (
        "SELECT k, count(*) AS n FROM ⟦s RANGE 4⟧ GROUP BY k "
        "HAVING count(*) >= (SELECT max(b) / 10 FROM ⟦u RANGE 3⟧)"
    ),
    # Ties in PIVOT.
    "lists in a pivot": (
        "SELECT * FROM ⟦s RANGE 3⟧ x PIVOT (list(a⟦+ ORDER BY k NULLS LAST, a NULLS LAST+⟧) "
        "FOR v IN ('x', 'y') GROUP BY v)"
    ),
    "first in a pivot by what it does not name": (
        "SELECT * FROM (PIVOT ⟦s RANGE 3⟧ ON v IN ('x', 'y') "
        "USING first(a⟦+ ORDER BY a NULLS LAST+⟧))"
    ),
    "last in the pivot of a join": (
        "SELECT * FROM ⟦s RANGE 3⟧ x JOIN ⟦u⟧ y USING (k) PIVOT (last(b⟦+ ORDER BY k NULLS LAST, "
        "a NULLS LAST, v NULLS LAST, b NULLS LAST+⟧) FOR v IN ('x', 'y') GROUP BY k)"
    ),
    # Set operations.
    "union, ordered by a subquery": (
        "SELECT k FROM ⟦s RANGE 1⟧ UNION ALL SELECT k FROM ⟦r⟧ "
        "ORDER BY k IN (SELECT k FROM ⟦u NOW⟧), k LIMIT 2"
    ),
    "except, ordered by what a side lists": (
        "SELECT -k AS k, a FROM ⟦s RANGE 3⟧ EXCEPT SELECT k, c FROM ⟦r⟧ "
        "ORDER BY -k⟦+, a NULLS LAST+⟧ LIMIT 2"
    ),
    "except": "SELECT k FROM ⟦s RANGE 3⟧ EXCEPT SELECT k FROM ⟦r⟧",
    "except all": "SELECT k FROM ⟦s RANGE 3⟧ EXCEPT ALL SELECT k FROM ⟦r⟧",
    "intersect": "SELECT k FROM ⟦s RANGE 3⟧ INTERSECT SELECT k FROM ⟦r⟧",
    "intersect all": "SELECT k FROM ⟦s RANGE 3⟧ INTERSECT ALL SELECT k FROM ⟦r⟧",
    "union": "SELECT k FROM ⟦s RANGE 3⟧ UNION SELECT k FROM ⟦r⟧",
    "union by name": "SELECT k, a FROM ⟦s NOW⟧ UNION BY NAME SELECT c AS a, k FROM ⟦r⟧",
    "union all by name": "SELECT k, a FROM ⟦s NOW⟧ UNION ALL BY NAME SELECT c, k FROM ⟦r⟧",
    "union by name, three": (
        "SELECT k, a FROM ⟦s RANGE 1⟧ UNION BY NAME SELECT c AS A, k FROM ⟦r⟧ "
        "UNION BY NAME SELECT v, a FROM ⟦s NOW⟧"
    ),
    "union by name, nothing common": ("SELECT k FROM ⟦s RANGE 1⟧ UNION BY NAME SELECT c FROM ⟦r⟧"),
    "chain of set operations": (
        "SELECT k FROM ⟦s RANGE 3⟧ UNION ALL SELECT k FROM ⟦u RANGE 1⟧ EXCEPT SELECT k FROM ⟦r⟧"
    ),
    "nested set operations": (
        "SELECT k FROM ⟦s RANGE 3⟧ EXCEPT (SELECT k FROM ⟦r⟧ INTERSECT SELECT k FROM ⟦u⟧)"
    ),
    "set operation and limit": (
        "SELECT k FROM ⟦s RANGE 3⟧ UNION SELECT k FROM ⟦r⟧ ORDER BY k DESC LIMIT 2"
    ),
    "set operation of aggregates": (
        "SELECT k, count(*) AS n FROM ⟦s RANGE 3⟧ GROUP BY k EXCEPT "
        "SELECT k, count(*) FROM ⟦u⟧ GROUP BY k"
    ),
    "set operation with a constant": "SELECT k FROM ⟦s RANGE 3⟧ EXCEPT SELECT 1",
    "union with values": "SELECT k FROM ⟦s RANGE 3⟧ UNION ALL VALUES (1::BIGINT)",
    "types of a union": "SELECT a FROM ⟦s NOW⟧ UNION SELECT v FROM ⟦s ROWS 2⟧",
    # CTEs, VALUES, unnest, LATERAL.
    "cte": "WITH w AS (SELECT k, a FROM ⟦s ROWS 3⟧) SELECT k, a FROM w WHERE a > 5",
    "cte twice": (
        "WITH w AS (SELECT k, a FROM ⟦s ROWS 3⟧) SELECT x.a, y.a AS b FROM w x JOIN w y USING (k)"
    ),
    "cte of a cte": (
        "WITH w AS (SELECT k, a FROM ⟦s ROWS 3⟧), z AS (SELECT k, count(*) AS n FROM w GROUP BY k) "
        "SELECT w.k, a, n FROM w LEFT JOIN z ON w.k = z.k"
    ),
    "cte in a subquery of an expression": (
        "WITH w AS (SELECT k, a FROM ⟦s ROWS 3⟧) SELECT k FROM w WHERE a = (SELECT max(a) FROM w)"
    ),
    "cte with columns": "WITH w(x, y) AS (SELECT k, a FROM ⟦s ROWS 3⟧) SELECT x, list(y ORDER BY y)"
    " AS l FROM w GROUP BY x",
    "cte with limit": (
        "WITH w AS (SELECT k, a FROM ⟦s ROWS 4⟧ x ORDER BY a DESC⟦+, k, a, v+⟧ LIMIT 2) "
        "SELECT k, list(a ORDER BY a) AS l FROM w GROUP BY k"
    ),
    "cte called as an inner name": (
        "WITH leg0 AS (SELECT k FROM ⟦r⟧) SELECT k, list(x.a ORDER BY x.a) AS l "
        "FROM leg0 JOIN ⟦s⟧ x USING (k) GROUP BY k"
    ),
    "alias called as an inner name": (
        "SELECT instants.k, list(results.a ORDER BY results.a) AS l FROM ⟦r⟧ AS instants "
        "JOIN ⟦s RANGE 3⟧ AS results ON results.k = instants.k GROUP BY ALL"
    ),
    "materialized cte": (
        "WITH w AS MATERIALIZED (SELECT k, median(a) AS m FROM ⟦s RANGE 3⟧ GROUP BY k) "
        "SELECT x.m FROM w x JOIN w y ON x.k <> y.k"
    ),
    "values": (
        "SELECT x.k, w FROM ⟦s RANGE 1⟧ x JOIN (VALUES (1, 'one'), (2, 'two')) t(n, w) ON x.k = n"
    ),
    "values on the left": (
        "SELECT n, a FROM (VALUES (1), (2), (NULL)) t(n) LEFT JOIN ⟦s NOW⟧ x ON x.k = n"
    ),
    "unnest of a constant": "SELECT k, n FROM ⟦s RANGE 1⟧, unnest([1, 2]) t(n)",
    "unnest of a column": "SELECT k, n FROM ⟦s RANGE 1⟧ x, unnest([x.a, x.k]) t(n)",
    "unnest in the list": "SELECT k, unnest([a, k]) AS n FROM ⟦s RANGE 1⟧",
    "unnest of an aggregate": (
        "SELECT k, unnest(list(a ORDER BY a)) AS n FROM ⟦s RANGE 1⟧ GROUP BY k"
    ),
    "range": "SELECT k, n FROM ⟦s RANGE 1⟧, range(2) t(n)",
    "lateral": (
        "SELECT x.k, m FROM ⟦r⟧ x, LATERAL (SELECT max(a) AS m FROM ⟦s RANGE 2⟧ y "
        "WHERE y.k = x.k) z"
    ),
    "left join lateral": (
        "SELECT x.k, a FROM ⟦r⟧ x LEFT JOIN LATERAL (SELECT a FROM ⟦s RANGE 2⟧ y "
        "WHERE y.k = x.k) z ON true"
    ),
    "lateral with limit": (
        "SELECT x.k, a FROM ⟦r⟧ x, LATERAL (SELECT a FROM ⟦s⟧ y WHERE y.k = x.k "
        "ORDER BY a DESC LIMIT 1) z"
    ),
    "lateral with a list": (
        "SELECT x.k, l FROM ⟦r⟧ x, LATERAL (SELECT list(a ORDER BY a) AS l FROM ⟦s NOW⟧ y "
        "WHERE y.k = x.k) z"
    ),
    "lateral without the word": (
        "SELECT x.k, m FROM ⟦r⟧ x, (SELECT max(a) AS m FROM ⟦s⟧ y WHERE y.k = x.k) z"
    ),
    # Order.
    "distinct on": "SELECT DISTINCT ON (k) k, a FROM ⟦s RANGE 3⟧ ORDER BY k, a DESC",
    "distinct on, ties": (
        "SELECT DISTINCT ON (k) k, v FROM ⟦s RANGE 3⟧ ORDER BY k, a⟦+, k, a, v+⟧"
    ),
    "distinct on, no order": "SELECT DISTINCT ON (k) k, a FROM ⟦s RANGE 3⟧ ⟦+ORDER BY k, a, v+⟧",
    "distinct on, not in the list": "SELECT DISTINCT ON (k) a FROM ⟦s RANGE 3⟧ ORDER BY k, a DESC",
    "top": "SELECT k, a FROM ⟦s RANGE 3⟧ ORDER BY a DESC, k LIMIT 2",
    "top, ties": "SELECT v FROM ⟦s RANGE 3⟧ ORDER BY a⟦+, k, a, v+⟧ LIMIT 2",
    "top, nulls first": "SELECT k, v FROM ⟦s RANGE 3⟧ ORDER BY a NULLS FIRST⟦+, k, a, v+⟧ LIMIT 1",
    "limit, no order": "SELECT v FROM ⟦s RANGE 3⟧ ⟦+ORDER BY k, a, v+⟧ LIMIT 2",
    "limit 0": "SELECT v FROM ⟦s RANGE 3⟧ LIMIT 0",
    "offset": "SELECT v FROM ⟦s RANGE 3⟧ ORDER BY a DESC⟦+, k, a, v+⟧ LIMIT 2 OFFSET 1",
    "offset alone": "SELECT v FROM ⟦s RANGE 3⟧ ORDER BY a⟦+, k, a, v+⟧ OFFSET 2",
    "order by all": "SELECT k, a FROM ⟦s RANGE 3⟧ ORDER BY ALL LIMIT 2",
    "order by a place": "SELECT k, a FROM ⟦s RANGE 3⟧ ORDER BY 2⟦+, k, a, v+⟧ LIMIT 1",
    "order by an alias": "SELECT k, -a AS b FROM ⟦s RANGE 3⟧ ORDER BY b⟦+, k, a, v+⟧ LIMIT 1",
    "top of a join": (
        "SELECT a, c FROM ⟦s RANGE 3⟧ x JOIN ⟦r⟧ y ON x.k = y.k "
        "ORDER BY a DESC⟦+, x.k, a, v, y.k, c+⟧ LIMIT 2"
    ),
    "top of groups": (
        "SELECT k, count(*) AS n FROM ⟦s RANGE 3⟧ GROUP BY k ORDER BY n DESC, k LIMIT 1"
    ),
    "top of groups, ties": (
        "SELECT k, count(*) AS n FROM ⟦s RANGE 3⟧ GROUP BY k ORDER BY n DESC⟦+, k, n+⟧ LIMIT 1"
    ),
    "top of distinct": "SELECT DISTINCT a FROM ⟦s RANGE 3⟧ ORDER BY a DESC LIMIT 2",
    "top of a top": (
        "SELECT k FROM (SELECT k, a FROM ⟦s RANGE 3⟧ ORDER BY a DESC⟦+, k, a, v+⟧ LIMIT 3) x "
        "ORDER BY a⟦+, k, a+⟧ LIMIT 1"
    ),
    "row_number": "SELECT k, row_number() OVER (PARTITION BY k ORDER BY a⟦+, k, a, v+⟧) AS n, v "
    "FROM ⟦s RANGE 3⟧",
    "row_number, no order": "SELECT v, row_number() OVER (⟦+ORDER BY k, a, v+⟧) AS n "
    "FROM ⟦s RANGE 3⟧",
    "rank": "SELECT k, rank() OVER (ORDER BY a) AS n FROM ⟦s RANGE 3⟧",
    "dense_rank": "SELECT k, dense_rank() OVER (ORDER BY a DESC) AS n FROM ⟦s RANGE 3⟧",
    "percent_rank": "SELECT k, percent_rank() OVER (ORDER BY k) AS n FROM ⟦r⟧",
    "lag": "SELECT v, lag(a) OVER (PARTITION BY k ORDER BY a⟦+, k, a, v+⟧) AS n FROM ⟦s RANGE 3⟧",
    "lead": "SELECT v, lead(v, 1, '-') OVER (ORDER BY a⟦+, k, a, v+⟧) AS n FROM ⟦s RANGE 3⟧",
    "lag, no nulls": (
        "SELECT v, lag(v IGNORE NULLS) OVER (ORDER BY a⟦+, k, a, v+⟧) AS n FROM ⟦s RANGE 3⟧"
    ),
    "first_value": "SELECT k, first_value(v) OVER (ORDER BY a⟦+, k, a, v+⟧) AS n FROM ⟦s RANGE 3⟧",
    "first_value, range": (
        "SELECT k, first_value(v⟦+ ORDER BY a, k, a, v+⟧) OVER (ORDER BY a RANGE BETWEEN 10 "
        "PRECEDING AND CURRENT ROW) AS n FROM ⟦s RANGE 3⟧"
    ),
    "last_value": (
        "SELECT k, last_value(v⟦+ ORDER BY a, k, a, v+⟧) OVER (ORDER BY a) AS n FROM ⟦s RANGE 3⟧"
    ),
    "nth_value": (
        "SELECT k, nth_value(v, 2 ⟦+ORDER BY a, k, a, v+⟧) OVER (ORDER BY a) AS n FROM ⟦s RANGE 3⟧"
    ),
    "sum over a partition": "SELECT v, sum(a) OVER (PARTITION BY k) AS n FROM ⟦s RANGE 3⟧",
    "sum over peers": "SELECT v, sum(a) OVER (ORDER BY k) AS n FROM ⟦s RANGE 3⟧",
    "sum over rows": (
        "SELECT v, sum(a) OVER (ORDER BY k⟦+, k, a, v+⟧ ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
        "AS n FROM ⟦s RANGE 3⟧"
    ),
    "avg over rows": (
        "SELECT v, avg(a) OVER (ORDER BY a⟦+, k, a, v+⟧ ROWS 1 PRECEDING) AS n FROM ⟦s RANGE 3⟧"
    ),
    "list over peers": (
        "SELECT v, list(a⟦+ ORDER BY k, a, v+⟧) OVER (ORDER BY k) AS n FROM ⟦s RANGE 3⟧"
    ),
    "exclude": (
        "SELECT v, sum(a) OVER (ORDER BY k GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW "
        "EXCLUDE GROUP) AS n FROM ⟦s RANGE 3⟧"
    ),
    "named window": (
        "SELECT v, row_number() OVER w AS n, rank() OVER w AS m FROM ⟦s RANGE 3⟧ "
        "WINDOW w AS (ORDER BY k, a, v)"
    ),
    "window functions over groups": (
        "SELECT k, rank() OVER (ORDER BY count(*) DESC) AS n FROM ⟦s RANGE 3⟧ GROUP BY k"
    ),
    "row_number over groups": (
        "SELECT k, row_number() OVER (ORDER BY count(*) DESC⟦+, k+⟧) AS n FROM ⟦s RANGE 3⟧ "
        "GROUP BY k"
    ),
    "qualify": (
        "SELECT k, a, v FROM ⟦s RANGE 3⟧ "
        "QUALIFY row_number() OVER (PARTITION BY k ORDER BY a DESC⟦+, k, a, v+⟧) = 1"
    ),
    "qualify, an alias": (
        "SELECT k, rank() OVER (ORDER BY a) AS n FROM ⟦s RANGE 3⟧ QUALIFY n <= 2"
    ),
    # Groups.
    "grouping sets": (
        "SELECT k, v, count(*) AS n FROM ⟦s RANGE 2⟧ GROUP BY GROUPING SETS ((k, v), (k), ())"
    ),
    "rollup": (
        "SELECT k, v, sum(a) AS n, grouping(k, v) AS g FROM ⟦s RANGE 2⟧ GROUP BY ROLLUP (k, v)"
    ),
    "cube": "SELECT k, v, sum(a) AS n, grouping(k) AS g FROM ⟦s RANGE 2⟧ GROUP BY CUBE (k, v)",
    "unread count of a subquery": (
        "SELECT x.k FROM ⟦s RANGE 2⟧ AS x, (SELECT y.k + 1 AS i, (SELECT count(*) FROM ⟦r⟧ "
        "AS z WHERE y.k < z.k) AS n FROM ⟦s RANGE 2⟧ AS y) AS other"
    ),
    "grouping sets of equal values": (
        "SELECT a / 2 AS h, arg_max(v, v) AS m, grouping(a / 2) AS g, grouping_id(a / 2) AS i "
        "FROM ⟦s RANGE 2⟧ GROUP BY ROLLUP (a / 2)"
    ),
    "key and rollup": "SELECT k, v, count(a) AS n FROM ⟦s RANGE 2⟧ GROUP BY k, ROLLUP (v)",
    "grouping sets, having": (
        "SELECT k, v, count(*) AS n FROM ⟦s RANGE 2⟧ GROUP BY CUBE (k, v) HAVING count(*) > 1"
    ),
    "same set twice": "SELECT k, count(*) AS n FROM ⟦s RANGE 2⟧ GROUP BY GROUPING SETS ((k), (k))",
    # Aggregates.
    "count distinct": "SELECT k, count(DISTINCT a) AS n FROM ⟦s RANGE 3⟧ GROUP BY k",
    "count distinct, all": "SELECT count(DISTINCT v) AS n FROM ⟦s NOW⟧",
    "count distinct beside min, all": (
        "SELECT count(DISTINCT v) AS n, min(a) AS least, count(*) AS m FROM ⟦s NOW⟧"
    ),
    "count distinct beside a sum of the key": (
        "SELECT k, sum(k) AS s, count(DISTINCT a) AS n FROM ⟦s RANGE 2⟧ GROUP BY k"
    ),
    "sum distinct": "SELECT k, sum(DISTINCT a) AS n FROM ⟦s RANGE 3⟧ GROUP BY k",
    "several distincts": (
        "SELECT count(DISTINCT a) AS n, count(DISTINCT v) AS m, sum(DISTINCT a) AS d, sum(a) AS e "
        "FROM ⟦s RANGE 3⟧"
    ),
    "count distinct of a row": "SELECT count(DISTINCT (k, a)) AS n FROM ⟦s RANGE 3⟧",
    "filter": "SELECT k, count(*) FILTER (WHERE a > 10) AS n, sum(a) FILTER (WHERE v = 'x') AS m "
    "FROM ⟦s RANGE 3⟧ GROUP BY k",
    "filter on all": "SELECT count(*) FILTER (WHERE a > 10) AS n FROM ⟦s NOW⟧",
    "median": "SELECT k, median(a) AS m FROM ⟦s RANGE 3⟧ GROUP BY k",
    "quantile_cont": "SELECT quantile_cont(a, 0.25) AS m FROM ⟦s RANGE 3⟧",
    "quantiles": "SELECT quantile_cont(a, [0.25, 0.5]) AS m FROM ⟦s RANGE 3⟧",
    "percentile_cont": (
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS m FROM ⟦s RANGE 3⟧"
    ),
    "stddev": "SELECT k, round(stddev(a), 6) AS m, var_pop(a) AS p FROM ⟦s RANGE 3⟧ GROUP BY k",
    "list": "SELECT k, list(a⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s RANGE 3⟧ GROUP BY k",
    "list over nothing": "SELECT list(a⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s NOW⟧",
    "a constant over nothing": (
        "SELECT 1 AS one, 'x' || count(*) AS n, coalesce(list(a ORDER BY a), []) AS l FROM ⟦s NOW⟧"
    ),
    "list with order": "SELECT list(a ORDER BY v DESC⟦+, k, a, v+⟧) AS l FROM ⟦s RANGE 3⟧",
    "list distinct": "SELECT list(DISTINCT v⟦+ ORDER BY v NULLS LAST+⟧) AS l FROM ⟦s RANGE 3⟧",
    "string_agg": (
        "SELECT k, string_agg(v, ','⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s RANGE 3⟧ GROUP BY k"
    ),
    "string_agg with order": "SELECT string_agg(v, '' ORDER BY v DESC) AS l FROM ⟦s RANGE 3⟧",
    "string_agg distinct": (
        "SELECT string_agg(DISTINCT v, '/'⟦+ ORDER BY v+⟧) AS l FROM ⟦s RANGE 3⟧"
    ),
    "first and last": (
        "SELECT k, first(v⟦+ ORDER BY k, a, v+⟧) AS f, last(v⟦+ ORDER BY k, a, v+⟧) AS l "
        "FROM ⟦s RANGE 3⟧ GROUP BY k"
    ),
    "first with order": (
        "SELECT first(v ORDER BY a DESC⟦+, k, a, v+⟧) AS f, last(v ORDER BY a⟦+, k, a, v+⟧) AS l "
        "FROM ⟦s RANGE 3⟧"
    ),
    "any_value": "SELECT k, any_value(v⟦+ ORDER BY k, a, v+⟧) AS f FROM ⟦s RANGE 3⟧ GROUP BY k",
    "arg_max": "SELECT arg_max(v, a⟦+ ORDER BY k, a, v+⟧) AS f FROM ⟦s RANGE 3⟧",
    "arg_min": "SELECT k, arg_min(v, a⟦+ ORDER BY k, a, v+⟧) AS f FROM ⟦s RANGE 3⟧ GROUP BY k",
    "max_by with a number": "SELECT max_by(v, a, 2⟦+ ORDER BY k, a, v+⟧) AS f FROM ⟦s RANGE 3⟧",
    "max with a number": "SELECT max(a, 2) AS f, min(a, 2) AS g FROM ⟦s RANGE 3⟧",
    "mode": "SELECT mode(v⟦+ ORDER BY k, a, v+⟧) AS f FROM ⟦s RANGE 3⟧",
    "bool_and": "SELECT k, bool_and(a > 10) AS f, bool_or(a > 10) AS g FROM ⟦s RANGE 3⟧ GROUP BY k",
    "bit_xor": "SELECT bit_xor(a) AS f, bit_or(a) AS g FROM ⟦s RANGE 3⟧",
    "histogram": "SELECT histogram(a) AS f FROM ⟦s RANGE 3⟧",
    "count_if": "SELECT count_if(a > 10) AS f FROM ⟦s NOW⟧",
    "count_if and list": "SELECT count_if(a > 10) AS f, list(a ORDER BY a) AS l FROM ⟦s NOW⟧",
    "regr_count": "SELECT regr_count(a, k) AS f, list(a ORDER BY a) AS l FROM ⟦s NOW⟧",
    "product": "SELECT product(a) AS f FROM ⟦s RANGE 2⟧",
    "having with a list": "SELECT k FROM ⟦s RANGE 3⟧ GROUP BY k HAVING len(list(a)) > 1",
    "having over nothing": "SELECT list(a ORDER BY a) AS l FROM ⟦s NOW⟧ HAVING count(*) = 0",
    "aggregate over a left join": (
        "SELECT y.k, count(x.a) AS n, list(x.a ORDER BY x.a) AS l FROM ⟦r⟧ y "
        "LEFT JOIN ⟦s NOW⟧ x ON x.k = y.k GROUP BY y.k"
    ),
    "count over a left join": (
        "SELECT y.k, count(x.a) AS n, sum(x.a) AS m FROM ⟦r⟧ y "
        "LEFT JOIN ⟦s RANGE 1⟧ x ON x.k = y.k GROUP BY y.k"
    ),
    "columns": "SELECT min(COLUMNS(*)) FROM ⟦s RANGE 3⟧",
    "the row": "SELECT s.k, s FROM ⟦s RANGE 2⟧ s",
    # Expressions.
    "case": "SELECT CASE k WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE v END AS c FROM ⟦s RANGE 2⟧",
    "struct": "SELECT {'k': k, 'v': v} AS c FROM ⟦s RANGE 2⟧",
    "struct in a group": "SELECT {'k': k} AS c, count(*) AS n FROM ⟦s RANGE 2⟧ GROUP BY ALL",
    "map": "SELECT map([k], [v]) AS m FROM ⟦s RANGE 2⟧ WHERE k IS NOT NULL",
    "list of a row": "SELECT DISTINCT [k, a] AS l FROM ⟦s RANGE 2⟧",
    "try_cast": "SELECT TRY_CAST(v AS INTEGER) AS i, a::VARCHAR AS w FROM ⟦s RANGE 2⟧",
    "lambda": "SELECT list_transform([k, a], lambda x: x + 1) AS l FROM ⟦s RANGE 2⟧",
    # One kind in the other.
    "incremental over a limit": (
        "SELECT k, count(*) AS n FROM (SELECT k FROM ⟦s RANGE 3⟧ x ORDER BY a⟦+, k, a, v+⟧ "
        "LIMIT 2) y GROUP BY k"
    ),
    "join of a list": (
        "SELECT x.k, c, l FROM (SELECT k, list(a ORDER BY a) AS l FROM ⟦s RANGE 2⟧ GROUP BY k) x "
        "JOIN ⟦r⟧ y ON x.k = y.k"
    ),
    "list of a group": (
        "SELECT list(n ORDER BY n) AS l FROM "
        "(SELECT k, count(*) AS n FROM ⟦s RANGE 3⟧ GROUP BY k) x"
    ),
    "limit of a left join of groups": (
        "SELECT x.k, n, c FROM (SELECT k, count(*) AS n FROM ⟦s RANGE 3⟧ GROUP BY k) x "
        "LEFT JOIN ⟦r⟧ y ON x.k = y.k ORDER BY n DESC, x.k, c LIMIT 2"
    ),
    "the same panes twice": (
        "SELECT x.k, x.n, y.n AS m "
        "FROM (SELECT k, count(*) AS n FROM ⟦s HOP 4 EVERY 2⟧ GROUP BY k) x "
        "JOIN (SELECT k, count(*) AS n FROM ⟦s HOP 4 EVERY 2⟧ GROUP BY k) y USING (k)"
    ),
    "panes less some of them": (
        "SELECT k, sum(a) AS n FROM ⟦s HOP 6 EVERY 2⟧ GROUP BY k EXCEPT "
        "(SELECT k, sum(a) AS n FROM ⟦s HOP 6 EVERY 2⟧ GROUP BY k HAVING count(*) > 1)"
    ),
    "union of limits": (
        "(SELECT k FROM ⟦s RANGE 3⟧ x ORDER BY a⟦+, k, a, v+⟧ LIMIT 1) UNION ALL "
        "(SELECT k FROM ⟦u RANGE 3⟧ y ORDER BY b DESC⟦+, k, b+⟧ LIMIT 1)"
    ),
}


MORE = (
    "SELECT sum((SELECT count(*) FROM ⟦u⟧ y WHERE y.k = x.k)) AS n FROM ⟦s RANGE 1⟧ x",
    "SELECT sum(CASE WHEN k IN (SELECT k FROM ⟦r⟧) THEN 1 ELSE 0 END) AS n FROM ⟦s RANGE 3⟧",
    "SELECT x.k, y.k AS j FROM ⟦s RANGE 2⟧ x FULL JOIN ⟦u RANGE 2⟧ y ON x.a > y.b",
    ("SELECT x.k, y.k AS j FROM ⟦s RANGE 2⟧ x FULL JOIN ⟦u RANGE 2⟧ y ON x.k = y.k AND x.a > y.b"),
    (
        "SELECT x.k, y.k AS j FROM ⟦s RANGE 2⟧ x FULL JOIN ⟦u RANGE 2⟧ y ON x.k = y.k FULL "
        "JOIN ⟦r⟧ z ON z.k = y.k"
    ),
    "SELECT x.k, (SELECT list(y.b ORDER BY y.b) FROM ⟦u⟧ y WHERE y.k = x.k) AS l FROM ⟦r⟧ x",
    (
        "SELECT x.k, (SELECT first(y.b⟦+ ORDER BY y.k, y.b+⟧) FROM ⟦u⟧ y WHERE y.k >= x.k) AS "
        "l FROM ⟦r⟧ x"
    ),
    (
        "SELECT x.k, (SELECT y.b FROM ⟦u⟧ y WHERE y.k >= x.k ORDER BY y.k⟦+, y.k, y.b+⟧ LIMIT "
        "1) AS l FROM ⟦r⟧ x"
    ),
    (
        "SELECT x.k FROM ⟦r⟧ x WHERE x.c IN (SELECT b FROM ⟦u RANGE 3⟧ y ORDER BY y.k⟦+, y.k, "
        "y.b+⟧ LIMIT 2)"
    ),
    ("SELECT x.k FROM ⟦r⟧ x WHERE x.c IN (SELECT b FROM ⟦u RANGE 3⟧ UNION SELECT a FROM ⟦s NOW⟧)"),
    (
        "SELECT x.k FROM ⟦r⟧ x WHERE EXISTS (SELECT 1 FROM ⟦u RANGE 3⟧ y WHERE y.k = x.k UNION "
        "SELECT 1 FROM ⟦s NOW⟧ y WHERE y.k = x.k)"
    ),
    (
        "SELECT x.k FROM ⟦r⟧ x WHERE x.c = (SELECT sum(n) FROM (SELECT count(*) AS n FROM ⟦s⟧ "
        "y WHERE y.k = x.k) z)"
    ),
    (
        "SELECT x.k FROM ⟦r⟧ x WHERE x.c > (SELECT avg(b) FROM ⟦u⟧ y WHERE y.k = x.k AND "
        "EXISTS (SELECT 1 FROM ⟦s⟧ z WHERE z.k = x.k AND z.a = y.b))"
    ),
    (
        "SELECT x.k, row_number() OVER (PARTITION BY x.k ORDER BY x.c, (SELECT count(*) FROM "
        "⟦u⟧ y WHERE y.k = x.k)) AS n FROM ⟦r⟧ x"
    ),
    (
        "WITH w AS (SELECT k, row_number() OVER (ORDER BY a DESC⟦+, k, a, v+⟧) AS n, v FROM ⟦s "
        "RANGE 3⟧) SELECT k, v FROM w WHERE n <= 2"
    ),
    (
        "SELECT k, v FROM (SELECT k, v, rank() OVER (PARTITION BY k ORDER BY a DESC) AS n FROM "
        "⟦s RANGE 3⟧) x WHERE n = 1"
    ),
    "SELECT k, count(*) OVER () AS n FROM ⟦s NOW⟧",
    "SELECT k, sum(count(*)) OVER () AS n FROM ⟦s RANGE 3⟧ GROUP BY k",
    (
        "SELECT k, sum(count(*)) OVER (ORDER BY k ROWS UNBOUNDED PRECEDING) AS n FROM ⟦s RANGE "
        "3⟧ GROUP BY k"
    ),
    (
        "SELECT k, count(*) AS n FROM ⟦s RANGE 3⟧ GROUP BY k QUALIFY rank() OVER (ORDER BY n "
        "DESC) = 1"
    ),
    "SELECT DISTINCT k, rank() OVER (ORDER BY k) AS n FROM ⟦s RANGE 3⟧",
    "SELECT k FROM ⟦s RANGE 3⟧ GROUP BY k ORDER BY max(a) DESC, k LIMIT 1",
    "SELECT k, list(DISTINCT a ORDER BY a DESC) AS l FROM ⟦s RANGE 3⟧ GROUP BY k",
    "SELECT list({'k': k, 'a': a}⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s RANGE 1⟧",
    "SELECT list(k || v⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s RANGE 1⟧",
    "SELECT array_agg(v⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s RANGE 1⟧",
    "SELECT array_agg(v⟦+ ORDER BY k, a, v+⟧) FILTER (WHERE v <> 'x') AS l FROM ⟦s RANGE 1⟧",
    "SELECT group_concat(v, '+'⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s RANGE 1⟧",
    "SELECT listagg(v⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s RANGE 1⟧",
    "SELECT string_agg(v⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s RANGE 1⟧",
    "SELECT arg_min_null(v, a⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s RANGE 2⟧",
    "SELECT arg_max_null(v, a⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s RANGE 2⟧",
    (
        "SELECT any_value(a⟦+ ORDER BY k, a, v+⟧) AS l, arbitrary(a⟦+ ORDER BY k, a, v+⟧) AS m "
        "FROM ⟦s RANGE 2⟧"
    ),
    "SELECT first(a ORDER BY v) AS f FROM ⟦s ROWS 1⟧",
    (
        "SELECT k, first(v⟦+ ORDER BY k, a, v+⟧) FILTER (WHERE a = 10) AS f FROM ⟦s RANGE 3⟧ "
        "GROUP BY k"
    ),
    (
        "SELECT x.k, list(y.c⟦+ ORDER BY x.k, x.a, x.v, y.k, y.c+⟧) AS l FROM ⟦s RANGE 2⟧ x "
        "LEFT JOIN ⟦r⟧ y ON x.k = y.k GROUP BY x.k"
    ),
    (
        "SELECT k, list(c⟦+ ORDER BY k, a, v, c+⟧) AS l FROM ⟦s RANGE 2⟧ x JOIN ⟦r⟧ y USING "
        "(k) GROUP BY k"
    ),
    (
        "SELECT k, string_agg(v, ',' ORDER BY a DESC NULLS FIRST⟦+, k, a, v+⟧) AS l FROM ⟦s "
        "RANGE 3⟧ GROUP BY k"
    ),
    "SELECT min(v ORDER BY a) AS m, sum(a ORDER BY v) AS n FROM ⟦s RANGE 3⟧",
    "SELECT k, mode(a⟦+ ORDER BY k, a, v+⟧) AS m FROM ⟦s RANGE 3⟧ GROUP BY k",
    "SELECT approx_count_distinct(a) AS n FROM ⟦s NOW⟧",
    "SELECT entropy(v) AS n FROM ⟦s NOW⟧",
    (
        "SELECT count(*) FILTER (WHERE a > 1), k FROM ⟦s RANGE 2⟧ GROUP BY ALL HAVING count(*) "
        "FILTER (WHERE a > 1) > 0"
    ),
    (
        "SELECT sum(DISTINCT a) FILTER (WHERE a > 5) AS n, count(DISTINCT v) FILTER (WHERE a "
        "IS NULL) AS m FROM ⟦s RANGE 3⟧"
    ),
    "SELECT avg(DISTINCT a) AS n FROM ⟦s RANGE 3⟧",
    "SELECT max(DISTINCT a) AS n FROM ⟦s RANGE 3⟧",
    "SELECT histogram(v) AS h FROM ⟦s NOW⟧",
    (
        "SELECT map_from_entries(list((k, a)⟦+ ORDER BY k, a, v+⟧)) AS h FROM ⟦s ROWS 1⟧ WHERE "
        "k IS NOT NULL"
    ),
    "SELECT * FROM (SELECT k, a FROM ⟦s RANGE 2⟧) x NATURAL JOIN ⟦u RANGE 2⟧",
    ("SELECT * FROM ⟦s RANGE 1⟧ x LEFT JOIN ⟦u RANGE 1⟧ y USING (k) LEFT JOIN ⟦r⟧ z USING (k)"),
    "SELECT k, x.k AS i, y.k AS j FROM ⟦s RANGE 1⟧ x FULL JOIN ⟦r⟧ y USING (k)",
    "SELECT x.*, y.c FROM ⟦s RANGE 1⟧ x FULL JOIN ⟦r⟧ y USING (k)",
    "SELECT count(*) AS n, count(x.k) AS i FROM ⟦s NOW⟧ x FULL JOIN ⟦r⟧ y USING (k)",
    "SELECT k, count(*) AS n FROM ⟦s NOW⟧ x FULL JOIN ⟦r⟧ y USING (k) GROUP BY k",
    (
        "SELECT x.k, n FROM ⟦r⟧ x LEFT JOIN (SELECT k, count(*) AS n FROM ⟦s NOW⟧ GROUP BY k) "
        "y ON x.k = y.k"
    ),
    ("SELECT DISTINCT ON (v) v, k FROM ⟦s RANGE 3⟧ ORDER BY v DESC, a DESC⟦+, k, a, v+⟧ LIMIT 2"),
    "SELECT DISTINCT ON (k + 1) k, v FROM ⟦s RANGE 3⟧ ORDER BY k + 1, a⟦+, k, a, v+⟧",
    "SELECT k FROM ⟦s RANGE 3⟧ EXCEPT ALL (SELECT k FROM ⟦u⟧ UNION ALL SELECT k FROM ⟦r⟧)",
    "(SELECT k FROM ⟦s RANGE 3⟧ EXCEPT SELECT k FROM ⟦r⟧) UNION ALL SELECT b FROM ⟦u NOW⟧",
    (
        "SELECT x.k FROM ⟦s RANGE 3⟧ x JOIN (SELECT k FROM ⟦u⟧ EXCEPT SELECT k FROM ⟦r⟧) y ON "
        "x.k = y.k"
    ),
    (
        "SELECT k, n FROM (SELECT k, count(*) AS n FROM (SELECT k FROM ⟦s RANGE 3⟧ INTERSECT "
        "ALL SELECT k FROM ⟦u⟧) x GROUP BY k) y WHERE n > 1"
    ),
    (
        "SELECT x.k, z.m FROM ⟦r⟧ x LEFT JOIN LATERAL (SELECT median(a) AS m FROM ⟦s RANGE 2⟧ "
        "y WHERE y.k = x.k) z ON z.m > 0"
    ),
    (
        "SELECT x.k, z.m FROM ⟦r⟧ x, LATERAL (SELECT count(*) AS m FROM ⟦s RANGE 2⟧ y WHERE "
        "y.k = x.k) z, LATERAL (SELECT z.m + 1 AS o) w"
    ),
    "SELECT unnest(struct_pack(i := k, j := v)) FROM ⟦s RANGE 2⟧",
    "SELECT k, unnest(list_distinct([a, k, a])) AS n FROM ⟦s RANGE 2⟧ WHERE a IS NOT NULL",
    "SELECT k, CASE WHEN EXISTS (SELECT 1 FROM ⟦u NOW⟧) THEN 'u' ELSE '-' END AS e FROM ⟦r⟧",
    "SELECT k, coalesce((SELECT max(b) FROM ⟦u NOW⟧), -1) AS e FROM ⟦r⟧",
    (
        "SELECT (SELECT count(*) FROM ⟦s NOW⟧) - (SELECT count(*) FROM ⟦u NOW⟧) AS d, (SELECT "
        "max(c) FROM ⟦r⟧) AS m"
    ),
    "SELECT (SELECT count(*) FROM ⟦s NOW⟧) AS d FROM ⟦r⟧ GROUP BY ALL",
    "SELECT k, count(*) + (SELECT count(*) FROM ⟦u NOW⟧) AS n FROM ⟦s RANGE 1⟧ GROUP BY k",
    ("SELECT k, (SELECT count(*) FROM ⟦u⟧ y WHERE y.k = x.k) AS n FROM ⟦s RANGE 1⟧ x GROUP BY k"),
    ("SELECT a FROM ⟦s RANGE 3⟧ x JOIN ⟦r⟧ y ON x.k = y.k AND x.a >= (SELECT max(b) FROM ⟦u NOW⟧)"),
    (
        "SELECT a FROM ⟦s RANGE 3⟧ x LEFT JOIN ⟦r⟧ y ON x.k = y.k AND y.c IN (SELECT b FROM ⟦u "
        "RANGE 2⟧)"
    ),
    (
        "SELECT k, v, count(*) AS n, grouping(k) + grouping(v) AS g FROM ⟦s RANGE 2⟧ GROUP BY "
        "GROUPING SETS ((), (), (k), CUBE (k, v))"
    ),
    "SELECT k, list(v ORDER BY v) AS l FROM ⟦s NOW⟧ GROUP BY GROUPING SETS ((k), ())",
    (
        "SELECT coalesce(k, -1) AS k, count(*) AS n FROM ⟦s RANGE 2⟧ GROUP BY ROLLUP "
        "(coalesce(k, -1))"
    ),
    "SELECT k + 1 AS j, count(*) AS n FROM ⟦s RANGE 2⟧ GROUP BY ROLLUP (k)",
    "SELECT k FROM ⟦s RANGE 2⟧ GROUP BY ROLLUP (k) HAVING grouping(k) = 0 AND sum(a) > 10",
    (
        "SELECT median(a) FILTER (WHERE k = 1) AS m, quantile_disc(a, 0.5) AS q, mad(a) AS d "
        "FROM ⟦s RANGE 3⟧"
    ),
    "SELECT k FROM ⟦s RANGE 3⟧ WHERE a > 5 ORDER BY a DESC⟦+, k, a, v+⟧ LIMIT 1 OFFSET 1",
    "SELECT x.n FROM (VALUES (1), (2)) x(n) WHERE x.n IN (SELECT k FROM ⟦s NOW⟧)",
    "SELECT x.n FROM (VALUES (1), (2)) x(n) WHERE x.n NOT IN (SELECT k FROM ⟦s NOW⟧)",
    "SELECT count(*) AS n FROM ⟦s NOW⟧ x, (VALUES (1), (2)) y(n)",
    "SELECT x.k, y.n FROM ⟦r⟧ x LEFT JOIN (VALUES (1, 'a')) y(k, n) USING (k)",
    "SELECT k FROM ⟦s RANGE 3⟧ WHERE k IS NOT DISTINCT FROM (SELECT max(k) FROM ⟦r⟧)",
    "SELECT k FROM ⟦s RANGE 3⟧ x WHERE a > ALL (SELECT c FROM ⟦r⟧ y WHERE y.k = x.k)",
    "SELECT k FROM ⟦s RANGE 3⟧ x WHERE a = ANY (SELECT c FROM ⟦r⟧ y WHERE y.k = x.k)",
    "SELECT k FROM ⟦s RANGE 3⟧ x WHERE NOT (a > ANY (SELECT c FROM ⟦r⟧ y))",
    "SELECT k, a NOT IN (SELECT c FROM ⟦r⟧ y WHERE y.k = x.k) AS i FROM ⟦s RANGE 3⟧ x",
    "SELECT k, a > ALL (SELECT c FROM ⟦r⟧ y WHERE y.k = x.k) AS i FROM ⟦s RANGE 3⟧ x",
    (
        "SELECT k, (SELECT struct_pack(n := count(*), m := max(a)) FROM ⟦s RANGE 1⟧ y WHERE "
        "y.k = x.k) AS i FROM ⟦r⟧ x"
    ),
    "SELECT sum(a) AS m FROM ⟦s RANGE 2⟧ HAVING sum(a) > (SELECT max(b) FROM ⟦u⟧)",
    "SELECT (SELECT max(b) FROM ⟦u⟧) AS n, (SELECT max(c) FROM ⟦r⟧) AS m",
    "SELECT k, a FROM ⟦s RANGE 2⟧ WHERE a IN ((SELECT max(b) FROM ⟦u⟧), 10)",
    "SELECT k, a FROM ⟦s RANGE 2⟧ WHERE (SELECT max(b) FROM ⟦u⟧) BETWEEN a AND 30",
    ("SELECT k, a FROM ⟦s RANGE 2⟧ WHERE a > (SELECT max(b) FROM ⟦u⟧) - (SELECT min(b) FROM ⟦u⟧)"),
    ("SELECT k, a FROM ⟦s RANGE 2⟧ ORDER BY (SELECT max(b) FROM ⟦u⟧) - a⟦+, k, a, v+⟧ LIMIT 2"),
    (
        "SELECT x.k, y.k AS j, x.c FROM ⟦r⟧ x LEFT JOIN ⟦s NOW⟧ y ON x.k = y.k AND y.a > "
        "(SELECT min(b) FROM ⟦u⟧)"
    ),
    (
        "SELECT k FROM ⟦s RANGE 2⟧ UNION ALL SELECT count(*) FROM ⟦r⟧ WHERE EXISTS (SELECT 1 "
        "FROM ⟦u NOW⟧)"
    ),
    "SELECT count(*) AS n FROM ⟦r⟧ WHERE EXISTS (SELECT 1 FROM ⟦u NOW⟧)",
    "SELECT count(*) AS n FROM ⟦r⟧ x WHERE EXISTS (SELECT 1 FROM ⟦u NOW⟧ y WHERE x.k = y.k)",
    (
        "SELECT k, sum(a) AS n FROM ⟦s RANGE 2⟧ x WHERE NOT EXISTS (SELECT 1 FROM ⟦u RANGE 1⟧ "
        "y WHERE x.k = y.k) GROUP BY k"
    ),
    (
        "SELECT y.k, sum(y.b) AS n FROM ⟦s RANGE 2⟧ x FULL JOIN ⟦u RANGE 1⟧ y ON x.k = y.k "
        "GROUP BY y.k HAVING count(x.a) = 0"
    ),
    "SELECT k FROM ⟦s ROWS 4⟧ x WHERE (k, a) = ANY (SELECT k, c FROM ⟦r⟧)",
    "SELECT k FROM ⟦s ROWS 4⟧ x WHERE (k, a) IN (SELECT k, c FROM ⟦r⟧)",
    "SELECT k FROM ⟦s ROWS 4⟧ x WHERE (k, a) NOT IN (SELECT k, c FROM ⟦r⟧)",
    "SELECT count(*) + (SELECT count(*) FROM ⟦u NOW⟧) AS n FROM ⟦s NOW⟧",
    "SELECT count(*) AS m, (SELECT count(*) FROM ⟦u NOW⟧) AS n FROM ⟦s NOW⟧",
    "SELECT count(*) AS m, (SELECT max(b) FROM ⟦u⟧) AS n FROM ⟦s RANGE 2⟧",
    "SELECT sum(a) AS m, max(a) > (SELECT max(b) FROM ⟦u⟧) AS n FROM ⟦s RANGE 2⟧",
    (
        "SELECT list(a⟦+ ORDER BY k, a, v+⟧) AS m, max(a) > (SELECT max(b) FROM ⟦u⟧) AS n "
        "FROM ⟦s RANGE 2⟧"
    ),
    "SELECT v FROM ⟦s RANGE 3⟧ ORDER BY a⟦+, k, a, v+⟧ LIMIT 50%",
    "SELECT v FROM ⟦s RANGE 3⟧ ORDER BY a⟦+, k, a, v+⟧ LIMIT (SELECT count(*) FROM ⟦r⟧)",
    "SELECT k, grouping(k) AS g, list(a ORDER BY a) AS l FROM ⟦s NOW⟧ GROUP BY ROLLUP (k)",
    (
        "WITH RECURSIVE w AS (SELECT k, c, 0 AS d FROM ⟦r⟧ UNION SELECT w.k, x.b, d + 1 FROM "
        "w JOIN ⟦u RANGE 3⟧ x ON w.k = x.k WHERE d < 3) SELECT k, c, d FROM w"
    ),
    (
        "WITH RECURSIVE w AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM w WHERE n < (SELECT "
        "count(*) FROM ⟦s NOW⟧)) SELECT n FROM w"
    ),
    "SELECT k FROM ⟦s RANGE 2⟧ GROUP BY ROLLUP (k)",
    "SELECT k, grouping(k) AS g, k IN (SELECT k FROM ⟦u NOW⟧) AS i FROM ⟦r⟧ GROUP BY CUBE (k)",
    "SELECT * FROM ⟦r⟧ PIVOT (sum(c) FOR k IN (1, 2))",
    "SELECT * FROM ⟦r⟧ x PIVOT (sum(c) FOR k IN (1, 2)) AS p",
    "SELECT * FROM ⟦r⟧ PIVOT (list(c ORDER BY c) FOR k IN (1, 2))",
    "SELECT * FROM ⟦s RANGE 2⟧ PIVOT (count(*) AS n, max(a) FOR v IN ('x', 'y', NULL) GROUP BY k)",
    "SELECT * FROM ⟦u RANGE 2⟧ UNPIVOT INCLUDE NULLS (w FOR n IN (k, b))",
    "SELECT * FROM (UNPIVOT ⟦u RANGE 2⟧ ON k + 1, b INTO NAME n VALUE w)",
    "SELECT * FROM ⟦r⟧ x UNPIVOT (w FOR n IN (k, c)) AS p(m, v)",
    "SELECT * FROM (PIVOT ⟦r⟧ ON k IN (1, 2) USING sum(c))",
    "SELECT * FROM ⟦u RANGE 2⟧ UNPIVOT (w FOR n IN (k, b))",
    "SELECT * FROM (UNPIVOT ⟦u RANGE 2⟧ ON k, b INTO NAME n VALUE w)",
    (
        "SELECT c1.c2 FROM ⟦s RANGE 5⟧ x1, (SELECT x2.b AS c2 FROM ⟦u⟧ AS x2 WHERE x1.k = "
        "x2.k ORDER BY x2.b LIMIT 1) AS c1"
    ),
    "WITH w AS (SELECT 1 AS n) SELECT k, n FROM ⟦s RANGE 1⟧, w",
    (
        "WITH w AS (SELECT 1 AS n), z AS (SELECT n + 1 AS m FROM w) SELECT k, n, m FROM ⟦s "
        "RANGE 1⟧, w, z"
    ),
    "SELECT k, n FROM ⟦s RANGE 1⟧, (SELECT 1 AS n) x",
    "SELECT x.k, x FROM ⟦r⟧ x LEFT JOIN ⟦u RANGE 1⟧ y ON x.k = y.k",
    "SELECT list(x⟦+ ORDER BY x.k, x.c+⟧) AS l FROM ⟦r⟧ x",
    "SELECT count(x) AS l FROM ⟦r⟧ x",
    (
        "SELECT x.k, n FROM ⟦s RANGE 3⟧ x, (VALUES (1), (2)) t(n) ⟦+ ORDER BY x.k, x.a, x.v, "
        "n +⟧ LIMIT 3"
    ),
    "SELECT list(n⟦+ ORDER BY x.k, x.a, x.v, n+⟧) AS l FROM ⟦s RANGE 3⟧ x, unnest([x.a, x.k]) t(n)",
    (
        "SELECT first(m⟦+ ORDER BY x.k, x.c, m+⟧) AS l FROM ⟦r⟧ x, LATERAL (SELECT max(a) AS "
        "m FROM ⟦s RANGE 2⟧ y WHERE y.k = x.k) z"
    ),
    "SELECT x.k FROM ⟦s RANGE 2⟧ x SEMI JOIN ⟦r⟧ y ON x.k = y.k ⟦+ORDER BY x.k, x.a, x.v+⟧ LIMIT 1",
    "SELECT k FROM ⟦s RANGE 2⟧ UNION ALL BY NAME SELECT k, c FROM ⟦r⟧ ORDER BY k⟦+, k, c+⟧ LIMIT 3",
    (
        "SELECT x.k FROM ⟦r⟧ x WHERE x.c IN (SELECT b FROM ⟦u RANGE 3⟧ UNION ALL SELECT a "
        "FROM ⟦s RANGE 1⟧ ORDER BY 1 LIMIT 2)"
    ),
    (
        "SELECT x.k, (SELECT y.b FROM ⟦u⟧ y WHERE y.k = x.k AND EXISTS (SELECT 1 FROM ⟦s "
        "RANGE 3⟧ z WHERE z.k = x.k AND z.a = y.b) ⟦+ORDER BY y.k, y.b+⟧ LIMIT 1) AS b FROM "
        "⟦r⟧ x"
    ),
    (
        "SELECT k, a FROM ⟦s RANGE 3⟧ x WHERE a = (SELECT max(b) FROM ⟦u⟧ y WHERE y.k = x.k "
        "AND y.b <= (SELECT max(c) FROM ⟦r⟧ z WHERE z.k = x.k AND z.c >= y.b))"
    ),
    (
        "SELECT DISTINCT k, v FROM ⟦s RANGE 3⟧ QUALIFY row_number() OVER (PARTITION BY k "
        "ORDER BY a⟦+, k, a, v+⟧) <= 2 ORDER BY v⟦+, k, v+⟧ LIMIT 2"
    ),
    (
        "SELECT k, sum(a) OVER (PARTITION BY k ORDER BY a GROUPS BETWEEN 1 PRECEDING AND 1 "
        "FOLLOWING EXCLUDE TIES) AS z FROM ⟦s RANGE 3⟧"
    ),
    (
        "SELECT k, first_value(v⟦+ ORDER BY a, k, a, v+⟧ IGNORE NULLS) OVER (ORDER BY a "
        "GROUPS 1 PRECEDING) AS z FROM ⟦s RANGE 3⟧"
    ),
    (
        "SELECT k, list(v⟦+ ORDER BY k, a, v+⟧) FILTER (WHERE v <> 'x') OVER (PARTITION BY "
        "k) AS z FROM ⟦s RANGE 3⟧"
    ),
    "SELECT k, list(DISTINCT v ORDER BY v DESC) OVER (PARTITION BY k) AS z FROM ⟦s RANGE 3⟧",
    "SELECT max(COLUMNS(*)) + 1 FROM ⟦r⟧",
    "SELECT COLUMNS('[ka]') FROM ⟦s RANGE 2⟧",
    "SELECT * EXCLUDE (v) REPLACE (a + 1 AS a) FROM ⟦s RANGE 2⟧ x LEFT JOIN ⟦r⟧ y USING (k)",
    "SELECT k, a FROM (SELECT * FROM ⟦s RANGE 2⟧ LIMIT 0) x",
    (
        "SELECT k, count(*) AS n, row_number() OVER (ORDER BY count(*)⟦+, k, v+⟧) AS i FROM "
        "⟦s RANGE 3⟧ GROUP BY k, v"
    ),
    (
        "SELECT k, v, count(*) AS n, row_number() OVER (ORDER BY count(*)⟦+, k, v, "
        "grouping_id(k, v)+⟧) AS i FROM ⟦s RANGE 3⟧ GROUP BY ROLLUP (k, v)"
    ),
    (
        "SELECT k, row_number() OVER (ORDER BY count(*)⟦+, k+⟧) AS i FROM ⟦s RANGE 3⟧ "
        "⟦-GROUP BY ALL-⟧⟦+GROUP BY k+⟧"
    ),
    (
        "SELECT k + 1 AS j, row_number() OVER (ORDER BY count(*)⟦+, k + 1+⟧) AS i FROM ⟦s "
        "RANGE 3⟧ GROUP BY j"
    ),
    "SELECT k, list(k⟦+ ORDER BY k+⟧) OVER () AS i FROM ⟦s RANGE 3⟧ GROUP BY k",
    (
        "SELECT x1.k, c1.c2 FROM ⟦r⟧ x1, (SELECT b AS c2 FROM ⟦u⟧ ORDER BY abs(b - c) ⟦+, k, "
        "b+⟧ LIMIT 1) AS c1"
    ),
    (
        "SELECT k, 1 AS one, row_number() OVER (ORDER BY count(*)⟦+, k+⟧) AS i FROM ⟦s RANGE "
        "3⟧ ⟦-GROUP BY ALL-⟧⟦+GROUP BY k+⟧"
    ),
    "SELECT x.a, x.k FROM ⟦s RANGE 1⟧ x ⟦-ASOF-⟧ SEMI JOIN ⟦r⟧ y ON x.k = y.k AND x.a >= y.c",
    "SELECT x.a, x.k FROM ⟦s RANGE 1⟧ x ⟦-ASOF-⟧ ANTI JOIN ⟦r⟧ y ON x.k = y.k AND x.a >= y.c",
    (
        "SELECT sum(a) AS n, x.k FROM ⟦s RANGE 3⟧ x LEFT JOIN ⟦r⟧ y ON x.k = y.k GROUP BY "
        "x.k ORDER BY 1⟦+, 1, 2+⟧ LIMIT 1"
    ),
    (
        "SELECT k, (SELECT count(*) FROM ⟦u⟧ y WHERE y.k = x.k) + (SELECT count(*) FROM ⟦u "
        "NOW⟧ y WHERE y.k = x.k) AS n FROM ⟦r⟧ x"
    ),
    (
        "SELECT k, (SELECT list(b⟦+ ORDER BY k, b+⟧) FROM ⟦u⟧ y WHERE y.k = (SELECT min(k) "
        "FROM ⟦s RANGE 1⟧ z WHERE z.k >= x.k)) AS n FROM ⟦r⟧ x"
    ),
    (
        "SELECT (SELECT sum(n) FROM (SELECT count(*) AS n FROM ⟦s RANGE 1⟧ UNION ALL SELECT "
        "count(*) FROM ⟦u NOW⟧) z) AS t, k FROM ⟦r⟧"
    ),
    (
        "SELECT k FROM ⟦r⟧ x WHERE (SELECT count(*) FROM (SELECT DISTINCT a FROM ⟦s RANGE 3⟧ "
        "y WHERE y.k = x.k) z) > 1"
    ),
    (
        "SELECT k, (SELECT max(n) FROM (SELECT a, count(*) AS n FROM ⟦s RANGE 3⟧ y WHERE y.k "
        "= x.k GROUP BY a) z) AS m FROM ⟦r⟧ x"
    ),
    (
        "SELECT k, (SELECT row_number() OVER (ORDER BY a⟦+, k, a, v+⟧) AS i FROM ⟦s RANGE 3⟧ "
        "y WHERE y.k = x.k ORDER BY i DESC⟦+, k, a, v+⟧ LIMIT 1) AS m FROM ⟦r⟧ x"
    ),
    (
        "WITH w AS (SELECT k, a FROM ⟦s RANGE 3⟧ ⟦+ORDER BY k, a, v+⟧ LIMIT 3) SELECT x.k, "
        "y.a, (SELECT count(*) FROM w) AS n FROM w x LEFT JOIN w y ON x.a < y.a"
    ),
    (
        "SELECT x.k, z.b FROM ⟦r⟧ x LEFT JOIN LATERAL (SELECT b FROM ⟦u⟧ y WHERE y.k = x.k "
        "⟦+ORDER BY y.k, y.b+⟧ LIMIT 1) z ON true"
    ),
    (
        "SELECT x.k, z.b, w.n FROM ⟦r⟧ x LEFT JOIN LATERAL (SELECT b FROM ⟦u⟧ y WHERE y.k = "
        "x.k ⟦+ORDER BY y.k, y.b+⟧ LIMIT 1) z ON true LEFT JOIN LATERAL (SELECT count(*) AS "
        "n FROM ⟦s RANGE 1⟧ q WHERE q.a = z.b) w ON true"
    ),
    (
        "(SELECT k FROM ⟦s RANGE 3⟧ EXCEPT ALL SELECT k FROM ⟦r⟧) INTERSECT (SELECT k FROM "
        "⟦u⟧ ORDER BY b⟦+, k, b+⟧ LIMIT 2)"
    ),
    "SELECT k, a FROM ⟦s RANGE 3⟧ WHERE (SELECT bool_and(b > 5) FROM ⟦u NOW⟧)",
    "SELECT k FROM ⟦r⟧ WHERE EXISTS (SELECT count(*) FROM ⟦u NOW⟧ HAVING count(*) > 1)",
    "SELECT k FROM ⟦r⟧ x WHERE EXISTS (SELECT count(*) FROM ⟦u NOW⟧ y WHERE y.k = x.k)",
    (
        "SELECT k, CASE WHEN k = 1 THEN (SELECT max(b) FROM ⟦u⟧) ELSE (SELECT min(c) FROM "
        "⟦r⟧) END AS z FROM ⟦s RANGE 1⟧"
    ),
    "SELECT entropy(a⟦+ ORDER BY k, a, v+⟧) AS e, list(a⟦+ ORDER BY k, a, v+⟧) AS l FROM ⟦s NOW⟧",
    "SELECT approx_count_distinct(a) AS e, count_if(a > 1) AS c FROM ⟦s NOW⟧",
    "SELECT k, (SELECT count_if(b > 5) FROM ⟦u NOW⟧) AS c FROM ⟦r⟧",
    "SELECT k, (SELECT regr_count(b, k) FROM ⟦u NOW⟧) AS c FROM ⟦r⟧",
    (
        "SELECT v, count(*) AS n FROM ⟦s RANGE 3⟧ x LEFT JOIN ⟦r⟧ y USING (k) GROUP BY CUBE "
        "(v, k) HAVING count(*) > 1"
    ),
    (
        "SELECT k, x.a, y.a AS b FROM ⟦s RANGE 1⟧ x NATURAL LEFT JOIN (SELECT k, max(a) AS a "
        "FROM ⟦s RANGE 3⟧ GROUP BY k) y"
    ),
    (
        "SELECT map([k], [a]) AS m, count(*) AS n FROM ⟦s RANGE 2⟧ WHERE k IS NOT NULL GROUP "
        "BY ALL ORDER BY n DESC, m LIMIT 2"
    ),
    "SELECT x.k, t.n FROM ⟦r⟧ x, unnest(range(x.k)) t(n) ⟦+ORDER BY x.k, x.c, n+⟧ LIMIT 3",
    (
        "SELECT x.k, {'a': x.a, 'l': list(x.v⟦+ ORDER BY x.k, x.a, x.v+⟧)} AS z FROM ⟦s "
        "RANGE 3⟧ x GROUP BY x.k, x.a"
    ),
    (
        "SELECT list_sort(list(a)) AS l, list_aggregate(list(a), 'sum') AS m, len(list(k)) "
        "AS n FROM ⟦s RANGE 3⟧"
    ),
    (
        "SELECT DISTINCT ON (k, v) k, v, sum(a) AS n FROM ⟦s RANGE 3⟧ GROUP BY k, v, a "
        "⟦+ORDER BY k, v, 3+⟧"
    ),
    (
        "SELECT k, count(*) OVER w AS n, sum(a) OVER (w ROWS 1 PRECEDING) AS m FROM ⟦s RANGE "
        "3⟧ WINDOW w AS (PARTITION BY k ORDER BY a, k, v)"
    ),
    "FROM ⟦s RANGE 3⟧ SELECT k, lead(a, 1, 0) OVER (ORDER BY v⟦+, k, a, v+⟧) AS n LIMIT 0",
    (
        "SELECT count(DISTINCT k) AS n, count(DISTINCT (k, a)) AS m, count(DISTINCT k) "
        "FILTER (WHERE a > 5) AS o FROM ⟦s RANGE 3⟧ x LEFT JOIN ⟦r⟧ y USING (k)"
    ),
    (
        "SELECT x.k FROM ⟦s RANGE 3⟧ x JOIN (⟦u⟧ y LEFT JOIN ⟦r⟧ z ON y.k = z.k) ON x.k = "
        "z.k WHERE y.b = (SELECT max(b) FROM ⟦u⟧)"
    ),
    (
        "SELECT k FROM ⟦s RANGE 3⟧ GROUP BY k HAVING max(a) = (SELECT max(c) FROM ⟦r⟧) OR "
        "count(*) IN (SELECT b FROM ⟦u⟧)"
    ),
    "SELECT (SELECT max(a) FROM ⟦s RANGE 1⟧) = ANY (SELECT b FROM ⟦u⟧) AS z FROM ⟦r⟧",
    (
        "SELECT k, quantile_cont(a, [0.25, 0.5] ORDER BY a) AS q, mode() WITHIN GROUP (ORDER "
        "BY a) AS m FROM ⟦s RANGE 3⟧ GROUP BY k"
    ),
    (
        "SELECT v, json_object('k', k, 'a', a) AS j, geomean(a) OVER (PARTITION BY k) AS g "
        "FROM ⟦s RANGE 1⟧"
    ),
    "SELECT json_group_array(a) AS g FROM ⟦s ROWS 1⟧",
)


def case_of(queries: list[Query], cuts: list[int]) -> strategies.Case:
    """Return a case over the inputs above: all data before each of the advances that closes it."""
    script: list[strategies.Step] = [strategies.Register(query) for query in queries]
    before = -1
    for to in [*cuts, END]:
        for source in (S, U, R):
            arrivals = source.elements if isinstance(source, Stream) else source.changes
            batch = tuple(arrival for arrival in arrivals if before < arrival[0] <= to)
            if batch:
                script.append(strategies.Append(source, batch))
        script.append(strategies.Advance(to))
        before = to
    return strategies.Case((S, U, R), tuple(queries), 0, END, tuple(script))


ALL = {**HAND_WRITTEN, **{text: text for text in MORE}}


def of_text(text: str, **options) -> Query:
    """Return a query over the inputs above."""
    return written("q", text, [S, U, R], **options)


def together(texts: list[str], cuts: list[int], r2s=None, **options) -> None:
    """Check queries in one database."""
    queries = [written(f"q{number}", text, [S, U, R], r2s=r2s) for number, text in enumerate(texts)]
    check(case_of(queries, cuts), **options)


GROUP = 12
GROUPS = [list(ALL)[start : start + GROUP] for start in range(0, len(ALL), GROUP)]


@pytest.mark.parametrize("names", GROUPS, ids=[names[0] for names in GROUPS])
def test_hand_written(names):
    together([ALL[name] for name in names], [0, 2, 3, 8])


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_each_instant_by_itself(name):
    check(case_of([of_text(ALL[name])], list(range(END))))


@pytest.mark.long
@pytest.mark.parametrize("names", GROUPS, ids=[names[0] for names in GROUPS])
def test_in_one_tick_with_half_open_windows(names):
    together([ALL[name] for name in names], [], window_edge="half_open")


@pytest.mark.long
@pytest.mark.parametrize("names", GROUPS, ids=[names[0] for names in GROUPS])
def test_with_recompute_always(names):
    together([ALL[name] for name in names], [0, 2, 3, 8], recompute="always")


@pytest.mark.parametrize("r2s", ["istream", "dstream", "rstream"])
def test_under_an_operator(r2s):
    names = (
        "full join", "not in", "listed count, correlated", "except all", "cte twice", "lateral",
        "distinct on, ties", "offset", "row_number", "qualify", "cube", "list over nothing",
        "several distincts", "aggregate over a left join", "incremental over a limit",
    )  # fmt: skip
    together([HAND_WRITTEN[name] for name in names], [0, 3, 4, 8], r2s=r2s)


APPROXIMATE = {"approx_quantile", "approx_top_k", "reservoir_quantile"}
INTERNAL = {"combine_aggr", "decimal_average", "lttb", "sum_no_overflow", "variant_group_object"}
ARGUMENTS = {
    **dict.fromkeys(("quantile", "quantile_cont", "quantile_disc"), "a, 0.5"),
    **dict.fromkeys(("bool_and", "bool_or", "count_if", "countif"), "a > 5"),
    **dict.fromkeys(("string_agg", "group_concat", "listagg"), "v, ','"),
    "bitstring_agg": "a, 0, 40",
    "histogram_exact": "a, [10, 20]",
    "count_star": "",
}


def aggregates() -> list[str]:
    """Return a call of each aggregate of DuckDB, all its ties broken for the oracle."""
    rows = duckdb.sql(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
    ).fetchall()
    calls = []
    for name in sorted({row[0] for row in rows} - APPROXIMATE - INTERNAL):
        takes_two = name.startswith(("arg", "max_by", "min_by", "regr", "cov", "corr"))
        arguments = ARGUMENTS.get(name, "a, k" if takes_two else "a")
        ties = "⟦+ ORDER BY k, a, v+⟧" if arguments else ""
        calls.append(f"{name}({arguments}{ties})")
    return calls


@pytest.mark.parametrize(
    "form",
    ["SELECT {} AS x FROM ⟦s NOW⟧",
     pytest.param("SELECT k, {} AS x FROM ⟦s RANGE 3⟧ GROUP BY k", marks=pytest.mark.long),
     pytest.param("SELECT (SELECT {} FROM ⟦s RANGE 3⟧ y WHERE y.k = x.k) AS x FROM ⟦r⟧ x",
                  marks=pytest.mark.long)],
)  # fmt: skip
def test_every_aggregate(form):
    together([form.format(call) for call in some_if_brief(aggregates(), 3)], [0, 2, 8])


def test_equal_aggregates_beside_a_distinct_one():
    """DuckDB 2.0 ends with an internal error in one of its optimizers, if that is on."""
    twice = "median(a) AS m, avg(a) AS n, median(a) AS o, avg(a) AS p"
    texts = [
        f"SELECT k, {twice}, list(DISTINCT a ORDER BY a) AS d FROM ⟦s RANGE 3⟧ GROUP BY k",
        f"SELECT {twice}, list(DISTINCT a ORDER BY a) AS d FROM ⟦s RANGE 3⟧",
        "SELECT k, (SELECT [max(x.a), max(x.a), max(x.a), count(DISTINCT x.a)] FROM ⟦s RANGE 3⟧ x "
        "WHERE x.k = y.k) AS c FROM ⟦r⟧ y",
    ]
    together(texts, [0, 2, 8])
    together(texts, [0, 2, 8], recompute="always")


def test_instants_are_no_part_of_a_star(con):
    con.execute("""
        CREATE STREAM e (k BIGINT, at BIGINT) TIMESTAMP BY at;
        CREATE STREAM f (k BIGINT, at BIGINT) TIMESTAMP BY at;
        CREATE RELATION r (k BIGINT, c BIGINT);
        CREATE CONTINUOUS QUERY one AS
        SELECT *, x._ts AS i, f._ts AS j FROM e [RANGE 2] x LEFT JOIN f [RANGE 1] ON x.k < f.k;
        CREATE CONTINUOUS QUERY two AS
        SELECT *, x.at AS i, f.at AS j FROM e [RANGE 2] x LEFT JOIN f [RANGE 1] ON x.k < f.k;
        CREATE CONTINUOUS QUERY three AS
        SELECT k, (SELECT max(_ts) FROM e WHERE e.k = r.k AND e._ts > 1) AS i FROM r;
        CREATE CONTINUOUS QUERY four AS
        SELECT k, (SELECT max(at) FROM e WHERE e.k = r.k AND e.at > 1) AS i FROM r;
    """)
    con.append("r", [(1, 1), (2, 2)], at=0)
    con.append("e", [(1, 0), (2, 2), (1, 3)])
    con.append("f", [(2, 1), (3, 3)])
    con.advance(6)

    for mine, same in (("one", "two"), ("three", "four")):
        expected = con.changes(same).fetchall()
        assert expected
        assert sorted(map(str, expected)) == sorted(map(str, con.changes(mine).fetchall()))


def test_table_functions_and_table_macros_stand_in_from(con):
    con.execute("""
        CREATE STREAM e (k BIGINT, a JSON);
        CREATE RELATION r (k BIGINT, n VARCHAR);
        CREATE MACRO names(x) AS TABLE SELECT k, n FROM r WHERE k >= x;
        CREATE CONTINUOUS QUERY parts AS
        SELECT k, value::BIGINT AS v FROM e [RANGE 1], json_each(a);
        CREATE CONTINUOUS QUERY named AS SELECT e.k, n FROM e [NOW] JOIN names(2) USING (k);
    """)
    con.append("r", [(1, "one"), (2, "two")], at=0)
    con.append("e", [(1, "[7, 7]"), (2, "[]")], at=1)
    con.append("e", [(2, '{"x": 8}')], at=2)
    con.advance(4)

    assert [(1, 7, 1, 2), (1, 7, 3, -2), (2, 8, 2, 1), (2, 8, 4, -1)] == sorted(
        con.changes("parts").fetchall()
    )
    assert [(2, "two", 1, 1), (2, "two", 3, -1)] == sorted(con.changes("named").fetchall())


def test_an_aggregate_in_a_macro_is_one(con):
    con.execute("""
        CREATE STREAM e (k BIGINT, a BIGINT);
        CREATE MACRO span(x) AS max(x) - min(x);
        CREATE MACRO latest(x, y) AS list(x ORDER BY y DESC)[1];
        CREATE CONTINUOUS QUERY q AS
        SELECT k, span(a) AS s, latest(x := a, y := a) AS l FROM e [RANGE 2] GROUP BY k;
    """)
    con.append("e", [(1, 10)], at=0)
    con.append("e", [(1, 30), (2, 5)], at=1)
    con.advance(2)

    assert {(1, 20, 30), (2, 0, 5)} == set(con.table("q").fetchall())


def test_a_subquery_with_a_cte_keeps_its_window_and_its_operator(con):
    con.execute("""
        CREATE STREAM e (k BIGINT, a BIGINT);
        CREATE CONTINUOUS QUERY kept AS
        SELECT x.a, list(y.a) AS l FROM (WITH c AS (SELECT a FROM e [NOW]) SELECT a FROM c)
            [ROWS 1] x ASOF LEFT JOIN e y ON x.a >= y.a GROUP BY x.a;
        CREATE CONTINUOUS QUERY gone AS
        SELECT first(x.a) AS f FROM (Dstream(WITH c AS (SELECT a FROM e [NOW]) SELECT a FROM c)) x;
    """)
    con.append("e", [(1, 5)], at=0)
    con.append("e", [(1, 7)], at=2)
    con.advance(4)

    assert [(5, [5], 0, 1), (5, [5], 2, -1), (7, [7], 2, 1)] == sorted(
        con.changes("kept").fetchall(), key=lambda row: row[2:]
    )
    assert [(None, 0, 1), (None, 1, -1), (5, 1, 1)] == sorted(
        con.changes("gone").fetchall(), key=lambda row: row[1:]
    )


def test_a_macro_that_was_rolled_back_is_forgotten(con):
    con.execute("CREATE STREAM e (a BIGINT)")
    query = (
        "CREATE CONTINUOUS QUERY {} AS SELECT m(a) AS n FROM e [RANGE UNBOUNDED] GROUP BY a > 0;"
    )
    with pytest.raises(cqlduck.Error, match="nothing"):
        con.execute(f"CREATE MACRO m(x) AS min(x); {query.format('q')} SELECT * FROM nothing;")
    with pytest.raises(cqlduck.Error, match="neither a key"):
        con.execute(query.format("q"))
    con.execute("CREATE MACRO m(x) AS max(x)")
    con.execute(query.format("q"))
    # rows leave macros as they are
    con.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)")
    con.execute("CREATE OR REPLACE MACRO m(x) AS sum(x); INSERT INTO t VALUES (2)")
    con.execute(query.format("p"))
    con.append("e", [(1,), (5,)], at=0)
    con.advance(0)

    assert [(5,)] == con.table("q").fetchall()
    assert [(6,)] == con.table("p").fetchall()


@pytest.mark.parametrize(
    ("below", "above"),
    [
        ("top, ties", "SELECT count(*) AS n FROM ⟦q⟧"),
        ("top, ties", "SELECT list(v⟦+ ORDER BY v+⟧) AS l FROM ⟦q⟧"),
        ("full join", "SELECT x.k, j, b FROM ⟦q⟧ x LEFT JOIN ⟦u RANGE 2⟧ y ON x.j = y.k"),
        ("not in", "SELECT k, a FROM ⟦q⟧ EXCEPT SELECT k, c FROM ⟦r⟧"),
        ("rank", "SELECT k FROM ⟦q⟧ WHERE n = (SELECT max(n) FROM ⟦q⟧)"),
        ("count over a left join", "SELECT sum(n) AS n, max(m) AS m FROM ⟦q⟧"),
        ("count over a left join", "SELECT x.k, y.n FROM ⟦u ROWS 3⟧ x JOIN ⟦q⟧ y ON x.k = y.k"),
    ],
)
def test_a_query_over_a_query_that_is_worked_out_again(below, above):
    query = of_text(HAND_WRITTEN[below])
    over = written("p", above, [S, U, R, query])
    for cuts in (list(range(END)), [2, 5], []):
        check(case_of([query, over], cuts))


@pytest.mark.parametrize("name", ["top, ties", "except all", "rank", "list", "listed exists"])
def test_a_window_over_a_stream_of_what_is_worked_out_again(name):
    query = of_text(HAND_WRITTEN[name], r2s="istream")
    column = "l" if name == "list" else "v" if "top" in name else "k"
    over = written("p", f"SELECT {column}, count(*) AS n FROM ⟦q RANGE 2⟧ GROUP BY ALL", [query])
    for cuts in (list(range(END)), [2, 5], []):
        check(case_of([query, over], cuts))


def test_every_construct_is_written_down():
    shown = set().union(*(constructs(of_text(text).cql) for text in ALL.values()))
    assert not CONSTRUCTS.keys() - shown


# -------------------------------------------------------------------------------------- random


def examples(share: float) -> int:
    """Return a share of the profile's examples."""
    return max(3, int(settings.default.max_examples * share))


def on_disk_if_it_restarts(case: strategies.Case, **options) -> None:
    if not any(isinstance(step, strategies.Restart) for step in case.script):
        check(case, **options)
        return
    with tempfile.TemporaryDirectory() as folder:
        check(case, str(Path(folder) / "case.duckdb"), **options)


ANY_CASE = st.one_of(
    sql_cases(),
    sql_cases(wide=True, disorder=True),
    sql_cases(timestamp_by=True, disorder=True, restarts=True),
    sql_cases(typed=True, undated=True),
)
"""Plain cases; all kinds of windows, out of order; restarts on disk; more types, and relations with
something from the beginning of time."""


@pytest.mark.parametrize("shape", SHAPES)
def test_each_construct(shape):
    @given(case=sql_cases(shapes=(shape,), plain=20))
    @settings(suppress_health_check=QUIET, deadline=None, max_examples=examples(0.05))
    def run(case):
        check(case)

    run()


@pytest.mark.parametrize("edge", ["closed", "half_open"])
def test_any_sql(edge):
    @given(case=ANY_CASE)
    @settings(
        suppress_health_check=QUIET, deadline=None, max_examples=fewer_if_brief(examples(0.1))
    )
    def run(case):
        on_disk_if_it_restarts(case, window_edge=edge)

    run()


@pytest.mark.parametrize("max_tick", [1, 3])
def test_bounded_ticks_change_nothing(max_tick):
    @given(case=sql_cases())
    @settings(suppress_health_check=QUIET, deadline=None, max_examples=examples(0.04))
    def run(case):
        check(case, max_tick=max_tick)

    run()


def test_what_has_a_delta_rule_is_worked_out_again_with_the_same_answer():
    @given(case=strategies.cases(restarts=False, wide=True))
    @settings(
        suppress_health_check=QUIET, deadline=None, max_examples=fewer_if_brief(examples(0.1))
    )
    def run(case):
        check(case, recompute="always")

    run()


REWRITTEN = (
    "set_operation", "pivot", "mark", "marked_groups", "where_subquery", "listed_subquery"
)  # fmt: skip
"""The shapes of what is written in terms of other operators."""


def test_what_is_written_otherwise_is_worked_out_again_with_the_same_answer():
    @given(case=sql_cases(shapes=REWRITTEN, plain=10))
    @settings(
        suppress_health_check=QUIET, deadline=None, max_examples=fewer_if_brief(examples(0.1))
    )
    def run(case):
        check(case, recompute="always")

    run()
