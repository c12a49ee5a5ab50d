"""Whether a query is answered anew is chosen by what ticks take, and by what is rehearsed."""

from __future__ import annotations

import json
import random
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_answers_anew import BODIES, PAIR, answer, bring, drawn, elements, is_anew, made, wrong

import cqlduck
from cqlduck.engine import refreshing
from cqlduck.rewrite.statements.refreshing import INCREMENTAL, RECOMPUTED
from cqlduck.state.observations import CONFIRMED, RETURNED
from cqlduck.state.rehearsal import RehearsalExceeded, RehearsalFailed, Rehearsed
from cqlduck.streamon import answering
from cqlduck.streamon.answering import Answering
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.decisions import size_class
from cqlduck.streamon.points import ANSWER, Facts
from cqlduck.streamon.reoptimizer import Reoptimizer
from cqlduck.streamon.streamon import StreaMon

PLENTY = 1e9
"""A fraction of the time of ticks that affords everything."""


def facts(elements: int = 10, *, single: bool = True) -> Facts:
    return Facts(elements, is_single=single)


def found(tick: float, instants: int = 1, filling: float = 0.01) -> Rehearsed:
    return Rehearsed(0.0, tick / max(instants, 1), instants, filling, tick)


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Return one that can afford all, of a query whose ticks take a second; it is cheap to go."""
    monkeypatch.setattr(answering, "LEAST_SPENT", 0.0)
    made = Answering(Budget(PLENTY, ticks=1.0))
    made.costs.going = {INCREMENTAL: 1.0, RECOMPUTED: 1.0}
    return made


def see(
    policy: Answering, seconds: float, ticks: int, elements: int = 10, *, single: bool = True
) -> None:
    for _ in range(ticks):
        policy.saw(facts(elements, single=single), policy.option, seconds, None)


def proposed(policy: Answering) -> str | None:
    known = answering.Statistics()
    one = policy.propose(policy.option, known, facts())
    return None if one is None else one.option


def test_a_query_goes_when_it_has_lost_what_going_and_returning_cost(policy: Answering) -> None:
    see(policy, 1.0, 3)
    policy.learn(facts(), found(0.5))
    # the first tick counts for nothing: its statements were parsed
    assert policy.regret == pytest.approx(0.9)
    see(policy, 1.0, 2)
    assert policy.regret == pytest.approx(1.8)
    assert proposed(policy) is None
    see(policy, 1.0, 1)
    assert policy.regret > 2.0
    assert policy.wants_change
    assert proposed(policy) == RECOMPUTED


def test_what_ticks_took_before_the_rehearsal_counts(policy: Answering) -> None:
    see(policy, 1.0, 101)
    assert not policy.wants_change
    policy.learn(facts(), found(0.5))
    assert policy.regret == pytest.approx(100 * 0.45)
    assert proposed(policy) == RECOMPUTED


def test_regret_is_never_below_zero(policy: Answering) -> None:
    policy.learn(facts(), found(2.0))
    see(policy, 1.0, 1000)
    assert policy.regret == 0.0
    policy.learn(facts(), found(0.1))
    see(policy, 1.0, 3)
    assert proposed(policy) == RECOMPUTED


def test_an_option_that_saves_little_saves_nothing(policy: Answering) -> None:
    policy.learn(facts(), found(0.95))
    see(policy, 1.0, 10_000)
    assert policy.regret == 0.0


def test_several_instants_take_several_times_as_long(policy: Answering) -> None:
    """A tick of twice as many elements is expected to have twice as many instants of change."""
    policy.learn(facts(10, single=False), Rehearsed(0.5, 0.1, 5, 0.0, 1.0))
    assert policy.costs.expected(RECOMPUTED, False, 10) == pytest.approx(1.0)
    assert policy.costs.expected(RECOMPUTED, False, 20) == pytest.approx(1.5)
    assert policy.costs.expected(RECOMPUTED, False, 1) == pytest.approx(0.6)
    assert policy.costs.expected(RECOMPUTED, True, 10) is None


def test_ticks_of_other_sizes_lie_between_those_that_were_measured(policy: Answering) -> None:
    see(policy, 1.0, 3, 10)
    see(policy, 91.0, 3, 1000)
    assert policy.costs.expected(INCREMENTAL, True, 505) == pytest.approx(46.0)
    # nothing is known of smaller ones, and larger ones take as much longer
    assert policy.costs.expected(INCREMENTAL, True, 1) == pytest.approx(1.0)
    assert policy.costs.expected(INCREMENTAL, True, 2000) == pytest.approx(182.0)


def go(policy: Answering) -> None:
    option = proposed(policy)
    assert option is not None
    policy.switched(option, 1.0)


def test_one_that_takes_less_is_confirmed(policy: Answering) -> None:
    see(policy, 1.0, 101)
    policy.learn(facts(), found(0.5))
    go(policy)
    see(policy, 0.6, 4)
    (seen,) = policy.decided()
    assert (seen.option, seen.outcome) == (RECOMPUTED, CONFIRMED)
    assert (seen.before, seen.expected, seen.measured) == (1.0, 0.5, 0.6)
    assert seen.costs == {INCREMENTAL: 1.0, RECOMPUTED: 0.5}
    assert proposed(policy) is None


def test_one_that_takes_more_than_was_rehearsed_returns_and_is_remembered(
    policy: Answering,
) -> None:
    see(policy, 1.0, 101)
    policy.learn(facts(), found(0.5))
    go(policy)
    see(policy, 3.0, 4)
    assert policy.decided() == []
    assert proposed(policy) == INCREMENTAL
    (seen,) = policy.decided()
    assert (seen.option, seen.outcome, seen.measured) == (RECOMPUTED, RETURNED, 3.0)
    policy.switched(INCREMENTAL, 1.0)
    see(policy, 1.0, 4)
    # six times what was rehearsed, and by its root with the next rehearsal
    assert policy.costs.expected(RECOMPUTED, True, 10) == pytest.approx(3.0)
    policy.learn(facts(), found(0.5))
    assert policy.costs.expected(RECOMPUTED, True, 10) == pytest.approx(0.5 * 6**0.5)
    see(policy, 1.0, 1000)
    assert policy.regret == 0.0


def test_a_single_tick_that_takes_long_says_nothing(policy: Answering) -> None:
    see(policy, 1.0, 101)
    policy.learn(facts(), found(0.5))
    go(policy)
    see(policy, 0.5, 1)
    see(policy, 100.0, 2)
    assert not policy.wants_change


def test_it_returns_when_ticks_become_small(policy: Answering) -> None:
    see(policy, 0.01, 4, 10)
    see(policy, 5.0, 4, 1000)
    policy.learn(facts(1000), found(0.5))
    go(policy)
    see(policy, 0.5, 4, 1000)
    assert not policy.wants_change
    see(policy, 0.5, 5, 10)
    assert proposed(policy) == INCREMENTAL


def test_the_incremental_plan_is_looked_at_again(
    policy: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "FIRST_LOOK", 8)
    see(policy, 1.0, 101)
    policy.learn(facts(), found(0.5))
    go(policy)
    see(policy, 0.5, 8)
    assert proposed(policy) is None
    see(policy, 0.5, 2)
    assert policy.regret == 0.0
    fraction, policy.budget.fraction = policy.budget.fraction, 0.0
    assert proposed(policy) is None
    policy.budget.fraction = fraction
    assert proposed(policy) == INCREMENTAL


def test_the_incremental_plan_is_looked_at_ever_later_and_for_its_price(
    policy: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "FIRST_LOOK", 8)
    see(policy, 1.0, 101)
    policy.learn(facts(), found(0.5))
    go(policy)
    waited = []
    for _ in range(4):
        ticks, looking = 0, policy.budget.looking
        while proposed(policy) is None:
            see(policy, 0.5, 1)
            ticks += 1
        waited.append(ticks)
        policy.switched(INCREMENTAL, 3.0)
        while proposed(policy) is None:
            see(policy, 1.0, 1)
            ticks += 1
        policy.switched(RECOMPUTED, 0.25)
        # both fills, and by what ticks took longer
        assert policy.budget.looking - looking == pytest.approx(3.25 + 0.5 * (ticks - waited[-1]))
    assert [8 << n for n in range(4)] == [ticks - ticks % 8 for ticks in waited]
    # where it is better it stays, and is as good as new
    while proposed(policy) is None:
        see(policy, 0.5, 1)
    policy.switched(INCREMENTAL, 3.0)
    see(policy, 0.3, 30)
    assert 0 == policy.looks


def test_it_is_rehearsed_where_the_budget_affords_it(policy: Answering) -> None:
    see(policy, 1.0, 2)
    asked = replace(facts(), stored=lambda: 1000)
    assert policy.wants_rehearsal(asked) is not None
    policy.left = 0
    policy.budget.fraction = 0.001
    assert policy.wants_rehearsal(asked) is None
    ticks = policy.left
    see(policy, 1.0, ticks - 1)
    assert policy.wants_rehearsal(asked) is None
    see(policy, 1.0, 1)
    assert policy.wants_rehearsal(asked) is not None
    # what is rehearsed again waits with all other looks
    policy.learn(facts(), found(0.5))
    policy.left, policy.budget.looking = 0, 0.001
    assert policy.wants_rehearsal(asked) is None
    policy.budget.ticks = 1000.0
    policy.left = 0
    assert policy.wants_rehearsal(asked) is not None


def test_looks_of_other_kinds_do_not_hold_back_the_first_rehearsal(policy: Answering) -> None:
    see(policy, 1.0, 2)
    policy.budget.fraction, policy.budget.looking = 0.01, 100.0
    assert policy.wants_rehearsal(replace(facts(), stored=lambda: 1000)) is not None


def test_what_is_expected_to_take_four_times_as_long_is_not_rehearsed(policy: Answering) -> None:
    see(policy, 1.0, 2)
    rows = 5 * answering.READ_ROWS_PER_SECOND
    assert policy.wants_rehearsal(replace(facts(), stored=lambda: int(rows))) is None
    assert policy.left == answering.LAST_LOOK
    policy.left = 0
    policy.learn(facts(), found(5.0))
    assert policy.wants_rehearsal(replace(facts(), stored=lambda: 1)) is None


def test_what_was_found_is_as_it_was_when_it_is_read_again(policy: Answering) -> None:
    see(policy, 1.0, 101)
    policy.learn(facts(), found(0.5))
    see(policy, 0.1, 5, 1)
    again = Answering(policy.budget)
    again.restore(json.loads(json.dumps(policy.state())))
    assert again.state() == policy.state()
    for elements_ in (1, 5, 10, 100):
        for option in (INCREMENTAL, RECOMPUTED):
            assert again.costs.expected(option, True, elements_) == policy.costs.expected(
                option, True, elements_
            )


# -- in an engine ---------------------------------------------------------------------------------


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a query rehearsed behind each tick, and go at the least regret."""
    monkeypatch.setattr(StreaMon, "makes", Reoptimizer)
    monkeypatch.setattr(answering, "LEAST_SPENT", 0.0)
    monkeypatch.setattr(answering, "FIRST_LOOK", 1)
    monkeypatch.setattr(answering, "LAST_LOOK", 1)
    monkeypatch.setattr(answering, "TOO_SLOW", 1e6)
    monkeypatch.setattr(answering.Budget, "affords", lambda *_: True)
    monkeypatch.setattr(answering, "FIRST_BUDGETS", 1e12)
    monkeypatch.setattr(answering.AnswerCosts, "switch", lambda *_: 0.0)


def rehearsals(con: Any, name: str) -> int:
    return int(con.engine.streamon.reoptimizer.answering(name).probes)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("names", [("sums", "above", "comes"), ("outer_join", "first", "without")])
def test_rehearsals_leave_nothing_behind(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering.Answering, "wants_change", False)
    con, beside = made(tmp_path / "some.duckdb", names), made(names=names)

    def tables() -> list[Any]:
        return con.sql("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()

    before = tables()
    for change in drawn(3, 8):
        bring(con, change)
        bring(beside, change)
        assert not wrong(con)
    assert sum(rehearsals(con, name) for name in names) > len(names)
    for name in names:
        assert elements(con, name) == elements(beside, name)
        assert not is_anew(con, name)
    assert tables() == before
    # temporary tables are those of the engine's own connection
    mine = con.engine.database.rows("SELECT table_name FROM duckdb_tables() ORDER BY ALL")
    assert len(mine) > len(before)
    assert not [name for (name,) in mine if name.startswith("_cql_instants")]
    con.close()
    beside.close()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("seed", range(2))
def test_what_is_chosen_changes_no_answer(seed: int, tmp_path: Path) -> None:
    """Machines decide when queries go; wherever they do, nothing shows."""
    names = random.Random(seed).sample([name for name in BODIES if name not in PAIR], 2)
    names += PAIR
    con, beside = made(tmp_path / "some.duckdb", names), made(names=names)
    for number, change in enumerate(drawn(seed, 8)):
        if number == 4:
            con.close()
            con = refreshing_opened(tmp_path / "some.duckdb")
        bring(con, change)
        bring(beside, change)
        assert not wrong(con)
        for name in names:
            assert answer(con, name) == answer(beside, name), (number, name)
    for name in names:
        assert elements(con, name) == elements(beside, name), name
    con.close()
    beside.close()


def refreshing_opened(path: Path) -> Any:
    return cqlduck.connect(path, sharing=False, threads=1)


@pytest.mark.usefixtures("eager")
def test_it_goes_by_what_was_rehearsed_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = Rehearsed(1e-9, 0.0, 1, 1e-9, 1e-9)
    monkeypatch.setattr(refreshing, "rehearse", lambda *_: cheap)
    with made(names=["sums"]) as con:
        for at in range(1, 8):
            bring(con, (at, [{"a": 1, "v": 1, "t": at}], [(1, 1, at, 1)]))
            if is_anew(con, "sums"):
                break
        assert is_anew(con, "sums")
        assert "answer: recomputed, chosen by measured" in str(con.explain("sums"))
        assert "to go there and back" in str(con.explain("sums"))
        ((option, reason),) = con.sql(
            "SELECT to_option, reason FROM cql.plan_log WHERE point = 'answer'"
        ).fetchall()
        assert option == RECOMPUTED
        assert "ms with recomputed" in reason
        view = con.sql("SELECT probes > 0, fills FROM cql.adaptivity WHERE point = 'answer'")
        assert view.fetchall() == [(True, 1)]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Return how many elements came in the ticks that are judged."""
    came: list[int | None] = []
    saw = Answering.saw

    def noting(policy: Answering, facts: Facts, option: str, seconds: float, other: Any) -> None:
        came.append(facts.elements)
        saw(policy, facts, option, seconds, other)

    monkeypatch.setattr(Answering, "saw", noting)
    return came


@pytest.mark.usefixtures("eager")
def test_a_switch_does_not_forget_how_many_elements_came(
    counted: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refreshing, "rehearse", lambda *_: Rehearsed(1e-9, 0, 1, 1e-9, 1e-9))
    with made(names=["sums"]) as con:
        went = []
        for at in range(1, 9):
            bring(con, (at, [{"a": 1, "v": 1, "t": at}], []))
            went.append(is_anew(con, "sums"))
        assert any(went)
    assert counted == [1] * 8


@pytest.mark.usefixtures("eager")
def test_a_tick_that_is_undone_counts_what_came_once(
    counted: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Answering, "wants_rehearsal", too_long())
    monkeypatch.setattr(refreshing, "rehearse", failing(RehearsalExceeded("it takes too long")))
    with made(names=["sums"]) as con:
        for at in range(1, 9):
            bring(con, (at, [{"a": 1, "v": 1, "t": at}], []))
    # once more for the tick that is undone
    assert counted == [1] * 9


@pytest.mark.usefixtures("eager")
def test_to_compile_the_other_plan_counts_as_measuring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = refreshing.contents

    def slowly(*given: Any) -> Any:
        time.sleep(0.1)
        return known(*given)

    monkeypatch.setattr(refreshing, "contents", slowly)
    with made(names=["sums"]) as con:
        for change in drawn(1, 6):
            bring(con, change)
        assert rehearsals(con, "sums")
        # of both plans
        assert con.engine.streamon.executor.profiler.budget.first > 0.2


def failing(error: Exception) -> Any:
    def rehearse(*_: Any) -> Rehearsed:
        raise error

    return rehearse


@pytest.mark.usefixtures("eager")
def test_a_rehearsal_that_fails_leaves_the_query_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refreshing, "rehearse", failing(RehearsalFailed("DuckDB fails: no")))
    with made(names=["sums"]) as con, made(names=["sums"]) as beside:
        for change in drawn(1, 6):
            bring(con, change)
            bring(beside, change)
        assert elements(con, "sums") == elements(beside, "sums")
        assert con.engine.query("sums").state == "active"
        assert con.engine.streamon.reoptimizer.answering("sums").refusal == "DuckDB fails: no"
        said = "-- answer: incremental, for the other plan cannot be had:\n--   DuckDB fails: no"
        assert said in str(con.explain("sums"))
        con.pin(ANSWER, RECOMPUTED, "sums")
        bring(con, (99, [], []))
        assert is_anew(con, "sums")


@pytest.mark.usefixtures("eager")
def test_a_rehearsal_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering.Answering, "wants_rehearsal", too_long())
    monkeypatch.setattr(answering, "LAST_LOOK", 77)
    with made(names=["sums"]) as con, made(names=["sums"]) as beside:
        for change in drawn(1, 6):
            bring(con, change)
            bring(beside, change)
        assert elements(con, "sums") == elements(beside, "sums")
        policy = con.engine.streamon.reoptimizer.answering("sums")
        assert policy.probes == 0
        assert policy.refusal is None
        assert policy.interval == 77


def too_long() -> Any:
    asked = []

    def wants_rehearsal(policy: Answering, _: Facts) -> float | None:
        asked.append(policy)
        # nothing takes so little; once, or each tick would be undone
        return 1e-7 if len(asked) == 3 else None

    return wants_rehearsal


def test_without_adaptivity_nothing_is_rehearsed(
    eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refreshing, "rehearse", failing(RehearsalExceeded("not to be called")))
    with made(names=["sums"]) as con:
        con.execute("UPDATE cql.properties SET value = 'false' WHERE name = 'adaptive'")
        for change in drawn(1, 6):
            bring(con, change)
        assert rehearsals(con, "sums") == 0
        assert con.engine.streamon.reoptimizer.answering("sums").left == 0


@pytest.mark.usefixtures("eager")
def test_it_returns_for_a_tick_of_many_instants(monkeypatch: pytest.MonkeyPatch) -> None:
    """To catch up asks for the answer once; pinned, it is asked for at each instant."""
    monkeypatch.setattr(refreshing, "rehearse", lambda *_: Rehearsed(0.5, 1.0, 1, 0.0, 1e-9))
    for is_pinned in (False, True):
        with made(names=["sums"]) as con, made(names=["sums"]) as beside:
            engine, now = con.engine, 0
            policy = engine.streamon.reoptimizer.answering("sums")
            bring(con, (1, [{"a": 1, "v": 1, "t": 1}], [(1, 1, 1, 1)]))
            bring(beside, (1, [{"a": 1, "v": 1, "t": 1}], [(1, 1, 1, 1)]))
            bring(con, (2, [{"a": 1, "v": 1, "t": 2}], []))
            bring(beside, (2, [{"a": 1, "v": 1, "t": 2}], []))
            policy.learn(facts(), Rehearsed(0.0, 1.0, 1, 0.0, 1e-9))
            policy.regret, policy._last = 1e9, answering.JudgedTick(True, 1, 1.0, 3)
            engine.streamon.reoptimizer.answered("sums")
            if is_pinned:
                con.pin(ANSWER, RECOMPUTED, "sums")
            bring(con, (3, [{"a": 1, "v": 1, "t": 3}], []))
            bring(beside, (3, [{"a": 1, "v": 1, "t": 3}], []))
            assert is_anew(con, "sums")
            for now, many in ((20, 2), (60, 30)):
                rows = [{"a": 1, "v": t % 3, "t": t} for t in range(now - many, now)]
                policy.regret, policy.left = 0.0, 9
                bring(con, (now, rows, []))
                bring(beside, (now, rows, []))
                assert is_anew(con, "sums") == (many == 2 or is_pinned)
            assert elements(con, "sums") == elements(beside, "sums")
            logged = con.sql("SELECT reason FROM cql.plan_log").fetchall()
            assert any("instants of change" in reason for (reason,) in logged) == (not is_pinned)


def undone(policy: Answering, before: str) -> str | None:
    """Have a switch be undone with its tick; return what the next tick is to go to."""
    one = policy.propose(before, answering.Statistics(), facts())
    assert policy.option == before
    return None if one is None else one.option


def test_a_switch_that_is_undone_with_its_tick_comes_again(policy: Answering) -> None:
    see(policy, 1.0, 101)
    policy.learn(facts(), found(0.5))
    go(policy)
    for _ in range(answering.RETRIES):
        assert policy.option == RECOMPUTED
        assert undone(policy, INCREMENTAL) == RECOMPUTED
        assert policy.regret > 2.0
        policy.switched(RECOMPUTED, 1.0)
    # then not at once
    assert undone(policy, INCREMENTAL) is None
    assert policy.regret == 0.0
    see(policy, 1.0, 100)
    assert proposed(policy) == RECOMPUTED
    policy.switched(RECOMPUTED, 1.0)
    policy.ended()
    # what somebody else chooses later undoes nothing
    assert undone(policy, INCREMENTAL) is None
    assert policy.costs.expected(INCREMENTAL, True, 10) is None


def test_a_return_that_is_undone_forgets_nothing(policy: Answering) -> None:
    """A slow tick is the one that people interrupt."""
    see(policy, 1.0, 101)
    policy.learn(facts(), found(0.5))
    go(policy)
    policy.ended()
    see(policy, 100.0, 4)
    go(policy)
    assert policy.costs.expected(INCREMENTAL, True, 10) is None
    assert undone(policy, RECOMPUTED) == INCREMENTAL
    assert policy.costs.expected(INCREMENTAL, True, 10) == 1.0
    assert policy.regret > 90.0
    # also where the tick has been seen before it was undone
    policy.switched(INCREMENTAL, 1.0)
    see(policy, 1.0, 1)
    policy.saw(facts(), RECOMPUTED, 100.0, None)
    assert policy.option == RECOMPUTED
    assert policy.costs.expected(INCREMENTAL, True, 10) == 1.0


@pytest.mark.parametrize("is_undone", [True, False])
def test_a_tick_of_other_queries_ends_no_switch_that_was_undone(is_undone: bool) -> None:
    with cqlduck.connect(sharing=False) as con:
        con.execute("CREATE STREAM s (v INTEGER)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM s [RANGE 3]")
        con.tick({"s": [(1,)]}, to=1)
        if not is_undone:
            con.pin(ANSWER, RECOMPUTED, "q")
            con.tick({"s": [(1,)]}, to=2)
        answers = con.engine.streamon.answers
        mine = con.engine.streamon.reoptimizer.answering("q")
        mine.option = INCREMENTAL
        see(mine, 1.0, 5)
        answers.switched(con.engine.query("q"), RECOMPUTED, 0.1)
        answers.ended()
        mine.saw(facts(), INCREMENTAL, 1.0, None)
        known = mine.costs.expected(INCREMENTAL, True, 10)
        assert known == (1.0 if is_undone else None)


def test_inputs_that_were_large_for_a_while_are_forgotten(policy: Answering) -> None:
    """To answer anew took longer than was rehearsed because the inputs had grown in between."""
    policy.costs.going = {INCREMENTAL: 0.1, RECOMPUTED: 0.1}
    see(policy, 0.05, 101)
    policy.learn(facts(), found(0.005))
    for option, seconds in ((RECOMPUTED, 0.1), (INCREMENTAL, 0.05)):
        go(policy)
        policy.ended()
        assert policy.option == option
        see(policy, seconds, 100)
    assert (policy.costs.expected(RECOMPUTED, True, 10) or 0) > 0.05
    for _ in range(20):
        policy.learn(facts(), found(0.005))
        see(policy, 0.05, 32)
    assert proposed(policy) == RECOMPUTED


def looking(policy: Answering) -> None:
    """Have it look at the incremental plan again."""
    see(policy, 1.0, 101)
    policy.learn(facts(), found(0.5))
    go(policy)
    policy.ended()
    while proposed(policy) is None:
        see(policy, 0.5, 1)
    policy.switched(INCREMENTAL, 1.0)
    policy.ended()


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_look_is_charged_for_some_ticks_alone(policy: Answering, is_pinned: bool) -> None:
    """Nobody asks it whether it is to return while it is pinned, or adaptivity is off."""
    looking(policy)
    before = policy.budget.looking
    if is_pinned:
        policy.stay()
    see(policy, 1.0, 1000)
    ticks = 0 if is_pinned else answering.LOOK_TICKS
    assert policy.budget.looking - before == pytest.approx(0.5 * ticks, abs=0.5)


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_look_ends_with_the_tick_from_which_on_nobody_asks(is_pinned: bool) -> None:
    with cqlduck.connect(sharing=False) as con:
        con.execute("CREATE STREAM s (v INTEGER)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM s [RANGE 3]")
        if is_pinned:
            con.pin(ANSWER, INCREMENTAL, "q")
        else:
            con.execute("UPDATE cql.properties SET value = false WHERE name = 'adaptive'")
        mine = con.engine.streamon.reoptimizer.answering("q")
        mine._looked = 1
        con.tick({"s": [(1,)]}, to=1)
        assert mine._looked is None


def test_a_long_look_is_one_too(policy: Answering) -> None:
    """Where a switch takes long, it takes many ticks to lose as much."""
    policy.costs.going = {INCREMENTAL: 50.0, RECOMPUTED: 50.0}
    see(policy, 1.0, 1000)
    policy.learn(facts(), found(0.5))
    policy.switched(RECOMPUTED, 50.0)
    policy.ended()
    while proposed(policy) is None:
        see(policy, 0.5, 1)
    policy.switched(INCREMENTAL, 50.0)
    policy.ended()
    ticks = 0
    while proposed(policy) is None:
        see(policy, 1.0, 1)
        ticks += 1
    policy.switched(RECOMPUTED, 50.0)
    assert ticks > answering.LOOK_TICKS
    assert 1 == policy.looks


def test_a_look_that_saves_time_is_charged_nothing_and_earns_nothing(policy: Answering) -> None:
    looking(policy)
    before = policy.budget.looking
    see(policy, 0.1, 100)
    assert policy.budget.looking == before


def test_looks_of_before_it_was_better_do_not_count(policy: Answering) -> None:
    looking(policy)
    see(policy, 1.0, 10)
    go(policy)
    policy.ended()
    assert 1 == policy.looks
    # one that is undone with its tick is none
    while proposed(policy) is None:
        see(policy, 0.5, 1)
    policy.switched(INCREMENTAL, 1.0)
    undone(policy, RECOMPUTED)
    assert 1 == policy.looks
    # to answer anew becomes slow: that is no look
    policy.costs._known[size_class(10)][1].seconds[INCREMENTAL] = deque([1.0])
    see(policy, 9.0, 10)
    go(policy)
    policy.ended()
    assert 0 == policy.looks


def test_a_look_goes_on_after_a_restart(policy: Answering) -> None:
    looking(policy)
    again = Answering(Budget(PLENTY, ticks=1.0))
    again.restore(json.loads(json.dumps(policy.state())))
    see(again, 1.0, 10)
    assert again.budget.looking > 4.0
    go(again)
    assert 1 == again.looks


@pytest.mark.usefixtures("eager")
def test_all_queries_return_for_a_tick_of_many_instants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time one of them is the first to have too many the others are undone with it."""
    monkeypatch.setattr(answering.Answering, "wants_rehearsal", lambda *_: None)
    names = ["sums", "comes", "goes"]
    with made(names=names) as con, made(names=names) as beside:
        for name in names:
            con.pin(ANSWER, RECOMPUTED, name)
        for now in (1, 2, 3):
            for one in (con, beside):
                bring(one, (now, [{"a": 1, "v": 2, "t": now}], [(1, 1, now, 1)]))
        con.engine.streamon.executor.kept = replace(
            con.engine.streamon.executor.kept,
            choices={
                point: replace(choice, chosen_by="measured")
                for point, choice in con.engine.streamon.executor.kept.choices.items()
                if point.ticks is not None
            },
        )
        con.engine.streamon.executor._has_pins = False
        for name in names:
            assert is_anew(con, name)
            policy = con.engine.streamon.reoptimizer.answering(name)
            policy.learn(facts(), Rehearsed(0.0, 1.0, 1, 0.0, 1e-9))
            policy.regret, policy.left = 0.0, 99
        rows = [{"a": 1, "v": 2, "t": t} for t in range(10, 40)]
        for one in (con, beside):
            bring(one, (50, rows, []))
        for name in names:
            assert not is_anew(con, name)
            assert elements(con, name) == elements(beside, name)
            assert con.engine.streamon.reoptimizer.answering(name).instants is None
