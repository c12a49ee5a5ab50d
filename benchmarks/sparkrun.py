"""Spark Structured Streaming over the same files, of the queries that it can say.

Those are the ones whose answer only grows: selections and inner joins without windows. Of the
others Spark refuses q4 (an aggregate of an aggregate) and q15 (distinct aggregates); it has no
window that is a relation, so none of the sliding windows; and its windows come out only when a
later event moves the watermark past them, so the last one of q5, q7, q8 and q12 would be missing.

A trigger takes a file of each stream, and what it gives is written as Parquet. Its session is made
before the clock runs.
"""

from __future__ import annotations

import functools
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from contestants import THREADS, Ran
from data import Dataset
from workload import Workload

from cqlduck.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERIES = ("q0", "q1", "q2", "q3", "q20")


@functools.cache
def _session() -> SparkSession:
    return local_session("cqlduck benchmarks", cores=THREADS)


def structured_streaming(work: Workload, data: Dataset, output: Path | None) -> Ran:
    """Run a workload's batch statement as a streaming query over all files."""
    spark = _session()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    with tempfile.TemporaryDirectory() as made:
        rows = Path(made) / "rows"

        def write(df: DataFrame, epoch: int) -> None:
            df.write.mode("append").parquet(str(rows))

        watch = time.perf_counter()
        for name in work.streams:
            schema = spark.read.parquet(data.files(name)[0]).schema
            stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            stream.parquet(str(data.root / name)).createOrReplaceTempView(name)
        query = (
            spark.sql(work.once)
            .writeStream.foreachBatch(write)
            .option("checkpointLocation", f"{made}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        took = time.perf_counter() - watch
        if output is not None:
            with duckdb.connect() as con:
                con.execute("SET TimeZone = 'UTC'")
                # What Spark calls a timestamp is one with a time zone elsewhere.
                times = "COLUMNS(lambda c: lower(c) IN ('datetime', '_ts'))::TIMESTAMP"
                others = "COLUMNS(lambda c: lower(c) NOT IN ('datetime', '_ts'))"
                has = con.execute(
                    f"SELECT 1 FROM (DESCRIBE FROM '{rows}/*.parquet') WHERE "
                    "lower(column_name) IN ('datetime', '_ts')"
                ).fetchall()
                listed = f"{times}, {others}" if has else others
                con.execute(
                    f"COPY (SELECT {listed} FROM '{rows}/*.parquet') TO '{output}' (FORMAT parquet)"
                )
    # The Java machine is a process of its own, so processor time is not known.
    return Ran(took, took, output)
