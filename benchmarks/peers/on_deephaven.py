"""Deephaven: tables that tick, in a Java machine in the process. All of the queries can be said.

A tick publishes a file of each stream, asks for a cycle of the update graph, waits for its end, and
reads. The streams are blink tables, which hold the rows of one cycle; joins get them as append-only
tables. Where the answer only grows (q0 to q3, q20), and of windows (q5, q7, q8, q12), the answer is
a blink table too: the new rows, and the windows that the tick completed, as they do not change any
more. The rest is read in full.

Joins are natural joins: no two auctions or persons have the same id. A late row on the right side
changes the row on the left that lacked it, so what a filter lets through after the join is only
ever added to. Deephaven cannot know that and is told (`_adds_only`); if it were not so, the table
would fail.

A window is complete when the `clock`, a table with the end of event time, has passed its end.
"Last" in q18 goes by arrival, which here is the order of time.

It needs a JDK of 17 or later on the machine, because it compiles; a bare runtime is not enough.
Deephaven's modules can only be imported when its Java machine runs; so that is done in functions.
The machine compiles as it goes: the first ticks take several times as long as later ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from deephaven_server import Server
from protocol import Clock, Task, main

if TYPE_CHECKING:
    from deephaven.stream.table_publisher import TablePublisher
    from deephaven.table import Table

CLOCK = "clock"

_END = "due = lowerBin(dateTime, 10 * SECOND) + 10 * SECOND"


def _start(threads: int, folder: str) -> None:
    """Start the machine; a cycle begins when it is asked for, and not each second.

    Args:
        threads: How many it may use.
        folder: For what it would leave in the user's home.
    """
    options = [
        "-Xmx6g",
        f"-DPeriodicUpdateGraph.updateThreads={threads}",
        f"-DOperationInitializationThreadPool.threads={threads}",
        "-DPeriodicUpdateGraph.targetCycleDurationMillis=3600000",
        f"-Ddeephaven.cacheDir={folder}/cache",
        f"-Ddeephaven.dataDir={folder}/data",
    ]
    Server(port=0, jvm_args=options).start()


def _kept(blink: Table) -> Table:
    """Return a table that keeps the rows."""
    from deephaven.stream import blink_to_append_only

    return blink_to_append_only(blink)


def _adds_only(table: Table) -> Table:
    """Return the table, known to be only added to."""
    from deephaven.table import Table

    return Table(table.j_table.assertAddOnly())


def _new(table: Table) -> Table:
    """Return the rows that a cycle adds."""
    from deephaven.stream import add_only_to_blink

    return add_only_to_blink(_adds_only(table))


def _completed(table: Table, clock: Table) -> Table:
    """Return the rows of those windows that a cycle completes."""
    ends = table.select_distinct("due").natural_join(clock.last_by(), on=[])
    passed = ends.where("due <= now").update_view("passed = true")
    return _new(
        table.natural_join(passed, "due", "passed").where("!isNull(passed)").drop_columns("passed")
    )


# -- the queries ----------------------------------------------------------------------------------

Streams = Mapping[str, "Table"]


def _q0(streams: Streams) -> Table:
    return streams["bid"]


def _q1(streams: Streams) -> Table:
    return streams["bid"].view(["auction", "bidder", "price = price * 0.908", "dateTime"])


def _q2(streams: Streams) -> Table:
    return streams["bid"].where("auction % 123 == 0").view(["auction", "price"])


def _q3(streams: Streams) -> Table:
    auctions = _kept(streams["auction"].where("category == 10").view(["id", "seller"]))
    persons = _kept(streams["person"].where("state in `OR`, `ID`, `CA`"))
    joined = auctions.natural_join(persons, "seller = id", ["name", "city", "state"])
    return _new(joined.where("!isNull(state)").drop_columns("seller"))


def _q4(streams: Streams) -> Table:
    auctions = streams["auction"].view(["auction = id", "category", "opens = dateTime", "expires"])
    bids = _kept(streams["bid"].view(["auction", "price", "dateTime"]))
    joined = bids.natural_join(_kept(auctions), "auction")
    valid = _adds_only(joined.where(["dateTime >= opens", "dateTime <= expires"]))
    finals = valid.view(["auction", "category", "mean = price"]).max_by(["auction", "category"])
    return finals.view(["category", "mean"]).avg_by("category")


def _q5(streams: Streams) -> Table:
    from deephaven import merge

    bids = streams["bid"].view(["auction", "pane = lowerBin(dateTime, 2 * SECOND)"])
    panes = bids.count_by("num", ["auction", "pane"])
    after = [f"due = pane + {seconds} * SECOND" for seconds in (2, 4, 6, 8, 10)]
    counts = merge([panes.view(["auction", "num", due]) for due in after])
    completed = _completed(counts.sum_by(["auction", "due"]), streams[CLOCK])
    most = completed.view(["due", "most = num"]).max_by("due")
    return completed.natural_join(most, "due").where("num == most").drop_columns("most")


def _q7(streams: Streams) -> Table:
    bids = streams["bid"].view(["auction", "price", "bidder", _END])
    most = bids.view(["due", "most = price"]).max_by("due")

    def highest(among: Table) -> Table:
        return among.natural_join(most, "due").where("price == most").drop_columns("most")

    # A bid below the highest so far will not be the highest later: few are kept.
    return highest(_completed(_kept(highest(bids)), streams[CLOCK]))


def _q8(streams: Streams) -> Table:
    persons = streams["person"].view(["id", "name", _END]).select_distinct(["id", "name", "due"])
    sellers = streams["auction"].view(["id = seller", _END]).select_distinct(["id", "due"])
    joined = persons.natural_join(sellers.update_view("sells = true"), ["id", "due"])
    return _completed(joined.where("!isNull(sells)").drop_columns("sells"), streams[CLOCK])


def _q12(streams: Streams) -> Table:
    counts = streams["bid"].view(["bidder", _END]).count_by("bids", ["bidder", "due"])
    return _completed(counts, streams[CLOCK])


def _q15(streams: Streams) -> Table:
    from deephaven import agg

    bids = streams["bid"].view(
        [
            "midnight = lowerBin(dateTime, DAY)",
            "price",
            "bidder",
            "low_bidder = price < 10000 ? bidder : NULL_LONG",
            "auction",
            "high_auction = price >= 1000000 ? auction : NULL_LONG",
        ]
    )
    distinct = [
        "bidders = bidder",
        "low_bidders = low_bidder",
        "auctions = auction",
        "high_auctions = high_auction",
    ]
    statistics = [
        agg.count_("bids"),
        agg.count_where("low", "price < 10000"),
        agg.count_where("middle", ["price >= 10000", "price < 1000000"]),
        agg.count_where("high", "price >= 1000000"),
        agg.count_distinct(distinct),
    ]
    days = bids.agg_by(statistics, "midnight")
    return days.update_view("day = toLocalDate(midnight, 'UTC')").drop_columns("midnight")


def _q18(streams: Streams) -> Table:
    return streams["bid"].last_by(["bidder", "auction"])


def _q20(streams: Streams) -> Table:
    auctions = (
        streams["auction"].where("category == 10").view(["auction = id", "itemName", "seller"])
    )
    joined = _kept(streams["bid"]).natural_join(_kept(auctions), "auction")
    return _new(joined.where("!isNull(seller)"))


@dataclass(frozen=True)
class Query:
    """A query.

    Attributes:
        answer: Makes the table of the answer from the streams.
        grows: Whether the answer is what all ticks together have read.
    """

    answer: Callable[[Streams], Table]
    grows: bool = True


QUERIES = {
    "q0": Query(_q0),
    "q1": Query(_q1),
    "q2": Query(_q2),
    "q3": Query(_q3),
    "q4": Query(_q4, grows=False),
    "q5": Query(_q5),
    "q7": Query(_q7),
    "q8": Query(_q8),
    "q12": Query(_q12),
    "q15": Query(_q15, grows=False),
    "q18": Query(_q18, grows=False),
    "q20": Query(_q20),
}


# -- ticks ----------------------------------------------------------------------------------------


def _published(names: list[str]) -> tuple[dict[str, Table], dict[str, TablePublisher]]:
    """Return the streams and the clock, and what publishes them."""
    from deephaven import dtypes
    from deephaven.stream.table_publisher import table_publisher

    number, text, time = dtypes.long, dtypes.string, dtypes.Instant
    columns = {
        "person": {"id": number, "name": text, "city": text, "state": text, "dateTime": time},
        "auction": {
            "id": number,
            "itemName": text,
            "seller": number,
            "category": dtypes.int32,
            "expires": time,
            "dateTime": time,
        },
        "bid": {"auction": number, "bidder": number, "price": number, "dateTime": time},
        CLOCK: {"now": time},
    }
    made = {name: table_publisher(name, columns[name]) for name in (*names, CLOCK)}
    return (
        {name: table for name, (table, _) in made.items()},
        {name: publisher for name, (_, publisher) in made.items()},
    )


def run(task: Task) -> Clock:
    """Run a query in a machine of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        _start(task.threads, folder)
        return _ticks(task)


def _ticks(task: Task) -> Clock:
    """Run a query tick by tick."""
    from deephaven import new_table
    from deephaven.arrow import to_arrow, to_table
    from deephaven.column import datetime_col
    from deephaven.update_graph import exclusive_lock

    query = QUERIES[task.query]
    streams, publishers = _published(list(task.files))
    answer = query.answer(streams)
    to_arrow(answer)
    graph = answer.update_graph
    clock = Clock()
    read: list[pa.Table] = []
    for number, now in enumerate(task.now):
        clock.start()
        with exclusive_lock(graph):
            for name, files in task.files.items():
                publishers[name].add(to_table(pq.ParquetFile(files[number]).read()))
            publishers[CLOCK].add(new_table([datetime_col("now", [f"{now}Z"])]))
            graph.j_update_graph.requestRefresh()
            # The clock changes in each cycle; waiting gives the lock away until the end of it.
            streams[CLOCK].await_update()
            rows = to_arrow(answer)
        clock.stop()
        read = [*read, rows] if query.grows else [rows]
    # A table that fails keeps its rows and says nothing.
    if answer.is_failed:
        raise RuntimeError(f"the table of {task.query} failed")
    if task.output is not None:
        pq.write_table(_plain(pa.concat_tables(read)), task.output)
    return clock


def _plain(answer: pa.Table) -> pa.Table:
    """Return it with timestamps in microseconds that have no time zone."""
    plain = pa.timestamp("us")
    kinds = [plain if pa.types.is_timestamp(kind) else kind for kind in answer.schema.types]
    return answer.cast(pa.schema(zip(answer.schema.names, kinds, strict=True)))


if __name__ == "__main__":
    main(run)
