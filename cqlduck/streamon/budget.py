"""The budget: the fraction of the time of ticks that measuring may take."""

from __future__ import annotations

from dataclasses import dataclass

MEASURING_FRACTION = 0.01
"""Which fraction of the time of ticks counting and looking again take at most, together."""


@dataclass
class Budget:
    """What has been earned and spent.

    Attributes:
        fraction: The fraction of the time of ticks that may be spent.
        ticks: Seconds of all ticks of queries.
        counting: Seconds that went into counting and choosing.
        looking: Seconds by which options take longer that were looked at again.
    """

    fraction: float = MEASURING_FRACTION
    ticks: float = 0.0
    counting: float = 0.0
    looking: float = 0.0

    @property
    def left(self) -> float:
        """Seconds that may be spent; negative if too much has been."""
        return self.fraction * self.ticks - self.counting - self.looking

    def affords(self, seconds: float) -> bool:
        """Return whether something may be done that takes so long."""
        return seconds <= self.left
