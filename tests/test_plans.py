"""Plans lie in the database: it is opened without compiling, and goes on with what it ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import test_golden

import cqlduck
from cqlduck.engine import Engine
from cqlduck.rewrite import stored
from cqlduck.rewrite.compile import Compiled
from cqlduck.state import plans

SCRIPT = """
    CREATE STREAM s (k INTEGER, x DOUBLE);
    CREATE RELATION r (k INTEGER, name VARCHAR);
    CREATE CONTINUOUS QUERY sums AS
        SELECT r.name, sum(s.x) AS x FROM s [RANGE 5], r WHERE s.k = r.k GROUP BY r.name;
    CREATE CONTINUOUS QUERY above AS SELECT max(x) AS x FROM sums;
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a database in which some ticks have run."""
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(SCRIPT)
        con.append("r", [(1, "a"), (2, "b")], at=0)
        tick(con, 1, 4)
        tick(con, 5, 6)
    return path


def tick(con: cqlduck.Connection, first: int, last: int) -> None:
    instants = range(first, last)
    con.append("s", [(at % 3, float(at)) for at in instants], at=instants)
    con.advance(last)


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the queries that are compiled from now on."""
    found: list[str] = []
    compile_query: Callable[[Engine, str, str], Compiled] = Engine.compile

    def noted(engine: Engine, name: str, body: str) -> Compiled:
        found.append(name)
        return compile_query(engine, name, body)

    monkeypatch.setattr(Engine, "compile", noted)
    return found


def test_opening_compiles_nothing_and_ticks_as_before_neither(
    path: Path, compiling: list[str]
) -> None:
    with cqlduck.connect(path) as con:
        assert ["above", "sums"] == sorted(con.queries)
        tick(con, 7, 10)
        assert [(13.0,)] == con.table("above").fetchall()
        assert [] == compiling
        con.explain("sums")
        assert ["sums"] == compiling


def test_what_another_version_has_written_is_written_anew(path: Path, compiling: list[str]) -> None:
    with cqlduck.connect(path) as con:
        con.engine.database.execute("UPDATE cql_state.plans SET version = 'another'")
        con.engine.database.execute("UPDATE cql_state.statements SET steps = 'none'::BLOB")
    with cqlduck.connect(path) as con:
        assert ["above", "sums"] == sorted(compiling)
        tick(con, 7, 10)
        (versions,) = con.sql("SELECT list(DISTINCT version) FROM cql_state.plans").fetchall()
        assert ([plans.version()],) == versions
    compiling.clear()
    with cqlduck.connect(path) as con:
        tick(con, 11, 14)
        assert [] == compiling


def test_a_plan_is_dropped_with_its_query(path: Path) -> None:
    with cqlduck.connect(path) as con:
        con.execute("DROP CONTINUOUS QUERY above")
        for table in ("plans", "statements"):
            assert [("sums",)] == con.sql(
                f"SELECT DISTINCT query FROM cql_state.{table}"
            ).fetchall()
        con.execute("CREATE OR REPLACE CONTINUOUS QUERY sums AS SELECT k FROM s [NOW]")
        tick(con, 7, 8)
        assert 1 == len(con.sql("FROM cql_state.plans").fetchall())
    with cqlduck.connect(path) as con:
        assert ["k"] == [c.name for c in con.engine.query("sums").columns]
        tick(con, 9, 10)
        assert "active" == con.queries["sums"].state


def test_statements_of_a_change_that_was_undone_are_stored_by_the_next(path: Path) -> None:
    with cqlduck.connect(path) as con:
        con.engine.compiled["sums"].steps.stored.clear()
        con.engine.database.execute("DELETE FROM cql_state.statements WHERE query = 'sums'")
        con.append("s", [(1, 1.0)], at=7)
        with pytest.raises(ZeroDivisionError), con.engine.changing():
            print(con.advance(8), 1 // 0)
        assert [] == con.sql("FROM cql_state.statements WHERE query = 'sums'").fetchall()
        con.advance(8)
        assert con.sql("FROM cql_state.statements WHERE query = 'sums'").fetchall()
        (twice,) = con.sql(
            "SELECT count(*) - count(DISTINCT (query, form)) FROM cql_state.statements"
        ).fetchall()
        assert (0,) == twice


def test_a_text_that_means_something_else_by_now_is_not_mixed_with_what_it_meant(
    tmp_path: Path,
) -> None:
    path = tmp_path / "macro.duckdb"
    with cqlduck.connect(path) as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE MACRO most(a) AS max(a)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT most(k) AS v FROM s [RANGE 5]")
        con.append("s", [(1,), (2,)], at=[1, 2])
        con.advance(2)
        con.append("s", [(3,)], at=3)
        con.advance(3)
        con.execute("CREATE OR REPLACE MACRO most(a) AS min(a)")
    with cqlduck.connect(path) as con:
        con.append("s", [(4,)], at=4)
        con.advance(4)
        assert [(4,)] == con.table("q").fetchall()
        with pytest.raises(cqlduck.DatabaseError, match="means something else than when"):
            con.explain("q")
        con.execute("CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT most(k) AS v FROM s [RANGE 5]")
        con.append("s", [(5,), (6,)], at=[5, 6])
        con.advance(6)
        assert [(5,)] == con.table("q").fetchall()


def test_in_memory_nothing_is_stored() -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        tick(con, 1, 4)
        assert [] == con.sql("SELECT 1 FROM cql_state.plans, cql_state.statements").fetchall()


@pytest.mark.parametrize("name", test_golden.FILES)
def test_a_plan_is_read_as_it_was_written(name: str) -> None:
    for block in test_golden.read(name):
        with cqlduck.connect() as con:
            con.execute(test_golden.CATALOG)
            compiled = test_golden.register(con, block.cql)
            text = stored.plan_text(compiled)
            again = stored.plan_of(text, "q", con.engine.clock, lambda _, c=compiled: c.plan)
            for field in fields(compiled):
                if field.name != "steps":
                    assert getattr(compiled, field.name) == getattr(again, field.name)
            for form, steps in compiled.steps.written.items():
                assert form == stored.form_of(stored.form_text(form))
                assert steps == stored.steps_of(stored.steps_text(steps))
