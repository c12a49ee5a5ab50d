"""Completeness: from which instant on a query says what it would if it had been there for ever.

A query has of its streams what came after the instant behind which it begins. Where something had
come before, its windows lack that until they have moved past it (`rewrite.plan.warmth`); what never
forgets, such as a sum without a window, lacks it for good.
"""

from __future__ import annotations

from collections.abc import Callable

from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.plan.warmth import warm_after
from cqlduck.rewrite.text.time import ZERO, Duration, Instant
from cqlduck.state.catalog import Catalogue, Query

NOT_KNOWN = Instant(NEVER + 1)
"""Stands in the rows of queries that were registered before this was noted."""


def complete_from(catalogue: Catalogue, query: Query, compiled: Compiled) -> Instant | None:
    """Return the instant from which a query says what it would if it had been there for ever.

    Args:
        catalogue: What is registered.
        query: The query, with the instant behind which it begins.
        compiled: Its plan, or that of its family.

    Returns:
        The instant; `NEVER`, which is before all others, if it lacks nothing; None if it always
        does.
    """
    lacking = [_lacking(catalogue, query, name) for name in query.inputs]
    if all(one == NEVER for one in lacking):
        return NEVER
    reach = _reach(compiled)
    if reach is None or None in lacking:
        return None
    last = max(one for one in lacking if one is not None)
    return Instant(last + max(reach, 1))


def is_partial(query: Query) -> bool:
    """Return whether a query says less at its first instant than if it had been there for ever."""
    first = NEVER if query.since is None else query.since
    return query.complete_from is None or query.complete_from > first + 1


def said(catalogue: Catalogue, query: Query, shown: Callable[[Instant | None], str]) -> str:
    """Return in lines from when on a query lacks nothing; nothing if it never lacked anything.

    Args:
        catalogue: What is registered.
        query: The query.
        shown: Shows an instant.
    """
    if not is_partial(query):
        return ""
    lacks = None if query.since is None else f"what came up to {shown(query.since)}"
    if query.complete_from is None:
        why = "what it reads is not" if lacks is None else f"it lacks for good {lacks}"
        return f"-- complete: never; {why}"
    why = "as what it reads is" if lacks is None else f"before that it lacks {lacks}"
    return f"-- complete: from {shown(query.complete_from)} on; {why}"


def _lacking(catalogue: Catalogue, query: Query, name: str) -> Instant | None:
    """Return up to which instant a query has less of an input than there was.

    Returns:
        The instant; `NEVER` if it has all of it; None if it will always have less.
    """
    since, inner = query.since, catalogue.queries.get(name.lower())
    if inner is None:
        thing = catalogue.input_of(name)
        # what a relation holds is there from the first instant on
        if thing is None or thing.kind == "relation" or since is None:
            return NEVER
        first = thing.first_instant
        return NEVER if first is None or first > since else since
    if inner.complete_from is None:
        return None
    known = [Instant(inner.complete_from - 1)] if inner.complete_from != NEVER else []
    if inner.kind == "stream" and since is not None and _has_said(inner, since):
        known.append(since)
    return max(known, default=NEVER)


def _has_said(inner: Query, since: Instant) -> bool:
    """Return whether a query may have yielded an element at or before an instant."""
    first = inner.begin_instant
    if first is None and inner.backfill_to is not None:
        first = NEVER if inner.since is None else Instant(inner.since + 1)
    return first is not None and first <= since


def _reach(compiled: Compiled) -> Duration | None:
    """Return for how many instants an element matters; None if for ever."""
    looks_back = any(span != 0 for span in compiled.spans.values())
    if compiled.kind == "stream" and not compiled.synopses and not looks_back:
        # it yields what comes, and remembers nothing of it
        return ZERO
    return warm_after(compiled.plan)
