"""Queries that show something of the same are computed by one plan, and say what they say alone.

`test_families` has random sets of them; here is what is shared, what is not, and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from counts import fewer_if_brief
from stops import Stops

import cqlduck
from cqlduck.registration import widening
from cqlduck.rewrite.widening import Written, widened

SCRIPT = """
    CREATE STREAM s (k INTEGER, v INTEGER, d DOUBLE, name VARCHAR);
    CREATE STREAM late (k INTEGER, v INTEGER) LATE AMEND;
    CREATE RELATION r (k INTEGER, w INTEGER);
"""
GROUPS = "FROM s [RANGE 3] GROUP BY k"
JOIN = "FROM s [RANGE 3], r WHERE s.k = r.k"


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as made:
        made.execute(SCRIPT)
        yield made


def register(con: cqlduck.Connection, *bodies: str) -> list[str | None]:
    """Register queries q0, q1, …; return their families."""
    for number, body in enumerate(bodies):
        con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {body}")
    return [con.engine.query(f"q{number}").family for number in range(len(bodies))]


def run(con: cqlduck.Connection, first: int = 0) -> None:
    """Let some instants pass, with ties, NULLs and duplicates."""
    con.append("r", [(1, 5), (2, 7), (2, 7), (None, 1)], at=first)
    for instant in range(first + 1, first + 9):
        rows = [
            (instant % 3, instant % 5, 0.5 * (instant % 4), "a"),
            (1, 2, -0.0, None),
            (None, instant, None, "b"),
            (instant % 3, None, 1.5, "A"),
        ]
        con.append("s", rows[: instant % 5], at=instant)
        con.advance(instant)


def told(con: cqlduck.Connection) -> dict[str, Any]:
    """Return elements, answers and earlier answers of all queries."""
    found = {}
    for name, query in con.queries.items():
        asked = [con.changes(name), con.table(name), con.sql(f"FROM {name}")]
        if query.kind == "relation" and query.frontier is not None:
            asked.append(con.as_of(name, query.frontier - 2))
        found[name] = [sorted(one.fetchall(), key=repr) for one in asked]
        found[name].append([column.name for column in con.engine.query(name).columns])
    return found


def explained(con: cqlduck.Connection, text: str) -> str:
    """Return what EXPLAIN says."""
    return "\n".join(line for (line,) in con.execute(text).fetchall())


WIDENED = [
    # calls of several aggregates, under names that collide, and in another order
    [f"SELECT k, count(*) AS n {GROUPS}", f"SELECT sum(v) AS n, k AS x {GROUPS}",
     f"SELECT k {GROUPS}", f"SELECT count(*), count(*) AS m, avg(d) {GROUPS} ORDER BY m"],
    # the same tuples, called otherwise
    [f"SELECT k, count(*) AS n {GROUPS}",
     "SELECT max(d) AS n FROM s [RANGE 3] AS x GROUP BY x.k HAVING n > 0 AND x.k < 2",
     "SELECT count(DISTINCT v) AS c FROM s [RANGE 3] y GROUP BY y.k"],
    # conditions of HAVING: one of them shows all groups that another shows
    [f"SELECT k {GROUPS} HAVING count(*) > 1 AND sum(v) > 2",
     f"SELECT k, max(v) AS m {GROUPS} HAVING sum(v) > 2",
     f"SELECT min(v) AS m {GROUPS} HAVING m < 2 AND sum(v) > 2", f"SELECT sum(v) {GROUPS}"],
    # global aggregates, which have a row over nothing
    ["SELECT count(*) AS n FROM s [RANGE 1]", "SELECT max(name) AS n FROM s [RANGE 1]",
     "SELECT bool_or(v > 2) AS b FROM s [RANGE 1] HAVING count(*) > 1"],
    # joins, with a star, with tuples that become equal
    [f"SELECT * {JOIN}", f"SELECT w {JOIN}", f"SELECT upper(name) AS u, s.k {JOIN}"],
    [f"SELECT s.k, w {JOIN} AND v > 1", "SELECT b.w, a.name FROM s [RANGE 3] a JOIN r b "
     "ON b.k = a.k AND 1 < a.v"],
    ["SELECT v FROM s [ROWS 3] LEFT JOIN r ON s.k = r.k",
     "SELECT w, 1 AS one FROM s [ROWS 3] LEFT JOIN r ON s.k = r.k"],
    # conditions of WHERE: of columns, of one side of a join, of keys, beside EXISTS and parentheses
    ["SELECT k FROM s [RANGE 3] WHERE v > 1 OR k = 2", "SELECT v FROM s [RANGE 3]"],
    ["SELECT v, k FROM s [RANGE 3] WHERE v > 1 AND name = 'a'",
     "SELECT v AS k FROM s [RANGE 3] x WHERE 1 < x.v", "SELECT d, v > 1 AS b FROM s [RANGE 3]"],
    ["SELECT * FROM s [RANGE 3] WHERE (v > 1 AND d < 3) AND k BETWEEN 1 AND 2",
     "SELECT name FROM s [RANGE 3] WHERE d < 3 AND v > 1"],
    [f"SELECT s.v {JOIN} AND w > 4 AND s.v > 1", "SELECT a.k, name FROM s [RANGE 3] a JOIN r b "
     "ON a.k = b.k AND 1 < a.v WHERE b.w > 4 AND d < 3", f"SELECT w {JOIN}"],
    ["SELECT v, w FROM s [ROWS 3] LEFT JOIN r ON s.k = r.k WHERE w IS NULL",
     "SELECT name FROM s [ROWS 3] x LEFT JOIN r y ON x.k = y.k"],
    ["SELECT k, count(*) AS n FROM s [RANGE 3] WHERE v > 1 AND k IN (0, 1) GROUP BY k",
     "SELECT max(d) AS n FROM s [RANGE 3] WHERE v > 1 GROUP BY k HAVING k IN (0, 1) AND n > 0",
     "SELECT sum(v) AS k FROM s [RANGE 3] WHERE v > 1 GROUP BY k"],
    ["SELECT k FROM s [RANGE 3] WHERE v > 1 AND EXISTS (SELECT 1 FROM r WHERE r.k = s.k)",
     "SELECT v FROM s [RANGE 3] WHERE EXISTS (SELECT 1 FROM r WHERE r.k = s.k)"],
    ["SELECT v FROM (SELECT v, k FROM s WHERE k > 0) WHERE v > 1",
     "SELECT k FROM (SELECT v, k FROM s WHERE k > 0) WHERE v > 1"],
    ["SELECT v AS n FROM s WHERE v > 1 AND k = 1", "SELECT Istream(k, v) FROM s WHERE k = 1",
     "SELECT name FROM s"],
    # streams
    ["SELECT k, v FROM s WHERE v > 1", "SELECT Istream(v AS k) FROM s WHERE v > 1",
     "SELECT 'x' AS k, k IS DISTINCT FROM v AS i FROM s WHERE v > 1"],
    ["SELECT Rstream(s.k) FROM s [NOW], r WHERE s.k = r.k",
     "SELECT Rstream(w, v) FROM s [NOW], r WHERE s.k = r.k"],
    # what says the same comes first
    [f"SELECT k, count(*) AS n {GROUPS}", f"SELECT k, count(*) AS n {GROUPS}",
     f"SELECT k, sum(v) AS n {GROUPS} HAVING count(*) > 1", f"SELECT k, count(*) AS n {GROUPS}"],
]  # fmt: skip


@pytest.mark.parametrize("bodies", WIDENED)
def test_one_plan_computes_them(bodies: list[str], tmp_path: Path) -> None:
    """Also if the database is closed before the last is registered, and before ticks."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(tmp_path / f"{sharing}.duckdb", sharing=sharing) as con:
            con.execute(SCRIPT)
            register(con, *bodies[:-1])
        with cqlduck.connect(tmp_path / f"{sharing}.duckdb", sharing=sharing) as con:
            con.execute(f"CREATE CONTINUOUS QUERY q{len(bodies) - 1} AS {bodies[-1]}")
            families = {query.family for query in con.engine.catalogue.queries.values()}
            assert families == ({"_cql_family_1"} if sharing else {None})
            run(con)
        with cqlduck.connect(tmp_path / f"{sharing}.duckdb", sharing=sharing) as con:
            run(con, 20)
            found.append(told(con))
            assert not [row for row in con.check().fetchall() if row[5] == "wrong"]
    assert found[0] == found[1]


SEPARATE = [
    # other tuples, other keys, other operators
    [f"SELECT k, v {GROUPS}, v", f"SELECT k {GROUPS}"],
    ["SELECT DISTINCT k FROM s [RANGE 3]", "SELECT k FROM s [RANGE 3]"],
    [f"SELECT Istream(v) {JOIN}", f"SELECT Istream(w) {JOIN}"],
    [f"SELECT Istream(k, count(*)) {GROUPS}", f"SELECT k, max(v) {GROUPS}"],
    ["SELECT count(*) AS n FROM s [RANGE 3]", "SELECT 1 AS n FROM s [RANGE 3]"],
    # groups that no query shows
    [f"SELECT k {GROUPS} HAVING count(*) > 1", f"SELECT max(v) {GROUPS} HAVING sum(v) > 1"],
    ["SELECT v FROM s [RANGE 3] WHERE v > 1", "SELECT v FROM s [RANGE 3] WHERE k = 2"],
    # conditions of what groups are made of, of two sides of a join, of what is distinct
    [f"SELECT k, count(*) {GROUPS}", "SELECT k, max(v) FROM s [RANGE 3] WHERE v > 1 GROUP BY k"],
    ["SELECT count(*) AS n FROM s [RANGE 3]", "SELECT max(v) FROM s [RANGE 3] WHERE k = 1"],
    [f"SELECT v {JOIN}", f"SELECT w {JOIN} AND v < w"],
    ["SELECT DISTINCT k FROM s [RANGE 3]", "SELECT DISTINCT k FROM s [RANGE 3] WHERE k = 1"],
    # what cannot be cut out of a subquery
    ["SELECT v FROM (SELECT v, k FROM s WHERE k > 0)", "SELECT v FROM (SELECT v, k FROM s)"],
    ["SELECT k FROM s [ROWS 2] WHERE (v > 1 AND k = 2)", "SELECT v FROM s [ROWS 2]"],
    # what may raise would fail for both
    [f"SELECT k, count(*) {GROUPS}", f"SELECT k, sum(v) // count(v) {GROUPS}"],
    ["SELECT k FROM s [RANGE 3] WHERE v // k > 1", "SELECT v FROM s [RANGE 3] WHERE v // k > 1"],
    # what is recomputed
    ["SELECT k FROM s [RANGE 3] LIMIT 2", "SELECT k, v FROM s [RANGE 3] LIMIT 2"],
    # what is not written where it could stand
    ["SELECT w FROM s [RANGE 3], r WHERE s.k = r.k", f"SELECT * {JOIN}"],
    # late elements correct
    ["SELECT k FROM late [RANGE 3]", "SELECT v FROM late [RANGE 3]"],
]  # fmt: skip


@pytest.mark.parametrize("bodies", SEPARATE)
def test_other_tuples_have_another_plan(con, bodies: list[str]) -> None:
    assert register(con, *bodies) == [None] * len(bodies)


CAPTURED = [
    # of a name that is a column and an alias, and of one that is another's alias
    ["SELECT v AS k, count(*) AS v FROM s [RANGE 3] GROUP BY v",
     "SELECT max(k) AS m, v FROM s [RANGE 3] GROUP BY v HAVING v > 1"],
    ["SELECT k AS v, k IS NULL AS b FROM s [RANGE 2]", "SELECT v AS k, b AS v FROM s [RANGE 2], "
     "(SELECT w AS b FROM r) x"],
    [f"SELECT k AS a, max(v) AS k {GROUPS} HAVING k > 1", f"SELECT k, max(v) AS a {GROUPS}"],
    [f"SELECT k, sum(v) AS v, v > 3 AS a {GROUPS}, v", f"SELECT max(v) AS a, k AS v {GROUPS}, v"],
]  # fmt: skip


@pytest.mark.parametrize("bodies", CAPTURED)
def test_a_name_means_what_it_means_alone(bodies: list[str]) -> None:
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute(SCRIPT)
            register(con, *bodies)
            run(con)
            found.append(told(con))
    assert found[0] == found[1]


def test_who_has_begun_is_read_pinned_or_keeps_otherwise_has_its_own_plan(con) -> None:
    first, other = f"SELECT k, count(*) AS n {GROUPS}", f"SELECT k, sum(v) AS n {GROUPS}"
    says = f"EXPLAIN CREATE CONTINUOUS QUERY z AS {other}"

    def has_its_own() -> bool:
        text = explained(con, says)
        con.execute(f"CREATE CONTINUOUS QUERY z AS {other}")
        family = con.engine.query("z").family
        con.execute("DROP CONTINUOUS QUERY z")
        why = "it has a plan of its own: q0 shows something of the same, but has begun, is read or"
        assert (why in text) == (family is None)
        return family is None

    register(con, first)
    assert not has_its_own()
    con.execute("CREATE CONTINUOUS QUERY reader AS SELECT max(n) AS m FROM q0")
    assert "_cql_family_1" == con.engine.query("q0").family
    con.execute("DROP CONTINUOUS QUERY reader; DROP CONTINUOUS QUERY q0")
    register(con, first)
    con.execute("CREATE CONTINUOUS QUERY reader AS SELECT max(n) AS m FROM q0")
    assert has_its_own()
    con.execute("DROP CONTINUOUS QUERY reader")
    con.execute("ALTER CONTINUOUS QUERY q0 SET (keep = '7')")
    assert has_its_own()
    con.execute("ALTER CONTINUOUS QUERY q0 SET (keep = default)")
    assert not has_its_own()
    con.execute("DROP CONTINUOUS QUERY q0")
    register(con, first)
    run(con)
    assert has_its_own()


def test_a_family_that_is_read_takes_what_it_has(con) -> None:
    """It is not written anew, as its readers have positions in its log."""
    register(con, f"SELECT k, count(*) AS n {GROUPS}", f"SELECT k, sum(v) AS n {GROUPS}")
    con.execute("CREATE CONTINUOUS QUERY reader AS SELECT k, n FROM q1")
    con.execute(f"CREATE CONTINUOUS QUERY other AS SELECT max(v) AS m {GROUPS}")
    assert con.engine.query("other").family is None


def test_explain_says_what_a_query_shows(con) -> None:
    bodies = [f"SELECT k, count(*) AS n {GROUPS}", f"SELECT sum(v) AS n {GROUPS} HAVING max(v) > 2"]
    register(con, bodies[0])
    text = explained(con, f"EXPLAIN CREATE CONTINUOUS QUERY b AS {bodies[1]}")
    assert (
        "it forms the family _cql_family_1 with q0, of which it shows n_2 where condition" in text
    )
    assert "dropped, of q0: operator 0" in text
    register_second = f"CREATE CONTINUOUS QUERY b AS {bodies[1]}"
    con.execute(register_second)
    text = explained(con, "EXPLAIN CONTINUOUS QUERY b")
    assert text.startswith(
        "-- b is computed by _cql_family_1, one plan for 2 queries, which show something of the "
        "same; it shows n_2 where condition\n--   the others: q0"
    )
    text = explained(con, f"EXPLAIN CREATE CONTINUOUS QUERY c AS SELECT k {GROUPS}")
    assert (
        "it joins _cql_family_1, one plan for 2 queries that show something of the same; it shows "
        "k of it" in text
    )
    assert "made: " not in text
    text = explained(con, f"EXPLAIN CREATE CONTINUOUS QUERY c AS SELECT avg(d) AS a {GROUPS}")
    assert (
        "it joins _cql_family_1, one plan for 2 queries that show something of the same, and is "
        "given the columns that it lacks; it shows a of it" in text
    )
    assert "dropped, of _cql_family_1: operator 0" in text


STREAMS = [set_ for set_ in WIDENED if "Rstream" in set_[0] or "Istream" in set_[1]]


@pytest.mark.parametrize(
    ("name", "bodies"),
    [
        *((f"q{n}", WIDENED[2][1:]) for n in range(3)),
        *((f"q{n}", set_) for set_ in STREAMS for n in range(len(set_))),
    ],
)
def test_a_member_leaves_with_what_it_shows(name: str, bodies: list[str]) -> None:
    """Its log is as that of its plan is from then on; who reads it goes on."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute(SCRIPT)
            register(con, *bodies)
            window = "" if con.engine.query(name).kind == "relation" else " [RANGE 2]"
            con.execute(
                f"CREATE CONTINUOUS QUERY reader AS SELECT count(*) AS n FROM {name}{window}"
            )
            run(con)
            con.execute(f"ALTER CONTINUOUS QUERY {name} SET (sharing = false)")
            assert con.engine.query(name).family is None
            elements = con.sql(f"FROM cql_state.changes_{name}").fetchall()
            run(con, 20)
            found.append((sorted(elements, key=repr), told(con)))
    assert found[0] == found[1]


def test_a_member_that_stands_still_shows_what_it_had_where_others_go_on(con) -> None:
    register(con, *WIDENED[0])
    run(con)
    con.execute("ALTER CONTINUOUS QUERY q1 DEACTIVATE")
    before = told(con)["q1"]
    run(con, 20)
    assert told(con)["q1"] == before
    con.execute("ALTER CONTINUOUS QUERY q1 ACTIVATE")
    assert con.engine.query("q1").frontier == con.engine.query("q0").frontier
    assert told(con)["q1"] != before


def test_the_row_at_which_a_reader_fails_is_one_that_its_query_has_changed() -> None:
    """Not one in which another column of the family has."""
    found = []
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute(SCRIPT)
            groups = "FROM s [RANGE UNBOUNDED] GROUP BY k"
            register(con, f"SELECT k, count(*) AS n {groups}", f"SELECT k, max(v) AS m {groups}")
            con.execute("CREATE CONTINUOUS QUERY reader AS SELECT 6 // (m - 3) AS x FROM q1")
            con.append("s", [(1, 1, None, None), (2, 1, None, None)], at=1)
            con.append("s", [(1, 1, None, None), (2, 3, None, None)], at=2)
            con.advance(2)
            assert "q1(k = 2, m = 3)" == con.engine.query("reader").error_row
            con.execute("DROP CONTINUOUS QUERY reader")
            found.append(told(con))
    assert found[0] == found[1]


def test_time_that_turns_out_to_be_of_the_wall_gives_all_members_other_types() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        con.execute("CREATE CONTINUOUS QUERY a AS SELECT k, max(_ts) AS k_2 FROM s GROUP BY k")
        con.execute(
            "CREATE CONTINUOUS QUERY b AS SELECT max(_ts) AS t, max(v) AS k FROM s GROUP BY k"
        )
        assert con.engine.query("a").family == con.engine.query("b").family is not None
        assert [c.type for c in con.engine.query("b").columns] == ["BIGINT", "INTEGER"]
        con.append("s", [(1, 2)], at="2024-01-01")
        con.advance("2024-01-02")
        assert [c.type for c in con.engine.query("b").columns] == ["TIMESTAMP", "INTEGER"]
        assert [c.name for c in con.engine.query("b").columns] == ["t", "k"]
        assert con.sql("FROM b").fetchall()[0][1] == 2


def state(con: cqlduck.Connection) -> Any:
    """Return what is registered, as tables, views and the catalogue have it, and what it says."""
    tables = ("query_rows", "synopses", "operators", "stubs", "plans")
    rows = [sorted(con.sql(f"FROM cql_state.{t}").fetchall(), key=repr) for t in tables]
    views = con.sql("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall()
    known = con.engine.catalogue.queries.values()
    shown = [(q.name, q.family, q.member, q.projection, q.selection) for q in known]
    return rows, sorted(map(repr, views)), shown, told(con)


@pytest.mark.parametrize("there", [1, 2])
def test_widening_that_stops_at_any_statement_is_undone(there: int, tmp_path: Path) -> None:
    """Whether a family is made, or one is written anew."""
    trace = Stops()

    text = f"CREATE CONTINUOUS QUERY z AS SELECT max(d) AS n {GROUPS}"
    with cqlduck.connect(tmp_path / "a.duckdb", trace=trace) as con:
        con.execute(SCRIPT)
        register(con, *WIDENED[2][:there])
        before = state(con)

        def check(stops: int) -> None:
            assert state(con) == before, stops

        stops = trace.each(con, text, check, step=9 // fewer_if_brief(9))
        assert stops > 10
        run(con)
        assert not [row for row in con.check().fetchall() if row[5] == "wrong"]
        after = told(con)
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        assert told(con) == after
    with cqlduck.connect(sharing=False) as con:
        con.execute(SCRIPT)
        register(con, *WIDENED[2][:there])
        con.execute(text)
        run(con)
        assert told(con) == after


def test_the_text_of_both_has_the_columns_of_the_first_one_first(con) -> None:
    def written(body: str) -> Written:
        return widening.written(body, con.engine.compile("q", body))

    one = written("SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k HAVING count(*) > 5")
    other = written("SELECT k, sum(x.v) AS N FROM s [RANGE 3] AS x GROUP BY k")
    assert widened(one, other) == (
        'SELECT k, count(*) AS n, (SUM("s".v)) AS "N_2", (COUNT(*) > 5) AS "condition" '
        "FROM s [RANGE 3] GROUP BY k"
    )
    assert widened(other, one) == (
        'SELECT k, sum(x.v) AS N, (COUNT(*)) AS "n_2", (COUNT(*) > 5) AS "condition" '
        "FROM s [RANGE 3] AS x GROUP BY k"
    )
    same = written("SELECT count(*) AS c FROM s [RANGE 3] GROUP BY k HAVING c > 5")
    assert widened(one, same) == (
        "SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k HAVING (COUNT(*) > 5)"
    )


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("SELECT k, v FROM s [RANGE 3] WHERE v > 1 AND k = 1 AND v < k", 3),
        ("SELECT k, count(*) AS n FROM s [RANGE 3] WHERE v > 1 AND k = 1 AND v < k GROUP BY k", 1),
        ("SELECT count(*) AS n FROM s [RANGE 3] WHERE v > 1 AND k = 1", 0),
        ("SELECT k FROM s [RANGE 3] WHERE k = 1 GROUP BY k HAVING k = 1 AND max(v) > 2", 2),
        ("SELECT v, w FROM s [RANGE 3], r WHERE s.k = r.k AND v < w AND v > 1 AND w > 1", 2),
    ],
)
def test_which_conjuncts_are_conditions_of_what_is_shown(con, body: str, count: int) -> None:
    """Of one input of a join; below an aggregate, of keys alone."""
    assert len(con.engine.compile("q", body).outline.conditions) == count


def test_a_subscription_of_a_member_has_net_elements(con: cqlduck.Connection) -> None:
    """Alone a query has equal elements of an instant as one, so has a member that shows less."""
    bodies = ["SELECT Rstream(k, v) FROM s [NOW]", "SELECT Rstream(k) FROM s [NOW]"]
    families = register(con, *bodies)
    assert None is not families[0] == families[1]
    con.append("s", [(1, 1, None, None), (1, 2, None, None)], at=1)
    con.advance(2)
    found = [row for batch in con.subscribe("q1", since=0) for row in batch.to_pylist()]
    assert [{"k": 1, "_ts": 1, "_weight": 2}] == found
