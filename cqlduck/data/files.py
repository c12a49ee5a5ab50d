"""Files as Arrow tables: Parquet unchanged, CSV and JSON as texts that are cast to input types.

DuckDB would guess the types of CSV and JSON: a number for '007', a time for a text that looks like
a time. So their values stay texts until they are cast to the types of the columns; lists and
objects of JSON become Python's.

It would guess the dialect of a CSV as well, from its first lines: single quotes around values, a
comment behind #, columns from the names of folders. So all of it is given: RFC 4180 in UTF-8, with
the delimiter of the first line. Of numbers in JSON it keeps those that a DOUBLE or 64 bits can
hold; columns of other types take them from the text of their object.
"""

from __future__ import annotations

import csv
import glob
import json
import os
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.data import relation, values
from cqlduck.data.place import scratch
from cqlduck.data.target import Target
from cqlduck.errors import DataError, first_line, kind_of
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
            f"cannot append {kind_of(path)} to {thing.name}: {name!r} is no path to a file of rows",
            hint=f"files end in {', '.join(_KINDS)}, also with {' or '.join(_PACKED)} after it",
        )
    try:
        return _rows(thing, _escaped(name), kind)
    except (duckdb.Error, ValueError) as error:
        raise DataError(
            f"the data for {thing.name} cannot be read from {name}: {_reason(error)}",
            hint="is it there and complete, and may you read it?",
        ) from error


_REASON = re.compile("Expected Number|Invalid unicode|Maximum line size|Value with unterminated")
"""How DuckDB's word on a line of a CSV begins."""


def _escaped(name: str) -> str:
    """Return a path as a pattern: what there is comes before what it would match as one."""
    return glob.escape(name) if os.path.exists(name) else name


def _reason(error: Exception) -> str:
    """Return in a line why DuckDB cannot read a file."""
    first, *lines = str(error).splitlines()
    # the line itself comes first, and may be long
    said = next((line for line in lines if _REASON.match(line)), None)
    return first_line(error) if said is None else f"{first}: {said}"


def _rows(thing: Target, name: str, kind: str) -> pa.Table:
    if kind == "json":
        return _json(thing, name)
    if kind == "csv":
        return _csv(thing, name)
    source = f"read_parquet({literal(name)}, hive_partitioning = false)"
    return relation.read(thing, scratch().sql(f"FROM {source}"))


# -- CSV -------------------------------------------------------------------------------------------

_DELIMITERS = (",", "\t", ";", "|")
_DIALECT = (
    "header = true, all_varchar = true, allow_quoted_nulls = false, quote = '\"', escape = '\"', "
    "comment = '', skip = 0, hive_partitioning = false"
)


def _csv(thing: Target, name: str) -> pa.Table:
    """Return the rows of a CSV, whose first line has the names of its columns."""
    first = _first_line(name)
    if first is None:
        # DuckDB would call a column of none column0
        raise ValueError("it has no line with the names of its columns")
    delimiter = _delimiter(first, [column.name for column in thing.columns])
    options = f"{_DIALECT}, delim = {literal(delimiter)}"
    try:
        return relation.read(thing, scratch().sql(f"FROM read_csv({literal(name)}, {options})"))
    except duckdb.InvalidInputException as error:
        if "sniffing" in str(error):
            # without, DuckDB says which line it is
            fields = next(csv.reader([first], delimiter=delimiter), [])
            names = ", ".join(f"'{at}': 'VARCHAR'" for at, _ in enumerate(fields))
            fixed = f"{options}, auto_detect = false, columns = {{{names}}}"
            relation.read(thing, scratch().sql(f"FROM read_csv({literal(name)}, {fixed})"))
        raise


def _first_line(name: str) -> str | None:
    """Return the first line of a file, or of the first of several; None if it has none."""
    whole = (
        "header = false, auto_detect = false, columns = {'line': 'VARCHAR'}, delim = '\x01', "
        "quote = '', escape = '', hive_partitioning = false"
    )
    rows = scratch().sql(f"FROM read_csv({literal(name)}, {whole})").limit(1).fetchall()
    return str(rows[0][0]).removeprefix("\ufeff") if rows and rows[0][0] is not None else None


def _delimiter(line: str, wanted: Sequence[str]) -> str:
    """Return the delimiter by which a line has the most of some names.

    >>> _delimiter("a;b,c", ["a", "b,c"]), _delimiter("a", ["a"])
    (';', ',')
    """
    names = {name.lower() for name in wanted}

    def known(delimiter: str) -> int:
        fields = next(csv.reader([line], delimiter=delimiter), [])
        return len(names.intersection(field.strip().lower() for field in fields))

    return max(_DELIMITERS, key=known)


# -- JSON ------------------------------------------------------------------------------------------

_EXACT = ("DECIMAL", "HUGEINT", "BIGNUM")
"""What may have more digits than the numbers that DuckDB makes of JSON."""


def _json(thing: Target, name: str) -> pa.Table:
    """Return the rows of a file of JSON objects, one after another or in a list."""
    options = "sample_size = -1, hive_partitioning = false"
    found = scratch().sql(f"FROM read_json({literal(name)}, maximum_depth = 1, {options})")
    kinds = {c.name.lower(): c.type for c in thing.columns}
    listed = []
    for field in found.columns:
        kind = kinds.get(field.lower(), "VARCHAR")
        text = f"CAST({quoted(field)} AS VARCHAR)" if _is_nested(kind) else f"{quoted(field)}->>'$'"
        listed.append(f"{text} AS {quoted(field)}")
    table = found.project(", ".join(listed)).to_arrow_table()
    if not table.num_rows:
        # without an object it has no names
        return pa.table({c.name: pa.array([], pa.string()) for c in thing.columns})
    exact = [
        f for f in table.column_names if any(word in kinds.get(f.lower(), "") for word in _EXACT)
    ]
    objects = _objects(name) if exact else []
    for place, field in enumerate(table.column_names):
        kind = kinds.get(field.lower(), "VARCHAR")
        if field in exact:
            cells = [one.get(field) for one in objects]
        elif _is_nested(kind) and kind != "JSON":
            cells = [_loaded(text) for text in table.column(place).to_pylist()]
        else:
            continue
        if not _is_nested(kind):
            cells = [None if cell is None else _written(cell) for cell in cells]
        made, column = values.of_data(thing.name, field, cells, kind)
        table = table.set_column(place, made, column)
    return table


def _objects(name: str) -> list[dict[str, Any]]:
    """Return the objects of a file, their numbers with all digits."""
    options = "maximum_object_size = 1073741824"
    found = scratch().sql(f"SELECT json FROM read_json_objects({literal(name)}, {options})")
    texts = (text for (text,) in found.fetchall())
    # a null in the place of an object has no field
    return [json.loads(text, parse_float=Decimal) or {} for text in texts]


def _written(cell: Any) -> str:
    """Return a value of JSON as text."""
    return (
        cell if isinstance(cell, str) else json.dumps(cell) if isinstance(cell, bool) else str(cell)
    )


def _is_nested(kind: str) -> bool:
    return any(word in kind for word in _NESTED)


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)
