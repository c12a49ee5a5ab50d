"""Batches in place: found by number, and read as their manifests say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cqlduck.sources.dropzone.manifest import MANIFEST, Manifest, batch_name
from cqlduck.sources.dropzone.refusals import NO_LINK, reading, writing, wrong

_BATCH = re.compile(r"batch=(\d{12,})", re.ASCII)


@dataclass(frozen=True)
class Batch:
    """One batch in place.

    Attributes:
        number: Its number, from 0.
        folder: Its folder.
        manifest: What it says about itself, checked.
    """

    number: int
    folder: Path
    manifest: Manifest

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of its Parquet files in arrival order."""
        return tuple(self.folder / name for name in self.manifest.files)


def inside(root: Path, source: str) -> Path:
    """Return the folder of an input in the drop zone `root`.

    Raises:
        DropZoneError: It leads out of the drop zone.
    """
    folder = root / source
    with reading(folder):
        is_inside = folder.resolve().is_relative_to(root.resolve())
    if not is_inside:
        raise wrong(folder, f"leads out of the drop zone {root}", NO_LINK)
    return folder


def batch_folder(folder: Path, number: int) -> Path:
    """Return where batch `number` of the stream in `folder` lies once it is in place."""
    return folder / batch_name(number)


def is_there(folder: Path, number: int) -> bool:
    """Return whether batch `number` is in place, before it is written.

    Raises:
        DropZoneError: The system does not say.
    """
    with writing(folder, number):
        return batch_folder(folder, number).exists()


def read_batch(folder: Path, number: int) -> Batch:
    """Return batch `number` of the stream in `folder`.

    Raises:
        DropZoneError: It is not there, or its manifest is missing or wrong.
    """
    here = batch_folder(folder, number)
    path = here / MANIFEST
    with reading(path):
        if here.is_symlink() and not here.resolve().is_relative_to(folder.resolve()):
            raise wrong(here, f"leads out of {folder}", NO_LINK)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            what = "a batch without a manifest" if here.is_dir() else "there is no such batch"
            raise wrong(here, what) from None
        except UnicodeDecodeError as error:
            raise wrong(path, f"not UTF-8: {error}") from None
        return Batch(number, here, Manifest.from_json(text, path))


def pending(folder: Path, next_batch: int) -> Iterator[Batch]:
    """Yield the batches of the stream in `folder` from `next_batch` on, up to the first gap.

    The folder is not listed: each step looks for one name, so a folder with any number of batches
    behind `next_batch` costs nothing. A stream without a folder has no batches.

    Args:
        folder: The stream's folder.
        next_batch: The number after the last one consumed.

    Raises:
        DropZoneError: The batch reached has no manifest or a wrong one, or its folder's number is
            not padded to twelve digits. Reading can go on behind it with another call.
    """
    number = next_batch
    with reading(folder):
        while batch_folder(folder, number).exists():
            yield read_batch(folder, number)
            number += 1
        short = folder / f"batch={number}"
        if short.name != batch_name(number) and short.exists():
            raise wrong(
                short,
                "the number is not padded to twelve digits",
                f"rename it to {batch_name(number)!r}",
            )


def gap(folder: Path, next_batch: int) -> int | None:
    """Return the smallest number in place beyond a missing `next_batch`, or None without a gap.

    Lists the folder if `next_batch` is missing: for showing, not for each poll.
    """
    with reading(folder):
        if (folder / batch_name(next_batch)).exists():
            return None
        try:
            with os.scandir(folder) as entries:
                matches = [_BATCH.fullmatch(entry.name) for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return None
    beyond = [n for match in matches if match and (n := int(match[1])) > next_batch]
    return min(beyond, default=None)
