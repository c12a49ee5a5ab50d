"""The drop zone's format: what a reader takes, refuses and waits for, and what a writer leaves."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import duckdb
import pyarrow as pa
import pytest

from cqlduck.errors import DropZoneError
from cqlduck.sources.dropzone import (
    BatchWriter,
    Manifest,
    batch_folder,
    duckdb_type,
    extent,
    gap,
    pending,
    raw_time,
    read_batch,
    write_batch,
    writer,
)

T = datetime(2013, 2, 11, 5, 2)
CHECKSUM = "xxh3_64:2d06800538d394c2"  # of no bytes
MICROS = 1_360_558_920_000_000  # of T


def rows(*times: Any) -> pa.Table:
    return pa.table({"_ts": list(times), "origin": ["EWR"] * len(times)})


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    """The folder of a stream with one good batch, number 0."""
    assert write_batch(tmp_path, "flights", 0, rows(T, T), heartbeat=T)
    return tmp_path / "flights"


def manifest_path(folder: Path, number: int = 0) -> Path:
    return batch_folder(folder, number) / "_manifest.json"


def change(folder: Path, **fields: Any) -> None:
    """Change fields of batch 0's manifest; a field that is `...` is removed."""
    path = manifest_path(folder)
    content = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not ...}))


# --- round trips ----------------------------------------------------------------------------------


def test_the_manifest_is_as_documented(flights: Path) -> None:
    expected = {
        "version": 1,
        "stream": "flights",
        "batch": 0,
        "rows": 2,
        "min_ts": "2013-02-11T05:02:00Z",
        "max_ts": "2013-02-11T05:02:00Z",
        "heartbeat": "2013-02-11T05:02:00Z",
        "files": ["part-0.parquet"],
        "schema": [["_ts", "TIMESTAMP"], ["origin", "VARCHAR"]],
        "checksums": {"part-0.parquet": ANY},
    }
    assert expected == json.loads(manifest_path(flights).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "manifest",
    [
        Manifest(1, "s", 0, 0, None, None, None, (), ()),
        Manifest(1, "s", 0, 0, None, None, -3, (), (), wall_clock=False),
        Manifest(1, "s", 0, 0, None, None, MICROS - 1, (), (("ä", "BIGINT"),), wall_clock=True),
        Manifest(1, "s", 0, 0, None, None, -1, (), (), wall_clock=True),
        Manifest(1, "s", 0, 2, 1, 2, None, ("a", "b"), (("x", "INTEGER"),), False, {"b": CHECKSUM}),
    ],
)
def test_to_json_and_back(tmp_path: Path, manifest: Manifest) -> None:
    path = batch_folder(tmp_path / "s", 0) / "_manifest.json"
    path.parent.mkdir(parents=True)
    for name in manifest.files:
        (path.parent / name).touch()
    assert manifest == Manifest.from_json(manifest.to_json(), path)


def test_times_keep_their_microseconds(tmp_path: Path) -> None:
    late = T.replace(microsecond=999_999)
    write_batch(tmp_path, "s", 0, rows(late, T), heartbeat=late.replace(microsecond=1))
    manifest = read_batch(tmp_path / "s", 0).manifest
    assert (MICROS, MICROS + 999_999, MICROS + 1) == (
        manifest.min_ts,
        manifest.max_ts,
        manifest.heartbeat,
    )
    assert manifest.wall_clock


def test_integer_time(tmp_path: Path) -> None:
    write_batch(tmp_path, "s", 0, rows(7, -2), heartbeat=5)
    manifest = read_batch(tmp_path / "s", 0).manifest
    assert (-2, 7, 5, False) == (
        manifest.min_ts,
        manifest.max_ts,
        manifest.heartbeat,
        manifest.wall_clock,
    )


def test_time_zones_become_utc(tmp_path: Path) -> None:
    there = T.replace(tzinfo=timezone(timedelta(hours=-5)))
    write_batch(tmp_path, "s", 0, rows(there), heartbeat=there)
    batch = read_batch(tmp_path / "s", 0)
    assert batch.manifest.min_ts == batch.manifest.heartbeat == MICROS + 5 * 3_600_000_000
    with duckdb.connect() as con:
        found = con.read_parquet(str(batch.files[0]), hive_partitioning=False)
        assert ["TIMESTAMP", "VARCHAR"] == [str(type_) for type_ in found.types]
        assert [(T + timedelta(hours=5), "EWR")] == found.fetchall()


def test_a_moment_without_a_zone_is_utc() -> None:
    assert (MICROS, True) == raw_time(T) == raw_time(T.replace(tzinfo=UTC))
    assert (42, False) == raw_time(42)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([date(1970, 1, 2), date(1969, 12, 31)]), (-86_400_000_000, 86_400_000_000)),
        (pa.array([-1, 1999], pa.timestamp("ns")), (-1, 1)),
        (pa.array([-1, 2], pa.timestamp("s")), (-1_000_000, 2_000_000)),
        (pa.array([-1, 2], pa.timestamp("ms", "Europe/Berlin")), (-1_000, 2_000)),
        (pa.array([3, 1], pa.int8()), (1, 3)),
    ],
)
def test_extent_in_each_unit(column: pa.Array, expected: tuple[int, int]) -> None:
    found = extent(pa.chunked_array([column]), "t")
    assert expected == (found.min_ts, found.max_ts)


def test_a_duckdb_relation_can_be_written(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        data = con.sql("SELECT i::BIGINT AS _ts, [i] AS l, {'a b': i} AS s FROM range(3) t(i)")
        assert BatchWriter(tmp_path, "s").write_batch(0, data)
        schema = dict(read_batch(tmp_path / "s", 0).manifest.schema)
        assert {"_ts": "BIGINT", "l": "BIGINT[]", "s": 'STRUCT("a b" BIGINT)'} == schema


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (pa.decimal128(10, 2), "DECIMAL(10,2)"),
        (pa.map_(pa.string(), pa.list_(pa.int32())), "MAP(VARCHAR, INTEGER[])"),
        (pa.dictionary(pa.int8(), pa.string()), "VARCHAR"),
        (pa.timestamp("ms"), "TIMESTAMP"),
        (pa.timestamp("ns"), "TIMESTAMP_NS"),
        (pa.uint8(), "UTINYINT"),
    ],
)
def test_duckdb_types(type_: pa.DataType, expected: str) -> None:
    assert expected == duckdb_type(type_)


# --- order and gaps -------------------------------------------------------------------------------


def numbers(folder: Path, next_batch: int = 0) -> list[int]:
    return [batch.number for batch in pending(folder, next_batch)]


def test_batches_come_by_number_up_to_a_gap(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    for number in (3, 0, 1, 5):
        write_batch(tmp_path, "s", number, heartbeat=number)
    assert [0, 1] == numbers(folder)
    assert [1] == numbers(folder, 1)
    assert [] == numbers(folder, 2)
    assert [3] == numbers(folder, 3)
    assert 3 == gap(folder, 2)
    assert 5 == gap(folder, 4)
    assert gap(folder, 0) is None
    assert gap(folder, 6) is None


def test_a_stream_without_a_folder_has_no_batches(tmp_path: Path) -> None:
    assert [] == numbers(tmp_path / "none")
    assert gap(tmp_path / "none", 0) is None


def test_hidden_names_are_ignored(flights: Path) -> None:
    (flights / ".batch=000000000001-abc").mkdir()
    (flights / "_batch=000000000001").mkdir()
    (batch_folder(flights, 0) / "_more.parquet").touch()
    assert [0] == numbers(flights)
    assert gap(flights, 1) is None


def test_polling_does_not_list_the_folder(flights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_listing(*_: object) -> None:
        raise AssertionError("the folder was listed")

    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, no_listing)
    assert [0] == numbers(flights)
    assert [] == numbers(flights, 1)


def test_a_batch_without_a_manifest_is_an_error_when_it_is_reached(flights: Path) -> None:
    batch_folder(flights, 1).mkdir()
    reader = pending(flights, 0)
    assert 0 == next(reader).number
    with pytest.raises(DropZoneError, match=r"batch=000000000001: a batch without a manifest"):
        next(reader)


def test_a_number_that_is_not_padded_is_an_error(flights: Path) -> None:
    (flights / "batch=1").mkdir()
    with pytest.raises(DropZoneError, match="not padded to twelve digits"):
        numbers(flights)


def test_read_batch_that_is_not_there(flights: Path) -> None:
    with pytest.raises(DropZoneError, match="there is no such batch"):
        read_batch(flights, 7)


# --- bad manifests --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"version": ...}, "'version' is missing"),
        ({"version": 2}, "unknown version 2"),
        ({"version": "1"}, 'unknown version "1"'),
        ({"version": True}, "unknown version true"),
        ({"stream": ...}, "'stream' is missing"),
        ({"stream": "weather"}, "'stream' is \"weather\", but its folder is 'flights'"),
        ({"stream": 1}, "'stream' is 1"),
        ({"batch": 7}, "'batch' is 7, but its folder is 'batch=000000000000'"),
        ({"batch": "0"}, "'batch' is not an integer"),
        ({"rows": -1}, "'rows' is negative: -1"),
        ({"rows": 2.0}, "'rows' is not an integer: 2.0"),
        ({"rows": True}, "'rows' is not an integer: true"),
        ({"rows": ...}, "'rows' is missing"),
        ({"rows": 0}, "'min_ts' is a time, but there are no rows"),
        ({"min_ts": None}, "'min_ts' is null, but there are rows"),
        ({"min_ts": "2013-02-11 05:02:00Z"}, "'min_ts' is not a time"),
        ({"min_ts": "2013-02-11T05:02:00"}, "'min_ts' is not a time"),
        ({"min_ts": "2013-02-11T05:02:00+00:00"}, "'min_ts' is not a time"),
        ({"min_ts": "2013-02-30T05:02:00Z"}, "'min_ts' is not a time"),
        ({"min_ts": "2013-02-11T05:02:00.1234567Z"}, "'min_ts' is not a time"),
        ({"min_ts": "2013-02-11T05:03:00Z"}, "'min_ts' .* is after 'max_ts'"),
        ({"max_ts": 1.5}, "'max_ts' is not a time: 1.5"),
        ({"max_ts": True}, "'max_ts' is not a time: true"),
        ({"heartbeat": ...}, "'heartbeat' is missing"),
        ({"heartbeat": 2**63}, "'heartbeat' does not fit a BIGINT"),
        ({"heartbeat": 5}, "partly integers and partly wall-clock"),
        ({"files": "part-0.parquet"}, "'files' is not a list of names"),
        ({"files": [1]}, "'files' is not a list of names"),
        ({"files": []}, "'files' is empty, but 'rows' is 2"),
        ({"files": ["part-0.parquet"] * 2}, "'files' names a file twice"),
        ({"files": ["part-1.parquet"]}, "'files' names 'part-1.parquet', which is not a file"),
        ({"files": ["."]}, "which is not a file"),
        ({"files": ["../x.parquet"]}, "'files' leaves the batch's folder"),
        ({"files": ["a/../part-0.parquet"]}, "'files' leaves the batch's folder"),
        ({"files": ["a\\..\\part-0.parquet"]}, "'files' leaves the batch's folder"),
        ({"files": ["/etc/passwd"]}, "'files' leaves the batch's folder"),
        ({"files": ["C:\\x.parquet"]}, "'files' leaves the batch's folder"),
        ({"files": ["part\0"]}, "'files' leaves the batch's folder"),
        ({"schema": []}, "'schema' is empty, but 'rows' is 2"),
        ({"schema": [["a"]]}, "'schema' is not a list"),
        ({"schema": {"a": "INTEGER"}}, "'schema' is not a list"),
        ({"schema": [["a", ""]]}, "'schema' is not a list"),
        ({"schema": [["a", "INTEGER"], ["A", "INTEGER"]]}, "'schema' has a column twice"),
    ],
)
def test_a_wrong_manifest_says_what_is_wrong_and_where(
    flights: Path, fields: dict[str, Any], message: str
) -> None:
    change(flights, **fields)
    with pytest.raises(DropZoneError, match=message) as caught:
        numbers(flights)
    assert str(manifest_path(flights)) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"version": 1, "stream": "\xff"}', "not UTF-8"),
    ],
)
def test_a_manifest_that_is_no_json(flights: Path, content: bytes, message: str) -> None:
    manifest_path(flights).write_bytes(content)
    with pytest.raises(DropZoneError, match=message):
        numbers(flights)


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_out_of_the_folder_is_refused(flights: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.parquet").touch()
    (batch_folder(flights, 0) / "link.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    change(flights, files=["link.parquet"])
    with pytest.raises(DropZoneError, match="leaves the batch's folder"):
        numbers(flights)


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_the_stream_folder_itself_may_be_a_link(flights: Path, tmp_path: Path) -> None:
    (tmp_path / "drop").mkdir()
    (tmp_path / "drop" / "flights").symlink_to(flights)
    assert [0] == numbers(tmp_path / "drop" / "flights")


def test_further_keys_are_ignored(flights: Path) -> None:
    change(flights, written_by="somebody")
    assert [0] == numbers(flights)


# --- writing --------------------------------------------------------------------------------------


def test_the_first_writer_wins(flights: Path) -> None:
    before = manifest_path(flights).read_text()
    assert not write_batch(flights.parent, "flights", 0, rows(T))
    assert before == manifest_path(flights).read_text()
    assert ["batch=000000000000"] == os.listdir(flights)


def test_a_writer_that_is_overtaken_leaves_what_it_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def overtaken(hidden: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "rename", rename)
        assert write_batch(tmp_path, "s", 0, rows(1))
        return rename(hidden, target)

    monkeypatch.setattr(Path, "rename", overtaken)
    assert not write_batch(tmp_path, "s", 0, rows(2))
    assert 1 == read_batch(tmp_path / "s", 0).manifest.min_ts
    assert ["batch=000000000000"] == os.listdir(tmp_path / "s")


@pytest.mark.parametrize("step", ["write_table", "_sync"])
def test_a_writer_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "disk full")

    with monkeypatch.context() as patch:
        patch.setattr(writer.pq if step == "write_table" else writer, step, full)
        with pytest.raises(DropZoneError, match=f"batch 0 .* {tmp_path}/s: No space") as caught:
            write_batch(tmp_path, "s", 0, rows(1))
    assert "free some space" in str(caught.value.hint)
    folder = tmp_path / "s"
    assert [] == (os.listdir(folder) if folder.exists() else [])
    assert write_batch(tmp_path, "s", 0, rows(1))


CRASH = """
import os, sys
from pathlib import Path
import pyarrow as pa
from cqlduck.sources.dropzone import write_batch

Path.rename = lambda *_: os._exit(9)
write_batch(sys.argv[1], "s", 0, pa.table({"_ts": [1]}))
"""


def test_a_crash_before_the_rename_leaves_nothing_visible(tmp_path: Path) -> None:
    # not a fork, whose child may wait forever for a thread of the tests before this one
    done = subprocess.run([sys.executable, "-c", CRASH, str(tmp_path)], timeout=600)
    assert 9 == done.returncode
    folder = tmp_path / "s"
    assert all(name.startswith(".") for name in os.listdir(folder))
    assert [] == numbers(folder)
    assert gap(folder, 0) is None
    assert write_batch(tmp_path, "s", 0, rows(2))
    assert [0] == numbers(folder)


def test_a_batch_without_rows_is_a_heartbeat(tmp_path: Path) -> None:
    write_batch(tmp_path, "s", 0, heartbeat=T)
    write_batch(tmp_path, "s", 1, rows(T).slice(0, 0))
    first, second = pending(tmp_path / "s", 0)
    assert ((), 0, MICROS) == (first.files, first.manifest.rows, first.manifest.heartbeat)
    assert (("_ts", "TIMESTAMP"), ("origin", "VARCHAR")) == second.manifest.schema
    assert second.manifest.heartbeat is second.manifest.wall_clock is None


@pytest.mark.parametrize(
    ("data", "heartbeat", "message"),
    [
        (rows(1), T, "heartbeat is wall-clock time"),
        (rows(T), 1, "heartbeat is integer time"),
        (rows(1, None), None, "1 of 2 rows have no timestamp in column '_ts'"),
        (rows("1"), None, "timestamps in column '_ts' are of type string"),
        (rows(1.5), None, "timestamps in column '_ts' are of type double"),
        (pa.table({"t": [1]}), None, "there is no column '_ts'.*only t"),
        (pa.table({"_ts": [1], "d": [timedelta(1)]}), None, "cannot hold a column of type dur"),
        (None, "7", "the heartbeat '7' is no time"),
        (None, 7.5, "the heartbeat 7.5 is no time"),
        (None, True, "the heartbeat True is no time"),
        (None, date(2024, 1, 1), "is no time"),
        (None, 2**80, "batch 0 of .*s cannot be written: 'heartbeat' does"),
        (pa.table({"_ts": pa.array([2**63], pa.uint64())}), None, "cannot be written: 'm"),
        (pa.table({"k": [1], "K": [1], "_ts": [1]}), None, "written: 'schema' has a column twice"),
        ([(1, 2)], None, "a batch cannot be made of a list"),
        (7, None, "a batch cannot be made of an int"),
    ],
)
def test_data_that_is_no_batch(tmp_path: Path, data: Any, heartbeat: Any, message: str) -> None:
    """What no reader would take is not published: the stream would wait at it for ever."""
    with pytest.raises(DropZoneError, match=message):
        write_batch(tmp_path, "s", 0, data, heartbeat=heartbeat)
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["", ".s", "_s", "a/b", "..", "a\\b"])
def test_names_that_are_no_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(DropZoneError, match="cannot be the name of a stream's folder"):
        write_batch(tmp_path, name, 0)


@pytest.mark.parametrize("number", [-1, "0", 1.0, True])
def test_what_is_no_number_of_a_batch_is_refused(tmp_path: Path, number: Any) -> None:
    with pytest.raises(DropZoneError, match=f"cannot have the number {number!r}"):
        write_batch(tmp_path, "s", number)
