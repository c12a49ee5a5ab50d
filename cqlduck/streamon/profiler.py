"""The profiler: the seconds and rows of ticks, by statement and by option of a point."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.statements.steps import MAX_ORDERED, Step
from cqlduck.state.choices import Choice, Point
from cqlduck.state.tick_plan import StepRan
from cqlduck.streamon.budget import Budget

MEASURED_TICKS = 3
"""How many of the last ticks with an option say what it takes: their median."""

LAST_TICKS = 16
"""How many of the last ticks that were counted EXPLAIN ANALYZE speaks of."""

SLOW_RATIO = 3.2
"""Of how many times what others take the first run counts: parsing alone does not explain it."""


@dataclass
class Counted:
    """What was counted of a statement.

    Attributes:
        runs: How often it ran.
        skipped: How often it did not, because its table was there or it had nothing to do.
        seconds: What it took, all runs together.
        rows: How many rows it wrote, all runs together.
    """

    runs: int = 0
    skipped: int = 0
    seconds: float = 0.0
    rows: int = 0


@dataclass
class Statistics:
    """What is known of the options of a point.

    Attributes:
        seconds: Of each option what the last ticks with it took.
        warm: The options that have run: what they run first is parsed then, and does not count.
        avoidable: Of the last ticks the share of their time that another option may save at most.
        idle: Of the last ticks the share of their time that pipelines took which found nothing.
        kept: How many of the last ticks with each option are remembered.
        recorded: How many ticks were recorded.
        last: The option of the last one.
        counts_last: Whether what that one took is remembered.
    """

    seconds: dict[str, deque[float]] = field(default_factory=dict)
    warm: set[str] = field(default_factory=set)
    avoidable: deque[float] = field(default_factory=partial(deque, maxlen=MEASURED_TICKS))
    idle: deque[float] = field(default_factory=partial(deque, maxlen=MEASURED_TICKS))
    kept: int = MEASURED_TICKS
    recorded: int = 0
    last: str | None = None
    counts_last: bool = False

    def runs(self, option: str) -> int:
        """Return how many of the last ticks with an option are remembered."""
        return len(self.seconds.get(option, ()))

    def median(self, option: str) -> float | None:
        """Return what the last ticks with an option took, or None if that is not known."""
        known = self.seconds.get(option)
        if not known:
            return None
        # asked for several times a tick of each query, for which statistics.median is slow
        last = sorted(known if len(known) <= MEASURED_TICKS else [*known][-MEASURED_TICKS:])
        middle = len(last) // 2
        return last[middle] if len(last) % 2 else (last[middle - 1] + last[middle]) / 2

    def record(
        self,
        option: str,
        seconds: float,
        avoidable: float | None = None,
        idle: float | None = None,
    ) -> None:
        """Record a tick.

        Args:
            option: What ran.
            seconds: How long it took.
            avoidable: How much of that another option may save at most, or None if nobody knows.
            idle: How much of that pipelines took which found nothing, or None if nobody knows.
        """
        self.counts_last = option in self.warm or self._is_slow(option, seconds)
        if self.counts_last:
            self.seconds.setdefault(option, deque(maxlen=self.kept)).append(seconds)
        if option in self.warm and avoidable is not None:
            self.avoidable.append(avoidable / max(seconds, 1e-9))
        if option in self.warm and idle is not None:
            self.idle.append(idle / max(seconds, 1e-9))
        self.warm.add(option)
        self.recorded += 1
        self.last = option

    def _is_slow(self, option: str, seconds: float) -> bool:
        others = [m for other in self.seconds if other != option for m in [self.median(other)] if m]
        return bool(others) and seconds > SLOW_RATIO * min(others)


@dataclass(frozen=True)
class MeasuredTick:
    """A tick of a query whose statements were counted.

    Attributes:
        elements: How many elements came in it, or None if nobody knows.
        steps: Its statements.
        ran: What became of each, in the same order.
    """

    elements: int | None
    steps: Sequence[Step]
    ran: Sequence[StepRan]


class Profiler:
    """Counts while ticks run, within the budget.

    Args:
        budget: The budget.
    """

    def __init__(self, budget: Budget) -> None:
        """Begin with nothing."""
        self.budget = budget
        self._points: dict[Point, Statistics] = {}
        self._steps: dict[tuple[str, Form], list[tuple[Step, Counted]]] = {}
        self._last: dict[str, deque[MeasuredTick]] = {}

    def remember(self, point: Point, choice: Choice) -> None:
        """Begin with what was measured when an option was chosen, before the database was closed.

        It counts as long as the option that stands has not run again.
        """
        known = self.statistics(point)
        for option, seconds in zip(choice.options, choice.seconds, strict=True):
            if seconds is not None:
                known.seconds[option] = deque([seconds] * MEASURED_TICKS, maxlen=MEASURED_TICKS)

    def statistics(self, point: Point) -> Statistics:
        """Return what is known of a point."""
        found = self._points.get(point)
        if found is None:
            found = self._points[point] = Statistics()
        return found

    def saw(self, query: str, form: Form, tick: MeasuredTick) -> None:
        """Count the statements of a tick.

        Args:
            query: The query.
            form: The form of its statements.
            tick: The tick.
        """
        last = self._last.setdefault(query, deque(maxlen=LAST_TICKS))
        last.append(tick)
        steps, ran = tick.steps, tick.ran
        counts = self._steps.get((query, form))
        if counts is None or len(counts) != len(steps):
            mine = [key for key in self._steps if key[0] == query and key[1].is_chosen]
            if form.is_chosen and len(mine) >= MAX_ORDERED:
                del self._steps[mine[0]]
            counts = self._steps[query, form] = [(step, Counted()) for step in steps]
        for (_, counted), one in zip(counts, ran, strict=True):
            if one.is_skipped:
                counted.skipped += 1
            else:
                counted.runs += 1
                counted.seconds += one.seconds
                counted.rows += one.rows

    def steps(self, query: str) -> Iterator[tuple[Form, Step, Counted]]:
        """Yield what was counted of each statement of a query, by form."""
        for (name, form), counts in self._steps.items():
            if name == query:
                for step, counted in counts:
                    yield form, step, counted

    def last(self, query: str) -> Sequence[MeasuredTick]:
        """Return the last ticks of a query that were counted."""
        return tuple(self._last.get(query, ()))

    def replanned(self, query: str) -> None:
        """Forget the statements of a query that has others from now on."""
        self._last.pop(query, None)
        self._steps = {key: counts for key, counts in self._steps.items() if key[0] != query}

    def forget(self, owner: str) -> None:
        """Forget a query or stream."""
        self._last.pop(owner, None)
        self._points = {p: known for p, known in self._points.items() if p.owner != owner}
        self._steps = {key: counts for key, counts in self._steps.items() if key[0] != owner}
