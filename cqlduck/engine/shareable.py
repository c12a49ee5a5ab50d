"""What is known of which queries one plan can compute.

Registration looks for it and keeps it here, because it would take a look at every query again. It
may be lost at any time: what is missing is looked for anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cqlduck.rewrite.text.time import Instant
from cqlduck.state.registered import Query


@dataclass(frozen=True)
class Meeting:
    """Two queries that one plan can compute from some frontier on.

    Attributes:
        query: A query that has a plan of its own.
        host: Another one, or a family.
        at: The least frontier at which both are warm but for windows in rows alone.
        by_rows: Whether they have such windows, which must have the same rows.
    """

    query: str
    host: str
    at: Instant
    by_rows: bool = False


RETRIED_AFTER = 1_000
"""How many ticks after the machine lacked something to regroup queries it is tried again."""


@dataclass
class Shareable:
    """What is known of queries that have plans of their own, and of families.

    Attributes:
        shapes: Of shapes: the queries that have them and plans of their own; None if not looked at
            yet.
        unfit: The shapes whose constants cannot be a relation, and whether not even of queries that
            begin at once.
        registering: The name of the query that was registered last, or is being registered.
        meetings: Which queries can be merged when they are warm; None if not looked at yet.
        unmerged: Of queries that could not be merged, by their numbers: why. Of a family twice: why
            its members did not leave it, though it shows more than they ask for.
        postponed: Of those of them that only the machine kept apart: from which tick on it is tried
            again.
        asked: Of queries whose windows have not the same rows yet, by their numbers: for how many
            ticks that is not asked again, and since which.
        numbers: Of families: the numbers of their members, by what these differ in.
        lists: Of families of a stem: for each SELECT list a member that has it.
    """

    shapes: dict[str, list[str]] | None = None
    unfit: set[tuple[str, bool]] = field(default_factory=set)
    registering: str = ""
    meetings: Sequence[Meeting] | None = None
    unmerged: dict[tuple[int, int], str] = field(default_factory=dict)
    postponed: dict[tuple[int, int], int] = field(default_factory=dict)
    asked: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    numbers: dict[str, dict[tuple[tuple[str, ...], Instant | None], int]] = field(
        default_factory=dict
    )
    lists: dict[str, dict[str, Query]] = field(default_factory=dict)

    def postpone(self, pair: tuple[int, int], why: str, tick: int) -> None:
        """Note that two queries could not be merged now, because the machine lacks something."""
        self.unmerged[pair] = f"{why}; it is tried again after {RETRIED_AFTER:,} ticks"
        self.postponed[pair] = tick + RETRIED_AFTER

    def retry(self, tick: int) -> None:
        """Let those be tried again whose time has come."""
        for pair in [pair for pair, due in self.postponed.items() if due <= tick]:
            del self.postponed[pair]
            self.unmerged.pop(pair, None)
            self.meetings = None

    def undone(self) -> None:
        """Forget which queries and members there are, because a change has been undone.

        What cannot be merged stays known: it is found in a change that is undone.
        """
        self.shapes = self.meetings = None
        self.numbers.clear()
        self.lists.clear()

    def regrouped(self, family: str) -> None:
        """Forget which members a family has."""
        self.numbers.pop(family, None)
        self.lists.pop(family, None)

    def forget(self, number: int) -> None:
        """Forget a query, or a family: another one may get its number."""
        self.unmerged = {pair: why for pair, why in self.unmerged.items() if number not in pair}
        self.postponed = {pair: due for pair, due in self.postponed.items() if number not in pair}
        self.asked = {pair: when for pair, when in self.asked.items() if number not in pair}
