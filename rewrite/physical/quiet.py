"""When nothing changes in what is above a stream, as far as the stream's ends tell.

The tuples of a window in time come when they arrive and go when they leave the window. If a stream
has no element that does either in a tick, the table of what begins or ends is empty, and its
statement need not run: a join of five windows of which one moves runs one such statement, not five.
"""

from __future__ import annotations

from dataclasses import dataclass

from cqlduck.rewrite.plan import Filter, Plan, Project, Sample, StreamScan, TimeWindow
from cqlduck.rewrite.text.time import Duration


@dataclass(frozen=True)
class Quiet:
    """What has to come of a stream, or leave a window over it, for something to change.

    Args:
        stream: The stream.
        lifetime: How many instants after its own an element leaves, or None for never.
    """

    stream: str
    lifetime: Duration | None

    def holds(self, first: int | None, last: int | None, t0: int, t1: int) -> bool:
        """Return whether nothing can change in (t0, t1].

        Args:
            first: The first instant of which the stream has had elements, or None.
            last: The last one, or None.
            t0: The instant before the tick.
            t1: The last one of the tick.
        """
        if first is None or last is None:
            return True
        if first <= t1 and t0 < last:
            return False
        back = self.lifetime
        return back is None or not (first <= t1 - back and t0 - back < last)


def quiet(node: Plan) -> Quiet | None:
    """Return when nothing changes in a relation, or None if the ends of a stream cannot tell.

    Args:
        node: The relation.
    """
    while isinstance(node, (Filter, Project)):
        node = node.input
    if not isinstance(node, TimeWindow) or node.slide is not None:
        return None
    lifetime = None if node.width is None else Duration(node.width + (not node.half_open))
    stream: Plan = node.input
    while isinstance(stream, (Filter, Project, Sample)):
        stream = stream.input
    if not isinstance(stream, StreamScan) or stream.source.is_query:
        return None
    return Quiet(stream.source.name, lifetime)
