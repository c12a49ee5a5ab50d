"""The evaluators of an aggregate, and the conditions on the node and its window for each.

panes       over a window that tumbles, a pane at a time
frames      each group's content is a frame of the log, and all results are computed by frames
running     from accumulators; results without any are frames, or recomputed
stepped     the same in a tick of one instant
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from cqlduck.rewrite.physical.algebra import Aggregation, aggregations
from cqlduck.rewrite.plan import (
    Aggregate,
    Filter,
    Project,
    RowWindow,
    TimeWindow,
    properties,
)


def fits_panes(node: Aggregate, made: Sequence[Aggregation]) -> bool:
    """Return whether an aggregate is worked out a pane at a time."""
    return (
        tumbling(node) is not None
        and properties(node.input).has_unit_weights
        and not any(one.bags for one in made)
    )


def tumbling(node: Aggregate) -> TimeWindow | None:
    """Return the window that tumbles below an aggregate, or None."""
    plan = node.input
    while isinstance(plan, (Filter, Project)):
        plan = plan.input
    if not isinstance(plan, TimeWindow) or not plan.hop or plan.half_open:
        return None
    return plan if plan.width == plan.slide else None


def has_frame(node: Aggregate) -> bool:
    """Return whether each group of an aggregate is a frame of the log."""
    return properties(node.input).frame_width is not None or _is_row_frame(node)


def is_one_frame(node: Aggregate, made: Sequence[Aggregation]) -> bool:
    """Return whether all aggregates of a partition are worked out as one frame of its rows.

    Sums of doubles are not: they would differ in their last bits where nothing changed.
    """
    return (
        bool(made)
        and not node.everything
        and any(one.is_holistic for one in made)
        and not any(one.bags for one in made)
        and _is_row_frame(node)
    )


def is_evaluated_at_once(node: Aggregate, made: Sequence[Aggregation]) -> bool:
    """Return whether all results are worked out at once, and kept with the groups."""
    return is_one_frame(node, made) or fits_panes(node, made)


def window_of_its_own(node: Aggregate, readers: Mapping[int, int]) -> RowWindow | None:
    """Return the window whose rows an aggregate alone reads, all its results being frames."""
    if not is_one_frame(node, aggregations(node)):
        return None
    return only_window(node, readers)


def only_window(node: Aggregate, readers: Mapping[int, int]) -> RowWindow | None:
    """Return the ROWS window whose rows an aggregate alone reads, or None."""
    window = row_window(node)
    plan = node.input
    while isinstance(plan, Project) and readers[id(plan)] == 1:
        plan = plan.input
    return window if plan is window and readers[id(plan)] == 1 else None


def _is_row_frame(node: Aggregate) -> bool:
    return properties(node.input).has_unit_weights and row_window(node) is not None


def row_window(node: Aggregate) -> RowWindow | None:
    """Return the ROWS window that is partitioned by an aggregate's keys, or None."""
    plan = node.input
    keys = set(node.keys)
    while isinstance(plan, Project):
        made = dict(zip((c.name for c in plan.columns), plan.expressions, strict=True))
        sources = [made[key] for key in keys]
        if not all(isinstance(source, exp.Column) for source in sources):
            return None
        keys = {source.name for source in sources}
        plan = plan.input
    if not isinstance(plan, RowWindow) or plan.width is not None or plan.slide is not None:
        return None
    return plan if keys == set(plan.partition_by) else None
