"""Rows compose to one SELECT, and mean what SELECTs around SELECTs mean."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest
import sqlglot
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from cqlduck.rewrite.relalg import Rows, joined

TABLE = Rows.of(exp.to_table("t"), ["a", "b", "c"])
DATA = "(1, 2, 3), (2, NULL, 1), (NULL, 3, 3), (1, 1, 1), (3, 2, -1)"


def e(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, read="duckdb")


def items(*texts: str) -> list[exp.Expr]:
    return [e(text) for text in texts]


def sql(rows: Rows | exp.Query) -> str:
    query = rows.query() if isinstance(rows, Rows) else rows
    return query.sql("duckdb")


CHAINS: list[tuple[str, Callable[[], Rows | exp.Query], str]] = [
    (
        "columns are what they stand for, under the names that they had",
        lambda: TABLE.project(items('a AS "s.k"', "1 AS w")).project(items('"s.k"', "w")),
        "SELECT a AS s.k, 1 AS w FROM t",
    ),
    (
        "conditions join, and none stands there twice",
        lambda: TABLE.where(e("a > 1 AND b = 2")).where(e("a > 1"), e("a < 9")).project(items("a")),
        "SELECT a FROM t WHERE a > 1 AND b = 2 AND a < 9",
    ),
    (
        "as arithmetic has it",
        lambda: TABLE.project(items("a + 1 AS c")).project(items("2 * c AS d")),
        "SELECT 2 * (a + 1) AS d FROM t",
    ),
    (
        "groups are of what columns stand for",
        lambda: TABLE.project(items("a AS c", "b - 1 AS w")).select(
            items("c", "sum(w) AS n"), group=items("c"), having=e("sum(w) > 0")
        ),
        "SELECT a AS c, SUM((b - 1)) AS n FROM t GROUP BY a HAVING SUM((b - 1)) > 0",
    ),
    (
        "the sides of a join keep their names",
        lambda: joined(
            {
                "x": TABLE.where(e("b > 0")).project(items("a AS c")),
                "y": TABLE.project(items("a + 4 AS d")),
            },
            items("x.c", "d"),
            items("c = d"),
        ),
        "SELECT x.a AS c, y.a + 4 AS d FROM t AS x CROSS JOIN t AS y "
        "WHERE x.b > 0 AND x.a = (y.a + 4)",
    ),
    (
        "a union takes columns by place, and hands on conditions from around it",
        lambda: Rows.union(
            [TABLE.project(items("a", "b")), TABLE.project(items("c", "b AS d"))]
        ).where(e("a > 1")),
        "SELECT a, b FROM (SELECT a, b FROM t UNION ALL SELECT c AS a, b FROM t) AS input "
        "WHERE a > 1",
    ),
    (
        "what is dear is worked out once",
        lambda: TABLE.project(items("upper(a) AS u", "b")).project(items("u || u AS uu")),
        "SELECT u || u AS uu FROM (SELECT UPPER(a) AS u FROM t) AS input",
    ),
    (
        "what decides about rows stays, read or not",
        lambda: TABLE.project(items("a", "unnest(range(c)) AS n")).project(items("a")),
        "SELECT a FROM (SELECT a, UNNEST(RANGE(0, c)) AS n FROM t) AS input",
    ),
    (
        "a subquery could capture a name",
        lambda: TABLE.project(items("a AS b", "b AS a")).where(
            e("EXISTS (SELECT 1 FROM u WHERE u.a = input.b)")
        ),
        "SELECT b, a FROM (SELECT a AS b, b AS a FROM t) AS input "
        "WHERE EXISTS(SELECT 1 FROM u WHERE u.a = input.b)",
    ),
    (
        "a place is that among all columns",
        lambda: TABLE.project(items("a AS x", "b AS y")).project(items("#2 AS z")),
        "SELECT #2 AS z FROM (SELECT a AS x, b AS y FROM t) AS input",
    ),
    (
        "a number in GROUP BY would be a position",
        lambda: TABLE.project(items("1 AS one", "b")).select(
            items("one", "sum(b) AS n"), group=items("one")
        ),
        "SELECT one, SUM(b) AS n FROM (SELECT 1 AS one, b FROM t) AS input GROUP BY one",
    ),
]


@pytest.mark.parametrize(("rows", "text"), [c[1:] for c in CHAINS], ids=[c[0] for c in CHAINS])
def test_a_chain_is_one_select_as_far_as_that_means_the_same(
    rows: Callable[[], Rows | exp.Query], text: str
) -> None:
    assert text == sql(rows()).replace('"', "")


def test_of_no_rows_there_is_no_group() -> None:
    """Without any GROUP BY there would be one."""
    rows = TABLE.project(items("CAST(1 AS INTEGER) AS one", "b"))
    query = sql(rows.select(items("one", "sum(b) AS n"), group=items("one")))
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER)")
        assert [] == db.execute(query).fetchall()


# -------------------------------------------------------------------------- what is drawn

NAMES = ["a", "b", "c"]
VALUES = [
    "{0}", "{0}", "{0} + {1}", "{0} - 2", "-{0}", "({0} * 2 + {1}) * ({0} - {1}) + 1", "1",
    "CAST(NULL AS BIGINT)", "CASE WHEN {0} > {1} THEN {0} END", "coalesce({0}, {1})",
    "list_sum(list_transform([{0}, {1}], lambda x: x + 1))", "{{'f': {0}}}.f",
    "(SELECT max(u.a) FROM t AS u WHERE u.b = {0})", "row_number() OVER (ORDER BY {0}, {1}, {2})",
    "unnest(range(2))",
]  # fmt: skip
CONDITIONS = ["{0} > 1", "{0} = {1} OR {2} IS NULL", "NOT {0} < {1}", "{0} + 1 < {1}", "false"]


@st.composite
def expressions(draw: st.DrawFn, texts: list[str]) -> exp.Expr:
    return e(draw(st.sampled_from(texts)).format(*draw(st.permutations(NAMES))))


@st.composite
def both_ways(draw: st.DrawFn, depth: int = 4) -> tuple[Rows, str]:
    """Rows with the columns a, b and c, and the same as SELECTs around SELECTs."""
    if not depth or not draw(st.integers(0, 4)):
        return TABLE, "SELECT a, b, c FROM t"
    rows, text = draw(both_ways(depth - 1))
    match draw(st.sampled_from(["project", "project", "where", "union", "with", "join"])):
        case "project":
            made = [exp.alias_(draw(expressions(VALUES)), name) for name in NAMES]
            listed = ", ".join(item.sql("duckdb") for item in made)
            return rows.project(made), f"SELECT {listed} FROM ({text}) AS input"
        case "where":
            asked = draw(expressions(CONDITIONS))
            where = f"SELECT a, b, c FROM ({text}) AS input WHERE {asked.sql('duckdb')}"
            return rows.where(asked), where
        case "union":
            other, again = draw(both_ways(depth - 1))
            union = f"SELECT * FROM ({text}) AS x UNION ALL SELECT * FROM ({again}) AS y"
            return Rows.union([rows, other]), union
        case "with":
            one = Rows.of(exp.to_table(f"cte{depth}"), NAMES).where(draw(expressions(CONDITIONS)))
            inner = sql(one)
            return (
                one.with_(f"cte{depth}", rows.query()),
                f"WITH cte{depth} AS ({text}) {inner}",
            )
        case _:
            other, again = draw(both_ways(depth - 1))
            conditions = items("x.a = y.b", "x.c > 0 OR y.c > 0")
            return (
                joined({"x": rows, "y": other}, items("x.a", "y.b", "x.c + y.a AS c"), conditions),
                f"SELECT x.a, y.b, x.c + y.a AS c FROM ({text}) AS x CROSS JOIN ({again}) AS y "
                "WHERE x.a = y.b AND (x.c > 0 OR y.c > 0)",
            )


@settings(max_examples=fewer_if_brief(100))
@given(both_ways(), st.sampled_from(["rows", "group", "few"]), expressions(VALUES[:8]))
def test_the_rows_are_the_same(drawn: tuple[Rows, str], end: str, summed: exp.Expr) -> None:
    rows, text = drawn
    query: exp.Query = rows.query()
    if end == "group":
        total = exp.Sum(this=summed)
        query = rows.select([*items("a"), exp.alias_(total, "n")], group=items("a"))
        text = f"SELECT a, {total.sql('duckdb')} AS n FROM ({text}) AS input GROUP BY a"
    elif end == "few":
        query = rows.select(items("b", "count(*) AS n"), where=items("b > 0"), group=items("b"))
        text = f"SELECT b, count(*) AS n FROM ({text}) AS input WHERE b > 0 GROUP BY b"
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {DATA}) AS v(a, b, c)")
        seen = []
        for statement in (text, sql(query)):
            found = db.execute(f"SELECT * FROM ({statement}) AS o ORDER BY ALL")
            seen.append(([column[0] for column in found.description], found.fetchall()))
    assert seen[0] == seen[1]
