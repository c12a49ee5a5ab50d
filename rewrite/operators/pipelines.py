"""Pipelines of a join: the order in which the delta of one input meets the others.

The term of a join with ΔRᵢ is written as one pipeline (MJoin; thesis, section 5.1):

    ( … (ΔRᵢ ⋈ Rⱼ) ⋈ Rₖ … )        with one running lifetime

Each step is a SELECT around the previous one. It joins one more input, and passes on

    [max(enter, enterⱼ), min(leave, leaveⱼ))        if that is not empty

and the product of the weights. Intervals that overlap pairwise overlap all together, so the running
lifetime replaces conditions between all pairs of inputs. It also fixes the order: DuckDB does not
reorder joins across a projection that computes something, and it never sees an inequality between
lifetimes as the condition of a join of two inputs that share no equality.

By default the order is greedy. The next input is one that an equality links to the inputs so far;
among several, those that match a tuple at most once come first, as they cannot add tuples, then the
first in the text. An input without a link comes when no other is left. Which orders are legal is
said by `join_graph`; where there are several, the order is a point of choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from cqlduck.rewrite.operators import reduction, time_predicates
from cqlduck.rewrite.operators.statement_marks import PIPELINE, REDUCIBLE, mark
from cqlduck.rewrite.plan import (
    Join,
    guards,
    orders,
    properties,
)
from cqlduck.rewrite.plan.join_graph import join_graph, mask_of, meets_once, owners, places
from cqlduck.rewrite.plan.orders import ORDER, Order, Site
from cqlduck.rewrite.plan.raising import can_raise, parts, under_try
from cqlduck.rewrite.plan.trees import nodes
from cqlduck.rewrite.relalg import Rows, joined
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    WEIGHT,
    forever,
    greatest,
    least,
    named,
    qualified,
)
from cqlduck.rewrite.relalg.equalities import preserving_sides
from cqlduck.rewrite.text.time import Clock


@dataclass(frozen=True)
class Pipeline:
    """The term of a join in which one input changes.

    Attributes:
        changed: The place of the input that changes; the first in the order.
        order: The places of all inputs, in the order in which they are met.
        standing: The places of inputs of which only what stands through the whole tick is met.
        fresh: The places of inputs of which nothing from before the tick is met.
        implied: By column, what the conditions imply for the other inputs (`time_predicates`).
        site: Where its order is chosen, if there is a choice.
        join: Where caches of the join are chosen, if it may have some.
        filters: Where the order of its filters is chosen, if inputs are among them.
        behind: By the id of a condition inputs that are met before it is tested, in order.
    """

    changed: int
    order: Order
    standing: frozenset[int]
    fresh: frozenset[int]
    implied: Mapping[str, exp.Expr]
    site: Site | None = None
    join: Site | None = None
    filters: Site | None = None
    behind: Mapping[int, frozenset[int]] = field(default_factory=dict)


def of(clock: Clock, node: Join) -> Iterator[Pipeline]:
    """Yield the pipelines of a join: one for each input, but for those that are always empty.

    In the pipeline of Rᵢ an input of smaller number stands through the whole tick. Which number an
    input has is ours to say: a `[NOW]` input never stands, so it gets the smallest, and all other
    pipelines are empty. So is one that asks an input to stand whose tuples have to be of the tick.
    """
    latest = time_predicates.latest(clock, node)
    numbered = sorted(
        range(len(node.inputs)),
        key=lambda place: not properties(node.inputs[place]).is_instantaneous,
    )
    for number, place in enumerate(numbered):
        implied = time_predicates.of_time(clock, node, place)
        fresh = time_predicates.of_tick(node, implied) - {place}
        before = set() if latest is not None else set(numbered[:number])
        if latest not in (None, place) or fresh & before:
            continue
        if any(properties(node.inputs[other]).is_instantaneous for other in before):
            continue
        yield Pipeline(place, order(node, place), frozenset(before), frozenset(fresh), implied)


def anywhere(node: Join, place: int) -> Pipeline:
    """Return the pipeline of an input that meets all of the others, whether they stand or not."""
    return Pipeline(place, order(node, place), frozenset(), frozenset(), {})


def site(node: Join, number: int, pipe: Pipeline) -> Site | None:
    """Return where the order of a pipeline is chosen, or None if only one is legal.

    Args:
        node: The join.
        number: The number of its operator.
        pipe: The pipeline, in the default order.
    """
    has_choice = len(node.inputs) > 2 and join_graph(node).has_choice(pipe.order)
    return Site(ORDER, number, pipe.changed) if has_choice else None


def order(node: Join, first: int) -> Order:
    """Return the places of a join's inputs in the order in which a pipeline meets them by default.

    Args:
        node: The join.
        first: The place of the input that the pipeline begins with.
    """
    graph = join_graph(node)
    met = [first]
    while len(met) < graph.count:
        nearest = graph.following(mask_of(met))
        met.append(min(nearest, key=lambda at: (not meets_once(node, set(met), at), at)))
    return tuple(met)


@dataclass(frozen=True)
class Arm:
    """A part of a pipeline's combinations, and where its conditions stand.

    Attributes:
        early: Conditions that never raise; each is tested as soon as what it reads is joined.
        guarded: Conditions that may raise, and those behind them in the text: tested in order, each
            of combinations alone that stand together and meet all before it.
    """

    early: tuple[exp.Expr, ...]
    guarded: tuple[exp.Expr, ...] = ()


def arms(node: Join) -> Iterator[Arm]:
    """Yield the arms of a join: disjoint parts of its combinations, that together are all.

    A condition that may raise is applied to combinations that stand together and meet the
    conditions before it in the text, to no others. So it and those behind it stand last, guarded.
    Where an equality is among these without which inputs would not be linked, the join is cut in
    two by whether the operands of the condition raise, if each is of one input:

        σ_p∧q (R ⋈ S)  =  σ_p∧q (σ_raises(e) R ⋈ S)  +  σ_TRY(p)∧q (σ_¬raises(e) R ⋈ S)

    The first part is guarded, and of few tuples. In the second TRY(p) never raises, so its equality
    may be that of the join. An operand of several inputs cannot be told before they are joined:
    then the equalities behind it count as if they stood before it.
    """
    types = {c.name: c.type for plan in node.inputs for c in plan.columns}
    whose = owners(node)

    def is_one(tree: exp.Expr) -> bool:
        return len(places(tree, whose)) <= 1

    early: list[exp.Expr] = []
    for number, condition in enumerate(node.predicates):
        rest = node.predicates[number:]
        if not can_raise(condition, types):
            early.append(condition)
            continue
        links = [c for c in rest if _is_link(c, whose)]
        if not links or _are_linked(node, whose, early):
            yield Arm(tuple(early), rest)
            return
        raising = list(dict.fromkeys(parts(condition, types, is_one)))
        if any(len(places(part, whose)) != 1 for part in raising):
            safe = [c for c in links if not can_raise(c, types)]
            yield Arm((*early, *safe), tuple(c for c in rest if c not in safe))
            return
        for part in raising:
            yield Arm((*early, _raises(part)), rest)
            early.append(exp.not_(_raises(part)))
        early.append(under_try(condition, raising))
    yield Arm(tuple(early))


def _is_link(condition: exp.Expr, whose: Mapping[str, int]) -> bool:
    """Return whether a condition is an equality between inputs."""
    if not isinstance(condition, (exp.EQ, exp.NullSafeEQ)):
        return False
    one, other = (places(side, whose) for side in (condition.this, condition.expression))
    return bool(one and other) and not one & other


def _are_linked(node: Join, whose: Mapping[str, int], conditions: list[exp.Expr]) -> bool:
    """Return whether equalities connect all inputs."""
    groups = [{place} for place in range(len(node.inputs))]
    for condition in conditions:
        if _is_link(condition, whose):
            read = places(condition, whose)
            met = [group for group in groups if group & read]
            groups = [group for group in groups if not group & read] + [set().union(*met)]
    return len(groups) == 1


def _raises(part: exp.Expr) -> exp.Expr:
    """Return whether an expression raises: its hash is never NULL, so TRY gives that of no other.

    Of `part IS NULL` DuckDB may know the answer without evaluating the part.
    """
    known = exp.Anonymous(this="hash", expressions=[part.copy()])
    return exp.Is(this=exp.Try(this=known), expression=exp.null())


def _guard(ahead: list[exp.Expr], guarded: Iterable[exp.Expr]) -> exp.Expr:
    """Return conditions that are tested in order, after those ahead.

    It reads both sides of the last join, so DuckDB does not test it of one of them alone.
    """
    return guards.nested([exp.and_(*(c.copy() for c in ahead)), *guarded])


Keep = Callable[[int, Rows], Rows]
"""Keeps what a step of a pipeline gives, by its number, in a temporary table; returns its rows."""


def nested(
    node: Join,
    pipe: Pipeline,
    arm: Arm,
    legs: Mapping[int, Rows],
    arranged: Callable[[Sequence[exp.Expr]], Sequence[exp.Expr]] = tuple,
    *,
    tested: Sequence[exp.Expr] = (),
    reduces: bool = False,
    keep: Keep | None = None,
) -> Rows:
    """Return a pipeline as one SELECT a step: (columns, `_cql_enter`, `_cql_leave`, `_weight`).

    Args:
        node: The join.
        pipe: The pipeline.
        arm: Which of its combinations.
        legs: By place, the lifetimes of each input that it meets.
        arranged: Puts conditions whose order is chosen in order.
        tested: Conditions that what changes has met in its leg.
        reduces: Whether states are reduced by the keys of the delta (`reduction`).
        keep: Keeps what a step gives, which is a delta for the next one then; None nests them.
    """
    whose = owners(node)
    types = {c.name: c.type for plan in node.inputs for c in plan.columns}
    shown = {c.name for c in node.columns}
    done = {id(condition) for condition in tested}
    waiting = [*(c for c in arm.early if id(c) not in done), *pipe.implied.values()]
    rows, name = legs[pipe.changed], f"i{pipe.changed}"
    delta = rows.table
    has_end = not properties(node.inputs[pipe.changed]).never_expires
    met, of_delta = {pipe.changed}, {pipe.changed}
    for step, place in enumerate(pipe.order[1:], 1):
        met.add(place)
        plan, other = node.inputs[place], f"i{place}"
        ready, waiting = _ready(pipe, waiting, whose, met)
        ends = not properties(plan).never_expires
        conditions = [preserving_sides(condition, types).copy() for condition in arranged(ready)]
        if ends:
            conditions.append(_before(name, other))
        if has_end:
            conditions.append(_before(other, name))
        conditions += _behind(pipe, name, other, ready)
        own = {known.name for known in plan.columns}
        later = [*waiting, *arm.guarded]
        if place == pipe.order[-1]:
            later = []
            if arm.guarded:
                conditions.append(_guard([*conditions, _both(name, other)], arm.guarded))
        read = {c.name for condition in later for c in nodes(condition, exp.Column)}
        listed = [n for n, owner in whose.items() if owner in met and n in read | shown]
        ending = [table for table, has in ((name, has_end), (other, ends)) if has]
        leg, weight = legs[place], _weight(pipe, name, other)
        by = () if delta is None else reduction.keys(ready, types, whose, of_delta, place)
        if delta is not None and len(by) > 1 and reduction.reads_state(leg):
            mark(weight, REDUCIBLE)
            leg = reduction.reduced(leg, delta, by) if reduces else leg
        rows = joined(
            {name: rows, other: leg},
            [
                *(qualified(other if column in own else name, column) for column in listed),
                named(_greatest_enter(pipe, name, other), ENTER),
                named(_least_leave(pipe, ending), LEAVE),
                named(weight, WEIGHT),
            ],
            conditions,
        )
        if keep is not None and place != pipe.order[-1]:
            rows, of_delta = keep(step, rows), set(met)
            delta = rows.table
        name, has_end = f"step{step}", has_end or ends
    return rows


def _weight(pipe: Pipeline, one: str, other: str) -> exp.Expr:
    """Return the weight of a combination of two, marked with what is chosen of its pipeline."""
    weight = exp.Mul(this=qualified(one, WEIGHT), expression=qualified(other, WEIGHT))
    if len(pipe.order) > 2:
        mark(weight, PIPELINE)
    if pipe.site is not None:
        orders.mark(weight, pipe.site)
    return weight


def _greatest_enter(pipe: Pipeline, one: str, other: str) -> exp.Expr:
    """Return where a combination of two begins, marked with where its caches are chosen."""
    enter = greatest(qualified(one, ENTER), qualified(other, ENTER))
    if pipe.join is not None:
        orders.mark(enter, pipe.join)
    return enter


def _least_leave(pipe: Pipeline, tables: Sequence[str]) -> exp.Expr:
    """Return where the first of some lifetimes ends, marked with what is chosen of filters.

    Without any it never ends.
    """
    leaves = [qualified(table, LEAVE) for table in tables]
    leave = least(*leaves) if len(leaves) > 1 else leaves[0] if leaves else forever()
    return leave if pipe.filters is None else orders.mark(leave, pipe.filters)


def _ready(
    pipe: Pipeline, waiting: Iterable[exp.Expr], whose: Mapping[str, int], met: set[int]
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return of conditions those of which all is there that they wait for, and the others."""
    ready: list[exp.Expr] = []
    others: list[exp.Expr] = []
    for condition in waiting:
        awaited = places(condition, whose) | pipe.behind.get(id(condition), set())
        (ready if awaited <= met else others).append(condition)
    return ready, others


def _behind(pipe: Pipeline, one: str, other: str, ready: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """Yield what tests, of combinations of two alone, the conditions that have waited for inputs.

    It reads both sides, so that DuckDB does not test it before they are joined.
    """
    held = [condition for at in pipe.behind for condition in ready if id(condition) == at]
    if held:
        tested = _guard([_both(one, other)], held)
        yield tested if pipe.filters is None else orders.mark(tested, pipe.filters)


def _both(one: str, other: str) -> exp.Expr:
    """Return what is true of all combinations, and reads both sides."""
    return exp.LT(
        this=greatest(qualified(one, ENTER), qualified(other, ENTER)),
        expression=forever(),
    )


def _before(one: str, other: str) -> exp.Expr:
    """Return that the lifetime of one begins before that of the other ends."""
    return exp.LT(this=qualified(one, ENTER), expression=qualified(other, LEAVE))
