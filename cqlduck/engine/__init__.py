"""The engine: ticks, changes and what they keep; see `engine.engine`."""

from cqlduck.engine.bounds import MAX_TICK
from cqlduck.engine.core import TickReport
from cqlduck.engine.engine import Engine

__all__ = ["MAX_TICK", "Engine", "TickReport"]
