"""TPC-H under change: each query kept up by cqlduck, beside DuckDB that answers it anew.

    python benchmarks/tpch.py [--scale 1] [--fractions 0.001,0.0001] [--queries q1,q6] [--disk]
        [--answer recomputed] [--unmeasured 5] [--processor]

Both sides hold the same tables and take the same changes in turn, tick by tick: Arrow tables go in,
the answer comes out as Arrow. DuckDB takes them by INSERT, DELETE by key and UPDATE in one
transaction and runs the query; cqlduck by `append` and `retract`, at one instant, and a tick. The
first ticks are not measured. In each tick the answers are compared, doubles to nine digits. A ratio
is DuckDB's median time over cqlduck's: above 1, to keep the answer up is faster. With `--answer`
the option of the point `answer` is pinned. Without it the option is chosen, which takes some ticks,
as their time pays for it (`--unmeasured 50`); a line ends with the one that stood last. With
`--processor` the processor's time is taken, which says more on a machine that does something else
as well.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa
import tpch_data
from contestants import THREADS
from rich.console import Console
from rich.progress import track
from tpch_cells import Cell, Tick, median
from tpch_data import KEYS, Change, Drawer

import cqlduck
from cqlduck.rewrite.statements.refreshing import INCREMENTAL

UNMEASURED = 5
"""How many ticks are not measured, by default."""

Clock = Callable[[], float]


class Side(Protocol):
    """One of the two that are compared."""

    def tick(self, changes: dict[str, Change], query: str) -> tuple[Tick, pa.Table]:
        """Take changes in, and answer a query."""


def taken_by_duckdb(con: duckdb.DuckDBPyConnection, changes: dict[str, Change]) -> None:
    """Have DuckDB's tables take changes, by key, in one transaction."""
    con.execute("BEGIN")
    for name, change in changes.items():
        keys = KEYS[name]
        same = " AND ".join(f"{name}.{key} = given.{key}" for key in keys)
        if change.deleted.num_rows:
            con.register("given", change.deleted)
            con.execute(f"DELETE FROM {name} USING given WHERE {same}")
        if change.old.num_rows:
            con.register("given", change.new)
            rest = [column for column in change.new.column_names if column not in keys]
            sets = ", ".join(f"{column} = given.{column}" for column in rest)
            con.execute(f"UPDATE {name} SET {sets} FROM given WHERE {same}")
        if change.inserted.num_rows:
            con.register("given", change.inserted)
            con.execute(f"INSERT INTO {name} FROM given")
    con.execute("COMMIT")


def taken_by_cqlduck(con: cqlduck.Connection, changes: dict[str, Change], now: int) -> None:
    """Have the relations that there are take changes at one instant."""
    for name, change in changes.items():
        if name in con.relations:
            for rows in (change.deleted, change.old):
                if rows.num_rows:
                    con.retract(name, rows, at=now)
            for rows in (change.new, change.inserted):
                if rows.num_rows:
                    con.append(name, rows, at=now)


class Anew:
    """DuckDB that answers anew.

    Args:
        database: Its file, or ':memory:'.
        folder: The tables.
        texts: The queries.
        clock: What is the time, in seconds.
    """

    def __init__(
        self,
        database: str,
        folder: Path,
        texts: dict[str, str],
        clock: Clock = time.perf_counter,
    ) -> None:
        """Load the tables."""
        self._clock = clock
        self.con = duckdb.connect(database, config={"threads": THREADS})
        self._texts = texts
        for name in KEYS:
            self.con.execute(f"CREATE TABLE {name} AS FROM '{folder / name}.parquet'")

    def tick(self, changes: dict[str, Change], query: str) -> tuple[Tick, pa.Table]:
        """Take changes in, and answer a query."""
        begun = self._clock()
        with self.con.cursor() as con:
            taken_by_duckdb(con, changes)
            taken = self._clock()
            answer = con.sql(self._texts[query]).to_arrow_table()
        return Tick(taken - begun, self._clock() - taken), answer


class KeptUp:
    """Cqlduck that keeps answers up.

    Args:
        database: Its file, or ':memory:'.
        folder: The tables.
        texts: The queries.
        keyed: Whether relations have their primary keys.
        answer: The option of the point `answer`, if it is pinned.
        clock: What is the time, in seconds.
    """

    def __init__(
        self,
        database: str,
        folder: Path,
        texts: dict[str, str],
        keyed: bool,
        answer: str | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        """Load the tables, register the queries and answer them once."""
        self._clock = clock
        self.con = cqlduck.connect(database, threads=THREADS)
        wanted = {name for query in texts for name in tpch_data.tables(query)}
        for name in KEYS:
            if name in wanted:
                path = folder / f"{name}.parquet"
                columns = duckdb.sql(f"DESCRIBE FROM '{path}'").fetchall()
                listed = ", ".join(f"{column[0]} {column[1]}" for column in columns)
                key = f" PRIMARY KEY ({', '.join(KEYS[name])})" if keyed else ""
                self.con.execute(f"CREATE RELATION {name} ({listed}){key}")
                self.con.append(name, path, at=0)
        for query, said in texts.items():
            self.con.execute(f"CREATE CONTINUOUS QUERY {query} AS {said}")
            if answer is not None:
                self.con.pin("answer", answer, query)
        self._now = int(self.con.advance(1))

    def tick(self, changes: dict[str, Change], query: str) -> tuple[Tick, pa.Table]:
        """Take changes in, and answer a query."""
        self._now += 1
        begun = self._clock()
        taken_by_cqlduck(self.con, changes, self._now)
        taken = self._clock()
        self.con.advance(self._now)
        answer = self.con.arrow(query)
        return Tick(taken - begun, self._clock() - taken), answer

    def option(self, query: str) -> str:
        """Return the option of the point `answer` of a query, as it stands."""
        found = self.con.sql(
            f"SELECT option FROM cql.points WHERE point = 'answer' AND owner = '{query}'"
        ).fetchall()
        return str(found[0][0]) if found else INCREMENTAL


def _plain(value: Any) -> Any:
    if isinstance(value, (float, Decimal)):
        return float(f"{float(value):.9g}")
    return value


def _bag(table: pa.Table) -> list[tuple[Any, ...]]:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted((tuple(map(_plain, row)) for row in rows), key=repr)


def difference(ours: pa.Table, theirs: pa.Table) -> str:
    """Return the first row of either answer that the other has not; nothing if there is none."""
    mine, right = _bag(ours), _bag(theirs)
    if mine == right or all(_close(a, b) for a, b in zip(mine, right, strict=False)):
        return "" if len(mine) == len(right) else f"{len(mine)} rows instead of {len(right)}"
    found = next((a, b) for a, b in zip(mine, right, strict=False) if not _close(a, b))
    return f"{found[0]} instead of {found[1]}"


def _close(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return all(
        math.isclose(x, y, rel_tol=1e-8)
        if isinstance(x, float) and isinstance(y, float)
        else x == y
        for x, y in zip(a, b, strict=True)
    )


@dataclass(frozen=True)
class Setting:
    """What a run is made with.

    Attributes:
        data: The folder of generated tables.
        scale: The scale of the data.
        disk: Whether both databases are files.
        keyed: Whether relations have their primary keys.
        ticks: How many ticks are measured.
        unmeasured: How many come before.
        answer: The option of the point `answer`, if it is pinned.
        clock: What is the time, in seconds.
    """

    data: Path
    scale: float
    disk: bool
    keyed: bool
    ticks: int
    unmeasured: int = UNMEASURED
    answer: str | None = None
    clock: Clock = time.perf_counter


def cell(query: str, fraction: float, setting: Setting) -> Cell:
    """Run a query alone in its databases, and return what was measured."""
    folder = tpch_data.generated(setting.data, setting.scale)
    texts = {query: tpch_data.text(query, setting.scale)}
    found = Cell(query, fraction)
    with ExitStack() as stack:
        where = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        files = [str(where / name) if setting.disk else ":memory:" for name in ("a.db", "b.db")]
        theirs = Anew(files[0], folder, texts, setting.clock)
        stack.callback(theirs.con.close)
        ours = KeptUp(files[1], folder, texts, setting.keyed, setting.answer, setting.clock)
        stack.callback(ours.con.close)
        drawer = Drawer(theirs.con, fraction)
        for number in range(setting.unmeasured + setting.ticks):
            changes = drawer.of(query)
            sides: tuple[Side, Side] = (ours, theirs) if number % 2 else (theirs, ours)
            took = {id(side): side.tick(changes, query) for side in sides}
            (mine, got), (other, right) = took[id(ours)], took[id(theirs)]
            wrong = difference(got, right)
            if wrong:
                found.wrong = f"tick {number}: {wrong}"
                return found
            if number >= setting.unmeasured:
                found.ours.append(mine)
                found.theirs.append(other)
                found.rows += sum(change.rows for change in changes.values()) / setting.ticks
        found.option = ours.option(query)
    return found


def cells(queries: Sequence[str], fractions: Sequence[float], setting: Setting) -> Iterator[Cell]:
    """Yield each cell as it is measured, with a bar where somebody looks."""
    wanted = [(query, fraction) for fraction in fractions for query in queries]
    for query, fraction in track(
        wanted, "measuring", console=Console(stderr=True), disable=not sys.stderr.isatty()
    ):
        yield cell(query, fraction, setting)


def shown(found: Cell) -> str:
    """Return a cell as a line."""
    if found.wrong:
        return f"{found.query:4} {100 * found.fraction:8g} %  WRONG  {found.wrong}"
    ours, theirs = median(found.ours), median(found.theirs)
    intake = statistics.median(tick.intake for tick in found.ours)
    return (
        f"{found.query:4} {100 * found.fraction:8g} %  {found.rows:9.0f} rows  "
        f"{1e3 * ours:9.1f} ms (intake {1e3 * intake:7.1f})  anew {1e3 * theirs:9.1f} ms  "
        f"ratio {found.ratio:6.2f}  without intake {found.ratio_of_answers:6.2f}  {found.option}"
    )


def main() -> None:
    """Print each cell, and the geometric mean of each fraction."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        default=Path(tempfile.gettempdir()) / "cqlduck-tpch",
        help="(%(default)s)",
    )
    add("--scale", type=float, default=1.0, help="(%(default)s)")
    add("--fractions", default="0.001", help="of the rows, separated by commas (%(default)s)")
    add("--queries", default=",".join(tpch_data.QUERIES), help="all by default")
    add("--ticks", type=int, default=15, help="measured ticks (%(default)s)")
    add("--unmeasured", type=int, default=UNMEASURED, help="ticks before them (%(default)s)")
    add("--disk", action="store_true", help="files instead of memory")
    add("--no-keys", action="store_true", help="relations without primary keys")
    add("--answer", help="pins the point answer: incremental or recomputed")
    add("--processor", action="store_true", help="the processor's time, of all threads")
    add("--json", type=Path, help="where all ticks go, for tpch_report.py")
    wanted = parser.parse_args()
    wanted.data.mkdir(parents=True, exist_ok=True)
    setting = Setting(
        wanted.data,
        wanted.scale,
        wanted.disk,
        not wanted.no_keys,
        wanted.ticks,
        wanted.unmeasured,
        wanted.answer,
        time.process_time if wanted.processor else time.perf_counter,
    )
    fractions = [float(one) for one in wanted.fractions.split(",")]
    found: list[Cell] = []
    for one in cells(wanted.queries.split(","), fractions, setting):
        found.append(one)
        print(shown(one), flush=True)
    for fraction in fractions:
        ratios = [c.ratio for c in found if c.fraction == fraction and not c.wrong]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            print(f"{100 * fraction:g} %: geometric mean {mean:.2f} over {len(ratios)} queries")
    if wanted.json:
        # where data lie is of this machine alone
        places = re.compile(r" --(data|json)[ =]\S+")
        command = places.sub("", shlex.join(["python", "benchmarks/tpch.py", *sys.argv[1:]]))
        run = {"command": command, "cells": [asdict(one) for one in found]}
        wanted.json.write_text(json.dumps(run), encoding="utf-8")
    sys.exit(any(one.wrong for one in found))


if __name__ == "__main__":
    main()
