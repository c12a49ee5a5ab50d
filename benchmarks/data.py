"""The input of the benchmarks: deterministic streams, written once as drop-zone batches.

Every value is a hash of the event's number, so the same size gives the same rows on every machine
with the same version of DuckDB. DuckDB, plain Python and cqlduck read the same Parquet files.

    <data>/windows-1000000/trades/batch=000000000000/part-0.parquet
    <data>/nexmark-1000000/bid/batch=000000000000/part-0.parquet
"""

from __future__ import annotations

import datetime
import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from cqlduck.sources import dropzone

EVENTS_AN_INSTANT = 1_000
"""Of the sliding windows: an instant is one second."""

EVENTS_A_SECOND = 10_000
"""Of Nexmark's event time."""

WINDOWS_BATCH = 250_000
NEXMARK_BATCH = 100_000
BEGIN = datetime.datetime(2026, 1, 1)
SECOND = datetime.timedelta(seconds=1)
MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class Stream:
    """One input of a workload: its SELECT over `events`, a table of the numbers `i`."""

    name: str
    query: str


@dataclass(frozen=True)
class Dataset:
    """The files of one family of workloads in one size."""

    family: str
    root: Path
    events: int
    batch: int

    @property
    def batches(self) -> int:
        """How many batches each stream has."""
        return -(-self.events // self.batch)

    @property
    def last(self) -> int:
        """The last instant of the sliding windows."""
        return (self.events - 1) // EVENTS_AN_INSTANT

    @property
    def end(self) -> datetime.datetime:
        """The end of Nexmark's event time, exclusive; a whole second."""
        return BEGIN + SECOND * (self.events // EVENTS_A_SECOND)

    def files(self, stream: str, first: int = 0, count: int | None = None) -> list[str]:
        """Return the Parquet files of a stream's batches, in order."""
        numbers = range(first, self.batches if count is None else first + count)
        folder = self.root / stream
        return [str(dropzone.batch_folder(folder, n) / "part-0.parquet") for n in numbers]

    def scan(self, stream: str, first: int = 0, count: int | None = None) -> str:
        """Return a table function that reads a stream."""
        listed = ", ".join(f"'{name}'" for name in self.files(stream, first, count))
        return f"read_parquet([{listed}], hive_partitioning = false)"


def _roll(salt: str, modulus: int) -> str:
    return f"CAST(hash(i, '{salt}') % {modulus} AS INTEGER)"


_TS = f"i // {EVENTS_AN_INSTANT} AS ts"

WINDOWS = (
    Stream("trades", f"SELECT i AS id, {_TS}, {_roll('sym', 1000)} AS sym, "
           f"{_roll('price', 10000)} AS price FROM events"),
    Stream("s1", f"SELECT i AS id, {_TS}, {_roll('a', 10000)} AS a FROM events WHERE i % 2 = 0"),
    Stream("s2", f"SELECT i AS id, {_TS}, {_roll('a', 10000)} AS a FROM events WHERE i % 2 = 1"),
    Stream("r", f"SELECT i AS id, {_TS}, {_roll('a', 20000)} AS a FROM events WHERE i % 3 = 0"),
    Stream("s", f"SELECT i AS id, {_TS}, {_roll('a', 20000)} AS a, {_roll('b', 20000)} AS b "
           "FROM events WHERE i % 3 = 1"),
    Stream("t", f"SELECT i AS id, {_TS}, {_roll('b', 20000)} AS b FROM events WHERE i % 3 = 2"),
    # all symbols at first, then ten new rates an instant
    Stream("rates", f"SELECT CAST(i % 1000 AS INTEGER) AS sym, {_roll('rate', 500)} AS rate, "
           "0::BIGINT AS _ts, 'u' AS _op FROM events WHERE i < 1000 UNION ALL "
           f"SELECT CAST((i // 100) % 1000 AS INTEGER), {_roll('rate', 500)}, "
           f"i // {EVENTS_AN_INSTANT}, 'u' FROM events "
           f"WHERE i >= {EVENTS_AN_INSTANT} AND i % 100 = 0 ORDER BY _ts, sym"),
)  # fmt: skip

_AT = f"TIMESTAMP '{BEGIN}' + to_microseconds(i * {1_000_000 // EVENTS_A_SECOND})"
# How many auctions and persons there are before event i: 2 % persons, 6 % auctions, 92 % bids.
_AUCTIONS = "(i // 50 * 3 + least(greatest(i % 50 - 1, 0), 3))"
_PERSONS = "(i // 50 + 1)"


def _recent(count: str, salt: str, span: int, ahead: int, hot: int) -> str:
    """Return an id near the newest: half of them the hot one, some a little ahead."""
    near = f"{count} - {span} + CAST(hash(i, '{salt}') % {span + ahead} AS BIGINT)"
    return (
        f"1000 + greatest(CASE WHEN hash(i, '{salt} hot') % 2 = 0 THEN {count} // {hot} * {hot} "
        f"ELSE {near} END, 0)"
    )


_PRICE = "CAST(pow(10, CAST(hash(i, 'price') % 1000000 AS DOUBLE) / 1e6 * 6) * 100 AS BIGINT)"

NEXMARK = (
    Stream("person", "SELECT 1000 + i // 50 AS id, 'person ' || (i // 50) AS name, "
           f"['Phoenix', 'Seattle', 'Boise', 'Portland', 'Bend'][1 + {_roll('city', 5)}] AS city, "
           f"['AZ', 'CA', 'ID', 'OR', 'WA', 'WY'][1 + {_roll('state', 6)}] AS state, "
           f"{_AT} AS dateTime FROM events WHERE i % 50 = 0"),
    Stream("auction", f"SELECT 1000 + {_AUCTIONS} AS id, 'item ' || {_roll('item', 5000)} "
           f"AS itemName, {_recent(_PERSONS, 'seller', 100, 0, 10)} AS seller, "
           f"10 + {_roll('category', 5)} AS category, "
           f"{_AT} + to_seconds(1 + {_roll('expires', 20)}) AS expires, {_AT} AS dateTime "
           "FROM events WHERE i % 50 BETWEEN 1 AND 3"),
    Stream("bid", f"SELECT {_recent(_AUCTIONS, 'auction', 100, 10, 100)} AS auction, "
           f"{_recent(_PERSONS, 'bidder', 1000, 0, 100)} AS bidder, {_PRICE} AS price, "
           f"{_AT} AS dateTime FROM events WHERE i % 50 > 3"),
)  # fmt: skip


def dataset(family: str, folder: Path, events: int) -> Dataset:
    """Return a data set; write its files if they are not there.

    Args:
        family: 'windows' or 'nexmark'.
        folder: Where all data lie.
        events: How many events all streams together have.
    """
    root = folder / f"{family}-{events}"
    batch = min(WINDOWS_BATCH if family == "windows" else NEXMARK_BATCH, events)
    found = Dataset(family, root, events, batch)
    if not (root / "complete").exists():
        shutil.rmtree(root, ignore_errors=True)
        _write(found)
        (root / "complete").touch()
    return found


def _write(made: Dataset) -> None:
    streams = WINDOWS if made.family == "windows" else NEXMARK
    with duckdb.connect() as con:
        for number in range(made.batches):
            first, last = number * made.batch, min((number + 1) * made.batch, made.events)
            con.execute(
                f"CREATE OR REPLACE TEMP VIEW events AS SELECT range AS i FROM range({first}, "
                f"{last})"
            )
            for stream in streams:
                folder = made.root / stream.name
                hidden = dropzone.hidden_folder(folder, number)
                con.execute(f"COPY ({stream.query}) TO '{hidden}/part-0.parquet' (FORMAT parquet)")
                dropzone.publish(hidden, _manifest(made, stream.name, number, last, hidden))


def _manifest(made: Dataset, name: str, number: int, last: int, folder: Path) -> dropzone.Manifest:
    """Return a manifest whose heartbeat closes the batch's last instant."""
    windows = made.family == "windows"
    stamp = "dateTime" if not windows else "_ts" if name == "rates" else "ts"
    file = pq.ParquetFile(folder / "part-0.parquet")
    reach = dropzone.extent(file.read([stamp]).column(0), stamp)
    heartbeat: int | datetime.datetime
    if windows:
        heartbeat = (last - 1) // EVENTS_AN_INSTANT
    else:
        heartbeat = BEGIN + SECOND * (last // EVENTS_A_SECOND) - MICROSECOND
    files = ["part-0.parquet"] if reach.rows else []
    return dropzone.describe(name, number, reach, heartbeat, files, file.schema_arrow)
