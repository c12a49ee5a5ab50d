"""The input of the benchmarks: deterministic streams, written once as drop-zone batches.

Every value is a hash of the event's number, so the same size gives the same rows on every machine
with the same version of DuckDB. DuckDB, plain Python and cqlduck read the same Parquet files.

    <data>/windows-1000000/trades/batch=000000000000/part-0.parquet
    <data>/nexmark-1000000/bid/batch=000000000000/part-0.parquet
"""

from __future__ import annotations

import datetime
import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from cqlduck.sources import dropzone

RATES = {"windows": 1_000, "nexmark": 10_000}
"""Events a second of event time; of the sliding windows an instant is one second."""

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
    """The files of one family of workloads in one size.

    Attributes:
        family: 'windows' or 'nexmark'.
        root: The drop zone.
        cuts: Where batches end: numbers of events, rising; the last is the size.
        rate: Events a second of event time.
    """

    family: str
    root: Path
    cuts: tuple[int, ...]
    rate: int

    @property
    def events(self) -> int:
        """How many events all streams together have."""
        return self.cuts[-1]

    @property
    def batches(self) -> int:
        """How many batches each stream has."""
        return len(self.cuts)

    @property
    def last(self) -> int:
        """The last instant of the sliding windows."""
        return (self.events - 1) // self.rate

    @property
    def end(self) -> datetime.datetime:
        """The end of Nexmark's event time, exclusive; a whole second."""
        return BEGIN + SECOND * (self.events // self.rate)

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The inputs at this rate."""
        return windows(self.rate) if self.family == "windows" else nexmark(self.rate)

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


def windows(rate: int) -> tuple[Stream, ...]:
    """Return the inputs of the sliding windows at so many events an instant."""
    ts, few = f"i // {rate} AS ts", max(rate // 10, 1)
    keys, more = f"{_roll('a', 10 * rate)} AS a", f"{_roll('a', 20 * rate)} AS a"
    others = f"{_roll('b', 20 * rate)} AS b"
    return (
        Stream("trades", f"SELECT i AS id, {ts}, {_roll('sym', 1000)} AS sym, "
               f"{_roll('price', 10000)} AS price FROM events"),
        Stream("s1", f"SELECT i AS id, {ts}, {keys} FROM events WHERE i % 2 = 0"),
        Stream("s2", f"SELECT i AS id, {ts}, {keys} FROM events WHERE i % 2 = 1"),
        Stream("r", f"SELECT i AS id, {ts}, {more} FROM events WHERE i % 3 = 0"),
        Stream("s", f"SELECT i AS id, {ts}, {more}, {others} FROM events WHERE i % 3 = 1"),
        Stream("t", f"SELECT i AS id, {ts}, {others} FROM events WHERE i % 3 = 2"),
        # all symbols at first, then ten new rates an instant
        Stream("rates", f"SELECT CAST(range AS INTEGER) AS sym, CAST(hash(range, 'rate') % 500 AS "
               "INTEGER) AS rate, 0::BIGINT AS _ts, 'u' AS _op FROM range(1000) "
               "WHERE EXISTS (FROM events WHERE i = 0) UNION ALL "
               f"SELECT CAST(i // {few} % 1000 AS INTEGER), {_roll('rate', 500)}, "
               f"i // {rate}, 'u' FROM events WHERE i >= {rate} AND i % {few} = 0 "
               "ORDER BY _ts, sym"),
    )  # fmt: skip


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


def nexmark(rate: int) -> tuple[Stream, ...]:
    """Return the inputs of Nexmark at so many events a second."""
    at = f"TIMESTAMP '{BEGIN}' + to_microseconds(i * {1_000_000 // rate})"
    return (
        Stream("person", "SELECT 1000 + i // 50 AS id, 'person ' || (i // 50) AS name, "
               "['Phoenix', 'Seattle', 'Boise', 'Portland', 'Bend']"
               f"[1 + {_roll('city', 5)}] AS city, "
               f"['AZ', 'CA', 'ID', 'OR', 'WA', 'WY'][1 + {_roll('state', 6)}] AS state, "
               f"{at} AS dateTime FROM events WHERE i % 50 = 0"),
        Stream("auction", f"SELECT 1000 + {_AUCTIONS} AS id, 'item ' || {_roll('item', 5000)} "
               f"AS itemName, {_recent(_PERSONS, 'seller', 100, 0, 10)} AS seller, "
               f"10 + {_roll('category', 5)} AS category, "
               f"{at} + to_seconds(1 + {_roll('expires', 20)}) AS expires, {at} AS dateTime "
               "FROM events WHERE i % 50 BETWEEN 1 AND 3"),
        Stream("bid", f"SELECT {_recent(_AUCTIONS, 'auction', 100, 10, 100)} AS auction, "
               f"{_recent(_PERSONS, 'bidder', 1000, 0, 100)} AS bidder, {_PRICE} AS price, "
               f"{at} AS dateTime FROM events WHERE i % 50 > 3"),
    )  # fmt: skip


def dataset(
    family: str, folder: Path, events: int, *, rate: int | None = None,
    cuts: Sequence[int] | None = None,
) -> Dataset:  # fmt: skip
    """Return a data set; write its files if they are not there.

    Args:
        family: 'windows' or 'nexmark'.
        folder: Where all data lie.
        events: How many events all streams together have.
        rate: Events a second of event time, if not the usual.
        cuts: Where batches end, if not the usual: numbers of events, rising, the last is `events`.
    """
    name = f"{family}-{events}"
    if rate is not None or cuts is not None:
        name += f"-{rate}-" + hashlib.sha256(repr(cuts).encode()).hexdigest()[:8]
    if cuts is None:
        batch = WINDOWS_BATCH if family == "windows" else NEXMARK_BATCH
        cuts = [*range(batch, events, batch), events]
    found = Dataset(family, folder / name, tuple(cuts), rate or RATES[family])
    if not (found.root / "complete").exists():
        shutil.rmtree(found.root, ignore_errors=True)
        _write(found)
        (found.root / "complete").touch()
    return found


def _write(made: Dataset) -> None:
    with duckdb.connect() as con:
        for number, (first, last) in enumerate(pairwise((0, *made.cuts))):
            con.execute(
                f"CREATE OR REPLACE TEMP VIEW events AS SELECT range AS i FROM range({first}, "
                f"{last})"
            )
            for stream in made.streams:
                folder = made.root / stream.name
                hidden = dropzone.hidden_folder(folder, number)
                con.execute(f"COPY ({stream.query}) TO '{hidden}/part-0.parquet' (FORMAT parquet)")
                dropzone.publish(hidden, _manifest(made, stream.name, number, last, hidden))


def _manifest(made: Dataset, name: str, number: int, last: int, folder: Path) -> dropzone.Manifest:
    """Return a manifest whose heartbeat closes the batch's last whole instant."""
    windows = made.family == "windows"
    stamp = "dateTime" if not windows else "_ts" if name == "rates" else "ts"
    file = pq.ParquetFile(folder / "part-0.parquet")
    reach = dropzone.extent(file.read([stamp]).column(0), stamp)
    heartbeat: int | datetime.datetime | None
    if not windows:
        heartbeat = BEGIN + SECOND * (last // made.rate) - MICROSECOND
    elif last == made.events:
        heartbeat = made.last
    else:
        heartbeat = last // made.rate - 1 if last >= made.rate else None
    files = ["part-0.parquet"] if reach.rows else []
    return dropzone.describe(name, number, reach, heartbeat, files, file.schema_arrow)
