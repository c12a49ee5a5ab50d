"""The columns of a batch's files, matched to those of the input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cqlduck.errors import DropZoneError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import Clock
from cqlduck.state import queues
from cqlduck.state.catalog import Input
from cqlduck.state.connection import quoted


def described(rows: Iterable[tuple[Any, ...]]) -> dict[str, Column]:
    """Return the columns that DuckDB's DESCRIBE tells of, by lower-case name."""
    return {row[0].lower(): Column(row[0], row[1]) for row in rows}


def matched(thing: Input, folder: Path, there: Mapping[str, Column]) -> tuple[Column, ...]:
    """Return the columns of files in the order of the input's own.

    Args:
        thing: The stream or relation.
        folder: The folder of the batch.
        there: The columns of its files, by lower-case name.

    Raises:
        DropZoneError: One is missing, or not known.
    """
    extra = {"_ts"} if thing.timestamp_by is None else set()
    if thing.kind == "relation":
        extra.add("_op")
    wanted = {c.name.lower() for c in thing.columns}
    missing = [c.name for c in thing.columns if c.name.lower() not in there]
    missing += sorted(extra - {"_op"} - set(there))
    unknown = [c.name for key, c in there.items() if key not in wanted | {"_ts", "_op"}]
    if missing or unknown:
        parts = [f"lacks {', '.join(missing)}"] if missing else []
        parts += [f"has {', '.join(unknown)} too many"] if unknown else []
        raise DropZoneError(
            f"{folder} {' and '.join(parts)}, for {thing.kind} {thing.name}",
            hint=suggestion(unknown[0], missing, "it lacks")
            if missing and unknown
            else f"its columns are {', '.join(c.name for c in thing.columns)}",
        )
    return tuple(there[c.name.lower()] for c in thing.columns)


def times(thing: Input, there: Mapping[str, Column]) -> Column | None:
    """Return the column of the times, by its name in the files and as what it is read, or None."""
    if thing.timestamp_by is None:
        return there.get("_ts")
    own = next(c for c in thing.columns if c.name == thing.timestamp_by)
    found = there.get(own.name.lower())
    return None if found is None else Column(found.name, own.type)


def stamp(clock: Clock, thing: Input, there: Mapping[str, Column]) -> str:
    """Return the raw time of a row as SQL; the column of the times has to be there."""
    found = times(thing, there)
    assert found is not None
    if thing.timestamp_by is not None:
        value = queues.cast(there[found.name.lower()], found.type)
    elif found.type == "VARCHAR":
        value = queues.cast(found, "TIMESTAMP")
    else:
        value = quoted(found.name)
    return queues.raw_sql(clock, value, found.type)
