"""A batch that is cut, changed, taken away or exchanged: it is named, and nothing else is harmed.

Whatever becomes of a file of a batch, `follow` goes on with the other inputs, takes nothing of the
batch, and says which file it is; when the batch is whole again, the answers are those of a drop
zone in which nothing happened. A byte that is changed in a file without a checksum, or in a
manifest, may be read as other data; then it is the other inputs and the errors that are looked at.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pickle
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.sources import dropzone
from cqlduck.sources.dropzone import MANIFEST, batch_folder, write_batch

EXAMPLES = 8
BATCHES, ROWS = 4, 30
SETUP = """
    CREATE STREAM hurt (t BIGINT, v VARCHAR) TIMESTAMP BY t FROM 'hurt';
    CREATE STREAM well (t BIGINT, v VARCHAR) TIMESTAMP BY t FROM 'well';
    CREATE CONTINUOUS QUERY hurt_values AS SELECT * FROM hurt;
    CREATE CONTINUOUS QUERY hurt_counts AS SELECT count(*) AS n FROM hurt [RANGE 2];
    CREATE CONTINUOUS QUERY well_counts AS SELECT count(*) AS n FROM well [RANGE 2];
"""
QUERIES = ("hurt_values", "hurt_counts", "well_counts")


@dataclass(frozen=True)
class Damage:
    """What becomes of a file of a batch.

    Attributes:
        batch: The batch's number.
        to_manifest: Whether it is the manifest, or else the Parquet file.
        kind: `cut`, `flip`, or what takes its place: a `folder`, a `link` to itself, or `nothing`.
        place: Where it is cut or changed, as a part of its length.
        bit: Which bit of the byte there is changed.
        has_checksums: Whether the manifests have checksums.
        is_late: Whether it happens after the manifest has been read.
        limit: How many batches are followed at once, or None.
    """

    batch: int
    to_manifest: bool
    kind: str
    place: float
    bit: int
    has_checksums: bool
    is_late: bool
    limit: int | None

    @property
    def is_seen(self) -> bool:
        """Whether it is an error, or changes nothing."""
        return self.kind != "flip" or (self.has_checksums and not self.to_manifest)

    def do(self, root: Path) -> None:
        folder = batch_folder(root / "hurt", self.batch)
        file = folder / (MANIFEST if self.to_manifest else "part-0.parquet")
        if self.kind in ("cut", "flip"):
            data = bytearray(file.read_bytes())
            at = int(self.place * len(data))
            if self.kind == "flip":
                data[at] ^= 1 << self.bit
            # it may be read just now
            hurt = folder / "_hurt"
            hurt.write_bytes(data if self.kind == "flip" else data[:at])
            hurt.replace(file)
            return
        file.unlink()
        if self.kind == "folder":
            file.mkdir()
        elif self.kind == "link":
            file.symlink_to(file)


DAMAGES = st.builds(
    Damage,
    batch=st.integers(0, BATCHES - 1),
    to_manifest=st.booleans(),
    kind=st.sampled_from(["cut", "cut", "flip", "flip", "folder", "link", "nothing"]),
    place=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
    has_checksums=st.booleans(),
    is_late=st.booleans(),
    limit=st.sampled_from([None, 1, 2]),
)


def write(root: Path, *, has_checksums: bool = True) -> None:
    for name in ("hurt", "well"):
        for batch in range(BATCHES):
            times = [batch * 2 + (i * 2) // ROWS for i in range(ROWS)]
            given = pa.table({"t": times, "v": [f"{name} {t}" for t in times]})
            write_batch(root, name, batch, given, ts="t", heartbeat=batch * 2 + 1)
            manifest = batch_folder(root / name, batch) / MANIFEST
            if not has_checksums:
                fields = json.loads(manifest.read_text())
                del fields["checksums"]
                manifest.write_text(json.dumps(fields))


def elements(con: cqlduck.Connection, name: str) -> list[Any]:
    return sorted(con.changes(name).fetchall(), key=repr)


@functools.cache
def calm() -> dict[str, list[Any]]:
    with tempfile.TemporaryDirectory() as root, cqlduck.connect(drop_zone=root) as con:
        write(Path(root))
        con.execute(SETUP)
        assert con.follow() == 2 * BATCHES
        return {name: elements(con, name) for name in QUERIES}


@contextlib.contextmanager
def after_its_manifest(number: int, do: Callable[[], None]) -> Iterator[None]:
    """Do something once, right after the manifest of a batch of `hurt` has been read."""
    read, rest, lock = dropzone.read_batch, [do], threading.Lock()

    def reading(folder: Path, batch: int) -> dropzone.Batch:
        found = read(folder, batch)
        if folder.name == "hurt" and batch == number:
            # what is read ahead is read in another thread
            with lock:
                call = rest.pop() if rest else None
            if call is not None:
                call()
        return found

    with mock.patch.object(dropzone.batches, "read_batch", reading):
        yield
    while rest:
        rest.pop()()


def followed(con: cqlduck.Connection, limit: int | None) -> list[cqlduck.DropZoneError]:
    """Follow all there is, and return what that raised."""
    raised = []
    for _ in range(1 if limit is None else BATCHES):
        try:
            con.follow(limit=limit)
        except cqlduck.DropZoneError as error:
            raised.append(error)
    return raised


def check(damage: Damage) -> None:
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        root = Path(name).resolve()
        write(root, has_checksums=damage.has_checksums)
        folder = batch_folder(root / "hurt", damage.batch)
        shutil.copytree(folder, root / "whole")
        con = stack.enter_context(cqlduck.connect(drop_zone=root))
        con.execute(SETUP)
        if damage.is_late:
            with after_its_manifest(damage.batch, lambda: damage.do(root)):
                raised = followed(con, damage.limit)
        else:
            damage.do(root)
            raised = followed(con, damage.limit)
        assert calm()["well_counts"] == elements(con, "well_counts")
        if not (raised or damage.is_seen):
            return
        for error in raised:
            assert str(folder) in error.message
            assert error.hint
            assert str(error) == str(pickle.loads(pickle.dumps(error)))
        if raised:
            waits = con.sql("SELECT waiting_for FROM cql.streams WHERE name = 'hurt'").fetchall()
            assert [(raised[-1].message,)] == waits
            reached = con.queries["hurt_values"].frontier or -1
            assert reached < damage.batch * 2
            for query in QUERIES[:2]:
                before = [row for row in calm()[query] if row[-2] <= reached]
                assert before == elements(con, query)
        shutil.rmtree(folder)
        (root / "whole").rename(folder)
        assert not followed(con, None)
        assert calm() == {query: elements(con, query) for query in QUERIES}


@settings(max_examples=EXAMPLES)
@given(DAMAGES)
def test_a_damaged_batch_harms_nothing_else(damage: Damage) -> None:
    check(damage)


@pytest.mark.long
@settings(max_examples=max(int(os.environ.get("FUZZ", "0")) // 50, EXAMPLES))
@given(DAMAGES)
def test_many_damaged_batches_harm_nothing_else(damage: Damage) -> None:
    check(damage)
