"""Filters whose order is chosen: which take part, what is profiled and proposed, what shows."""

from __future__ import annotations

import gc
import itertools
import json
import weakref
from collections import Counter
from dataclasses import replace
from pathlib import Path

import choices
import duckdb
import pyarrow as pa
import pytest

import cqlduck
from cqlduck.errors import Error
from cqlduck.rewrite.physical.form import FIRST, Form
from cqlduck.rewrite.plan import Filter, unique
from cqlduck.rewrite.plan.filters import filters
from cqlduck.rewrite.plan.orders import FILTERS, Site
from cqlduck.rewrite.statements.ordered import OrderedFilters
from cqlduck.rewrite.statements.steps import MAX_ORDERED
from cqlduck.state.choices import Point
from cqlduck.state.observations import CONFIRMED, RETURNED
from cqlduck.state.probing import Found, Profiled, Wanted
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.confirming import COMPARED_TICKS, CONFIRMING_TICKS, PATIENCE
from cqlduck.streamon.filters import FilterOrder
from cqlduck.streamon.modelled import FIRST_PROBES, WINDOW
from cqlduck.streamon.points import (
    A_GREEDY,
    INDEPENDENT,
    OPTIMUM,
    ORDERING,
    SWEEP,
    WRITTEN,
    Facts,
)
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal

STREAM = "CREATE STREAM s (k INTEGER, x VARCHAR, t INTEGER) TIMESTAMP BY t;"
QUERY = "CREATE CONTINUOUS QUERY q AS SELECT k FROM s WHERE x ~ 'a' AND x LIKE '%b%' AND x ~ 'c$';"


def plan_filters(con: cqlduck.Connection, body: str) -> list[list[str]]:
    con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY q AS {body}")
    nodes = unique(con.engine.compiled["q"].plan)
    found = [filters(n) for n in nodes if isinstance(n, Filter)]
    return [[part.sql("duckdb") for part in one.conditions] if one else [] for one in found]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("x ~ 'a' AND k > 3 AND x LIKE 'b%'",
         ["REGEXP_MATCHES(\"s.x\", 'a')", "\"s.x\" LIKE 'b%'"]),
        # comparisons are DuckDB's
        ("x = 'a' AND k > 3 AND coalesce(k, 1) < 3", []),
        ("x ~ 'a' AND k > 3", []),
        # what may raise stays, and so does what is behind it
        ("x ~ 'a' AND x::INTEGER > 3 AND x ~ 'b'", []),
        ("x ~ 'a' AND NOT x ~ 'b' AND x::INTEGER > 3 AND x ~ 'c'",
         ["REGEXP_MATCHES(\"s.x\", 'a')", "NOT REGEXP_MATCHES(\"s.x\", 'b')"]),
        # constants alone drop all tuples or none
        ("lower('A') = 'a' AND 'abc' ~ 'b'", []),
        ("lower('A') = 'a' AND 'abc' ~ 'b' AND x ~ 'a'", []),
        ("lower('A') = 'a' AND x LIKE 'b%' AND x ~ 'a'",
         ["\"s.x\" LIKE 'b%'", "REGEXP_MATCHES(\"s.x\", 'a')"]),
        # a pattern that is no constant may be no pattern
        ("x ~ 'a' AND x ~ x AND x ~ 'b'", []),
        ("lower(x) = 'a' AND (x LIKE 'a' OR k = 1)",
         ["LOWER(\"s.x\") = 'a'", "\"s.x\" LIKE 'a' OR \"s.k\" = 1"]),
    ],
)  # fmt: skip
def test_what_takes_part(con: cqlduck.Connection, where: str, expected: list[str]) -> None:
    con.execute(STREAM)
    (found,) = plan_filters(con, f"SELECT k FROM s WHERE {where}")
    assert expected == found


def test_an_order_is_written_into_every_statement_that_tests_the_filters(
    con: cqlduck.Connection,
) -> None:
    con.execute(STREAM)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 10] "
                "WHERE x ~ 'a' AND k > 3 AND x LIKE '%b%' GROUP BY k")  # fmt: skip
    compiled = con.engine.compiled["q"]
    (probe,) = (one for one in compiled.ordered if isinstance(one, OrderedFilters))
    for order in ((0, 1), (1, 0)):
        form = Form(staged=True, orders=((probe.site, order),))
        mine = [step for step in compiled.steps.of(form) if probe.site in step.sites]
        assert mine
        for step in mine:
            first, second = (("~", "LIKE"), ("LIKE", "~"))[order[0]]
            words = {"~": "REGEXP_MATCHES", "LIKE": "LIKE"}
            case = step.sql[step.sql.index("CASE") :]
            assert case.index(words[first]) < case.index(words[second])
            assert "k" in step.sql[: step.sql.index("CASE")].split("WHERE")[-1]
    others = [step for step in compiled.steps.of(FIRST) if probe.site not in step.sites]
    assert others
    assert not any("LIKE" in step.sql for step in others)


def test_filters_of_a_join_are_those_of_the_input_that_has_most(con: cqlduck.Connection) -> None:
    con.execute(STREAM + "CREATE RELATION r (k INTEGER, y VARCHAR)")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT s.k FROM s [RANGE 10], r "
                "WHERE s.k = r.k AND r.y LIKE 'y%' AND s.x ~ 'a' AND s.x LIKE '%b%'")  # fmt: skip
    (probe,) = con.engine.compiled["q"].ordered
    assert probe.names == ("REGEXP_MATCHES(\"s.x\", 'a')", "\"s.x\" LIKE '%b%'")
    form = Form(staged=True, orders=((probe.site, (1, 0)),))
    mine = [s.sql for s in con.engine.compiled["q"].steps.of(form) if probe.site in s.sites]
    assert len(mine) > 1
    for sql in mine:
        assert sql.index("LIKE '%b%'") < sql.index("REGEXP_MATCHES")


@pytest.mark.parametrize("kind", ["", "LEFT", "ANTI"])
def test_orders_of_filters_of_joins_change_no_answer(kind: str) -> None:
    found = []
    for order in (WRITTEN, "2 1 3", "3 1 2"):
        with cqlduck.connect() as con:
            con.execute(STREAM + "CREATE RELATION r (k INTEGER, y VARCHAR)")
            con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT s.k FROM s [RANGE 3] {kind} JOIN r "
                        "ON s.k = r.k AND s.x ~ 'a' AND s.x LIKE '%b%' AND s.x ~ 'c$'"
                        if kind else
                        "CREATE CONTINUOUS QUERY q AS SELECT s.k FROM s [RANGE 3], r "
                        "WHERE s.k = r.k AND s.x ~ 'a' AND s.x LIKE '%b%' AND s.x ~ 'c$'"
                        )  # fmt: skip
            # where tuples without a match are found, r is a fourth filter
            con.pin(FILTERS, order if order == WRITTEN else f"{order},{order} 4")
            for t in range(6):
                con.append("r", [(t, "y"), (t + 7, "z")], at=t)
                con.append("s", batch([(n, TEXTS[(n + t) % 9], t) for n in range(20)]))
                con.advance(t)
            found.append(answers(con))
            assert {o.removesuffix(" 4") for o, _ in option(con)} == {order}
    assert found[0]
    assert found[0] == found[1] == found[2]


def test_forms_of_orders_that_ran_long_ago_are_forgotten(con: cqlduck.Connection) -> None:
    con.execute(STREAM)
    where = " AND ".join(f"x ~ '{letter}'" for letter in "abcde")
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT k FROM s WHERE {where}")
    for t, order in enumerate(itertools.islice(itertools.permutations("12345"), 2 * MAX_ORDERED)):
        con.pin(FILTERS, " ".join(order))
        con.tick({"s": batch([(1, "abcde", t)])}, to=t)
    written = con.engine.compiled["q"].steps.written
    assert MAX_ORDERED <= len([form for form in written if form.orders]) <= MAX_ORDERED + 1
    assert len(list(con.changes("q").fetchall())) == 2 * MAX_ORDERED


# -- what is profiled ---------------------------------------------------------------------------


class Counting(choices.Drawn):
    """Runs a probe in each tick, and keeps what it found."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self.found: list[Profiled] = []
        self.is_timed = True

    def wants(self, point: Point, facts: Facts, now: str) -> Wanted | None:
        return Wanted(facts.about, self.is_timed) if point.name == FILTERS else None

    def saw(
        self, point: Point, facts: Facts, option: str, seconds: float | None, found: Found | None
    ) -> None:
        if isinstance(found, Profiled):
            self.found.append(found)


def batch(rows: list[tuple[int, str | None, int]]) -> pa.Table:
    k, x, t = zip(*rows, strict=True)
    return pa.table({"k": pa.array(k, pa.int32()), "x": pa.array(x), "t": pa.array(t, pa.int32())})


def counting(con: cqlduck.Connection) -> Counting:
    streamon = con.engine.streamon
    reoptimizer = streamon.executor.reoptimizer = Counting(streamon.budget)
    return reoptimizer


@pytest.mark.parametrize("window", ["", "[RANGE 3]", "[NOW]", "[ROWS 5]"])
@pytest.mark.parametrize("kind", ["stream", "window"])
def test_masks_are_those_of_the_arrivals(con: cqlduck.Connection, window: str, kind: str) -> None:
    con.execute(STREAM)
    policy = counting(con)
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT k FROM s {window} "
                "WHERE x ~ 'a' AND x LIKE '%b%' AND x ~ 'c$'")  # fmt: skip
    texts = ["abc", "ab", "c", None, "abc", "bc", "", "xyz"]
    for t in range(3):
        con.tick({"s": batch([(n, text, t) for n, text in enumerate(texts)])}, to=t)
    if window == "[ROWS 5]":
        assert policy.found == []
        return
    expected = Counter(
        ("a" not in (text or "")) | ("b" not in (text or "")) << 1
        | (not (text or "").endswith("c")) << 2
        for text in texts
    )  # fmt: skip
    assert [dict(expected)] * 3 == [dict(found.masks) for found in policy.found]
    assert all(found.times is None for found in policy.found)


@pytest.mark.parametrize("where", ["lower('A') = 'a' AND 'abc' ~ 'b'", "'a' ~ 'b' AND x ~ 'a'"])
def test_conditions_without_a_column_run_in_a_tick_that_is_probed(
    con: cqlduck.Connection, where: str
) -> None:
    con.execute(STREAM)
    counting(con)
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT k FROM s WHERE {where}")
    con.tick({"s": batch([(n, "a", 1) for n in range(3)])}, to=1)
    assert con.sql("SELECT state FROM cql.queries").fetchall() == [("active",)]
    assert con.sql("FROM q").fetchall() == ([(0, 1), (1, 1), (2, 1)] if "abc" in where else [])


def test_a_large_sample_times_the_filters(con: cqlduck.Connection) -> None:
    con.execute(STREAM)
    policy = counting(con)
    con.execute(QUERY)
    con.tick({"s": batch([(n, "abc" * (n % 7), 1) for n in range(5000)])}, to=1)
    (found,) = policy.found
    assert sum(found.masks.values()) == 256
    assert found.times is not None
    assert len(found.times) == 3
    assert all(0 < seconds < 0.01 for seconds in found.times)


# -- what is proposed ---------------------------------------------------------------------------


SITE = Site(FILTERS, 2)


def about(filters: int) -> OrderedFilters:
    return OrderedFilters(SITE, tuple("abcdefgh"[:filters]))


class Ticks:
    """Ticks of a query with filters, by what is said of them."""

    def __init__(self, filters: int = 3, algorithm: str = OPTIMUM) -> None:
        self.policy = FilterOrder(Budget())
        self.now = WRITTEN
        self.facts = Facts(1000, about=about(filters), algorithm=lambda: algorithm)
        self.proposals: list[Proposal] = []
        self.undone: set[int] = set()
        """The numbers of proposals that are undone with their ticks, which run again."""

    def probed(self, masks: dict[int, int], times: tuple[float, ...]) -> None:
        self.policy.saw(self.facts, self.now, None, Profiled(SITE, masks, times, 0.002))

    def run(self, ticks: int, seconds: float, elements: int = 1000) -> str:
        """Let an element take so long; return what the last tick ran."""
        for _ in range(ticks):
            facts = replace(self.facts, elements=elements)
            found = self.policy.propose(self.now, Statistics(), facts)
            if found is not None:
                self.proposals.append(found)
                if len(self.proposals) - 1 in self.undone:
                    continue
                self.now = found.option
            self.policy.saw(facts, self.now, seconds * elements, None)
        return self.now


DROPPED_BY_THIRD = {0b000: 10, 0b100: 500}
EQUAL = (1e-6, 1e-6, 1e-6)


def test_what_drops_most_for_its_time_comes_first() -> None:
    ticks = Ticks()
    ticks.run(5, 3e-6)
    assert ticks.proposals == []
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    assert ticks.run(1, 1e-6) == "3 1 2"
    (proposal,) = ticks.proposals
    assert "drop 0 %, 0 %, 98 %" in proposal.reason
    assert "1.04 µs in this order, 3.00 before" in proposal.reason
    assert ticks.run(10, 1e-6) == "3 1 2"
    assert len(ticks.proposals) == 1


def test_an_order_waits_for_what_it_is_to_be_compared_with() -> None:
    """Else it could not turn out slower."""
    ticks = Ticks()
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    # the first tick with an order parses its statements, and does not count
    assert ticks.run(1 + CONFIRMING_TICKS, 3e-6) == WRITTEN
    assert ticks.run(1, 4e-6) == "3 1 2"
    assert ticks.run(CONFIRMING_TICKS, 4e-6) == "3 1 2"
    assert ticks.run(1, 4e-6) == WRITTEN
    assert "the model erred" in ticks.proposals[-1].reason


def test_an_order_that_turns_out_slower_is_taken_back_until_rates_move() -> None:
    ticks = Ticks()
    ticks.run(5, 3e-6)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    ticks.run(1, 4e-6)
    assert ticks.run(CONFIRMING_TICKS, 4e-6) == "3 1 2"
    assert ticks.run(1, 3e-6) == WRITTEN
    assert "the model erred" in ticks.proposals[-1].reason
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    assert ticks.run(3, 3e-6) == WRITTEN
    # now the second one drops a part as well, so the profile is another one
    for _ in range(3):
        ticks.probed({0b110: 250, 0b100: 250}, EQUAL)
    assert ticks.run(3, 3e-6) == "3 1 2"


def test_an_order_that_the_mix_made_slower_is_compared_under_that_mix() -> None:
    """What takes longer than the order before, of other tuples, may still be the better one."""
    ticks = Ticks()
    ticks.run(5, 1e-6)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    assert ticks.run(1 + CONFIRMING_TICKS, 2e-6) == "3 1 2"
    assert ticks.run(1, 5e-6) == WRITTEN
    assert ticks.policy.decided() == []
    assert ticks.run(CONFIRMING_TICKS - 1, 5e-6) == WRITTEN
    assert ticks.run(1, 2e-6) == "3 1 2"
    reason = ticks.proposals[-1].reason
    assert "the mix had changed: an element takes 5.00 µs with the one before now" in reason
    (seen,) = ticks.policy.decided()
    assert (seen.option, seen.outcome) == ("3 1 2", CONFIRMED)
    assert (seen.before, seen.measured) == pytest.approx((5e-6, 2e-6))
    assert ticks.run(20, 2e-6) == "3 1 2"


def test_a_comparison_under_the_new_mix_survives_a_restart() -> None:
    for now, wanted in ((5e-6, "3 1 2"), (2e-6, WRITTEN)):
        ticks = Ticks()
        ticks.run(5, 1e-6)
        ticks.probed(DROPPED_BY_THIRD, EQUAL)
        ticks.run(1 + CONFIRMING_TICKS, 2e-6)
        assert ticks.run(2, now) == WRITTEN
        state = json.loads(json.dumps(ticks.policy.state()))
        ticks.policy = FilterOrder(Budget())
        ticks.policy.restore(state)
        assert ticks.run(CONFIRMING_TICKS, now) == wanted


def test_what_ticks_vary_by_confirms_nothing() -> None:
    """Three ticks that happen to be slow are no reason to go back."""
    ticks = Ticks()
    for seconds in (3e-6, 2e-6, 4e-6, 3e-6, 2.5e-6, 3.5e-6):
        ticks.run(1, seconds)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    for seconds in (2e-6, 3.4e-6, 3.3e-6, 3.4e-6, 2e-6, 2.1e-6, 1.9e-6, 2e-6, 2e-6, 1.9e-6):
        assert ticks.run(1, seconds) == "3 1 2"
    assert [CONFIRMED] == [seen.outcome for seen in ticks.policy.decided()]


@pytest.mark.parametrize("is_opened_again", [False, True])
@pytest.mark.parametrize(("more", "outcome"), [(1.02, CONFIRMED), (1.08, None)])
def test_what_is_not_clear_after_some_ticks_is_decided(
    more: float, outcome: str | None, is_opened_again: bool
) -> None:
    """None: it is compared with the old order once more."""
    ticks = Ticks()
    for place in range(8):
        ticks.run(1, (2.5e-6, 3e-6, 3.5e-6)[place % 3])
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    # the first tick after a restart does not count
    for place in range(3 + COMPARED_TICKS):
        ticks.run(1, more * (2.5e-6, 3e-6, 3.5e-6)[place % 3])
        if place == 0 and is_opened_again:
            state = json.loads(json.dumps(ticks.policy.state()))
            ticks.policy = FilterOrder(Budget())
            ticks.policy.restore(state)
    assert [outcome] * (outcome is not None) == [s.outcome for s in ticks.policy.decided()]
    assert ticks.now == ("3 1 2" if outcome else WRITTEN)


def test_ticks_of_another_size_confirm_and_refute_nothing() -> None:
    ticks = Ticks()
    ticks.run(5, 3e-6)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    # an element of a small tick takes ten times as long, whatever the order
    assert ticks.run(1, 1e-6) == "3 1 2"
    assert ticks.run(PATIENCE - 1, 3e-5, elements=20) == "3 1 2"
    assert ticks.run(1, 1e-6) == "3 1 2"
    assert ticks.run(PATIENCE - 1, 3e-5, elements=20) == "3 1 2"
    assert ticks.run(20, 1e-6) == "3 1 2"
    assert [CONFIRMED] == [seen.outcome for seen in ticks.policy.decided()]


@pytest.mark.parametrize(("takes", "ends"), [(3e-6, WRITTEN), (3e-4, "3 1 2")])
def test_where_the_size_does_not_come_again_ticks_of_another_one_decide(
    takes: float, ends: str
) -> None:
    ticks = Ticks()
    ticks.run(5, 3e-6)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    ticks.run(1, 1e-6)
    assert ticks.run(PATIENCE - 1, 3e-5, elements=20) == "3 1 2"
    assert ticks.run(1, takes, elements=20) == WRITTEN
    assert "no such ticks come any more" in ticks.proposals[-1].reason
    assert ticks.run(1 + CONFIRMING_TICKS, takes, elements=20) == ends
    (seen,) = ticks.policy.decided()
    assert seen.expected is None
    assert (seen.before, seen.measured) == pytest.approx((takes, 3e-5))
    assert not ticks.policy.waits


def test_an_order_that_is_in_doubt_is_left_where_the_size_does_not_come_again() -> None:
    ticks = Ticks()
    ticks.run(5, 1e-6)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    ticks.run(1 + CONFIRMING_TICKS, 2e-6)
    assert ticks.run(1, 5e-6) == WRITTEN
    assert ticks.run(PATIENCE + 1, 3e-5, elements=20) == WRITTEN
    (seen,) = ticks.policy.decided()
    assert (seen.outcome, seen.before, seen.measured) == (RETURNED, 1e-6, 2e-6)


@pytest.mark.parametrize("undone", [set(), {0}, {1}, {2}, {0, 2, 4, 5}])
def test_what_is_undone_with_its_tick_is_proposed_again(undone: set[int]) -> None:
    """The order that begins, the one before when it is in doubt, the new one when that is over."""
    ticks = Ticks()
    ticks.undone = undone
    ticks.run(5, 1e-6)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    ticks.run(1 + len(undone), 2e-6)
    # what comes takes longer, and with the order before longer still
    for _ in range(20):
        ticks.run(1, 2e-6 if ticks.now == "3 1 2" else 5e-6)
    proposed = [p.option for number, p in enumerate(ticks.proposals) if number not in undone]
    assert proposed == ["3 1 2", WRITTEN, "3 1 2"]
    assert len(ticks.proposals) == len(proposed) + len(undone)
    assert [CONFIRMED] == [seen.outcome for seen in ticks.policy.decided()]


def test_a_probe_that_finds_no_tuple_forgets_nothing() -> None:
    """What drops how much is asked for whatever the filters have seen lately."""
    ticks = Ticks()
    ticks.run(5, 3e-6)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    assert ticks.run(1 + CONFIRMING_TICKS, 4e-6) == "3 1 2"
    assert ticks.run(1, 3e-6) == WRITTEN
    for masks in ({}, {0: 0}):
        ticks.policy._is_early = True
        ticks.probed(masks, EQUAL)
    assert len(ticks.policy.window) == sum(DROPPED_BY_THIRD.values())
    # no such ticks come any more, so it is left
    assert ticks.run(PATIENCE + 10, 3e-6, elements=100_000) == WRITTEN
    assert not ticks.policy.waits


@pytest.mark.parametrize("elements", [0, None])
def test_what_was_found_waits_for_a_tick_in_which_something_comes(elements: int | None) -> None:
    ticks = Ticks()
    ticks.run(5, 3e-6)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    facts = replace(ticks.facts, elements=elements)
    assert ticks.policy.propose(WRITTEN, Statistics(), facts) is None
    assert ticks.policy.is_due
    assert ticks.run(1, 1e-6) == "3 1 2"


def test_explain_says_what_keeps_the_order_of_the_text() -> None:
    with cqlduck.connect() as con:
        con.create_function("risky", lambda line: len(line) > 1, ["VARCHAR"], "BOOLEAN")
        con.create_function(
            "sure", lambda line: True, ["VARCHAR"], "BOOLEAN", exception_handling="return_null"
        )
        con.execute("CREATE STREAM s (k INTEGER, a VARCHAR)")
        said = {
            "a ~ 'x+' AND risky(a) AND a ~ 'y+'": (
                ' RISKY("s.a") may raise an error',
                " it stays where the text has it, with REGEXP_MATCHES(\"s.a\", 'y+') behind it",
            ),
            "1 // k > 0 AND a ~ 'x+' AND a ~ 'y+'": ('1 // "s.k" > 0 may raise', "'x+'), REGEXP"),
            "a ~ 'x+' AND risky(a)": ("may raise an error", "behind all others"),
            "a ~ 'x+' AND 1 // k > 0": (),
            "risky(a) AND k > 1": (),
            "a ~ 'x+' AND sure(a) AND a ~ 'y+'": (),
        }
        for condition, parts in said.items():
            con.execute(
                f"CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT k FROM s WHERE {condition}"
            )
            explained = con.explain("q")
            assert ("may raise" in explained) == bool(parts), condition
            for part in parts:
                assert part in explained, condition


def test_an_order_that_saves_next_to_nothing_of_the_statements_does_not_run() -> None:
    ticks = Ticks()
    ticks.run(5, 1e-3)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    assert ticks.run(3, 1e-3) == WRITTEN


def test_back_to_the_order_of_the_text_is_back_to_what_is_written() -> None:
    ticks = Ticks()
    ticks.run(5, 3e-6)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    ticks.run(5, 1e-6)
    for _ in range(3):
        ticks.probed({0b000: 10, 0b001: 400, 0b010: 100}, EQUAL)
    assert ticks.run(5, 1e-6) == WRITTEN


def test_the_profile_window_forgets() -> None:
    policy = FilterOrder(Budget())
    facts = Facts(1000, about=about(2))
    for _ in range(4):
        policy.saw(facts, WRITTEN, None, Profiled(SITE, {1: 512}, (1.0, 1.0), 0.001))
    policy.saw(facts, WRITTEN, None, Profiled(SITE, {2: 512}, None, 0.001))
    assert {1: WINDOW - 512, 2: 512} == dict(policy.profile.masks)


def test_independent_is_led_astray_by_filters_that_drop_the_same_tuples() -> None:
    """Example 4.5.1: the first two drop 51 of 100 tuples, the third one the others."""
    masks = {0b011: 51, 0b100: 49}
    found = {}
    for algorithm in (OPTIMUM, A_GREEDY, INDEPENDENT):
        ticks = Ticks(algorithm=algorithm)
        ticks.run(5, 3e-6)
        ticks.probed(masks, EQUAL)
        found[algorithm] = ticks.run(2, 1.5e-6)
    # the text has the order of Independent already
    assert {OPTIMUM: "1 3 2", A_GREEDY: "1 3 2", INDEPENDENT: WRITTEN} == found


def test_sweep_looks_at_one_filter_a_probe() -> None:
    ticks = Ticks(algorithm=SWEEP)
    ticks.run(5, 3e-6)
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    assert ticks.run(3, 3e-6) == WRITTEN
    ticks.probed(DROPPED_BY_THIRD, EQUAL)
    assert ticks.run(3, 1e-6) == "3 1 2"


class Budgeted:
    """Probes of ticks of 10 ms, each of 4 ms."""

    def __init__(self) -> None:
        self.policy = FilterOrder(Budget(0.01))

    def run(self, ticks: int, seconds: float) -> int:
        """Let an element take so long; return how many probes there were."""
        before, facts = self.policy.probes, Facts(1000, about=about(2))
        for _ in range(ticks):
            self.policy.budget.ticks += 0.01
            wanted = self.policy.wants(facts, WRITTEN)
            found = Profiled(SITE, {0: 512}, (1e-6, 1e-6), 0.004) if wanted else None
            self.policy.saw(facts, WRITTEN, seconds * 1000, found)
        return self.policy.probes - before


def test_probes_stay_within_the_budget() -> None:
    ticks = Budgeted()
    # the budget affords one every 40 ticks
    assert 245 <= ticks.run(10_000, 1e-6) - FIRST_PROBES <= 250
    assert not ticks.policy.wants(Facts(10, about=about(2)), WRITTEN)
    assert not ticks.policy.wants(Facts(None, about=about(2)), WRITTEN)


def test_what_was_looked_at_first_does_not_hold_back_what_comes_later() -> None:
    """One that took long would have all other points wait until it is earned, too."""
    budget = Budget(0.01, ticks=100.0)
    budget.looked(4.6, is_first=True)
    assert budget.affords(1.0)
    assert budget.affords(0.4, 5.0, is_in_all=True)
    assert not budget.affords(0.5, 5.0, is_in_all=True)
    assert budget.affords(0.5, 5.0)
    budget.looked(0.6)
    assert not budget.affords(0.5)


def test_who_waits_for_a_costly_look_has_its_turn() -> None:
    """Two seconds of ticks afford 0.02; looks of 0.01 would leave nothing for one of 0.02."""
    budget, costly, cheap = Budget(0.01, ticks=1.0), object(), object()
    assert not budget.affords(0.02, who=costly)
    assert not budget.affords(0.01, who=cheap)
    assert not budget.affords(0.01)
    # what may cost more needs not wait, nor does what costs nothing
    assert budget.affords(0.01, 3.0)
    assert budget.affords(0.0)
    budget.ticks = 1.9
    assert not budget.affords(0.02, who=costly)
    budget.ticks = 2.0
    assert not budget.affords(0.01, who=cheap)
    assert budget.affords(0.02, who=costly)
    budget.looked(0.02)
    budget.ticks = 3.1
    assert budget.affords(0.01, who=cheap)


def test_nobody_waits_for_whom_does_not_ask_again() -> None:
    budget, costly = Budget(0.01, ticks=1.0), object()
    assert not budget.affords(0.1, who=costly)
    budget.ticks = 2.0
    assert not budget.affords(0.01)
    budget.ticks = 2.1
    assert budget.affords(0.01)
    # nor for whom would come after more than ten seconds
    assert not budget.affords(0.2, who=costly)
    assert budget.affords(0.01)


def test_ticks_of_another_size_are_probed_soon() -> None:
    ticks = Budgeted()
    ticks.run(1000, 1e-6)
    before = ticks.policy.probes
    for elements in [100_000] * 10:
        ticks.policy.budget.ticks += 0.01
        facts = Facts(elements, about=about(2))
        wanted = ticks.policy.wants(facts, WRITTEN)
        found = Profiled(SITE, {0: 512}, (1e-6, 1e-6), 0.004) if wanted else None
        ticks.policy.saw(facts, WRITTEN, 1e-6 * elements, found)
    assert before + 2 == ticks.policy.probes
    # what was probed is known to the next process
    again = FilterOrder(Budget(0.01))
    again.restore(json.loads(json.dumps(ticks.policy.state())))
    assert again._probed == ticks.policy._probed


def test_the_first_probes_and_those_of_a_change_come_earlier_and_are_few() -> None:
    ticks = Budgeted()
    assert ticks.run(30, 1e-6) == 2
    ticks.run(500, 1e-6)
    assert ticks.run(10, 1e-6) <= 1
    # what an element takes has changed
    assert ticks.run(10, 1.1e-6) <= 1
    assert 1 <= ticks.run(10, 2e-6) <= 4
    assert ticks.run(10, 2e-6) <= 1


# -- in the engine ------------------------------------------------------------------------------

TEXTS = ["abc", "ab", "c", "abc", "bc", "", "xyz", None, "aabbcc"]


def answers(con: cqlduck.Connection) -> list[tuple[object, ...]]:
    return sorted(con.changes("q").fetchall())


def play(con: cqlduck.Connection, ticks: range) -> None:
    for t in ticks:
        con.tick({"s": batch([(n, TEXTS[(n + t) % 9], t) for n in range(20)])}, to=t)


def option(con: cqlduck.Connection) -> list[tuple[str, str]]:
    return con.sql(
        "SELECT option, chosen_by FROM cql.points WHERE point = 'filters' AND operator IS NOT NULL"
    ).fetchall()


def test_orders_follow_each_other_and_a_restart_without_a_trace(tmp_path: Path) -> None:
    with cqlduck.connect() as con:
        con.execute(STREAM + QUERY)
        play(con, range(9))
        expected = answers(con)
    path = tmp_path / "some.duckdb"
    before = []
    for first, last, order in ((0, 3, "2 3 1"), (3, 6, "3 2 1"), (6, 9, WRITTEN)):
        with cqlduck.connect(path) as con:
            if first == 0:
                con.execute(STREAM + QUERY)
            assert option(con) == before
            choices.force(con, FILTERS, order, "q")
            play(con, range(first, last))
            assert option(con) == [(order, "user")]
            before = option(con)
            shown = "" if order == WRITTEN else f"filters of operator 2: {order}, chosen by user"
            assert shown in con.explain("q")
    with cqlduck.connect(path) as con:
        assert expected == answers(con)
        con.check()


def test_what_is_measured_is_put_into_force_and_shown(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first filter takes long and passes all, the second one drops all."""
    # what ticks take on a busy machine takes nothing back
    monkeypatch.setattr(FilterOrder, "leniency", 1e9)
    con.engine.streamon.budget.fraction = 1.0
    choices.measure(con)
    con.execute(STREAM)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s "
                "WHERE x ~ '^(a|b|c|ab|abc)*.*(b|c).*[a-z]{3,9}$' AND x ~ '^y'")  # fmt: skip
    for t in range(12):
        con.tick({"s": batch([(n, f"{'abc' * 30}{n}xyz", t) for n in range(4000)])}, to=t)
    assert option(con) == [("2 1", "measured")]
    ((before, after, why),) = con.sql(
        "SELECT from_option, to_option, reason FROM cql.plan_log WHERE point = 'filters'"
    ).fetchall()
    assert (before, after) == (WRITTEN, "2 1")
    assert "the filters drop 0 %, 100 %" in why
    shown = con.explain("q")
    assert "filters of operator 2: 2 1, chosen by measured" in shown
    assert "--   2: REGEXP_MATCHES(\"s.x\", '^y')\n--   optimum: of " in shown
    assert "CASE WHEN REGEXP_MATCHES(\"x\", '^y') THEN" in " ".join(shown.split())


def test_an_order_of_another_number_of_filters_does_not_count(con: cqlduck.Connection) -> None:
    con.execute(STREAM + QUERY)
    choices.force(con, FILTERS, "2 1")
    play(con, range(2))
    assert option(con) == [(WRITTEN, "default")]


def test_a_pin_outlives_another_version_of_the_rewriter(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(STREAM + QUERY)
        con.pin(FILTERS, "3 1 2", "q")
        play(con, range(2))
    with duckdb.connect(path) as raw:
        raw.execute("UPDATE cql_state.plans SET version = 'another'")
    with cqlduck.connect(path) as con:
        pins = "SELECT option FROM cql.points WHERE owner = 'q' AND ticks IS NULL"
        assert con.sql(pins).fetchall() == [("3 1 2",)]
        play(con, range(2, 4))
        assert option(con) == [("3 1 2", "user")]
        con.execute("DROP CONTINUOUS QUERY q")
        assert con.sql(pins).fetchall() == []


def test_of_a_query_that_is_dropped_nothing_is_kept(con: cqlduck.Connection) -> None:
    con.execute(STREAM + QUERY)
    play(con, range(2))
    compiled = weakref.ref(con.engine.compiled["q"])
    con.execute("DROP CONTINUOUS QUERY q")
    # what was chosen before a change is kept until the next one, to be put back
    con.execute("CREATE STREAM other (k INTEGER)")
    gc.collect()
    assert compiled() is None


@pytest.mark.parametrize("order", ["2 2", "0 1", "1 3", "b a", ""])
def test_what_is_no_order_is_refused(con: cqlduck.Connection, order: str) -> None:
    with pytest.raises(Error, match="has no option"):
        choices.force(con, FILTERS, order)


def test_the_algorithm_is_a_point_of_the_query(con: cqlduck.Connection) -> None:
    con.engine.streamon.budget.fraction = 1.0
    choices.measure(con)
    con.execute(STREAM + QUERY)
    choices.force(con, ORDERING, A_GREEDY)
    for t in range(8):
        con.tick({"s": batch([(n, "abc", t) for n in range(3000)])}, to=t)
    found = con.sql("SELECT option FROM cql.points WHERE point = 'ordering' AND owner = 'q'")
    assert found.fetchall() == [(A_GREEDY,)]


def test_pins_are_rows_that_stay_and_can_be_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(STREAM + QUERY)
        con.pin(FILTERS, "3 1 2", "Q")
        play(con, range(2))
        assert option(con) == [("3 1 2", "user")]
    with cqlduck.connect(path) as con:
        play(con, range(2, 4))
        assert option(con) == [("3 1 2", "user")]
        con.pin(FILTERS, None, "main.q")
        play(con, range(4, 6))
        assert option(con) == [(WRITTEN, "default")]
        con.check()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("filter", "written"), "no point of choice filter"),
        (("filters", "1 3"), "no option 1 3"),
        (("filters", 7), "no option 7"),
        ((["filters"], "written"), "no point of choice"),
        (("filters", "1 2", "qq"), "qq"),
        (("filters", "1 2", 7), "name"),
    ],
    ids=str,
)
def test_what_cannot_be_pinned_is_refused(
    con: cqlduck.Connection, arguments: tuple[object, ...], says: str
) -> None:
    con.execute(STREAM + QUERY)
    with pytest.raises(Error, match=says):
        con.pin(*arguments)  # type: ignore[arg-type]


def test_one_setting_turns_all_off(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    long = [(n, "abc" * 30, 0) for n in range(3000)]
    with cqlduck.connect(path) as con:
        con.execute(STREAM + QUERY)
        con.engine.streamon.executor.reoptimizer = _Proposing(con.engine.streamon.budget)
        play(con, range(3))
        assert option(con) == [("3 2 1", "measured")]
    with cqlduck.connect(path, adaptive=False) as con:
        streamon = con.engine.streamon
        streamon.budget.ticks = 1e6
        play(con, range(3, 6))
        con.tick({"s": batch([(n, x, 6) for n, x, _ in long])}, to=6)
        assert option(con) == [(WRITTEN, "default")]
        logged = con.sql("SELECT to_option, reason FROM cql.plan_log").fetchall()
        assert logged[-1] == (WRITTEN, "the setting adaptive is off")
        assert streamon.budget.looking == streamon.budget.first == 0
        assert list(streamon.profiler.steps("q")) == []
        con.pin(FILTERS, "2 1 3")
        play(con, range(7, 8))
        assert option(con) == [("2 1 3", "user")]
    with pytest.raises(Error, match="adaptive is True or False, not 'no'"):
        cqlduck.connect(adaptive="no")  # type: ignore[arg-type]


class _Proposing(choices.Drawn):
    """Proposes one order."""

    def propose(self, point: Point, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        return Proposal("3 2 1") if point.name == FILTERS and now != "3 2 1" else None
