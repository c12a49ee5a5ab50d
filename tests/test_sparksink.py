"""Folders of Spark's own Parquet sink: made by hand, and by Spark."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cqlduck
from cqlduck.errors import DropZoneError
from cqlduck.sources.sparksink import LOG, is_sink, pending

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def data(folder: Path, name: str, *rows: int) -> str:
    """Write a data file, and return its line of the log."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({"t": pa.array(rows, pa.int64()), "a": pa.array(rows, pa.int64())})
    pq.write_table(table, folder / name)
    return line(folder / name)


def line(file: Path, **changed: Any) -> str:
    fields = {
        "path": "file:" + quote(str(file.absolute())),
        "size": file.stat().st_size if file.exists() else 1,
        "isDir": False,
        "modificationTime": 1,
        "blockReplication": 1,
        "blockSize": 33554432,
        "action": "add",
        **changed,
    }
    return json.dumps(fields, separators=(",", ":"))


def log(folder: Path, name: int | str, *lines: str) -> None:
    (folder / LOG).mkdir(parents=True, exist_ok=True)
    (folder / LOG / str(name)).write_text("\n".join(["v1", *lines]), encoding="utf-8")


def sink(folder: Path, count: int = 7, interval: int = 3) -> list[str]:
    """Write batches of one file with the row 10 × number, as Spark does."""
    lines: list[str] = []
    for n in range(count):
        lines.append(data(folder, f"part-{n}.parquet", 10 * n))
        if (n + 1) % interval:
            log(folder, n, lines[-1])
        else:
            log(folder, f"{n}.compact", *lines)
    return lines


def found(folder: Path, next_batch: int = 0) -> list[tuple[int, list[str]]]:
    return [
        (batch.number, [path.name for path in batch.files]) for batch in pending(folder, next_batch)
    ]


def refused(folder: Path, *words: str, next_batch: int = 0) -> DropZoneError:
    with pytest.raises(DropZoneError) as caught:
        list(pending(folder, next_batch))
    assert caught.value.hint
    for word in words:
        assert word in str(caught.value)
    return caught.value


def parts(*numbers: int) -> list[str]:
    return [f"part-{n}.parquet" for n in numbers]


# --- the log --------------------------------------------------------------------------------------


def test_what_is_a_sink(tmp_path: Path) -> None:
    assert not is_sink(tmp_path / "later")
    assert not is_sink(tmp_path)
    (tmp_path / LOG).mkdir()
    assert is_sink(tmp_path)
    assert [] == found(tmp_path)


def test_each_number_is_a_batch_also_those_with_compact_files(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    sink(folder)
    assert [(n, parts(n)) for n in range(7)] == found(folder)
    for n in range(9):
        assert [(m, parts(m)) for m in range(n, 7)] == found(folder, n)


@pytest.mark.parametrize("interval", [1, 2, 99])
def test_any_interval_of_compaction(tmp_path: Path, interval: int) -> None:
    sink(tmp_path, interval=interval)
    assert [(n, parts(n)) for n in range(7)] == found(tmp_path)


def test_the_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    log(folder, 0, data(folder, "b", 1, 2, 3), data(folder, "none"), data(folder, "a", 4))
    log(folder, 1)
    first, second = pending(folder, 0)
    manifest = first.manifest
    assert folder == first.folder
    assert (1, "s", 0, 4, ("b", "none", "a"), ()) == (
        manifest.version,
        manifest.stream,
        manifest.batch,
        manifest.rows,
        manifest.files,
        manifest.schema,
    )
    assert [None] * 4 == [
        manifest.min_ts,
        manifest.max_ts,
        manifest.heartbeat,
        manifest.wall_clock,
    ]
    assert (1, 0, ()) == (second.number, second.manifest.rows, second.files)


def test_only_what_the_log_lists_is_read(tmp_path: Path) -> None:
    sink(tmp_path, 2)
    data(tmp_path, "part-of-a-failed-attempt.parquet", 99)
    for name in (".2.0a1b.tmp", ".1.crc", "2.tmp", "2.compact.tmp", ".2.compact.crc", "x", "02"):
        (tmp_path / LOG / name).write_text("not for us")
    assert [(0, parts(0)), (1, parts(1))] == found(tmp_path)


def test_cleaned_up_before_anything_was_taken(tmp_path: Path) -> None:
    sink(tmp_path, 8)
    for name in ("0", "1"):
        (tmp_path / LOG / name).unlink()
    assert [(2, parts(0, 1, 2)), *((n, parts(n)) for n in range(3, 8))] == found(tmp_path)
    for name in ("2.compact", "3", "4"):
        (tmp_path / LOG / name).unlink()
    assert [(5, parts(*range(6))), (6, parts(6)), (7, parts(7))] == found(tmp_path)


def test_cleaned_up_behind_what_was_taken(tmp_path: Path) -> None:
    sink(tmp_path, 8)
    for name in ("0", "1"):
        (tmp_path / LOG / name).unlink()
    assert [(n, parts(n)) for n in range(3, 8)] == found(tmp_path, 3)
    for name in ("2.compact", "3", "4"):
        (tmp_path / LOG / name).unlink()
    assert [(6, parts(6)), (7, parts(7))] == found(tmp_path, 6)


@pytest.mark.parametrize("next_batch", [1, 4, 5])
def test_cleaned_up_past_what_was_taken(tmp_path: Path, next_batch: int) -> None:
    sink(tmp_path, 7)
    for name in ("0", "1", "2.compact", "3", "4"):
        (tmp_path / LOG / name).unlink()
    refused(tmp_path, "compacted past what was taken", "5.compact", LOG, next_batch=next_batch)


def test_cleaned_up_but_what_was_taken_is_still_told(tmp_path: Path) -> None:
    sink(tmp_path, 7)
    for name in ("0", "1", "3", "4"):
        (tmp_path / LOG / name).unlink()
    assert [(5, parts(3, 4, 5)), (6, parts(6))] == found(tmp_path, 3)


def test_retention_leaves_old_files_out_of_compact_files(tmp_path: Path) -> None:
    lines = sink(tmp_path, 5)
    log(tmp_path, "5.compact", *lines[3:], data(tmp_path, "part-5.parquet", 50))
    assert [(5, parts(5))] == found(tmp_path, 5)


def test_a_gap_in_the_log(tmp_path: Path) -> None:
    sink(tmp_path, 5, interval=99)
    (tmp_path / LOG / "2").unlink()
    refused(tmp_path, "lacks number 2", "3 is there", next_batch=2)


def test_deleted_files(tmp_path: Path) -> None:
    first, second = data(tmp_path, "a", 1), data(tmp_path, "b", 2)
    log(tmp_path, 0, first, second, line(tmp_path / "a", action="delete"))
    (tmp_path / "a").unlink()
    assert [(0, ["b"])] == found(tmp_path)
    log(tmp_path, 1, line(tmp_path / "b", action="delete"))
    refused(tmp_path, "deletes 'b'", next_batch=1)


# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["file:", "file://", "hdfs://host:9000", "s3a://bucket", ""])
def test_addresses_of_another_place(tmp_path: Path, start: str) -> None:
    folder = tmp_path / "moved here"
    entry = data(folder, "pärt 1#?%.parquet", 1)
    address = start + "/old%20place/s/p%C3%A4rt%201%23%3F%25.parquet"
    log(folder, 0, line(folder / "pärt 1#?%.parquet", path=address))
    assert [(0, ["pärt 1#?%.parquet"])] == found(folder)
    # Written after the move, or before it: in a compact file it is the same file.
    log(folder, "1.compact", entry)
    assert [(1, [])] == found(folder, 1)


def test_umlauts_that_are_not_encoded(tmp_path: Path) -> None:
    data(tmp_path, "pärt.parquet", 1)
    log(tmp_path, 0, line(tmp_path / "pärt.parquet", path="file:///x/pärt.parquet"))
    assert [(0, ["pärt.parquet"])] == found(tmp_path)


def test_a_partitioned_sink_is_refused(tmp_path: Path) -> None:
    log(tmp_path, 0, data(tmp_path / "k=1", "part-0.parquet", 1))
    refused(tmp_path, "k=1/part-0.parquet", "partition", "without partitionBy")


def test_a_sink_in_a_partition_is_not_partitioned(tmp_path: Path) -> None:
    folder = tmp_path / "k=1"
    sink(folder, 1)
    assert [(0, parts(0))] == found(folder)
    (folder / "part-0.parquet").unlink()
    refused(folder, "which is not in")


def test_folders_are_passed_over(tmp_path: Path) -> None:
    log(tmp_path, 0, line(tmp_path, isDir=True), data(tmp_path, "a", 1))
    assert [(0, ["a"])] == found(tmp_path)


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "v2\n",
        "v10",
        '{"path":"file:/x/a","size":1,"isDir":false,"action":"add"}',
        "v1\n{",
        "v1\n[]",
        "v1\nnull",
        "v1\n" + "[" * 100_000,
        'v1\n{"size":1,"isDir":false,"action":"add"}',
        'v1\n{"path":"file:/x/a","isDir":false,"action":"add"}',
        'v1\n{"path":"file:/x/a","size":true,"isDir":false,"action":"add"}',
        'v1\n{"path":"file:/x/a","size":"1","isDir":false,"action":"add"}',
        'v1\n{"path":"file:/x/a","size":1,"isDir":false}',
        'v1\n{"path":"file:/x/a","size":1,"isDir":false,"action":"move"}',
        'v1\n{"path":"file:/x/a","size":1,"isDir":0,"action":"add"}',
        'v1\n{"path":7,"size":1,"isDir":false,"action":"add"}',
        'v1\n{"path":"","size":1,"isDir":false,"action":"add"}',
        'v1\n{"path":"file:/x/","size":1,"isDir":false,"action":"add"}',
        'v1\n{"path":"file:/x/..","size":1,"isDir":false,"action":"add"}',
        'v1\n{"path":"file:/x/..%2Fa","size":1,"isDir":false,"action":"add"}',
        'v1\n{"path":"file:/x/a%00","size":1,"isDir":false,"action":"add"}',
        'v1\n{"path":"file:/x/%FF","size":1,"isDir":false,"action":"add"}',
    ],
)
@pytest.mark.parametrize("name", ["1", "1.compact"])
def test_a_malformed_log(tmp_path: Path, name: str, text: str) -> None:
    sink(tmp_path, 1)
    (tmp_path / LOG / name).write_text(text)
    batches = pending(tmp_path, 0)
    assert 0 == next(batches).number
    refused(tmp_path, str(tmp_path / LOG / name), next_batch=1)


def test_a_log_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / LOG).mkdir()
    (tmp_path / LOG / "0").write_bytes(b"v1\n\xff")
    refused(tmp_path, str(tmp_path / LOG / "0"), "UTF-8")


def rewrite(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1] + b"x")


def by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (Path.unlink, "not in"),
    "cut off": (lambda file: file.write_bytes(file.read_bytes()[:-5]), "bytes"),
    "longer": (lambda file: file.write_bytes(file.read_bytes() + b"x"), "bytes"),
    "not Parquet": (rewrite, "cannot be read"),
    "a folder": (by_folder, "not in"),
}


@pytest.mark.parametrize("which", SPOILT)
def test_a_data_file_that_is_not_what_the_log_says(tmp_path: Path, which: str) -> None:
    spoil, word = SPOILT[which]
    sink(tmp_path, 2)
    spoil(tmp_path / "part-1.parquet")
    refused(tmp_path, word, "part-1.parquet", next_batch=1)


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    log(tmp_path, 0, line(tmp_path / "a", path="file:/x/" + "a" * 5000))
    refused(tmp_path, "aaa")


# --- following ------------------------------------------------------------------------------------

STREAM = """
    CREATE STREAM s (t BIGINT, a BIGINT) TIMESTAMP BY t OUT OF ORDER WITHIN 5 FROM 's';
    CREATE CONTINUOUS QUERY q AS SELECT a FROM s;
"""


def taken(con: cqlduck.Connection) -> list[int]:
    con.advance(10_000)
    return [a for (a,) in con.sql("SELECT a FROM q ORDER BY a").fetchall()]


def state(con: cqlduck.Connection) -> tuple[int, str | None]:
    ((number, waiting),) = con.sql("SELECT next_batch, waiting_for FROM cql.streams").fetchall()
    return number, waiting


def test_following_a_sink(tmp_path: Path) -> None:
    folder, path = tmp_path / "s", tmp_path / "it.duckdb"
    with cqlduck.connect(path, drop_zone=tmp_path) as con:
        con.execute(STREAM)
        assert 0 == con.follow()
        (folder / LOG).mkdir(parents=True)
        assert 0 == con.follow()
        sink(folder, 4)
        assert 4 == con.follow()
        assert 0 == con.follow()
        assert (4, None) == state(con)
    lines = sink(folder, 8)
    log(folder, "8.compact", *lines, data(folder, "more", 75, 80), data(folder, "none"))
    log(folder, 9)
    with cqlduck.connect(path, drop_zone=tmp_path) as con:
        assert 6 == con.follow()
        assert (10, None) == state(con)
        assert [0, 10, 20, 30, 40, 50, 60, 70, 75, 80] == taken(con)


def test_following_jumps_where_the_log_was_cleaned_up(tmp_path: Path) -> None:
    sink(tmp_path / "s", 8)
    for name in ("0", "1", "2.compact", "3", "4"):
        (tmp_path / "s" / LOG / name).unlink()
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(STREAM)
        assert 3 == con.follow()
        assert (8, None) == state(con)
        assert list(range(0, 80, 10)) == taken(con)


def test_following_waits_at_what_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    sink(folder, 8)
    whole = (folder / "part-6.parquet").read_bytes()
    (folder / "part-6.parquet").write_bytes(whole[:-1])
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(STREAM)
        for _ in range(2):
            with pytest.raises(DropZoneError, match=r"part-6\.parquet"):
                con.follow()
            number, waiting = state(con)
            assert 6 == number
            assert waiting is not None
            assert "part-6" in waiting
        (folder / "part-6.parquet").write_bytes(whole)
        assert 2 == con.follow()
        assert (8, None) == state(con)
        assert list(range(0, 80, 10)) == taken(con)


def test_following_behind_a_jump_waits_at_columns_that_do_not_fit(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    sink(folder, 4)
    for name in ("0", "1"):
        (folder / LOG / name).unlink()
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute("CREATE STREAM s (t BIGINT, b BIGINT) TIMESTAMP BY t FROM 's'")
        for _ in range(2):
            with pytest.raises(DropZoneError, match="lacks b"):
                con.follow()
            assert 0 == state(con)[0]


# --- Spark ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    pytest.importorskip("pyspark")
    from cqlduck.spark.session import local_session

    running = local_session("cqlduck tests")
    yield running
    running.stop()


def trigger(spark: SparkSession, tmp_path: Path, first: int, count: int) -> None:
    """Write files of two rows each, and have Spark copy them to the sink, a batch for each."""
    for n in range(first, first + count):
        rows = "".join(
            json.dumps({"t": f"2013-02-11T05:{n:02}:{s:02}.250Z", "n": 100 * n + s}) + "\n"
            for s in (1, 2)
        )
        hidden = tmp_path / "in" / f".{n}"
        hidden.parent.mkdir(exist_ok=True)
        hidden.write_text(rows)
        hidden.rename(tmp_path / "in" / f"{n:03}.json")
    query = (
        spark.readStream.schema("t timestamp, n bigint")
        .option("maxFilesPerTrigger", 1)
        .json(str(tmp_path / "in"))
        .repartition(2)
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "drop zone" / "s"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


SPARK_STREAM = """
    CREATE STREAM s (t TIMESTAMP, n BIGINT) TIMESTAMP BY t
        OUT OF ORDER WITHIN INTERVAL 10 MINUTE FROM 's';
    CREATE CONTINUOUS QUERY q AS SELECT t, n FROM s;
"""


def copied(con: cqlduck.Connection) -> list[tuple[dt.datetime, int]]:
    con.advance(dt.datetime(2013, 2, 12))
    return con.sql("SELECT t, n FROM q ORDER BY n").fetchall()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_query_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    settings = {
        "spark.sql.streaming.fileSink.log.compactInterval": "3",
        "spark.sql.streaming.fileSource.log.compactInterval": "3",
    }
    eager = {
        "spark.sql.streaming.minBatchesToRetain": "1",
        "spark.sql.streaming.fileSink.log.cleanupDelay": "0",
    }
    folder, path = tmp_path / "drop zone" / "s", tmp_path / "it.duckdb"
    expected = [
        (dt.datetime(2013, 2, 11, 5, n, s, 250_000), 100 * n + s) for n in range(9) for s in (1, 2)
    ]
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        with cqlduck.connect(path, drop_zone=folder.parent) as con:
            con.execute(SPARK_STREAM)
            assert 0 == con.follow()
            trigger(spark, tmp_path, 0, 2)
            assert 2 == con.follow()
            assert 0 == con.follow()
        # What a failed attempt leaves: whole files that the log does not list.
        some = next(f for f in folder.glob("*.parquet") if pq.read_metadata(f).num_rows)
        shutil.copy(some, folder / "part-00000-of-a-failed-attempt.c000.snappy.parquet")
        with cqlduck.connect(path, drop_zone=folder.parent) as con:
            trigger(spark, tmp_path, 2, 2)
            assert {"0", "1", "2.compact", "3"} == {
                file.name for file in (folder / LOG).iterdir() if file.name[0] != "."
            }
            assert 2 == con.follow()
            trigger(spark, tmp_path, 4, 3)
            assert 3 == con.follow()
            # From here on Spark keeps no more of its log than it must.
            for key, value in eager.items():
                spark.conf.set(key, value)
            trigger(spark, tmp_path, 7, 2)
            assert not (folder / LOG / "0").exists()
            assert (folder / LOG / "7").exists()
            assert 2 == con.follow()
            assert expected == copied(con)
        # One that begins now, in another place, takes what was compacted as one batch.
        shutil.move(folder.parent, tmp_path / "moved")
        with cqlduck.connect(drop_zone=tmp_path / "moved") as con:
            con.execute(SPARK_STREAM)
            assert 9 > con.follow()
            assert (9, None) == state(con)
            assert expected == copied(con)
    finally:
        for key in settings | eager:
            spark.conf.unset(key)
