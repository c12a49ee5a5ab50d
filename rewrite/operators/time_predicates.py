"""Time predicates: bounds on the other inputs of a join that follow from the order of time.

In the term of a join that has the delta of an unbounded window on a stream, its tuples are the
tick's arrivals. If the stream takes its timestamps from a column t, then t > $t0 for all of them,
and

    t ≤ x  ⊢  x > $t0        (also <, ≥, > the other way round, and BETWEEN)

for a column x of another input. So of auctions that expire, only those that are open at $t0 are
joined with the bids of a tick, however many there were. The bound follows from a condition of the
join: it removes no result, but lets DuckDB skip segments by their ranges of values.

Only columns are compared: an expression would be evaluated for tuples without a partner, and could
fail there.

If x is itself the timestamp of such a window, tuples of that input from before the tick match none
of the tick. If that holds for every other input, a combination begins with its tuple of this input,
the `latest` one. The arrivals of this input are never read again, so the join needs no store of the
stream.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from sqlglot import exp

from cqlduck.rewrite.plan import Filter, Join, Plan, Project, Sample, StreamScan, TimeWindow
from cqlduck.rewrite.plan.aggregates import INTEGERS
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import add, number, parameter
from cqlduck.rewrite.text.time import Clock

_MOMENTS = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE")


def latest(clock: Clock, node: Join) -> int | None:
    """Return the place of an input whose tuples only meet what began no later, or None."""
    places = range(len(node.inputs))
    fresh = [of_tick(node, of_time(clock, node, place)) for place in places]
    for place in places:
        if all(place in fresh[other] for other in places if other != place):
            return place
    return None


def of_tick(node: Join, bounded: Container[str]) -> set[int]:
    """Return the places of inputs of which nothing from before the tick is met.

    Args:
        node: The join.
        bounded: The columns that are after $t0 (`of_time`).
    """
    return {
        place
        for place, plan in enumerate(node.inputs)
        if any(name in bounded for name in _timestamps(plan))
    }


def of_time(clock: Clock, node: Join, changed: int) -> dict[str, exp.Expr]:
    """Return what follows from a join's conditions for inputs other than the one that changes.

    Args:
        clock: The clock.
        node: The join.
        changed: The place of the input whose tuples begin in the tick.

    Returns:
        By column, that it is after $t0.
    """
    stamps = set(_timestamps(node.inputs[changed]))
    types = {c.name: c.type for c in node.inputs[changed].columns}
    others = {
        c.name: c.type
        for place, plan in enumerate(node.inputs)
        if place != changed
        for c in plan.columns
    }
    found: dict[str, exp.Expr] = {}
    for earlier, later in _ordered(node):
        if earlier not in stamps or later not in others:
            continue
        first = _first_moment(clock, types[earlier])
        alike = others[later] == types[earlier] or {others[later], types[earlier]} <= INTEGERS
        if first is not None and alike:
            found[later] = exp.GTE(this=column(later), expression=first)
    return found


def _timestamps(plan: Plan) -> Iterator[str]:
    """Yield the columns that hold the timestamps of an endless window's tuples."""
    match plan:
        case Filter() | Sample():
            yield from _timestamps(plan.input)
        case TimeWindow(width=None, slide=None):
            yield from _timestamps(plan.input)
        case Project():
            inside = set(_timestamps(plan.input))
            for expression, known in zip(plan.expressions, plan.columns, strict=True):
                if isinstance(expression, exp.Column) and expression.name in inside:
                    yield known.name
        case StreamScan():
            yield from plan.timestamps


def _ordered(node: Join) -> Iterator[tuple[str, str]]:
    """Yield the pairs of columns of which the first is at most the second."""
    for predicate in node.predicates:
        for condition in conjuncts(predicate):
            match condition:
                case exp.LTE(this=low, expression=high) | exp.LT(this=low, expression=high):
                    pair = low, high
                case exp.GTE(this=high, expression=low) | exp.GT(this=high, expression=low):
                    pair = low, high
                case exp.Between() as between if not between.args.get("symmetric"):
                    yield from _columns(between.args["low"], between.this)
                    pair = between.this, between.args["high"]
                case exp.EQ(this=one, expression=other):
                    yield from _columns(one, other)
                    pair = other, one
                case _:
                    continue
            yield from _columns(*pair)


def _columns(low: exp.Expr, high: exp.Expr) -> Iterator[tuple[str, str]]:
    if isinstance(low, exp.Column) and isinstance(high, exp.Column):
        yield low.name, high.name


def _first_moment(clock: Clock, type_name: str) -> exp.Expr | None:
    """Return the first moment after $t0 as a value of a column's type, or None."""
    after = add(cast(parameter("t0"), "BIGINT"), 1)
    if clock.kind == "integer":
        return after if type_name in INTEGERS - {"BOOLEAN"} else None
    if type_name not in _MOMENTS:
        return None
    micros = exp.Mul(this=exp.paren(after), expression=number(clock.granularity))
    moment = exp.Anonymous(this="make_timestamp", expressions=[micros])
    return moment if type_name == "TIMESTAMP" else cast(moment, type_name)
