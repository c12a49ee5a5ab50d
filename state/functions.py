"""Users' functions: Python functions that SQL calls.

The database keeps of a function its name, its signature and a digest of its source; the function
itself belongs to the process, which has to register it again after opening. DuckDB has a caller for
each function that is kept, so queries bind before that; the caller of one that is not registered
raises an error.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa
from duckdb import func

NATIVE, ARROW = "native", "arrow"
"""How a function is called: with the values of a row, or with Arrow arrays of many rows."""

SHOWN = 40
"""How many characters are shown of an argument for which a function raised an error."""


@dataclass(frozen=True)
class Function:
    """What is kept of a function.

    Attributes:
        name: Its name, as it was written.
        parameters: The DuckDB types of its parameters.
        return_type: The DuckDB type of its values.
        type: How it is called, `NATIVE` or `ARROW`.
        null_handling: 'default' if a NULL argument gives NULL, 'special' if it is called with None.
        exception_handling: 'default' if an exception is an error, 'return_null' if it gives NULL.
        digest: That of its source.
    """

    name: str
    parameters: tuple[str, ...]
    return_type: str
    type: str = NATIVE
    null_handling: str = "default"
    exception_handling: str = "default"
    digest: str = ""

    @property
    def raises(self) -> bool:
        """Whether its exceptions are errors."""
        return self.exception_handling == "default"

    @property
    def skips_nulls(self) -> bool:
        """Whether a NULL argument gives NULL without a call."""
        return self.null_handling == "default"

    @property
    def signature(self) -> Function:
        """All of it but the digest: two of one signature can take each other's place."""
        return replace(self, name=self.name.lower(), digest="")

    def __str__(self) -> str:
        """Return its signature for people to read."""
        handled = [f"type '{self.type}'"] if self.type != NATIVE else []
        handled += ["null_handling 'special'"] if self.null_handling != "default" else []
        handled += [] if self.raises else ["exception_handling 'return_null'"]
        written = f"{self.name}({', '.join(self.parameters)}) -> {self.return_type}"
        return ", ".join([written, *handled])


class FunctionError(Exception):
    """What a function raised, for which arguments."""


def with_parameters(call: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return a function that says it has so many parameters: DuckDB counts them."""
    places = [
        inspect.Parameter(f"a{place}", inspect.Parameter.POSITIONAL_ONLY) for place in range(count)
    ]
    call.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]
    return call


class Callables:
    """The callers that DuckDB has, and the Python functions that they call.

    Args:
        connection: The connection of the database.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Begin without any."""
        self._connection = connection
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self._callers: dict[str, _Caller] = {}

    def define(self, function: Function, call: Callable[..., Any] | None) -> None:
        """Let SQL call a function; outside of transactions, whose statements would not see it.

        Args:
            function: What is known of it.
            call: The Python function, or None as long as it is not registered.

        Raises:
            duckdb.Error: DuckDB does not take it.
        """
        key = function.name.lower()
        known = self._callers.get(key)
        if known is not None and known.function.signature == function.signature:
            known.call = call
            return
        caller = _Caller(function, call)
        self.remove(function.name)
        if self._cursor is None:
            # only the connection that made a function can remove it
            self._cursor = self._connection.cursor()
        self._cursor.create_function(
            key,
            caller.entry(),
            list(function.parameters),
            function.return_type,
            type=func.ARROW if function.type == ARROW else func.NATIVE,
            null_handling=func.SPECIAL,
        )
        self._callers[key] = caller

    def remove(self, name: str) -> None:
        """Let SQL call a function no more; outside of transactions."""
        if self._callers.pop(name.lower(), None) is not None:
            assert self._cursor is not None
            self._cursor.remove_function(name.lower())

    def call_of(self, name: str) -> Callable[..., Any] | None:
        """Return the Python function of a name, or None if it is not registered."""
        known = self._callers.get(name.lower())
        return None if known is None else known.call

    def missing(self, names: Iterable[str]) -> str | None:
        """Return the first of some names whose function is not registered, or None."""
        return next((name for name in names if self.call_of(name) is None), None)

    def calling(self) -> str | None:
        """Return the function inside of which this thread is, or None.

        It is asked by the calls of a connection, and looks at the stack: to note each call of a
        function would cost as much as a short function.
        """
        frame = sys._getframe(1) if self._callers else None
        while frame is not None:
            if frame.f_code in _ENTRIES:
                caller = frame.f_locals["self"]
                if caller in self._callers.values():
                    return str(caller.function.name)
            frame = frame.f_back
        return None


class _Caller:
    """What DuckDB calls in the place of a function."""

    def __init__(self, function: Function, call: Callable[..., Any] | None) -> None:
        self.function = function
        self.call = call

    def entry(self) -> Callable[..., Any]:
        """Return the Python function that DuckDB gets; it counts the parameters."""
        entry = self._arrow() if self.function.type == ARROW else self._native()
        return with_parameters(entry, len(self.function.parameters))

    def _native(self) -> Callable[..., Any]:
        raises, skips_nulls = self.function.raises, self.function.skips_nulls
        is_float = self.function.return_type in ("DOUBLE", "FLOAT")

        def entry(*values: Any) -> Any:
            if skips_nulls and None in values:
                return None
            try:
                found = self.call(*values)  # type: ignore[misc]
            except Exception as error:
                if self.call is None:
                    raise self.not_registered() from None
                if raises:
                    raise self.failed(values, error) from error
                return None
            if type(found).__module__ == "numpy":
                found = found.tolist()
            # DuckDB reads a NaN of Python's as NULL
            return "nan" if is_float and found != found else found

        return entry

    def _arrow(self) -> Callable[..., Any]:
        skips_nulls = self.function.skips_nulls

        def entry(*columns: Any) -> Any:
            if self.call is None:
                raise self.not_registered()
            if skips_nulls and any(column.null_count for column in columns):
                return self._valid(columns)
            return self._array(columns)

        return entry

    def _array(self, columns: Sequence[pa.ChunkedArray]) -> Any:
        """Call a function of Arrow arrays; return an array of as many values."""
        try:
            found = self.call(*columns)  # type: ignore[misc]
            if columns:
                (found,) = pa.Table.from_arrays([found], ["found"]).columns
        except Exception as error:
            raise self.failed(None, error) from error
        if columns and len(found) != len(columns[0]):
            name = self.function.name
            raise FunctionError(f"{name}(…) gave {len(found)} values of {len(columns[0])} rows")
        return found

    def _valid(self, columns: Sequence[pa.ChunkedArray]) -> Any:
        """Call a function of Arrow arrays for the rows without NULL; the others get NULL."""
        import pyarrow.compute as pc

        valid = functools.reduce(pc.and_, map(pc.is_valid, columns))
        count = pc.sum(valid).as_py()
        if not count:
            return pa.nulls(len(valid))
        found = self._array([column.filter(valid) for column in columns])
        places = pc.subtract(pc.cumulative_sum(pc.cast(valid, pa.int64())), 1)
        return found.take(pc.if_else(valid, places, pa.scalar(None, pa.int64())))

    def not_registered(self) -> FunctionError:
        """Return what to raise as long as the function is not registered."""
        name = self.function.name
        return FunctionError(f"the function {name} is not registered; con.create_function does it")

    def failed(self, values: tuple[Any, ...] | None, error: Exception) -> FunctionError:
        """Return what to raise where the function has raised an error."""
        given = "…" if values is None else ", ".join(map(_shown, values))
        said = str(error)
        what = type(error).__name__ + (f": {said}" if said else "")
        return FunctionError(f"{self.function.name}({given}) raised {what}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


_ENTRIES = frozenset(
    _Caller(Function("f", (), "INTEGER", type=kind), None).entry().__code__
    for kind in (NATIVE, ARROW)
)
"""The code of the functions that DuckDB gets."""
