"""Queries at rest: nothing has changed for so long that few of their ticks are looked at.

To ask at each point what a tick runs, and to note what it took, takes some tenths of a millisecond,
whatever the tick: one part in thirty of a small one. So statistics that never matter are gathered
less often (thesis, section 7.1): if the last `RESTS_AFTER` ticks of one size that were looked at
have run the same form, others run it without being looked at, but for one in `EACH`. Which one is
drawn, as ticks may take less and more in turn. It stands for those before it that were not.

A query wakes when `WAKING` ticks in a row take `RISEN` times as long as those that were looked at,
and when another form runs. Whatever a user pins, and another plan, have all begin anew. A query
does not rest while trials have not said what they can (`Trials.are_settled`), nor where orders or
caches are chosen, or an index of many rows: these depend on what flows, which the time of a tick
does not show soon. Nor does one whose ticks somebody watches.
"""

from __future__ import annotations

import random
import statistics
from collections import deque
from dataclasses import dataclass, field

from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.form import Form
from cqlduck.streamon.trials import RISEN

RESTS_AFTER = 64
"""In how many ticks that were looked at the same form has to have run."""

EACH = 4
"""One in how many ticks of a query at rest is looked at, on the average."""

WAKING = 3
"""How many ticks in a row wake a query: single ones take longer by chance."""

LAST = 9
"""How many ticks that were looked at say what one takes."""


@dataclass
class Rest:
    """Ticks of one size of a query.

    Attributes:
        compiled: Its statements.
        form: The form that ran.
        looked: In how many ticks in a row that were looked at.
        unseen: How many ticks have run since the last one that was looked at.
        slow: How many of them, in a row, have taken long.
        seconds: What the last ones took that were looked at.
    """

    compiled: Compiled
    form: Form
    looked: int = 0
    unseen: int = 0
    slow: int = 0
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=LAST))

    @property
    def rests(self) -> bool:
        """Whether the query is at rest."""
        return self.looked >= RESTS_AFTER


class Resting:
    """Which queries are at rest, by the size of ticks."""

    def __init__(self) -> None:
        """Begin with all awake."""
        self._known: dict[str, dict[str, Rest]] = {}
        self._drawn = random.Random(0)

    def form(self, query: str, size: str, compiled: Compiled) -> Form | None:
        """Return the form that a tick runs without being looked at; None if it is looked at.

        Args:
            query: The query.
            size: Which ticks it is like, in words.
            compiled: The query's statements.
        """
        mine = self._of(query, size)
        if mine is None or not mine.rests or mine.compiled is not compiled:
            return None
        return mine.form if self._drawn.random() >= 1 / EACH else None

    def stands_for(self, query: str, size: str) -> int:
        """Return for how many ticks one stands that is looked at: itself, and those before it."""
        mine = self._of(query, size)
        return 1 if mine is None else 1 + mine.unseen

    def passed(self, query: str, size: str, seconds: float) -> None:
        """Take note of a tick that was not looked at.

        Args:
            query: The query.
            size: Which ticks it is like.
            seconds: How long it took.
        """
        mine = self._of(query, size)
        if mine is None:
            return
        mine.unseen += 1
        mine.slow = mine.slow + 1 if seconds > RISEN * statistics.median(mine.seconds) else 0
        if mine.slow >= WAKING:
            del self._known[query][size]

    def looked(
        self, query: str, size: str, compiled: Compiled, form: Form, seconds: float, *, stands: bool
    ) -> None:
        """Take note of a tick that was looked at.

        Args:
            query: The query.
            size: Which ticks it is like.
            compiled: The query's statements.
            form: The form that it ran.
            seconds: How long it took.
            stands: Whether that was what stands, and no trial.
        """
        mine = self._of(query, size)
        if mine is not None and not stands:
            mine.unseen = 0
            return
        if mine is None or mine.form != form or mine.compiled is not compiled:
            mine = self._known.setdefault(query, {})[size] = Rest(compiled, form)
        mine.looked += 1
        mine.unseen = mine.slow = 0
        mine.seconds.append(seconds)

    def wake(self) -> None:
        """Have all queries be looked at."""
        self._known.clear()

    def forget(self, query: str) -> None:
        """Forget a query that is dropped, or has another plan."""
        self._known.pop(query, None)

    def _of(self, query: str, size: str) -> Rest | None:
        return self._known.get(query, {}).get(size)
