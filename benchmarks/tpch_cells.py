"""What is measured of TPC-H under change: the ticks of a query at one size."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from cqlduck.rewrite.statements.refreshing import INCREMENTAL


@dataclass(frozen=True)
class Tick:
    """The seconds of one tick.

    Attributes:
        intake: To take the changes in.
        answer: To have the answer, as Arrow.
    """

    intake: float
    answer: float

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.intake + self.answer


@dataclass
class Cell:
    """One query at one fraction.

    Attributes:
        query: The query.
        fraction: How many of the rows change in a tick.
        rows: How many rows changed in a tick, on the average.
        ours: The measured ticks of cqlduck.
        theirs: Those of DuckDB.
        option: The option of the point `answer` that stood last.
        wrong: In which tick, and how, the answers differ.
    """

    query: str
    fraction: float
    option: str = INCREMENTAL
    rows: float = 0
    ours: list[Tick] = field(default_factory=list)
    theirs: list[Tick] = field(default_factory=list)
    wrong: str = ""

    @property
    def ratio(self) -> float:
        """DuckDB's median tick over cqlduck's."""
        return median(self.theirs) / median(self.ours)

    @property
    def milliseconds(self) -> float:
        """Cqlduck's median tick."""
        return 1e3 * median(self.ours)

    @property
    def ratio_of_answers(self) -> float:
        """The same without the intake."""
        theirs, ours = (statistics.median(t.answer for t in s) for s in (self.theirs, self.ours))
        return theirs / ours


def median(ticks: Sequence[Tick]) -> float:
    """Return the median of what ticks took, in seconds."""
    return statistics.median(tick.seconds for tick in ticks)
