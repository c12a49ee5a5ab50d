"""WITH (history, keep) and ALTER CONTINUOUS QUERY … SET."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import reference
import strategies
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sql_strategies import sql_cases
from test_differential import append, play

import cqlduck
from cqlduck.rewrite.text.time import parse_duration

QUIET = list(HealthCheck)
INPUTS = "CREATE STREAM s (a INTEGER); CREATE RELATION r (a INTEGER);"


def fill(con):
    con.append("s", [(i,) for i in range(6)], at=list(range(6)))
    con.append("r", [(1,), (4,)], at=[0, 3])


@given(case=strategies.cases(restarts=False, later=False, most_queries=2))
@settings(suppress_health_check=QUIET, deadline=None, max_examples=fewer_if_brief(15))
def test_with_history_a_late_query_is_as_one_that_was_there_from_the_start(case):
    with cqlduck.connect() as con:
        for declaration in case.declarations:
            con.execute(declaration)
        for step in case.script:
            if isinstance(step, strategies.Append):
                append(con, step.input, step.elements)
            elif isinstance(step, strategies.Advance):
                con.advance(step.to)
        for query in case.queries:
            text = strategies.registration(query)
            con.execute(re.sub(r" AS ", " WITH (history = true) AS ", text, count=1))
        con.advance(case.t_end)
        for result in case.expected():
            found = reference.from_changes(con.changes(result.query.name).fetchall())
            assert [] == reference.differences(result, found), str(case)


TOGETHER = {
    "case": st.one_of(
        strategies.cases(wide=True, disorder=True, undated=True),
        strategies.cases(timestamp_by=True, disorder=True, extremes=True),
        sql_cases(wide=True, typed=True, restarts=True),
    ),
    "chosen": st.fixed_dictionaries(
        {"window_edge": st.sampled_from(["closed", "half_open"])},
        optional={
            "history": st.sampled_from(["1 second", "3 seconds"]),
            "max_tick": st.sampled_from([1, 2, 5]),
            "recompute": st.sampled_from(["allow", "always"]),
            "strict": st.just(True),
            "threads": st.sampled_from([1, 2]),
        },
    ),
    "keep": st.lists(st.sampled_from(["", "keep = 1", "keep = 4", "keep = unbounded"]),
                     min_size=3, max_size=3),
}  # fmt: skip
"""Settings of the connection, and what is kept of each query."""


def remembered(con, name):
    """Return the instant up to which changes are only known in sum, or None, and the changes."""
    return con.engine.query(name).history_from, con.changes(name).fetchall()


def check(case, chosen, keep):
    """Compare the changes that are kept, and the sum of those before, with the reference."""
    order = [query.name for query in case.queries]
    script = [
        replace(step, options=keep[order.index(step.query.name)])
        if isinstance(step, strategies.Register)
        else step
        for step in case.script
    ]
    case = replace(case, script=tuple(script))
    with tempfile.TemporaryDirectory() as folder:
        restarts = any(isinstance(step, strategies.Restart) for step in script)
        path = str(Path(folder) / "case.duckdb") if restarts else ":memory:"
        found = play(case, path, remembered, **chosen)
    edge = chosen["window_edge"]
    for result in reference.evaluate_all(case.queries, None, case.t_end, window_edge=edge):
        start, rows = found[result.query.name]
        actual = reference.from_changes(rows)
        problems = reference.differences(result, actual, since=start)
        if start is not None and result.stream is None:
            before = (sums(changes, start) for changes in (reference.net_elements(result), actual))
            problems += reference.bag_differences(*before)
        assert not problems, f"{result.query.name}: {problems[:5]}\n{chosen}\n{case}"


def sums(changes, until):
    """Return the sum of all changes up to an instant."""
    found = Counter()
    for ts, change in changes.items():
        if ts <= until:
            found.update(change)
    return +found


@given(**TOGETHER)
@settings(suppress_health_check=QUIET, deadline=None, max_examples=3)
def test_options_together_change_no_answer(case, chosen, keep):
    check(case, chosen, keep)


def test_a_duration_of_history(con):
    con.execute(f"{INPUTS} CREATE CONTINUOUS QUERY all_ AS SELECT count(*) AS n FROM s, r;")
    fill(con)
    con.advance(6)
    con.execute("""
        CREATE CONTINUOUS QUERY three WITH (history = 3) AS SELECT s.a AS x, r.a AS y FROM s, r;
        CREATE CONTINUOUS QUERY none WITH (history = false) AS SELECT a FROM s;
        CREATE CONTINUOUS QUERY nested WITH (history = true) AS SELECT count(*) AS n FROM three;
    """)
    con.advance(8)

    three = {(4, 1, 4, 1), (4, 4, 4, 1), (5, 1, 5, 1), (5, 4, 5, 1)}
    assert three == set(con.changes("three").fetchall())
    assert [] == con.changes("none").fetchall()
    assert {(2, 4, 1), (2, 5, -1), (4, 5, 1)} == set(con.changes("nested").fetchall())


def test_history_that_is_forgotten_is_an_error(con):
    con.execute(f"{INPUTS} CREATE CONTINUOUS QUERY q AS SELECT s.a FROM s [RANGE 1], r")
    fill(con)
    con.advance(9)
    with pytest.raises(cqlduck.BindError, match="s has been forgotten up to"):
        con.execute("CREATE CONTINUOUS QUERY p WITH (history = true) AS SELECT a FROM s")
    con.execute("CREATE CONTINUOUS QUERY p WITH (history = 1) AS SELECT a FROM s")
    con.execute("CREATE CONTINUOUS QUERY o WITH (history = true) AS SELECT a FROM r")
    con.advance(10)
    assert {(1, 0, 1), (4, 3, 1)} == set(con.changes("o").fetchall())


def test_keep_bounds_the_changes_of_one_query(con):
    con.execute(f"""{INPUTS}
        CREATE CONTINUOUS QUERY short WITH (keep = 4) AS SELECT max(a) AS a FROM s;
        CREATE CONTINUOUS QUERY whole AS SELECT max(a) AS a FROM s;
    """)
    for i in range(40):
        con.append("s", [(i,)], at=i)
        con.advance()
    assert [(39 - 1,)] == con.table("short").fetchall()
    with pytest.raises(cqlduck.DataError, match="history"):
        con.as_of("short", 5)
    assert [(5,)] == con.as_of("whole", 5).fetchall()

    con.execute("ALTER CONTINUOUS QUERY short SET (keep = unbounded)")
    con.execute("ALTER CONTINUOUS QUERY whole SET (keep = '2 seconds')")
    start = con.changes("short").fetchall()[0]
    for i in range(40, 60):
        con.append("s", [(i,)], at=i)
        con.advance()
    assert start == con.changes("short").fetchall()[0]
    with pytest.raises(cqlduck.DataError, match="history"):
        con.as_of("whole", 5)
    con.execute("ALTER CONTINUOUS QUERY whole SET (keep = default)")
    assert {("short", "unbounded"), ("whole", None)} == set(
        con.sql("SELECT name, keep FROM cql.queries").fetchall()
    )


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ("KEEP = 5, Sharing = False", "keep = 5, sharing = false"),
        ("Keep = Unbounded, READ = Later", "keep = unbounded, read = later"),
        ("WEIGHT = 2, SHARING = 'TRUE'", "weight = 2, sharing = true"),
        ("Sharing = DEFAULT", "sharing = default"),
    ],
)
def test_options_are_written_in_capitals_or_not(options: str, same: str) -> None:
    with cqlduck.connect() as con:
        con.execute(INPUTS)
        found = []
        for name, written in (("p", options), ("q", same)):
            query = f"CREATE CONTINUOUS QUERY {name} WITH ({written}) AS SELECT a FROM s [ROWS 1]"
            con.execute(query)
            con.execute(f"ALTER CONTINUOUS QUERY {name} SET ({written})")
            values = f"SELECT name, value FROM cql.properties WHERE owner = '{name}' ORDER BY ALL"
            found.append(con.sql(values).fetchall())
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("ALTER CONTINUOUS QUERY q SET (history = true)", cqlduck.BindError),
        ("ALTER CONTINUOUS QUERY q SET (speed = 1)", cqlduck.BindError),
        ("ALTER CONTINUOUS QUERY q SET (keep = 'long')", cqlduck.ParseError),
        ("ALTER CONTINUOUS QUERY q SET ()", cqlduck.ParseError),
        ("ALTER CONTINUOUS QUERY q SET (weight = 2,)", cqlduck.ParseError),
        ('EXPLAIN CREATE CONTINUOUS QUERY "" AS SELECT a FROM s', cqlduck.ParseError),
        ("ALTER STREAM s HEARTBEAT ²", cqlduck.ParseError),
        (
            "CREATE RELATION r (a INTEGER); REFRESH RELATION r AT ² FROM (SELECT 1)",
            cqlduck.ParseError,
        ),
        ("ALTER CONTINUOUS QUERY nobody SET (keep = 1)", cqlduck.CatalogError),
        (
            "CREATE CONTINUOUS QUERY p WITH (keep = '1 month') AS SELECT a FROM s",
            cqlduck.ParseError,
        ),
    ],
)
def test_options_that_are_none(con, statement, kind):
    con.execute(f"{INPUTS} CREATE CONTINUOUS QUERY q WITH (keep = 3) AS SELECT a FROM s")
    fill(con)
    con.advance(5)
    with pytest.raises(kind):
        con.execute(statement)
    assert [("q", "3")] == con.sql("SELECT name, keep FROM cql.queries").fetchall()


@pytest.mark.parametrize(
    "text",
    ["1234567 seconds", "1234567.000001 seconds", "0.5 seconds", "4000000000000 seconds", "7"],
)
def test_a_duration_is_shown_as_it_can_be_set(con: cqlduck.Connection, text: str) -> None:
    con.execute(INPUTS)
    for name in ("ahead_at_most", "out_of_order_within"):
        con.execute(f"UPDATE cql.properties SET value = ? WHERE name = '{name}'", [text])
    shown = "SELECT DISTINCT value FROM cql.properties WHERE name IN (?, ?)"
    assert [(text,)] == con.sql(shown, ["ahead_at_most", "out_of_order_within"]).fetchall()


@pytest.mark.parametrize(
    "written",
    ["1 HOUR 30 MINUTES", "'90 minutes'", "INTERVAL '90 minutes'", "INTERVAL 90 MINUTES",
     "INTERVAL '90' MINUTES", "'01:30:00'", "INTERVAL '1:30:00'"],
)  # fmt: skip
def test_a_duration_is_the_same_however_it_is_written(
    con: cqlduck.Connection, written: str
) -> None:
    """As in a window; and an UPDATE may have the value of an expression."""
    con.execute(f"{INPUTS} CREATE CONTINUOUS QUERY q WITH (keep = {written}) AS SELECT a FROM s")
    con.execute(f"ALTER STREAM s SET (ahead_at_most = {written})")
    length = "INTERVAL '1 minute' * 90"
    con.execute(f"UPDATE cql.properties SET value = {length} WHERE name = 'out_of_order_within'")
    con.execute(f"UPDATE cql.properties SET value = {length} WHERE name = 'history'")
    kept = parse_duration(str(con.engine.query("q").keep)).microseconds
    lengths = (kept, con.engine.input("s").ahead, con.engine.input("s").bound)
    assert (5400 * 10**6,) * 3 == lengths
