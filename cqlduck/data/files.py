"""Files as Arrow tables: Parquet unchanged, CSV and JSON as texts that are cast to input types.

DuckDB would guess the types of CSV and JSON: a number for '007', a time for a text that looks like
a time. So their values stay texts until they are cast to the types of the columns; lists and
objects of JSON become Python's.
"""

from __future__ import annotations

import json
import os
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.data import relation, values
from cqlduck.data.place import scratch
from cqlduck.data.target import Target
from cqlduck.errors import DataError, first_line
from cqlduck.state.connection import literal, quoted

_KINDS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_PACKED = (".gz", ".zst")
_NESTED = ("[", "STRUCT(", "MAP(", "UNION(", "VARIANT", "JSON")


def read(thing: Target, path: str | os.PathLike[str]) -> pa.Table:
    """Return the rows of a file; a path may have wildcards.

    Raises:
        DataError: Its name does not say what kind of file it is, or it cannot be read.
    """
    name = os.fspath(path)
    bare = name
    for packed in _PACKED:
        bare = bare.removesuffix(packed)
    kind = _KINDS.get(os.path.splitext(bare)[1].lower())
    if kind is None:
        raise DataError(
            f"cannot append a {type(path).__name__} to {thing.name}: {name!r} is no path to a file "
            "of rows",
            hint=f"files end in {', '.join(_KINDS)}, also with {' or '.join(_PACKED)} after it",
        )
    try:
        return _rows(thing, name, kind)
    except (duckdb.Error, ValueError) as error:
        raise DataError(
            f"the data for {thing.name} cannot be read from {name}: {first_line(error)}",
            hint="is it there and complete, and may you read it?",
        ) from error


def _rows(thing: Target, name: str, kind: str) -> pa.Table:
    if kind == "json":
        return _json(thing, name)
    if kind == "csv":
        options = "header = true, all_varchar = true, allow_quoted_nulls = false"
        return relation.read(thing, scratch().sql(f"FROM read_csv({literal(name)}, {options})"))
    source = f"read_parquet({literal(name)}, hive_partitioning = false)"
    return relation.read(thing, scratch().sql(f"FROM {source}"))


def _json(thing: Target, name: str) -> pa.Table:
    """Return the rows of a file of JSON objects, one after another or in a list."""
    source = f"read_json({literal(name)}, maximum_depth = 1, sample_size = -1)"
    found = scratch().sql(f"FROM {source}")
    kinds = {c.name.lower(): c.type for c in thing.columns}
    listed = []
    for field in found.columns:
        kind = kinds.get(field.lower(), "VARCHAR")
        text = f"CAST({quoted(field)} AS VARCHAR)" if _is_nested(kind) else f"{quoted(field)}->>'$'"
        listed.append(f"{text} AS {quoted(field)}")
    table = found.project(", ".join(listed)).to_arrow_table()
    for place, field in enumerate(table.column_names):
        kind = kinds.get(field.lower(), "VARCHAR")
        if _is_nested(kind) and kind != "JSON":
            cells = [_loaded(text) for text in table.column(place).to_pylist()]
            made, column = values.of_data(thing.name, field, cells, kind)
            table = table.set_column(place, made, column)
    return table


def _is_nested(kind: str) -> bool:
    return any(word in kind for word in _NESTED)


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)
