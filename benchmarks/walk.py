"""How one row walks through the project: functions, files, rooms and statements on its way.

    python benchmarks/walk.py [--json] [--tree]

The query is that of the README, in a file database with a drop zone. A Parquet batch of five rows
is taken as the second one (`follow`), and the answer is read (`table().fetchall()`). The first
batch has gone the same way, so nothing is imported or begun any more. Counted are the calls of the
thread that calls; other threads read ahead, and have finished before. The same query's text is
compiled in another database, after another text.

What is counted does not depend on the machine; on another version of Python comprehensions may not
be calls.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import duckdb
import pyarrow as pa
import typer

import cqlduck
from cqlduck.sources.dropzone import BatchWriter

SCHEMA = """
    CREATE STREAM flights (carrier VARCHAR, dep_time TIMESTAMP, dep_delay DOUBLE)
        TIMESTAMP BY dep_time FROM 'flights';
    CREATE RELATION airlines (carrier VARCHAR, name VARCHAR);
"""
QUERY = """
    CREATE CONTINUOUS QUERY delays AS
    SELECT f.carrier, a.name, count(*) AS flights, avg(f.dep_delay) AS delay
    FROM flights [RANGE 1 HOUR] f JOIN airlines a USING (carrier)
    GROUP BY ALL
"""
OTHER = "CREATE CONTINUOUS QUERY other AS SELECT carrier FROM flights WHERE dep_delay > 60"
AIRLINES = [("AA", "American"), ("DL", "Delta"), ("UA", "United")]
ROWS = 5
RUNS = ("execute", "executemany", "sql", "query", "from_query")
"""DuckDB's functions that run a statement."""

SETTLES = 0.3
"""Seconds in which threads that read ahead come to rest."""


@dataclass(frozen=True)
class Visit:
    """A call of a function of the project.

    Attributes:
        room: rewrite, state, cqlduck or sql.
        file: The file, from the room on.
        line: Where the function begins.
        name: The function, with its class.
        depth: How many functions of the project are being run by it.
    """

    room: str
    file: str
    line: int
    name: str
    depth: int

    @property
    def function(self) -> tuple[str, int, str]:
        """What is called, whoever calls it."""
        return self.file, self.line, self.name


@dataclass
class Recorder:
    """Records the calls of a block, as a function for `sys.setprofile`."""

    visits: list[Visit] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    """Of packages: how many calls of their Python functions there were."""
    statements: int = 0
    _running: list[FrameType] = field(default_factory=list)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Take note of a call or a return."""
        if event == "call":
            self._call(frame)
        elif event == "return" and self._running and self._running[-1] is frame:
            self._running.pop()

    def _call(self, frame: FrameType) -> None:
        module = str(frame.f_globals.get("__name__", ""))
        package, *inner = module.split(".")
        if module == __name__:
            return
        self.calls[package] = self.calls.get(package, 0) + 1
        if package == "cqlduck":
            room = inner[0] if inner and inner[0] in ("rewrite", "state", "sql") else "cqlduck"
            rest = inner[1:] if room != "cqlduck" else inner
            code = frame.f_code
            file = "/".join([room, *rest[:-1], Path(code.co_filename).name])
            name = getattr(code, "co_qualname", code.co_name)
            line = code.co_firstlineno
            self.visits.append(Visit(room, file, line, name, len(self._running)))
            self._running.append(frame)

    def of(self, run: Callable[[], object]) -> Recorder:
        """Record a call; return the recorder."""
        with self._counting():
            sys.setprofile(self)
            try:
                run()
            finally:
                sys.setprofile(None)
        return self

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Count the statements that DuckDB is given; its functions are not seen by a profile."""
        own = {name: getattr(duckdb.DuckDBPyConnection, name) for name in RUNS}

        def counted(name: str) -> Callable[..., Any]:
            def run(*arguments: Any, **named: Any) -> Any:
                self.statements += 1
                return own[name](*arguments, **named)

            return run

        for name in own:
            setattr(duckdb.DuckDBPyConnection, name, counted(name))
        try:
            yield
        finally:
            for name, function in own.items():
                setattr(duckdb.DuckDBPyConnection, name, function)

    def first_visits(self) -> list[Visit]:
        """Return the first visit of each function.

        Comprehensions are no functions, nor is what a dataclass generates.
        """
        found: dict[tuple[str, int, str], Visit] = {}
        for visit in self.visits:
            if not visit.name.endswith(("comp>", "<genexpr>")) and "<" not in visit.file:
                found.setdefault(visit.function, visit)
        return list(found.values())


@dataclass(frozen=True)
class Walk:
    """What was counted.

    Attributes:
        calls: Calls of Python functions of the project, comprehensions included.
        others: Calls of other Python functions.
        sqlglot: Those of them that are sqlglot's.
        functions: Functions of the project, without comprehensions.
        files: Files of the project.
        room_changes: Calls whose room is not that of the call before.
        room_changes_first: The same, of the first visits of functions alone.
        statements: Statements that DuckDB is given, but for what a relation runs when it is read.
    """

    calls: int
    others: int
    sqlglot: int
    functions: int
    files: int
    room_changes: int
    room_changes_first: int
    statements: int

    @classmethod
    def of(cls, recorder: Recorder) -> Walk:
        """Count what has been recorded."""
        first = recorder.first_visits()
        calls = recorder.calls.get("cqlduck", 0)
        return cls(
            calls=calls,
            others=sum(recorder.calls.values()) - calls,
            sqlglot=recorder.calls.get("sqlglot", 0),
            functions=len(first),
            files=len({visit.file for visit in first}),
            room_changes=_changes(recorder.visits),
            room_changes_first=_changes(first),
            statements=recorder.statements,
        )


def _changes(visits: list[Visit]) -> int:
    return sum(a.room != b.room for a, b in pairwise(visits))


def batch(number: int) -> pa.Table:
    """Return the rows of a batch, of an hour of its own."""
    start = datetime(2013, 1, 1) + timedelta(hours=number)
    return pa.table(
        {
            "carrier": [AIRLINES[n % len(AIRLINES)][0] for n in range(ROWS)],
            "dep_time": pa.array(
                [start + timedelta(minutes=n) for n in range(ROWS)], pa.timestamp("us")
            ),
            "dep_delay": [float(n) for n in range(ROWS)],
        }
    )


def row_walk(folder: Path) -> Recorder:
    """Record how the rows of a second batch come to the answer."""
    writer = BatchWriter(folder / "drop", "flights", ts="dep_time")
    for number in range(2):
        writer.write_batch(number, batch(number))
    with cqlduck.connect(folder / "walk.duckdb", drop_zone=folder / "drop", threads=1) as con:
        con.execute(f"{SCHEMA};{QUERY}")
        con.append("airlines", AIRLINES, at="2013-01-01")
        found: list[list[tuple[Any, ...]]] = []

        def take() -> None:
            con.follow(limit=1)
            found.append(con.table("delays").fetchall())

        take()
        time.sleep(SETTLES)
        recorder = Recorder().of(take)
        first, second = found
        if not (first and second) or first == second:
            raise AssertionError(f"the walk came to no answer: {first}, {second}")
        return recorder


def text_walk(folder: Path) -> Recorder:
    """Record how the query's text is registered."""
    with cqlduck.connect(folder / "text.duckdb", drop_zone=folder, threads=1) as con:
        con.execute(f"{SCHEMA};{OTHER}")
        return Recorder().of(lambda: con.execute(QUERY))


def tree(recorder: Recorder) -> str:
    """Return the first visits as a call tree, indented, with their files and lines."""
    return "\n".join(
        f"{'  ' * visit.depth}{visit.name}  {visit.file}:{visit.line}"
        for visit in recorder.first_visits()
    )


LINES = {
    "calls": "Python calls of the project",
    "others": "Python calls of others",
    "sqlglot": "    of these sqlglot's",
    "functions": "functions",
    "files": "files",
    "room_changes": "changes between rooms, in all",
    "room_changes_first": "changes between rooms, in first visits",
    "statements": "SQL statements",
}


def main(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_tree: Annotated[bool, typer.Option("--tree", help="Print the calls as trees too.")] = False,
) -> None:
    """Count what a row, and a query's text, pass on their way."""
    with tempfile.TemporaryDirectory() as folder:
        row, text = row_walk(Path(folder)), text_walk(Path(folder))
    walks = {"row": Walk.of(row), "text": Walk.of(text)}
    if as_json:
        found: dict[str, object] = {name: asdict(walk) for name, walk in walks.items()}
        found["duckdb"] = duckdb.__version__
        if as_tree:
            found["tree"] = {"row": tree(row).split("\n"), "text": tree(text).split("\n")}
        print(json.dumps(found, indent=2))
        return
    print(f"{'':40}{'a row':>10}{'a text':>10}")
    for name, what in LINES.items():
        print(f"{what:40}{getattr(walks['row'], name):>10}{getattr(walks['text'], name):>10}")
    if as_tree:
        print("\n-- a row\n" + tree(row) + "\n\n-- a text\n" + tree(text))


if __name__ == "__main__":
    typer.run(main)
