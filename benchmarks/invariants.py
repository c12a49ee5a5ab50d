"""The invariants, checked on the benchmarked queries themselves, on small data.

* Batch invariance: the net elements are the same however time is cut into ticks: all at once, by
  batches of many sizes that end inside of instants too, by ticks that are bounded in elements.
* Instant exactness: at some instants the answer is what DuckDB gives over the inputs up to then.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import duckdb
from check import difference
from contestants import is_stream, literals, settings
from data import BEGIN, SECOND, Dataset, dataset
from workload import Workload

import cqlduck

RATES = {"windows": 40, "nexmark": 50}
INSTANTS = {"windows": 160, "nexmark": 44}
"""More than the longest window; few events in each, so that ticks of one instant are small."""

LENGTHS = (1, 1, 0.5, 0.5, 3, 1, 12.25, 0.75, 28, 0.1, 0.9, 5)
"""Lengths of batches, in instants, over and over."""


def cuts(rate: int, events: int) -> list[int]:
    """Return where batches of many lengths end.

    >>> cuts(40, 200)
    [40, 80, 100, 120, 200]
    """
    ends = [0]
    for length in cycle(LENGTHS):
        ends.append(min(ends[-1] + max(int(length * rate), 1), events))
        if ends[-1] == events:
            return ends[1:]
    raise AssertionError("a cycle does not end")


def prepare(folder: Path, families: Iterable[str]) -> None:
    """Write the data, so that several processes can read them at once."""
    for family in families:
        _datasets(family, folder)


def _datasets(family: str, folder: Path) -> tuple[Dataset, Dataset]:
    """Return the same data as one batch, and as batches of many lengths."""
    rate = RATES[family]
    events = rate * INSTANTS[family]
    whole = dataset(family, folder, events, rate=rate, cuts=[events])
    return whole, dataset(family, folder, events, rate=rate, cuts=cuts(rate, events))


def broken(work: Workload, folder: Path) -> list[str]:
    """Return which invariants do not hold for a query, and how; none if all is well.

    Args:
        work: The query.
        folder: Where data lie.
    """
    whole, parts = _datasets(work.family, folder)
    rate = whole.rate
    found = []
    with tempfile.TemporaryDirectory() as made:
        expected, other = Path(made) / "expected.parquet", Path(made) / "other.parquet"
        with _followed(work, whole, None) as con:
            con.changes("answer").write_parquet(str(expected))
        with _followed(work, whole, None, max_tick=20 * rate) as con:
            con.changes("answer").write_parquet(str(other))
        found += _same("ticks of few elements", expected, other)
        with _followed(work, parts, 1) as con:
            con.changes("answer").write_parquet(str(other))
            found += _same("batches of many lengths", expected, other)
            for instant in _some(whole):
                found += _exact(work, whole, con, instant, Path(made))
    return found


@contextmanager
def _followed(
    work: Workload, data: Dataset, limit: int | None, **others: Any
) -> Iterator[cqlduck.Connection]:
    with cqlduck.connect(drop_zone=data.root, **settings(work), **others) as con:
        con.execute(work.declarations() + f"CREATE CONTINUOUS QUERY answer AS {work.cql};")
        while con.follow(limit=limit):
            pass
        state, error = con.sql("SELECT state, error FROM cql.queries").fetchall()[0]
        if state != "active":
            raise RuntimeError(f"the query is {state}: {error}")
        yield con


def _same(name: str, expected: Path, other: Path) -> list[str]:
    _, what = difference(expected, other)
    return [] if what is None else [f"with {name} the changes differ: {what}"]


def _some(data: Dataset) -> list[int]:
    """Return some instants: the first and last, and some that windows and batches end at."""
    last = data.events // data.rate - 1
    return sorted({0, 1, last // 7, last // 3, last // 2, last - last // 5, last - 1, last})


def _exact(
    work: Workload, data: Dataset, con: cqlduck.Connection, instant: int, folder: Path
) -> list[str]:
    expected, found = folder / "then.parquet", folder / "found.parquet"
    moment: Any = instant if data.family == "windows" else BEGIN + SECOND * instant
    con.as_of("answer", moment).write_parquet(str(found))
    reached = instant if data.family == "windows" else (instant + 1) * data.rate
    stream = is_stream(work) or not work.recompute
    query = (work.once if stream else work.recompute).format(**literals(data, reached))
    with duckdb.connect(config={"threads": 2}) as batch:
        for name in work.streams:
            if data.family == "nexmark":
                known = f"dateTime < TIMESTAMP '{BEGIN + SECOND * (instant + 1)}'"
            else:
                known = f"{'_ts' if name in work.relations else 'ts'} <= {instant}"
            batch.execute(f"CREATE VIEW {name} AS FROM {data.scan(name)} WHERE {known}")
        columns = "COLUMNS(lambda c: c <> '_weight')"
        batch.execute(f"COPY (SELECT {columns} FROM ({query})) TO '{expected}' (FORMAT parquet)")
    _, what = difference(expected, found)
    return [] if what is None else [f"the answer at {moment} differs: {what}"]
