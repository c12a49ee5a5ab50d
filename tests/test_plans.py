"""Plans lie in the database: it is opened without compiling, and goes on with what it ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import duckdb
import pytest
import test_golden

import cqlduck
from cqlduck.compiler import Compiler
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.statements import stored
from cqlduck.rewrite.statements.compiled import Compiled
from cqlduck.state import plans
from cqlduck.state.catalog import Catalogue

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
    compile_query: Callable[..., Compiled] = Compiler.compile

    def noted(compiler: Compiler, catalogue: Catalogue, name: str, *rest: Any) -> Compiled:
        found.append(name)
        return compile_query(compiler, catalogue, name, *rest)

    monkeypatch.setattr(Compiler, "compile", noted)
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


def test_what_takes_the_place_of_a_query_is_stored_with_its_statements(
    tmp_path: Path, compiling: list[str]
) -> None:
    path = tmp_path / "one.duckdb"
    with cqlduck.connect(path) as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        con.execute("CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT k + 1 AS k FROM s")
        (count,) = con.engine.database.rows("SELECT count(*) FROM cql_state.statements")
        assert count[0] > 0
    compiling.clear()
    with cqlduck.connect(path) as con:
        con.append("s", [(1,)], at=1)
        con.advance(1)
        assert [(2, 1)] == con.table("q").fetchall()
    assert [] == compiling


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


def test_a_query_that_begins_from_now_has_its_statements_after_opening(path: Path) -> None:
    """They are stored with what it was, which goes; and stored anew."""
    with cqlduck.connect(path) as con:
        con.execute("ALTER CONTINUOUS QUERY above DEACTIVATE")
    for _ in range(2):
        with cqlduck.connect(path) as con:
            con.execute("ALTER CONTINUOUS QUERY above ACTIVATE FROM NOW")
            con.append("s", [(1, 4.0)], at=con.engine.query("above").frontier + 1)
            con.advance(con.engine.query("above").frontier + 2)
            assert con.table("above").fetchall()
            assert "active" == con.queries["above"].state
            con.execute("ALTER CONTINUOUS QUERY above DEACTIVATE")
        with cqlduck.connect(path) as con:
            assert con.sql("FROM cql_state.statements WHERE query = 'above'").fetchall()


def test_statements_of_a_change_that_was_undone_are_stored_by_the_next(path: Path) -> None:
    with cqlduck.connect(path) as con:
        # the first reader has the settings written, which is a change
        con.sql("FROM cql.properties")
        con.engine.compiled["sums"].steps.stored.clear()
        con.engine.database.execute("DELETE FROM cql_state.statements WHERE query = 'sums'")
        con.append("s", [(1, 1.0)], at=7)
        with pytest.raises(ZeroDivisionError), con.engine.still(), con.engine.changing():
            print(con.advance(8), 1 // 0)
        assert [] == con.sql("FROM cql_state.statements WHERE query = 'sums'").fetchall()
        con.advance(8)
        assert con.sql("FROM cql_state.statements WHERE query = 'sums'").fetchall()
        (twice,) = con.sql(
            "SELECT count(*) - count(DISTINCT (query, form)) FROM cql_state.statements"
        ).fetchall()
        assert (0,) == twice


MACROS = """
    CREATE MACRO twice(a) AS 2 * a;
    CREATE MACRO four(a) AS twice(a) + twice(a);
    CREATE MACRO most(a) AS max(a);
    CREATE MACRO plus(a, b) AS a + b, (a) AS a + 1;
    CREATE MACRO big(least) AS TABLE SELECT k FROM r WHERE k > least;
    CREATE MACRO mapped(x) AS list_transform(x, lambda x: x + 1);
    CREATE MACRO field(a) AS a.y;
    CREATE TEMP MACRO whole(a INTEGER) AS a / 2;
    CREATE SCHEMA z;
    CREATE MACRO z.twice(a) AS 3 * a;
    CREATE TYPE whole AS TINYINT;
    CREATE TYPE mood AS ENUM ('0', '1', '2');
    CREATE MACRO felt(a) AS a::VARCHAR::mood;
"""
OTHERS = """
    CREATE OR REPLACE MACRO twice(a) AS 5 * a;
    CREATE OR REPLACE MACRO most(a) AS min(a);
    CREATE OR REPLACE MACRO plus(a, b) AS a - b, (a) AS a - 1;
    CREATE OR REPLACE MACRO big(least) AS TABLE SELECT 7 AS k FROM r;
    CREATE OR REPLACE MACRO mapped(x) AS x;
    CREATE OR REPLACE MACRO field(a) AS 0;
    CREATE OR REPLACE TEMP MACRO whole(a INTEGER) AS a;
    CREATE OR REPLACE MACRO z.twice(a) AS a;
    DROP MACRO felt; DROP TYPE mood; CREATE TYPE mood AS ENUM ('2', '1');
    DROP TYPE whole; CREATE TYPE whole AS DOUBLE;
"""
GONE = """
    DROP MACRO twice; DROP MACRO four; DROP MACRO most; DROP MACRO plus; DROP MACRO TABLE big;
    DROP MACRO mapped; DROP MACRO field; DROP MACRO temp.whole; DROP MACRO z.twice;
    DROP MACRO felt; DROP TYPE mood; DROP TYPE whole;
"""
CALLS = [
    ("SELECT twice(k), four(k) + 1 FROM s [RANGE 5]", "SELECT 2 * k, 4 * k + 1 FROM s [RANGE 5]"),
    ("SELECT most(twice(k)) FROM s [RANGE 5]", "SELECT max(2 * k) AS v FROM s [RANGE 5]"),
    ("SELECT plus(k), plus(k, 3), count(*) FROM s [RANGE 5] WHERE twice(k) > 1 GROUP BY ALL",
     "SELECT k + 1 AS a, k + 3 AS b, count(*) FROM s [RANGE 5] WHERE 2 * k > 1 GROUP BY ALL"),
    ("SELECT s.k FROM s [RANGE 5] JOIN big(twice(1) - 1) b ON s.k = b.k",
     "SELECT s.k FROM s [RANGE 5] JOIN r b ON s.k = b.k WHERE b.k > 1"),
    ("SELECT mapped([k]), field({'y': k}) FROM s [RANGE 5]", "SELECT [k + 1], k FROM s [RANGE 5]"),
    ("SELECT s.k.twice(), z.twice(k), main.twice(k) FROM s [RANGE 5]",
     "SELECT 2 * k AS a, 3 * k AS b, 2 * k AS c FROM s [RANGE 5]"),
    ("SELECT whole(k) AS w FROM s [RANGE 5] ORDER BY twice(w)",
     "SELECT k / 2 AS w FROM s [RANGE 5]"),
    ("SELECT x::whole, [x]::whole[] FROM s [RANGE 5]",
     "SELECT x::TINYINT, [x]::TINYINT[] FROM s [RANGE 5]"),
    ("SELECT felt(k), k::VARCHAR::mood FROM s [RANGE 5] WHERE felt(k) < '2'",
     "SELECT k::VARCHAR::ENUM ('0', '1', '2') AS a, k::VARCHAR::ENUM ('0', '1', '2') AS b "
     "FROM s [RANGE 5] WHERE k < 2"),
]  # fmt: skip
"""Queries that name macros and types, and what these stand for."""


@pytest.mark.parametrize("then", [OTHERS, GONE], ids=["others", "gone"])
@pytest.mark.parametrize("anew", [False, True], ids=["this version", "another version"])
def test_a_query_keeps_the_macros_and_types_that_it_names(
    tmp_path: Path, then: str, anew: bool
) -> None:
    """Whatever becomes of them, while it runs or while the file is closed."""
    path = tmp_path / "macros.duckdb"
    with cqlduck.connect(path) as con:
        con.execute("CREATE STREAM s (k INTEGER, x DOUBLE); CREATE RELATION r (k INTEGER)")
        con.execute(MACROS)
        for number, (mine, same) in enumerate(CALLS):
            con.execute(f"CREATE CONTINUOUS QUERY mine{number} AS {mine}")
            con.execute(f"CREATE CONTINUOUS QUERY same{number} AS {same}")
        con.append("r", [(0,), (1,), (2,)], at=0)
        tick(con, 1, 4)
        columns = [con.table(f"mine{number}").columns for number in range(len(CALLS))]
        con.execute(then)
        tick(con, 5, 6)
        assert_same(con)
        if anew:
            con.engine.database.execute("UPDATE cql_state.plans SET version = 'another'")
    for first in (7, 13):
        with cqlduck.connect(path) as con:
            tick(con, first, first + 3)
            tick(con, first + 4, first + 4)
            assert_same(con)
            assert columns == [con.table(f"mine{number}").columns for number in range(len(CALLS))]
            con.explain("mine0")


def assert_same(con: cqlduck.Connection) -> None:
    for number in range(len(CALLS)):
        same, mine = (con.changes(f"{word}{number}").fetchall() for word in ("same", "mine"))
        assert same
        assert sorted(same, key=repr) == sorted(mine, key=repr), CALLS[number]


def test_a_query_keeps_types_that_are_made_in_the_same_call(tmp_path: Path) -> None:
    path = tmp_path / "types.duckdb"
    with cqlduck.connect(path) as con:
        con.execute("CREATE TYPE mood AS ENUM ('c'); CREATE STREAM s (k INTEGER)")
        con.execute("""
            DROP TYPE mood;
            CREATE TYPE mood AS ENUM ('a', 'b');
            CREATE TYPE whole AS TINYINT;
            CREATE CONTINUOUS QUERY q AS SELECT k::whole AS w,
                (CASE WHEN k > 1 THEN 'a' ELSE 'b' END)::mood AS m FROM s [RANGE 4];
        """)
        con.append("s", [(1,), (2,)], at=1)
        con.advance(1)
    with cqlduck.connect(path) as con:
        con.execute("CREATE CONTINUOUS QUERY reader AS SELECT w FROM q")
        con.append("s", [(3,)], at=2)
        con.advance(2)
        assert [(1, "b"), (2, "a"), (3, "a")] == sorted(con.table("q").fetchall())
        assert ["TINYINT", "ENUM('a', 'b')"] == list(con.queries["q"].columns.values())


@pytest.mark.parametrize(
    ("before", "after"),
    [("max(a)", "min(a)"), ("sum(a) + 1", "sum(a) + 2"), ("max(twice(a))", "min(twice(a))")],
)
def test_the_same_words_take_macros_as_they_are_now(
    tmp_path: Path, before: str, after: str
) -> None:
    text = "CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT most(k) AS v FROM s [RANGE 50]"
    with cqlduck.connect(tmp_path / "words.duckdb") as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE MACRO twice(a) AS 2 * a")
        con.execute(f"CREATE MACRO most(a) AS {before}")
        con.execute(text)
        con.append("s", [(1,), (2,)], at=[1, 2])
        con.advance(2)
        con.execute(f"CREATE OR REPLACE MACRO most(a) AS {after}")
    with cqlduck.connect(tmp_path / "words.duckdb") as con:
        con.execute(text)
        con.execute("CREATE CONTINUOUS QUERY same AS SELECT most(k) AS v FROM s [RANGE 50]")
        con.append("s", [(3,), (4,)], at=[3, 4])
        con.advance(4)
        assert con.table("same").fetchall() == con.table("q").fetchall()
        con.execute(text)
        assert [] != con.changes("q").fetchall()


def test_macros_that_cannot_be_kept_are_refused() -> None:
    with cqlduck.connect() as con:
        con.execute("""
            CREATE STREAM s (k INTEGER);
            CREATE MACRO more(a, b := 1) AS a + b;
            CREATE MACRO typed(a INTEGER) AS a, (a VARCHAR) AS 0;
            CREATE MACRO endless(a) AS a + 1;
            CREATE MACRO without(a) AS endless(a) + 1;
            CREATE OR REPLACE MACRO endless(a) AS without(a) + 1;
        """)
        for call in ("more(k)", "typed(k)", "endless(k)"):
            with pytest.raises(cqlduck.NotSupportedError, match="macro"):
                con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT {call} AS v FROM s")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT more(k, b := 2) AS v FROM s")
        con.append("s", [(1,)], at=1)
        con.advance(2)
        assert [(3, 1, 1)] == con.changes("q").fetchall()


@pytest.mark.parametrize("facts", ["", "{}", "[]", '{"columns": 1}'])
def test_a_plan_that_is_damaged_is_made_anew(path: Path, facts: str) -> None:
    with cqlduck.connect(path) as con:
        con.engine.database.execute("UPDATE cql_state.plans SET facts = ?", [facts])
    with cqlduck.connect(path) as con:
        tick(con, 7, 10)
        assert [(13.0,)] == con.table("above").fetchall()


@pytest.mark.parametrize("form", ["", "zz", "[]", "{}", '{"single": 1}'])
def test_statements_of_a_form_that_is_damaged_are_made_anew(path: Path, form: str) -> None:
    with cqlduck.connect(path) as con:
        database = con.engine.database
        database.execute(
            "DELETE FROM cql_state.statements AS s WHERE form <> "
            "(SELECT min(form) FROM cql_state.statements WHERE query = s.query)"
        )
        database.execute("UPDATE cql_state.statements SET form = ?", [form])
    with cqlduck.connect(path) as con:
        tick(con, 7, 10)
        assert [(13.0,)] == con.table("above").fetchall()


def test_statements_that_are_damaged_are_named(path: Path) -> None:
    with cqlduck.connect(path) as con:
        con.engine.database.execute("UPDATE cql_state.statements SET steps = 'none'::BLOB")
    with (
        cqlduck.connect(path) as con,
        pytest.raises(cqlduck.DatabaseError, match=r"sums .* damaged") as caught,
    ):
        tick(con, 7, 10)
    assert "cql_state.plans" in (caught.value.hint or "")
    with duckdb.connect(str(path)) as plain:
        plain.execute("DELETE FROM cql_state.plans")
    with cqlduck.connect(path) as con:
        con.advance(10)
        assert [(13.0,)] == con.table("above").fetchall()


def test_a_query_that_cannot_be_compiled_any_more_is_named(path: Path) -> None:
    with cqlduck.connect(path) as con:
        con.engine.database.execute("UPDATE cql_state.plans SET version = 'another'")
        con.engine.database.execute(
            "UPDATE cql_state.query_rows SET body = 'SELECT gone(k) FROM s' WHERE name = 'sums'"
        )
    with pytest.raises(cqlduck.DatabaseError, match=r"query sums .* there is no function gone"):
        cqlduck.connect(path)


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
            compiled = con.engine.compile("q", test_golden.prepared(con, block.cql))
            text = stored.plan_text(compiled)
            again = stored.plan_of(text, "q", con.engine.clock, lambda _, c=compiled: c.plan)
            for field in fields(compiled):
                if field.name != "steps":
                    assert getattr(compiled, field.name) == getattr(again, field.name)
            compiled.steps.of(Form(single=False, staged=True))
            for form, steps in compiled.steps.written.items():
                assert form == stored.form_of(stored.form_text(form))
                assert steps == stored.steps_of(stored.steps_text(steps))
