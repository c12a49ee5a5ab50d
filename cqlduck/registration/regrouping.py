"""Regrouping: which queries one plan computes is looked at between two ticks."""

from __future__ import annotations

from cqlduck.engine import Engine
from cqlduck.registration.merging import merge_warm
from cqlduck.registration.narrowing import narrow


def regroup(engine: Engine) -> None:
    """End the families that have become too wide, and merge queries that have become warm."""
    engine.shareable.retry(engine.ticks)
    if engine.shareable.meetings is None:
        # something has been registered or dropped
        narrow(engine)
    merge_warm(engine)
