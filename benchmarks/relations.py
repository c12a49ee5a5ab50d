"""What changes of relations cost: two relations beside two plain tables that take the same changes.

    python benchmarks/relations.py [--scale 1] [--rows 75,7500,750000] [--ticks 9] [--disk]

The tables are orders and lineitem of TPC-H, and what changes is that of `tpch_data`. cqlduck takes
it by `append` and `retract`, at one instant, and a tick, without a query; DuckDB by DELETE by key
and INSERT, in one transaction. Shown is processor time, which other work on the machine disturbs
less than the clock: the medians of the ticks after the first two, and the ratios. In the end both
hold the same rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import tpch_data
from contestants import THREADS
from tpch import taken_by_cqlduck
from tpch_data import KEYS, Change, Drawer

import cqlduck

TABLES = ("orders", "lineitem")
UNMEASURED = 2


class Sized(Drawer):
    """Draws changes of a number of rows.

    Attributes:
        rows: The number.
    """

    rows = 0

    def _count(self, *names: str) -> int:
        return self.rows


def took(work: Callable[[], object]) -> float:
    """Do something; return the seconds of processor time that it took."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def taken_by_duckdb(con: duckdb.DuckDBPyConnection, changes: dict[str, Change]) -> None:
    """Have the plain tables take changes by key, in one transaction."""
    con.execute("BEGIN")
    for name, change in changes.items():
        same = " AND ".join(f"{name}.{key} = given.{key}" for key in KEYS[name])
        for rows in (change.deleted, change.old):
            if rows.num_rows:
                con.register("given", rows)
                con.execute(f"DELETE FROM {name} USING given WHERE {same}")
        for rows in (change.new, change.inserted):
            if rows.num_rows:
                con.register("given", rows)
                con.execute(f"INSERT INTO {name} FROM given")
    con.execute("COMMIT")


def taken_in(con: cqlduck.Connection, changes: dict[str, Change], now: int) -> None:
    """Have the relations take changes at one instant, and close it."""
    taken_by_cqlduck(con, changes, now)
    con.advance(now)


def loaded(plain: duckdb.DuckDBPyConnection, con: cqlduck.Connection, folder: Path) -> None:
    """Load both, and print what that took."""
    paths = {name: folder / f"{name}.parquet" for name in TABLES}
    theirs = 0.0
    for name, path in paths.items():
        sql = f"CREATE TABLE {name} AS FROM '{path}'"
        theirs += took(lambda sql=sql: plain.execute(sql))
        columns = duckdb.sql(f"DESCRIBE FROM '{path}'").fetchall()
        listed = ", ".join(f"{column[0]} {column[1]}" for column in columns)
        key = ", ".join(KEYS[name])
        con.execute(f"CREATE RELATION {name} ({listed}) PRIMARY KEY ({key})")
    ours = sum(took(lambda n=n, p=p: con.append(n, p, at=0)) for n, p in paths.items())
    ours += took(lambda: con.advance(1))
    print(f"first load: {ours:.2f} s, CREATE TABLE AS {theirs:.2f} s, ratio {ours / theirs:.2f}")


def differs(plain: duckdb.DuckDBPyConnection, con: cqlduck.Connection) -> bool:
    """Return whether the two hold other rows."""
    query = "SELECT count(*), sum(hash(COLUMNS(*))) FROM {}"
    return any(
        con.sql(query.format(name)).fetchall() != plain.sql(query.format(name)).fetchall()
        for name in TABLES
    )


def main() -> None:
    """Print what loading took, and the ticks of each size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    data = Path(tempfile.gettempdir()) / "cqlduck-tpch"
    parser.add_argument("--data", type=Path, default=data, help="(%(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="(%(default)s)")
    parser.add_argument("--rows", default="75,7500,750000", help="that change in a tick")
    parser.add_argument("--ticks", type=int, default=9, help="measured ticks (%(default)s)")
    parser.add_argument("--disk", action="store_true", help="files instead of memory")
    wanted = parser.parse_args()
    wanted.data.mkdir(parents=True, exist_ok=True)
    folder = tpch_data.generated(wanted.data, wanted.scale)
    with tempfile.TemporaryDirectory() as place:
        files = [f"{place}/{n}.db" if wanted.disk else ":memory:" for n in ("a", "b")]
        with (
            duckdb.connect(files[0], config={"threads": THREADS}) as plain,
            cqlduck.connect(files[1], threads=THREADS) as con,
        ):
            loaded(plain, con, folder)
            drawer, now = Sized(plain, 0.0), 1
            for rows in map(int, wanted.rows.split(",")):
                drawer.rows = rows
                pairs = []
                for _ in range(UNMEASURED + wanted.ticks):
                    changes, now = drawer.of("q1"), now + 1
                    ours = took(lambda c=changes, n=now: taken_in(con, c, n))
                    pairs.append((ours, took(lambda c=changes: taken_by_duckdb(plain, c))))
                mine, other = map(statistics.median, zip(*pairs[UNMEASURED:], strict=True))
                print(
                    f"{rows:9,} rows: {1e3 * mine:9.1f} ms, by key {1e3 * other:9.1f} ms, "
                    f"ratio {mine / other:.2f}",
                    flush=True,
                )
            if differs(plain, con):
                sys.exit("the relations do not hold what the tables hold")


if __name__ == "__main__":
    main()
