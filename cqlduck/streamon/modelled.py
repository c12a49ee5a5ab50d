"""Policies of modelled options: when they are profiled, and how another one is put into force.

The cost of an order, or of a cache, is modelled from what probes find, so none has to run to be
known. An option runs only if it is expected to save enough of what the statements take that it
changes. It is then confirmed, or taken back (`confirming`).

In the paper each dropped tuple is profiled with probability p. Here a probe is a statement, which
costs a millisecond or more however few tuples there are; how often one runs is what the budget
limits. That the mix of tuples may have changed shows in what an element takes, which is counted
anyway: then the next probe comes earlier, and what is older than it is forgotten. What an element
takes depends on the size of the tick too, so only ticks of similar size are compared. And so it
does if ticks come of another size than all that were probed: a stream may have a burst.

What was decided is remembered with the statistics under which it was (`regions`): where one option
has always won it is picked without a search.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from cqlduck.state.observations import STAYS, UNDECIDED, Observation
from cqlduck.state.probing import Found, Wanted
from cqlduck.streamon.confirming import COMPARED_TICKS, CONFIRMING_TICKS, Confirming
from cqlduck.streamon.decisions import Better, Costing, Switch, size_class
from cqlduck.streamon.points import Facts
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal

WINDOW = 1000
"""How many tuples the profile window has (table 4.1)."""

EXPECTED_SECONDS = 0.01
"""What the first probe is expected to take."""

FIRST_PROBES, FIRST_BUDGETS = 2, 5.0
"""For how many probes, which fill the profile window, the budget is so many times as large; also in
ticks of another size than those before, not counting what was looked at first.

Of a join whose pipelines are profiled in turn, it is at least one of each.
"""

CHANGED = 1.2
"""By which factor what an element takes has to change to suggest that the mix has."""

EARLY_BUDGETS = 3.0
"""How many times the budget may be spent if the mix seems to have changed; first looks apart."""

LEAST_GAIN = 0.05
"""Which part of the time of its statements an order has to save to be tried."""

MAX_COMPARED = 8
"""Of how many options an observation says what they cost."""


@dataclass
class Modelled(Confirming):
    """The policy of a point whose options are modelled.

    Attributes:
        probes: How many probes have run.
        searched: How often another option was searched for.
        gains_little: Whether the last search found one that saves too little.
    """

    least_elements: ClassVar[int] = 256
    """Of how many elements a tick has to be to be probed."""

    probes: int = 0
    searched: int = 0
    gains_little: bool = False
    _took: dict[bool, float] = field(default_factory=dict)
    _is_early: bool = False
    _probed: Counter[int] = field(default_factory=Counter)
    """How many probes there were in ticks of a size."""
    _repeated: tuple[str, int] = ("", 0)
    _ticks: int = 0

    # -- what a kind of options says ---------------------------------------------------------------

    @property
    def is_timed(self) -> bool:
        """Whether the next probe is to measure seconds, which takes longer."""
        return False

    @property
    def first_probes(self) -> int:
        """How many probes are needed before something is known, for which the budget is larger."""
        return FIRST_PROBES

    @abstractmethod
    def forget(self) -> None:
        """Forget what older probes have found."""

    @abstractmethod
    def learn(self, found: Found) -> bool:
        """Take note of what a probe has found; return whether an option can follow from it."""

    def statistics(self) -> Sequence[float]:
        """Return all statistics on which the choice depends, each about 0 to 1."""
        return self.drops()

    @abstractmethod
    def costing(self, facts: Facts) -> Costing:
        """Return what says what options cost by the model, in the unit of the kind."""

    @abstractmethod
    def better(self, now: str, taken: float | None, facts: Facts) -> Better | None:
        """Return an option that is better by enough, and why, or None; it is searched for.

        Args:
            now: The option that stands.
            taken: What an element takes with it, if that is known.
            facts: What is known of the tick.
        """

    # -- profiling --------------------------------------------------------------------------------

    def _of(self, elements: int) -> Statistics:
        """Return what is known of ticks of a size, by option: seconds for an element."""
        return self._known.setdefault(size_class(elements), Statistics(kept=COMPARED_TICKS))

    def wants(self, facts: Facts, now: str) -> Wanted | None:
        """Return what the tick is to profile, within the budget."""
        if facts.elements is None or facts.elements < self.least_elements:
            return None
        if facts.about is None:
            return None
        seconds = self._took.get(self.is_timed, EXPECTED_SECONDS)
        first = self.probes < self.first_probes
        is_new = self._probed[size_class(facts.elements)] < self.first_probes
        has_changed = not first and (is_new or self._has_changed(facts.elements, now))
        times = FIRST_BUDGETS if first or is_new else EARLY_BUDGETS if has_changed else 1.0
        # what has never led to another option is tracked less
        rarity = 1 if first or has_changed else self.regions.rarity
        if not self.budget.affords(rarity * seconds, times, is_in_all=first, who=self):
            return None
        self._is_early = has_changed
        return Wanted(facts.about, self.is_timed)

    def _has_changed(self, elements: int, now: str) -> bool:
        """Return whether an element takes more or less than it did when the option was chosen."""
        known = self._of(elements)
        if known.runs(now) < CONFIRMING_TICKS:
            return False
        taken = known.median(now) or 0.0
        usual = self._usual.setdefault(size_class(elements), taken)
        return not usual / CHANGED <= taken <= CHANGED * usual

    def saw(self, facts: Facts, option: str, seconds: float | None, found: Found | None) -> None:
        """Take note of a tick, and of what its probe has found."""
        if found is not None:
            self.budget.looked(found.seconds, is_first=self.probes < self.first_probes)
            self._took[self.is_timed] = found.seconds
            if self._is_early and found.has_found:
                self.forget()
                self._usual.clear()
            self.probes += 1
            if facts.elements and found.has_found:
                self._probed[size_class(facts.elements)] += 1
            self.is_due = self.learn(found)
        if seconds and facts.elements:
            self._of(facts.elements).record(option, seconds / facts.elements)

    # -- proposing --------------------------------------------------------------------------------

    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None."""
        self._ticks += 1
        if not facts.elements:
            # what was found waits for a tick in which something comes
            return None
        undone = self._undone(now)
        found = undone or self._proposal(now, facts, facts.elements)
        if found is not None:
            times = 0 if self._proposed is None else self._proposed[2]
            self._proposed = now, found, times + 1 if undone else 0
        return found

    def _proposal(self, now: str, facts: Facts, elements: int) -> Proposal | None:
        if not (self.is_due or self._switch is not None):
            return None
        mine, size = self._of(elements), size_class(elements)
        if self._switch is not None and self._switch.running != now:
            # somebody has chosen another one
            self._switch, self.is_due = None, True
        if self._switch is not None:
            other = self._decided_switch(self._switch, now, mine, size)
            if other is not None or self._switch is not None:
                return other
        if not self.is_due or (
            mine.runs(now) < CONFIRMING_TICKS and self.excess(now, facts) is None
        ):
            # what ticks with another option are compared with is not known yet
            return None
        return self._searched(now, mine, size, facts)

    def _searched(self, now: str, mine: Statistics, size: int, facts: Facts) -> Proposal | None:
        """Return another option, if there is one that is expected to be better by enough."""
        self.is_due = False
        statistics = tuple(self.statistics())
        self.gains_little = False
        found = self._found(now, statistics, mine.median(now), facts)
        if self.is_due:
            return None
        steady = mine.median(now)
        costs = self._costs(now, found, facts)
        if found is None:
            self._repeated = ("", 0)
            outcome = UNDECIDED if self.gains_little else STAYS
            self._observe(Observation(statistics, now, outcome, None, None, steady, costs))
            return None
        if found.is_due:
            steady = None
        elif self._is_refused(found.option) or not self._is_repeated(found.option):
            return None
        return self._begin(now, steady, found, size, statistics, costs)

    def excess(self, now: str, facts: Facts) -> Better | None:
        """Return what is to run if the option that stands takes more than it may, however fast."""
        return None

    def _found(
        self, now: str, statistics: tuple[float, ...], taken: float | None, facts: Facts
    ) -> Better | None:
        """Return a better option: that of the region of the statistics, or what a search finds."""
        exceeded = self.excess(now, facts)
        if exceeded is not None:
            return exceeded
        known = self.regions.known(statistics)
        if known is not None:
            option, times = known
            if option == now:
                return None
            cost = self.costing(facts)
            before, after = cost(now), cost(option)
            if before is not None and after is not None and after < before:
                reason = f"known: under such statistics it has won {times} times, without a search"
                return Better(option, reason, None)
        self.searched += 1
        return self.better(now, taken, facts)

    def _begin(
        self,
        now: str,
        steady: float | None,
        found: Better,
        size: int,
        statistics: tuple[float, ...],
        costs: Mapping[str, float],
    ) -> Proposal:
        """Put an option into force, to be confirmed."""
        if self._since is not None:
            self.regions.stays.append(self._ticks - self._since)
        self._since, self._repeated = self._ticks, ("", 0)
        expected = None
        if steady is not None and found.saved is not None:
            expected = steady * (1 - found.saved)
        known = [*self._known[size].seconds.get(now, ())] if steady is not None else []
        sample = tuple(known[-COMPARED_TICKS // 2 :])
        self._switch = Switch(
            now, steady, found.option, size, expected, statistics, costs, sample=sample
        )
        self._usual.clear()
        # what was measured of it before was of other data
        for other in self._known.values():
            other.seconds.pop(found.option, None)
        saves = None if expected is None or steady is None else steady - expected
        return Proposal(found.option, False, found.reason, expected=saves)

    def _costs(self, now: str, found: Better | None, facts: Facts) -> Mapping[str, float]:
        """Return what the default costs by the model, and options that were picked here."""
        options = [now] if found is None else [now, found.option]
        options += [self.default(facts), *(one.option for one in reversed(self.regions.seen))]
        listed, cost = [*dict.fromkeys(options)][:MAX_COMPARED], self.costing(facts)
        return {o: costs for o in listed for costs in [cost(o)] if costs is not None}

    def _is_repeated(self, option: str) -> bool:
        """Return whether an option was found often enough in a row not to be transient."""
        last, times = self._repeated
        self._repeated = option, times + 1 if last == option else 1
        return self._repeated[1] >= self.regions.repeated

    # -- what is stored ---------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what was found, as values that JSON has; all of it is bounded."""
        return {
            "probes": self.probes,
            "is_due": self.is_due,
            "took": [[timed, seconds] for timed, seconds in self._took.items()],
            "known": [
                [size, {option: [*some] for option, some in mine.seconds.items()}]
                for size, mine in self._known.items()
            ],
            "usual": [*map(list, self._usual.items())],
            "probed": [*map(list, self._probed.items())],
            "switch": None if self._switch is None else asdict(self._switch),
            "refused": {option: [*rates] for option, rates in self._refused.items()},
            "repeated": [*self._repeated],
            "stays": [*self.regions.stays],
            "ticks": self._ticks,
            "since": self._since,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what was found before the database was closed; see `state`."""
        self.probes, self.is_due = int(state["probes"]), bool(state["is_due"])
        self._took = {bool(timed): float(seconds) for timed, seconds in state["took"]}
        for size, options in state["known"]:
            mine = self._known.setdefault(size, Statistics(kept=COMPARED_TICKS))
            for option, seconds in options.items():
                mine.seconds[option] = deque(map(float, seconds), maxlen=COMPARED_TICKS)
        self._usual = {size: float(seconds) for size, seconds in state["usual"]}
        # a version that did not count them has probed what it knew
        probed = state.get("probed", [[size, self.first_probes] for size in self._known])
        self._probed.update(dict(probed))
        if state["switch"] is not None:
            lists = ("statistics", "sample")
            switch = {**state["switch"], **{n: tuple(state["switch"].get(n, ())) for n in lists}}
            if not switch["sample"] and switch["seconds"] is not None:
                # of a version that kept the median alone
                switch["sample"] = (switch["seconds"],) * CONFIRMING_TICKS
            self._switch = Switch(**switch)
        self._refused = {option: [*map(float, rates)] for option, rates in state["refused"].items()}
        option, times = state["repeated"]
        self._repeated = option, int(times)
        self.regions.stays.extend(map(int, state["stays"]))
        since = state["since"]
        self._ticks, self._since = int(state["ticks"]), None if since is None else int(since)
