"""The algebra of aggregates: the parts of a group's state of which a result is made.

    lift        a part of the elements of one group and instant (`Part.delta`)
    combine     parts of several instants become one: by sum, or by MIN and MAX (`Part.extreme`)
    inverse     parts that are summed have their negative; extremes have none
    finish      the result from the parts (`value_of`)

* count, sum and avg of exact types are sums of weight · value, in HUGEINT or DECIMAL.
* sum and avg of DOUBLE are sums of fixed-point numbers, so nothing drifts: a value x with
  2⁻³⁰ ≤ |x| ≤ 2³⁷ becomes round(x · 2⁶⁰), which is exact for |x| ≥ 2⁻⁸ and wrong by less than 2⁻³¹
  of |x| otherwise, in at most 98 of the 127 bits of a HUGEINT. All others, infinities and NaN among
  them, are outliers: they are stored unchanged, and those of a group at an instant are summed anew.
  So a value that has left leaves nothing behind.
* min and max of an append-only relation are running extremes; over a RANGE window they are the
  extremes of the last w instants, of each of which the extremes are computed first.
* All other aggregates have no parts, and are recomputed from the group's tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.plan import Aggregate, AggregateCall, kept, properties
from cqlduck.rewrite.plan.aggregates import FLOATS, sums_exactly
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import TS, WEIGHT, after, named, number, union_all
from cqlduck.rewrite.relalg.values import may_vary, sign, signed

N = "_cql_n"
"""How many tuples a group has."""

SMALL = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER", "BOOLEAN")
"""Types of which 2^31 values add up to a BIGINT."""

SCALE = 2.0**60
LEAST, MOST = 2.0**-30, 2.0**37


@dataclass(frozen=True)
class Part:
    """What a rule knows of each group and instant.

    Args:
        name: Its column.
        type: Its type.
        delta: What the elements of a group and instant make of it.
        extreme: MIN or MAX, if it is summed up by that and not by adding.
        value: What an extreme is taken of.
        width: Over how many instants before its own an extreme looks back; None is all.
        counts: Whether it is how many of the values are not NULL.
    """

    name: str
    type: str
    delta: exp.Expr
    extreme: Callable[..., exp.Expr] | None = None
    value: exp.Expr | None = None
    width: int | None = None
    counts: bool = False


@dataclass(frozen=True)
class Rule:
    """How one aggregate is made of parts of the state, or worked out again.

    Args:
        call: The aggregate.
        parts: What it is made of.
        outliers: Whether values that are no fixed-point numbers are added to it.
        again: Whether it is worked out again.
    """

    call: AggregateCall
    parts: tuple[Part, ...]
    outliers: bool = False
    again: bool = False

    @property
    def carried(self) -> bool:
        """Whether the state before does not give the result before, so that it is carried along."""
        return self.outliers or self.again or any(p.width is not None for p in self.parts)


def rule_of(call: AggregateCall, place: int, grows: bool, width: int | None = None) -> Rule:
    """Return the rule of an aggregate.

    Args:
        call: The aggregate.
        place: Its number.
        grows: Whether the input only grows.
        width: The range of the window if the input's tuples are those of the last instants.
    """
    kind = call.argument_type or ""
    if call.function == "count" and call.argument is None:
        return Rule(call, ())
    if call.argument is None or call.function == "other":
        return Rule(call, (), again=True)
    argument = column(call.argument)
    known = Part(
        f"_cql_count{place}",
        "BIGINT",
        cast(exp.Sum(this=_if_known(argument, column(WEIGHT), number(0))), "BIGINT"),
        counts=True,
    )
    if call.function == "count":
        return Rule(call, (known,))
    if call.function in ("min", "max"):
        if width is None and not grows:
            return Rule(call, (), again=True)
        if may_vary(kind) and kind not in FLOATS:
            return Rule(call, (), again=True)
        parts = [_extreme(call, f"_cql_extreme{place}", kind, argument, None if grows else width)]
        if kind in FLOATS:
            name = f"_cql_extreme{place}_sign"
            parts.append(_extreme(call, name, "BOOLEAN", sign(argument), parts[0].width))
        return Rule(call, tuple(parts))
    if sums_exactly(kind):
        wide = "BIGINT" if kind in SMALL else "HUGEINT"
        if "DECIMAL" in kind:
            wide = f"DECIMAL(38, {kind.split(',')[1].strip(' )')})"
        value = cast(argument, wide)
        weighted = exp.Mul(this=value, expression=column(WEIGHT))
        total = exp.Coalesce(this=exp.Sum(this=weighted), expressions=[number(0)])
        exact = cast(total, wide)
        return Rule(call, (known, Part(f"_cql_sum{place}", wide, exact)))
    if kind in FLOATS:
        fixed = cast(
            exp.Mul(this=cast(argument, "DOUBLE"), expression=_double(SCALE)),
            "HUGEINT",
        )
        inside = exp.Case().when(_in_band(argument), fixed)
        weighted = exp.Mul(this=inside, expression=column(WEIGHT))
        total = exp.Coalesce(this=exp.Sum(this=weighted), expressions=[number(0)])
        exact = cast(total, "HUGEINT")
        return Rule(call, (known, Part(f"_cql_sum{place}", "HUGEINT", exact)), outliers=True)
    return Rule(call, (), again=True)


def _extreme(call: AggregateCall, name: str, kind: str, value: exp.Expr, width: int | None) -> Part:
    """Return a running extreme of a value; with a width, of what has come in the last instants."""
    extreme = exp.Min if call.function == "min" else exp.Max
    delta: exp.Expr = extreme(this=value.copy())
    if width is not None:
        entering = exp.Where(this=after(column(WEIGHT), number(0)))
        delta = exp.Filter(this=delta, expression=entering)
    return Part(name, kind, delta, extreme, value, width)


@kept
def rules_of(node: Aggregate) -> list[Rule]:
    """Return the rule of each aggregate of a node."""
    grows = properties(node.input).is_append_only
    width = properties(node.input).frame_width
    return [rule_of(call, place, grows, width) for place, call in enumerate(node.calls)]


def needs_lifetimes(node: Aggregate) -> bool:
    """Return whether an aggregate asks its input for more than elements."""
    return any([rule.again for rule in rules_of(node)])


def no_change(part: Part) -> exp.Expr:
    """Return what a part is where no tuple counts."""
    return cast(exp.null() if part.extreme else number(0), part.type)


def value_of(rule: Rule, part: Callable[[str], exp.Expr], rest: exp.Expr | None = None) -> exp.Expr:
    """Return an aggregate's value from its parts and, of doubles, the sum of the outliers."""
    call = rule.call
    if not rule.parts:
        return part(N)
    first = rule.parts[0]
    if first.extreme is not None and len(rule.parts) > 1:
        return signed(part(first.name), part(rule.parts[1].name), call.type)
    if first.extreme is not None or call.function == "count":
        return part(first.name)
    total = part(rule.parts[1].name)
    if rule.outliers:
        total = exp.Div(this=cast(total, "DOUBLE"), expression=_double(SCALE))
        beside = exp.Coalesce(this=rest or exp.null(), expressions=[_double(0.0)])
        total = exp.paren(exp.Add(this=total, expression=beside))
    if call.function == "avg":
        total = exp.Div(this=cast(total, "DOUBLE"), expression=part(first.name))
        if rule.outliers:
            # what is too small for a DOUBLE is no negative zero
            total = exp.Add(this=total, expression=_double(0.0))
    return exp.Case().when(after(part(first.name), number(0)), cast(total, call.type))


def extreme_of(part: Part) -> exp.Expr:
    """Return the extreme of tuples that stand, of which each has weight 1."""
    assert part.extreme is not None
    assert part.value is not None
    return part.extreme(this=part.value.copy())


def outlying(
    node: Aggregate, made: Sequence[Rule], tuples: Rows, time: Sequence[str] = (TS, WEIGHT)
) -> exp.Query:
    """Return the values that are out of the band of fixed-point numbers.

    Args:
        node: The aggregate.
        made: Its rules.
        tuples: Tuples or elements of its input.
        time: Which columns stand behind the value.
    """
    keys = [column(key) for key in node.keys]
    parts = []
    for place, rule in enumerate(made):
        if not rule.outliers or rule.call.argument is None:
            continue
        argument = column(rule.call.argument)
        outside = is_outlier(argument)
        value = named(cast(argument, "DOUBLE"), "_cql_value")
        listed = [*keys, named(number(place), "_cql_call"), value, *map(column, time)]
        parts.append(tuples.select(listed, where=[outside], alias="elements"))
    return union_all(parts)


def is_outlier(argument: exp.Expr) -> exp.Expr:
    """Return whether a value is no fixed-point number."""
    outside = exp.not_(exp.paren(_in_band(argument)))
    return outside


def _in_band(argument: exp.Expr) -> exp.Expr:
    """Return whether a value is a fixed-point number (NULL for NULL)."""
    size = exp.Abs(this=argument.copy())
    return exp.or_(
        exp.EQ(this=argument.copy(), expression=number(0)),
        exp.Between(this=size, low=_double(LEAST), high=_double(MOST)),
    )


def _double(value: float) -> exp.Expr:
    return cast(exp.Literal.number(repr(value)), "DOUBLE")


def _if_known(argument: exp.Expr, known: exp.Expr, unknown: exp.Expr) -> exp.Expr:
    test = exp.Is(this=argument.copy(), expression=exp.null())
    return exp.Case().when(test, unknown).else_(known)
