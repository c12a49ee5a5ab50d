"""Columns that are said never to be NULL are not, and groups whose key is NULL are kept."""

from __future__ import annotations

from collections import Counter

import numpy
import pytest
from counts import fewer_if_brief
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.rewrite.plan import properties

QUERIES = {
    "SELECT x, y FROM s": set(),
    "SELECT x, y FROM s WHERE x = y": {"x", "y"},
    "SELECT x, y FROM s WHERE x > 0 AND (y <> 1)": {"x", "y"},
    "SELECT x, y FROM s WHERE NOT x = 1": set(),
    "SELECT x, y FROM s WHERE x > 0 OR y > 0": set(),
    "SELECT x, y FROM s WHERE x IS NOT NULL AND y IS NULL": {"x"},
    "SELECT x, y FROM s WHERE x IS NOT DISTINCT FROM y": set(),
    "SELECT x, y FROM s WHERE x BETWEEN 0 AND y": {"x", "y"},
    "SELECT x, y FROM s WHERE x IN (0, 1)": {"x"},
    "SELECT x, y FROM s WHERE x NOT IN (0, 1)": set(),
    "SELECT x, y FROM s WHERE x <> ALL([y])": set(),
    "SELECT x, y FROM s WHERE x <> ALL([]::BIGINT[])": set(),
    "SELECT x, y FROM s WHERE x = ANY([y, 1])": set(),
    "SELECT x, union_value(a := x) AS y FROM s WHERE x = 1": {"x"},
    "SELECT y FROM (SELECT union_value(a := x) AS y FROM s) WHERE y IS NOT NULL": set(),
    "SELECT x, y FROM s WHERE coalesce(x, 0) = 0 AND y + 1 > 0": set(),
    "SELECT y AS x, x AS y, x + 1 AS z FROM s WHERE x = 1": {"y"},
    "SELECT s.x, r.y FROM s, r WHERE s.x = r.x": {"x"},
    "SELECT s.x, r.y FROM s JOIN r ON s.x = r.x AND r.y > 0": {"x", "y"},
    "SELECT s.x, r.y FROM s LEFT JOIN r ON s.x = r.x": set(),
    "SELECT s.x, r.y FROM s LEFT JOIN r ON s.x = r.x WHERE s.x > 0": {"x"},
    "SELECT x, count(*) AS y, sum(y) AS z FROM s WHERE x = x GROUP BY x": {"x", "y"},
    "SELECT x, max(y) AS y FROM s GROUP BY x": set(),
    "SELECT DISTINCT x, y FROM s WHERE y < 9": {"y"},
    "SELECT x FROM s WHERE x > 0 UNION ALL SELECT x FROM r WHERE x > 0": {"x"},
    "SELECT x FROM s WHERE x > 0 UNION ALL SELECT x FROM r": set(),
    "SELECT x FROM s WHERE x > 0 EXCEPT SELECT x FROM r": {"x"},
    "SELECT x FROM s EXCEPT SELECT x FROM r WHERE x > 0": set(),
    "SELECT x FROM s INTERSECT SELECT x FROM r WHERE x > 0": {"x"},
    "SELECT x, y FROM s WHERE x IN (SELECT x FROM r)": {"x"},
    "SELECT x, y FROM s WHERE x = 1 AND NOT EXISTS (SELECT 1 FROM r WHERE r.x = s.y)": {"x"},
    "SELECT x, y FROM s [ROWS 2] WHERE y = 1": {"y"},
    "SELECT x, y FROM s [RANGE 1] WHERE y = 1 AND x < now()": {"y"},
    "Istream(SELECT x, y FROM s [RANGE 1] WHERE y = 1)": {"y"},
}
"""Queries, and which of their columns are never NULL, as far as their form tells."""

VALUE = st.none() | st.integers(0, 2)
ROWS = st.lists(st.tuples(VALUE, VALUE), max_size=6)
EVERY = [(x, y) for x in (None, 0, 1, 2) for y in (None, 0, 1, 2)]


@pytest.mark.parametrize("query", QUERIES)
def test_columns_that_have_values(query: str) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (x BIGINT, y BIGINT); CREATE STREAM r (x BIGINT, y BIGINT);")
        con.heartbeat("s", 0)
        con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
        found = properties(con.engine.compiled["q"].plan).not_null
        assert found == QUERIES[query]
        con.append("s", EVERY, at=1)
        con.append("r", [(x, y) for x, y in EVERY if x != 2], at=1)
        con.advance(3)
        kept = con.changes("q").fetchnumpy()
        assert all(len(values) for values in kept.values())
        assert not any(numpy.ma.is_masked(kept[name]) for name in found)


def test_a_group_of_null_that_a_condition_lets_through() -> None:
    with cqlduck.connect() as con:
        con.execute(
            "CREATE STREAM s (x BIGINT, l BIGINT[]); CREATE CONTINUOUS QUERY q AS "
            "SELECT x, count(*) AS n FROM s WHERE x <> ALL(l) GROUP BY x"
        )
        for instant in (1, 2, 3):
            con.append("s", [(None, []), (1, [1])], at=instant)
            con.advance(instant)
        assert con.table("q").fetchall() == [(None, 3)]


@given(ROWS, st.lists(ROWS, min_size=1, max_size=4))
@example([(0, None), (1, 1)], [[(0, 0), (None, 0)], [(0, 0), (None, 1), (1, None)]])
@settings(deadline=None, max_examples=fewer_if_brief(20))
def test_groups_some_of_whose_keys_have_values(
    known: list[tuple[int | None, int | None]], ticks: list[list[tuple[int | None, int | None]]]
) -> None:
    with cqlduck.connect() as con:
        con.execute(
            "CREATE STREAM s (x BIGINT, y BIGINT); CREATE RELATION r (x BIGINT, y BIGINT);"
            "CREATE CONTINUOUS QUERY q AS SELECT s.x, r.y, count(*) AS n, max(s.y) AS most "
            "FROM s, r WHERE s.x = r.x GROUP BY s.x, r.y"
        )
        for row in known:
            con.execute("INSERT INTO r VALUES (?, ?)", row)
        seen: list[tuple[int | None, int | None]] = []
        for number, rows in enumerate(ticks, 10):
            con.append("s", rows, at=number)
            con.advance(number)
            seen += rows
            groups: dict[tuple[int, int | None], list[int | None]] = {}
            for x, y in seen:
                for k, z in known:
                    if x is not None and x == k:
                        groups.setdefault((x, z), []).append(y)
            wanted = Counter(
                (*key, len(ys), max((y for y in ys if y is not None), default=None))
                for key, ys in groups.items()
            )
            assert Counter(con.table("q").fetchall()) == wanted
