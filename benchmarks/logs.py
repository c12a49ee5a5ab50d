"""Access logs through five regular expressions and a Python classifier, by the hour.

    python benchmarks/logs.py [--days 2] [--ticks 12] [--lines 10000] [--write]

A query looks for requests worth a call at night: failed, slow, of a shop's page, from a phone, of a
session, and of a person. Who asks for what depends on the hour: by day people look around, at
night crawlers do, in an outage everything fails, in a sale everybody is at the till. A day has six
hours of each kind, in a row. The same lines go to each contestant, tick by tick in turn:

* **adaptive**: as cqlduck runs by default; once with the filters written from worst to best by day,
  once the other way round;
* **oracle**: the best order of each kind of hour, forced when the hour begins. Which that is a
  sample says beforehand: what each filter takes alone, and which lines pass it, for all 720 orders;
* **fixed**: each of these orders throughout; the fastest counts;
* **written**: both texts as they are written.

All answers are compared. Shown are ratios of total times.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import filters
import joins
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track

import cqlduck
from cqlduck.rewrite.plan.orders import order_name
from cqlduck.streamon.points import WRITTEN

CONDITIONS = (
    "line ~ '\" 5[0-9][0-9] [0-9]+ '",
    "line ~ ' ([1-9][0-9]{3,})ms$'",
    "line ~ '\"(GET|POST) /(shop|cart|till)(/[a-z0-9]+)* '",
    "line ~ '(Android|iPhone|iPad)[^\"]*\"'",
    "line ~ 'session=([a-f0-9]{4}-?)+;'",
    "is_person(line)",
)
"""The filters: failed, slow, of a shop, from a phone, of a session, of a person."""

HOURS: Mapping[str, Sequence[float]] = {
    "day": (0.01, 0.3, 0.8, 0.5, 0.9, 0.9),
    "night": (0.3, 0.4, 0.9, 0.9, 0.95, 0.04),
    "outage": (0.95, 0.9, 0.7, 0.02, 0.9, 0.9),
    "sale": (0.9, 0.03, 0.98, 0.95, 0.98, 0.95),
}
"""Which part of the lines passes each filter, by kind of hour."""

HOURS_OF_A_KIND = 6
CRAWLERS = ("bot", "spider", "crawl", "curl", "wget", "scan")
SAMPLE = 5_000


def is_person(line: str) -> bool:
    """Return whether a line looks as if a person had asked: by agent, referrer, and pace."""
    agent = line.rsplit('"', 2)[-2].lower()
    if any(word in agent for word in CRAWLERS):
        return False
    pace = sum(map(int, re.findall(r"\d", line[:15])))
    return "mozilla" in agent and pace >= 0


def lines(kind: str, count: int, drawn: random.Random) -> pa.Array:
    """Return log lines of a kind of hour."""
    made = []
    for _ in range(count):
        failed, slow, shop, phone, session, person = (drawn.random() < p for p in HOURS[kind])
        status = f"5{drawn.randint(10, 99)}" if failed else f"2{drawn.randint(10, 99)}"
        took = drawn.randint(1000, 9999) if slow else drawn.randint(1, 999)
        page = drawn.choice(("shop", "cart", "till")) if shop else drawn.choice(("blog", "help"))
        device = drawn.choice(("Android 15", "iPhone", "iPad")) if phone else "X11; Linux x86_64"
        agent = "Firefox/128.0" if person else f"{drawn.choice(CRAWLERS)}/2.1"
        cookie = f"session={drawn.getrandbits(32):08x}-{drawn.getrandbits(32):08x};"
        made.append(
            f"10.{drawn.randint(0, 255)}.{drawn.randint(0, 255)}.7 {cookie if session else '-'} "
            f'"GET /{page}/{drawn.getrandbits(24):06x}/{drawn.getrandbits(24):06x} HTTP/1.1" '
            f'{status} {drawn.randint(200, 90000)} "Mozilla/5.0 ({device}) {agent}" {took}ms'
        )
    return pa.array(made)


def best_orders(pools: Mapping[str, pa.Array]) -> dict[str, tuple[int, ...]]:
    """Return for each kind of hour the order that takes least over a sample."""
    found = {}
    with duckdb.connect(config={"threads": 1}) as con:
        con.create_function("is_person", is_person, ["VARCHAR"], "BOOLEAN")
        for kind, pool in pools.items():
            sample = pa.table({"line": pool.slice(0, SAMPLE)})
            con.register("sample", sample)
            masks, costs = [], []
            for condition in CONDITIONS:
                took = []
                for _ in range(3):
                    begun = time.perf_counter()
                    rows = con.sql(f"SELECT {condition} AS p FROM sample").fetchnumpy()
                    took.append(time.perf_counter() - begun)
                masks.append(np.asarray(rows["p"], dtype=bool))
                costs.append(min(took))

            def cost(
                order: Sequence[int],
                masks: Sequence[np.ndarray] = masks,
                costs: Sequence[float] = costs,
            ) -> float:
                left, total = np.ones(len(masks[0]), dtype=bool), 0.0
                for place in order:
                    total += costs[place] * float(left.mean())
                    left = left & masks[place]
                return total

            found[kind] = min(itertools.permutations(range(len(CONDITIONS))), key=cost)
    return found


def contestant(
    stack: contextlib.ExitStack, text: Sequence[int], order: str | None = None
) -> filters.Contestant:
    """Return a fresh database in memory, with the filters in an order of the text.

    Args:
        stack: What closes it.
        text: The places in `CONDITIONS` of its filters.
        order: An order that is forced, or None.
    """
    con = stack.enter_context(cqlduck.connect(threads=2))
    # what may raise stays behind what guards it
    con.create_function(
        "is_person", is_person, ["VARCHAR"], "BOOLEAN", exception_handling="return_null"
    )
    listed = " AND ".join(CONDITIONS[place] for place in text)
    con.execute(
        "CREATE STREAM log (n INTEGER, line VARCHAR, t INTEGER) TIMESTAMP BY t;"
        f"CREATE CONTINUOUS QUERY q AS SELECT n FROM log WHERE {listed}"
    )
    made = filters.Contestant(con)
    if order is not None:
        made.want(order)
    return made


def named(order: Sequence[int], text: Sequence[int]) -> str:
    """Return an order of `CONDITIONS` as a pin has it for a text."""
    return order_name(tuple(text.index(place) for place in order))


@dataclass(frozen=True)
class Found:
    """What each contestant took in all, in seconds, and how often adaptive changed its order."""

    seconds: Mapping[str, float]
    changes: int

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What is compared, in words, and the ratio."""
        took = self.seconds
        fixed = [seconds for name, seconds in took.items() if name.startswith("fixed")]
        return [
            ("adaptive, × oracle", f"{took['adaptive'] / took['oracle']:.2f}"),
            ("best fixed order, × adaptive", f"{min(fixed) / took['adaptive']:.2f}"),
            ("worst of these, × adaptive", f"{max(fixed) / took['adaptive']:.2f}"),
            ("worst text as it is written, × adaptive", f"{took['worst'] / took['adaptive']:.2f}"),
            ("best text as it is written, × adaptive", f"{took['best'] / took['adaptive']:.2f}"),
            (
                "adaptive with the worst text, × that with the best",
                f"{took['adaptive, worst text'] / took['adaptive']:.2f}",
            ),
            ("changes of the order", str(self.changes)),
        ]


def run(days: int, ticks: int, size: int) -> Found:
    """Run all contestants in turn; return what they took.

    Args:
        days: How many days there are.
        ticks: How many ticks an hour has.
        size: How many lines a tick has.
    """
    drawn = random.Random(0)
    pools = {kind: lines(kind, 4 * size, drawn) for kind in HOURS}
    orders = best_orders(pools)
    best = orders["day"]
    worst = tuple(reversed(best))
    hours = [kind for _ in range(days) for kind in HOURS for _ in range(HOURS_OF_A_KIND)]
    with contextlib.ExitStack() as stack:
        oracle = contestant(stack, best)
        everyone = {
            "oracle": oracle,
            "adaptive": contestant(stack, best),
            "adaptive, worst text": contestant(stack, worst),
            "best": contestant(stack, best, WRITTEN),
            "worst": contestant(stack, worst, WRITTEN),
        }
        for order in dict.fromkeys(orders.values()):
            name = named(order, best)
            everyone[f"fixed {name}"] = contestant(stack, best, name)
        turns: list[Callable[[pa.Table, int], None]] = [one.tick for one in everyone.values()]
        for tick in track(range(len(hours) * ticks), "hours", transient=True):
            kind = hours[tick // ticks]
            oracle.want(named(orders[kind], best))
            start = drawn.randint(0, len(pools[kind]) - size)
            batch = pa.table(
                {
                    "n": pa.array(range(size), pa.int32()),
                    "line": pools[kind].slice(start, size),
                    "t": pa.array([tick] * size, pa.int32()),
                }
            )
            for place in range(len(turns)):
                turns[(tick + place) % len(turns)](batch, tick)
        answers = {len(one.con.changes("q")) for one in everyone.values()}
        if len(answers) > 1:
            raise SystemExit(f"the answers differ: {answers}")
        log = "SELECT count(*) FROM cql.plan_log WHERE point = 'filters'"
        ((changes,),) = everyone["adaptive"].con.sql(log).fetchall()
        return Found({name: one.seconds for name, one in everyone.items()}, int(changes))


BEGIN, END = "<!-- logs -->\n", "<!-- end of logs -->\n"


def main() -> None:
    """Run, and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--days", type=int, default=2, help="days (default 2)")
    parser.add_argument("--ticks", type=int, default=12, help="ticks an hour (default 12)")
    parser.add_argument("--lines", type=int, default=10_000, help="lines a tick (default 10,000)")
    parser.add_argument("--write", action="store_true", help="write a section of ADAPTIVITY.md")
    given = parser.parse_args()
    rows = run(given.days, given.ticks, given.lines).rows
    for row in rows:
        Console().print(": ".join(row))
    if given.write:
        body = ["| what | ratio |", "| --- | ---: |", *(f"| {a} | {b} |" for a, b in rows)]
        joins.write(
            "# Access logs\n\n"
            f"`python benchmarks/logs.py --days {given.days} --ticks {given.ticks} "
            f"--lines {given.lines} --write`\n\n"
            "Five regular expressions and a Python classifier over access logs, whose mix changes "
            "by the hour. `logs.py` says what is compared.\n\n" + "\n".join(body) + "\n",
            BEGIN,
            END,
        )


if __name__ == "__main__":
    main()
