"""The algebra of aggregates: of which accumulators a result is made, and how they combine.

    lift        the state of an accumulator, from the elements of one group and instant
    combine     several states become one: by an aggregate, or by an expression of two
    inverse     a state less a part of it; extremes have none
    finish      the result, from the states of its accumulators

`FUNCTIONS` has a row for each aggregate function that is made so. Whether its accumulators have an
inverse, and the shape of the window, say who works it out:

* with an inverse, states run over any relation; without one, over an append-only relation;
* without one, over a RANGE window, the states of the last w instants are combined;
* a bag is not combined: its values are stored unchanged, and those of a group are summed anew;
* all other aggregates have no accumulators, and are recomputed from the group's tuples.

count, sum and avg of exact types are sums of weight · value, in HUGEINT or DECIMAL; those of DOUBLE
are sums of fixed-point numbers, beside a bag (`fixed_point`). Variances are those of integers of at
most 32 bits, whose squares add up exactly; of other types they are recomputed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from cqlduck.rewrite.physical.fixed_point import double, fixed, is_outside, total_of
from cqlduck.rewrite.plan import Aggregate, AggregateCall, derived_once, properties
from cqlduck.rewrite.plan.aggregates import FLOATS, aggregate_core, sums_exactly
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import WEIGHT, after, greatest, least, number
from cqlduck.rewrite.relalg.values import may_vary, sign, signed
from cqlduck.rewrite.text.parsed import function_name
from cqlduck.rewrite.text.time import Duration

N = "_cql_n"
"""How many tuples a group has."""

SMALL_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER", "BOOLEAN")
"""Types of which 2^31 values add up to a BIGINT, and n · Σx² to a HUGEINT."""

State = Callable[[str], exp.Expr]
"""From the name of an accumulator to its state."""


@dataclass(frozen=True)
class Monoid:
    """How states of an accumulator combine.

    Args:
        over: Of several: an aggregate.
        both: Of two, the first of which is NULL if there is none.
        without: Of a state and a part of it, the rest; None if nothing can be taken back.
        is_zero: Whether the state of no tuples is 0, and not NULL.
    """

    over: type[exp.AggFunc]
    both: Callable[[exp.Expr, exp.Expr], exp.Expr]
    without: Callable[[exp.Expr, exp.Expr], exp.Expr] | None = None
    is_zero: bool = False


def _sum_of_both(old: exp.Expr, new: exp.Expr) -> exp.Expr:
    known = exp.Coalesce(this=old, expressions=[number(0)])
    return exp.Add(this=known, expression=new)


def _bits(operator: type[exp.Binary]) -> Callable[[exp.Expr, exp.Expr], exp.Expr]:
    def both(old: exp.Expr, new: exp.Expr) -> exp.Expr:
        return exp.Coalesce(
            this=operator(this=old, expression=new), expressions=[old.copy(), new.copy()]
        )

    return both


ADDED = Monoid(
    exp.Sum,
    _sum_of_both,
    lambda whole, part: exp.paren(exp.Sub(this=whole, expression=part)),
    is_zero=True,
)
LEAST, GREATEST = Monoid(exp.Min, least), Monoid(exp.Max, greatest)
BITS_OF_ALL = Monoid(exp.BitwiseAndAgg, _bits(exp.BitwiseAnd))
BITS_OF_ANY = Monoid(exp.BitwiseOrAgg, _bits(exp.BitwiseOr))
BAG = Monoid(exp.Sum, _sum_of_both)
"""Values that stay as they are; what they come to is worked out for each instant."""


@dataclass(frozen=True)
class Accumulator:
    """What is known of each group and instant.

    Args:
        name: Its column.
        type: Its type.
        monoid: How its states combine.
        lift: What the weighted elements of a group and instant make of it; of a bag, whether a
            value is in it.
        value: Of a semigroup, what `monoid.over` is taken of.
        width: Over how many instants before its own it looks back; None is all.
        counts: Whether it is how many of the values are not NULL.
    """

    name: str
    type: str
    monoid: Monoid
    lift: exp.Expr
    value: exp.Expr | None = None
    width: Duration | None = None
    counts: bool = False

    @cached_property
    def is_stored(self) -> bool:
        """Whether its state is kept with the groups."""
        return self.width is None and self.monoid is not BAG

    @property
    def nothing(self) -> exp.Expr:
        """Its state where no tuple counts."""
        return cast(number(0) if self.monoid.is_zero else exp.null(), self.type)

    @property
    def of_tuples(self) -> exp.Expr:
        """Its state of tuples that stand, of which each has weight 1."""
        assert self.value is not None
        return self.monoid.over(this=self.value.copy())


@dataclass(frozen=True)
class Made:
    """Accumulators, and the result from their states."""

    accumulators: tuple[Accumulator, ...]
    finish: Callable[[State], exp.Expr]


@dataclass(frozen=True)
class Argument:
    """What an aggregate is taken of.

    Args:
        call: The aggregate.
        place: Its number.
        value: The argument, over the input's columns.
        type: Its type.
    """

    call: AggregateCall
    place: int
    value: exp.Expr
    type: str

    @property
    def known(self) -> Accumulator:
        """How many values are not NULL."""
        test = exp.Is(this=self.value.copy(), expression=exp.null())
        weight = exp.Case().when(test, number(0)).else_(column(WEIGHT))
        lift = cast(exp.Sum(this=weight), "BIGINT")
        return Accumulator(f"_cql_count{self.place}", "BIGINT", ADDED, lift, counts=True)

    def total(self, name: str, value: exp.Expr, kind: str) -> Accumulator:
        """Return the sum of weight · value."""
        weighted = exp.Mul(this=value, expression=column(WEIGHT))
        lift = exp.Coalesce(this=exp.Sum(this=weighted), expressions=[number(0)])
        return Accumulator(f"_cql_{name}{self.place}", kind, ADDED, cast(lift, kind))

    def result(self, known: Accumulator, value: exp.Expr, state: State) -> exp.Expr:
        """Return a result of the type of the call, NULL if no value is known."""
        some = after(state(known.name), number(0))
        return exp.Case().when(some, cast(value, self.call.type))


# -- the functions ---------------------------------------------------------------------------------


def _count(of: Argument) -> Made | None:
    known = of.known
    return Made((known,), lambda state: state(known.name))


def _count_if(of: Argument) -> Made | None:
    """Return how often a condition is true; NULL if it is nowhere known, as DuckDB has it."""
    if of.type != "BOOLEAN":
        return None
    weight = exp.Case().when(of.value.copy(), column(WEIGHT)).else_(number(0))
    lift = cast(exp.Sum(this=weight), "BIGINT")
    known, met = of.known, Accumulator(f"_cql_met{of.place}", "BIGINT", ADDED, lift)
    return Made((known, met), lambda state: of.result(known, state(met.name), state))


def _sum(of: Argument) -> Made | None:
    known, found = of.known, _total(of)
    if found is None:
        return None
    accumulators, total = found
    return Made((known, *accumulators), lambda state: of.result(known, total(state), state))


def _average(of: Argument) -> Made | None:
    known, found = of.known, _total(of)
    if found is None:
        return None
    accumulators, total = found

    def mean(state: State) -> exp.Expr:
        whole = cast(total(state), "DOUBLE")
        divided: exp.Expr = exp.Div(this=whole, expression=state(known.name))
        if of.type in FLOATS:
            # what is too small for a DOUBLE is no negative zero
            divided = exp.Add(this=divided, expression=double(0.0))
        return of.result(known, divided, state)

    return Made((known, *accumulators), mean)


def _total(of: Argument) -> tuple[tuple[Accumulator, ...], Callable[[State], exp.Expr]] | None:
    """Return the sum of exact numbers; of DOUBLE, that of fixed-point numbers and of a bag."""
    if sums_exactly(of.type):
        wide = "BIGINT" if of.type in SMALL_INTEGERS else "HUGEINT"
        if "DECIMAL" in of.type:
            wide = f"DECIMAL(38, {of.type.split(',')[1].strip(' )')})"
        exact = of.total("sum", cast(of.value.copy(), wide), wide)
        return (exact,), lambda state: state(exact.name)
    if of.type not in FLOATS:
        return None
    inside = of.total("sum", fixed(of.value), "HUGEINT")
    outside = Accumulator(f"_cql_outlying{of.place}", "DOUBLE", BAG, is_outside(of.value))
    both = inside, outside
    return both, lambda state: total_of(state(inside.name), state(outside.name))


def _extreme(monoid: Monoid) -> Callable[[Argument], Made | None]:
    """Return min or max; of floating-point numbers, with the sign of a zero apart."""

    def made(of: Argument) -> Made | None:
        if may_vary(of.type) and of.type not in FLOATS:
            return None
        found = _one(monoid, f"_cql_extreme{of.place}", of.value, of.type)
        if of.type not in FLOATS:
            return Made((found,), lambda state: state(found.name))
        positive = _one(monoid, f"{found.name}_sign", sign(of.value), "BOOLEAN")
        return Made(
            (found, positive),
            lambda state: signed(state(found.name), state(positive.name), of.call.type),
        )

    return made


def _semigroup(monoid: Monoid, fits: Callable[[str], bool]) -> Callable[[Argument], Made | None]:
    """Return an aggregate that is one state, which cannot be taken back, of some types."""

    def made(of: Argument) -> Made | None:
        if not fits(of.type):
            return None
        found = _one(monoid, f"_cql_extreme{of.place}", of.value, of.type)
        return Made((found,), lambda state: state(found.name))

    return made


def _one(monoid: Monoid, name: str, value: exp.Expr, kind: str) -> Accumulator:
    return Accumulator(name, kind, monoid, monoid.over(this=value.copy()), value)


def _variance(*, is_sample: bool, is_root: bool) -> Callable[[Argument], Made | None]:
    """Return Σ(x − x̄)² = (n·Σx² − (Σx)²) / n, over n or n − 1, or the root of that."""

    def made(of: Argument) -> Made | None:
        if of.type not in SMALL_INTEGERS or of.type == "BOOLEAN":
            return None
        known, wide = of.known, cast(of.value.copy(), "HUGEINT")
        total = of.total("sum", wide, "HUGEINT")
        square = exp.paren(exp.Mul(this=wide.copy(), expression=wide.copy()))
        squares = of.total("squares", square, "HUGEINT")

        def finish(state: State) -> exp.Expr:
            count, sum_ = state(known.name), state(total.name)
            spread = exp.Sub(
                this=exp.Mul(this=cast(count, "HUGEINT"), expression=state(squares.name)),
                expression=exp.Mul(this=sum_, expression=sum_.copy()),
            )
            less = exp.paren(exp.Sub(this=count.copy(), expression=number(1)))
            divisor = less if is_sample else count.copy()
            value: exp.Expr = exp.Div(this=cast(exp.paren(spread), "DOUBLE"), expression=count)
            value = exp.Div(this=value, expression=divisor)
            value = exp.Sqrt(this=value) if is_root else value
            some = after(count.copy(), number(int(is_sample)))
            return exp.Case().when(some, cast(value, of.call.type))

        return Made((known, total, squares), finish)

    return made


@dataclass(frozen=True)
class Function:
    """An aggregate function.

    Args:
        made: Makes its accumulators and result, or None if it cannot of an argument's type.
        whole: How results over parts that have no tuple in common combine, if they do.
    """

    made: Callable[[Argument], Made | None]
    whole: Monoid | None = None


def _is_integer(kind: str) -> bool:
    return sums_exactly(kind) and not kind.startswith("DECIMAL") and kind != "BOOLEAN"


FUNCTIONS: Mapping[str, Function] = {
    "count": Function(_count, ADDED),
    "sum": Function(_sum, ADDED),
    "avg": Function(_average),
    "min": Function(_extreme(LEAST), LEAST),
    "max": Function(_extreme(GREATEST), GREATEST),
    "count_if": Function(_count_if, ADDED),
    "bool_and": Function(_semigroup(LEAST, "BOOLEAN".__eq__), LEAST),
    "bool_or": Function(_semigroup(GREATEST, "BOOLEAN".__eq__), GREATEST),
    "bit_and": Function(_semigroup(BITS_OF_ALL, _is_integer), BITS_OF_ALL),
    "bit_or": Function(_semigroup(BITS_OF_ANY, _is_integer), BITS_OF_ANY),
    "var_pop": Function(_variance(is_sample=False, is_root=False)),
    "var_samp": Function(_variance(is_sample=True, is_root=False)),
    "variance": Function(_variance(is_sample=True, is_root=False)),
    "stddev_pop": Function(_variance(is_sample=False, is_root=True)),
    "stddev": Function(_variance(is_sample=True, is_root=True)),
    "stddev_samp": Function(_variance(is_sample=True, is_root=True)),
}


@dataclass(frozen=True)
class Aggregation:
    """How one aggregate is worked out: from accumulators, or again from tuples.

    Args:
        call: The aggregate.
        made: Its accumulators and its result; None if it is worked out again.
    """

    call: AggregateCall
    made: Made | None

    @cached_property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """What it is made of."""
        return () if self.made is None else self.made.accumulators

    @property
    def is_holistic(self) -> bool:
        """Whether it is worked out again."""
        return self.made is None

    @cached_property
    def bags(self) -> tuple[Accumulator, ...]:
        """Those of its accumulators that are bags."""
        return tuple([a for a in self.accumulators if a.monoid is BAG])

    @cached_property
    def is_framed(self) -> bool:
        """Whether it looks back over instants before its own."""
        return any(a.width is not None for a in self.accumulators)

    @cached_property
    def is_carried(self) -> bool:
        """Whether the state before does not give the result before, so that it is carried along."""
        return self.made is None or not all(a.is_stored for a in self.accumulators)

    def result(self, state: State) -> exp.Expr:
        """Return the result from the states of the accumulators."""
        assert self.made is not None
        return self.made.finish(state)


def aggregation(
    call: AggregateCall,
    place: int,
    types: Mapping[str, str],
    grows: bool,
    width: Duration | None = None,
) -> Aggregation:
    """Return how an aggregate is worked out.

    Args:
        call: The aggregate.
        place: Its number.
        types: The types of the input's columns.
        grows: Whether the input only grows.
        width: The range of the window if the input's tuples are those of the last instants.
    """
    if call.function == "count" and call.argument is None:
        return Aggregation(call, Made((), lambda state: state(N)))
    value = argument_of(call, types)
    if value is None:
        return Aggregation(call, None)
    made = FUNCTIONS[name_of(call)].made(Argument(call, place, value, call.argument_type or ""))
    if made is None or grows or all(a.monoid.without or a.monoid is BAG for a in made.accumulators):
        return Aggregation(call, made)
    if width is None:
        return Aggregation(call, None)
    framed = tuple(_framed(a, width) for a in made.accumulators)
    return Aggregation(call, replace(made, accumulators=framed))


def _framed(accumulator: Accumulator, width: Duration) -> Accumulator:
    """Return an accumulator of what has come in the last instants."""
    entering = exp.Where(this=after(column(WEIGHT), number(0)))
    lift = exp.Filter(this=accumulator.lift, expression=entering)
    return replace(accumulator, lift=lift, width=width)


def name_of(call: AggregateCall) -> str:
    """Return the name of an aggregate function, or one that `FUNCTIONS` has not."""
    if call.function != "other":
        return call.function
    core = aggregate_core(call.call)
    if not isinstance(core, exp.Func) or core.find(exp.Distinct) is not None:
        return ""
    return function_name(core)


def argument_of(call: AggregateCall, types: Mapping[str, str]) -> exp.Expr | None:
    """Return the argument of a function of `FUNCTIONS`, or None.

    None where it may raise: it is computed for each element, and not for the tuples that are there.
    """
    if name_of(call) not in FUNCTIONS:
        return None
    if call.function != "other":
        return column(call.argument) if call.argument else None
    values = [*aggregate_core(call.call).iter_expressions()]
    if len(values) != 1:
        return None
    (value,) = values
    if isinstance(call.call, exp.Filter):
        value = exp.Case().when(call.call.expression.this.copy(), value.copy())
    return None if can_raise(value, types) else value


@derived_once
def aggregations(node: Aggregate) -> list[Aggregation]:
    """Return how each aggregate of a node is worked out."""
    grows = properties(node.input).is_append_only
    width = properties(node.input).frame_width
    types = {known.name: known.type for known in node.input.columns}
    return [aggregation(call, place, types, grows, width) for place, call in enumerate(node.calls)]


def needs_lifetimes(node: Aggregate) -> bool:
    """Return whether an aggregate asks its input for more than elements."""
    return any([made.is_holistic for made in aggregations(node)])


def monoid_of_results(call: AggregateCall) -> Monoid | None:
    """Return how results over parts that have no tuple in common combine, or None."""
    function = FUNCTIONS.get(name_of(call))
    return None if function is None else function.whole
