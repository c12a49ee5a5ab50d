"""What is written in terms of other operators: nothing is recomputed, and all is as DuckDB has it.

Names, types and rows are compared with those of the query over plain tables. That the elements are
right at every instant is what `test_sql_differential` says, with random queries of the same kinds.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Literal

import duckdb
import pytest
from sqlglot import exp

import cqlduck
from cqlduck.rewrite.plan import Distinct, Recompute, SetOperation, UnionAll, walk

TABLES = {
    "r": (
        "k INTEGER, v BIGINT, t VARCHAR",
        [(1, 10, "a"), (1, 10, "a"), (2, 20, None), (None, 30, "b"), (3, None, "c"), (3, 5, "a")],
    ),
    "u": ("k SMALLINT, c DOUBLE", [(1, 2.5), (2, None), (2, None), (None, 10.0), (5, 20.0)]),
    "nobody": ("k INTEGER, v BIGINT", []),
}

BY_NAME = [
    "SELECT k, v FROM r UNION BY NAME SELECT c, k FROM u",
    "SELECT k, v FROM r UNION ALL BY NAME SELECT c, K FROM u",
    "SELECT c AS V, k FROM u UNION ALL BY NAME SELECT * FROM r",
    "SELECT [t] AS l FROM r UNION BY NAME SELECT {'a': k} AS s FROM u",
    "SELECT k FROM r UNION BY NAME SELECT c AS k, 'x' AS y FROM u UNION BY NAME SELECT t AS y "
    "FROM r",
    "SELECT k, n FROM (SELECT k, count(*) AS n FROM r GROUP BY k UNION BY NAME FROM u) x",
    "SELECT k FROM r WHERE k IN (SELECT k FROM u UNION ALL BY NAME SELECT k FROM r WHERE v > 5)",
]


UNPIVOTED = [
    "SELECT * FROM r UNPIVOT (w FOR n IN (k, v))",
    "SELECT * FROM r UNPIVOT INCLUDE NULLS (w FOR n IN (k AS key, v))",
    "SELECT * FROM r UNPIVOT EXCLUDE NULLS (w FOR n IN (v, v))",
    "SELECT n, w FROM r x UNPIVOT (w FOR n IN (V, k)) AS y WHERE y.w > 1",
    "SELECT * FROM (UNPIVOT r ON k, v INTO NAME n VALUE w)",
    "SELECT * FROM (UNPIVOT r ON k, v) x",
    "SELECT * FROM (UNPIVOT u ON COLUMNS(*) INTO NAME n VALUE w)",
    "SELECT * FROM (UNPIVOT r ON COLUMNS(* EXCLUDE t) INTO NAME n VALUE w)",
    "SELECT * FROM r UNPIVOT ((w, x) FOR n IN ((k, t) AS one, (v, t)))",
    "SELECT * FROM r UNPIVOT INCLUDE NULLS ((w, x) FOR n IN ((k, t), (v, t)))",
    "SELECT n, count(*) AS m, sum(w) AS s FROM (SELECT k, max(v) AS v FROM r GROUP BY k) x "
    "UNPIVOT (w FOR n IN (k, v)) GROUP BY n",
    "SELECT y.w, u.c FROM r UNPIVOT (w FOR n IN (k, v)) y JOIN u ON u.k = y.w",
    "WITH x AS (SELECT k, v FROM r) SELECT * FROM (UNPIVOT x ON k, v INTO NAME n VALUE w)",
    "SELECT k FROM r WHERE k IN (SELECT w FROM u UNPIVOT (w FOR n IN (k)))",
    "SELECT * FROM (SELECT k, c FROM u UNION ALL SELECT v, k FROM r) UNPIVOT (w FOR n IN (c, k))",
    # behind a join, it stands on all that is joined
    "SELECT * FROM r JOIN u USING (k) UNPIVOT (w FOR n IN (v, c))",
    "SELECT * FROM r JOIN u ON r.k < u.k UNPIVOT (w FOR n IN (v, c)) AS y WHERE w > 3",
    "SELECT * FROM (r LEFT JOIN u USING (k)) UNPIVOT INCLUDE NULLS (w FOR n IN (v, c))",
]

PIVOTED = [
    "SELECT * FROM r PIVOT (sum(v) FOR k IN (1, 2))",
    "SELECT * FROM r PIVOT (sum(v) AS s, count(*) FOR k IN (1 AS one, 2, NULL) GROUP BY t)",
    "SELECT * FROM (PIVOT r ON k IN (1, 2) USING max(v), sum(v + 1) AS s GROUP BY t)",
    "SELECT * FROM (PIVOT r ON t IN ('a', 'b'), k IN (1, 2) USING count(*) AS n GROUP BY v)",
    "SELECT * FROM (PIVOT r ON t IN ('a') USING sum(v) GROUP BY k, t)",
    "SELECT * FROM (PIVOT r ON k IN (1, 2))",
    "SELECT * FROM (PIVOT u ON c IN (2.5, 10) USING count(*) AS n)",
    "SELECT * FROM (PIVOT (SELECT k, v FROM r) ON k IN (1, 2) USING sum(v))",
    "SELECT * FROM (PIVOT nobody ON k IN (1, 2) USING sum(v), count(*) AS n)",
    "SELECT * FROM (PIVOT nobody ON k IN (1, 2) USING count(*) GROUP BY v)",
    "SELECT p.a, u.c FROM r PIVOT (count(*) FOR t IN ('a', 'b') GROUP BY k) AS p JOIN u "
    "ON u.k = p.k",
    "SELECT * FROM r PIVOT (avg(v) AS m, min(k) FOR t IN ('a', 'b') GROUP BY k) p WHERE a_m > 1",
    "SELECT a FROM (PIVOT r ON t IN ('a', 'b') USING count(DISTINCT v) GROUP BY k) ORDER BY a",
    "SELECT * FROM r PIVOT (bool_or(v > 5) FOR t IN ('a', 'b') GROUP BY k)",
    "SELECT a FROM r PIVOT (sum(v) FOR t IN ('a', 'b') GROUP BY k, k)",
    "SELECT * FROM r JOIN u USING (k) PIVOT (sum(v) FOR t IN ('a', 'b'))",
    "SELECT * FROM r NATURAL JOIN u PIVOT (max(c) FOR t IN ('a', 'b') GROUP BY k)",
    "SELECT * FROM r CROSS JOIN (SELECT c FROM u) x PIVOT (sum(v) FOR t IN ('a', 'b'))",
    "SELECT n, y.* FROM (SELECT k AS n FROM u) x, r JOIN u USING (k) "
    "PIVOT (max(v) FOR t IN ('a')) AS y",
    "SELECT y.k, z.k AS j, a FROM r JOIN u USING (k) PIVOT (max(v) FOR t IN ('a')) AS y JOIN r z "
    "ON z.v > y.a",
    "SELECT x.k, a FROM (r LEFT JOIN u USING (k) PIVOT (max(v) FOR t IN ('a', 'b') GROUP BY k) "
    "AS x)",
    "SELECT * FROM u JOIN r PIVOT (max(v) FOR t IN ('a', 'b') GROUP BY k) USING (k) "
    "UNPIVOT (w FOR n IN (a, b))",
    "SELECT k FROM u WHERE EXISTS (SELECT 1 FROM r JOIN nobody USING (k) PIVOT (count(*) FOR t IN "
    "('a') GROUP BY k) AS y WHERE y.k = u.k) OR c > 5",
]

PIVOTED_AGAIN = [
    # a column that remains has the name of the values
    "SELECT * FROM (SELECT k, v, t, t AS w FROM r) UNPIVOT (w FOR n IN (k, v))",
    "SELECT * FROM (UNPIVOT (SELECT k, v, t AS w FROM r) ON k, v INTO NAME n VALUE W)",
    "SELECT * FROM (UNPIVOT (SELECT k, v, t AS value FROM r) ON k, v)",
    # LIMIT orders by what it shows
    "SELECT * FROM r UNPIVOT (w FOR n IN (k, v)) ORDER BY w DESC LIMIT 2",
    "SELECT y.w FROM r JOIN u USING (k) UNPIVOT (w FOR n IN (v, c)) AS y ORDER BY w LIMIT 3",
    "SELECT * FROM r PIVOT (sum(v) FOR t IN ('a', 'b')) ORDER BY k, a LIMIT 2",
    "SELECT * FROM (PIVOT r ON (k + 1) IN (2, 3) USING sum(v) GROUP BY t)",
    "SELECT * FROM r PIVOT (sum(v) FOR lower(t) IN ('a', 'b') GROUP BY k)",
    "SELECT * FROM r JOIN u USING (k) PIVOT (list(v ORDER BY v) FOR t IN ('a', 'b'))",
    "WITH x AS (PIVOT r ON k IN (1, 2) USING list(v ORDER BY v)) SELECT * FROM x",
    'WITH x AS (PIVOT r ON k IN (1, 2) USING sum(v)) SELECT x.t, u.k FROM x, u WHERE u.c > x."1"',
    "WITH x AS (UNPIVOT r ON k, (v + 1) INTO NAME n VALUE w) SELECT n, sum(w) AS s "
    "FROM x GROUP BY n",
    "SELECT k FROM u WHERE k IN (SELECT k FROM (PIVOT r ON t IN ('a') USING list(v ORDER BY v) "
    "GROUP BY k))",
    "SELECT * FROM (PIVOT (PIVOT r ON t IN ('a', 'b') USING list(v ORDER BY v) GROUP BY k) "
    "ON k IN (1, 2) USING max(a))",
]


MARKED = [
    "SELECT k, v FROM r WHERE v > 15 OR k IN (SELECT k FROM u)",
    "SELECT k, v FROM r WHERE NOT (v > 15 AND k IN (SELECT k FROM u))",
    "SELECT k, v FROM r WHERE v > 15 OR k <> ALL (SELECT k FROM u)",
    "SELECT k, k IN (SELECT k FROM u) AS i, k NOT IN (SELECT k FROM u WHERE k > 1) AS j FROM r",
    "SELECT k, k IN (SELECT k FROM nobody) AS i, v NOT IN (SELECT v FROM nobody) AS j FROM r",
    "SELECT k, v > ANY (SELECT c FROM u) AS i, v <= ALL (SELECT c FROM u WHERE c > 9) AS j FROM r",
    "SELECT k, v <> ALL (SELECT c FROM u) AS i, k = ALL (SELECT k FROM u WHERE k = 1) AS j FROM r",
    "SELECT k, k <> ANY (SELECT k FROM u) AS i, v > ALL (SELECT v FROM nobody) AS j FROM r",
    "SELECT k, EXISTS (SELECT 1 FROM u WHERE c > 15) AS i, EXISTS (FROM nobody) AS j FROM r",
    "SELECT k, EXISTS (SELECT 1 FROM u WHERE u.k > r.k) AS i FROM r",
    "SELECT CASE WHEN k IN (SELECT k FROM u) THEN 'in' WHEN v > 7 THEN 'v' END AS c FROM r",
    "SELECT k IN (SELECT k FROM u) AS i, count(*) AS n FROM r GROUP BY i",
    "SELECT k, count(*) FILTER (WHERE v IN (SELECT c FROM u) OR t = 'a') AS n FROM r GROUP BY k",
    "SELECT k, count(*) AS n FROM r GROUP BY k HAVING k IN (SELECT k FROM u) OR count(*) > 1",
    "SELECT k, sum(v) AS n FROM r GROUP BY k HAVING count(*) NOT IN (SELECT k FROM u WHERE k > 0)",
    "SELECT k, max(v) IN (SELECT c FROM u) AS i FROM r GROUP BY k",
    "SELECT count(*) IN (SELECT k FROM nobody) AS i, EXISTS (SELECT 1 FROM u) AS j FROM r",
    "SELECT k, grouping(k) AS g, k IN (SELECT k FROM u) AS i FROM r GROUP BY ROLLUP (k)",
    "SELECT DISTINCT k IN (SELECT k FROM u) OR v > 7 AS i FROM r",
    "SELECT k FROM r WHERE v IN (SELECT v FROM r x WHERE x.k = 3 OR x.k IN (SELECT k FROM u))",
    "SELECT k IN (SELECT k FROM u GROUP BY k HAVING count(*) > 1) IS NULL AS i FROM r",
    "SELECT x.k, c FROM r x LEFT JOIN u ON x.k = u.k WHERE c > 3 OR x.k IN (SELECT k FROM u)",
]

AROUND = [
    "SELECT k, t IN (SELECT t FROM u) AS i, v NOT IN (SELECT r.v FROM nobody) AS j FROM r",
    "SELECT k, v NOT IN (SELECT c + r.k FROM u) AS i FROM r",
    "SELECT k, v < ANY (SELECT c + r.k FROM u) AS i, v > ALL (SELECT -r.k FROM u) AS j FROM r",
    "SELECT k FROM r WHERE v > 20 OR NOT (t IN (SELECT t FROM u WHERE c > 3))",
    "SELECT k, count(*) AS n FROM r GROUP BY k HAVING count(*) > 1 OR k NOT IN "
    "(SELECT c - r.k FROM u)",
    "SELECT k, t FROM r WHERE t NOT IN (SELECT t FROM u)",
]
"""Tests of a subquery whose value, and not its WHERE, names columns around it."""


def compared(
    body: str, recompute: Literal["allow", "always"] = "allow"
) -> tuple[cqlduck.Connection, duckdb.DuckDBPyConnection]:
    """Return cqlduck with a query `q` over relations, and DuckDB with the same in tables."""
    con = cqlduck.connect(recompute=recompute)
    for name, (columns, rows) in TABLES.items():
        con.execute(f"CREATE RELATION {name} ({columns})")
        if rows:
            con.append(name, rows[::2])
    con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
    con.advance(1)
    for at, name in enumerate(TABLES, 2):
        if TABLES[name][1]:
            con.append(name, TABLES[name][1][1::2], at=at)
    con.advance(9)
    return con, in_duckdb().cursor()


@functools.cache
def in_duckdb() -> duckdb.DuckDBPyConnection:
    """Return DuckDB with the tables."""
    made = duckdb.connect()
    for name, (columns, rows) in TABLES.items():
        made.execute(f"CREATE TABLE {name} ({columns})")
        if rows:
            made.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return made


@pytest.mark.parametrize("body", [*BY_NAME, *UNPIVOTED, *PIVOTED, *MARKED])
def test_nothing_is_recomputed_and_all_is_as_in_duckdb(body: str) -> None:
    con, plain = compared(body)
    with con, plain:
        plan = con.engine.compiled["q"].plan
        assert not [node.reason for node in walk(plan) if isinstance(node, Recompute)]
        mine, theirs = con.table("q"), plain.sql(body)
        assert theirs.columns == mine.columns
        assert list(map(str, theirs.types)) == list(map(str, mine.types))
        assert Counter(map(str, theirs.fetchall())) == Counter(map(str, mine.fetchall()))


@pytest.mark.parametrize("recompute", ["allow", "always"])
@pytest.mark.parametrize("body", AROUND)
def test_a_value_that_names_what_is_around(
    body: str, recompute: Literal["allow", "always"]
) -> None:
    con, plain = compared(body, recompute)
    with con, plain:
        mine, theirs = con.table("q"), plain.sql(body)
        assert Counter(map(str, theirs.fetchall())) == Counter(map(str, mine.fetchall()))


@pytest.mark.parametrize("recompute", ["allow", "always"])
@pytest.mark.parametrize("body", [*PIVOTED, *PIVOTED_AGAIN, *UNPIVOTED])
def test_a_pivot_without_a_law_is_as_in_duckdb(
    body: str, recompute: Literal["allow", "always"]
) -> None:
    con, plain = compared(body, recompute)
    with con, plain:
        plan = con.engine.compiled["q"].plan
        assert [n for n in walk(plan) if isinstance(n, Recompute)] or recompute == "allow"
        mine, theirs = con.table("q"), plain.sql(body)
        assert theirs.columns == mine.columns
        assert Counter(map(str, theirs.fetchall())) == Counter(map(str, mine.fetchall()))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("(PIVOT r ON t IN ('a') USING list(v) GROUP BY t)", ("a", [20, 5, 10])),
        ("r PIVOT (list(v) FOR t IN ('a') GROUP BY t)", ("a", [20, 5, 10])),
        ("r PIVOT (first(v) AS f, last(v) AS l FOR t IN ('a') GROUP BY t)", ("a", 20, 10)),
        # of k, by which it groups, there is one value
        ("(PIVOT r ON t IN ('a') USING list(v)) WHERE k = 2", (2, [5, 10])),
        ("(PIVOT r ON t IN ('a') USING list(k + 0) GROUP BY v) WHERE v = 5", (5, [2])),
    ],
)
def test_ties_in_a_pivot_go_by_all_columns(body: str, expected: tuple[object, ...]) -> None:
    """What the aggregate is told, since DuckDB may lose the order of its input among threads."""
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (k INTEGER, v BIGINT, t VARCHAR)")
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT * FROM {body}")
        (node,) = [n for n in walk(con.engine.compiled["q"].plan) if isinstance(n, Recompute)]
        assert node.query.find(exp.Pivot).find(exp.Order)
        con.append("r", [(2, 10, "a"), (2, 5, "a"), (1, 20, "a")], at=1)
        con.advance(1)
        assert [expected] == con.table("q").fetchall()


@pytest.mark.parametrize(
    "on", ["k + 1 IN (2, 3)", "-k IN (1)", "k || t IN ('1a')", "NOT (k) IN (1)"]
)
@pytest.mark.parametrize("recompute", ["allow", "always"])
def test_a_pivot_on_a_truth_value_is_refused(on: str, recompute: str) -> None:
    """DuckDB looks for its values in the data."""
    with cqlduck.connect(recompute=recompute) as con:
        con.execute("CREATE RELATION r (k INTEGER, v BIGINT, t VARCHAR)")
        for group in ("", " GROUP BY t"):
            with pytest.raises(cqlduck.NotSupportedError, match="without the values") as caught:
                con.execute(
                    "CREATE CONTINUOUS QUERY q AS SELECT * FROM "
                    f"(PIVOT r ON {on} USING sum(v){group})"
                )
            assert "ON (k + 1) IN (2, 3)" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("body", "message", "hint"),
    [
        (
            "SELECT k FROM r EXCEPT BY NAME SELECT v AS k FROM r",
            "EXCEPT has no BY NAME",
            "one order",
        ),
        (
            "SELECT k FROM (SELECT k FROM r INTERSECT BY NAME SELECT v AS k FROM r) x",
            "INTERSECT has no BY NAME",
            "one order",
        ),
        ("PIVOT r ON k IN (1) USING sum(v)", "is a SELECT", "FROM (PIVOT …)"),
        ("UNPIVOT r ON k, v INTO NAME n VALUE w", "is a SELECT", "FROM (UNPIVOT …)"),
    ],
)
@pytest.mark.parametrize("recompute", ["allow", "always"])
def test_is_refused_with_what_to_write(body: str, message: str, hint: str, recompute: str) -> None:
    with cqlduck.connect(recompute=recompute) as con:
        con.execute("CREATE RELATION r (k INTEGER, v BIGINT)")
        with pytest.raises(cqlduck.ParseError, match=message) as caught:
            con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
        assert hint in (caught.value.hint or "")


CHOSEN = [
    "SELECT k, v FROM r UNION SELECT k, c FROM u ORDER BY v DESC, k LIMIT 3",
    "SELECT k, v FROM r UNION ALL SELECT k, c FROM u ORDER BY c, K LIMIT 3 OFFSET 2",
    "SELECT v + 1 AS w, k FROM r UNION SELECT c, k FROM u ORDER BY v + 1, k LIMIT 2",
    "SELECT k, v FROM r UNION SELECT k, c FROM u ORDER BY -v, k + 1 OFFSET 1",
    "SELECT k AS c1, v AS c0 FROM r UNION SELECT c, k FROM u ORDER BY c1, c0 LIMIT 2",
    "SELECT k, v FROM r UNION ALL SELECT k, -c AS z FROM u ORDER BY z, k LIMIT 2",
    "SELECT k FROM r EXCEPT SELECT k FROM u ORDER BY 1 DESC LIMIT 1",
    "SELECT k FROM r EXCEPT ALL SELECT k FROM u ORDER BY ALL LIMIT 2",
    "SELECT k FROM r INTERSECT SELECT k FROM u ORDER BY k + 1 DESC LIMIT 2",
    "SELECT k, t FROM r UNION BY NAME SELECT c, k FROM u ORDER BY c DESC, k, t LIMIT 3",
    "SELECT k FROM r UNION SELECT k FROM u UNION ALL SELECT c FROM u ORDER BY c LIMIT 4",
    "WITH x AS (SELECT k FROM r UNION SELECT c FROM u ORDER BY k LIMIT 2) SELECT max(k) m FROM x",
    "WITH x AS (SELECT k FROM r) SELECT k FROM x UNION ALL SELECT k FROM x ORDER BY k DESC LIMIT 3",
]


@pytest.mark.parametrize("body", CHOSEN)
def test_limit_chooses_from_a_set_operation(body: str) -> None:
    con, plain = compared(body)
    with con, plain:
        plan = con.engine.compiled["q"].plan
        (chosen,) = [node for node in walk(plan) if isinstance(node, Recompute)]
        (below,) = chosen.inputs
        assert chosen.reason in ("LIMIT", "OFFSET")
        assert any(isinstance(n, (Distinct, SetOperation, UnionAll)) for n in walk(below))
        assert plain.sql(body).columns == con.table("q").columns
        assert sorted(map(str, plain.sql(body).fetchall())) == sorted(
            map(str, con.table("q").fetchall())
        )


@pytest.mark.parametrize(
    "body",
    [
        "SELECT k, v FROM r UNION SELECT k, c FROM u ORDER BY v DESC NULLS LAST, k",
        "SELECT v + 1 AS w, k FROM r UNION SELECT c, k FROM u ORDER BY v + 1, k",
        "SELECT k, v FROM r EXCEPT SELECT k, c FROM u ORDER BY c DESC, 1",
        "SELECT k, t FROM r UNION BY NAME SELECT c, k FROM u ORDER BY ALL DESC",
    ],
)
def test_order_by_of_a_set_operation_orders_what_table_shows(body: str) -> None:
    con, plain = compared(body)
    with con, plain:
        assert not [n for n in walk(con.engine.compiled["q"].plan) if isinstance(n, Recompute)]
        assert plain.sql(body).fetchall() == con.table("q").fetchall()


ORDERED_SIDES = [
    # a side lists the expression
    "SELECT -v AS v, k FROM r UNION ALL SELECT c, k FROM u ORDER BY -V, 2 LIMIT 3",
    "SELECT t || 'A' AS x, t || 'a' AS y FROM r UNION ALL SELECT 'Z', t FROM r "
    "ORDER BY t || 'a', 1 DESC LIMIT 3",
    "SELECT -v AS v, k FROM r UNION ALL BY NAME SELECT k, c FROM u ORDER BY -v, 2, 3 LIMIT 4",
    "SELECT *, -v FROM r UNION ALL SELECT k, k, 'b', c FROM u ORDER BY -v, 1, 2, 3 LIMIT 4",
    "SELECT -k AS k FROM r UNION ALL VALUES (-7), (2) ORDER BY -k LIMIT 3",
    # one term is of neither side, so all are of the result
    "SELECT -v AS v, k FROM r UNION ALL SELECT c, k FROM u ORDER BY -v, k + 0, 2 LIMIT 3",
    "SELECT -v AS v, k FROM r UNION ALL SELECT c, k FROM u ORDER BY -v, sum(k) OVER (), 2 LIMIT 3",
    "SELECT -k AS k FROM r UNION ALL VALUES (-7), (2) ORDER BY -k, k + 1 LIMIT 3",
    # the first side that has the name
    "SELECT k AS a, v AS b FROM r UNION ALL SELECT k AS m, c AS n FROM u UNION ALL "
    "SELECT k AS n, v AS m FROM r ORDER BY n, 1 LIMIT 4",
    "SELECT k AS a, v AS b FROM r UNION ALL SELECT k AS b, c AS a FROM u ORDER BY a, b LIMIT 4",
    # it reads what no side does
    "SELECT k FROM r UNION ALL SELECT k FROM r ORDER BY k IN (SELECT k FROM u), k LIMIT 3",
    "SELECT k FROM r UNION ALL VALUES (2), (9) ORDER BY k = (SELECT min(k) FROM u), k LIMIT 3",
    "WITH x AS (SELECT k FROM u WHERE c > 2) SELECT v FROM r UNION SELECT k FROM r "
    "ORDER BY v NOT IN (SELECT k FROM x), v DESC LIMIT 3",
    "SELECT max(k) AS m FROM (SELECT k FROM r EXCEPT SELECT v FROM r "
    "ORDER BY EXISTS (SELECT 1 FROM u WHERE u.k > 4), k LIMIT 1)",
]


@pytest.mark.parametrize("recompute", ["allow", "always"])
@pytest.mark.parametrize("body", ORDERED_SIDES)
def test_limit_chooses_by_the_order_of_a_set_operation(
    body: str, recompute: Literal["allow", "always"]
) -> None:
    con, plain = compared(body, recompute)
    with con, plain:
        assert Counter(map(str, plain.sql(body).fetchall())) == Counter(
            map(str, con.table("q").fetchall())
        )


def test_what_order_by_of_a_set_operation_reads_is_an_input() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (k INTEGER); CREATE RELATION u (k INTEGER)")
        con.execute(
            "CREATE CONTINUOUS QUERY q AS SELECT k FROM r UNION ALL SELECT k FROM r "
            "ORDER BY k NOT IN (SELECT k FROM u), k LIMIT 1"
        )
        con.append("r", [(1,), (2,)], at=1)
        con.append("u", [(2,)], at=2)
        con.retract("u", [(2,)], at=4)
        con.advance(5)
        assert [con.as_of("q", t).fetchall() for t in range(6)] == [
            [], [(1,)], [(2,)], [(2,)], [(1,)], [(1,)]
        ]  # fmt: skip


def test_a_star_hides_what_order_by_of_a_set_operation_means() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (k INTEGER, v INTEGER)")
        with pytest.raises(cqlduck.NotSupportedError, match="with several stars") as caught:
            con.execute(
                "CREATE CONTINUOUS QUERY q AS SELECT * REPLACE (-v AS v) FROM r UNION ALL "
                "SELECT * FROM r ORDER BY -v LIMIT 2"
            )
        assert "name the columns" in (caught.value.hint or "")


@pytest.mark.parametrize("term", ["k + foo", "t", "sum(k)"])
def test_order_by_of_a_set_operation_names_its_columns(term: str) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (k INTEGER, v BIGINT, t VARCHAR)")
        with pytest.raises(cqlduck.Error):
            con.execute(
                "CREATE CONTINUOUS QUERY q AS SELECT k FROM r UNION SELECT v FROM r "
                f"ORDER BY {term}"
            )


@pytest.mark.parametrize("recompute", ["allow", "always"])
@pytest.mark.parametrize(
    "body",
    [
        "SELECT count(DISTINCT k, v) AS n FROM r",
        "SELECT list(t) AS l, count(DISTINCT k, v) FILTER (WHERE k > 1) AS n FROM r",
        "SELECT k FROM r WHERE EXISTS (SELECT sum(DISTINCT k, c) FROM u)",
    ],
)
def test_an_aggregate_of_several_columns_is_refused_as_in_duckdb(body: str, recompute: str) -> None:
    with cqlduck.connect(recompute=recompute) as con, duckdb.connect() as plain:
        for name, (columns, _) in TABLES.items():
            con.execute(f"CREATE RELATION {name} ({columns})")
            plain.execute(f"CREATE TABLE {name} ({columns})")
        with pytest.raises(duckdb.BinderException):
            plain.execute(body)
        with pytest.raises(cqlduck.BindError, match="has one argument, and not 2") as caught:
            con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
        assert "DISTINCT (a, b)" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "body",
    [
        "SELECT k FROM s WHERE k > 2 OR k IN (SELECT k FROM s x WHERE x.v > 10)",
        "SELECT DISTINCT k FROM s WHERE v > 20 OR EXISTS (SELECT 1 FROM s x WHERE x.v > 10)",
    ],
)
@pytest.mark.parametrize("recompute", ["allow", "always"])
def test_a_mark_that_nothing_negates_is_monotonic(body: str, recompute: str) -> None:
    """It can only become true, so the query yields its Istream."""
    with cqlduck.connect(recompute=recompute) as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
        con.append("s", [(1, 5), (1, 5), (3, 7)], at=1)
        con.append("s", [(1, 11), (2, 3)], at=3)
        con.advance(4)
        found = con.table("q").fetchall()
    assert sorted(found) == (
        [(1, 3), (2, 3), (3, 3)] if "DISTINCT" in body else [(1, 3), (1, 3), (1, 3), (3, 1)]
    )


@pytest.mark.parametrize(
    "body",
    [
        "SELECT k, v IN (SELECT c FROM u WHERE u.k = x.k) AS i FROM y x",
        "SELECT k FROM y x WHERE v > 7 OR EXISTS (SELECT 1 FROM u WHERE u.k = x.k)",
    ],
)
def test_what_is_correlated_by_keys_is_recomputed_by_them(body: str) -> None:
    with cqlduck.connect() as con:
        con.execute(
            "CREATE RELATION y (k BIGINT, v BIGINT); CREATE RELATION u (k BIGINT, c BIGINT)"
        )
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
        (node,) = [n for n in walk(con.engine.compiled["q"].plan) if isinstance(n, Recompute)]
        assert node.keys
    with cqlduck.connect(recompute="refuse") as con:
        con.execute(
            "CREATE RELATION y (k BIGINT, v BIGINT); CREATE RELATION u (k BIGINT, c BIGINT)"
        )
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
        assert not [n for n in walk(con.engine.compiled["q"].plan) if isinstance(n, Recompute)]


@pytest.mark.parametrize(
    "test",
    [
        "t::INTEGER IN (SELECT k FROM u)",
        "k IN (SELECT c::VARCHAR::INTEGER FROM u)",
        "EXISTS (SELECT 1 FROM u WHERE c::VARCHAR::INTEGER > 3)",
    ],
)
def test_a_mark_that_may_raise_is_recomputed(test: str) -> None:
    with cqlduck.connect() as con:
        for name, (columns, _) in TABLES.items():
            con.execute(f"CREATE RELATION {name} ({columns})")
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT k FROM r WHERE v > 3 OR {test}")
        assert [n for n in walk(con.engine.compiled["q"].plan) if isinstance(n, Recompute)]
