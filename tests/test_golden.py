"""Golden SQL: what a query becomes, one file an operator.

A block of `golden/<operator>.sql` is a line `-- title:` that says the point, CQL, a line `----`,
the operators of its plan, and a digest of all statements of a tick. The CQL is a query over the
streams and relations of `CATALOG`; other statements may come before it. `pytest --update-golden`
writes what is below the line.

The statements of an operator by itself are in its law (`laws/`), and how operators compose is
shown by the statements of large ticks in `golden/composition.sql` alone. A digest says that the
statements of a query have become others; `cqlduck explain` shows them. Each statement is bound and
run by DuckDB here, so that no query here has SQL that does not compile.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest
import sqlglot
from laws import text

import cqlduck
from cqlduck.rewrite import Compiled, parse_script
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.plan import NEVER, Plan, walk
from cqlduck.rewrite.statements.steps import OperatorRow
from cqlduck.rewrite.text.statements import Sql

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(path.stem for path in FOLDER.glob("*.sql"))
IN_FULL = "composition"
TITLE, LINE = "-- title: ", "----"
CATALOG = """
    CREATE STREAM s (k INTEGER, v BIGINT, d DOUBLE);
    CREATE STREAM t (k INTEGER, w BIGINT);
    CREATE RELATION r (k INTEGER, name VARCHAR);
"""


@dataclass
class Block:
    title: str
    cql: str
    sql: str

    def __str__(self) -> str:
        return f"{TITLE}{self.title}\n{self.cql}\n{LINE}\n{self.sql}\n"


def read(name: str) -> list[Block]:
    blocks: list[Block] = []
    above = True
    for line in (FOLDER / f"{name}.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith(TITLE):
            blocks.append(Block(line.removeprefix(TITLE), "", ""))
            above = True
        elif line == LINE:
            above = False
        elif above:
            blocks[-1].cql += f"{line}\n"
        else:
            blocks[-1].sql += f"{line}\n"
    return [Block(b.title, b.cql.strip(), b.sql.strip()) for b in blocks]


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as connection:
        connection.execute(CATALOG)
        yield connection


def register(con: cqlduck.Connection, cql: str) -> Compiled:
    """Run the statements before the query, register the query as `q`, return what it became."""
    con.execute(f"CREATE CONTINUOUS QUERY q AS {prepared(con, cql)}")
    return con.engine.compiled["q"]


def prepared(con: cqlduck.Connection, cql: str) -> str:
    """Run the statements before the query, return the query."""
    *before, query = parse_script(cql)
    assert isinstance(query, Sql)
    if before:
        con.execute(cql[: query.offset])
    return query.text


def written(compiled: Compiled) -> str:
    """Return the statements; instances are called after their operators' numbers, not their ids."""
    text = compiled.explain().split("\n\n", 1)[1]
    names: dict[str, int] = {}
    for operator in compiled.operators:
        ways = (f"q_{operator.id}{again}" for again in ("", *(f"_{n}" for n in range(2, 99))))
        names[next(way for way in ways if way not in names)] = operator.number
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, f"q_{names[name]}")
    return text


def plan(compiled: Compiled) -> str:
    """Return the operators of a plan on one line, each with its inputs in brackets."""
    below: dict[int | None, list[OperatorRow]] = {}
    for operator in compiled.operators:
        below.setdefault(operator.parent, []).append(operator)

    def shown(operator: OperatorRow) -> str:
        inputs = below.get(operator.number, [])
        inner = ", ".join(map(shown, inputs)) if inputs else operator.description
        return f"{operator.kind}({inner})"

    return ", ".join(map(shown, below[None]))


def in_lines(sql: str) -> str:
    """Return statements as in the laws: short lists on one line, few quotes."""
    parsed = (sqlglot.parse_one(one, read="duckdb") for one in sql.split(";\n\n"))
    return ";\n".join(text.written(text.plain(one), None) for one in parsed)


def below_the_line(name: str, compiled: Compiled) -> str:
    """Return what a block of a file says of what its query has become."""
    if name == IN_FULL:
        shown = [f"-- {one.kind}\n{in_lines(one.sql)};" for one in compiled.operators if one.sql]
        return "\n\n".join([plan(compiled), *reversed(shown)])
    digest = hashlib.sha256(written(compiled).encode()).hexdigest()
    return f"{plan(compiled)}\n{digest[:16]}"


class Undone(Exception):
    """What was run is to be undone."""


def bind_and_run(con: cqlduck.Connection, compiled: Compiled) -> None:
    """Let DuckDB explain and then run each statement, in a first tick over nothing; undo it."""
    values = {"t0": -1, "t1": 0, "low": NEVER, "begin": 0, "since": NEVER}
    database = con.engine.database
    with contextlib.suppress(Undone), con.engine.changing():
        for source in compiled.sources.values():
            if source.kind == "stream":
                con.engine.names.bind(source)
            elif not source.is_query:
                con.engine.names.bind_changes(source, NEVER)
        for single, staged in itertools.product((False, True), repeat=2):
            for step in compiled.steps.of(Form(single, staged)):
                taken = {name: values[name] for name in step.parameters}
                database.execute(f"EXPLAIN {step.sql}", taken)
                database.execute(step.sql, taken)
        raise Undone


def blocks() -> list[pytest.param]:
    return [
        pytest.param(name, place, id=f"{name}-{place}")
        for name in FILES
        for place in range(len(read(name)))
    ]


@pytest.mark.parametrize("name", FILES)
def test_files_are_as_they_would_be_written(name: str, request: pytest.FixtureRequest) -> None:
    found = read(name)
    titles = [block.title for block in found]
    if request.config.getoption("--update-golden"):
        for block in found:
            with cqlduck.connect() as connection:
                connection.execute(CATALOG)
                block.sql = below_the_line(name, register(connection, block.cql))
        (FOLDER / f"{name}.sql").write_text("\n".join(map(str, found)), encoding="utf-8")
    assert len(set(titles)) == len(titles)
    assert "\n".join(map(str, found)) == (FOLDER / f"{name}.sql").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "place"), blocks())
def test_sql_is_the_golden_one_and_runs(con: cqlduck.Connection, name: str, place: int) -> None:
    """Each statement of each form binds, and the query runs over elements."""
    block = read(name)[place]
    compiled = register(con, block.cql)
    assert block.sql == below_the_line(name, compiled)
    bind_and_run(con, compiled)
    for at in range(4):
        con.append("s", [(1, at, 0.5), (2, None, 1e300), (None, -at, None)], at=5 * at)
        con.append("t", [(1, at), (2, None)], at=4 * at)
        con.append("r", [(at % 2, "x"), (1, None)], at=3 * at)
    con.retract("r", [(0, "x")], at=14)
    con.advance(7)
    con.advance(40)
    (found,) = con.sql("SELECT state, error FROM cql.queries WHERE name = 'q'").fetchall()
    assert ("active", None) == found


def test_every_operator_is_in_a_file(con: cqlduck.Connection) -> None:
    seen: set[str] = set()
    for name in FILES:
        for block in read(name):
            plan = con.engine.compile("q", prepared(con, block.cql)).plan
            seen |= {type(node).__name__ for node in walk(plan)}
    # caches are put into joins between ticks, windows of several lengths are those of families, and
    # queries are answered anew where that is pinned
    others = {"Anew", "Cache", "VaryingWindow"}
    assert {kind.__name__ for kind in get_args(Plan)} - others == seen
