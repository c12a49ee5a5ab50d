"""How long the changes of a query are kept."""

from __future__ import annotations

from collections.abc import Sequence

from cqlduck.engine import Engine
from cqlduck.rewrite.text.time import parse_duration


def retention_of(engine: Engine, written: str | None) -> str | None:
    """Return how long changes are kept as it is stored, or None for the setting `history`.

    Raises:
        ParseError: It is no duration.
        BindError: It is one of the other kind of time.
    """
    if written is None or written.lower() == "default":
        return None
    if written.lower() != "unbounded":
        engine.clock.instants(parse_duration(written))
    return written.lower()


def longest(engine: Engine, kept: Sequence[str | None]) -> str | None:
    """Return the longest of several times for which changes are kept; None if none says any."""
    if all(keep is None for keep in kept):
        return None
    written = [keep if keep is not None else engine.history for keep in kept]
    bounds = [keep for keep in written if keep is not None and keep != "unbounded"]
    if len(bounds) < len(written):
        return "unbounded"
    return max(bounds, key=lambda keep: engine.clock.instants(parse_duration(keep)))
