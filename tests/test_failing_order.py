"""What the text says of what may raise, as random queries and one by one.

ON judges the tuples that its own join combines, WHERE and HAVING guard what stands behind them, and
a column that nobody reads fails nobody: under the delta rules and worked out again alike.
"""

from __future__ import annotations

import warnings
from typing import Literal

import failing
import pytest
from counts import fewer_if_brief, some_if_brief
from hypothesis import HealthCheck, example, given, settings

import cqlduck

ANY_JOIN = failing.cases()
ANY_ALONE = failing.cases(most=1, recompute="always")
ANY_LINKED = failing.cases(most=2, recompute="always")

LINKED_LATE = failing.Case(
    items=(
        failing.Item("s", "plain", "JOIN", (), ()),
        failing.Item(
            "p",
            "late",
            "JOIN",
            (
                failing.Condition("{one_x} = {other}.k", "i0", "i0"),
                failing.Condition("{one}.k = {other}.k", "i0", "i1"),
            ),
            (),
        ),
    ),
    where=(),
    shape="rows",
    only=(),
    having="",
    width=0,
    data={"s": [(0, 0, "bad", 6)], "r": [], "p": [(0, 1, "0", 6)]},
    cuts=[],
    staged=False,
    recompute="always",
)
"""No pair meets the equality that links the items, which counts as if it came first."""

NEVER_TOGETHER = failing.Case(
    items=(
        failing.Item("p", "plain", ",", (), ()),
        failing.Item("s", "plain", "JOIN", (failing.Condition("USING (k)", "i0", "i1"),), ()),
    ),
    where=(failing.Condition("{one_x} = {other}.k", "i1", "i0"),),
    shape="rows",
    only=(),
    having="",
    width=0,
    data={"s": [(0, 0, "bad", 6)], "r": [], "p": [(1, 0, "0", 6)]},
    cuts=[],
    staged=False,
    recompute="always",
)
"""The tuples that WHERE would be tested on are there one after the other."""


@settings(max_examples=fewer_if_brief(15), suppress_health_check=[HealthCheck.too_slow])
@given(case=ANY_JOIN)
def test_a_query_fails_when_its_text_does(case: failing.Case) -> None:
    failing.check(case)


@settings(max_examples=fewer_if_brief(10), suppress_health_check=[HealthCheck.too_slow])
@given(case=ANY_ALONE)
def test_a_query_that_is_worked_out_again_fails_when_its_text_does(case: failing.Case) -> None:
    failing.check(case)


@settings(max_examples=fewer_if_brief(10), suppress_health_check=[HealthCheck.too_slow])
@given(case=ANY_LINKED)
@example(case=LINKED_LATE)
@example(case=NEVER_TOGETHER)
def test_what_two_items_show_fails_for_pairs_alone(case: failing.Case) -> None:
    failing.check(case)


BOTH = ("allow", "always")
RULES = ("allow",)

CASES: list[tuple[str, int | None, tuple[str, ...]]] = [
    # ON judges the tuples that its own join combines
    ("SELECT s.k FROM s [NOW] JOIN r ON s.x::INT > 0 JOIN nothing n ON r.k = n.k", 2, RULES),
    ("SELECT s.k FROM s [NOW] JOIN r ON s.x::INT > 0, nothing n", 2, RULES),
    ("SELECT s.k FROM nothing n, s [NOW] JOIN r ON s.x::INT > 0", 2, RULES),
    ("SELECT s.k FROM nothing n JOIN (s [NOW] JOIN r ON s.x::INT > 0) ON n.k = r.k", 2, RULES),
    ("SELECT s.k FROM s [NOW], nothing n WHERE s.x::INT > 0", None, BOTH),
    ("SELECT s.k FROM s [NOW] JOIN nothing n ON s.x::INT > 0 JOIN r ON r.k = n.k", None, BOTH),
    # WHERE guards what stands behind it, and nothing before it
    ("SELECT k FROM s [RANGE 9] WHERE k <> 2 AND x::INT > 0", None, BOTH),
    ("SELECT k FROM s [RANGE 9] WHERE x::INT > 0 AND k <> 2", 2, BOTH),
    ("SELECT x::INT AS x FROM s [RANGE 9] WHERE k <> 2", None, BOTH),
    # however deep what it reads is shown
    ("SELECT a FROM (SELECT i.k AS a, i.v AS b FROM (SELECT k, x::INT AS v FROM s [RANGE 9]) i) "
     "WHERE a <> 2 AND b > 0", None, BOTH),
    ("SELECT a FROM (SELECT i.k AS a, i.v AS b FROM (SELECT k, x::INT AS v FROM s [RANGE 9]) i) "
     "WHERE b > 0 AND a <> 2", 2, BOTH),
    ("SELECT a FROM (SELECT a, c + 1 AS b FROM (SELECT k AS a, v AS c, v AS unread FROM "
     "(SELECT k, x::INT AS v FROM s [RANGE 9]))) WHERE a <> 2 AND b > 0", None, BOTH),
    ("SELECT a + b AS a FROM (SELECT k AS a, v AS b FROM (SELECT k, x::INT AS v FROM s [RANGE 9])) "
     "WHERE a <> 2", None, BOTH),
    ("SELECT a.a FROM (SELECT k AS a, v AS b FROM (SELECT k, x::INT AS v FROM s [RANGE 9])) a, r "
     "WHERE a.a = r.k AND a.b > 0", None, BOTH),
    ("SELECT k FROM s [RANGE 9 WHERE k <> 2 AND x::INT > 0]", None, BOTH),
    ("SELECT k FROM s [RANGE 9 WHERE x::INT > 0 AND k <> 2]", 2, BOTH),
    ("SELECT k FROM s [RANGE 9] WHERE k <> 2 AND x::INT > 0 LIMIT 9", None, BOTH),
    ("SELECT k FROM s [RANGE 9] WHERE x::INT > 0 AND k <> 2 LIMIT 9", 2, BOTH),
    ("SELECT k FROM s [RANGE 9] QUALIFY row_number() OVER () > 0 AND k <> 2 AND x::INT > 0",
     None, BOTH),
    ("SELECT k FROM s [RANGE 9] QUALIFY x::INT > 0 AND row_number() OVER () > 0 AND k <> 2",
     2, BOTH),
    ("SELECT k FROM s [RANGE 9] GROUP BY k HAVING k <> 2 AND max(x)::INT > 0", None, BOTH),
    ("SELECT k FROM s [RANGE 9] GROUP BY k HAVING max(x)::INT > 0 AND k <> 2", 2, BOTH),
    ("SELECT s.k FROM s [NOW], nothing n WHERE s.k = n.k AND EXISTS "
     "(SELECT 1 FROM r WHERE s.x::INT = r.k)", None, BOTH),
    ("SELECT s.k FROM s [NOW] WHERE EXISTS (SELECT 1 FROM r WHERE s.x::INT = r.k) AND s.k <> 2",
     2, RULES),
    ("SELECT s.k FROM s [NOW] WHERE EXISTS (SELECT 1 FROM r WHERE s.x::INT = r.k AND r.k > 9)",
     2, BOTH),
    ("SELECT a.k FROM s [RANGE 9] a JOIN r ON a.x::INT = r.k WHERE a.k <> 2", 2, BOTH),
    ("SELECT a.k FROM s [RANGE 9] a JOIN r ON a.x::INT > 0 WHERE r.x::INT = a.k + 5", 2, BOTH),
    ("SELECT k, sum(x::INT) AS n FROM s [RANGE 9] GROUP BY k HAVING k <> 2", 2, RULES),
    ("SELECT a.k FROM s [RANGE 9] a JOIN r ON a.x::INT = r.k GROUP BY a.k HAVING a.k <> 2",
     2, RULES),
    # nor does WHERE guard ON of an outer join, or a test in a subquery
    ("SELECT a.k FROM s [RANGE 9] a LEFT JOIN r ON a.x::INT = r.k WHERE a.k <> 2", 2, BOTH),
    ("SELECT a.k FROM r RIGHT JOIN s [RANGE 9] a ON a.x::INT > 0 WHERE a.k <> 2", 2, BOTH),
    ("SELECT sum(a.k) AS n FROM (SELECT a.k, r.x FROM s [RANGE 9] a LEFT JOIN r ON a.x::INT = r.k) "
     "a WHERE a.k <> 2", 2, BOTH),
    ("SELECT k FROM (SELECT k FROM s [RANGE 9] WHERE NOT EXISTS "
     "(SELECT 1 FROM r WHERE s.x::INT = r.k)) WHERE k <> 2", 2, BOTH),
    ("SELECT k FROM s [RANGE 9] WHERE NOT EXISTS (SELECT 1 FROM r WHERE s.x::INT = r.k) "
     "AND k <> 2", 2, RULES),
    # FILTER guards arguments
    ("SELECT sum(x::INT) FILTER (WHERE k <> 2) AS n FROM s [RANGE 9]", None, BOTH),
    ("SELECT median(x::INT) FILTER (WHERE k <> 2) AS n FROM s [RANGE 9]", None, BOTH),
    ("SELECT list(x::INT ORDER BY x::INT) FILTER (WHERE k <> 2) AS n FROM s [RANGE 9]", None, BOTH),
    ("SELECT sum(x::INT) FILTER (WHERE k <> 2) OVER () AS n FROM s [RANGE 9]", None, BOTH),
    ("SELECT count(*) FILTER (WHERE x::INT > 0 AND k <> 2) AS n FROM s [RANGE 9]", 2, BOTH),
    ("SELECT median(k) FILTER (WHERE k <> 2 AND x::INT > 0) AS n FROM s [RANGE 9]", None, BOTH),
    ("SELECT sum(x::INT) AS n FROM s [RANGE 9]", 2, BOTH),
    # a column that nobody reads fails nobody
    ("SELECT k FROM (SELECT k, x::INT AS n FROM s [RANGE 9])", None, BOTH),
    ("SELECT k FROM (SELECT k, sum(x::INT) AS n FROM s [RANGE 9] GROUP BY k)", None, BOTH),
    ("SELECT m FROM (SELECT count(*) AS m, sum(x::INT) AS n FROM s [RANGE 9])", None, BOTH),
    ("SELECT 1 AS one FROM (SELECT sum(x::INT) AS n FROM s [RANGE 9])", None, BOTH),
    ("SELECT k FROM (SELECT k, list(x::INT) AS n FROM s [RANGE 9] GROUP BY k)", None, BOTH),
    ("SELECT k FROM (SELECT k, sum(x::INT) OVER () AS n FROM s [RANGE 9])", None, BOTH),
    ("SELECT k FROM (SELECT k, x::INT AS n FROM s [RANGE 9]) GROUP BY k", None, BOTH),
    ("SELECT DISTINCT k FROM (SELECT k, x::INT AS n FROM s [RANGE 9])", None, BOTH),
    ("SELECT k FROM (SELECT k, x::INT AS n FROM s [RANGE 9]) ORDER BY k LIMIT 9", 2, BOTH),
    ("SELECT k FROM (SELECT DISTINCT k, x::INT AS n FROM s [RANGE 9])", 2, BOTH),
    ("SELECT k FROM (SELECT k, x::INT AS n FROM s [RANGE 9] UNION SELECT k, k FROM r)", 2, BOTH),
    ("SELECT k FROM (SELECT k, x::INT AS n FROM s [RANGE 9] UNION ALL SELECT k, k FROM r)",
     None, BOTH),
    # a scalar subquery is about all of its rows
    ("SELECT k, (SELECT max(x::INT) FROM s [RANGE 9]) AS n FROM nothing", 2, BOTH),
    ("SELECT k, (SELECT max(x::INT) FROM s [RANGE 9] WHERE s.k = n.k) AS n FROM nothing n",
     2, RULES),
    ("SELECT k FROM nothing WHERE k > 1 AND k > (SELECT max(x::INT) FROM s [RANGE 9])", 2, RULES),
    # QUALIFY guards the SELECT list
    ("SELECT k, x::INT AS n FROM s [RANGE 9] QUALIFY row_number() OVER (ORDER BY k) = 1",
     None, BOTH),
    # and what a subquery shows is worked out for what meets the conditions before it
    ("SELECT k FROM (SELECT k, x::INT AS n FROM s [RANGE 9]) WHERE k <> 2 AND n > 0", None, BOTH),
    ("SELECT k FROM (SELECT k, x::INT AS n FROM s [RANGE 9]) WHERE n > 0 AND k <> 2", 2, BOTH),
    ("SELECT k FROM (SELECT k FROM s [RANGE 9] WHERE x::INT > 0) WHERE k <> 2", 2, BOTH),
    ("SELECT j.k FROM (SELECT k FROM s [RANGE 9] WHERE x::INT > 0) j JOIN nothing n ON j.k = n.k",
     2, BOTH),
    ("SELECT j.n FROM (SELECT k, x::INT AS n FROM s [RANGE 9] UNION ALL SELECT k, k FROM r) j, "
     "nothing m", None, RULES),
    # also where USING names it
    ("SELECT a.k FROM (SELECT k, x::INT AS n FROM s [RANGE 9]) a "
     "JOIN (SELECT k AS n FROM nothing) b USING (n)", None, BOTH),
    ("SELECT n FROM (SELECT k, x::INT AS n FROM s [RANGE 9]) a "
     "LEFT JOIN (SELECT k AS n FROM nothing) b USING (n) WHERE k <> 2", None, BOTH),
    ("SELECT b.k FROM (SELECT k, x::INT AS n FROM s [RANGE 9]) a "
     "RIGHT JOIN (SELECT k, k AS n FROM nothing) b USING (n)", None, BOTH),
    ("SELECT * FROM (SELECT k AS j, x::INT AS n FROM s [RANGE 9]) a "
     "FULL JOIN (SELECT k AS n FROM nothing) b USING (n)", 2, BOTH),
    ("SELECT a FROM (SELECT a.k AS a, b.x::INT AS b FROM s [RANGE 9] a "
     "JOIN s [RANGE 9] b USING (k)) WHERE a <> 2 AND b > 0", None, BOTH),
    # what has a partner is not left over
    ("SELECT x::INT AS n FROM s [RANGE 9] WHERE k NOT IN (SELECT k + 1 FROM r)", None, BOTH),
    ("SELECT x::INT AS n FROM s [RANGE 9] WHERE k NOT IN (SELECT k FROM r)", 2, BOTH),
    ("SELECT x::INT AS n FROM s [RANGE 9] ANTI JOIN r ON s.k = r.k + 1", None, BOTH),
    ("SELECT k FROM s [RANGE 9] WHERE NOT EXISTS (SELECT 1 FROM r WHERE s.k = r.k + 1) "
     "AND x::INT > 0", None, RULES),
    ("SELECT sum(x::INT) AS n FROM s [RANGE 9] ANTI JOIN r ON s.k = r.k + 1", None, BOTH),
    ("SELECT s.x::DOUBLE * 2 AS n "
     "FROM (SELECT x, k, (k - 2) * -0.0::DOUBLE AS z FROM s [RANGE 9]) s "
     "ANTI JOIN r ON s.k = r.k + 1 WHERE signbit(z) = (k > 2)", None, BOTH),
    ("SELECT s.k FROM s [RANGE 9] LEFT JOIN r ON s.k = r.k + 1 WHERE r.k IS NULL AND s.x::INT > 0",
     None, BOTH),
    ("SELECT s.k FROM s [RANGE 9] LEFT JOIN r ON s.k = r.k + 1 WHERE s.x::INT > 0 AND r.k IS NULL",
     2, BOTH),
    ("SELECT coalesce(r.k, s.x::INT) AS n FROM s [RANGE 9] LEFT JOIN r ON s.k = r.k + 1",
     None, BOTH),
    ("SELECT coalesce(s.x, 'none')::INT AS n FROM (SELECT k, x FROM s [NOW] WHERE k <> 2) s "
     "FULL JOIN (SELECT k FROM s [NOW] WHERE k <> 2) o USING (k)", None, BOTH),
    ("SELECT o.k FROM s [RANGE 9] ANTI JOIN r ON s.k = r.k + 1 JOIN r o ON s.x::INT = o.k",
     None, BOTH),
    ("SELECT r.k FROM r, (SELECT * FROM (SELECT k, x::INT AS n FROM s [RANGE 9]) a "
     "ANTI JOIN r ON r.k = a.k + 7) a WHERE a.k <> 2 AND a.n > 0", None, RULES),
    ("SELECT r.k FROM r, (SELECT a.k, a.n FROM (SELECT k, x::INT AS n FROM s [RANGE 9]) a "
     "LEFT JOIN r ON r.k = a.k + 7) a WHERE a.k <> 2 AND a.n > 0", None, BOTH),
    ("SELECT r.k FROM r, (SELECT a.k, a.n FROM (SELECT k, x::INT AS n FROM s [RANGE 9]) a "
     "LEFT JOIN r ON r.k = a.n + 7) a WHERE a.k <> 2 AND a.n > 0", 2, BOTH),
    ("SELECT n FROM (SELECT 100::TINYINT + 100::TINYINT AS n FROM s [RANGE 9]) a "
     "LEFT JOIN r ON r.k > 5", 1, BOTH),
    ("SELECT n FROM (SELECT 1::TINYINT + 1::TINYINT AS n FROM s [RANGE 9]) a "
     "ANTI JOIN r ON r.k > 5", None, BOTH),
    # at boundaries alone
    ("SELECT k FROM s [TUMBLE 4] ANTI JOIN (SELECT k FROM s [TUMBLE 4] WHERE x = 'bad') o "
     "USING (k) WHERE x::INT > 0", None, RULES),
    ("SELECT k FROM (SELECT k, x FROM s [TUMBLE 4] EXCEPT SELECT 2, 'bad' FROM s [TUMBLE 4]) "
     "WHERE x::INT > 0", None, BOTH),
    # what has left meets nothing that comes
    ("SELECT d.k FROM (SELECT k FROM s [RANGE 1] WHERE k <> 2 AND x::INT < 3) d "
     "JOIN s o ON (d.k * o.k * 50)::TINYINT > 0", None, BOTH),
    ("SELECT (d.k * o.k * 50)::TINYINT AS n "
     "FROM (SELECT k FROM s [RANGE 1] WHERE k < 2 LIMIT 1) d, s o", None, BOTH),
    ("SELECT (d.k * o.k * 50)::TINYINT AS n FROM (SELECT k FROM s [RANGE 1] WHERE k < 2 "
     "EXCEPT ALL SELECT k + 1 FROM r) d, s o", None, BOTH),
    ("SELECT (d.k * o.k * 50)::TINYINT AS n FROM (SELECT k FROM s [RANGE 2] WHERE k < 2 "
     "EXCEPT ALL SELECT k + 1 FROM r) d, s o", 3, BOTH),
]  # fmt: skip
"""A query, the instant at which it fails, and under which settings of `recompute` it does."""


TOGETHER = 4
"""How many queries that fail stand in one database: each failure runs the tick of all again."""


@pytest.mark.parametrize(
    ("recompute", "cuts"),
    [
        ("allow", (1, 2, 3, 4)),
        ("allow", (4,)),
        ("always", (4,)),
        pytest.param("always", (1, 2, 3, 4), marks=pytest.mark.long),
    ],
)
def test_when_it_fails(recompute: Literal["allow", "always"], cuts: tuple[int, ...]) -> None:
    wanted = {body: fails for body, fails, known in CASES if recompute in known}
    failed = [body for body, fails in wanted.items() if fails is not None]
    groups = [[body for body, fails in wanted.items() if fails is None]]
    starts = some_if_brief(range(0, len(failed), TOGETHER), 15)
    groups += [failed[start : start + TOGETHER] for start in starts]
    for group in groups:
        assert {body: wanted[body] for body in group} == found_to_fail(group, recompute, cuts)


def found_to_fail(
    bodies: list[str], recompute: Literal["allow", "always"], cuts: tuple[int, ...] = (4,)
) -> dict[str, int | None]:
    """At which instant each of some queries fails, or None."""
    with cqlduck.connect(recompute=recompute) as con:
        con.execute("CREATE STREAM s (t BIGINT, k INTEGER, x VARCHAR) TIMESTAMP BY t")
        con.execute("CREATE RELATION r (k INTEGER, x VARCHAR)")
        con.execute("CREATE RELATION nothing (k INTEGER, x VARCHAR)")
        for number, body in enumerate(bodies):
            con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {body}")
        con.append("r", [(1, "1"), (3, "3")], at=1)
        con.append("s", [(1, 1, "1"), (2, 2, "bad"), (3, 3, "3")])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for at in cuts:
                con.advance(at)
        found = con.sql("SELECT name, state, frontier FROM cql.queries").fetchall()
    states = {
        name: None if state == "active" else int(frontier) + 1 for name, state, frontier in found
    }
    return {body: states[f"q{number}"] for number, body in enumerate(bodies)}


def test_what_has_left_meets_nothing() -> None:
    """In a named query, and in EXCEPT where it leaves as something comes; tick by tick."""
    products = "SELECT (d.k * s.t * 20)::TINYINT AS n FROM {} d, s"
    kept = "(SELECT k FROM s [RANGE 1] EXCEPT ALL SELECT k FROM s [RANGE 1] WHERE t > 9)"
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (t BIGINT, k INTEGER) TIMESTAMP BY t")
        con.execute("CREATE CONTINUOUS QUERY recent AS SELECT k FROM s [RANGE 1]")
        con.execute(f"CREATE CONTINUOUS QUERY p AS {products.format('recent')}")
        con.execute(f"CREATE CONTINUOUS QUERY q AS {products.format(kept)}")
        con.append("s", [(1, 3), (3, 1), (4, 1)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for until in range(7):
                con.advance(until)
        for name in ("p", "q"):
            assert sorted(con.as_of(name, 3).fetchall()) == [(20,), (60,)]
        found = con.sql("SELECT name, frontier FROM cql.queries ORDER BY name").fetchall()
        assert found == [("p", "6"), ("q", "6"), ("recent", "6")]
