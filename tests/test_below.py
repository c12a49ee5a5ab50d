"""What stays incremental around a construct without a law, and that names mean the same there."""

from __future__ import annotations

import duckdb
import pytest

import cqlduck
from cqlduck.rewrite.operators.top_k import can_choose
from cqlduck.rewrite.plan import Aggregate, Distinct, Join, Net, Recompute, walk

R = [(1, 10, 3.0), (2, 20, 1.0), (3, 30, None), (3, 40, -2.0), (4, 50, 7.0), (None, 60, 2.0)]
U = [(1, 7), (2, 5), (3, 6), (3, 4), (5, 1), (None, 2)]
TABLES = "r (k INTEGER, v INTEGER, x DOUBLE)", "u (k INTEGER, w INTEGER)"


def inputs_of(body: str, **settings: str) -> tuple[Recompute, cqlduck.Connection]:
    """Return the recomputed part of a query over two relations that have their tuples."""
    con = cqlduck.connect(**settings)
    for table, rows in zip(TABLES, (R, U), strict=True):
        con.execute(f"CREATE RELATION {table}")
        con.append(table[0], rows[:3])
    con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
    con.advance(1)
    for table, rows in zip(TABLES, (R, U), strict=True):
        con.append(table[0], rows[3:], at=2)
    con.advance(2)
    return next(n for n in walk(con.engine.compiled["q"].plan) if isinstance(n, Recompute)), con


def below(node: Recompute) -> list[str]:
    """Return which operators that are no leaves are below it, without projections."""
    kinds = (Aggregate, Distinct, Join)
    found = {type(n).__name__ for plan in node.inputs for n in walk(plan) if isinstance(n, kinds)}
    return sorted(found)


FROM = "FROM r JOIN u ON r.k = u.k"
CASES = {
    # what it chooses from is a result of its own
    f"SELECT r.k, sum(v) AS s {FROM} GROUP BY r.k ORDER BY s DESC LIMIT 2": ["Aggregate", "Join"],
    f"SELECT r.k {FROM} GROUP BY r.k ORDER BY max(v) DESC, 1 LIMIT 1": ["Aggregate", "Join"],
    f"SELECT r.k AS v, max(v) AS m {FROM} GROUP BY r.k ORDER BY -max(v) LIMIT 2": [
        "Aggregate",
        "Join",
    ],
    # its columns are called as what it is chosen from calls others
    f"SELECT r.k AS c1, max(-v) AS c0 {FROM} GROUP BY r.k ORDER BY c1 DESC LIMIT 1": [
        "Aggregate",
        "Join",
    ],
    f"SELECT DISTINCT r.k AS c1, w AS c0 {FROM} ORDER BY c1 DESC, c0 LIMIT 1": [
        "Aggregate",
        "Join",
    ],
    f"SELECT DISTINCT r.k, w {FROM} ORDER BY w LIMIT 3": ["Aggregate", "Join"],
    f"SELECT DISTINCT r.k AS a, w AS k {FROM} ORDER BY k OFFSET 1": ["Aggregate", "Join"],
    f"SELECT count(*) AS n, w {FROM} GROUP BY ALL ORDER BY ALL LIMIT 2": ["Aggregate", "Join"],
    # FROM and WHERE are one input
    f"SELECT v, w {FROM} WHERE v > 10 ORDER BY w LIMIT 2": ["Join"],
    f"SELECT * {FROM} ORDER BY v DESC, w LIMIT 3": ["Join"],
    f"SELECT v AS w, w AS v {FROM} ORDER BY w LIMIT 3": ["Join"],
    # what a star has under another name, or in the place of a column, is an alias
    f"SELECT r.* REPLACE (-v AS v), w {FROM} ORDER BY v, w LIMIT 3": ["Join"],
    f"SELECT r.* RENAME (v AS k, k AS v), w {FROM} ORDER BY k DESC, w LIMIT 3": ["Join"],
    f"SELECT r.k, v, rank() OVER (PARTITION BY r.k ORDER BY w, v) AS n {FROM}": ["Join"],
    f"SELECT v, row_number() OVER (ORDER BY v, w) AS n {FROM} WHERE w > 4 QUALIFY n < 3": ["Join"],
    f"SELECT r.k, list(v + w ORDER BY v, w) AS l {FROM} GROUP BY r.k HAVING count(*) > 1": ["Join"],
    f"SELECT DISTINCT ON (r.k) r.k, v, w {FROM} ORDER BY r.k, v DESC, w": ["Join"],
    "SELECT k, v, w, sum(w) OVER o AS s FROM r JOIN u USING (k) WINDOW o AS (ORDER BY v, w)": [
        "Join"
    ],
    "SELECT v, first_value(v) OVER (ORDER BY v) AS f FROM r WHERE k IN (SELECT k FROM u)": [
        "Aggregate",
        "Join",
    ],
    f"SELECT r.k, max(v) OVER (PARTITION BY r.k) AS m {FROM} WHERE v > (SELECT min(w) FROM u)": [
        "Aggregate",
        "Join",
    ],
}


@pytest.mark.parametrize("body", CASES)
def test_what_is_around_stays_incremental(body: str) -> None:
    node, con = inputs_of(body)
    with con:
        assert len(node.inputs) == 1
        assert CASES[body] == below(node)
        assert answer(body) == sorted(map(str, con.table("q").fetchall()))


@pytest.mark.parametrize(
    "body",
    [
        # a name that is a column and an alias of something else, in a clause with both
        f"SELECT w AS v, rank() OVER (ORDER BY w) AS n {FROM} QUALIFY v > 5",
        f"SELECT -v AS w, u.w AS q {FROM} ORDER BY w + 0 LIMIT 3",
        f"SELECT v AS a, w AS a {FROM} ORDER BY a, 2 LIMIT 2",
        f"SELECT r.* REPLACE (-v AS v), w {FROM} ORDER BY v + 0, w LIMIT 3",
        f"SELECT DISTINCT ON (v) r.* REPLACE (v % 20 AS v) {FROM} ORDER BY v, w",
        f"SELECT r.* REPLACE (w AS v) {FROM} GROUP BY ALL ORDER BY v, k LIMIT 2",
        f"SELECT v, (SELECT max(w) FROM u) AS m {FROM} ORDER BY v LIMIT 2",
        f"SELECT COLUMNS('v|w') {FROM} ORDER BY v, w LIMIT 2",
        f"SELECT alias(v) AS a {FROM} LIMIT 1",
    ],
)
def test_what_may_mean_something_else_stays_whole(body: str) -> None:
    node, con = inputs_of(body)
    with con:
        assert len(node.inputs) > 1
        assert answer(body) == sorted(map(str, con.table("q").fetchall()))


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("SELECT name FROM p ORDER BY size LIMIT 2", "id name size"),
        ("SELECT 1 AS i FROM p, o WHERE id = part LIMIT 2", "id supplier"),
        ("SELECT count(*) AS n, list(price) AS l FROM o", "part supplier price"),
        ("SELECT price, lag(price) OVER (PARTITION BY part ORDER BY price) AS l FROM o",
         "part supplier price"),
        ("SELECT name, (SELECT list(price) FROM o WHERE part > id) AS l FROM p",
         "id name | part supplier price"),
        # all that a star, a row or columns by pattern may be
        ("SELECT * FROM p LIMIT 2", "id name size note"),
        ("SELECT p FROM p LIMIT 2", "id name size note"),
        ("SELECT COLUMNS('n.*') FROM p LIMIT 2", "id name size note"),
        ("SELECT EXISTS (SELECT * FROM o WHERE part = id) AS e FROM p ORDER BY e LIMIT 1",
         "id name size note | part supplier price"),
    ],
)  # fmt: skip
def test_an_input_has_the_columns_that_are_read(body: str, read: str) -> None:
    with cqlduck.connect() as con:
        con.execute("""
            CREATE RELATION p (id BIGINT, name VARCHAR, size BIGINT, note VARCHAR) PRIMARY KEY (id);
            CREATE RELATION o (part BIGINT, supplier BIGINT, price BIGINT)
                PRIMARY KEY (part, supplier);
        """)
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
        plan = con.engine.compiled["q"].plan
        found = [n for n in walk(plan) if isinstance(n, Recompute)]
        names = [[c.name.split(".")[-1] for c in plan.columns] for plan in found[0].inputs]
        assert read == " | ".join(map(" ".join, names))


@pytest.mark.parametrize("way", ["allow", "always"])
@pytest.mark.parametrize(
    "body",
    [
        "SELECT 1 AS e FROM (SELECT v::INTEGER AS y FROM p) z ORDER BY ALL LIMIT 3",
        "SELECT DISTINCT 1 AS e FROM (SELECT v::INTEGER AS y FROM p) z LIMIT 3",
        "SELECT DISTINCT 1 AS e FROM (SELECT v::INTEGER AS y, v::DATE AS d FROM p) z LIMIT 3",
        "SELECT DISTINCT 1 AS e FROM (SELECT v::INTEGER AS y, k FROM p) z LIMIT 3",
        "SELECT DISTINCT 1 AS e FROM (SELECT v::INTEGER AS y FROM p, n WHERE i = k) z LIMIT 3",
    ],
)
def test_a_column_that_is_not_read_fails_no_query(body: str, way: str) -> None:
    with cqlduck.connect(recompute=way) as con:
        con.execute(f"""
            CREATE RELATION p (k BIGINT, v VARCHAR) PRIMARY KEY (k);
            CREATE RELATION n (i INTEGER);
            CREATE CONTINUOUS QUERY q AS {body}
        """)
        con.append("p", [(1, "x")], at=1)
        con.append("n", [(1,)], at=1)
        con.advance(1)
        assert con.table("q").fetchall() == [(1,)]


def answer(body: str) -> list[str]:
    """Return what DuckDB answers, each row as text, sorted."""
    with duckdb.connect() as base:
        for table, rows in zip(TABLES, (R, U), strict=True):
            base.execute(f"CREATE TABLE {table}")
            places = ", ".join("?" * len(rows[0]))
            base.executemany(f"INSERT INTO {table[0]} VALUES ({places})", rows)
        return sorted(map(str, base.execute(body).fetchall()))


def test_always_recomputes_the_whole() -> None:
    node, con = inputs_of(f"SELECT v, w {FROM} ORDER BY v LIMIT 2", recompute="always")
    with con:
        assert len(node.inputs) == 2
        assert not can_choose(node)


@pytest.mark.parametrize(
    ("body", "is_net", "chooses"),
    [
        ("SELECT k, v FROM r ORDER BY v LIMIT 2", False, True),
        ("SELECT k, count(*) AS n FROM r GROUP BY k ORDER BY n LIMIT 2 OFFSET 1", False, True),
        # a join is kept as what stands, not as a log
        (f"SELECT v, w {FROM} ORDER BY v, w LIMIT 2", True, True),
        # what is shown, or decides, may raise: it is worked out for all tuples
        ("SELECT v + 2147483600 AS y FROM r ORDER BY v LIMIT 2", False, False),
        ("SELECT v FROM r ORDER BY v::VARCHAR::DATE LIMIT 2", False, False),
        ("SELECT v FROM r LIMIT 50%", False, False),
        ("SELECT max(v) AS m FROM r LIMIT 1", False, True),
    ],
)
def test_who_reads_the_first_tuples_alone(body: str, is_net: bool, chooses: bool) -> None:
    con = cqlduck.connect()
    for table in TABLES:
        con.execute(f"CREATE RELATION {table}")
    con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
    with con:
        plan = con.engine.compiled["q"].plan
        node = next(n for n in walk(plan) if isinstance(n, Recompute))
        assert chooses == can_choose(node)
        assert is_net == any(isinstance(n, Net) for n in walk(plan))


@pytest.mark.parametrize(("offset", "chooses"), [(0, True), (2, False)])
def test_a_limit_and_an_offset_that_are_too_many_together_are_not_added(
    offset: int, chooses: bool
) -> None:
    body = f"SELECT k, v FROM r ORDER BY v LIMIT {2**63 - 1} OFFSET {offset}"
    node, con = inputs_of(body)
    with con:
        assert chooses == can_choose(node)
        assert answer(body) == sorted(map(str, con.table("q").fetchall()))


@pytest.mark.parametrize("term", ["v", "k + 1"])
def test_what_is_no_key_of_group_by_all_orders_nothing(term: str) -> None:
    with pytest.raises(cqlduck.BindError, match="GROUP BY"):
        inputs_of(f"SELECT k, count(*) AS n FROM r GROUP BY ALL ORDER BY {term} LIMIT 2")


@pytest.mark.parametrize("recompute", ["allow", "always"])
@pytest.mark.parametrize("cut", [True, False])
def test_distinct_on_shows_the_tuple_that_it_chooses(cut: bool, recompute: str) -> None:
    with cqlduck.connect(recompute=recompute) as con:
        con.execute(
            "CREATE STREAM s (v INTEGER, x DOUBLE, t BIGINT) TIMESTAMP BY t;"
            "CREATE CONTINUOUS QUERY q AS SELECT DISTINCT ON (s.x) s.x, v FROM s [RANGE 9] "
            "WHERE v > 0 ORDER BY s.x, v"
        )
        con.append("s", [(1, -0.0, 1)])
        if cut:
            con.advance(1)
        con.append("s", [(3, 0.0, 2)])
        con.advance(2)
        assert ["(-0.0, 1, 1, 1)"] == list(map(str, con.changes("q").fetchall()))


@pytest.mark.parametrize("recompute", ["allow", "always"])
@pytest.mark.parametrize(
    ("kind", "one", "other"), [("DOUBLE", -0.0, 0.0), ("INTERVAL", "1 month", "30 days")]
)
def test_the_first_are_chosen_from_equal_values_that_are_not_the_same(
    kind: str, one: object, other: object, recompute: str
) -> None:
    """Equal tuples are counted apart, and each of them is found by what tells them apart."""
    with cqlduck.connect(recompute=recompute) as con:
        con.execute(
            f"CREATE STREAM s (k INTEGER, d {kind});"
            "CREATE CONTINUOUS QUERY below AS SELECT k, d FROM s [RANGE 4];"
            "CREATE CONTINUOUS QUERY q AS SELECT k FROM below ORDER BY k, d LIMIT 1"
        )
        con.append("s", [(1, one)], at=1)
        con.advance(1)
        con.append("s", [(1, other)], at=2)
        con.append("s", [(2, other)], at=4)
        found = {}
        for now in range(2, 9):
            con.advance(now)
            found[now] = con.table("q").fetchall()
            assert {("right",)} >= set(con.check().project("state").fetchall())
        assert {now: [(1,)] if now < 7 else [(2,)] for now in range(2, 9)} == found
