"""Subqueries in subqueries are composed: they answer as plain SQL, and their text ends."""

from __future__ import annotations

import duckdb
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Query, Stream
from sql_strategies import written
from test_sql_differential import check

import cqlduck

LEVELS = 14

NESTED = [
    ("SELECT x + x - x AS x FROM ({0})", "{0}"),
    ("SELECT x + x - x AS x FROM ({0}) WHERE x > 0", "SELECT sum(x), max(x) FROM ({0})"),
    (
        "SELECT CASE WHEN x > 0 THEN x + x - x ELSE -x END AS x FROM ({0})",
        "SELECT a.x, b.x AS y FROM ({0}) a JOIN {s} b ON a.x > b.x",
    ),
    (
        "SELECT x + x - x AS x FROM ({0}) UNION ALL SELECT x FROM {s} WHERE x > 2",
        "SELECT x, row_number() OVER (ORDER BY x) AS n FROM ({0})",
    ),
]


@pytest.mark.parametrize(("step", "reader"), NESTED)
def test_what_subqueries_read_several_times_does_not_double_with_each(
    step: str, reader: str
) -> None:
    """The values may raise, so they move; written in each place they would be 3¹⁴ additions."""
    body = "SELECT x FROM {s}"
    for _ in range(LEVELS):
        body = step.format(body, s="{s}")
    body = reader.format(body, s="{s}")
    with cqlduck.connect() as con, duckdb.connect() as db:
        con.execute("CREATE STREAM s (x BIGINT)")
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body.format(s='s [RANGE 5]')}")
        con.append("s", [(x,) for x in (1, 2, 3, -1)], at=[0, 1, 2, 3])
        con.advance(4)
        db.execute("CREATE TABLE s AS FROM (VALUES (1::BIGINT), (2), (3), (-1)) AS v(x)")
        expected = sorted(db.execute(body.format(s="s")).fetchall())
        assert expected == sorted(con.table("q").fetchall())


# ------------------------------------------------------------------- against the reference

S = Stream(
    "s",
    [("k", "BIGINT"), ("t", "TINYINT"), ("v", "VARCHAR")],
    [
        (1, (1, 100, "xy")),
        (1, (1, 100, "xy")),
        (2, (2, 120, "y")),
        (3, (None, None, None)),
        (5, (2, 1, "")),
        (7, (3, -100, "zx")),
    ],
)
END = 9


def played(text: str, cuts: list[int]) -> None:
    """Check a query over `s`, all data before each of the advances that closes it."""
    query = written("q", text, [S])
    script: list[strategies.Step] = [strategies.Register(query)]
    before = -1
    for to in [*cuts, END]:
        batch = tuple(element for element in S.elements if before < element[0] <= to)
        script += [strategies.Append(S, batch)] if batch else []
        script.append(strategies.Advance(to))
        before = to
    queries: tuple[Query, ...] = (query,)
    check(strategies.Case((S,), queries, 0, END, tuple(script)))


TEXTS = {
    "a constant has its type": (
        "SELECT n + t AS m, typeof(t + n) FROM (SELECT 100 AS n, t FROM {s})"
    ),
    "a negative constant has its type": (
        "SELECT t + n AS m, typeof([n, t]) FROM (SELECT -100 AS n, t FROM {s})"
    ),
    "a text has its type": (
        "SELECT k FROM (SELECT 'no such' AS n, k, "
        "CASE WHEN k = 1 THEN 'a' ELSE 'b' END::ENUM('a', 'b') AS e FROM {s}) WHERE n = e"
    ),
    "an index of a text": (
        "SELECT n[1] AS i, m[2] AS j, l[1] AS h, v[1:2] AS g "
        "FROM (SELECT 'abc' AS n, k::VARCHAR || 'b' AS m, [k] AS l, v FROM {s})"
    ),
    "an index of a cast": (
        "SELECT n[1] AS i FROM (SELECT t::VARCHAR AS n FROM {s}) WHERE n[2] = '0'"
    ),
    "an index in a condition of a join": (
        "SELECT x.n, y.k FROM (SELECT v::VARCHAR AS n FROM {s}) x JOIN {s} y ON x.n[1] = y.v[2]"
    ),
    "a place": "SELECT #2 AS z FROM (SELECT k, k + 1 AS t, v FROM {s})",
    "a place among several items": (
        "SELECT #4 AS z FROM {s} x JOIN (SELECT v, k FROM {s}) y ON x.k = y.k"
    ),
    "a place as a key": "SELECT #2 AS z, count(*) AS n FROM {s} GROUP BY #2",
    "a place in a condition": "SELECT k FROM (SELECT v, k FROM {s}) WHERE #2 > 1",
    "a place behind USING": (
        "SELECT #2 AS z FROM {s} x JOIN (SELECT k, v AS w FROM {s}) y USING (k)"
    ),
    "names of ours": (
        "SELECT x._op AS z, y._weight AS w FROM (SELECT k AS _op FROM {s}) x "
        "JOIN (SELECT k AS _weight FROM {s}) y ON x._op = y._weight"
    ),
    "an instant that is a value": "SELECT _ts AS z FROM (SELECT k AS _ts, t FROM {s})",
    "all of nothing are a group": "SELECT 1 AS i, 'a' AS j, count(*) AS n FROM {s} GROUP BY ALL",
    "values of no row are no groups": "SELECT 1 + 1 AS i FROM {s} GROUP BY ALL",
    "values of no row beside keys": (
        "SELECT upper('a') AS i, k, count(*) AS n FROM {s} GROUP BY ALL"
    ),
    "values of no row, and HAVING": "SELECT 1 AS i FROM {s} GROUP BY ALL HAVING count(*) = 0",
    "values of no row, worked out again": (
        "SELECT upper('a') AS i, count(*) AS n, row_number() OVER (ORDER BY count(*)) AS r "
        "FROM {s} GROUP BY ALL"
    ),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_substitution_changes_no_answer(text: str) -> None:
    played(text.replace("{s}", "⟦s RANGE 2⟧"), [0, 1, 2, 5])


# ------------------------------------------------------------------------------- what is drawn

VALUES = {
    "k": ["k", "k", "t", "1", "-1", "#1", "coalesce(k, t)", "CASE WHEN k > 1 THEN k ELSE t END"],
    "t": ["t", "t", "k", "100", "t // 2", "- - t", "#2"],
    "v": ["v", "'xyz'", "v || 'x'", "k::VARCHAR", "v[1]", "v[1:2]", "typeof([k, t])", "NULL"],
}
CONDITIONS = ["k > 0", "v[1] = 'x'", "t < 50", "length(v) > 1", "#1 < #2", "v IS NULL OR k = 1"]
READERS = [
    "SELECT * FROM ({0})",
    "SELECT k, max(v) AS m, count(t) AS n FROM ({0}) GROUP BY k",
    "SELECT k, 'x' AS c, count(*) AS n FROM ({0}) GROUP BY ALL",
    "SELECT x.k, y.v[1] AS v FROM ({0}) x JOIN {s} y ON x.t = y.t AND x.k <= y.k",
    "SELECT k, t, v FROM ({0}) UNION ALL SELECT 1, t, v[2] FROM {s}",
    "SELECT k, row_number() OVER (ORDER BY k, t, v) AS r FROM ({0})",
]


@st.composite
def nested(draw: st.DrawFn) -> str:
    """A query over subqueries in subqueries, each with the columns k, t and v."""
    body = "SELECT k, t, v FROM {s}"
    for _ in range(draw(st.integers(1, 4))):
        listed = ", ".join(f"{draw(st.sampled_from(v))} AS {name}" for name, v in VALUES.items())
        where = f" WHERE {draw(st.sampled_from(CONDITIONS))}" if draw(st.booleans()) else ""
        body = f"SELECT {listed} FROM ({body}){where}"
    return draw(st.sampled_from(READERS)).replace("{0}", body)


@settings(max_examples=max(5, settings.default.max_examples // 12))
@given(nested(), st.sampled_from([[], [2, 5], list(range(END))]))
def test_subqueries_in_subqueries_answer_as_plain_sql(text: str, cuts: list[int]) -> None:
    played(text.replace("{s}", "⟦s RANGE 2⟧"), cuts)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT [y + v FOR y IN l IF y > 0] AS x FROM s WHERE v > 1",
        "SELECT [v + k FOR v IN l] AS x FROM s",
        "SELECT [[z + y + v FOR z IN l] FOR y IN l] AS x FROM s",
        "SELECT [w + y FOR y IN l IF y < w] AS x FROM (SELECT l, v + 1 AS w FROM s) WHERE w > 2",
        "SELECT k, max(v) AS m, [k + y FOR y IN l IF y > 0] AS x FROM s GROUP BY k, l",
        "SELECT s.k FROM s JOIN s AS o ON s.k = o.k AND len([y FOR y IN s.l IF y > o.v]) > 0",
    ],
)
def test_names_of_a_list_comprehension_are_its_own(query: str) -> None:
    rows = [(1, 2, [1, -1]), (2, 3, [5, None]), (2, 1, [4]), (None, 7, None), (3, 9, [])]
    with cqlduck.connect() as con, duckdb.connect() as plain:
        con.execute("CREATE RELATION s (k INTEGER, v INTEGER, l INTEGER[])")
        con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
        plain.execute("CREATE TABLE s (k INTEGER, v INTEGER, l INTEGER[])")
        for instant, row in enumerate(rows):
            con.append("s", [row], at=instant)
            con.advance(instant)
            plain.execute("INSERT INTO s VALUES (?, ?, ?)", row)
            expected = sorted(map(repr, plain.sql(query).fetchall()))
            assert sorted(map(repr, con.table("q").fetchall())) == expected
