"""Whose turn it is to be measured, where the budget does not afford all queries of a tick.

Each query has as much of what counting takes as its weight is of the weights of those that ticks
move: next is the one that has had least for its weight (weighted fair queueing). Weights are those
of CIDR 2003, section 2.3; what is decided by them there, how exact an answer is, is not decided
here, as all answers are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Turns:
    """What was spent on each query, for its weight.

    Attributes:
        spent: Of queries the seconds that counting them took, over their weights.
        before: The queries that the last tick moved.
        now: Those of this one so far.
        least: The least that one of the last tick had had when it ended.
    """

    spent: dict[str, float] = field(default_factory=dict)
    before: set[str] = field(default_factory=set)
    now: set[str] = field(default_factory=set)
    least: float = 0.0

    def is_due(self, query: str) -> bool:
        """Return whether no other query of the last tick had had less for its weight by its end."""
        self.now.add(query)
        if query not in self.before:
            # who has been away has nothing to catch up with
            self.spent[query] = max(self.spent.get(query, 0.0), self.least)
        return self.spent.get(query, 0.0) <= self.least

    def spend(self, query: str, weight: float, seconds: float) -> None:
        """Note that a query was counted, and how long that took."""
        self.spent[query] = self.spent.get(query, 0.0) + seconds / weight

    def ended(self) -> None:
        """Note the end of a tick."""
        self.before, self.now = self.now, set()
        # once a tick: for each query it would take a time that grows with their square
        self.least = min((self.spent.get(one, 0.0) for one in self.before), default=0.0)

    def forget(self, query: str) -> None:
        """Forget a query."""
        self.spent.pop(query, None)
        self.before.discard(query)
