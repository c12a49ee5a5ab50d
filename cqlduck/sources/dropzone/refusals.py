"""Errors of the drop zone: which path is wrong, and what to do about it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from cqlduck.errors import DropZoneError, first_line
from cqlduck.state.machine import NO_ROOM

NO_LINK = "copy what it leads to into the drop zone; a link out of it is refused"
_REWRITE = "write the batch again under a hidden name and rename it into place"


def wrong(path: Path, what: str, hint: str = _REWRITE) -> DropZoneError:
    """Return the error of a path that is not as the format has it."""
    return DropZoneError(f"{path}: {what}", hint=hint)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say of which path the block cannot read what it needs.

    Raises:
        DropZoneError: The system, or Python (of links that lead to themselves), says no.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        hint = "see its permissions" if isinstance(error, PermissionError) else _REWRITE
        raise wrong(path, f"cannot be read: {_reason(error)}", hint) from error


@contextlib.contextmanager
def writing(folder: Path, number: int) -> Iterator[None]:
    """Say of which batch the block cannot write the files.

    Args:
        folder: The stream's folder.
        number: The batch's number.

    Raises:
        DropZoneError: The system says no.
    """
    try:
        yield
    except OSError as error:
        why = _reason(error)
        first = (
            "free some space on its disk" if why in NO_ROOM else "see whether you may write there"
        )
        raise DropZoneError(
            f"batch {number} cannot be written into {folder}: {why}",
            hint=f"{first}, then write the batch again; no reader sees a part of it",
        ) from error


def _reason(error: OSError | RuntimeError) -> str:
    """Return what the system says; Arrow says more around it."""
    number = getattr(error, "errno", None)
    return first_line(error) if number is None else os.strerror(number)
