"""What it costs to register queries and to open their database again.

    python benchmarks/registration.py [--json] [--against PATH_OF_A_PYTHON]

A hundred queries of ten shapes, ten constants each, are registered in a file database, one
statement each; then it is closed and opened again. Each run has a process of its own, and imports
are not measured. With `--against`, the Python of another virtual environment, in which another
cqlduck is installed, both run in turn, and ratios are those of pairs: this one to the other one,
and their geometric mean.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

SCHEMA = """
    CREATE STREAM trades (sym VARCHAR, price DOUBLE, size BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE STREAM quotes (sym VARCHAR, bid DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE RELATION names (sym VARCHAR, name VARCHAR, sector VARCHAR) PRIMARY KEY (sym);
"""
SHAPES = (
    "SELECT sym, price FROM trades WHERE size > {n}",
    "SELECT sym, avg(price) AS mean, count(*) AS n FROM trades [RANGE {n} MINUTES] GROUP BY sym",
    "SELECT t.sym, r.name, sum(t.size) AS total FROM trades [RANGE {n} MINUTES] t "
    "JOIN names r USING (sym) GROUP BY ALL",
    "SELECT t.sym, t.price, q.bid FROM trades [RANGE {n} SECONDS] t, quotes [RANGE {n} SECONDS] q "
    "WHERE t.sym = q.sym AND t.price > q.bid",
    "SELECT sym, max(price) AS top FROM trades [PARTITION BY sym ROWS {n}] GROUP BY sym",
    "SELECT DISTINCT sym FROM trades [RANGE {n} MINUTES]",
    "SELECT r.sym, r.name FROM names r WHERE NOT EXISTS "
    "(SELECT * FROM trades [RANGE {n} MINUTES] t WHERE t.sym = r.sym)",
    "SELECT sym, sum(size) AS total FROM trades [TUMBLE {n} MINUTES] GROUP BY sym "
    "HAVING sum(size) > {n}",
    "SELECT Istream(r.sector, median(t.price) AS mid) FROM trades [RANGE {n} MINUTES] t "
    "LEFT JOIN names r ON r.sym = t.sym GROUP BY r.sector",
    "SELECT sym, row_number() OVER (PARTITION BY sym ORDER BY price DESC) AS place "
    "FROM trades [ROWS {n}]",
)
CONSTANTS = 10


@dataclass(frozen=True)
class Seconds:
    """What one run took, in seconds of the clock and of the processor.

    Attributes:
        register: To register the queries, by the clock.
        register_cpu: The same, of the processor.
        reopen: To open the database with them again, by the clock.
        reopen_cpu: The same, of the processor.
    """

    register: float
    register_cpu: float
    reopen: float
    reopen_cpu: float


NAMES = tuple(f.name for f in fields(Seconds))


def queries(constants: int = CONSTANTS) -> list[str]:
    """Return the queries' texts, each shape in turn."""
    return [shape.format(n=10 + n) for n in range(constants) for shape in SHAPES]


def measured(texts: list[str]) -> Seconds:
    """Register queries in a new database and open it again, in this process."""
    import cqlduck

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queries.duckdb"
        con = cqlduck.connect(path)
        con.execute(SCHEMA)

        def register() -> None:
            for number, text in enumerate(texts):
                con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {text}")

        registered = _timed(register)
        con.close()
        opened: list[cqlduck.Connection] = []
        reopened = _timed(lambda: opened.append(cqlduck.connect(path)))
        ((count,),) = opened[0].sql("SELECT count(*) FROM cql.queries").fetchall()
        if count != len(texts):
            raise AssertionError("not all queries are there again")
        opened[0].close()
    return Seconds(*registered, *reopened)


def _timed(run: Callable[[], None]) -> tuple[float, float]:
    clock, processor = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - clock, time.process_time() - processor


def in_a_process(python: str, constants: int) -> Seconds:
    """Run `measured` in a process of an installation, away from this checkout's folder.

    Raises:
        RuntimeError: It failed; the message is what it said.
    """
    command = [python, str(Path(__file__).resolve()), "--here", "--constants", str(constants)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{python} failed: {done.stderr.strip()}")
    return Seconds(**json.loads(done.stdout))


@dataclass(frozen=True)
class Compared:
    """Runs of this installation, and of another one beside them.

    Attributes:
        here: The runs of this one.
        there: Those of the other one, or none.
    """

    here: list[Seconds]
    there: list[Seconds]

    def medians(self, runs: list[Seconds]) -> dict[str, float]:
        """Return the median of each figure."""
        return {name: statistics.median(getattr(run, name) for run in runs) for name in NAMES}

    def ratios(self) -> dict[str, float]:
        """Return of each figure the geometric mean of here ÷ there, pair by pair."""
        pairs = list(zip(self.here, self.there, strict=True))
        return {
            name: statistics.geometric_mean(getattr(a, name) / getattr(b, name) for a, b in pairs)
            for name in NAMES
        }


def compare(against: str | None, times: int, constants: int = CONSTANTS) -> Compared:
    """Run this installation, and another one in turn with it."""
    here: list[Seconds] = []
    there: list[Seconds] = []
    for number in range(times):
        # who is first changes, so that nobody always comes after the other
        turns = [(sys.executable, here)] + ([(against, there)] if against is not None else [])
        for python, runs in turns if number % 2 == 0 else turns[::-1]:
            runs.append(in_a_process(python, constants))
    return Compared(here, there)


def main(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    against: Annotated[
        str | None, typer.Option(help="The Python of another installation to compare with.")
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="How many runs, or pairs of runs.")] = 3,
    constants: Annotated[int, typer.Option(min=1, help="How many queries of each shape.")] = (
        CONSTANTS
    ),
    here: Annotated[bool, typer.Option(help="One run in this process.", hidden=True)] = False,
) -> None:
    """Measure registering queries and opening their database again."""
    if here:
        print(json.dumps(asdict(measured(queries(constants)))))
        return
    found = compare(against, times, constants)
    if as_json:
        shown = {"queries": len(SHAPES) * constants, "here": [asdict(run) for run in found.here]}
        if found.there:
            shown |= {"there": [asdict(run) for run in found.there], "ratios": found.ratios()}
        print(json.dumps(shown, indent=2))
        return
    print(f"{len(SHAPES) * constants} queries, medians of {times}, in seconds")
    columns = {"here": found.medians(found.here)}
    if found.there:
        columns |= {"there": found.medians(found.there), "here ÷ there": found.ratios()}
    print(f"{'':16}" + "".join(f"{name:>14}" for name in columns))
    for name in NAMES:
        print(f"{name:16}" + "".join(f"{values[name]:14.3f}" for values in columns.values()))


if __name__ == "__main__":
    typer.run(main)
