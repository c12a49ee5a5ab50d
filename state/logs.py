"""Facts about a query's log: whether its elements are in the order of time, and net.

The part of a log up to a frontier never changes. So it is examined once, and later only its new
part. The log of ticks of one instant each is in order, and so is that of a query that leaves its
stream in order; reading it needs no sort. Most logs are net, though a filter, or a join, may emit
equal tuples at one instant; reading a net log needs no sum. The examination takes less time than
either: it reads the times in their order, and a hash of each tuple that is not alone at its
instant. If two different tuples have the same hash, the log counts as not net, and is summed
needlessly.
"""

from __future__ import annotations

from dataclasses import dataclass

from cqlduck.rewrite.text.time import Instant
from cqlduck.state.columns import same_rows
from cqlduck.state.connection import Database, quoted
from cqlduck.state.registered import Query
from cqlduck.state.row_groups import ROW_GROUP_ROWS

SMALL_LOG_ELEMENTS = ROW_GROUP_ROWS
"""Of how many elements at most it takes no time to sort and sum them."""

SPARSE_RATIO = 4
"""Where one in so many elements at most is not alone, these are sought out first."""


@dataclass(frozen=True)
class Known:
    """What is known of a log between two instants.

    Attributes:
        after: The instant after which it is known; None if from the first element on.
        until: Up to which instant.
        in_order: Whether no element there stands behind one of a later instant.
        is_net: Whether no two elements there have the same tuple and instant.
    """

    after: Instant | None
    until: Instant
    in_order: bool
    is_net: bool

    def covers(self, after: Instant | None) -> bool:
        """Return whether all after an instant, up to `until`, is known."""
        return self.after is None or (after is not None and self.after <= after <= self.until)


UNKNOWN = Known(None, Instant(0), in_order=False, is_net=False)


class Logs:
    """What is known of the logs that are read.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin with knowing nothing."""
        self._database = database
        self._known: dict[str, Known] = {}

    def known(self, query: Query, after: Instant | None, *, is_net: bool = False) -> Known:
        """Return what is known of a query's log after an instant, up to its frontier.

        Args:
            query: A query that has a frontier, and whose log loses nothing.
            after: The instant, or None.
            is_net: Whether its log is net by its plan.
        """
        if self._database.depth or query.frontier is None:
            # what a tick has not committed may be written in another way
            return UNKNOWN
        known = self._known.get(query.changes)
        if known is None or not known.covers(after):
            known = self._looked(query, after, is_net=is_net)
        elif known.until < query.frontier:
            new = self._looked(query, known.until, is_net=is_net)
            known = Known(
                known.after,
                query.frontier,
                in_order=known.in_order and new.in_order,
                is_net=known.is_net and new.is_net,
            )
        self._known[query.changes] = known
        return known

    def forget(self, log: str) -> None:
        """Forget a log, which is going to lose rows."""
        self._known.pop(log, None)

    def _looked(self, query: Query, after: Instant | None, *, is_net: bool) -> Known:
        """Look at a query's log after an instant."""
        assert query.frontier is not None
        low = "" if after is None else f"_ts > {after} AND "
        rows = f"FROM cql_state.{quoted(query.changes)} WHERE {low}_ts <= {query.frontier}"
        self._database.threads.all()
        ((count, backwards, together),) = self._database.rows(
            "SELECT count(*), count(*) FILTER (_ts < before), count(*) FILTER (_ts = before) "
            f"FROM (SELECT _ts, lag(_ts) OVER () AS before {rows}) AS times"
        )
        is_net = is_net or not (backwards or together)
        if count > SMALL_LOG_ELEMENTS and not is_net:
            is_net = self._is_net(
                query, rows, few=not backwards and together * SPARSE_RATIO <= count
            )
        return Known(after, query.frontier, in_order=not backwards, is_net=is_net)

    def _is_net(self, query: Query, rows: str, *, few: bool) -> bool:
        """Return whether no two elements have the same tuple and instant.

        Args:
            query: The query.
            rows: FROM its log WHERE they are.
            few: Whether few are not alone at their instants, and all are in order.
        """
        listed = ", ".join([*(quoted(c.name) for c in query.columns), "_ts"])
        number = f"hash({same_rows(query.columns)}, _ts) AS h"
        tuples = f"SELECT {number} {rows}"
        if few:
            times = "lag(_ts) OVER () AS before, lead(_ts) OVER () AS after"
            tuples = (
                f"SELECT {number} FROM (SELECT {listed}, {times} {rows}) AS times "
                "WHERE _ts = before OR _ts = after"
            )
        return bool(
            self._database.value(f"SELECT count(*) = count(DISTINCT h) FROM ({tuples}) AS tuples")
        )
