"""Expressions that can raise an error for some row: a cast, an overflow, a function out of range.

The analysis is one-sided: an expression that it calls safe never raises; of others nothing is
known. Safe are columns and constants, comparisons of values of one type, of numbers that DuckDB
widens, and of constants that can be cast, AND, OR, NOT, IS, CASE and COALESCE of safe parts, casts
that widen or go to text, TRY_CAST, some functions of text, and matches of constant patterns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from sqlglot import exp

from cqlduck.rewrite.plan.castable import constant, is_castable, is_text, of_constants
from cqlduck.rewrite.text.parsed import function_name

_WIDENED = {
    name: rank
    for rank, name in enumerate(
        ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE")
    )
}
"""Types in an order in which each holds the values of those before it, or a value next to them."""

_ALIASES = {
    "INT": "INTEGER", "TEXT": "VARCHAR", "REAL": "FLOAT",
    "TIMETZ": "TIME WITH TIME ZONE", "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip

_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 19, "HUGEINT": 38}
"""How many digits whole numbers have where they meet decimals."""

_MOST_DIGITS = 38
_FLOATS = frozenset({"FLOAT", "DOUBLE"})
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")

_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ,
)  # fmt: skip

_OF_TEXT: Mapping[str, str] = {
    **dict.fromkeys(("concat", "lower", "upper", "replace", "reverse"), "VARCHAR"),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), "VARCHAR"),
    **dict.fromkeys(("like", "ilike", "contains", "starts_with", "prefix"), "BOOLEAN"),
    **dict.fromkeys(("ends_with", "suffix"), "BOOLEAN"),
    "length": "BIGINT",
}
"""Functions of text that never raise, and the type of what they give."""

_PATTERNS = frozenset({"regexp_matches", "regexp_full_match"})
"""Matches of a regular expression. One that is a constant is checked when DuckDB binds it."""

_LITERAL = "a constant"

_MIDNIGHT = "midnight of a day that the text names"
"""A TIMESTAMP by its type. DuckDB compares a DATE with its day, so that no DATE is cast."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_STEPS = frozenset({"DAY", "DAYS", "WEEK", "WEEKS", "MONTH", "MONTHS", "YEAR", "YEARS"})
_MOST_STEPS = 99_999
"""So many years from a day of four digits are still a TIMESTAMP."""

_UNKNOWN = "not known"
"""The type of what is under TRY, if the text does not show it: it is compared with its own type."""


def can_raise(tree: exp.Expr, types: Mapping[str, str]) -> bool:
    """Return whether an expression may raise for some row.

    Args:
        tree: The expression.
        types: The types of its columns, by name.
    """
    return _type(tree, types) is None


def split(
    conditions: Sequence[exp.Expr], types: Mapping[str, str]
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the conditions before the first that may raise, and it with those behind it."""
    for number, condition in enumerate(conditions):
        if can_raise(condition, types):
            return list(conditions[:number]), list(conditions[number:])
    return list(conditions), []


def parts(
    tree: exp.Expr, types: Mapping[str, str], is_one: Callable[[exp.Expr], bool]
) -> Iterator[exp.Expr]:
    """Yield the largest parts of an expression that may raise and are each of one input.

    An expression of several inputs that may raise though its operands do not is yielded itself.

    Args:
        tree: The expression.
        types: The types of its columns, by name.
        is_one: Whether an expression reads one input at most.
    """
    if not can_raise(tree, types):
        return
    if is_one(tree):
        yield tree
        return
    inner = [part for child in _operands(tree) for part in parts(child, types, is_one)]
    yield from [tree] if can_raise(under_try(tree, inner), types) else inner


def under_try(tree: exp.Expr, raising: Sequence[exp.Expr]) -> exp.Expr:
    """Return an expression with some of its parts under TRY."""

    def under(node: exp.Expr) -> exp.Expr:
        return exp.Try(this=node.copy()) if node in raising else node

    return tree.copy().transform(under, copy=False)


def _operands(tree: exp.Expr) -> list[exp.Expr]:
    return [
        child
        for child in tree.iter_expressions()
        if isinstance(child, exp.Expr) and not isinstance(child, (exp.DataType, exp.Identifier))
    ]


def _type(tree: exp.Expr, types: Mapping[str, str]) -> str | None:
    """Return the type of a safe expression, as far as it matters; None if it may raise."""
    match tree:
        case exp.Column():
            return _plain(types[tree.name]) if tree.name in types else None
        case exp.Literal() | exp.Null():
            return _LITERAL
        case exp.Boolean():
            return "BOOLEAN"
        case exp.Paren():
            return _type(tree.this, types)
        case exp.Neg(this=exp.Literal() as inner) if not inner.is_string:
            return _LITERAL
        case exp.And() | exp.Or():
            return _when(_all_of("BOOLEAN", (tree.left, tree.right), types), "BOOLEAN")
        case exp.Not():
            return _when(_all_of("BOOLEAN", (tree.this,), types), "BOOLEAN")
        case exp.Is(expression=exp.Null() | exp.Boolean()):
            return _when(_type(tree.this, types) is not None, "BOOLEAN")
        case _ if isinstance(tree, _COMPARISONS):
            return _when(_common([tree.this, tree.expression], types) is not None, "BOOLEAN")
        case exp.Between():
            ends = [tree.this, tree.args["low"], tree.args["high"]]
            return _when(_common(ends, types) is not None, "BOOLEAN")
        case exp.In(expressions=[_, *_] as listed) if not tree.args.get("query"):
            return _when(_common([tree.this, *listed], types) is not None, "BOOLEAN")
        case exp.Coalesce():
            return _one_of([tree.this, *tree.expressions], types)
        case exp.Case(this=None):
            return _case(tree, types)
        case exp.TryCast():
            return None if _type(tree.this, types) is None else _plain(tree.to.sql("duckdb"))
        case exp.Try():
            return _shown(tree.this, types)
        case exp.Cast():
            return _cast(tree, types)
        case exp.Add() | exp.Sub() if _is_midnight(tree):
            return _MIDNIGHT
        case exp.Add() | exp.Sub() | exp.Mul():
            # of doubles there are infinities, of whole numbers none
            kind = _common([tree.left, tree.right], types)
            return kind if kind in _FLOATS else None
        case exp.DPipe():
            return _when(_all_of("VARCHAR", (tree.left, tree.right), types), "VARCHAR")
        case exp.Func() | exp.Like() | exp.ILike():
            return _function(tree, types)
    return None


def _function(tree: exp.Expr, types: Mapping[str, str]) -> str | None:
    name = function_name(tree) if isinstance(tree, exp.Func) else tree.key
    operands = _operands(tree)
    if not operands:
        return None
    text, *others = operands
    if name == "try":
        # of another type, it might be cast where it is compared
        shown = _shown(text, types)
        return None if shown == _UNKNOWN else shown
    if name in _PATTERNS:
        are_constants = all(isinstance(o, exp.Literal) and o.is_string for o in others)
        return _when(are_constants and _all_of("VARCHAR", [text], types), "BOOLEAN")
    is_text = name in _OF_TEXT and _all_of("VARCHAR", [text, *others], types)
    return _OF_TEXT[name] if is_text else None


def _shown(tree: exp.Expr, types: Mapping[str, str]) -> str:
    """Return the type of an expression, whether it may raise or not."""
    match tree:
        case exp.Paren():
            return _shown(tree.this, types)
        case exp.Cast():
            return _plain(tree.to.sql("duckdb"))
        case exp.Add() | exp.Sub() | exp.Mul():
            sides = [exp.Try(this=side.copy()) for side in (tree.left, tree.right)]
            return _common(sides, types) or _UNKNOWN
        case exp.Not() | exp.And() | exp.Or() | exp.Is() | exp.Between() | exp.In():
            return "BOOLEAN"
        case _ if isinstance(tree, _COMPARISONS):
            return "BOOLEAN"
    return _type(tree, types) or _UNKNOWN


def _plain(type_name: str) -> str:
    return _ALIASES.get(type_name.upper(), type_name.upper())


def _when(safe: bool, type_name: str) -> str | None:
    return type_name if safe else None


def _all_of(wanted: str, trees: Iterable[exp.Expr], types: Mapping[str, str]) -> bool:
    return all(
        kind == wanted or (kind == _LITERAL and _can_be(tree, wanted))
        for tree in trees
        for kind in [_type(tree, types)]
    )


def _can_be(tree: exp.Expr, kind: str) -> bool:
    """Return whether a constant can be cast to a type; NULL can."""
    text = constant(tree)
    return text is None or is_castable(text, kind)


def _common(trees: Sequence[exp.Expr], types: Mapping[str, str]) -> str | None:
    """Return the type to which DuckDB brings values that are compared, if that never raises.

    A constant is cast to the type of the others; unless it is the column that is cast, as to
    compare text with a number or whole numbers with others.
    """
    found = [_type(tree, types) for tree in trees]
    known = {kind for kind in found if kind not in (None, _LITERAL)}
    constants = [tree for tree in trees if constant(tree) is not None]
    texts = [tree for tree in constants if is_text(tree)]
    numbers = [tree for tree in constants if not is_text(tree)]
    if None in found or len(known) == 0:
        return None if None in found or (texts and numbers) else _LITERAL
    if _UNKNOWN in known:
        return None if texts else _UNKNOWN
    kind = _widest(known, numbers)
    if kind is None or (texts and numbers and _DECIMAL.fullmatch(kind)):
        return None
    return kind if all(_can_be(text, kind) for text in texts) else None


def _widest(known: Set[str | None], numbers: Sequence[exp.Expr]) -> str | None:
    """Return the type that columns of some types have beside constant numbers; None if several."""
    if known <= _WIDENED.keys():
        widest = max((str(kind) for kind in known), key=_WIDENED.__getitem__)
        whole = all((constant(number) or "").lstrip("-").isdigit() for number in numbers)
        return widest if whole or widest in _FLOATS else None
    decimals = {kind for kind in known if _DECIMAL.fullmatch(str(kind))}
    if known & _FLOATS and known - decimals <= _WIDENED.keys():
        return _widest(known - decimals, numbers)
    if (numbers or len(known) > 1) and any(_DECIMAL.fullmatch(str(kind)) for kind in known):
        return _common_decimal([str(kind) for kind in known], numbers)
    if _MIDNIGHT in known and known <= {_MIDNIGHT, "DATE", "TIMESTAMP"} and len(known) == 2:
        known = known - {_MIDNIGHT}
    (kind, *others) = known
    return None if others or numbers else kind


def _one_of(trees: Sequence[exp.Expr], types: Mapping[str, str]) -> str | None:
    """Return the type of what is one of several values; of constants, it is no constant."""
    kind = _common(trees, types)
    constants = [tree for tree in trees if constant(tree) is not None]
    if kind != _LITERAL or not constants:
        return kind
    has_fraction = any("." in (constant(tree) or "") for tree in constants)
    is_decimal = has_fraction and not is_text(constants[0])
    return (is_decimal and _common_decimal([], constants)) or of_constants(constants)


def _common_decimal(kinds: Sequence[str], numbers: Sequence[exp.Expr]) -> str | None:
    """Return the DECIMAL that holds decimals, whole numbers and constants; None if none does."""
    shapes = [_shape(kind) for kind in kinds]
    shapes += [_shape_of(number) for number in numbers]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    whole, scale = (max(part) for part in zip(*known, strict=True))
    return f"DECIMAL({whole + scale},{scale})" if whole + scale <= _MOST_DIGITS else None


def _shape(kind: str) -> tuple[int, int] | None:
    """Return how many digits a type has before the point and behind it; None if that varies."""
    found = _DECIMAL.fullmatch(kind)
    if found is not None:
        width, scale = int(found[1]), int(found[2])
        return width - scale, scale
    return (_DIGITS[kind], 0) if kind in _DIGITS else None


def _shape_of(number: exp.Expr) -> tuple[int, int] | None:
    """Return the same of a constant; None if it is written as a DOUBLE."""
    text = (constant(number) or "").removeprefix("-")
    whole, _, fraction = text.partition(".")
    if not (whole + fraction).isdigit():
        return None
    return (len(whole), len(fraction)) if fraction else (max(len(whole), _DIGITS["INTEGER"]), 0)


def _is_midnight(tree: exp.Expr) -> bool:
    """Return whether a constant is a day, so many days, months or years before or after a day."""
    day, step = tree.this, tree.expression
    if isinstance(day, exp.Paren):
        day = day.this
    if not (isinstance(day, exp.Cast) and _plain(day.to.sql("duckdb")) == "DATE"):
        return False
    if not (isinstance(day.this, exp.Literal) and _DAY.fullmatch(day.this.name)):
        return False
    if not (isinstance(step, exp.Interval) and isinstance(step.this, exp.Literal)):
        return False
    unit = step.args.get("unit")
    count = step.this.name
    return (
        unit is not None
        and unit.name.upper() in _STEPS
        and count.isdigit()
        and int(count) <= _MOST_STEPS
    )


def _case(tree: exp.Case, types: Mapping[str, str]) -> str | None:
    branches = tree.args["ifs"]
    if not _all_of("BOOLEAN", [branch.this for branch in branches], types):
        return None
    default = tree.args.get("default")
    values = [branch.args["true"] for branch in branches]
    return _one_of([*values, *([] if default is None else [default])], types)


def _cast(tree: exp.Cast, types: Mapping[str, str]) -> str | None:
    inner, wanted = _type(tree.this, types), _plain(tree.to.sql("duckdb"))
    if inner == _LITERAL:
        return _when(_can_be(tree.this, wanted), wanted)
    if inner == wanted or wanted == "VARCHAR":
        return None if inner is None else wanted
    if inner in _WIDENED and wanted in _WIDENED and _WIDENED[inner] <= _WIDENED[wanted]:
        return wanted
    return None
