"""What StreaMon asks of a policy, the same of every kind of point.

Before a tick comes to a point the policy may `propose` another option, and says what of the tick it
`wants` profiled. After the tick it `saw` what ran there, what that took, and what was found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cqlduck.state.observations import Observation
from cqlduck.state.probing import Found, Wanted
from cqlduck.streamon.points import Facts
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal


class Policy(ABC):
    """How the options of one point are chosen.

    Attributes:
        probes: How many probes have found something that is to be stored.
    """

    probes: int = 0

    @abstractmethod
    def default(self, facts: Facts) -> str:
        """Return the option of a tick before anything is known of such ticks."""

    @abstractmethod
    def propose(self, now: str, known: Statistics, facts: Facts) -> Proposal | None:
        """Return what the next tick is to run in place of what stands, or None.

        Args:
            now: The option that stands.
            known: What the profiler knows.
            facts: What is known of the tick.
        """

    @property
    def waits(self) -> bool:
        """Whether it waits for what the next tick takes, to choose or to confirm."""
        return False

    @property
    def rests(self) -> bool:
        """Whether nothing that flows matters here for now, so that few ticks need be looked at."""
        return False

    def wants(self, facts: Facts, now: str) -> Wanted | None:
        """Return what the tick is to profile, within the budget; by default nothing.

        Args:
            facts: What is known of the tick.
            now: The option that it runs.
        """
        return None

    def saw(self, facts: Facts, option: str, seconds: float | None, found: Found | None) -> None:
        """Take note of a tick; by default what the profiler counts is enough.

        Args:
            facts: What was known of it.
            option: What ran.
            seconds: What its statements took, or None if that was not counted.
            found: What was found by what was wanted.
        """
        del facts, option, seconds, found  # by default nothing follows

    def decided(self) -> Sequence[Observation]:
        """Return what the last proposal has decided, once; by default nothing is said of it."""
        return ()

    def state(self) -> dict[str, Any] | None:
        """Return what was found, as values that JSON has; None if nothing is to be stored."""
        return None

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what was found before the database was closed; see `state`."""
        del state  # by default nothing is stored


@dataclass
class DecidingPolicy(Policy):
    """A policy that says what its last proposal has decided."""

    _decided: list[Observation] = field(default_factory=list, init=False)

    def decided(self) -> Sequence[Observation]:
        """Return what the last proposal has decided, once."""
        found, self._decided = self._decided, []
        return found
