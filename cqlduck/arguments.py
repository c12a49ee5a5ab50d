"""Checks of arguments: names, SQL texts, durations and numbers of seconds.

Type checkers find wrong arguments; callers without one get an error that says what is wrong,
instead of Python's error from some later line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cqlduck.errors import CatalogError, DataError, Error, ParseError

SHOWN = 40
"""How many characters are shown of what is wrong."""


def name(given: object) -> str:
    """Return the name of a stream, relation, query or data frame.

    Raises:
        CatalogError: It is no text, or an empty one.

    >>> name("flights")
    'flights'
    """
    if isinstance(given, str) and not given:
        raise CatalogError("a name is not empty", hint="pass the name as a text")
    return _text(given, CatalogError, "name", "pass the name as a text")


def statements(given: object) -> str:
    """Return a text of CQL or SQL.

    Raises:
        ParseError: It is no text.
    """
    text = _text(given, ParseError, "text", "pass statements as a text")
    # of a file that an editor has marked as UTF-8
    return text.removeprefix("\ufeff")


def duration(given: object) -> str:
    """Return a duration, which is not looked at yet.

    Raises:
        DataError: It is no text.
    """
    return _text(given, DataError, "duration", "pass it as a text: '1 second'")


def _text(given: object, error: type[Error], what: str, hint: str) -> str:
    if isinstance(given, str):
        return given
    raise error(f"{_shown(given)} is no {what}", hint=hint)


def function(given: object) -> Callable[..., Any]:
    """Return a function.

    Raises:
        DataError: It is none.
    """
    if callable(given):
        return given
    raise DataError(f"{_shown(given)} is no function", hint="pass what can be called")


def handling(kind: object, nulls: object, exceptions: object) -> tuple[str, str, str]:
    """Return how a function is called, and what becomes of NULLs and of exceptions.

    Raises:
        DataError: One of them is no option.
    """
    known = {
        "type": (kind, ("native", "arrow")),
        "null_handling": (nulls, ("default", "special")),
        "exception_handling": (exceptions, ("default", "return_null")),
    }
    for what, (value, options) in known.items():
        if value not in options:
            raise DataError(
                f"{_shown(value)} is no {what} of a function",
                hint=f"it is {' or '.join(map(repr, options))}",
            )
    return str(kind), str(nulls), str(exceptions)


def parameters(given: Any) -> Sequence[Any] | Mapping[str, Any] | None:
    """Return the values of a statement's parameters.

    Raises:
        DataError: They are neither in a list nor in a mapping.
    """
    if given is None or (
        isinstance(given, (Sequence, Mapping)) and not isinstance(given, (str, bytes))
    ):
        return given
    raise DataError(
        f"{_shown(given)} does not give the values of parameters",
        hint="pass a list for ?, or a mapping of names for $name",
    )


def seconds(given: object) -> float | None:
    """Return a number of seconds, or None if none is given, or more than anybody waits.

    Raises:
        DataError: It is no number, or not one from 0 on.

    >>> seconds(5), seconds(float("inf")), seconds(10**400)
    (5.0, None, None)
    """
    if given is None:
        return None
    if isinstance(given, (int, float)) and given >= 0:
        # Python's locks take no more
        return float(given) if given < threading.TIMEOUT_MAX else None
    raise DataError(f"{_shown(given)} is no number of seconds", hint="pass one from 0 on, or None")


def callback(given: Callable[[Exception], object] | None) -> Callable[[Exception], object] | None:
    """Return a function of an error, or None if none is given.

    Raises:
        DataError: It cannot be called.
    """
    if given is None or callable(given):
        return given
    raise DataError(
        f"{_shown(given)} is no function of an error",
        hint="pass one, such as on_error=print, or None",
    )


def _shown(given: object) -> str:
    said = repr(given)
    return said if len(said) <= SHOWN else f"{said[: SHOWN - 1]}…"
