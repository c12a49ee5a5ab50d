"""A small batch that is read while the tick before runs is what it is when its turn comes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cqlduck
from cqlduck.sources import ahead, dropzone


def write(root: Path, number: int, table: pa.Table, rows: int | None = None) -> Path:
    """Write a batch whose manifest says `rows`, and promises nothing; return its folder."""
    hidden = dropzone.hidden_folder(root / "s", number)
    pq.write_table(table, hidden / "part-0.parquet")
    reach = dropzone.extent(table["_ts"], "_ts")
    reach = replace(reach, rows=len(table) if rows is None else rows)
    manifest = dropzone.describe("s", number, reach, None, ("part-0.parquet",), table.schema)
    assert dropzone.publish(hidden, manifest)
    return dropzone.batch_folder(root / "s", number)


def numbers(values: Sequence[int], at: int) -> pa.Table:
    return pa.table({"a": list(values), "_ts": pa.array([at] * len(values), pa.int64())})


def stored(con: cqlduck.Connection) -> list[tuple[object, ...]]:
    return con.engine.database.rows("SELECT a, _ts, _cql_seq FROM cql_state.stream_s ORDER BY ALL")


def refuse(*_: object) -> ahead.Ready:
    raise cqlduck.DropZoneError("it is another input's")


def waited_for(con: cqlduck.Connection) -> list[ahead.Small | None]:
    """What has been read for the next tick, when it has been read."""
    assert con._feed._ahead is not None
    return [future.result() for _, future in con._feed._ahead._kept.values()]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def con(root: Path) -> cqlduck.Connection:
    connection = cqlduck.connect(drop_zone=root)
    connection.execute(
        "CREATE STREAM s (a BIGINT) FROM 's'; "
        # all of s is kept for it
        "CREATE CONTINUOUS QUERY q AS SELECT x.a FROM s x, s y WHERE x.a = y.a"
    )
    return connection


def test_the_batch_that_follows_is_read_and_used(con: cqlduck.Connection, root: Path) -> None:
    for number in range(3):
        write(root, number, numbers([10 * number, 10 * number + 1], number))
    assert con.follow(limit=1) == 1
    (small,) = waited_for(con)
    assert small is not None
    assert small.table.column("a").to_pylist() == [10, 11]
    # nobody opens its file again
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "_table", lambda files: pytest.fail(f"{files} read again"))
        patch.setattr(ahead, "_next", lambda *_: None)
        assert con.follow(limit=1) == 1
    assert con.follow(limit=1) == 1
    assert stored(con) == [(0, 0, 0), (1, 0, 1), (10, 1, 2), (11, 1, 3), (20, 2, 4), (21, 2, 5)]
    assert waited_for(con) == [None]


def test_a_batch_that_comes_later_is_found(con: cqlduck.Connection, root: Path) -> None:
    write(root, 0, numbers([1], 0))
    assert con.follow(limit=1) == 1
    assert waited_for(con) == [None]
    write(root, 1, numbers([2], 1))
    assert con.follow(limit=1) == 1
    assert stored(con) == [(1, 0, 0), (2, 1, 1)]


def test_a_folder_that_was_replaced_is_read_again(con: cqlduck.Connection, root: Path) -> None:
    write(root, 0, numbers([1], 0))
    folder = write(root, 1, numbers([2], 1))
    con.follow(limit=1)
    assert None not in waited_for(con)
    shutil.rmtree(folder)
    write(root, 1, numbers([3], 1))
    con.follow(limit=1)
    assert stored(con) == [(1, 0, 0), (3, 1, 1)]


@pytest.mark.parametrize("is_marked", [False, True])
def test_a_manifest_that_is_written_anew_while_its_batch_is_read_counts(
    root: Path, is_marked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's clock need not have moved, and the text may be as long as before."""
    folder = write(root, 0, numbers([1, 2], 0))
    manifest = folder / dropzone.MANIFEST
    whole, times = manifest.read_text(), manifest.stat()

    def say(text: str) -> None:
        manifest.write_text(text)
        os.utime(manifest, ns=(times.st_atime_ns, times.st_mtime_ns))

    say(whole.replace('"rows": 2', '"rows": 3'))
    (batch,) = ahead.batches(folder.parent, 0)
    assert 3 == batch.manifest.rows
    if not is_marked:
        say(whole)
        assert ahead._read(batch, refuse) is None
        return
    reader = ahead.Ahead(lambda: None)
    reader.begin(folder.parent, 0, refuse)
    assert reader.batch(folder.parent, 0) == batch
    say(whole)
    assert reader.batch(folder.parent, 0) is None
    reader.close()


def test_what_is_wrong_with_the_next_batch_is_said_when_its_turn_comes(
    con: cqlduck.Connection, root: Path
) -> None:
    write(root, 0, numbers([1], 0))
    folder = write(root, 1, numbers([2], 1))
    (folder / dropzone.MANIFEST).write_text("{")
    assert con.follow(limit=1) == 1
    with pytest.raises(cqlduck.DropZoneError, match="not JSON"):
        con.follow(limit=1)
    shutil.rmtree(folder)
    write(root, 1, numbers([2, 3], 1), rows=3)
    with pytest.raises(cqlduck.DropZoneError, match="has 2 rows, and its manifest says 3"):
        con.follow(limit=1)
    assert stored(con) == [(1, 0, 0)]


def test_text_that_is_no_utf8_is_duckdbs_to_report(root: Path) -> None:
    broken = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())
    write(root, 0, pa.table({"a": broken, "_ts": pa.array([0], pa.int64())}))
    with cqlduck.connect(drop_zone=root) as con:
        con.execute("CREATE STREAM s (a VARCHAR) FROM 's'")
        with pytest.raises(cqlduck.DropZoneError, match="not valid UTF8"):
            con.follow(limit=1)


def test_a_large_batch_is_left_to_duckdb(
    con: cqlduck.Connection, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "MAX_BATCH_ROWS", 1)
    for number in range(2):
        write(root, number, numbers([1, 2], number))
    assert con.follow(limit=1) == 1
    assert waited_for(con) == [None]
    assert con.follow(limit=1) == 1
    assert len(stored(con)) == 4


def test_a_drop_zone_may_be_given_later(root: Path) -> None:
    write(root, 0, numbers([1], 0))
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (a BIGINT) FROM 's'")
        with pytest.warns(RuntimeWarning, match="there is no drop zone"):
            assert con.follow() == 0
        con.drop_zone = root
        assert con.follow() == 1


def test_a_connection_closes_while_the_next_batch_is_read(
    con: cqlduck.Connection, root: Path
) -> None:
    for number in range(2):
        write(root, number, numbers([1], number))
    con.follow(limit=1)
    con.close()
    assert con._feed._ahead is not None
    assert con._feed._ahead._thread is None
