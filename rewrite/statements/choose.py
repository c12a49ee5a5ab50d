"""From a node of a logical plan to the operator that runs it, in one place.

`ALTERNATIVES` lists for each kind of node its operators, in order, each with the condition under
which it is possible. The first possible one is chosen. A condition reads properties of the node, of
its place in the plan, and of the form of the tick; measurements choose among forms. A query at
boundaries (`at_boundaries`) has one operator for all of its nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cqlduck.rewrite.operators import at_boundaries, hopping
from cqlduck.rewrite.operators.anew import CompleteRefresh
from cqlduck.rewrite.operators.caches import CachedSegment, StandingSegment
from cqlduck.rewrite.operators.consolidation import Consolidation
from cqlduck.rewrite.operators.counting import Counts
from cqlduck.rewrite.operators.duplicate_eliminate import First
from cqlduck.rewrite.operators.frames import Frames
from cqlduck.rewrite.operators.join import (
    Combinations,
    Pipelines,
    StoredCombinations,
    Unsettled,
    UnsettledLengths,
)
from cqlduck.rewrite.operators.keyed import KeyedRecomputation
from cqlduck.rewrite.operators.last_row import LastRow, is_last_row
from cqlduck.rewrite.operators.leaves import QueryLog, Relation, Stream
from cqlduck.rewrite.operators.linear import Minus, Projection, Selection, Union
from cqlduck.rewrite.operators.panes import Panes
from cqlduck.rewrite.operators.partial_caches import PartialSegment, PartialStandingSegment
from cqlduck.rewrite.operators.pipelines import of as pipelines_of
from cqlduck.rewrite.operators.recompute import OneByOne, Recomputation
from cqlduck.rewrite.operators.row_windows import LastRows
from cqlduck.rewrite.operators.running import Running
from cqlduck.rewrite.operators.sampling import Sampling
from cqlduck.rewrite.operators.stepped import Stepped
from cqlduck.rewrite.operators.temporal_filter import Cut
from cqlduck.rewrite.operators.time_windows import Stub
from cqlduck.rewrite.operators.to_stream import Dstream, Istream, Rstream
from cqlduck.rewrite.operators.top_k import TopK, can_choose
from cqlduck.rewrite.operators.traces import Log, Moments
from cqlduck.rewrite.operators.varying_windows import VaryingStub
from cqlduck.rewrite.physical import instances
from cqlduck.rewrite.physical.algebra import aggregations
from cqlduck.rewrite.physical.bands import bands
from cqlduck.rewrite.physical.evaluators import fits_panes, is_one_frame, window_of_its_own
from cqlduck.rewrite.physical.form import UNSTAGED, Form
from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.place import Place
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Aggregate,
    Anew,
    Cache,
    Difference,
    Distinct,
    During,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Recompute,
    RelationScan,
    RowWindow,
    Sample,
    SetOperation,
    StreamScan,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    VaryingWindow,
    bottom_up,
    guards,
    properties,
    unique,
    walk,
)
from cqlduck.rewrite.plan.divided import divided
from cqlduck.rewrite.plan.segments import says_its_end
from cqlduck.rewrite.text.time import Clock

Condition = Callable[[Any, Place], bool]


def _always(node: Plan, place: Place) -> bool:
    """Return true: it can be had wherever none before it can."""
    return True


@dataclass(frozen=True)
class Alternative:
    """An operator that a node may become.

    Args:
        operator: The operator.
        condition: Whether it can be had for a node in its place.
        reason: In which case that is, for people.
    """

    operator: type[Operator[Any]]
    condition: Condition = _always
    reason: str = "else"


def _is_whole_row(node: Aggregate, place: Place) -> bool:
    return is_one_frame(node, aggregations(node))


def _is_pane(node: Aggregate, place: Place) -> bool:
    return fits_panes(node, aggregations(node))


def _shows_last_row(node: RowWindow, place: Place) -> bool:
    return is_last_row(node) and id(node) not in place.framed


def _has_pipelines(node: Join, place: Place) -> bool:
    # in a large tick all inputs change, and the combinations are many
    return place.form.staged and len(list(pipelines_of(place.clock, node))) > 1


def _has_steps(node: Join, place: Place) -> bool:
    return place.form.stepwise and len(node.inputs) > 2


def _is_banded(node: Join, place: Place) -> bool:
    return place.form.intervals and id(node) in place.banded


def _has_lengths(node: Join, place: Place) -> bool:
    return _is_banded(node, place) and place.banded[id(node)].window is not None


def _may_be_cut_short(node: Join, place: Place) -> bool:
    # above what is stored, a condition leaves out no tuple for which one of the join would raise
    return id(node) in place.below_conditions and guards.may_raise(node)


def _is_read_by_several(node: Plan, place: Place) -> bool:
    return place.readers.get(id(node), 0) > 1


def _ends_are_said(node: Cache, place: Place) -> bool:
    return all(map(says_its_end, node.input.inputs))


ALTERNATIVES: Mapping[type[Plan], Sequence[Alternative]] = {
    StreamScan: (Alternative(Stream),),
    RelationScan: (
        Alternative(QueryLog, lambda node, _: node.source.is_query, "it is another query"),
        Alternative(Relation),
    ),
    Filter: (Alternative(Selection),),
    Project: (Alternative(Projection),),
    UnionAll: (Alternative(Union),),
    Difference: (Alternative(Minus),),
    Sample: (Alternative(Sampling),),
    During: (Alternative(Cut),),
    TimeWindow: (Alternative(Stub),),
    VaryingWindow: (Alternative(VaryingStub),),
    RowWindow: (
        Alternative(LastRow, _shows_last_row, "ROWS 1 that no aggregate frames"),
        Alternative(LastRows),
    ),
    Join: (
        Alternative(UnsettledLengths, _has_lengths, "the same, over windows of several lengths"),
        Alternative(Unsettled, _is_banded, "an aggregate sums up its pairs by interval"),
        Alternative(Pipelines, _has_pipelines, "stages, and several inputs change"),
        Alternative(Pipelines, _has_steps, "each input is met in a statement of its own"),
        Alternative(StoredCombinations, _is_read_by_several, "several operators read it"),
        Alternative(StoredCombinations, _may_be_cut_short, "it may raise, below other conditions"),
        Alternative(Combinations),
    ),
    Aggregate: (
        Alternative(Panes, _is_pane, "the window tumbles"),
        Alternative(Frames, _is_whole_row, "all of a group is a frame of the log"),
        Alternative(Stepped, lambda _, place: place.form.single, "the tick has one instant"),
        Alternative(Running),
    ),
    Distinct: (Alternative(First),),
    SetOperation: (Alternative(Counts),),
    Net: (
        Alternative(Counts, lambda node, _: node.is_kept, "it is read as standing"),
        Alternative(Consolidation),
    ),
    Recompute: (
        Alternative(OneByOne, lambda node, _: node.alone is not None, "no LATERAL can hold it"),
        Alternative(KeyedRecomputation, lambda node, _: bool(node.keys), "keys divide its inputs"),
        Alternative(TopK, lambda node, _: can_choose(node), "LIMIT of an input alone"),
        Alternative(Recomputation),
    ),
    Anew: (Alternative(CompleteRefresh),),
    ToStream: (
        Alternative(Istream, lambda node, _: node.kind == "istream", "ISTREAM"),
        Alternative(Dstream, lambda node, _: node.kind == "dstream", "DSTREAM"),
        Alternative(Rstream, reason="RSTREAM"),
    ),
    Cache: (
        Alternative(
            PartialSegment,
            lambda node, place: node.partial is not None and _ends_are_said(node, place),
            "of the keys that are asked for, its inputs are windows in time",
        ),
        Alternative(
            PartialStandingSegment,
            lambda node, _: node.partial is not None,
            "of the keys that are asked for",
        ),
        Alternative(CachedSegment, _ends_are_said, "its inputs are windows in time"),
        Alternative(StandingSegment),
    ),
    Trace: (
        Alternative(
            Moments,
            lambda node, _: properties(node).is_instantaneous,
            "nothing lives beyond its instant",
        ),
        Alternative(Log),
    ),
}


def choose(node: Plan, place: Place) -> Alternative:
    """Return the first alternative that can be had for a node.

    Args:
        node: The node.
        place: Its place.
    """
    if node is place.at_boundaries:
        return Alternative(at_boundaries.AtBoundaries, reason="it changes at boundaries alone")
    return next(a for a in ALTERNATIVES[type(node)] if a.condition(node, place))


def appoint(writer: Writer, place: Place) -> None:
    """Number the operators of a writer's plan from the top, name their instances, and choose each.

    Args:
        writer: Has no operators yet.
        place: Where its nodes stand.
    """
    writer.place = place
    before = writer.plan if writer.divided is None else writer.divided.before
    numbers: dict[int, int] = {}
    names: dict[int, str] = {}
    for number, node in enumerate(unique(before)):
        numbers[id(node)] = number
        names[id(node)] = instances.name(writer.query, node, names.values())
    for node in unique(writer.plan):
        origin = writer.origin(node)
        name = names[id(origin.node)]
        writer.numbers[id(node)] = numbers[id(origin.node)]
        writer.instances[id(node)] = f"{name}_{origin.part}" if origin.part else name
        writer.operators[id(node)] = choose(node, place).operator(node, writer)


def in_ticks(plan: Plan, clock: Clock, form: Form) -> Place:
    """Return the place of nodes in ticks, where one operator may take several nodes together."""
    place = Place(plan, clock, form)
    for node in bottom_up(plan):
        if isinstance(node, Aggregate):
            window = window_of_its_own(node, place.readers)
            if window is not None:
                place.framed[id(window)] = node
    place.at_boundaries = hopping.relation_of(plan)
    if form.staged and place.at_boundaries is None:
        for node in unique(plan):
            if isinstance(node, Aggregate) and not (
                _is_pane(node, place) or _is_whole_row(node, place)
            ):
                found = bands(node, place.readers)
                place.banded |= {
                    id(band.join): band for band in found if _has_pipelines(band.join, place)
                }
    return place


def appointed(query: str, plan: Plan, clock: Clock, form: Form = UNSTAGED) -> Writer:
    """Return a writer of ticks, whose operators are chosen and have written nothing.

    Args:
        query: The query, after which instances of operators are called.
        plan: The plan.
        clock: The clock.
        form: The form of the ticks.
    """
    cached = divided(plan, form.caches) if form.caches else None
    plan = plan if cached is None else cached.plan
    writer = Writer(query, plan, clock, form, divided=cached)
    appoint(writer, in_ticks(plan, clock, form))
    return writer


def writer_of(query: str, plan: Plan, clock: Clock, form: Form = UNSTAGED) -> Writer:
    """Return a writer of ticks, whose operators have written what they keep; see `appointed`."""
    writer = appointed(query, plan, clock, form)
    plan, whole = writer.plan, writer.at_boundaries
    within = {
        id(below) for node in unique(plan) if isinstance(node, Anew) for below in walk(node.input)
    }
    for node in bottom_up(plan) if whole is None else (whole,):
        if id(node) not in within:
            writer.operator(node).keep()
    return writer
