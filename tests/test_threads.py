"""How many threads run statements: small ticks take one, whatever may be large takes all."""

from __future__ import annotations

import math
import random
import statistics

import pytest

import cqlduck
from cqlduck import reader
from cqlduck.state import threads
from cqlduck.state.choices import Point
from cqlduck.streamon import threads as policies
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.points import ALL, ONE, THREADS, Facts
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.threads import ThreadCount, sized

APPLICATION = """
    CREATE STREAM s (a INTEGER, t INTEGER) TIMESTAMP BY t;
    CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM s [RANGE UNBOUNDED];
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "AFTER_READ_SECONDS", 0.0)
    # on a slow machine, too
    monkeypatch.setattr(policies, "LEAST_SECONDS", float("inf"))


@pytest.fixture
def con():
    with cqlduck.connect(threads=3) as con:
        con.execute(APPLICATION)
        yield con


def setting(con: cqlduck.Connection) -> int:
    return con.engine.database.value("SELECT current_setting('threads')")


def small_ticks(con: cqlduck.Connection, first: int, count: int = threads.IN_A_ROW) -> None:
    for t in range(first, first + count):
        con.tick({"s": [(t, t)]}, t)


def test_small_ticks_that_follow_each_other_take_one_thread(con: cqlduck.Connection) -> None:
    small_ticks(con, 0, threads.IN_A_ROW - 1)
    assert 3 == setting(con)
    small_ticks(con, threads.IN_A_ROW)
    assert 1 == setting(con)


@pytest.mark.parametrize(
    "large",
    [
        lambda con: con.table("q"),
        lambda con: con.sql("FROM s"),
        lambda con: con.execute("CREATE TABLE mine AS FROM s"),
        lambda con: con.append("s", [(0, 100)] * (threads.MEDIUM_TICK_ELEMENTS + 1)),
        lambda con: con.tick({"s": [(0, 100)] * (threads.MEDIUM_TICK_ELEMENTS + 1)}, 100),
        lambda con: next(con.subscribe("q", since=0)),
    ],
    ids=["an answer", "a query", "a table", "many rows", "a large tick", "a subscription"],
)
def test_what_may_be_large_takes_all(con: cqlduck.Connection, large) -> None:
    small_ticks(con, 0)
    large(con)
    assert 3 == setting(con)
    assert 0 < con.table("q").fetchall()[0][0]


def test_ticks_in_which_time_alone_moves_on_are_of_another_size() -> None:
    assert sized(0) != sized(1)


@pytest.mark.parametrize("read", ["table", "arrow"])
def test_an_answer_that_was_small_is_read_by_as_many_as_there_are(
    con: cqlduck.Connection, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    getattr(con, read)("q")
    small_ticks(con, 0)
    getattr(con, read)("q")
    assert 1 == setting(con)
    monkeypatch.setattr(reader, "MEDIUM_TICK_ELEMENTS", 0)
    getattr(con, read)("q")
    assert 3 == setting(con)


def test_few_elements_that_take_long_try_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "LEAST_SECONDS", 0.005)
    policy, known, facts = ThreadCount(Budget()), Statistics(), Facts(100)
    takes = {ONE: 2 * policies.LEAST_SECONDS, ALL: 1.5 * policies.LEAST_SECONDS}
    ran, now = [ONE], policy.default(facts)
    for _ in range(50):
        proposal = policy.propose(now, known, facts)
        option = now if proposal is None else proposal.option
        if proposal is not None and not proposal.is_trial:
            now = option
        # threads that have just been made are slow
        known.record(option, takes[option] * (2 if (ran[-1], option) == (ONE, ALL) else 1))
        ran.append(option)
    assert ran[1] == ONE
    assert {ALL} == set(ran[-5:])


@pytest.mark.parametrize(("ratio", "ends"), [(1.05, ONE), (0.8, ALL)])
def test_the_first_ticks_with_either_number_are_slow_and_decide_nothing(
    ratio: float, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policies, "LEAST_SECONDS", 0.005)
    for seed in range(4):
        drawn, budget = random.Random(seed), Budget()
        policy, known, facts = ThreadCount(budget), Statistics(), Facts(100)
        ran, now, switches, longer = ONE, policy.default(facts), 0, 0.0
        for _ in range(1500):
            proposal = policy.propose(now, known, facts)
            option = now if proposal is None else proposal.option
            if proposal is not None and not proposal.is_trial:
                now, switches = option, switches + 1
            one = 0.03 * math.exp(drawn.gauss(0, 0.05))
            takes = one * (ratio if option == ALL else 1) * (1.4 if option != ran else 1)
            longer += takes - one * (ratio if now == ALL else 1)
            known.record(option, takes)
            budget.ticks += takes
            ran = option
        assert (now, switches) == (ends, int(ends == ALL))
        # those behind trials are paid for, too
        assert budget.looking + budget.first == pytest.approx(longer, abs=0.12)


@pytest.mark.parametrize("each", [7, 10])
def test_ticks_that_take_little_now_and_then_contradict_no_trial(
    each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of six ticks says less than all of them: else trials would begin again and again."""
    monkeypatch.setattr(policies, "LEAST_SECONDS", 0.005)
    drawn, budget = random.Random(0), Budget()
    policy, known, facts, longer, ran = ThreadCount(budget), Statistics(), Facts(100), 0.0, ONE
    for number in range(8000):
        proposal = policy.propose(ONE, known, facts)
        assert proposal is None or proposal.is_trial
        option = ONE if proposal is None else proposal.option
        one = 0.03 * math.exp(drawn.gauss(0, 0.05)) * (1 if number % each else 0.3)
        takes = one * (1.2 if option == ALL else 1) * (1.4 if option != ran else 1)
        longer += takes - one
        known.record(option, takes)
        budget.ticks += takes
        ran = option
    assert longer < 0.01 * budget.ticks


@pytest.mark.parametrize("least", [0.0, 0.005])
@pytest.mark.parametrize("each", [2, 3, 5])
def test_trials_are_paid_for_where_ticks_do_next_to_nothing_in_turn(
    each: int, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a window tumbles in each second tick: the median tick is of one of two kinds."""
    monkeypatch.setattr(policies, "LEAST_SECONDS", least)
    drawn, budget = random.Random(0), Budget()
    policy, known, facts, longer, ran = ThreadCount(budget), Statistics(), Facts(100), 0.0, ONE
    for number in range(6000):
        proposal = policy.propose(ONE, known, facts)
        option = ONE if proposal is None else proposal.option
        one = (0.001 if number % each else 0.016) * math.exp(drawn.gauss(0, 0.1))
        takes = one * (1.1 if option == ALL else 1.0) * (1.3 if option != ran else 1.0)
        longer += takes - one
        known.record(option, takes)
        budget.ticks += takes
        ran = option
    assert budget.looking + budget.first == pytest.approx(longer, abs=0.006 * budget.ticks)
    assert longer < 0.01 * budget.ticks


def test_trials_of_what_is_not_clear_do_not_follow_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A trial has seven ticks, and of two that take as long nothing is ever clear."""
    monkeypatch.setattr(policies, "LEAST_SECONDS", 0.0)
    drawn, budget = random.Random(0), Budget()
    policy, known, facts = ThreadCount(budget), Statistics(), Facts(100)
    ran: list[str] = []
    for number in range(4000):
        proposal = policy.propose(ONE, known, facts)
        ran.append(ONE if proposal is None else proposal.option)
        # each second tick does next to nothing, and trials seem to be a little faster
        takes = (0.016 if number % 2 else 0.001) * math.exp(drawn.gauss(0, 0.2))
        known.record(ran[-1], takes * (0.99 if ran[-1] == ALL else 1.0))
        budget.ticks += takes
    stood = [len(one) for one in "".join("o" if o == ONE else "a" for o in ran).split("a") if one]
    assert len(stood) > 10
    assert statistics.median(stood) >= 12
    assert ran.count(ALL) < len(ran) / 3


def test_a_trial_that_is_undone_with_its_first_tick_costs_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(policies, "LEAST_SECONDS", 0.005)
    budget, known, facts = Budget(), Statistics(), Facts(100)
    policy, undone, tried = ThreadCount(budget), 0, 0.0
    for number in range(6000):
        proposal = policy.propose(ONE, known, facts)
        option = ONE if proposal is None else proposal.option
        if option == ALL and known.last == ONE and number > 200 and number % 3:
            undone += 1
            continue
        takes = 0.036 if option == ALL else 0.03
        tried += takes - 0.03
        known.record(option, takes)
        budget.ticks += takes
    assert undone > 3
    # but for one that is to come
    assert budget.looking + budget.first == pytest.approx(tried, abs=0.043)


def test_threads_are_tried_anew_when_a_query_has_another_plan(con: cqlduck.Connection) -> None:
    con.execute("CREATE CONTINUOUS QUERY w AS SELECT count(*) AS n FROM s [RANGE 5]")
    small_ticks(con, 0, 4)
    before = con.engine.streamon.reoptimizer.policy(Point(THREADS, ticks=sized(1)))
    con.pin("answer", "recomputed", "w")
    small_ticks(con, 10)
    after = con.engine.streamon.reoptimizer.policy(Point(THREADS, ticks=sized(1)))
    assert isinstance(after, ThreadCount)
    assert before is not after


def test_elements_that_take_little_stay_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "LEAST_SECONDS", 0.005)
    policy, known = ThreadCount(Budget()), Statistics()
    for _ in range(20):
        known.record(ONE, 0.9 * policies.LEAST_SECONDS)
        assert policy.propose(ONE, known, Facts(100)) is None


def test_what_a_user_sets_is_what_comes_back(con: cqlduck.Connection) -> None:
    con.execute("SET threads = 2")
    small_ticks(con, 0)
    assert 1 == setting(con)
    con.sql("FROM q")
    assert 2 == setting(con)


def test_one_thread_stays_one() -> None:
    with cqlduck.connect(threads=1) as con:
        con.execute(APPLICATION)
        small_ticks(con, 0, 5)
        con.table("q")
        assert 1 == setting(con)


def test_while_somebody_reads_and_shortly_after_all_threads_stay(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "AFTER_READ_SECONDS", 1000.0)
    with con.engine.database.threads.reading():
        small_ticks(con, 0, 5)
        assert 3 == setting(con)
    small_ticks(con, 10, 5)
    assert 3 == setting(con)
    monkeypatch.setattr(con.engine.database.threads, "quiet_from", 0.0)
    small_ticks(con, 20, 1)
    assert 1 == setting(con)
