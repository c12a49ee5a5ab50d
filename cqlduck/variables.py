"""Data frames by name in SQL: those that are registered, and the variables of the caller.

DuckDB itself looks for the variables of the Python frame that calls it. Here that would be one of
our own, so its search is off, and this module does the same for the frame that calls us. A name
that the database knows is never a variable.
"""

from __future__ import annotations

import inspect
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.data.relation import exported
from cqlduck.errors import DataError

_WORD = re.compile(r'"([^"]+)"|([^\W\d]\w*)')
_MADE = re.compile(
    r"\bCREATE\b[^;(]{0,100}?\b(?:TABLE|VIEW|STREAM|RELATION|QUERY)\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    r'("[^"]+"|\w+)',
    re.IGNORECASE,
)
_OURS = __name__.partition(".")[0]


def frames_in(text: str, frame: FrameType) -> dict[str, Any]:
    """Return the variables of a Python frame that are data frames and that a text names, by name.

    A word of the text may be a column or stand in a comment: then its variable is not read. What
    the text itself creates is no variable, and code of cqlduck's own has none.
    """
    module = str(frame.f_globals.get("__name__", ""))
    if module.partition(".")[0] == _OURS:
        return {}
    words = dict.fromkeys(quoted or word for quoted, word in _WORD.findall(text))
    known = ChainMap(_locals(frame, words), frame.f_globals)
    found = {word: known[word] for word in words if _is_frame(known.get(word))}
    if found:
        for name in _MADE.findall(text):
            found.pop(name.strip('"'), None)
    return found


def _locals(frame: FrameType, words: Iterable[str]) -> dict[str, Any]:
    """Return the local variables of a frame if one of them has such a name, else none.

    Of a function they are a copy that the frame keeps, and with it what the function lets go of.
    """
    code = frame.f_code
    if code.co_flags & inspect.CO_OPTIMIZED:
        names = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        if names.isdisjoint(words):
            return {}
    return dict(frame.f_locals)


def _is_frame(value: Any) -> bool:
    """Return whether a variable is something that SQL can read as a table."""
    if value is None or isinstance(value, (str, bytes, int, float, type)):
        return False
    if isinstance(value, (pa.Table, pa.RecordBatch, duckdb.DuckDBPyRelation)):
        return True
    kind = type(value)
    if kind.__module__.partition(".")[0] not in ("pandas", "polars"):
        return False
    return kind.__name__ in ("DataFrame", "LazyFrame")


def as_table(name: str, data: Any) -> pa.Table:
    """Return data as an Arrow table, which stays as it is when the data changes.

    Args:
        name: What it is called, for errors.
        data: A pandas or polars frame, anything of Arrow, a DuckDB relation, a mapping of columns,
            or rows that are mappings.

    Raises:
        DataError: It is nothing that can be read as a table, or has no columns.
    """
    table = _table(name, data)
    if not table.num_columns:
        raise DataError(f"{name} has no columns", hint="pass a table with at least one")
    return table


def _table(name: str, data: Any) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    try:
        if isinstance(data, duckdb.DuckDBPyRelation):
            return exported(data)
        if type(data).__name__ == "LazyFrame":
            data = data.collect()
        if type(data).__module__.startswith("pandas"):
            return pa.Table.from_pandas(data, preserve_index=False)
        if isinstance(data, Mapping):
            return pa.table(dict(data))
        if isinstance(data, Sequence) and data and all(isinstance(r, Mapping) for r in data):
            return pa.Table.from_pylist(list(data))
        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError, AttributeError, duckdb.Error) as error:
        raise DataError(f"{name} cannot be read as a table: {error}") from error
    raise DataError(
        f"{name} is a {type(data).__name__}, and no table",
        hint="pass a pandas or polars frame, Arrow, a DuckDB relation, a mapping of columns, or "
        "rows that are mappings",
    )
