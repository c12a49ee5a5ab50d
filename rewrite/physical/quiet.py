"""When nothing changes in what is above an input, as far as can be told without asking for it.

A relation does not change unless something pending in it is resolved. The tuples of a window in
time come when they arrive and go when they leave the window. If a stream has no element that does
either in a tick, or a relation has not changed, the table of what begins or ends is empty, and its
statement need not run: a join of five windows of which one moves runs one such statement, not five.
"""

from __future__ import annotations

from dataclasses import dataclass

from cqlduck.rewrite.plan import Filter, Plan, Project, RelationScan, Sample, StreamScan, TimeWindow
from cqlduck.rewrite.text.time import Duration


@dataclass(frozen=True)
class Quiet:
    """What has to come of a stream, or leave a window over it, for something to change.

    Args:
        source: The stream; or a relation, which has to change itself.
        lifetime: How many instants after its own an element leaves, or None for never.
        is_relation: Whether it is a relation.
    """

    source: str
    lifetime: Duration | None
    is_relation: bool = False

    def holds(self, first: int | None, last: int | None, t0: int, t1: int) -> bool:
        """Return whether nothing can change in (t0, t1], of a stream.

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
    """Return when nothing changes in a relation, or None if that cannot be told.

    Args:
        node: The relation.
    """
    while isinstance(node, (Filter, Project)):
        node = node.input
    if isinstance(node, RelationScan) and not node.source.is_query:
        return Quiet(node.source.name, None, is_relation=True)
    if not isinstance(node, TimeWindow) or node.slide is not None:
        return None
    lifetime = None if node.width is None else Duration(node.width + (not node.half_open))
    stream: Plan = node.input
    while isinstance(stream, (Filter, Project, Sample)):
        stream = stream.input
    if not isinstance(stream, StreamScan) or stream.source.is_query:
        return None
    return Quiet(stream.source.name, lifetime)
