"""Merging nested SELECTs: what becomes one, what stays, and that the rows are the same."""

import duckdb
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from cqlduck.rewrite.flatten import flatten


def flat(sql: str) -> str:
    return flatten(sqlglot.parse_one(sql, read="duckdb")).sql("duckdb")


@pytest.mark.parametrize(
    ("nested", "merged"),
    [
        # columns are what they stand for, under the names that they had
        (
            'CREATE TABLE o AS SELECT "s.k", w FROM (SELECT k AS "s.k", 1 AS w FROM t) AS i',
            'CREATE TABLE o AS SELECT k AS "s.k", 1 AS "w" FROM t',
        ),
        # conditions join, and none stands there twice
        (
            "CREATE TABLE o AS SELECT a FROM (SELECT a FROM t WHERE a > 1 AND b = 2) AS i "
            "WHERE a > 1 AND a < 9",
            "CREATE TABLE o AS SELECT a FROM t WHERE a > 1 AND b = 2 AND a < 9",
        ),
        # as arithmetic has it
        (
            "CREATE TABLE o AS SELECT 2 * c AS d FROM (SELECT a + 1 AS c FROM t) AS i",
            "CREATE TABLE o AS SELECT 2 * (a + 1) AS d FROM t",
        ),
        (
            "CREATE TABLE o AS SELECT c, SUM(w) AS n FROM (SELECT a AS c, b - 1 AS w FROM t) AS i "
            "GROUP BY c HAVING SUM(w) > 0",
            'CREATE TABLE o AS SELECT a AS "c", SUM((b - 1)) AS n FROM t GROUP BY a '
            "HAVING SUM((b - 1)) > 0",
        ),
        # the sides of a join keep their names
        (
            "CREATE TABLE o AS SELECT x.c, d FROM (SELECT a AS c FROM t WHERE b > 0) AS x "
            "CROSS JOIN (SELECT a + 4 AS d FROM t) AS y WHERE c = d",
            'CREATE TABLE o AS SELECT x.a AS "c", y.a + 4 AS "d" FROM t AS x CROSS JOIN t AS y '
            "WHERE x.b > 0 AND x.a = (y.a + 4)",
        ),
        # what only reads is not there any more
        (
            "INSERT INTO o SELECT * FROM (WITH x AS (SELECT a FROM t) SELECT a FROM x UNION ALL "
            "SELECT b FROM t) AS i",
            "INSERT INTO o WITH x AS (SELECT a FROM t) SELECT a FROM x UNION ALL SELECT b FROM t",
        ),
        # a UNION ALL takes other names inside
        (
            "INSERT INTO o SELECT b AS c FROM (SELECT a, b FROM t UNION ALL SELECT b, 0 FROM t) "
            "AS i",
            "INSERT INTO o SELECT b AS c FROM (SELECT b FROM t UNION ALL SELECT 0 FROM t) AS i",
        ),
        (
            "INSERT INTO o SELECT b AS c FROM (SELECT a, b FROM t UNION ALL SELECT b, 0 AS z "
            "FROM t) AS i",
            'INSERT INTO o SELECT b AS "c" FROM t UNION ALL SELECT 0 AS "c" FROM t',
        ),
        # what nobody reads is left out, and hinders nothing
        (
            "CREATE TABLE o AS SELECT c FROM (SELECT a AS c, CASE WHEN b > 0 THEN a END AS d "
            "FROM t) AS i",
            'CREATE TABLE o AS SELECT a AS "c" FROM t',
        ),
        (
            "CREATE TABLE o AS SELECT COUNT(*) AS n FROM (SELECT LOWER(a) AS c, b FROM t) AS i",
            "CREATE TABLE o AS SELECT COUNT(*) AS n FROM (SELECT LOWER(a) AS c FROM t) AS i",
        ),
        (
            "CREATE TABLE o AS SELECT x.C FROM (SELECT LOWER(a) AS c, b AS d, b FROM t) AS x "
            "LEFT JOIN t ON x.d = t.b",
            "CREATE TABLE o AS SELECT x.C FROM (SELECT LOWER(a) AS c, b AS d, b FROM t) AS x "
            "LEFT JOIN t ON x.d = t.b",
        ),
        (
            "CREATE TABLE o AS SELECT x.c FROM (SELECT LOWER(a) AS c, b AS d FROM t) AS x "
            "LEFT JOIN t ON t.a = t.b WHERE EXISTS(SELECT 1 FROM t WHERE t.a = 1)",
            "CREATE TABLE o AS SELECT x.c FROM (SELECT LOWER(a) AS c FROM t) AS x "
            "LEFT JOIN t ON t.a = t.b WHERE EXISTS(SELECT 1 FROM t WHERE t.a = 1)",
        ),
        # groups are what they stand for
        (
            "CREATE TABLE o AS SELECT k, SUM(b) AS n FROM (SELECT a::DATE AS k, b FROM t) AS i "
            "GROUP BY k",
            'CREATE TABLE o AS SELECT CAST(a AS DATE) AS "k", SUM(b) AS n FROM t '
            "GROUP BY CAST(a AS DATE)",
        ),
        # and no constants, unless there would be no groups
        (
            "CREATE TABLE o AS SELECT k, c, SUM(b) AS n FROM (SELECT a AS k, 1::INT AS c, b "
            "FROM t) AS i GROUP BY k, c",
            'CREATE TABLE o AS SELECT a AS "k", CAST(1 AS INT) AS "c", SUM(b) AS n FROM t '
            "GROUP BY a",
        ),
        (
            "CREATE TABLE o AS SELECT c, SUM(b) AS n FROM (SELECT 1::INT AS c, b FROM t) AS i "
            "GROUP BY c",
            'CREATE TABLE o AS SELECT CAST(1 AS INT) AS "c", SUM(b) AS n FROM t '
            "GROUP BY CAST(1 AS INT)",
        ),
    ],
)
def test_nested_selects_become_one(nested, merged):
    assert merged == flat(nested)


@pytest.mark.parametrize(
    "sql",
    [
        # more than a list, FROM and WHERE
        "SELECT a + 1 AS c FROM (SELECT DISTINCT a FROM t) AS i",
        "SELECT a + 1 AS c FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) AS i",
        "SELECT a + 1 AS c FROM (SELECT a FROM t LIMIT 1) AS i",
        "SELECT a + 1 AS c FROM (SELECT a FROM t ORDER BY b LIMIT 1) AS i",
        # an aggregate, a window function, anything that is not simple
        "SELECT n + 1 AS c FROM (SELECT COUNT(*) AS n FROM t) AS i",
        "SELECT n + 1 AS c FROM (SELECT SUM(a) OVER (ORDER BY b) AS n FROM t) AS i WHERE n > 1",
        "SELECT n + 1 AS c FROM (SELECT LOWER(a) AS n FROM t) AS i",
        # it says how many rows there are
        "SELECT 1 AS c FROM (SELECT COUNT(*) AS n FROM t) AS i",
        "SELECT 1 AS c FROM (SELECT UNNEST(l) AS n FROM t) AS i",
        # and so does what is told apart
        "SELECT a FROM (SELECT a, b FROM t UNION SELECT b, a FROM t) AS i",
        "SELECT a FROM (SELECT DISTINCT a, b FROM t) AS i",
        # names that stand elsewhere than in columns
        "SELECT x FROM (SELECT a, b FROM t) AS i(x, y)",
        "SELECT x + 1 AS c FROM (SELECT a, b FROM t) AS i(x, y)",
        "SELECT a FROM (SELECT a, b FROM t) AS i NATURAL JOIN t",
        "SELECT #2 AS c FROM (SELECT LOWER(a) AS n, b FROM t) AS i",
        "SELECT n.m AS c FROM (SELECT LOWER(a) AS m, b AS n FROM t) AS i",
        # all of it, which has no names
        "SELECT i.* FROM (SELECT LOWER(a) AS n FROM t) AS i",
        "SELECT COLUMNS('n') FROM (SELECT LOWER(a) AS n, LOWER(b) AS m FROM t) AS i",
        # ORDER BY looks at aliases first
        "SELECT c AS b FROM (SELECT a AS c, b AS d FROM t) AS i ORDER BY d",
        # the sides of an outer join are filtered before it
        "SELECT x.a FROM t AS x LEFT JOIN (SELECT a FROM t WHERE b > 0) AS y ON x.a = y.a",
        # names of its own, in which a name from inside could be captured
        "SELECT c AS d FROM (SELECT a AS c FROM t) AS i WHERE EXISTS(SELECT 1 FROM t WHERE a = c)",
        "SELECT LIST_FILTER([1], LAMBDA a : a > c) AS d FROM (SELECT a AS c FROM t) AS i",
        # a position, were it written out
        "SELECT SUM(b) AS n FROM (SELECT 1 AS c, b FROM t) AS i GROUP BY c",
        # what is long, and read more than once
        "SELECT c, c AS d FROM (SELECT a + a + a + a + a AS c FROM t) AS i",
    ],
)
def test_what_could_come_out_otherwise_stays(sql):
    as_it_was = sqlglot.parse_one(f"CREATE TABLE o AS {sql}", read="duckdb").sql("duckdb")
    assert as_it_was == flat(as_it_was)


NAMES = st.sampled_from(["a", "b", "c", "x.a", "x.b"])


def quoted(name: str) -> str:
    return f'"{name}"'


@st.composite
def value(draw, names):
    known = quoted(draw(st.sampled_from(names)))
    form = draw(
        st.sampled_from(["{}", "{}", "{} + 1", "{} - 2", "-{}", "3", "NULL::BIGINT", "{} * 2"])
    )
    return form.format(known)


@st.composite
def condition(draw, names):
    left, right = draw(value(names)), draw(value(names))
    sign = draw(st.sampled_from(["<", "=", "IS DISTINCT FROM"]))
    both = f"{left} {sign} {right}"
    return draw(st.sampled_from(["{}", "({0} OR {1} > 1)", "NOT ({0} AND {1} < 2)"])).format(
        both, left
    )


@st.composite
def query(draw, depth=3):
    """A SELECT over the columns of others, and the names of what it selects."""
    if depth == 0:
        return "SELECT a, b, c FROM t", ["a", "b", "c"]
    outside = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    kinds = ["one", "one", "one", "union", "join", "group", "distinct", "total", "many"]
    kind = draw(st.sampled_from(kinds))
    inner, names = draw(query(depth - 1))
    if kind == "join":
        other, more = draw(query(depth - 1))
        sides = [f'p."{n}"' for n in names] + [f'q."{n}"' for n in more]
        listed = [f'{draw(st.sampled_from(sides))} AS "{n}"' for n in outside]
        on = f"p.{quoted(names[0])} = q.{quoted(more[0])}"
        form = draw(st.sampled_from(["JOIN ({1}) AS q ON {2}", "CROSS JOIN ({1}) AS q WHERE {2}",
                                     "LEFT JOIN ({1}) AS q ON {2}"]))  # fmt: skip
        joined = ("({0}) AS p " + form).format(inner, other, on)
        return f"SELECT {', '.join(listed)} FROM {joined}", outside
    listed = [f'{draw(value(names))} AS "{name}"' for name in outside]
    text = f"SELECT {', '.join(listed)} FROM ({inner}) AS i"
    if kind == "total":
        total = f"max({draw(value(names))})"
        return f'SELECT count(*) AS "a", {total} AS "x.b" FROM ({inner}) AS i', ["a", "x.b"]
    if kind == "many":
        pair = f"unnest([{draw(value(names))}, {draw(value(names))}])"
        other = draw(value(names))
        return f'SELECT {pair} AS "a", {other} AS "x.b" FROM ({inner}) AS i', ["a", "x.b"]
    if kind == "distinct":
        return text.replace("SELECT", "SELECT DISTINCT", 1), outside
    if draw(st.booleans()):
        text += f" WHERE {draw(condition(names))}"
    if kind == "group":
        key = quoted(draw(st.sampled_from(names)))
        total = f"sum({draw(value(names))})"
        where = text.partition(" FROM ")[2]
        return f'SELECT {key} AS "a", {total} AS "x.b" FROM {where} GROUP BY {key}', ["a", "x.b"]
    if kind == "union":
        again = [f'{draw(value(names))} AS "{name}"' for name in outside]
        chosen = ", ".join(map(quoted, outside))
        both = f"{text} UNION ALL SELECT {', '.join(again)} FROM ({inner}) AS i"
        return f"SELECT {chosen} FROM ({both}) AS u", outside
    return text, outside


@settings(max_examples=100)
@given(query(depth=4))
def test_the_rows_are_the_same(drawn):
    nested = f"CREATE TABLE o AS {drawn[0]}"
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 2, 3), (2, NULL, 1), (NULL, 3, 3), "
                   "(1, 1, 1), (3, 2, -1)) AS v(a, b, c)")  # fmt: skip
        seen = []
        for sql in (nested, flat(nested)):
            db.execute(sql.replace("TABLE o", "OR REPLACE TABLE o", 1))
            columns = [row[:2] for row in db.execute("DESCRIBE o").fetchall()]
            seen.append((columns, db.execute("FROM o ORDER BY ALL").fetchall()))
    assert seen[0] == seen[1]


def test_of_no_rows_there_is_no_group():
    nested = (
        "CREATE TABLE o AS SELECT c, sum(b) AS n FROM (SELECT 1::INT AS c, b FROM t) GROUP BY c"
    )
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t (b INTEGER)")
        db.execute(flat(nested))
        assert db.execute("FROM o").fetchall() == []


def test_a_chain_becomes_one_select():
    nested = "CREATE TABLE o AS SELECT a FROM (SELECT a FROM (SELECT a FROM t) AS i) AS j"
    assert 1 == flat(nested).count("SELECT")
