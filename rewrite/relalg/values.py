"""Values that are equal but not identical: 0.0 and −0.0, NaN and −NaN, `1 month` and `30 days`.

DuckDB compares, joins and groups them as equal, and `1 / x`, `signbit` or a cast to VARCHAR tell
them apart. So a deletion has to carry the very value that was inserted. Two expressions ensure it:

* `canonical`, the one value that stands for all equal ones: 0.0; NaN; an INTERVAL of whole months,
  less than 30 days and less than 24 hours, all of one sign; the same inside LIST, ARRAY, STRUCT,
  MAP and UNION. An operator that makes one row of several equal ones shows that value.
* `identity`, which tells equal values of a type apart, and orders them: by sign; by months and
  days, which determine the rest. Operators that only pass rows on compare by value and by identity.

Types whose equal values are identical (integers, decimals, text, times, …) have neither, and cost
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from sqlglot import exp

from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.relalg.builders import cast, column

FLOATING = frozenset({"FLOAT", "DOUBLE"})
_NESTED = ("STRUCT", "UNION", "MAP", "TUPLE")
_QUOTED = re.compile(r"""("(?:[^"]|"")*")|('(?:[^']|'')*')""")
_SIZE = re.compile(r'("(?:[^"]|"")*")|\[\d+\]')
_SORTED_APART = frozenset({"INTERVAL", "TIME WITH TIME ZONE", "BIT", "VARIANT"})
"""The types by which DuckDB does not group a STRUCT that holds one as it groups others."""

_DAYS = 2**32
"""More than the days of an INTERVAL can be."""


@dataclass(frozen=True)
class _Type:
    """A type of DuckDB's, as far as it matters here.

    Args:
        text: Its name.
        kind: 'LIST', 'STRUCT', 'UNION', 'MAP', 'TUPLE', or the name itself.
        parts: The names and types of its parts; those of a TUPLE have no names.
    """

    text: str
    kind: str
    parts: tuple[tuple[str, _Type], ...] = ()

    @property
    def varies(self) -> bool:
        """Whether equal values of it need not be the same."""
        if self.parts:
            return any(part.varies for _, part in self.parts)
        return self.kind in FLOATING or self.kind in ("INTERVAL", "VARIANT")


def may_vary(type_name: str) -> bool:
    """Return whether equal values of a DuckDB type need not be the same.

    >>> may_vary("DOUBLE"), may_vary("STRUCT(a INTEGER, b INTERVAL[])"), may_vary("VARCHAR[]")
    (True, True, False)
    """
    return _parsed(type_name).varies


def is_nested(type_name: str) -> bool:
    """Return whether values of a DuckDB type have parts."""
    return bool(_parsed(type_name).parts)


def canonical(value: exp.Expr, type_name: str) -> exp.Expr:
    """Return the value that stands for all that equal one; the value itself where there is one.

    Args:
        value: An expression, which is copied.
        type_name: Its DuckDB type.

    Raises:
        NotSupportedError: A VARIANT, whose equal values are of several types.
    """
    kind = _parsed(type_name)
    return _canonical(value, kind) if kind.varies else value.copy()


def identity(value: exp.Expr, type_name: str) -> exp.Expr | None:
    """Return what tells equal values of a type apart, and orders them; None if nothing does.

    Args:
        value: An expression, which is copied.
        type_name: Its DuckDB type.
    """
    kind = _parsed(type_name)
    return _identity(value, kind) if kind.varies else None


def identities(columns: Iterable[Column]) -> list[exp.Expr]:
    """Return what tells equal tuples of these columns apart: what to group by besides them."""
    found = (identity(column(c.name), c.type) for c in columns)
    return [part for part in found if part is not None]


def identity_columns(columns: Sequence[Column]) -> list[exp.Expr]:
    """Return columns by which to group tuples that are the same, or by which to order them."""
    parts: list[exp.Expr] = []
    for known in columns:
        own = identity(column(known.name), known.type)
        parts += [column(known.name)] if own is None else [column(known.name), own]
    return parts


def values_of_group(columns: Sequence[Column]) -> list[exp.Expr]:
    """Return the values of columns of tuples that are the same, which are grouped by identity.

    DuckDB (release 2.0) shows −0.0 as 0.0 if it groups by a STRUCT that holds a floating-point
    number and one of a few other types; so do all of its aggregates of one value. A list has the
    values as they are.
    """
    found: list[exp.Expr] = []
    for known in columns:
        value: exp.Expr = column(known.name)
        if _loses_signs(_parsed(known.type)):
            listed = exp.func("list", value)
            value = exp.alias_(exp.func("list_extract", listed, exp.Literal.number(1)), known.name,
                               quoted=True)  # fmt: skip
        found.append(value)
    return found


def _loses_signs(kind: _Type) -> bool:
    kinds = {part.kind for part in _leaves(kind)}
    return bool(kind.parts and kinds & FLOATING and kinds & _SORTED_APART)


def _leaves(kind: _Type) -> Iterator[_Type]:
    """Yield the types without parts inside of a type."""
    if not kind.parts:
        yield kind
    for _, part in kind.parts:
        yield from _leaves(part)


def differs(new: exp.Expr, old: exp.Expr, type_name: str) -> exp.Expr:
    """Return whether two values are not the same, NULL being the same as NULL."""
    unequal: exp.Expr = exp.NullSafeNEQ(this=new.copy(), expression=old.copy())
    mine, theirs = identity(new, type_name), identity(old, type_name)
    if mine is None or theirs is None:
        return unequal
    return exp.or_(unequal, exp.NullSafeNEQ(this=mine, expression=theirs))


MAX_LEVELS = 60
"""How many levels a type of a column has at most: Arrow hands out no more than 63."""


def levels(type_name: str) -> int:
    """Return how many levels of lists, structs and the like a type has.

    >>> levels("INTEGER"), levels("INTEGER[][3]")
    (0, 2)
    >>> levels('STRUCT(a INTEGER, "b[" MAP(DATE, TIME[]))')
    3
    """
    outer: list[int] = []
    level = most = 0
    for sign in _QUOTED.sub("", type_name):
        if sign == "(":
            outer.append(most)
            level = most = 0
        elif sign == ")":
            level, most = max(most, level) + 1, outer.pop()
        elif sign == ",":
            level, most = 0, max(most, level)
        elif sign == "[":
            level += 1
    return max(most, level)


def unsized(type_name: str) -> str:
    """Return a type with LIST in the place of ARRAY, wherever one stands.

    DuckDB (release 2.0) fails at a NULL that an ARRAY has on the right of a LEFT JOIN.

    >>> unsized('STRUCT(a INTEGER[2], "b[3]" DOUBLE[][4])')
    'STRUCT(a INTEGER[], "b[3]" DOUBLE[][])'
    """
    return _SIZE.sub(lambda found: found[1] or "[]", type_name)


def extreme(function: type[exp.AggFunc], value: exp.Expr, type_name: str) -> exp.Expr:
    """Return MIN or MAX, which of equal values takes the least or the greatest by `identity`.

    Args:
        function: `exp.Min` or `exp.Max`.
        value: What it is taken of.
        type_name: Its type.
    """
    kind = _parsed(type_name)
    if not kind.varies:
        return function(this=value.copy())
    if kind.kind in FLOATING:
        return signed(function(this=value.copy()), function(this=sign(value)), type_name)
    told = struct_of([("value", value.copy()), ("identity", _identity(value, kind))])
    known = exp.Case().when(exp.not_(_is_null(value)), told)
    return _field(function(this=known), "value")


def sign(value: exp.Expr) -> exp.Expr:
    """Return the sign of a floating-point zero, false before true; NULL for all other values."""
    is_zero = exp.EQ(this=value.copy(), expression=exp.Literal.number(0))
    return exp.Case().when(is_zero, exp.not_(_call("signbit", value)))


def signed(value: exp.Expr, positive: exp.Expr, type_name: str) -> exp.Expr:
    """Return a floating-point value, its zero with a sign that is known apart from it.

    Args:
        value: The value.
        positive: The sign of a zero, as `sign` has it.
        type_name: The type of the value.
    """
    is_zero = exp.EQ(this=value.copy(), expression=exp.Literal.number(0))
    minus = exp.and_(is_zero, exp.not_(positive.copy()))
    zero = cast(exp.Literal.string("-0.0"), type_name)
    return exp.Case().when(minus, zero).else_(canonical(value, type_name))


# -- by type ---------------------------------------------------------------------------------------


def _canonical(value: exp.Expr, kind: _Type) -> exp.Expr:
    if not kind.varies:
        return value.copy()
    match kind.kind:
        case "FLOAT" | "DOUBLE":
            nan = cast(exp.Literal.string("NaN"), kind.text)
            zero = cast(exp.Literal.number(0), kind.text)
            added = exp.Add(this=_operand(value), expression=zero)
            return exp.Case().when(exp.IsNan(this=value.copy()), nan).else_(added)
        case "INTERVAL":
            none = cast(exp.Literal.string("0 days"), "INTERVAL")
            turned = _call("normalized_interval", exp.Neg(this=_operand(value)))
            below = exp.LT(this=_operand(value), expression=none)
            normalized = _call("normalized_interval", value)
            return exp.Case().when(below, exp.Neg(this=turned)).else_(normalized)
        case "VARIANT":
            raise NotSupportedError(
                "equal values of type VARIANT can be of several types, and one has to stand "
                "for them here",
                hint="cast the value to the type that it has, or to VARCHAR",
            )
    return cast(_made_of(value, kind, _canonical), kind.text)


def _identity(value: exp.Expr, kind: _Type) -> exp.Expr:
    match kind.kind:
        case "FLOAT" | "DOUBLE":
            return exp.paren(exp.not_(_call("signbit", value)))
        case "INTERVAL":
            years, months, days = (
                _call("datepart", exp.Literal.string(part), value)
                for part in ("year", "month", "day")
            )
            total = exp.Add(
                this=exp.Mul(this=years, expression=exp.Literal.number(12)), expression=months
            )
            shifted = exp.Mul(this=exp.paren(total), expression=exp.Literal.number(_DAYS))
            return exp.paren(exp.Add(this=shifted, expression=days))
        case "VARIANT":
            return struct_of(
                [("type", _call("variant_typeof", value)), ("text", cast(value, "VARCHAR"))]
            )
    varying = [(name, part) for name, part in kind.parts if part.varies]
    return _made_of(value, _Type(kind.text, kind.kind, tuple(varying)), _identity)


def _made_of(value: exp.Expr, kind: _Type, part: Callable[[exp.Expr, _Type], exp.Expr]) -> exp.Expr:
    """Return a nested value with `part` of each of its parts in their places; NULL for NULL."""
    match kind.kind:
        case "LIST":
            ((_, element),) = kind.parts
            return _each(value, lambda item: part(item, element))
        case "MAP":
            entries = _call("map_entries", value)
            made = _each(entries, lambda entry: _packed(entry, kind, part))
            whole = {name for name, _ in kind.parts} == {"key", "value"}
            return _call("map_from_entries", made) if whole and part is _canonical else made
        case "UNION" if part is _canonical:
            return _of_union(value, kind)
    return exp.Case().when(exp.not_(_is_null(value)), _packed(value, kind, part))


def _packed(value: exp.Expr, kind: _Type, part: Callable[[exp.Expr, _Type], exp.Expr]) -> exp.Expr:
    """Return a struct of `part` of each field."""
    if kind.kind == "TUPLE" and part is _canonical:
        return _call("row", *(part(_place(value, name), inner) for name, inner in kind.parts))
    extract = {"UNION": _member, "TUPLE": _place}.get(kind.kind, _field)
    return struct_of([(name, part(extract(value, name), inner)) for name, inner in kind.parts])


def _of_union(value: exp.Expr, kind: _Type) -> exp.Expr:
    tag = _call("union_tag", value)
    made = exp.Case()
    for name, inner in kind.parts:
        if inner.varies:
            is_member = exp.EQ(this=cast(tag, "VARCHAR"), expression=exp.Literal.string(name))
            member = _call("union_value", _named(name, _canonical(_member(value, name), inner)))
            made = made.when(is_member, cast(member, kind.text))
    return made.else_(value.copy())


# -- expressions -----------------------------------------------------------------------------------


def _each(value: exp.Expr, made: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Return a list with something made of each element."""
    depth = 1 + sum(1 for _ in value.find_all(exp.Lambda))
    name = exp.to_identifier(f"_cql_item{depth}")
    body = made(name)
    return exp.Transform(
        this=value.copy(), expression=exp.Lambda(this=body, expressions=[name.copy()])
    )


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def _named(name: str, value: exp.Expr) -> exp.Expr:
    return exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=value)


def struct_of(fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
    """Return a struct of named values."""
    return exp.Anonymous(
        this="struct_pack", expressions=[_named(name, value) for name, value in fields]
    )


def _field(value: exp.Expr, name: str) -> exp.Expr:
    return _call("struct_extract", value, exp.Literal.string(name))


def _place(value: exp.Expr, name: str) -> exp.Expr:
    return _call("struct_extract", value, exp.Literal.number(int(name)))


def _member(value: exp.Expr, name: str) -> exp.Expr:
    return _call("union_extract", value, exp.Literal.string(name))


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=_operand(value), expression=exp.null())


def _operand(value: exp.Expr) -> exp.Expr:
    """Return a copy that can stand beside an operator."""
    plain = (exp.Column, exp.Identifier, exp.Anonymous, exp.Cast, exp.Paren, exp.AggFunc)
    return value.copy() if isinstance(value, plain) else exp.paren(value.copy())


# -- names of types --------------------------------------------------------------------------------


@cache
def _parsed(text: str) -> _Type:
    """Return what the name of a type says."""
    if text.endswith("]"):
        return _Type(text, "LIST", (("", _parsed(text[: text.rindex("[")])),))
    kind = text.partition("(")[0]
    if kind not in _NESTED or not text.endswith(")"):
        return _Type(text, text)
    inside = list(_split(text[len(kind) + 1 : -1]))
    if kind == "MAP":
        named = list(zip(("key", "value"), inside, strict=True))
    elif kind == "TUPLE":
        named = [(str(place + 1), part) for place, part in enumerate(inside)]
    else:
        named = [_name_and_type(part) for part in inside]
    return _Type(text, kind, tuple((name, _parsed(inner)) for name, inner in named))


def _split(text: str) -> Iterator[str]:
    """Yield the parts of a list of types between its commas."""
    depth, start, quote = 0, 0, ""
    for place, sign_ in enumerate(text):
        if quote:
            quote = "" if sign_ == quote else quote
        elif sign_ in "\"'":
            quote = sign_
        elif sign_ in "()":
            depth += 1 if sign_ == "(" else -1
        elif sign_ == "," and not depth:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _name_and_type(text: str) -> tuple[str, str]:
    """Return the name of a field and its type."""
    if not text.startswith('"'):
        name, _, kind = text.partition(" ")
        return name, kind
    end = 1
    while text[end] != '"' or text[end : end + 2] == '""':
        end += 2 if text[end : end + 2] == '""' else 1
    return text[1:end].replace('""', '"'), text[end + 1 :].strip()
