"""The options of a query: how long its changes are kept, its weight, who answers it, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cqlduck.engine import Engine
from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.text.options import DEFAULT
from cqlduck.rewrite.text.time import parse_duration
from cqlduck.state.registered import Query


def retention_of(engine: Engine, written: str | None) -> str | None:
    """Return how long changes are kept as it is stored, or None for the setting `history`.

    Raises:
        ParseError: It is no duration.
        BindError: It is one of the other kind of time.
    """
    if written is None or written.lower() == DEFAULT:
        return None
    if written.lower() != "unbounded":
        engine.clock.instants(parse_duration(written))
    return written.lower()


def weight_of(written: str | None) -> float:
    """Return the weight of a query; 1 if nothing is written."""
    return 1.0 if written is None or written == DEFAULT else float(written)


def sharing_of(written: str | None) -> bool | None:
    """Return whether a query may be computed with others; None leaves it to the setting."""
    return None if written is None or written == DEFAULT else written == "true"


def is_deferred(written: str | None) -> bool:
    """Return whether a query is answered when somebody reads it, and not in each tick."""
    return written == "later"


def defer(engine: Engine, query: Query, written: str | None) -> None:
    """Let a query be answered when somebody reads it, or in each tick.

    Raises:
        NotSupportedError: It reads a stream with LATE AMEND.
    """
    later = is_deferred(written)
    if later and engine.catalogue.amends(query):
        raise NotSupportedError(
            f"{query.name} cannot be read later: it reads a stream with LATE AMEND, and what late "
            "elements correct depends on what has been said before them",
            hint="leave read = 'later' out, or let a query over this one be read later",
        )
    query.is_deferred = later


def assign(engine: Engine, query: Query, options: Mapping[str, str]) -> None:
    """Give a query the options that are written, and the defaults of the others.

    Raises:
        ParseError: `keep` is no duration.
        BindError: It is one of the other kind of time.
        NotSupportedError: It cannot be read later.
    """
    query.keep = retention_of(engine, options.get("keep"))
    query.weight = weight_of(options.get("weight"))
    query.sharing = sharing_of(options.get("sharing"))
    defer(engine, query, options.get("read"))


def options_of(query: Query) -> tuple[tuple[str, str], ...]:
    """Return the options of a query as they would be written."""
    sharing = None if query.sharing is None else str(query.sharing).lower()
    written = {"keep": query.keep, "weight": f"{query.weight!r}", "sharing": sharing}
    written["read"] = "later" if query.is_deferred else None
    return tuple((name, value) for name, value in written.items() if value is not None)


def longest(engine: Engine, kept: Sequence[str | None]) -> str | None:
    """Return the longest of several times for which changes are kept; None if none says any."""
    if all(keep is None for keep in kept):
        return None
    written = [keep if keep is not None else engine.history for keep in kept]
    bounds = [keep for keep in written if keep is not None and keep != "unbounded"]
    if len(bounds) < len(written):
        return "unbounded"
    return max(bounds, key=lambda keep: engine.clock.instants(parse_duration(keep)))
