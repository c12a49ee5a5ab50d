"""DuckDB relations as Arrow tables, without loss.

By itself DuckDB (release 2.0) exports a BIT as its internal bytes, a time of day without its
offset, and a UHUGEINT as a signed number.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import duckdb
import pyarrow as pa

from cqlduck.data.target import Target
from cqlduck.errors import DataError, Error, NotSupportedError, first_line
from cqlduck.rewrite.plan import Column
from cqlduck.state.connection import quoted
from cqlduck.state.types import EXPORTED, replaced

_VARIANT = "VARIANT"
"""What DuckDB's error names if Arrow has no type for a value."""


def exported(relation: duckdb.DuckDBPyRelation) -> pa.Table:
    """Return a relation as Arrow; what Arrow would damage is in it as text."""
    pairs = zip(relation.columns, relation.types, strict=True)
    listed = for_arrow(Column(name, str(kind)) for name, kind in pairs)
    return (relation if listed is None else relation.project(listed)).to_arrow_table()


def for_arrow(columns: Iterable[Column]) -> str | None:
    """Return columns as Arrow can hold them, as SQL; None if it can as they are."""
    listed, is_changed = [], False
    for column in columns:
        kind = replaced(column.type, EXPORTED)
        listed.append(quoted(column.name))
        if kind != column.type:
            is_changed = True
            listed[-1] = f"CAST({quoted(column.name)} AS {kind}) AS {quoted(column.name)}"
    return ", ".join(listed) if is_changed else None


def copied(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the rows of a relation as one in a DuckDB of its own.

    Raises:
        NotSupportedError: A VARIANT holds what Arrow's has no type for.
    """
    columns = [Column(n, str(k)) for n, k in zip(relation.columns, relation.types, strict=True)]
    with leaving():
        table = exported(relation)
    listed = "*"
    if len({c.name.lower() for c in columns}) == len(columns):
        listed = ", ".join(
            f"CAST({quoted(c.name)} AS {c.type}) AS {quoted(c.name)}" for c in columns
        )
    return of_table(table, listed)


def of_table(table: pa.Table, listed: str = "*") -> duckdb.DuckDBPyRelation:
    """Return a table, or columns as SQL over it, as a relation in a DuckDB of its own."""
    own = duckdb.connect(":memory:")
    own.execute("SET TimeZone = 'UTC'")
    own.register("exported", table)
    own.execute(f"CREATE TEMP TABLE result AS SELECT {listed} FROM exported")
    return own.table("temp.result")


def _refused(error: Exception) -> Error:
    """Return what to say when rows cannot be given as Arrow."""
    return NotSupportedError(
        f"these rows cannot be given as Arrow: {first_line(error)}",
        hint="cast what Arrow has no type for in the query, as in v::VARCHAR, or read it with "
        "table() or sql()",
    )


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """Say what is wrong where a block gives rows as Arrow.

    Raises:
        NotSupportedError: A VARIANT holds what Arrow's has no type for, or a type is nested deeper
            than Arrow's schema may be.
        duckdb.Error: What yields the rows failed.
    """
    try:
        yield
    except pa.ArrowInvalid as error:
        raise _refused(error) from error
    except duckdb.InvalidInputException as error:
        if _VARIANT not in str(error):
            raise
        raise _refused(error) from error


def read(thing: Target, relation: duckdb.DuckDBPyRelation) -> pa.Table:
    """Return a relation for an input as Arrow.

    Raises:
        DataError: A VARIANT holds what Arrow's has no type for.
    """
    try:
        return exported(relation)
    except duckdb.InvalidInputException as error:
        pairs = zip(relation.columns, relation.types, strict=True)
        variants = [name for name, kind in pairs if _VARIANT in str(kind)]
        if _VARIANT not in str(error) or not variants:
            raise
        raise DataError(
            f"the data for {thing.name} has a VARIANT in {variants[0]} that Arrow cannot hold: "
            f"{first_line(error)}",
            hint=f"INSERT INTO {thing.name} SELECT … takes it from a table of this database",
            field=variants[0],
        ) from error
