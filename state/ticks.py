"""The record of ticks, `cql.ticks`, whose last rows may be buffered in memory.

In a file a tick's row is written in its transaction. In memory it is written together with others,
which saves half a millisecond a tick. So may the rows of inputs that arrivals have moved: that
saves as much for each call of `append`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqlduck.state import catalog_rows
from cqlduck.state.connection import Database

RATE_TICKS = 16
"""Over how many of the last ticks what comes of an input is averaged."""

MAX_WAITING_ROWS = 64
"""How many rows wait at most."""


def rates(database: Database) -> dict[int, float]:
    """Return by position of an input how many elements came in a tick, on the average of the last.

    Of these count those in which its heartbeat or its elements moved: the queries over SysStream,
    for one, have ticks of their own. Of inputs that did not move it is not known.
    """
    moving = catalog_rows.MOVING["inputs"]
    # the position comes first
    beat, sequence = (f"moved[{2 + moving.index(name)}]" for name in ("heartbeat", "next_seq"))
    return dict(
        database.rows(
            f"WITH newest AS (FROM cql_state.ticks ORDER BY number DESC LIMIT {RATE_TICKS + 1}), "
            "listed AS (SELECT unnest(inputs) AS moved FROM newest) "
            f"SELECT moved[1], (max({sequence}) - min({sequence})) "
            f"/ (count(DISTINCT ({beat}, {sequence})) - 1) FROM listed "
            f"GROUP BY moved[1] HAVING count(DISTINCT ({beat}, {sequence})) > 1"
        )
    )


class TickBuffer:
    """Rows of the record, and of inputs, that are not written yet.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin with none."""
        self._database = database
        database.participants.append(self)
        self.kept: tuple[tuple[catalog_rows.TickRow, ...], catalog_rows.WaitingRows] = (), {}
        """The rows that wait: those of ticks, and those of inputs."""

    def roll_back(
        self, kept: tuple[tuple[catalog_rows.TickRow, ...], catalog_rows.WaitingRows]
    ) -> None:
        """Let those wait again that did then."""
        self.kept = kept

    @property
    def inputs(self) -> catalog_rows.WaitingRows:
        """The rows of inputs that wait."""
        return self.kept[1]

    @property
    def holds_some(self) -> bool:
        """Whether rows wait."""
        return any(self.kept)

    def add(
        self,
        ticks: Sequence[catalog_rows.TickRow],
        inputs: catalog_rows.WaitingRows,
        *,
        may_wait: bool,
    ) -> None:
        """Take rows; write them and those that wait, unless they may wait too.

        Args:
            ticks: Rows of the record.
            inputs: All rows of inputs that wait.
            may_wait: Whether they may.
        """
        rows = (*self.kept[0], *ticks)
        if may_wait and len(rows) < MAX_WAITING_ROWS:
            self.kept = rows, inputs
            return
        catalog_rows.write_waiting(self._database, inputs)
        if rows:
            catalog_rows.write_ticks(self._database, rows)
        self.kept = (), {}

    def flush(self) -> None:
        """Write the rows."""
        self.add((), self.inputs, may_wait=False)
