"""Columns of data matched to those of an input, by name without regard to case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from cqlduck.errors import DataError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import Clock
from cqlduck.state import arrivals
from cqlduck.state.connection import quoted
from cqlduck.state.registered import Input

Named = Mapping[str, Column]
"""Columns of data by lower-case name; a type is empty where it is no time and has no texts."""


def named(columns: Iterable[Column]) -> dict[str, Column]:
    """Return columns by lower-case name."""
    return {column.name.lower(): column for column in columns}


def matched(
    thing: Input,
    data: str,
    there: Named,
    *,
    needed: Collection[str] = (),
    allowed: Collection[str] = (),
) -> tuple[Column, ...]:
    """Return the columns of data in the order of the input's own.

    Args:
        thing: The stream or relation.
        data: What the data is called.
        there: Its columns.
        needed: Which it must have besides those of the input.
        allowed: Which it may have besides.

    Raises:
        DataError: One is missing, or not known.
    """
    own = [c.name for c in thing.columns]
    missing = [name for name in (*own, *needed) if name.lower() not in there]
    wanted = {name.lower() for name in (*own, *needed, *allowed)}
    unknown = [c.name for key, c in there.items() if key not in wanted]
    if missing or unknown:
        parts = [f"lacks {', '.join(missing)}"] if missing else []
        parts += [f"has {', '.join(unknown)} too many"] if unknown else []
        listed = f"its columns are {', '.join(own)}"
        raise DataError(
            f"{data} {' and '.join(parts)}, for {thing.kind} {thing.name}",
            hint=suggestion(unknown[0], missing, listed, every=False)
            if unknown and missing
            else listed,
            field=(missing or unknown)[0],
        )
    return tuple(there[name.lower()] for name in own)


def times(thing: Input, there: Named) -> Column | None:
    """Return the column of the times, by its name in the data and as what it is read, or None."""
    if thing.timestamp_by is None:
        return there.get("_ts")
    own = next(c for c in thing.columns if c.name == thing.timestamp_by)
    found = there.get(own.name.lower())
    return None if found is None else Column(found.name, own.type)


def stamp(clock: Clock, thing: Input, there: Named) -> str:
    """Return the raw time of a row as SQL; the column of the times has to be there."""
    found = times(thing, there)
    assert found is not None
    if thing.timestamp_by is not None:
        value = arrivals.cast(there[found.name.lower()], found.type)
    elif found.type == "VARCHAR":
        value = arrivals.cast(found, "TIMESTAMP")
    else:
        value = quoted(found.name)
    return arrivals.raw_sql(clock, value, found.type)
