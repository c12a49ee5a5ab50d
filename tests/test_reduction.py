"""States are reduced by the keys of a delta where a join meets them by several equalities."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.rewrite.physical.form import Form

REDUCING = Form(single=True, staged=True, reduces=True)
STEPWISE = Form(single=True, staged=True, stepwise=True)

CREATE = """
    CREATE RELATION r (k INTEGER, j BIGINT, d DATE, x VARCHAR, n BIGINT);
    CREATE RELATION s (k INTEGER, j BIGINT, d DATE, x VARCHAR, n INTEGER);
"""


def steps(con: cqlduck.Connection, name: str = "q", form: Form = REDUCING) -> str:
    """Return the statements of a query in a form."""
    return "\n".join(step.sql for step in con.engine.compiled[name].steps.of(form))


def reduced_by(sql: str) -> list[str]:
    """Return the columns by which states are reduced, each once."""
    found = re.findall(r'"([\w.]+)" IN \(\s*SELECT\s+"[\w.]+"\s+FROM temp\."_cql_lives', sql)
    return sorted(set(found))


@pytest.mark.parametrize(
    ("condition", "by"),
    [
        ("r.k = s.k AND r.j = s.j", ["r.j", "r.k", "s.j", "s.k"]),
        ("r.k = s.k AND s.d = r.d AND r.x = s.x", ["r.d", "r.k", "s.d", "s.k"]),
        ("r.k = s.k", []),
        ("r.k = s.k AND r.x = s.x", []),
        # of other types DuckDB casts a side, and tests nothing while it scans
        ("r.k = s.k AND r.n = s.n", []),
        ("r.k = s.k AND r.j IS NOT DISTINCT FROM s.j", []),
        ("r.k = s.k AND r.j < s.j", []),
        ("r.k + 1 = s.k AND r.j = s.j", []),
        ("r.k = s.k AND r.k = r.j AND r.j = 3", []),
    ],
)
def test_a_state_is_reduced_by_each_column_of_several_equalities(
    condition: str, by: list[str]
) -> None:
    with cqlduck.connect() as con:
        con.execute(
            f"{CREATE} CREATE CONTINUOUS QUERY q AS SELECT r.n FROM r JOIN s ON {condition}"
        )
        assert reduced_by(steps(con)) == by
        plan = con.engine.compiled["q"].steps
        assert plan.offers(REDUCING).is_reducible == bool(by)
        assert reduced_by("\n".join(step.sql for step in plan.of(Form(True, staged=True)))) == []


def test_a_later_input_is_reduced_by_the_keys_of_the_delta() -> None:
    with cqlduck.connect() as con:
        con.execute(f"""{CREATE}
            CREATE RELATION u (k INTEGER, v INTEGER);
            CREATE CONTINUOUS QUERY q AS
                SELECT v FROM u, r, s WHERE u.k = r.k AND r.k = s.k AND r.j = s.j;
        """)
        # from u on no state is met by two columns of u
        assert reduced_by(steps(con)) == ["r.j", "r.k", "s.j", "s.k"]


CHAIN = "SELECT v FROM u, r, s WHERE u.k = r.k AND r.k = s.k AND u.v = s.j"


def test_input_by_input_a_state_is_reduced_by_the_combinations_so_far() -> None:
    with cqlduck.connect() as con:
        con.execute(f"""{CREATE}
            CREATE RELATION u (k INTEGER, v BIGINT);
            CREATE CONTINUOUS QUERY q AS {CHAIN};
        """)
        # neither u nor r alone has both columns
        assert reduced_by(steps(con)) == []
        step = r'"([\w.]+)" IN \(\s*SELECT\s+"([\w.]+)"\s+FROM temp\."_cql_step'
        found = re.findall(step, steps(con, form=STEPWISE))
        assert {("s.k", "r.k"), ("s.j", "u.v")} <= set(found)


@pytest.mark.parametrize(
    ("query", "has"),
    [
        (CHAIN, True),
        ("SELECT v FROM u, r WHERE u.k = r.k", False),
        ("SELECT Rstream(v) FROM t [NOW], u, r WHERE t.k = u.k AND u.v = r.j", True),
        ("SELECT v FROM u, r WHERE u.k = r.k AND EXISTS (FROM s WHERE s.k = u.v)", True),
        ("SELECT sum(v) AS v FROM u GROUP BY k", False),
    ],
)
def test_which_joins_have_pipelines_of_several_steps(query: str, has: bool) -> None:
    with cqlduck.connect() as con:
        con.execute(f"""{CREATE}
            CREATE RELATION u (k INTEGER, v BIGINT);
            CREATE STREAM t (k INTEGER);
            CREATE CONTINUOUS QUERY q AS {query};
        """)
        assert con.engine.compiled["q"].steps.offers(STEPWISE).has_steps == has
        # a pipeline alone has steps too
        assert ("_cql_step_q" in steps(con, form=STEPWISE)) == has


def test_a_pipeline_stops_where_nothing_is_left() -> None:
    with cqlduck.connect() as con:
        con.execute(f"""{CREATE}
            CREATE RELATION u (k INTEGER, v BIGINT);
            CREATE CONTINUOUS QUERY q AS SELECT v FROM u, r, s WHERE u.k = r.k AND r.j = s.j;
        """)
        con.pin("stages", "stepwise")
        con.append("r", [(1, 1, None, None, 0)], at=1)
        con.append("s", [(0, 1, None, None, 0)], at=1)
        con.append("u", [(1, 7)], at=1)
        con.advance(1)
        ran: list[str] = []
        con.engine.database.trace = lambda sql, _: ran.append(sql)
        for at, k in enumerate((2, 3, 1), 2):
            ran.clear()
            con.append("u", [(k, 8)], at=at)
            con.advance(at)
            # r has no tuple with k = 2 or 3, so s is not looked at
            assert any(sql.startswith('INSERT INTO temp."_cql_delta_q') for sql in ran) == (k == 1)
            assert any("_cql_step_q" in sql for sql in ran)
        assert sorted(con.table("q").fetchall()) == [(7,), (8,)]


def test_each_part_of_a_pipeline_has_steps_of_its_own() -> None:
    """A condition that may raise cuts a pipeline in two."""
    with cqlduck.connect() as con:
        con.execute(f"""{CREATE}
            CREATE RELATION u (k INTEGER, v BIGINT);
            CREATE CONTINUOUS QUERY q AS
                SELECT v FROM u, r, s WHERE 6 // u.k = r.k AND r.j = s.j;
        """)
        made = re.findall(r'TABLE temp\."(_cql_step_\w+)"', steps(con, form=STEPWISE))
        assert len(made) == len(set(made)) > 3


def test_where_no_partner_is_null_exists_meets_by_an_equality() -> None:
    """DuckDB finds few rows of many by = alone."""
    with cqlduck.connect() as con:
        con.execute(f"""{CREATE}
            CREATE CONTINUOUS QUERY q AS SELECT n FROM r
            WHERE EXISTS (FROM s WHERE s.k = r.k AND s.j <> r.j);
            CREATE CONTINUOUS QUERY maybe AS SELECT n FROM r
            WHERE EXISTS (FROM s WHERE s.k = r.k AND (s.j <> r.j OR r.j IS NULL));
        """)
        found = re.findall(r'"r\.([kj])" (=|IS NOT DISTINCT FROM) \w+\."match', steps(con))
        assert set(found) == {("k", "="), ("j", "=")}
        found = re.findall(r'"r\.([kj])" (=|IS NOT DISTINCT FROM) \w+\."match', steps(con, "maybe"))
        assert set(found) == {("k", "="), ("j", "IS NOT DISTINCT FROM")}


QUERIES = (
    "SELECT r.n, s.n AS m FROM r JOIN s ON r.k = s.k AND r.j = s.j",
    "SELECT r.k, count(*) AS c FROM r JOIN s USING (k, d) GROUP BY r.k",
    "SELECT r.n FROM r WHERE EXISTS (FROM s WHERE s.k = r.k AND s.j <> r.j)",
    "SELECT r.n FROM r WHERE NOT EXISTS (FROM s WHERE s.k = r.k AND s.j = r.j AND s.n > r.n)",
    "SELECT r.n FROM r WHERE EXISTS (FROM s WHERE s.k = r.k AND (s.j <> r.j OR r.j IS NULL))",
    "SELECT r.n, s.n AS m FROM r LEFT JOIN s ON r.k = s.k AND r.j = s.j",
    "SELECT a.n, b.n AS m FROM r AS a, r AS b, s WHERE a.k = s.k AND a.j = s.j AND b.k = a.k "
    "AND b.d = s.d",
    "SELECT a.n, b.n AS m, c.n AS l FROM r AS a, r AS b, s AS c WHERE a.k = b.j AND b.k = c.k "
    "AND a.j = c.j AND 6 // (c.k + 1) > 2",
    "SELECT r.n, t.c FROM r JOIN (SELECT k, j, count(*) AS c FROM s GROUP BY k, j) AS t "
    "USING (k, j)",
)

few = st.sampled_from([None, 0, 1, 2])
row = st.tuples(few, few, st.sampled_from([None, "2024-01-01", "2024-01-02"]), few)
change = st.tuples(st.sampled_from("rs"), st.booleans(), row)


@given(
    query=st.sampled_from(QUERIES),
    ticks=st.lists(st.lists(change, max_size=6), min_size=1, max_size=6),
    options=st.lists(
        st.sampled_from(["reduced", "stepwise", "staged", "whole"]), min_size=6, max_size=6
    ),
)
@settings(deadline=None, max_examples=fewer_if_brief(settings.default.max_examples))
def test_a_reduced_state_gives_the_same(query: str, ticks: Any, options: list[str]) -> None:
    with cqlduck.connect() as con:
        con.execute(f"{CREATE} CREATE CONTINUOUS QUERY q AS {query}")
        held: dict[str, Counter[Any]] = {"r": Counter(), "s": Counter()}
        for at, (changes, option) in enumerate(zip(ticks, options, strict=False), 1):
            con.pin("stages", option)
            for name, goes, (k, j, d, n) in changes:
                tuple_ = (k, j, d, None, n)
                if goes and not held[name][tuple_]:
                    continue
                held[name][tuple_] += -1 if goes else 1
                (con.retract if goes else con.append)(name, [tuple_], at=at)
            con.advance(at)
            values = {
                name: ", ".join(
                    "({}, {}, {}, NULL, {})".format(*(_literal(value) for value in (k, j, d, n)))
                    for (k, j, d, _, n) in rows.elements()
                )
                for name, rows in held.items()
            }
            tables = ", ".join(
                f"{name} AS (SELECT k::INTEGER AS k, j::BIGINT AS j, d::DATE AS d, x::VARCHAR AS x,"
                f" n::INTEGER AS n FROM (VALUES {rows or '(1, 1, NULL, NULL, 1)'}) "
                f"AS _(k, j, d, x, n){'' if rows else ' WHERE false'})"
                for name, rows in values.items()
            )
            expected = con.sql(f"WITH {tables} {query}").fetchall()
            assert Counter(con.table("q").fetchall()) == Counter(expected)


def _literal(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
