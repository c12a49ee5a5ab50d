"""Queries at rest: which ticks are not looked at, what wakes them, and what is credited."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from unittest.mock import Mock

import choices
import pytest

import cqlduck
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.plan.searches import SEARCH
from cqlduck.state.registered import Query
from cqlduck.streamon import resting
from cqlduck.streamon.option_trials import SETTLED_TRIALS, TRIALS, OptionTrials
from cqlduck.streamon.points import Facts
from cqlduck.streamon.resting import EACH, RESTS_AFTER, WAKING, Resting
from cqlduck.streamon.streamon import ChosenOptions
from cqlduck.streamon.trials import Trials

QUERY, SIZE = "q", "one instant, 8 to 31 elements"
FORM, OTHER = Form(single=True), Form(single=True, staged=True)


class Replay:
    """Ticks of a query, looked at or not."""

    def __init__(self) -> None:
        self.resting = Resting()
        self.compiled = Mock(spec=Compiled)
        self.looked: list[bool] = []
        self.stood_for = 0

    def tick(self, seconds: float = 0.001, form: Form = FORM, *, is_trial: bool = False) -> bool:
        """Run a tick; return whether it was looked at."""
        rests = self.resting.form(QUERY, SIZE, self.compiled)
        if rests is not None:
            assert rests == FORM
            self.resting.passed(QUERY, SIZE, seconds)
        else:
            self.stood_for += self.resting.stands_for(QUERY, SIZE)
            self.resting.looked(QUERY, SIZE, self.compiled, form, seconds, stands=not is_trial)
        self.looked.append(rests is None)
        return rests is None

    def rest(self) -> None:
        """Run ticks until the query rests."""
        for _ in range(RESTS_AFTER):
            assert self.tick()

    def ticks(self, count: int, seconds: float = 0.001) -> int:
        """Run ticks; return how many of them were looked at."""
        return sum(self.tick(seconds) for _ in range(count))


@pytest.fixture
def replay() -> Replay:
    return Replay()


def test_of_a_query_at_rest_one_tick_in_some_is_looked_at(replay: Replay) -> None:
    replay.rest()
    assert 400 / EACH * 0.7 < replay.ticks(400) < 400 / EACH * 1.3


def test_which_one_is_drawn(replay: Replay) -> None:
    replay.rest()
    replay.ticks(400)
    at = [place for place, is_looked in enumerate(replay.looked) if is_looked]
    apart = {later - before for before, later in pairwise(at)}
    assert len(apart) > EACH


def test_a_tick_that_is_looked_at_stands_for_those_before_it(replay: Replay) -> None:
    replay.rest()
    replay.ticks(400)
    unseen = replay.looked[::-1].index(True)
    assert replay.stood_for == len(replay.looked) - unseen


def test_several_slow_ticks_in_a_row_wake_it(replay: Replay) -> None:
    replay.rest()
    passed = 0
    while passed < WAKING:
        passed += not replay.tick(0.002)
    assert replay.ticks(RESTS_AFTER) == RESTS_AFTER


def test_single_slow_ticks_do_not(replay: Replay) -> None:
    replay.rest()
    looked = sum(replay.tick(0.002 if number % WAKING else 0.001) for number in range(60))
    assert looked < 60 / 2


def test_another_form_wakes_it_and_a_trial_does_not(replay: Replay) -> None:
    replay.rest()
    replay.resting.looked(QUERY, SIZE, replay.compiled, OTHER, 0.001, stands=False)
    assert replay.ticks(100) < 50
    replay.resting.looked(QUERY, SIZE, replay.compiled, OTHER, 0.001, stands=True)
    assert replay.ticks(RESTS_AFTER) == RESTS_AFTER


def test_trials_do_not_keep_it_awake(replay: Replay) -> None:
    for _ in range(RESTS_AFTER):
        replay.tick()
        replay.resting.looked(QUERY, SIZE, replay.compiled, OTHER, 0.001, stands=False)
    assert replay.ticks(100) < 50


def test_another_plan_is_looked_at(replay: Replay) -> None:
    replay.rest()
    replay.compiled = Mock(spec=Compiled)
    assert replay.ticks(RESTS_AFTER) == RESTS_AFTER


def test_ticks_of_another_size_are_looked_at(replay: Replay) -> None:
    replay.rest()
    assert replay.resting.form(QUERY, "one instant, 32 to 127 elements", replay.compiled) is None
    assert replay.resting.form("other", SIZE, replay.compiled) is None


@pytest.mark.parametrize("how", ["wake", "forget"])
def test_who_is_woken_or_forgotten_is_looked_at(replay: Replay, how: str) -> None:
    replay.rest()
    if how == "wake":
        replay.resting.wake()
    else:
        replay.resting.forget(QUERY)
    assert replay.ticks(RESTS_AFTER) == RESTS_AFTER


# -- in a database ---------------------------------------------------------------------------------

SUMS = "SELECT k, sum(v) AS total FROM s [RANGE 5] GROUP BY k"


class Ticks:
    """A database whose ticks say whether they were looked at."""

    def __init__(self, con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
        self.con, self.now = con, 0
        self.chosen: list[ChosenOptions] = []
        monkeypatch.setattr(resting, "RESTS_AFTER", 8)
        choices.measure(con)
        con.execute("CREATE STREAM s (k BIGINT, v BIGINT)")
        streamon = con.engine.streamon
        choose = streamon.choose

        def noted(query: Query, compiled: Compiled, single: bool, facts: Facts) -> ChosenOptions:
            self.chosen.append(choose(query, compiled, single, facts))
            return self.chosen[-1]

        monkeypatch.setattr(streamon, "choose", noted)

    def run(self, count: int) -> list[bool]:
        """Run ticks; return which of them were not looked at."""
        self.chosen.clear()
        for _ in range(count):
            self.now += 1
            self.con.append("s", [(n % 3, n + self.now) for n in range(12)], at=self.now)
            self.con.advance(self.now)
        return [one.rests for one in self.chosen]


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ticks]:
    with cqlduck.connect() as con:
        yield Ticks(con, monkeypatch)


def test_ticks_of_a_query_rest_and_its_answer_does_not_show_it(ticks: Ticks) -> None:
    ticks.con.execute(f"CREATE CONTINUOUS QUERY q AS {SUMS}")
    rests = ticks.run(120)
    assert not any(rests[:8])
    assert sum(rests) > 40
    expected = {k: sum(n + at for at in range(115, 121) for n in range(k, 12, 3)) for k in range(3)}
    assert dict(ticks.con.table("q").fetchall()) == expected


def test_a_tick_that_rests_runs_what_stands(ticks: Ticks) -> None:
    ticks.con.execute(f"CREATE CONTINUOUS QUERY q AS {SUMS}")
    ticks.run(120)
    for one in filter(lambda one: one.rests, ticks.chosen):
        assert one.form in {other.form for other in ticks.chosen if not other.rests}
        assert not one.wants_steps


JOIN = "SELECT a.k, b.v FROM s [RANGE 5] a, s [RANGE 2] b WHERE a.v = b.v"


@pytest.mark.parametrize("are_settled", [True, False])
def test_nothing_rests_while_trials_have_more_to_say(
    ticks: Ticks, monkeypatch: pytest.MonkeyPatch, are_settled: bool
) -> None:
    monkeypatch.setattr(Trials, "are_settled", are_settled)
    ticks.con.execute(f"CREATE CONTINUOUS QUERY q AS {JOIN}")
    ticks.con.pin("answer", "incremental", "q")
    assert are_settled == any(ticks.run(60))


@pytest.mark.parametrize(
    ("q", "doubt", "trials", "is_settled"),
    [
        (0.5, 0.1, TRIALS, True),
        (0.0, 0.1, TRIALS, False),
        (0.0, 0.1, SETTLED_TRIALS, True),
        (-0.2, 0.3, SETTLED_TRIALS, False),
        (-0.2, 0.1, SETTLED_TRIALS, False),
    ],
)
def test_when_trials_have_said_what_they_can(
    q: float, doubt: float, trials: int, is_settled: bool
) -> None:
    """If the option is slower, or was tried often and does not seem to save much."""
    found = OptionTrials(q=q, doubt=doubt)
    found.ratios.extend([(q,)] * trials)
    assert is_settled == found.is_settled


def test_what_is_pinned_runs_in_the_next_tick(
    ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trials, "are_settled", True)
    ticks.con.execute(f"CREATE CONTINUOUS QUERY q AS {JOIN}")
    ticks.con.pin("answer", "incremental", "q")
    assert any(ticks.run(60))
    staged = ticks.chosen[-1].form.staged
    ticks.con.pin("stages", "whole" if staged else "staged", "q")
    assert not any(ticks.run(8))
    assert [one.form.staged for one in ticks.chosen] == [not staged] * 8


def test_nothing_rests_where_orders_are_chosen(ticks: Ticks) -> None:
    ticks.con.execute(
        "CREATE CONTINUOUS QUERY q AS SELECT k FROM s [RANGE 5] "
        "WHERE regexp_matches(k::VARCHAR, '[02]') AND regexp_matches(v::VARCHAR, '[13]')"
    )
    assert not any(ticks.run(60))


def test_a_query_wakes_whose_groups_have_become_many(
    ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks.con.execute(f"CREATE CONTINUOUS QUERY q AS {SUMS}")
    assert any(ticks.run(60))
    policies = ticks.con.engine.streamon.reoptimizer
    monkeypatch.setattr(policies, "rests", lambda point: point.name != SEARCH)
    ticks.run(60)
    assert not any(ticks.run(60))


def test_nothing_rests_that_somebody_watches(ticks: Ticks) -> None:
    ticks.con.execute(f"CREATE CONTINUOUS QUERY q AS {SUMS}")
    ticks.con.execute(
        "CREATE CONTINUOUS QUERY watch AS SELECT value FROM SysStream [NOW] WHERE query = 'q'"
    )
    ticks.run(60)
    assert not any(one.rests for one in ticks.chosen if one.query == "q")


def test_nothing_rests_where_nothing_adapts(ticks: Ticks) -> None:
    ticks.con.execute(f"CREATE CONTINUOUS QUERY q AS {SUMS}")
    ticks.con.engine.streamon.executor.adapts = False
    assert not any(ticks.run(60))
