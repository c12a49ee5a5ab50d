"""Completeness: from which instant on a query says what it would if it had been there for ever.

A query has of its streams what came after the instant behind which it begins. Where something had
come before, its windows lack that until they have moved past it (`rewrite.plan.warmth`); what never
forgets, such as a sum without a window, lacks it for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan import NEVER, ToStream, unique
from cqlduck.rewrite.plan.warmth import warm_after
from cqlduck.rewrite.text.time import ZERO, Instant
from cqlduck.state.catalog import Catalogue
from cqlduck.state.registered import Query

NOT_KNOWN = Instant(NEVER + 1)
"""Stands in the rows of queries that were registered before this was noted."""

WITH_ROWS = Instant(NEVER + 2)
"""Stands for the instant at which windows in rows have as many as they hold, which is not known."""


def complete_from(catalogue: Catalogue, query: Query, compiled: Compiled) -> Instant | None:
    """Return the instant from which a query says what it would if it had been there for ever.

    Args:
        catalogue: What is registered.
        query: The query, with the instant behind which it begins.
        compiled: Its plan, or that of its family.

    Returns:
        The instant; `NEVER`, which is before all others, if it lacks nothing; None if it always
        does; `WITH_ROWS` if that depends on how many rows come.
    """
    lacks = [one for name in query.inputs for one in _lacks(catalogue, query, name)]
    is_stateless = _is_stateless(compiled)
    root, *below = unique(compiled.plan)
    is_nested = any(isinstance(node, ToStream) for node in below)
    sees_changes = isinstance(root, ToStream) and root.kind != "rstream"
    # it yields all of a relation at its first instant
    sees_changes &= not is_stateless or any(one.of != "stream" for one in lacks)
    if not (sees_changes or is_nested):
        lacks = [one for one in lacks if one.of != "past"]
    if not lacks:
        return NEVER
    has_windows = is_nested or any(one.of == "stream" for one in lacks)
    reach = warm_after(compiled.plan) if has_windows and not is_stateless else ZERO
    if any(one.up_to is None for one in lacks):
        return None
    if reach is None:
        return None if warm_after(compiled.plan, ZERO) is None else WITH_ROWS
    if any(one.up_to == WITH_ROWS for one in lacks):
        return WITH_ROWS
    last = max(one.up_to for one in lacks if one.up_to is not None)
    # what a relation was an instant before makes its changes
    return Instant(last + max(reach, 1) + sees_changes)


def is_partial(query: Query) -> bool:
    """Return whether a query says less at its first instant than if it had been there for ever."""
    first = NEVER if query.since is None else query.since
    return query.complete_from in (None, WITH_ROWS) or query.complete_from > first + 1


def said(query: Query, shown: Callable[[Instant | None], str]) -> str:
    """Return in lines from when on a query lacks nothing; nothing if it never lacked anything.

    Args:
        query: The query.
        shown: Shows an instant.
    """
    if not is_partial(query):
        return ""
    lacks = None if query.since is None else f"what came up to {shown(query.since)}"
    if query.complete_from is None:
        why = "what it reads is not" if lacks is None else f"it lacks for good {lacks}"
        return f"-- complete: never; {why}"
    if query.complete_from == WITH_ROWS:
        why = "as what it reads is" if lacks is None else f"it lacks {lacks}"
        return f"-- complete: once its windows have as many rows as they hold; {why}"
    why = "as what it reads is" if lacks is None else f"before that it lacks {lacks}"
    return f"-- complete: from {shown(query.complete_from)} on; {why}"


@dataclass(frozen=True)
class _Lack:
    """What a query has less of an input than there was.

    Attributes:
        of: 'stream': elements; 'relation': what it holds; 'past': what it held before.
        up_to: Up to which instant; None if for good.
    """

    of: Literal["stream", "relation", "past"]
    up_to: Instant | None


def _lacks(catalogue: Catalogue, query: Query, name: str) -> Iterator[_Lack]:
    """Yield what a query has less of an input than there was."""
    since, inner = query.since, catalogue.queries.get(name.lower())
    if inner is not None:
        is_stream, before = inner.kind == "stream", inner.complete_from
        if before != NEVER:
            up_to = before if before in (None, WITH_ROWS) else Instant(before - 1)
            yield _Lack("stream" if is_stream else "relation", up_to)
        if since is not None and _says(catalogue, inner, since):
            yield _Lack("stream" if is_stream else "past", since)
        return
    thing = catalogue.input_of(name)
    if thing is None or since is None or not (thing.next_seq or thing.late == "AMEND"):
        return
    first = thing.first_instant
    if thing.kind == "relation" and (first is None or first <= since):
        yield _Lack("past", since)
    # what is late and amends may come of any instant
    if thing.kind == "stream" and (thing.late == "AMEND" or (first is not None and first <= since)):
        yield _Lack("stream", since)


def _says(catalogue: Catalogue, inner: Query, since: Instant) -> bool:
    """Return whether a query may yield an element at or before an instant, or has done so."""
    first = inner.begin_instant
    if first is None and inner.since is not None:
        first = Instant(inner.since + 1)
    if first is not None:
        return first <= since
    # its first tick is still to come
    inputs = catalogue.inputs_of(inner)
    dated = (thing.first_instant for thing in inputs if thing.next_seq)
    return any(instant is None or instant <= since for instant in dated)


def _is_stateless(compiled: Compiled) -> bool:
    """Return whether a query yields what comes, and remembers nothing of it."""
    looks_back = any(span != 0 for span in compiled.spans.values())
    return compiled.kind == "stream" and not compiled.synopses and not looks_back
