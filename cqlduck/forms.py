"""The choice between forms of a query's ticks, by what they took.

Whether stages pay (`rewrite.delta.form`) depends on how many elements a tick has and how large the
state is. So both forms are tried, and the faster is kept (`state.learned`). Stages come first,
because they never cost much: the other form can save no more than the time of their statements. If
in `TRIALS` ticks that was less than `LITTLE`, it is not tried; stages that always pay do not count.
Nor is it tried where a few elements meet so much that to read it once would cost more than stages
ever could. Ticks of unlike sizes learn apart.

Both forms write the same, so nothing of this shows in an answer.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from cqlduck.rewrite import Compiled
from cqlduck.state.catalog import Catalogue, Query
from cqlduck.state.connection import ALIAS, Database
from cqlduck.state.learned import TRIALS, Learned

FEW = 400_000
"""How many elements a tick has at most for which stages are tried."""

LITTLE = 0.15
"""Which part of a tick stages take at most to be left as they are."""


MUCH, TIMES = 500_000, 1000
"""Of more rows than this, and than so many times the elements, a state is too large for a trial.

On 10 million rows such ticks of 100 elements took .3 to 1 s instead of 9 ms, on a million 45 ms.
"""

LOOK = 256
"""For how many ticks what is known of the size of a state holds."""


@dataclass
class _Known:
    """What is known of ticks of one size.

    Attributes:
        learned: What they took.
        parts: Which part of that the stages took.
        is_large: Whether the state is too large for a trial.
        left: For how many ticks that holds.
    """

    learned: Learned = field(default_factory=Learned)
    parts: deque[float] = field(default_factory=lambda: deque(maxlen=TRIALS))
    is_large: bool = False
    left: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether stages take so little that there is nothing to learn, as far as is known."""
        return len(self.parts) < TRIALS or statistics.median(self.parts) < LITTLE


@dataclass
class Forms:
    """Chooses the form of each tick.

    Attributes:
        always: The answer to whether ticks have stages, if it is not to be learned.
    """

    always: bool | None = None
    _known: dict[tuple[str, bool, int], _Known] = field(default_factory=dict)

    def may_stage(self, elements: int | None) -> bool:
        """Return whether a tick may have stages at all.

        Args:
            elements: How many elements came since the query's last tick, or None if that is not
                known.
        """
        return self.always is not None or (elements is not None and elements <= FEW)

    def staged(
        self, query: str, single: bool, elements: int | None, stored: Callable[[], int]
    ) -> bool:
        """Return whether a query's next tick is to have stages.

        Args:
            query: The query.
            single: Whether the tick has one instant.
            elements: How many elements came, such that the tick may have stages.
            stored: Says how many rows the tick may meet; it is asked seldom.
        """
        if self.always is not None:
            return self.always
        assert elements is not None
        known = self._of(query, single, elements)
        if known.is_settled:
            return True
        if known.left == 0:
            known.is_large, known.left = stored() > max(MUCH, TIMES * elements), LOOK
        known.left -= 1
        return known.is_large or known.learned.next()

    def took(
        self,
        query: str,
        single: bool,
        elements: int | None,
        staged: bool,
        seconds: float,
        stages: float,
    ) -> None:
        """Take note of what a tick took that might have had stages.

        Args:
            query: The query.
            single: Whether the tick had one instant.
            elements: How many elements came.
            staged: Whether it had stages.
            seconds: How long it took.
            stages: How much of that the stages took that do not always pay.
        """
        if self.always is None:
            assert elements is not None
            known = self._of(query, single, elements)
            # what a first tick takes is not what later ones take
            if staged and True in known.learned.warm:
                known.parts.append(stages / seconds)
            known.learned.took(staged, seconds)

    def forget(self, query: str) -> None:
        """Forget a query that is dropped."""
        self._known = {key: known for key, known in self._known.items() if key[0] != query}

    def _of(self, query: str, single: bool, elements: int) -> _Known:
        size = elements.bit_length() // 2
        return self._known.setdefault((query, single, size), _Known())


def stored(database: Database, catalogue: Catalogue, query: Query, compiled: Compiled) -> int:
    """Return about how many rows a query's inputs and synopses have."""
    tables = [thing.table for thing in catalogue.inputs_of(query)]
    tables += [synopsis.name for synopsis in compiled.synopses]
    return int(
        database.value(
            "SELECT coalesce(sum(estimated_size), 0) FROM duckdb_tables() "
            "WHERE database_name = $name AND schema_name = 'cql_state' "
            "AND list_contains($tables, table_name)",
            {"name": ALIAS, "tables": tables},
        )
    )
