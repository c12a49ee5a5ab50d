"""Sums of DOUBLE that do not drift: fixed-point numbers, and outliers.

A value x with 2⁻³⁰ ≤ |x| ≤ 2³⁷ becomes round(x · 2⁶⁰), which is exact for |x| ≥ 2⁻⁸ and wrong by
less than 2⁻³¹ of |x| otherwise, in at most 98 of the 127 bits of a HUGEINT. All others, infinities
and NaN among them, are outliers: they are stored unchanged, and those of a group at an instant are
summed anew. So a value that has left leaves nothing behind.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.relalg.builders import cast
from cqlduck.rewrite.relalg.elements import number

SCALE = 2.0**60
LEAST_FIXED, GREATEST_FIXED = 2.0**-30, 2.0**37


def fixed(value: exp.Expr) -> exp.Expr:
    """Return a value as a fixed-point number; NULL for an outlier."""
    scaled = exp.Mul(this=cast(value.copy(), "DOUBLE"), expression=double(SCALE))
    return exp.Case().when(_in_band(value), cast(scaled, "HUGEINT"))


def is_outside(value: exp.Expr) -> exp.Expr:
    """Return whether a value is an outlier."""
    outside = exp.not_(exp.paren(_in_band(value)))
    return outside


def total_of(total: exp.Expr, outside: exp.Expr) -> exp.Expr:
    """Return a sum from that of fixed-point numbers and that of outliers, if there are any."""
    whole = exp.Div(this=cast(total, "DOUBLE"), expression=double(SCALE))
    beside = exp.Coalesce(this=outside, expressions=[double(0.0)])
    return exp.paren(exp.Add(this=whole, expression=beside))


def _in_band(argument: exp.Expr) -> exp.Expr:
    """Return whether a value is a fixed-point number (NULL for NULL)."""
    size = exp.Abs(this=argument.copy())
    return exp.or_(
        exp.EQ(this=argument.copy(), expression=number(0)),
        exp.Between(this=size, low=double(LEAST_FIXED), high=double(GREATEST_FIXED)),
    )


def double(value: float) -> exp.Expr:
    """Return a DOUBLE literal."""
    return cast(exp.Literal.number(repr(value)), "DOUBLE")
