"""Nexmark on Pathway: `python on_pathway.py task.json`.

There is the total alone: from the start of the run, no file read, until the change log is written.
Each file is a commit of its own, and the log has the changes of each, but the answer of a tick
cannot be waited for at a fair cost: Pathway's reader of files looks for new ones about twice a
second, and rows that come from Python, which could be followed by a commit, take ten times as
long to enter as those that the engine reads itself.

It reads no Parquet (its reader of Delta Lake asks for a licence key), so the files are converted
to CSV before the clock runs, with times in microseconds since 1970. The change log is CSV too,
written by the engine, and is added up after the clock.

All twelve queries can be said. q5 adds five counts of two seconds up to a window, as DuckDB's
statement does: `windowby` with a sliding window would copy each bid five times. Windows of ten
seconds are rounded times for the same reason: so they take half as long as with `windowby`.
"""

from __future__ import annotations

import datetime
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pathway as pw
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
from protocol import Clock, Task, main

SECOND = 1_000_000
DAY = 86_400 * SECOND
RENAMED = {"id": "number"}
"""Columns with another name here; `id` is Pathway's own."""

TIMES = {"dateTime", "expires", "due"}
"""Columns that are microseconds here and timestamps in the answer."""


class Person(pw.Schema, append_only=True):
    """The persons."""

    number: int
    name: str
    city: str
    state: str
    dateTime: int


class Auction(pw.Schema, append_only=True):
    """The auctions."""

    number: int
    itemName: str
    seller: int
    category: int
    expires: int
    dateTime: int


class Bid(pw.Schema, append_only=True):
    """The bids."""

    auction: int
    bidder: int
    price: int
    dateTime: int


SCHEMAS = {"person": Person, "auction": Auction, "bid": Bid}


def _due(moment: pw.ColumnExpression, seconds: int) -> pw.ColumnExpression:
    """Return the end of the window that a moment is in."""
    return (moment // (seconds * SECOND) + 1) * (seconds * SECOND)


def pass_through(bid: pw.Table) -> pw.Table:
    """q0."""
    return bid


def currency(bid: pw.Table) -> pw.Table:
    """q1."""
    return bid.with_columns(price=bid.price * 0.908)


def selection(bid: pw.Table) -> pw.Table:
    """q2."""
    return bid.filter(bid.auction % 123 == 0).select(pw.this.auction, pw.this.price)


def local_items(auction: pw.Table, person: pw.Table) -> pw.Table:
    """q3."""
    a = auction.filter(auction.category == 10)
    p = person.filter((person.state == "OR") | (person.state == "ID") | (person.state == "CA"))
    return a.join(p, a.seller == p.number).select(p.name, p.city, p.state, a.number)


def winning_price(auction: pw.Table, bid: pw.Table) -> pw.Table:
    """q4."""
    joined = auction.join(bid, auction.number == bid.auction)
    valid = joined.select(
        auction.number, auction.category, bid.price, auction.expires,
        begin=auction.dateTime, at=bid.dateTime,
    ).filter((pw.this.at >= pw.this.begin) & (pw.this.at <= pw.this.expires))  # fmt: skip
    final = valid.groupby(valid.number, valid.category).reduce(
        valid.category, final=pw.reducers.max(valid.price)
    )
    return final.groupby(final.category).reduce(final.category, mean=pw.reducers.avg(final.final))


def hot_items(bid: pw.Table) -> pw.Table:
    """q5."""
    each = bid.select(bid.auction, due=_due(bid.dateTime, 2))
    panes = each.groupby(each.auction, each.due).reduce(
        each.auction, each.due, num=pw.reducers.count()
    )
    later = pw.apply_with_type(
        lambda due: tuple(due + 2 * SECOND * k for k in range(5)), tuple[int, ...], panes.due
    )
    spread = panes.select(panes.auction, panes.num, due=later).flatten(pw.this.due)
    counts = spread.groupby(spread.auction, spread.due).reduce(
        spread.auction, spread.due, num=pw.reducers.sum(spread.num)
    )
    most = counts.groupby(counts.due).reduce(counts.due, most=pw.reducers.max(counts.num))
    hot = counts.join(most, counts.due == most.due, counts.num == most.most)
    return hot.select(counts.auction, counts.num, counts.due)


def highest_bid(bid: pw.Table) -> pw.Table:
    """q7."""
    each = bid.select(bid.auction, bid.price, bid.bidder, due=_due(bid.dateTime, 10))
    most = each.groupby(each.due).reduce(each.due, most=pw.reducers.max(each.price))
    return each.join(most, each.due == most.due, each.price == most.most).select(
        each.auction, each.price, each.bidder, each.due
    )


def new_users(person: pw.Table, auction: pw.Table) -> pw.Table:
    """q8."""
    p = person.select(person.number, person.name, due=_due(person.dateTime, 10))
    a = auction.select(auction.seller, due=_due(auction.dateTime, 10))
    sellers = a.groupby(a.seller, a.due).reduce(a.seller, a.due)
    return p.join(sellers, p.number == sellers.seller, p.due == sellers.due).select(
        p.number, p.name, p.due
    )


def bids_by_bidder(bid: pw.Table) -> pw.Table:
    """q12."""
    each = bid.select(bid.bidder, due=_due(bid.dateTime, 10))
    return each.groupby(each.bidder, each.due).reduce(
        each.bidder, each.due, bids=pw.reducers.count()
    )


def statistics(bid: pw.Table) -> pw.Table:
    """q15: a row of each bidder and of each auction first, to count those that differ."""
    each = bid.select(
        bid.bidder, bid.auction, day=bid.dateTime // DAY,
        low=pw.cast(int, bid.price < 10_000), high=pw.cast(int, bid.price >= 1_000_000),
    )  # fmt: skip
    bidders = each.groupby(each.day, each.bidder).reduce(
        each.day, bids=pw.reducers.count(), low=pw.reducers.sum(each.low),
        high=pw.reducers.sum(each.high),
    )  # fmt: skip
    auctions = each.groupby(each.day, each.auction).reduce(
        each.day, high=pw.reducers.sum(each.high)
    )
    by_bidder = (
        bidders.select(*pw.this, any_low=pw.cast(int, bidders.low > 0))
        .groupby(pw.this.day)
        .reduce(
            pw.this.day,
            bids=pw.reducers.sum(pw.this.bids),
            low=pw.reducers.sum(pw.this.low),
            high=pw.reducers.sum(pw.this.high),
            bidders=pw.reducers.count(),
            low_bidders=pw.reducers.sum(pw.this.any_low),
        )
    )
    by_auction = (
        auctions.select(auctions.day, any_high=pw.cast(int, auctions.high > 0))
        .groupby(pw.this.day)
        .reduce(
            pw.this.day,
            auctions=pw.reducers.count(),
            high_auctions=pw.reducers.sum(pw.this.any_high),
        )
    )
    return by_bidder.join(by_auction, by_bidder.day == by_auction.day).select(
        *pw.left, pw.right.auctions, pw.right.high_auctions,
        middle=pw.left.bids - pw.left.low - pw.left.high,
    )  # fmt: skip


def last_bid(bid: pw.Table) -> pw.Table:
    """q18."""
    last = bid.groupby(bid.auction, bid.bidder).reduce(
        bid.auction, bid.bidder, last=pw.reducers.max(pw.make_tuple(bid.dateTime, bid.price))
    )
    return last.select(last.auction, last.bidder, price=last.last[1], dateTime=last.last[0])


def with_auction(bid: pw.Table, auction: pw.Table) -> pw.Table:
    """q20."""
    a = auction.filter(auction.category == 10)
    return bid.join(a, bid.auction == a.number).select(
        bid.auction, bid.bidder, bid.price, bid.dateTime, a.itemName, a.seller
    )


QUERIES: dict[str, Callable[..., pw.Table]] = {
    "q0": pass_through,
    "q1": currency,
    "q2": selection,
    "q3": local_items,
    "q4": winning_price,
    "q5": hot_items,
    "q7": highest_bid,
    "q8": new_users,
    "q12": bids_by_bidder,
    "q15": statistics,
    "q18": last_bid,
    "q20": with_auction,
}


def _convert(files: list[str], folder: Path) -> None:
    """Write Parquet files as CSV, times as numbers."""
    folder.mkdir()
    for number, file in enumerate(files):
        rows = pq.read_table(file)
        rows = rows.rename_columns([RENAMED.get(name, name) for name in rows.column_names])
        for place, name in enumerate(rows.column_names):
            if name in TIMES:
                rows = rows.set_column(place, name, rows[name].cast(pa.int64()))
        csv.write_csv(rows, folder / f"{number:05}.csv")


def _added_up(log: Path, now: str) -> pa.Table:
    """Return the rows that a change log leaves; of windows those that have ended."""
    # The log has a column `time` of its own, the engine's.
    rows = csv.read_csv(log).drop_columns("time")
    names = [name for name in rows.column_names if name != "diff"]
    net = rows.group_by(names).aggregate([("diff", "sum")])
    # A sum of two is a row that is there twice.
    net = net.take(np.repeat(np.arange(len(net)), net["diff_sum"])).select(names)
    for place, name in enumerate(names):
        if name in TIMES:
            net = net.set_column(place, name, net[name].cast(pa.timestamp("us")))
        if name == "day":
            net = net.set_column(place, name, net[name].cast(pa.int32()).cast(pa.date32()))
    if "due" in names:
        net = net.filter(pc.field("due") <= datetime.datetime.fromisoformat(now))
    back = {ours: theirs for theirs, ours in RENAMED.items()}
    return net.rename_columns([back.get(name, name) for name in names])


def run(task: Task) -> Clock:
    """Run a query over all files."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as made:
        tables = {}
        for name, files in task.files.items():
            _convert(files, Path(made) / name)
            tables[name] = pw.io.csv.read(
                f"{made}/{name}", schema=SCHEMAS[name], mode="static", autocommit_duration_ms=None
            )
        log = Path(made) / "log.csv"
        pw.io.csv.write(QUERIES[task.query](**tables), log)
        os.environ["PATHWAY_THREADS"] = str(task.threads)
        clock.start()
        pw.run(monitoring_level=pw.MonitoringLevel.NONE)
        clock.stop()
        if task.output is not None:
            pq.write_table(_added_up(log, task.now[-1]), task.output)
    # One tick of everything would not be a tick.
    return Clock(seconds=clock.seconds)


if __name__ == "__main__":
    main(run)
