"""Sharing over real kills: whichever statement is the last one, it is done, or not at all.

Queries are merged, join families, leave them and are replaced, while elements that are late amend
what they have said and one of them fails. A process does one such thing and is killed with a real
signal before one of its statements. The file is opened again, `check` finds nothing wrong in it,
the same is done again, and after some more ticks all is as in a file in which nobody was killed.

`make long` kills each at as many statements as KILLS says.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from counts import is_brief
from test_families import assert_who_reads_whom_is_known

import cqlduck

KILLS = int(os.environ.get("KILLS", "40"))
"""At how many statements each operation is killed in `make long`."""

SCRIPT = """
    CREATE STREAM s (k INTEGER, v INTEGER);
    CREATE STREAM am (k INTEGER, v INTEGER) LATE AMEND;
    CREATE RELATION r (k INTEGER, w INTEGER);
    CREATE CONTINUOUS QUERY a AS SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k;
    CREATE CONTINUOUS QUERY c AS SELECT k, v FROM am WHERE v > 0;
    CREATE CONTINUOUS QUERY m AS SELECT k, count(*) AS n FROM am [RANGE 4] GROUP BY k;
    CREATE CONTINUOUS QUERY j AS SELECT x.k, y.n FROM am [RANGE 2] x, a y WHERE x.k = y.k;
    CREATE CONTINUOUS QUERY f0 AS SELECT k, sum(n) AS t FROM m WHERE n > 0 GROUP BY k;
    CREATE CONTINUOUS QUERY f1 AS SELECT k, sum(n) AS t FROM m WHERE n > 1 GROUP BY k;
    CREATE CONTINUOUS QUERY f2 AS SELECT k, sum(n) AS t FROM m WHERE n > 2 GROUP BY k;
    CREATE CONTINUOUS QUERY bad AS SELECT k, 6 // (v - 7) AS x FROM am [RANGE 2];
    CREATE CONTINUOUS QUERY worse AS SELECT k, 6 // (v - 7) AS x FROM am [RANGE 2];
"""
LATER = """
    CREATE CONTINUOUS QUERY b AS SELECT k, sum(v) AS t FROM s [RANGE 3] x GROUP BY k
    HAVING count(*) > 1;
    CREATE CONTINUOUS QUERY g AS SELECT k, sum(n) AS t FROM m WHERE n > 1 GROUP BY k;
"""
TICKS = 8
"""With the next one `a` and `b` are warm, and what came late is amended."""

Work = str | int
"""A statement, or an instant to which the database advances."""


@dataclass(frozen=True)
class Operation:
    """Something that a process does when it is killed.

    Attributes:
        work: What it does.
        before: What was done before.
        max_tick: The setting.
    """

    work: Work
    before: tuple[Work, ...] = (TICKS,)
    max_tick: int | None = None


OPERATIONS = {
    "merge, amend and fail": Operation(TICKS, before=()),
    "the same in ticks of one element": Operation(TICKS, before=(), max_tick=1),
    "replace a member that is read": Operation(
        "CREATE OR REPLACE CONTINUOUS QUERY a AS "
        "SELECT k, count(*) AS n FROM s [RANGE 2] GROUP BY k"
    ),
    "leave": Operation("ALTER CONTINUOUS QUERY a SET (sharing = false)"),
    "drop with all readers": Operation("DROP CONTINUOUS QUERY m CASCADE"),
    "drop a member": Operation("DROP CONTINUOUS QUERY b"),
    "replace one that has failed": Operation(
        "CREATE OR REPLACE CONTINUOUS QUERY bad AS SELECT k, 6 // (v - 7) AS x FROM am [RANGE 2]"
    ),
    "found a family": Operation(
        "CREATE CONTINUOUS QUERY n1 AS SELECT k, avg(v) AS t FROM s [RANGE 3] WHERE v > 1 "
        "GROUP BY k; CREATE CONTINUOUS QUERY n2 AS SELECT k, avg(v) AS t FROM s [RANGE 3] "
        "WHERE v > 2 GROUP BY k"
    ),
}

KILLED = """
import os, pickle, signal, sys
import cqlduck

path, settings, work, left = pickle.loads(bytes.fromhex(sys.argv[1]))

def trace(sql, parameters):
    global left
    if left is not None:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

armed, left = left, None
con = cqlduck.connect(path, trace=trace, **settings)
left = armed
try:
    con.advance(work) if isinstance(work, int) else con.execute(work)
except cqlduck.QueryError:
    pass
"""


def do(con: cqlduck.Connection, work: Work) -> None:
    """Do something; queries may fail."""
    while True:
        try:
            if isinstance(work, int):
                con.advance(work)
            else:
                con.execute(work)
        except cqlduck.QueryError:
            continue
        return


def settings_of(operation: Operation) -> dict[str, Any]:
    """Return the settings with which it runs."""
    return {} if operation.max_tick is None else {"max_tick": operation.max_tick}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with families, one of which two more queries are to be merged into, and late rows."""
    path = tmp_path_factory.mktemp("made") / "made.duckdb"
    rnd = random.Random(1)
    with cqlduck.connect(path) as con:
        con.execute(SCRIPT)
        for at in range(TICKS):
            if at == TICKS // 2:
                con.execute(LATER)
            for name in ("s", "am"):
                con.append(name, [(rnd.randrange(2), rnd.randrange(4)), (1, 3)], at=at)
            con.append("r", [(rnd.randrange(2), at)], at=at)
            do(con, at)
        con.append("am", [(1, 2), (0, 1), (1, 7)], at=[3, 5, 6])
        con.append("s", [(1, 1)], at=TICKS)
    return path


def go_on(con: cqlduck.Connection) -> None:
    """Run further ticks."""
    do(con, TICKS)
    for at in (TICKS + 1, TICKS + 2):
        con.append("s", [(at % 3, at % 4)], at=at)
        con.append("am", [(1, 1), (1, 1)], at=[at, at - 3])
        do(con, at)


def told(con: cqlduck.Connection) -> dict[str, Any]:
    """Return what a database says and keeps."""
    found: dict[str, Any] = {}
    for name, query in con.queries.items():
        elements = sorted(con.changes(name).fetchall(), key=repr)
        shown = sorted(con.sql(f"FROM {name}").fetchall(), key=repr)
        found[name] = query.state, query.frontier, query.error, elements, shown
    for sql in (
        "FROM cql.corrections",
        "SELECT name, family FROM cql.queries",
        "SELECT schema_name, table_name FROM duckdb_tables()",
        "SELECT count(*) FROM cql_state.operators",
        "SELECT count(*) FROM cql_state.synopses",
        "SELECT count(*) FROM cql_state.stubs",
        "SELECT count(*) FROM cql_state.query_rows",
    ):
        found[sql] = sorted(con.sql(sql).fetchall(), key=repr)
    return found


class Sweep:
    """An operation that is done by processes that are killed.

    Args:
        made: The file before.
        operation: The operation.
        folder: Where files are made.
    """

    def __init__(self, made: Path, operation: Operation, folder: Path) -> None:
        """Do it once undisturbed: count its statements, and see what it leads to."""
        self.operation, self.folder = operation, folder
        self.settings = settings_of(operation)
        self.before, calm = folder / "before.duckdb", folder / "calm.duckdb"
        shutil.copy(made, self.before)
        with cqlduck.connect(self.before) as con:
            for work in operation.before:
                do(con, work)
        shutil.copy(self.before, calm)
        count = itertools.count()
        with cqlduck.connect(calm, trace=lambda *_: next(count), **self.settings) as con:
            first = next(count)
            do(con, operation.work)
            self.statements = next(count) - first - 1
            go_on(con)
            self.wanted = told(con)

    def kill(self, at: int) -> None:
        """Kill a process before a statement, and look at what it leaves."""
        path = self.folder / "killed.duckdb"
        for file in self.folder.glob("killed.duckdb*"):
            file.unlink()
        shutil.copy(self.before, path)
        job = pickle.dumps((str(path), self.settings, self.operation.work, at)).hex()
        done = subprocess.run([sys.executable, "-c", KILLED, job], check=False, timeout=300)
        assert done.returncode == -signal.SIGKILL, at
        with cqlduck.connect(path, **self.settings) as con:
            assert not [row for row in con.check().fetchall() if row[5] == "wrong"], at
            assert_who_reads_whom_is_known(con)
            self._again(con)
            go_on(con)
            found = told(con)
        for what, wanted in self.wanted.items():
            assert (at, found.get(what)) == (at, wanted), what
        assert found.keys() == self.wanted.keys()

    def _again(self, con: cqlduck.Connection) -> None:
        """Do it again; it may have been done."""
        # what has been created or dropped cannot be again
        with contextlib.suppress(cqlduck.CatalogError):
            do(con, self.operation.work)


def swept(made: Path, what: str, folder: Path, kills: int) -> None:
    """Kill an operation at so many of its statements, drawn from all."""
    sweep = Sweep(made, OPERATIONS[what], folder)
    assert sweep.statements >= 10
    places = range(1, sweep.statements + 1)
    for at in random.Random(kills).sample(places, min(kills, len(places))):
        sweep.kill(at)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("what", OPERATIONS)
def test_a_change_of_families_that_is_killed_is_done_or_not(
    what: str, made: Path, tmp_path: Path
) -> None:
    swept(made, what, tmp_path, 1 if is_brief() else 2)


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("what", OPERATIONS)
def test_it_is_wherever_it_is_killed(what: str, made: Path, tmp_path: Path) -> None:
    swept(made, what, tmp_path, KILLS)
