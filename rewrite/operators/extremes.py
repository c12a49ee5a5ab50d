"""Extremes of what tuples leave: worked out again only where the extreme leaves.

Let tuples Δ⁺ come to a group R and Δ⁻ leave it at an instant, and Δ be both. Where all that leave
are less than the greatest of R and Δ, that is one which stays:

    max(R + Δ⁺ − Δ⁻)  =  max(max(R), max(Δ))        if max(Δ⁻) < max(max(R), max(Δ)), or Δ⁻ is empty

Else it may have left, and is taken of the tuples that are there, as any aggregate without
accumulators. So it is of the least. In a window of w instants with as many elements each, that is
so of about one group in w. A tuple that comes and leaves at one instant counts as one that leaves:
what is worked out again is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.physical.algebra import (
    FUNCTIONS,
    GREATEST,
    LEAST,
    Accumulator,
    Aggregation,
    Monoid,
    argument_of,
    name_of,
)
from cqlduck.rewrite.plan import Aggregate
from cqlduck.rewrite.plan.aggregates import FLOATS, INTEGERS
from cqlduck.rewrite.relalg.builders import column, filtered
from cqlduck.rewrite.relalg.elements import WEIGHT, after, named, number, qualified


@dataclass(frozen=True)
class Extreme:
    """An extreme of a group.

    Attributes:
        made: The aggregate.
        come: The extreme of the tuples that come to the group at an instant, or leave it.
        gone: That of those that leave it.
        stays: The column of what the extreme is if it stays.
        leaves: The column that says whether it may have left.
    """

    made: Aggregation
    come: Accumulator
    gone: Accumulator
    stays: str
    leaves: str

    @property
    def _monoid(self) -> Monoid:
        return self.come.monoid

    def after(self, old: exp.Expr) -> list[exp.Expr]:
        """Return `stays` and `leaves` after one instant.

        Args:
            old: The extreme before it; `come` and `gone` are columns of `changes`.
        """
        come, gone = (qualified("changes", one.name) for one in (self.come, self.gone))
        stays = self._monoid.both(old, come)
        return self._named(stays, self._reaches(gone, stays.copy()))

    def after_each(self, over: Callable[[exp.Expr], exp.Expr], whole: exp.Expr) -> list[exp.Expr]:
        """Return `stays` and `leaves` after each of several instants.

        As soon as one leaves that reaches the extreme before all of them, it may have left.

        Args:
            over: Makes a window function up to an instant of an aggregate of `come` and `gone`;
                `come` is the extreme before in the row that has the state before.
            whole: That extreme, in each row.
        """
        stays, gone = (
            over(self._monoid.over(this=column(one.name))) for one in (self.come, self.gone)
        )
        some = exp.not_(exp.Is(this=gone.copy(), expression=exp.null()))
        reached = exp.Coalesce(this=self._reaches(gone, whole), expressions=[some])
        return self._named(stays, reached)

    def _reaches(self, value: exp.Expr, other: exp.Expr) -> exp.Expr:
        sign = exp.GTE if self._monoid is GREATEST else exp.LTE
        return sign(this=value, expression=other)

    def _named(self, stays: exp.Expr, reached: exp.Expr) -> list[exp.Expr]:
        if self.come.type in FLOATS:
            # equal values need not be the same
            is_zero = exp.EQ(this=stays.copy(), expression=number(0))
            is_nan = exp.Anonymous(this="isnan", expressions=[stays.copy()])
            reached = exp.or_(reached, is_zero, is_nan)
        return [named(stays, self.stays), named(reached, self.leaves)]

    def value(self, again: exp.Expr) -> exp.Expr:
        """Return the extreme after an instant.

        Args:
            again: What it is of the tuples that are there.
        """
        return exp.Case().when(qualified("r", self.leaves), again).else_(qualified("r", self.stays))


def extremes_of(node: Aggregate, again: Mapping[int, Aggregation]) -> Mapping[int, Extreme]:
    """Return the extremes that are worked out from tuples only where they leave, by place.

    None if others are worked out from these anyway.

    Args:
        node: The node.
        again: The aggregates that are worked out from tuples, by place.
    """
    found = {place: _extreme_of(node, place, made) for place, made in again.items()}
    known = {place: extreme for place, extreme in found.items() if extreme is not None}
    return known if len(known) == len(again) else {}


def _extreme_of(node: Aggregate, place: int, made: Aggregation) -> Extreme | None:
    """Return how an aggregate is an extreme that may stay; None if it is another one.

    Args:
        node: The node.
        place: The place of the aggregate among its calls.
        made: How it is worked out.
    """
    call, kind = made.call, made.call.type
    function = FUNCTIONS.get(name_of(call))
    monoid = None if function is None else function.whole
    value = argument_of(call, {known.name: known.type for known in node.input.columns})
    if value is None or monoid not in (LEAST, GREATEST) or not _is_ordered(kind):
        return None
    assert monoid is not None

    of_all = monoid.over(this=value)
    of_gone = filtered(of_all, after(number(0), column(WEIGHT)))
    come = Accumulator(f"_cql_come{place}", kind, monoid, of_all)
    gone = Accumulator(f"_cql_gone{place}", kind, monoid, of_gone)
    return Extreme(made, come, gone, f"_cql_stays{place}", f"_cql_leaves{place}")


def _is_ordered(kind: str) -> bool:
    """Return whether comparisons order values of a type as extremes do, and tell equal ones apart.

    Those of a FLOAT or DOUBLE but for zero, and NaN.
    """
    return kind in _ORDERED or kind.startswith("DECIMAL(")


_ORDERED = INTEGERS | FLOATS | {"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "VARCHAR"}
