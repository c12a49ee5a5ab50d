"""The policy of `answer`: whether a query is kept up incrementally, or answered anew.

What a tick takes is measured with the option that stands. What it would take with the other one
(`answer_costs`) is

* answered anew: rehearsed. Its statements run once behind a tick and write nothing, so no switch is
  needed to know;
* incremental: what ticks took when it stood. If that was long ago, it is looked at again, where the
  budget affords to go and return, and twice as late each time that it has to return.

A switch may be undone with its tick: people interrupt slow ones. Then what was known before it is
known again, and the query goes with the next tick.

A switch costs a fill each way, and the next ticks may be like those before, or not. So the two
options are a task system of two states: regret is the time that the other option would have saved
since the last switch, never below zero. If it exceeds what it costs to go there and back, the
query goes. Whatever comes, all ticks and switches together take no more than three times what the
best sequence of options would have taken (Borodin, Linial, Saks: An optimal on-line algorithm for
metrical task systems, JACM 39 (4), 1992, for two states), as far as what is expected is right, and
but for savings that are too small to count (`LEAST_GAIN`).
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cqlduck.rewrite.statements.refreshing import INCREMENTAL, RECOMPUTED
from cqlduck.state.observations import CONFIRMED, RETURNED, Observation
from cqlduck.state.probing import Found
from cqlduck.state.rehearsal import Rehearsed
from cqlduck.streamon.answer_costs import COMPILING_SECONDS, AnswerCosts
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.decisions import Switch, size_class
from cqlduck.streamon.option_trials import FIRST_LOOK, LAST_LOOK
from cqlduck.streamon.points import Facts
from cqlduck.streamon.policy import DecidingPolicy
from cqlduck.streamon.profiler import MEASURED_TICKS, Statistics
from cqlduck.streamon.proposals import Proposal

LEAST_SPENT = 0.5
"""How many seconds the ticks of a query have to have taken before it is rehearsed."""

TOO_SLOW = 4.0
"""Of how many times the best known nothing is tried."""

FIRST_BUDGETS = 5.0
"""How many times its own part of the budget a query may spend on the first rehearsal.

No look of another kind is taken off: those are many and small, and this one, which may save most of
a tick, would wait for them.
"""

READ_ROWS_PER_SECOND = 5e7
"""About how many rows of its inputs DuckDB reads in a second, before anything is known."""

LEAST_GAIN = 0.1
"""Which part of a tick the other option has to save, or it saves nothing."""

RETURNING_RATIO = 2.0
"""How many times the time to return a tick of many instants may take that is answered anew."""

LEAST_INSTANTS = 8
"""At so many instants of change a tick is always answered anew."""

LOOK_TICKS = 2 * FIRST_LOOK
"""How many ticks of a look are charged at most: what neither loses much nor gains goes on for long,
and takes longer now and then by chance."""

RETRIES = 3
"""How often in a row a switch may be undone with its tick before it begins anew with the other."""

MAX_DOUBLED = 10
"""How often the time until the incremental plan is looked at again doubles at most."""

REMEMBERED_TICKS = 256
"""Of how many ticks before the first rehearsal it is known what they took."""


_LOOK = "looked at again"

_OF_A_SWITCH = (
    *("option", "regret", "spent", "left", "interval", "looks", "_looked"),
    *("costs", "_unjudged", "_last", "_switch", "_is_corrected"),
)
"""What a switch changes, and is as before if it is undone."""


@dataclass(frozen=True)
class JudgedTick:
    """What a tick took.

    Attributes:
        single: Whether it had one instant.
        elements: How many elements came.
        seconds: How long it took, or what such ticks take.
        runs: How many of the last ticks say so.
    """

    single: bool
    elements: int
    seconds: float
    runs: int = 0


@dataclass
class Answering(DecidingPolicy):
    """The policy of the point `answer` of a query.

    Attributes:
        budget: What rehearsals and looking again may cost.
        probes: How many rehearsals there were.
        spent: How many seconds the ticks have taken since the last switch.
        regret: How many seconds the other option would have saved since then.
        refusal: Why the query cannot go to the other option, or None.
        costs: What is known of the two plans.
        left: In how many ticks the other option is rehearsed, or looked at, again.
        interval: How many these were.
        option: The option that stands.
        instants: How many instants of change the tick has that was undone for them, until it ends.
        looks: How often in a row the incremental plan was looked at again and left.
    """

    budget: Budget
    probes: int = 0
    spent: float = 0.0
    regret: float = 0.0
    refusal: str | None = None
    costs: AnswerCosts = field(default_factory=AnswerCosts)
    left: int = 0
    interval: int = field(default_factory=lambda: FIRST_LOOK)
    option: str = INCREMENTAL
    instants: int | None = None
    looks: int = 0
    _looked: int | None = None
    _unjudged: deque[JudgedTick] = field(default_factory=partial(deque, maxlen=REMEMBERED_TICKS))
    _last: JudgedTick | None = None
    _switch: Switch | None = None
    _is_corrected: bool = False
    _before: Mapping[str, Any] | None = None
    _undone: int = 0

    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""
        return INCREMENTAL

    # -- what is known ----------------------------------------------------------------------------

    def saw(self, facts: Facts, option: str, seconds: float | None, found: Found | None) -> None:
        """Take note of a tick in which something happened."""
        if option != self.option:
            self._return_to(option)
        if facts.elements is None or seconds is None or facts.is_first:
            return
        known = self.costs.record(option, facts.elements, seconds)
        self._charge(facts, facts.elements, seconds)
        usual = known.median(option)
        if usual is None:
            return
        self.spent += seconds * facts.ticks
        self._last = JudgedTick(facts.is_single, facts.elements, usual, known.runs(option))
        for _ in range(facts.ticks):
            self._judge(self._last)
        self._confirm(known)
        self.left = max(self.left - facts.ticks, 0)

    def _charge(self, facts: Facts, elements: int, seconds: float) -> None:
        """Charge a tick of a look with what it takes longer; it ends where nothing is lost so."""
        if self._looked is None:
            return
        self._looked += 1
        usual = self.costs.expected(RECOMPUTED, facts.is_single, elements)
        if usual is not None and self._looked <= LOOK_TICKS:
            # who saves time has not earned what others may spend
            self.budget.looked(max(seconds - usual, 0.0))
        if self.option == RECOMPUTED or self.refusal is not None:
            # it was undone with its tick, or cannot return
            self._looked = None
        elif self._looked >= FIRST_LOOK and not self.regret:
            self._looked, self.looks = None, 0

    def stay(self) -> None:
        """End a look: a user has the query stay as it is."""
        self._looked = None

    def _judge(self, tick: JudgedTick) -> None:
        """Compare a tick with what it would have taken with the other option."""
        other = self.costs.expected(self.other, tick.single, tick.elements)
        if other is not None:
            self.regret = max(0.0, self.regret + tick.seconds - (1 + LEAST_GAIN) * other)
        elif self.option == INCREMENTAL:
            self._unjudged.append(tick)

    @property
    def other(self) -> str:
        """The option that does not stand."""
        return RECOMPUTED if self.option == INCREMENTAL else INCREMENTAL

    # -- rehearsing -------------------------------------------------------------------------------

    def wants_rehearsal(self, facts: Facts) -> float | None:
        """Return how long a rehearsal may take behind the tick that has just run; None for none."""
        last = self._last
        if self.option != INCREMENTAL or self.refusal is not None or self.spent < LEAST_SPENT:
            return None
        if self.left or not facts.elements or last is None or facts.elements != last.elements:
            return None
        found = self.costs.rehearsed.get(facts.is_single)
        self.left = FIRST_LOOK
        if found is None:
            asked = facts.stored() / READ_ROWS_PER_SECOND
            takes = asked + (0.0 if self.costs.rehearsed else COMPILING_SECONDS)
        else:
            asked, takes = found[1].tick, found[1].seconds
        if asked > TOO_SLOW * last.seconds:
            self.left = LAST_LOOK
            return None
        if found is None:
            self.left = self._until_first(takes, last.seconds)
        else:
            self.left = 0 if self.budget.affords(takes) else 1
        if self.left:
            return None
        self.left = self.interval
        self.interval = min(2 * self.interval, LAST_LOOK)
        return 2 * TOO_SLOW * last.seconds

    def _until_first(self, takes: float, tick: float) -> int:
        """Return in how many ticks that take so long a first rehearsal can be afforded."""
        earned = FIRST_BUDGETS * self.budget.fraction
        lacking = takes - earned * self.spent
        if lacking <= 0:
            return 0
        return min(math.ceil(min(lacking / max(earned * tick, 1e-9), FIRST_LOOK)), FIRST_LOOK)

    def learn(self, facts: Facts, found: Rehearsed) -> None:
        """Take note of what was rehearsed behind a tick, and judge the ticks before."""
        assert facts.elements is not None
        self.probes += 1
        is_first = facts.is_single not in self.costs.rehearsed
        self.budget.looked(found.seconds, is_first=is_first)
        self.costs.learn(facts.is_single, facts.elements, found)
        waiting, self._unjudged = self._unjudged, deque(maxlen=REMEMBERED_TICKS)
        for tick in waiting:
            self._judge(tick)

    def exceeded(self, seconds: float) -> None:
        """Take note of a rehearsal that was given up, and of the seconds that went into it."""
        self.budget.looked(seconds, is_first=not self.costs.rehearsed)
        self.left = self.interval = LAST_LOOK

    # -- proposing --------------------------------------------------------------------------------

    @property
    def wants_change(self) -> bool:
        """Whether the other option has saved, in thought, what it costs to go there and back."""
        return self.refusal is None and self._reason() is not None

    def _reason(self) -> str | None:
        """Return why the other option is to run from now on, or None if it is not."""
        costs = self.costs.switch(INCREMENTAL) + self.costs.switch(RECOMPUTED)
        last = self._last
        if self.instants is not None and self.option == RECOMPUTED:
            return f"a tick has {self.instants} instants of change"
        if last is None:
            return None
        if self.regret > costs and last.runs >= MEASURED_TICKS:
            then = self.costs.expected(self.other, last.single, last.elements)
            expects = "" if then is None else f", {1e3 * then:.2f} ms with {self.other}"
            return (
                f"a tick takes {1e3 * last.seconds:.2f} ms{expects}: {1e3 * self.regret:.0f} ms "
                f"lost so far, {1e3 * costs:.0f} ms to go there and back"
            )
        if self.option == RECOMPUTED and not self.left and self.budget.affords(costs):
            return _LOOK
        return None

    def most_instants(self, facts: Facts) -> int | None:
        """Return at how many instants a tick may be answered anew at most; None is any.

        At more of them it takes less to return, and to run the tick incrementally.
        """
        each = self.costs.each
        if self.refusal is not None or self.instants is not None or not each:
            # it could not return, or has not
            return None
        if facts.elements is None:
            tick = self.costs.longest
        else:
            tick = self.costs.incremental(facts.elements) or 0.0
        returning = self.costs.switch(INCREMENTAL) + tick
        return max(int(RETURNING_RATIO * returning / each), LEAST_INSTANTS)

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        if now != self.option:
            # the tick is undone in which it went
            self._return_to(now)
        reason = None if self.refusal else self._reason()
        last = self._last
        if reason is None:
            return None
        if reason == _LOOK:
            self._looked = 0
        if last is None:
            return Proposal(self.other, False, reason)
        then = self.costs.expected(self.other, last.single, last.elements)
        saves = None if then is None else last.seconds - then
        returns = self._switch is not None
        if returns:
            self._observe(RETURNED, last.seconds)
        return Proposal(self.other, False, reason, last.seconds, then, saves, returns=returns)

    def switched(self, option: str, seconds: float) -> None:
        """Take note of a query that has gone to an option, and what that took."""
        self.costs.going[option] = seconds
        if self._looked is not None:
            self.budget.looked(seconds)
        if option == self.option:
            return
        self._before = copy.deepcopy({name: getattr(self, name) for name in _OF_A_SWITCH})
        last = self._last
        if last is None:
            self._turned(option)
            return
        expected = {
            one: seconds
            for one in (INCREMENTAL, RECOMPUTED)
            for seconds in [self.costs.expected(one, last.single, last.elements)]
            if seconds is not None
        }
        before, size = self.option, size_class(last.elements)
        self._turned(option)
        self._switch = Switch(
            before, last.seconds, option, size, expected.get(option), (), expected
        )

    def ended(self) -> None:
        """Take note of the end of the tick in which the query has gone: nothing undoes that."""
        self._before, self._undone = None, 0

    def _return_to(self, option: str) -> None:
        """Go on with the option that stands: a switch was undone, or somebody has chosen it."""
        before, self._before = self._before, None
        if before is None or before["option"] != option:
            self._turned(option)
            return
        for name, value in before.items():
            setattr(self, name, value)
        self._looked = None
        self._undone += 1
        if self._undone > RETRIES:
            # what is known of the other option stays; whether it is to run is asked anew
            self._undone, self.regret, self.left = 0, 0.0, self.interval

    def _turned(self, option: str) -> None:
        """Begin anew with an option, which somebody else may have chosen."""
        if option == RECOMPUTED and self._looked is not None:
            self._looked, self.looks = None, self.looks + 1
        elif option == INCREMENTAL and self._looked is None:
            # it is no look
            self.looks = 0
        self.option, self.regret, self.spent = option, 0.0, 0.0
        doubled = min(self.looks, MAX_DOUBLED) if option == RECOMPUTED else 0
        self.left = self.interval = FIRST_LOOK << doubled
        self._switch, self._last, self._is_corrected = None, None, False
        self._unjudged.clear()
        self.costs.forget(option)

    def _confirm(self, known: Statistics) -> None:
        """Note what the option takes to which the query has gone, after some ticks like before."""
        switch, last = self._switch, self._last
        if switch is None or last is None or switch.size != size_class(last.elements):
            return
        taken = known.median(self.option)
        if known.runs(self.option) < MEASURED_TICKS or taken is None:
            return
        if switch.after == RECOMPUTED and switch.expected and not self._is_corrected:
            self.costs.correct(taken, switch.expected)
            self._is_corrected = True
        if switch.seconds is None or taken <= (1 + LEAST_GAIN) * switch.seconds:
            # else regret has it return, or not
            self._observe(CONFIRMED, taken)

    def _observe(self, outcome: str, taken: float) -> None:
        switch = self._switch
        assert switch is not None
        self._switch = None
        self._decided.append(
            Observation(
                (), switch.after, outcome, switch.seconds, switch.expected, taken, switch.costs
            )
        )

    # -- what is stored ---------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what was found, as values that JSON has; all of it is bounded."""
        return {
            **self.costs.state(),
            "probes": self.probes,
            "spent": self.spent,
            "regret": self.regret,
            "left": self.left,
            "interval": self.interval,
            "option": self.option,
            "looks": self.looks,
            "looked": self._looked,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what was found before the database was closed; see `state`."""
        self.costs.restore(state)
        self.probes, self.spent, self.regret = state["probes"], state["spent"], state["regret"]
        self.option, self.left, self.interval = state["option"], state["left"], state["interval"]
        self.looks, self._looked = state.get("looks", 0), state.get("looked")
