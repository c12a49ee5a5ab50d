"""Bands: joins by a comparison with a relation's bounds, whose pairs the aggregate above sums up.

    γ_keys;Σf (S ⋈_v>c R)            f over S;  R is a relation with bounds c

What is here says where a plan has such a join; `operators.intervals` has the law by which its pairs
can be done without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

from sqlglot import exp

from cqlduck.rewrite.physical.algebra import ADDED, aggregations
from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Join,
    Project,
    RelationScan,
    StreamScan,
    UnionAll,
    VaryingWindow,
    walk,
)
from cqlduck.rewrite.plan.aggregates import INTEGERS, value_may_raise
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.plan.lengths import paired
from cqlduck.rewrite.plan.raising import can_raise

ABOVE = (exp.GT, exp.GTE)
"""The signs of comparisons that are true of all values beyond some."""

COMPLEMENT = {exp.LT: exp.GTE, exp.LTE: exp.GT}
"""The signs that are true of all values of which these are not."""

_MIRRORED: Mapping[type[exp.Binary], type[exp.Binary]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}
_ORDERED = frozenset({"DOUBLE", "FLOAT", "DATE", "TIMESTAMP"})
_SMALL = INTEGERS - {"BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT"}


@dataclass(frozen=True)
class Comparison:
    """A comparison of an element with a bound.

    Attributes:
        value: The column of the element.
        sign: How it compares with the bound, such as `exp.GT`.
        bound: The column of the bound.
    """

    value: str
    sign: type[exp.Binary]
    bound: str


@dataclass(frozen=True)
class Conditions:
    """What a bound meets.

    Attributes:
        compared: Comparisons with it; of two the first one is from below. There is none only if
            bounds have the lengths of windows.
        timely: Further ones, with instants of elements: what they say of all is known from one.
        equal: Columns of elements, and those of bounds that are equal to them.
        own: Conditions on elements alone.
        theirs: Conditions on bounds alone.
    """

    compared: tuple[Comparison, ...]
    timely: tuple[Comparison, ...]
    equal: tuple[tuple[str, str], ...]
    own: tuple[exp.Expr, ...]
    theirs: tuple[exp.Expr, ...]


@dataclass(frozen=True)
class Band:
    """A join whose pairs an aggregate above it can do without.

    Attributes:
        aggregate: The aggregate.
        join: The join of elements and bounds.
        elements: The place of the input that has the elements.
        bounds: That of the relation that has the bounds.
        on: The conditions of the join.
        above: The projections between the join and the aggregate, the lowest first.
    """

    aggregate: Aggregate
    join: Join
    elements: int
    bounds: int
    on: Conditions
    above: tuple[Project, ...]

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that are read of bounds: equal ones, the bound, and what is shown."""
        names = {c.name for c in self.join.inputs[self.bounds].columns}
        shown = [c.name for c in self.join.columns if c.name in names]
        bounds = (one.bound for one in self.on.compared)
        return tuple(dict.fromkeys((*(b for _, b in self.on.equal), *bounds, *shown)))

    @property
    def window(self) -> VaryingWindow | None:
        """The windows of several lengths whose elements meet bounds of their length alone."""
        plan = self.join.inputs[self.elements]
        if not isinstance(plan, VaryingWindow) or self.length is None:
            return None
        # what is read of the length is read of the bound
        is_shown = any(c.name == plan.name for c in self.join.columns)
        return None if is_shown or plan.name in names_in(self.on.own) else plan

    @property
    def length(self) -> str | None:
        """The column of bounds that is the length of a window, if windows have several."""
        found = paired(self.join)
        return None if found is None else found.length

    def renamed(self) -> dict[str, str]:
        """Return the columns of bounds that the aggregate reads: what each is called there."""
        names = {c.name for c in self.join.inputs[self.bounds].columns}
        found = {c.name: c.name for c in self.join.columns if c.name in names}
        for node in self.above:
            pairs = zip(node.columns, node.expressions, strict=True)
            found = {
                known.name: found[value.name]
                for known, value in pairs
                if isinstance(value, exp.Column) and value.name in found
            }
        return found


def bands(node: Aggregate, readers: Mapping[int, int]) -> Iterator[Band]:
    """Yield the joins below an aggregate whose pairs it can do without.

    Args:
        node: The aggregate.
        readers: By node, how many nodes read it.
    """
    made = aggregations(node)
    sums = [accumulator for one in made for accumulator in one.accumulators]
    if not node.keys or any(one.is_holistic or one.bags for one in made):
        return
    if not all(one.monoid is ADDED and one.is_stored for one in sums):
        return
    for arm in node.input.inputs if isinstance(node.input, UnionAll) else (node.input,):
        above, plan = list[Project](), arm
        while isinstance(plan, Project) and readers[id(plan)] == 1:
            above.append(plan)
            plan = plan.input
        if isinstance(plan, Join) and readers[id(plan)] == 1:
            band = _band(node, plan, tuple(reversed(above)))
            if band is None or not _are_apart(band, [one.lift for one in sums]):
                continue
            # what is beyond the lower bound only is summed up, and taken away again
            if len(band.on.compared) < 2 or not any(map(_may_overflow, node.calls)):
                yield band


def _may_overflow(call: AggregateCall) -> bool:
    """Return whether the sum that an aggregate is made of may overflow."""
    value = exp.Sum(this=exp.column(call.argument or "value"))
    return call.function != "count" and value_may_raise(value, call.argument_type)


def _band(node: Aggregate, join: Join, above: tuple[Project, ...]) -> Band | None:
    """Return a join of elements and bounds; None if it is none, or may raise."""
    types = {c.name: c.type for plan in join.inputs for c in plan.columns}
    if len(join.inputs) != 2 or any(can_raise(one, types) for one in join.predicates):
        return None
    for elements, bounds in ((0, 1), (1, 0)):
        relation = join.inputs[bounds]
        if isinstance(relation, RelationScan) and not relation.source.is_query:
            on = _conditions(join, elements, bounds, types)
            if on is not None:
                return Band(node, join, elements, bounds, on, above)
    return None


def _conditions(
    join: Join, elements: int, bounds: int, types: Mapping[str, str]
) -> Conditions | None:
    """Return the conditions of a join, by what they say; None if some say something else."""
    mine, theirs = ({c.name for c in join.inputs[place].columns} for place in (elements, bounds))
    instants = {
        node.instant for node in walk(join.inputs[elements]) if isinstance(node, StreamScan)
    }
    found: dict[str, list[Any]] = {field.name: [] for field in fields(Conditions)}
    for condition in chain.from_iterable(map(_apart, join.predicates)):
        names, pair = names_in([condition]), _sides(condition, mine)
        if names <= mine or names <= theirs:
            found["own" if names <= mine else "theirs"].append(condition)
        elif pair is None:
            return None
        elif isinstance(condition, exp.EQ):
            found["equal"].append(pair)
        else:
            assert isinstance(condition, exp.Binary)
            written = type(condition)
            sign = written if condition.this.name in mine else _MIRRORED[written]
            kind = "timely" if pair[0] in instants else "compared"
            found[kind].append(Comparison(pair[0], sign, pair[1]))
    compared: list[Comparison] = found["compared"]
    compared.sort(key=lambda one: one.sign not in ABOVE)
    # with none, elements are summed up once for the windows of all lengths
    if not _are_of_one(compared) and (compared or paired(join) is None):
        return None
    if not all(_keeps_order(types[one.value], types[one.bound]) for one in compared):
        return None
    if not all(_are_told_apart(types[value], types[bound]) for value, bound in found["equal"]):
        return None
    return Conditions(**{name: tuple(those) for name, those in found.items()})


def _apart(condition: exp.Expr) -> Sequence[exp.Expr]:
    """Return the comparisons of BETWEEN, or a condition as it is."""
    if not isinstance(condition, exp.Between) or condition.args.get("symmetric"):
        return (condition,)
    value, low, high = condition.this, condition.args["low"], condition.args["high"]
    return exp.GTE(this=value, expression=low), exp.LTE(this=value.copy(), expression=high)


def _are_of_one(compared: Sequence[Comparison]) -> bool:
    """Return whether there is one comparison, or one value is between two bounds."""
    if len(compared) != 2:
        return len(compared) == 1
    lower, upper = compared
    return lower.value == upper.value and lower.sign in ABOVE and upper.sign not in ABOVE


def _sides(condition: exp.Expr, mine: set[str]) -> tuple[str, str] | None:
    """Return the columns of elements and of bounds that a condition compares; None if others."""
    if type(condition) not in (exp.EQ, *_MIRRORED):
        return None
    one, other = condition.this, condition.expression
    if not (isinstance(one, exp.Column) and isinstance(other, exp.Column)):
        return None
    return (one.name, other.name) if one.name in mine else (other.name, one.name)


def _keeps_order(value: str, bound: str) -> bool:
    """Return whether bounds that differ differ too as they are compared with values.

    DuckDB casts both sides of a comparison to one type.
    """
    kinds = {value, bound}
    if kinds <= INTEGERS - {"BOOLEAN"}:
        return True
    decimals = {kind for kind in kinds if kind.startswith("DECIMAL")}
    if kinds - decimals <= _SMALL and decimals:
        return True
    return (len(kinds) == 1 and kinds <= _ORDERED) or kinds - {"DOUBLE"} <= _SMALL


def _are_told_apart(value: str, bound: str) -> bool:
    """Return whether values that are equal to bounds that differ differ too."""
    return value == bound or _keeps_order(value, bound)


def _are_apart(band: Band, lifts: Sequence[exp.Expr]) -> bool:
    """Return whether all that is summed up is of elements, and bounds are handed on as they are."""
    theirs = {c.name for c in band.join.inputs[band.bounds].columns}
    for node in band.above:
        pairs = list(zip(node.columns, node.expressions, strict=True))
        of_bounds = {known.name for known, value in pairs if names_in([value]) & theirs}
        plain = {known.name for known, value in pairs if isinstance(value, exp.Column)}
        if not of_bounds <= plain:
            return False
        theirs = of_bounds
    return not any(names_in([lift]) & theirs for lift in lifts)
