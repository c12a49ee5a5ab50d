"""W2 by hand: what a programmer would write in plain Python for one query.

Each loop reads the Parquet files, goes through the events instant by instant, and keeps just what
its window needs. The whole change stream is the result, as columns.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import pyarrow.parquet as pq
from data import Dataset

Columns = dict[str, list[Any]]
Loop = Callable[[Dataset], Columns]


def _instants(data: Dataset, stream: str, *columns: str) -> Iterator[tuple[int, list[Any]]]:
    """Yield (instant, its rows) in order; rows have the columns asked for."""
    for name in data.files(stream):
        table = pq.read_table(name, columns=["ts", *columns], partitioning=None)
        rows = zip(*(table.column(c).to_pylist() for c in ("ts", *columns)), strict=True)
        for instant, group in groupby(rows, key=lambda row: row[0]):
            yield instant, [row[1:] for row in group]


class _Output:
    """The change stream, as rows that are turned into columns at the end."""

    def __init__(self, *names: str) -> None:
        self.names = (*names, "_ts", "_weight")
        self.rows: list[tuple[Any, ...]] = []

    def columns(self) -> Columns:
        listed = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.names)
        return dict(zip(self.names, map(list, listed), strict=True))


def mean_and_count(data: Dataset) -> Columns:
    """(a) Mean and count by symbol over the last 60 instants."""
    out = _Output("sym", "mean", "trades")
    totals: dict[int, int] = defaultdict(int)
    counts: dict[int, int] = defaultdict(int)
    window: deque[tuple[int, list[Any]]] = deque()
    for now, rows in _instants(data, "trades", "sym", "price"):
        gone = window.popleft()[1] if window and window[0][0] + 60 <= now else []
        window.append((now, rows))
        before = {sym: (totals[sym], counts[sym]) for sym, _ in (*gone, *rows)}
        for sym, price in gone:
            totals[sym] -= price
            counts[sym] -= 1
        for sym, price in rows:
            totals[sym] += price
            counts[sym] += 1
        for sym, (total, count) in before.items():
            old = (total / count, count) if count else None
            new = (totals[sym] / counts[sym], counts[sym]) if counts[sym] else None
            if old != new:
                if old:
                    out.rows.append((sym, *old, now, -1))
                if new:
                    out.rows.append((sym, *new, now, 1))
    return out.columns()


def rows_with_range(data: Dataset) -> Columns:
    """(b) The last 1,000 of one stream with two minutes of another."""
    out = _Output("left_id", "right_id", "a")
    left: dict[int, dict[int, None]] = defaultdict(dict)
    right: dict[int, dict[int, None]] = defaultdict(dict)
    last: deque[tuple[int, int]] = deque()
    window: deque[tuple[int, list[Any]]] = deque()
    both = zip(_instants(data, "s1", "id", "a"), _instants(data, "s2", "id", "a"), strict=True)
    for (now, lefts), (_, rights) in both:
        for id_, a in window.popleft()[1] if window and window[0][0] + 121 <= now else []:
            del right[a][id_]
            out.rows += [(other, id_, a, now, -1) for other in left[a]]
        window.append((now, rights))
        last += lefts
        fresh = dict(lefts)
        while len(last) > 1000:
            id_, a = last.popleft()
            if fresh.pop(id_, None) is None and a > 10:
                del left[a][id_]
                out.rows += [(id_, other, a, now, -1) for other in right[a]]
        for id_, a in fresh.items():
            if a > 10:
                left[a][id_] = None
                out.rows += [(id_, other, a, now, 1) for other in right[a]]
        for id_, a in rights:
            right[a][id_] = None
            out.rows += [(other, id_, a, now, 1) for other in left[a]]
    return out.columns()


def top_of_rows(data: Dataset) -> Columns:
    """(c) The greatest of each symbol's last ten."""
    out = _Output("sym", "top")
    last: dict[int, deque[int]] = defaultdict(lambda: deque(maxlen=10))
    tops: dict[int, int] = {}
    for now, rows in _instants(data, "trades", "sym", "price"):
        for sym, price in rows:
            last[sym].append(price)
        for sym in dict(rows):
            top = max(last[sym])
            old = tops.get(sym)
            if old != top:
                if old is not None:
                    out.rows.append((sym, old, now, -1))
                out.rows.append((sym, top, now, 1))
                tops[sym] = top
    return out.columns()


def extremes(data: Dataset) -> Columns:
    """(d) Least and greatest by symbol over the last 60 instants, as monotonic queues."""
    out = _Output("sym", "low", "high")
    lows: dict[int, deque[tuple[int, int]]] = defaultdict(deque)
    highs: dict[int, deque[tuple[int, int]]] = defaultdict(deque)
    stood: dict[int, tuple[int, int]] = {}
    window: deque[tuple[int, list[Any]]] = deque()
    for now, rows in _instants(data, "trades", "sym", "price"):
        gone = window.popleft()[1] if window and window[0][0] + 60 <= now else []
        window.append((now, rows))
        for sym, price in rows:
            low, high = lows[sym], highs[sym]
            while low and low[-1][1] >= price:
                low.pop()
            low.append((now, price))
            while high and high[-1][1] <= price:
                high.pop()
            high.append((now, price))
        for sym in dict((*gone, *rows)):
            low, high = lows[sym], highs[sym]
            while low and low[0][0] + 60 <= now:
                low.popleft()
            while high and high[0][0] + 60 <= now:
                high.popleft()
            new = (low[0][1], high[0][1]) if low else None
            old = stood.pop(sym, None)
            if new:
                stood[sym] = new
            if old != new:
                if old:
                    out.rows.append((sym, *old, now, -1))
                if new:
                    out.rows.append((sym, *new, now, 1))
    return out.columns()


def three_ranges(data: Dataset) -> Columns:
    """(e) Three windows of 60 instants, joined on two keys."""
    out = _Output("r_id", "s_id", "t_id")
    r_by_a: dict[int, dict[int, None]] = defaultdict(dict)
    s_by_a: dict[int, dict[int, int]] = defaultdict(dict)
    s_by_b: dict[int, dict[int, int]] = defaultdict(dict)
    t_by_b: dict[int, dict[int, None]] = defaultdict(dict)
    window: deque[tuple[int, list[Any], list[Any], list[Any]]] = deque()

    def combine(rs: list[Any], ss: list[Any], ts: list[Any], now: int, weight: int) -> None:
        for r, a in rs:
            for s, b in s_by_a[a].items():
                out.rows.extend((r, s, t, now, weight) for t in t_by_b[b])
            if weight > 0:
                r_by_a[a][r] = None
            else:
                del r_by_a[a][r]
        for s, a, b in ss:
            if weight < 0:
                del s_by_a[a][s], s_by_b[b][s]
            for r in r_by_a[a]:
                out.rows.extend((r, s, t, now, weight) for t in t_by_b[b])
            if weight > 0:
                s_by_a[a][s], s_by_b[b][s] = b, a
        for t, b in ts:
            for s, a in s_by_b[b].items():
                out.rows.extend((r, s, t, now, weight) for r in r_by_a[a])
            if weight > 0:
                t_by_b[b][t] = None
            else:
                del t_by_b[b][t]

    all_three = zip(
        _instants(data, "r", "id", "a"),
        _instants(data, "s", "id", "a", "b"),
        _instants(data, "t", "id", "b"),
        strict=True,
    )
    for (now, rs), (_, ss), (_, ts) in all_three:
        if window and window[0][0] + 60 <= now:
            combine(*window.popleft()[1:], now, -1)
        window.append((now, rs, ss, ts))
        combine(rs, ss, ts, now, 1)
    return out.columns()
