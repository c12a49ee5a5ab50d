"""Constants that DuckDB casts to a type without an error, as far as their text tells.

The check is one-sided: what it calls castable is; of others nothing is known.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Container, Mapping, Sequence

from sqlglot import exp

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_INTEGERS = {kind: range(-(2 ** (bits - 1)), 2 ** (bits - 1)) for kind, bits in _BITS.items()}
_INTEGERS |= {f"U{kind}": range(2**bits) for kind, bits in _BITS.items()}
_NUMBER = re.compile(r"-?(?P<whole>\d{1,38})(\.(?P<fraction>\d{1,38}))?")
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_MINUTE, _SECOND = r"([01]\d|2[0-3]):[0-5]\d", r":[0-5]\d(\.\d{1,6})?"
_CLOCK = rf"{_MINUTE}({_SECOND})?"
_OFFSET = r"[-+](0\d|1[0-5])(:[0-5]\d)?"
_MOMENT = re.compile(rf"(\d{{4}}-\d\d-\d\d)([ T]{_CLOCK})?")
_YEARS = {
    kind: range(datetime.MINYEAR, datetime.MAXYEAR + 1)
    for kind in ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE")
}
_YEARS["TIMESTAMP_NS"] = range(1678, 2262)
"""Of types of days the years of which all days are castable."""

_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_FORMS: Mapping[str, re.Pattern[str]] = {
    kind: re.compile(form, re.IGNORECASE)
    for kind, form in {
        "BOOLEAN": "true|false|t|f|1|0",
        "TIME": _CLOCK,
        "TIME WITH TIME ZONE": rf"{_CLOCK}|{_MINUTE}{_SECOND}{_OFFSET}",
        "INTERVAL": r"\d{1,6} (second|minute|hour|day|week|month|year)s?",
        "UUID": _UUID,
        "BLOB": r"[\x20-\x5b\x5d-\x7e]*",
        "VARCHAR": r"[\s\S]*",
    }.items()
}
"""Of types the texts that are castable."""


def constant(tree: exp.Expr) -> str | None:
    """Return the text of a constant, without quotes and parentheses; None if it is NULL or none."""
    match tree:
        case exp.Paren():
            return constant(tree.this)
        case exp.Neg():
            inner = constant(tree.this)
            return None if inner is None else f"-{inner}"
        case exp.Literal():
            return str(tree.name)
    return None


def is_text(tree: exp.Expr) -> bool:
    """Return whether a constant is written as a text."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return isinstance(tree, exp.Literal) and bool(tree.is_string)


def is_castable(text: str, kind: str) -> bool:
    """Return whether a constant can be cast.

    Args:
        text: Its text.
        kind: The type.
    """
    if kind in _FORMS:
        return _FORMS[kind].fullmatch(text) is not None
    if kind in _YEARS:
        return _is_moment(text, _YEARS[kind])
    if kind.startswith("ENUM("):
        # it is the values of the type that are compared as texts
        return True
    number, decimal = _NUMBER.fullmatch(text), _DECIMAL.fullmatch(kind)
    if number is None:
        return False
    if decimal is not None:
        width, scale = int(decimal[1]), int(decimal[2])
        # what is rounded may have one digit more
        room = width - scale - (len(number["fraction"] or "") > scale)
        return len(number["whole"].lstrip("0")) <= room
    if kind in _INTEGERS:
        return number["fraction"] is None and int(text) in _INTEGERS[kind]
    return kind in ("FLOAT", "DOUBLE")


def _is_moment(text: str, years: Container[int]) -> bool:
    found = _MOMENT.fullmatch(text)
    if found is None:
        return False
    try:
        return datetime.date.fromisoformat(found[1]).year in years
    except ValueError:
        return False


def of_constants(trees: Sequence[exp.Expr]) -> str:
    """Return the type of what is one of several constants, of which none is NULL.

    Args:
        trees: All of them numbers, or all of them texts.
    """
    if is_text(trees[0]):
        return "VARCHAR"
    texts = [constant(tree) or "" for tree in trees]
    for kind in ("INTEGER", "BIGINT", "HUGEINT"):
        if all(is_castable(text, kind) for text in texts):
            return kind
    return "DOUBLE"
