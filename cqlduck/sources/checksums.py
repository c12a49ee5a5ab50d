"""Checksums: whether the files of a batch are those that its writer wrote.

A manifest may have `checksums`: for each file the XXH3 hash of its bytes, of 64 bits. That detects
changes by a disk or a copy; it is no protection against deliberate changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import xxhash

from cqlduck.errors import DropZoneError

KIND = "xxh3_64"
LENGTH = 16
"""How many hexadecimal digits a checksum has."""

PIECE = 1 << 20
"""How many bytes are read at once."""


def of_file(path: Path) -> str:
    """Return the checksum of a file, as a manifest has it.

    Raises:
        OSError: It cannot be read.
    """
    digest = xxhash.xxh3_64()
    piece = memoryview(bytearray(PIECE))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(piece):
            digest.update(piece[:count])
    return f"{KIND}:{digest.hexdigest()}"


def is_written_right(checksum: str) -> bool:
    """Return whether a text is a checksum of the kind that is known here."""
    kind, _, digits = checksum.partition(":")
    return kind == KIND and len(digits) == LENGTH and set(digits) <= set("0123456789abcdef")


def check(folder: Path, checksums: Mapping[str, str]) -> None:
    """Refuse a batch with a file that has another checksum than its manifest says.

    Args:
        folder: The batch's folder.
        checksums: The checksums of its files by name.

    Raises:
        DropZoneError: A file has another one, or cannot be read.
    """
    for name, said in checksums.items():
        try:
            found = of_file(folder / name)
        except OSError as error:
            raise DropZoneError(
                f"{folder / name} cannot be read: {error.strerror}", hint="see its permissions"
            ) from error
        if found != said:
            raise DropZoneError(
                f"{folder / name} has the checksum {found}, and its manifest says {said}",
                hint="was a file changed or truncated while it was copied? Replace the folder by a "
                "whole one",
            )
