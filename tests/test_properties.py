"""Properties of a plan, and of its siblings for which they do not hold."""

from __future__ import annotations

import pytest

import cqlduck
from cqlduck.rewrite.plan import properties

GROUPS = "(SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k)"

KNOWN = [
    (f"SELECT n, k FROM {GROUPS}", "is_consolidated", True),
    (f"SELECT n FROM {GROUPS}", "is_consolidated", False),
    (f"SELECT n FROM {GROUPS}", "is_compact", False),
    ("SELECT k, max(v) AS m FROM s [RANGE 5] GROUP BY k", "is_consolidated", False),
    ("SELECT DISTINCT k FROM s [RANGE 5]", "key", frozenset({"k"})),
    ("SELECT k + 1 AS k FROM (SELECT DISTINCT k FROM s [RANGE 5])", "key", None),
    ("SELECT DISTINCT k FROM s [RANGE UNBOUNDED] WHERE k > 0", "is_stream", True),
    ("SELECT k FROM s [RANGE 5]", "frame_width", 5),
    ("SELECT k FROM s [RANGE 5 SLIDE 2]", "frame_width", None),
    ("SELECT k FROM s [RANGE 5 SLIDE 4] UNION ALL SELECT k FROM s [RANGE 9 SLIDE 6]", "period", 2),
    ("SELECT k FROM s [RANGE 5 SLIDE 4] UNION ALL SELECT k FROM s [RANGE 9]", "period", None),
    ("SELECT k FROM s [NOW]", "is_instantaneous", True),
    ("SELECT k FROM s [NOW] UNION ALL SELECT k FROM s [RANGE 1]", "is_instantaneous", False),
    ("SELECT count(*) AS n FROM s [NOW]", "needs_now", False),
    ("SELECT k, count(*) AS n FROM s [NOW] GROUP BY k", "needs_now", True),
]


@pytest.mark.parametrize(("query", "field", "expected"), KNOWN)
def test_a_property_holds_for_this_query_and_not_for_that(
    query: str, field: str, expected: object
) -> None:
    with cqlduck.connect() as con:
        con.execute(f"CREATE STREAM s (k INTEGER, v DOUBLE); CREATE CONTINUOUS QUERY q AS {query}")
        assert expected == getattr(properties(con.engine.compiled["q"].plan), field)
