"""Times that are texts, parsed by Arrow where it agrees with DuckDB.

SQL has to tell texts with an offset from texts without one, row by row, and parses each text as
often as its row is read: for the range of the times, and for the store. Arrow parses a column once.
It refuses a column in which some texts have an offset and others none, and texts that are not ISO
8601 with at most microseconds. Such a column is left to SQL.
"""

from __future__ import annotations

import pyarrow as pa

from cqlduck.state.arrow import integers
from cqlduck.state.registered import Input

_READ = {
    "TIMESTAMP": (pa.timestamp("us"), pa.timestamp("us", "UTC")),
    "DATE": (pa.date32(),),
}
"""As what Arrow may read texts: without an offset, and with one."""

_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
_HOURS = len("2024-01-01 10")
_PIECE = 16_384
"""How many texts are read at once: Arrow words an error for each that it cannot read."""


def as_times(thing: Input, table: pa.Table) -> pa.Table:
    """Return a table in which texts are times that an input takes as times, if Arrow can read them.

    Args:
        thing: The input.
        table: The rows for it; a text in `_ts` is a moment.
    """
    kinds = {"_ts": "TIMESTAMP"} | {c.name.lower(): c.type for c in thing.columns}
    for place, field in enumerate(table.schema):
        if field.type in _BYTES:
            for kind in _READ.get(kinds.get(field.name.lower(), ""), ()):
                times = _read(table.column(place), kind)
                if times is not None:
                    table = table.set_column(place, field.name, times)
                    break
    return table


def _read(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    pieces: list[pa.Array] = []
    try:
        for start in range(0, len(texts), _PIECE):
            piece = texts.slice(start, _PIECE)
            if _has_hours_alone(piece):
                return None
            pieces += piece.cast(kind).chunks
    except pa.ArrowInvalid:
        return None
    times = pa.chunked_array(pieces, kind)
    # what has a zone DuckDB would store as what it shows there
    return times.cast(pa.timestamp("us")) if pa.types.is_timestamp(kind) else times


def _has_hours_alone(texts: pa.ChunkedArray) -> bool:
    """Return whether a text has hours and no minutes, which Arrow takes, and DuckDB does not."""
    # not before somebody needs it: it takes 60 ms
    import pyarrow.compute as pc

    after_hours = pc.binary_slice(texts.cast(_BYTES[texts.type]), _HOURS, _HOURS + 1)
    is_date = pc.less(pc.binary_length(texts), integers([_HOURS])[0])
    has_minutes = pc.equal(after_hours, pa.scalar(b":", _BYTES[texts.type]))
    return pc.all(pc.or_(is_date, has_minutes)).as_py() is False
