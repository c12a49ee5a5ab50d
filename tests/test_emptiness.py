"""Statements that have nothing to do are not run; which these are follows from their text."""

from __future__ import annotations

import duckdb
import pytest
import sql_strategies
import strategies
import test_differential
import test_sql_differential
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

import cqlduck
from cqlduck.errors import ParseError
from cqlduck.rewrite.physical.emptiness import needs
from cqlduck.rewrite.statements.steps import Step
from cqlduck.rewrite.text.parsing import parse_sql
from cqlduck.state.tick import _Running

TABLES = ("a", "b")

STATEMENTS = {
    "SELECT x FROM temp.a": [["a"]],
    "SELECT x FROM a": [],
    "SELECT x FROM main.a": [],
    "SELECT x FROM temp.f($t0)": [],
    "SELECT 1 AS x": [],
    "SELECT a.x FROM temp.a, temp.b": [["a"], ["b"]],
    "SELECT a.x FROM temp.a JOIN temp.b USING (x)": [["a"], ["b"]],
    "SELECT a.x FROM temp.a SEMI JOIN temp.b USING (x)": [["a"], ["b"]],
    "SELECT a.x FROM temp.a ANTI JOIN temp.b USING (x)": [["a"]],
    "SELECT a.x FROM temp.a LEFT JOIN temp.b USING (x)": [["a"]],
    "SELECT b.x FROM temp.a RIGHT JOIN temp.b USING (x)": [["b"]],
    "SELECT x FROM temp.a FULL JOIN temp.b USING (x)": [["a", "b"]],
    "SELECT a.x FROM temp.a ASOF JOIN temp.b ON a.x >= b.x": [["a"], ["b"]],
    "SELECT a.x FROM temp.a ASOF LEFT JOIN temp.b ON a.x >= b.x": [["a"]],
    "SELECT a.x FROM temp.a POSITIONAL JOIN temp.b": [],
    "SELECT x FROM temp.a UNION ALL SELECT x FROM temp.b": [["a", "b"]],
    "SELECT x FROM temp.a UNION SELECT 1": [],
    "SELECT x FROM temp.a EXCEPT ALL SELECT x FROM temp.b": [["a"]],
    "SELECT x FROM temp.a INTERSECT SELECT x FROM temp.b": [["a"], ["b"]],
    "SELECT x FROM (SELECT x FROM temp.a) AS q": [["a"]],
    "WITH q AS (SELECT x FROM temp.a), r AS (FROM q) SELECT x FROM r": [["a"]],
    "WITH a AS (SELECT 1 AS x) SELECT x FROM a": [],
    "WITH RECURSIVE q AS (SELECT x FROM temp.a UNION ALL SELECT x FROM q WHERE false) FROM q": [],
    "SELECT x FROM temp.a WHERE EXISTS (SELECT 1 FROM temp.b)": [["a"], ["b"]],
    "SELECT x FROM temp.a WHERE (x > 0 AND x IN (SELECT x FROM temp.b))": [["a"], ["b"]],
    "SELECT x FROM temp.a WHERE x > 0 OR x IN (SELECT x FROM temp.b)": [["a"]],
    "SELECT x FROM temp.a WHERE NOT EXISTS (SELECT 1 FROM temp.b)": [["a"]],
    "SELECT x FROM temp.a WHERE x IN (1, 2)": [["a"]],
    "SELECT sum(x) AS x FROM temp.a": [],
    "SELECT list(x) AS x FROM temp.a": [],
    "SELECT nobody_knows(x) AS x FROM temp.a": [],
    "SELECT greatest(x, 1) AS x FROM temp.a": [["a"]],
    "SELECT sum(x) AS x FROM temp.a GROUP BY x": [["a"]],
    "SELECT sum(x) AS x FROM temp.a GROUP BY ()": [],
    "SELECT sum(x) AS x FROM temp.a GROUP BY ALL": [],
    "SELECT sum(x) AS x FROM temp.a GROUP BY ROLLUP (x)": [],
    "SELECT sum(x) AS x FROM temp.a GROUP BY GROUPING SETS ((x), ())": [],
    "SELECT 1 AS x FROM temp.a HAVING count(*) = 0": [],
    "SELECT 1 AS x FROM temp.a HAVING true": [],
    "SELECT x FROM temp.b WHERE EXISTS (SELECT 1 FROM temp.a HAVING true)": [["b"]],
    "SELECT 1 AS x FROM temp.a ORDER BY count(*)": [],
    "SELECT sum(x) OVER () AS x FROM temp.a": [["a"]],
    "SELECT sum(sum(x)) OVER () AS x FROM temp.a": [],
    "SELECT sum(1) OVER (ORDER BY sum(x)) AS x FROM temp.a": [],
    "SELECT sum(1) FILTER (WHERE x > 0) OVER () AS x FROM temp.a": [["a"]],
    "SELECT row_number() OVER w AS x FROM temp.a WINDOW w AS (ORDER BY sum(x))": [],
    "SELECT (SELECT max(a.x)) AS x FROM temp.a": [],
    "SELECT x FROM (FROM temp.a PIVOT (sum(x) AS x FOR x IN (1, 2)))": [],
}
"""SELECTs, and the sets of tables of which one has to be empty for them to have no rows."""


@pytest.mark.parametrize("select", STATEMENTS)
def test_when_a_select_has_no_rows(select: str) -> None:
    tree = parse_one(select, dialect="duckdb")
    expected = tuple(map(tuple, STATEMENTS[select]))
    create = exp.Create(this=exp.to_table("temp.made"), kind="TABLE", expression=tree)
    assert expected == needs(create)
    assert expected == needs(exp.insert(tree, "temp.made"))


@pytest.mark.parametrize("select", [text for text, sets in STATEMENTS.items() if sets])
def test_it_has_none_in_duckdb(select: str) -> None:
    with duckdb.connect() as con:
        for empty in STATEMENTS[select]:
            for table in TABLES:
                rows = "" if table in empty else ", (1)"
                con.execute(
                    f"CREATE OR REPLACE TEMP TABLE {table} AS "
                    f"SELECT x FROM (VALUES (0){rows}) AS t (x) WHERE x > 0"
                )
            assert [] == con.sql(select).fetchall()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE TEMP TABLE temp.made (x INTEGER)", ((),)),
        ("DELETE FROM s.t WHERE EXISTS (SELECT 1 FROM temp.a WHERE a.x = t.x)", (("a",),)),
        ("DELETE FROM s.t WHERE rowid IN (SELECT x FROM temp.a)", (("a",),)),
        ("DELETE FROM s.t WHERE NOT EXISTS (SELECT 1 FROM temp.a WHERE a.x = t.x)", ()),
        ("DELETE FROM s.t", ()),
        ("UPDATE s.t SET x = 1 WHERE rowid IN (SELECT x FROM temp.a)", ()),
    ],
)
def test_when_a_statement_does_nothing(statement: str, expected: tuple) -> None:
    assert expected == needs(parse_one(statement, dialect="duckdb"))


def test_an_aggregate_of_duckdb_is_taken_for_one() -> None:
    known = "FROM duckdb_functions() WHERE function_type = 'aggregate'"
    names = [name for (name,) in duckdb.sql(f"SELECT DISTINCT function_name {known}").fetchall()]
    assert "arg_max" in names
    for name in names:
        for arguments in ("x", "x, y", "x, y, z"):
            text = f"SELECT {name}({arguments}) FROM temp.a"
            try:
                tree = parse_sql(text)
            except ParseError:
                continue  # it does not take so many
            assert needs(exp.insert(tree, "temp.made")) == (), text


STREAMS = """
    CREATE STREAM s (k INTEGER, v DOUBLE, t INTEGER) TIMESTAMP BY t;
    CREATE STREAM r (k INTEGER, w INTEGER, t INTEGER) TIMESTAMP BY t;
"""


@pytest.fixture
def con():
    with cqlduck.connect() as con:
        con.execute(STREAMS)
        yield con


QUERIES = (
    "SELECT k, avg(v) AS m, count(*) AS n FROM s [RANGE 10] WHERE v > 5 GROUP BY k",
    "SELECT s.k, sum(w) AS m FROM s [RANGE 10], r [RANGE 10] WHERE s.k = r.k AND v > 5 "
    "GROUP BY s.k",
    "SELECT DISTINCT k FROM s [RANGE 10] WHERE v > 5",
    "SELECT k, w FROM r [RANGE 10] WHERE k IN (SELECT k FROM s [RANGE 10] WHERE v > 5)",
)


def statements(con: cqlduck.Connection, at: int, values: list[float]) -> list[str]:
    """Advance with elements of one group, and return the statements of queries that ran."""
    if values:
        con.append("s", [(1, value, at) for value in values])
    ran: list[str] = []
    con.engine.database.trace = lambda sql, _: ran.append(str(sql))
    con.advance(at)
    con.engine.database.trace = None
    return [sql for sql in ran if "_q" in sql or "_sums_" in sql or "_outliers_" in sql]


@pytest.mark.parametrize("query", QUERIES)
def test_a_tick_without_arrivals_runs_no_statement(con: cqlduck.Connection, query: str) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
    con.append("r", [(1, 1, 0)])
    for at in range(4):
        assert statements(con, at, [6.0])
    # the first one finds nothing, and leaves empty tables
    statements(con, 4, [])
    assert [] == statements(con, 5, [])
    assert statements(con, 6, [7.0])
    assert con.table("q").fetchall()
    # what came at 0 leaves
    assert statements(con, 11, [])


@pytest.mark.parametrize("query", QUERIES)
def test_behind_a_filter_that_nothing_passes_no_statement_runs(
    con: cqlduck.Connection, query: str
) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
    con.append("r", [(1, 1, 0)])
    before = [len(statements(con, at, [6.0])) for at in range(4)][-1]
    statements(con, 4, [1.0])
    assert before - len(statements(con, 5, [1.0])) >= 3


def elements(con: cqlduck.Connection, query: str) -> list[tuple]:
    """The elements of a query after ticks of one instant and of several, many of them idle."""
    con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
    for at in range(1, 30):
        if at % 7 == 1:
            con.append("r", [(1, at, 4 * at)])
        values = [6.0, 1.0] if at % 4 == 2 else [1.0] if at % 2 else []
        if values:
            con.append("s", [(1, value, 4 * at) for value in values])
        # tables of both forms have one name, and may be empty in turn
        con.advance(4 * at + (1 if at % 3 else 0))
    return sorted(con.changes("q").fetchall(), key=repr)


@pytest.mark.parametrize("query", QUERIES)
def test_idle_ticks_of_all_forms_change_nothing(
    con: cqlduck.Connection, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = elements(con, query)
    monkeypatch.setattr(_Running, "_does_nothing", lambda self, step: False)
    with cqlduck.connect() as other:
        other.execute(STREAMS)
        assert found == elements(other, query) != []


def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run each statement that is found to do nothing; return those that are run to see that."""
    found: list[str] = []
    does_nothing = _Running._does_nothing

    def look(self: _Running, step: Step) -> bool:
        if not does_nothing(self, step):
            return False
        if step.each is None and step.answer is None:
            found.append(step.sql)
            assert self._execute(step, self.values) == 0, step.sql
        return True

    monkeypatch.setattr(_Running, "_does_nothing", look)
    return found


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@pytest.mark.parametrize("kind", ["plans", "sql"])
def test_what_is_not_run_would_write_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = checked(monkeypatch)
    cases = strategies.cases() if kind == "plans" else sql_strategies.sql_cases()
    check = test_differential.check if kind == "plans" else test_sql_differential.check

    @given(case=st.one_of(cases))
    @settings(suppress_health_check=QUIET, deadline=None, max_examples=fewer_if_brief(30))
    def run(case) -> None:
        check(case)

    run()
    assert found
