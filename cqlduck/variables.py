"""Data frames by name in SQL: registered ones, and the variables of the caller.

DuckDB itself searches the variables of the Python frame that calls it. Here that would be one of
our own frames, so its search is off, and this module searches the frame that calls us. A name that
the database has is never a variable.
"""

from __future__ import annotations

import inspect
import re
from collections import ChainMap
from collections.abc import Iterable
from types import FrameType
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.data import tables
from cqlduck.engine import Engine
from cqlduck.state.connection import quoted

_WORD = re.compile(r'"([^"]+)"|([^\W\d]\w*)')
_MADE = re.compile(
    r"\bCREATE\b[^;(]{0,100}?\b(?:TABLE|VIEW|STREAM|RELATION|QUERY)\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    r'("[^"]+"|\w+)',
    re.IGNORECASE,
)
_OURS = __name__.partition(".")[0]


def tables_in(engine: Engine, text: str, frame: FrameType) -> dict[str, pa.Table]:
    """Return the variables of a Python frame that `text` names and the database does not know.

    They may be read by the caller's code, which may take its time, wait for other threads, or use
    the connection: so they are read outside of any change and turn.

    Args:
        engine: The engine.
        text: Statements.
        frame: The frame of whoever calls us.
    """
    found = frames_in(text, frame)
    if not found:
        return {}
    with engine.opened():
        known = engine.catalogue
        unknown = [
            name
            for name in found
            if not (name.lower() in known.inputs or name.lower() in known.queries)
            and engine.database.described(f"FROM {quoted(name)}") is None
        ]
    with engine.database.interrupts.noticed():
        return {name: tables.of_frame(name, found[name]) for name in unknown}


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
