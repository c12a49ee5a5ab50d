"""The columns of a batch's files, matched to those of the input."""

from __future__ import annotations

from pathlib import Path

from cqlduck import matching
from cqlduck.errors import DataError, DropZoneError
from cqlduck.rewrite.plan import Column
from cqlduck.state.registered import Input


def matched(thing: Input, folder: Path, there: matching.Named) -> tuple[Column, ...]:
    """Return the columns of files in the order of the input's own.

    Args:
        thing: The stream or relation.
        folder: The folder of the batch.
        there: The columns of its files.

    Raises:
        DropZoneError: One is missing, or not known.
    """
    needed = ("_ts",) if thing.timestamp_by is None else ()
    allowed = ("_ts",) if thing.kind == "stream" else ("_ts", "_op")
    try:
        return matching.matched(thing, str(folder), there, needed=needed, allowed=allowed)
    except DataError as error:
        raise DropZoneError(error.message, hint=error.hint) from None
