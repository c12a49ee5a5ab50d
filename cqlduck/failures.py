"""A failing query: the instant at which it fails, the row that causes it, and the messages.

A query fails at the first instant up to which it cannot run; it stops right before. The row is the
first to arrive at that instant such that the instant runs without it and the later ones; there is
none if time alone makes the query fail, for example when a tuple leaves a window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cqlduck.errors import QueryError, shortened
from cqlduck.rewrite.text.time import Instant
from cqlduck.state import instants
from cqlduck.state.catalog import Catalogue
from cqlduck.state.registered import EXPIRED, FAILED, Query

Run = Callable[[Instant], Exception | None]
"""Runs a query up to an instant, and keeps that, or returns why it failed."""

Fails = Callable[[Mapping[str, int]], bool]
"""Whether an instant fails with so many of its first arrivals, by input; nothing of it is kept."""


def first_failure(
    run: Run, done: Instant, goal: Instant, error: Exception
) -> tuple[Instant, Exception]:
    """Bring a query to the last instant before the one at which it fails.

    Args:
        run: Runs the query up to an instant.
        done: The instant up to which it has run.
        goal: An instant up to which it cannot be run.
        error: Why not.

    Returns:
        The instant at which it fails, and why.
    """
    while goal - done > 1:
        middle = Instant((done + goal) // 2)
        failure = run(middle)
        if failure is None:
            done = middle
        else:
            goal, error = middle, failure
    return goal, error


def culprit(counts: Mapping[str, int], fails: Fails) -> tuple[str, int] | None:
    """Return the arrival that makes an instant fail: its input, and its place from 0; or None.

    Args:
        counts: How many elements arrived at the instant, by input, in the order in which to look.
        fails: Whether the instant fails with so many of them.
    """

    def first(count: int) -> dict[str, int]:
        kept = {}
        for name, there in counts.items():
            kept[name] = min(there, count)
            count -= kept[name]
        return kept

    low, high = 0, sum(counts.values())
    if high == 0 or fails(first(0)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if fails(first(middle)):
            high = middle
        else:
            low = middle
    before, upto = first(high - 1), first(high)
    name = next(name for name in counts if upto[name] > before[name])
    return name, before[name]


def failed_below(catalogue: Catalogue, query: Query) -> Query | None:
    """Return the failed query because of which a query stands still, itself or one below; or None.

    Of several it is the one that stopped first.
    """
    failed = [q for q in (query, *catalogue.queries_of(query)) if has_failed(q)]
    return min(failed, key=lambda q: (q.frontier is not None, q.frontier or 0), default=None)


def has_failed(query: Query) -> bool:
    """Return whether a query has failed, and nobody has deactivated it or made it go on since."""
    has_expired = query.state == EXPIRED and query.error_reason is not None
    return query.state == FAILED or has_expired


def refusal(catalogue: Catalogue, query: Query) -> QueryError | None:
    """Return what to raise where somebody asks for more than a query will ever say; or None."""
    failed = failed_below(catalogue, query)
    return None if failed is None else told(catalogue, failed, query)


def told(catalogue: Catalogue, failed: Query, query: Query) -> QueryError:
    """Return the error of a failed query, or of one above it.

    Args:
        catalogue: What is registered.
        failed: The query that failed.
        query: The one that is asked: itself, or one that reads it.
    """
    clock = catalogue.clock
    instant = None if failed.frontier is None else Instant(failed.frontier + 1)
    what = f"failed {failed.error}"
    if query is failed:
        message = f"the continuous query {failed.name} {what}"
    else:
        message = (
            f"the continuous query {query.name} stands still, because {failed.name}, "
            f"which it reads, {what}"
        )
    hint = f"{query.name} has no answer before that"
    if query.begin_instant is not None and query.frontier is not None:
        last = instants.shown_instant(clock, query.frontier)
        last = last if clock.kind == "integer" else f"'{last}'"
        hint = f"as_of('{query.name}', {last}) gives its last answer"
    error = QueryError(message, hint=hint)
    error.query = failed.name
    error.instant = instants.public(clock, instant)
    error.row, error.reason = failed.error_row, failed.error_reason
    return error


def fail(
    catalogue: Catalogue, query: Query, instant: Instant, reason: str, row: str | None
) -> None:
    """Let a query fail at an instant, in a change."""
    at = instants.shown_instant(catalogue.clock, instant)
    # DuckDB ends some of its messages with these
    reason = shortened(reason).rstrip(".;! ")
    catalogue.turn(query, FAILED)
    query.error_reason, query.error_row = reason, row
    query.error = f"at {at}: {reason}" + ("" if row is None else f", at the row {row}")
    if query.frontier is None or query.frontier < instant - 1:
        query.frontier = Instant(instant - 1)
