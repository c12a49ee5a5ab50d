"""How a choice is confirmed, compared, taken back and remembered: what all modelled options share.

A `Switch` is a choice that is not confirmed. Ticks with the new option are compared with the last
ones with the old one (`_confirm`). If they take longer, the old option runs again, to be compared
with the new one under the mix of tuples that there is now (`_settle`). Only ticks of similar size
are compared; if those of the size do not come again, what comes instead decides.

What is decided may be undone with its tick, when that fails or is interrupted. Then the same is
proposed again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import ClassVar

from cqlduck.state.observations import CONFIRMED, RETURNED, Observation
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.decisions import Switch
from cqlduck.streamon.noise import longer
from cqlduck.streamon.policy import DecidingPolicy
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal
from cqlduck.streamon.regions import Regions

CONFIRMING_TICKS, COMPARED_TICKS = 3, 12
"""How many ticks with a new order are compared with the last ones before: at least, and at most,
where it is not clear whether they take longer."""

TOLERANCE = 1.05
"""How many times longer these may take."""

PATIENCE = 64
"""How many ticks of other sizes may come while a choice waits for some of its size."""

RETRIES = 3
"""How often in a row a proposal may be undone with its tick before it is forgotten."""

MOVED = 0.2
"""By how much of all tuples a drop rate has to move for a refused order to be considered again."""


@dataclass
class Confirming(DecidingPolicy):
    """The policy of a point where choices are confirmed.

    Attributes:
        budget: What probes may cost.
        is_due: Whether something was found since another option was looked for.
        regions: What was decided, under which statistics.
    """

    leniency: ClassVar[float] = 1.0
    """How many times longer than `TOLERANCE` allows a few ticks with a new option may take."""

    budget: Budget
    is_due: bool = False
    regions: Regions = field(default_factory=Regions)
    _known: dict[int, Statistics] = field(default_factory=dict)
    _usual: dict[int, float] = field(default_factory=dict)
    _switch: Switch | None = None
    _refused: dict[str, Sequence[float]] = field(default_factory=dict)
    _since: int | None = None
    _proposed: tuple[str, Proposal, int] | None = None

    @abstractmethod
    def drops(self) -> Sequence[float]:
        """Return of all tuples which part each filter or input drops; nothing if none is known."""

    @property
    def waits(self) -> bool:
        """Whether it waits for what the next tick takes, to choose or to confirm."""
        return self.is_due or self._switch is not None

    def _decided_switch(
        self, switch: Switch, now: str, mine: Statistics, size: int
    ) -> Proposal | None:
        """Confirm a choice, or take it back, if it is clear which, and return what follows."""
        if switch.size != size:
            return self._of_another_size(switch, now, mine, size)
        self._switch = switch = replace(switch, others=0)
        if mine.runs(now) < CONFIRMING_TICKS:
            return None
        is_longer = self._is_longer(switch, [*mine.seconds[now]])
        if is_longer is None:
            return None
        decide = self._confirm if switch.doubted is None else self._settle
        return decide(switch, [*mine.seconds[now]], is_longer)

    def _of_another_size(
        self, switch: Switch, now: str, mine: Statistics, size: int
    ) -> Proposal | None:
        """Have the options compared in ticks of this size, if those of the other do not come."""
        self._switch = switch = replace(switch, others=switch.others + 1)
        if switch.others < PATIENCE or mine.runs(now) < CONFIRMING_TICKS:
            return None
        taken = [*mine.seconds[now]]
        if switch.doubted is not None:
            # the one before runs already, and nothing says that it should not
            self._abandon(switch, switch.seconds)
            return None
        # what was measured of the one before is of the other size
        switch = replace(switch, size=size, seconds=None, expected=None, others=0)
        return self._doubt(switch, taken, _UNCOMPARED)

    @property
    def _allowed(self) -> float:
        """How many times longer a few ticks with a new option may take."""
        return self.leniency * TOLERANCE

    def _is_longer(self, switch: Switch, taken: Sequence[float]) -> bool | None:
        """Return whether ticks take longer than they may; None if more are needed to tell."""
        if not switch.sample:
            return False
        found = longer(taken, switch.sample, self._allowed)
        if found is None and len(taken) >= COMPARED_TICKS:
            found = median(taken) > self._allowed * median(switch.sample)
        return found

    def _confirm(self, switch: Switch, taken: Sequence[float], is_longer: bool) -> Proposal | None:
        """Note what the new option takes; return the one before if that took clearly less."""
        self._switch, after = None, median(taken)
        if not is_longer:
            self._note(switch, CONFIRMED, switch.seconds, after)
            return None
        return self._doubt(switch, taken, _erred(switch, after))

    def _doubt(self, switch: Switch, taken: Sequence[float], reason: str) -> Proposal:
        """Return the option before, which runs again to be compared with the new one."""
        after = median(taken)
        self._switch = replace(switch, doubted=after, sample=tuple(taken))
        self._usual.clear()
        for known in self._known.values():
            known.seconds.pop(switch.before, None)
        return Proposal(switch.before, False, reason, after, switch.seconds, returns=True)

    def _settle(self, switch: Switch, taken: Sequence[float], is_longer: bool) -> Proposal | None:
        """Note what the old option takes now; return the new one if that took clearly less."""
        self._switch, before = None, median(taken)
        assert switch.doubted is not None
        if is_longer:
            self._note(switch, CONFIRMED, before, switch.doubted)
            self._usual.clear()
            reason = _changed(switch, before)
            return Proposal(switch.after, reason=reason, expected=before - switch.doubted)
        self._abandon(switch, before if switch.seconds is None else switch.seconds)
        return None

    def _abandon(self, switch: Switch, before: float | None) -> None:
        """Note that an option is left for the one before, which took so long for an element."""
        self._switch = self._since = None
        self._note(switch, RETURNED, before, switch.doubted)
        self._refused[switch.after] = self.drops()

    def _note(
        self, switch: Switch, outcome: str, before: float | None, after: float | None
    ) -> None:
        """Remember what became of a switch, and what an element took before and after it."""
        self._observe(
            Observation(
                switch.statistics,
                switch.after,
                outcome,
                before,
                switch.expected,
                after,
                switch.costs,
            )
        )

    def refuse(self, option: str) -> None:
        """Have an option not run until what was found has moved, because it cannot."""
        self._refused[option] = self.drops()
        self._switch, self._since, self.is_due, self._proposed = None, None, False, None

    def _observe(self, seen: Observation) -> None:
        self._decided.append(seen)
        self.regions.seen.append(seen)

    def _undone(self, now: str) -> Proposal | None:
        """Return what was proposed last if it was undone with its tick.

        What was decided then is known as before, and so is what ticks took.
        """
        if self._proposed is None:
            return None
        before, proposal, times = self._proposed
        if now == before != proposal.option and times < RETRIES:
            return proposal
        self._proposed = None
        return None

    def _is_refused(self, option: str) -> bool:
        then = self._refused.get(option)
        if then is None:
            return False
        now = self.drops()
        if not (then and now):
            # of no tuple nothing can have moved
            self._refused[option] = now or then
            return True
        if len(then) != len(now):
            # it was of another plan
            del self._refused[option]
            return False
        if max(abs(a - b) for a, b in zip(then, now, strict=True)) <= MOVED:
            return True
        del self._refused[option]
        return False


_UNCOMPARED = "no such ticks come any more as those in which it was to be compared"


def _erred(switch: Switch, taken: float) -> str:
    return (
        f"the model erred, or the mix has changed: an element took {1e6 * taken:.2f} µs with it, "
        f"{1e6 * (switch.seconds or 0):.2f} before"
    )


def _changed(switch: Switch, taken: float) -> str:
    return (
        f"the mix had changed: an element takes {1e6 * taken:.2f} µs with the one before now, and "
        f"took {1e6 * (switch.doubted or 0):.2f} with this one"
    )
