"""Top k and numbers by partition beside a sum by group: a relation of a million rows that changes.

    python benchmarks/topk.py [--rows 1000000] [--changes 100] [--ticks 30] [--unmeasured 30]

Each query is kept up alone, over the same rows and changes: of those in a tick half are insertions,
a quarter deletions, a quarter updates of the value, at one instant. The first one, `GROUP BY k`, is
the measure: of it it is known that a tick costs what its groups cost. A tick is measured until its
changes stand in the database, the ticks of all queries in turn; shown are medians and ratios. In
the end the answers are those of DuckDB.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter

import duckdb
import pyarrow as pa
from contestants import THREADS
from rich.console import Console
from rich.progress import track

import cqlduck

PARTITIONS = 10_000

QUERIES = {
    "sum by key": "SELECT k, sum(v) AS v FROM r GROUP BY k",
    "top 10": "SELECT id, k, v FROM r ORDER BY v DESC, id LIMIT 10",
    "top 10 by a sum": "SELECT k, sum(v) AS v FROM r GROUP BY k ORDER BY v DESC, k LIMIT 10",
    "numbers by key": "SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY v, id) AS n FROM r",
    "first 3 by key": "SELECT id, k, v FROM r "
                      "QUALIFY row_number() OVER (PARTITION BY k ORDER BY v, id) <= 3",
}  # fmt: skip
"""The queries; the first one is what the others are compared with."""

ROWS = (
    "SELECT i AS id, (hash(i) % {partitions})::BIGINT AS k, (hash(i, 1) % 1000000007)::BIGINT AS v"
)
DRAWN = "SELECT * FROM r ORDER BY hash(id, {seed}) LIMIT {count}"


class Changes:
    """Draws changes, and keeps a plain table that has taken them."""

    def __init__(self, rows: int, count: int) -> None:
        """Make the table of so many rows, of which ticks change `count`."""
        self.con = duckdb.connect(config={"threads": THREADS})
        self.count, self.next, self.seed = count, rows, 0
        self.con.execute(f"CREATE TABLE r AS {self._rows()} FROM range({rows}) AS t (i)")

    def _rows(self) -> str:
        return ROWS.format(partitions=PARTITIONS)

    def all(self) -> pa.Table:
        """Return all rows (id, k, v)."""
        return self.con.sql("FROM r").to_arrow_table()

    def drawn(self) -> tuple[pa.Table, pa.Table]:
        """Return the rows (id, k, v) that go, and those that come; the table has taken them."""
        self.seed += 1
        quarter = self.count // 4
        old = self.con.sql(DRAWN.format(seed=self.seed, count=2 * quarter)).to_arrow_table()
        updated = self.con.sql(
            f"SELECT id, k, (hash(v, {self.seed}) % 1000000007)::BIGINT AS v FROM old "
            f"ORDER BY hash(id, {self.seed}) LIMIT {quarter}"
        ).to_arrow_table()
        end = self.next + self.count - 2 * quarter
        inserted = self.con.sql(
            f"{self._rows()} FROM range({self.next}, {end}) AS t (i)"
        ).to_arrow_table()
        self.next = end
        new = pa.concat_tables([updated, inserted])
        self.con.execute("DELETE FROM r USING old WHERE r.id = old.id; INSERT INTO r FROM new")
        return old, new


def kept_up(text: str, rows: pa.Table) -> cqlduck.Connection:
    """Return a database that keeps up the query."""
    con = cqlduck.connect(threads=THREADS)
    con.execute("CREATE RELATION r (id BIGINT, k BIGINT, v BIGINT) PRIMARY KEY (id)")
    con.append("r", rows, at=0)
    con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")
    con.advance(1)
    return con


def differs(con: cqlduck.Connection, text: str, plain: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the answer is another one than DuckDB's."""
    found, wanted = (Counter(rows.fetchall()) for rows in (con.table("q"), plain.sql(text)))
    return found != wanted


def main() -> None:
    """Print of each query its median tick, and how many times that of the first one it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--rows", type=int, default=1_000_000, help="of the relation (%(default)s)")
    add("--changes", type=int, default=100, help="of rows in a tick (%(default)s)")
    add("--ticks", type=int, default=30, help="that are measured (%(default)s)")
    add("--unmeasured", type=int, default=30, help="ticks before them (%(default)s)")
    wanted = parser.parse_args()
    changes = Changes(wanted.rows, wanted.changes)
    kept = {name: kept_up(text, changes.all()) for name, text in QUERIES.items()}
    took: dict[str, list[float]] = {name: [] for name in QUERIES}
    console = Console(stderr=True)
    ticks = range(2, 2 + wanted.unmeasured + wanted.ticks)
    for now in track(ticks, "ticks", console=console, disable=not sys.stderr.isatty()):
        old, new = changes.drawn()
        for name, con in kept.items():
            begun = time.perf_counter()
            con.retract("r", old, at=now)
            con.append("r", new, at=now)
            con.advance(now)
            took[name].append(time.perf_counter() - begun)
    print("| query | tick | ratio | answer | search |\n|---|---:|---:|---|---|")
    medians = {n: statistics.median(t[wanted.unmeasured :]) for n, t in took.items()}
    measure = medians[next(iter(QUERIES))]
    for name, con in kept.items():
        options = dict(con.sql("SELECT point, max(option) FROM cql.points GROUP BY ALL").fetchall())
        print(
            f"| {name} | {1e3 * medians[name]:.1f} ms | {medians[name] / measure:.2f} "
            f"| {options.get('answer', '')} | {options.get('search', '')} |",
            flush=True,
        )
    if wrong := [n for n, con in kept.items() if differs(con, QUERIES[n], changes.con)]:
        sys.exit(f"answers that are not DuckDB's: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
