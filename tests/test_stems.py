"""Queries that differ in constants and in what they show are computed by one plan.

`test_families` has random sets of them; here is what is shared, what is not, and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from counts import fewer_if_brief
from stops import Stops
from test_families import Pair
from test_widening import SCRIPT, explained, register, run, state, told

import cqlduck
from cqlduck.compiler import Compiler
from cqlduck.rewrite.text.shapes import is_stem, shape_of, shapes_of, stems_of

GROUPS = "FROM s [RANGE 3] WHERE v > {} GROUP BY k"
JOIN = "FROM s [RANGE 3], r WHERE s.k = r.k AND v > {}"


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as made:
        made.execute(SCRIPT)
        yield made


def bodies(rest: str, *lists: str, first: int = 0) -> list[str]:
    """Return queries of a stem, one for each list, each with another constant."""
    return [f"SELECT {one} {rest.format(n)}" for n, one in enumerate(lists, first)]


STEMS = [
    # aggregates, under names that collide, in another order, over other groups
    bodies(GROUPS, "k, count(*) AS n", "sum(v) AS n, k AS x", "k", "avg(d), count(*) AS m"),
    bodies(GROUPS, "k, max(v) AS n", "min(d) AS n", "count(*), max(name) AS n"),
    bodies(GROUPS, "count(DISTINCT v) AS n", "k, median(v) AS n", "bool_or(d > 1) AS n"),
    bodies("FROM s [RANGE 3] GROUP BY k HAVING count(*) > {}", "k", "k, count(*)", "sum(v) AS k"),
    bodies("FROM s [RANGE 2] GROUP BY ALL HAVING sum(v) < {}", "k, count(*)", "k, avg(v)"),
    # global ones, which have a row over nothing
    bodies("FROM s [RANGE 1] WHERE v > {}", "count(*) AS n", "sum(v) AS n", "avg(d)"),
    # windows of several lengths
    [f"SELECT {one} FROM s [RANGE {w}] WHERE v > {w} GROUP BY k"
     for w, one in enumerate(("k, count(*) AS n", "k, sum(v)", "sum(v), avg(v)"), 2)],
    # joins, with tuples that become equal
    bodies(JOIN, "s.k, v AS n", "w", "upper(name) AS u, s.k"),
    bodies(JOIN, "*", "w, v", "name"),
    bodies("FROM s x LEFT JOIN r y ON x.k = y.k WHERE v > {}", "w", "x.k, name"),
    # streams
    bodies("FROM s WHERE v > {}", "*", "k, v", "v AS n", "k, k > v AS n"),
    bodies("FROM s [NOW], r WHERE s.k = r.k AND w > {}", "Rstream(s.k)", "Rstream(w, v)"),
    bodies("FROM s WHERE NOT (v = {} AND k = 1)", "k", "v, name"),
    # what differs in constants alone, or in what it shows alone, comes first
    [*bodies(GROUPS, "k, count(*) AS n", "k, count(*) AS n"), *bodies(GROUPS, "k, sum(v)")],
    [f"SELECT {one} {GROUPS.format(c)}" for c in (1, 2, 3) for one in ("k, count(*)", "sum(v)")],
    [f"SELECT {one} {GROUPS.format(c)}" for c in (1, 2) for one in ("k, sum(v)", "k, sum(v)", "k")],
    [f"SELECT {one} FROM s WHERE v > {c}" for c in (1, 2) for one in ("k", "v AS n")],
]  # fmt: skip


@pytest.mark.parametrize("texts", STEMS)
def test_one_plan_computes_them(texts: list[str], tmp_path: Path) -> None:
    pair = Pair(tmp_path, {})
    pair.open()
    pair.execute(SCRIPT)
    for con in pair.both:
        register(con, *texts)
    one = pair.both[0]
    queries = one.engine.catalogue.queries.values()
    assert len({query.family for query in queries}) == 1
    (family,) = one.engine.catalogue.families.values()
    assert family.shape is not None
    assert is_stem(family.shape)
    # equal constants have one row
    values = {tuple(c.sql for c in shape_of(text, family.shape).constants) for text in texts}
    assert len({query.member for query in queries}) == len(values)
    for con in pair.both:
        run(con)
    pair.open()
    one = pair.both[0]
    for con in pair.both:
        # what begins later has what comes then
        for number, text in enumerate(texts):
            con.execute(f"CREATE CONTINUOUS QUERY later{number} AS {text}")
        run(con, 9)
    queries = one.engine.catalogue.queries.values()
    assert not family.is_open or all(query.family == family.name for query in queries)
    assert told(one) == told(pair.both[1])
    assert not [row for row in one.check().fetchall() if row[5] == "wrong"]
    for con in pair.both:
        for name in ("q0", "later1"):
            con.execute(f"DROP CONTINUOUS QUERY {name}")
            con.execute(f"ALTER CONTINUOUS QUERY {'q1' if name == 'q0' else 'later0'} DEACTIVATE")
        run(con, 18)
    assert told(one) == told(pair.both[1])
    for con in pair.both:
        con.close()


@pytest.mark.parametrize(
    "texts",
    [
        # a dearer aggregate would be computed for all
        bodies(GROUPS, "k, count(*) AS n", "k, max(v) AS n"),
        bodies(GROUPS, "k, max(v) AS n", "k, median(v) AS n"),
        # other groups, other clauses, other operators
        bodies(GROUPS, "k, count(*) AS n", "DISTINCT k"),
        bodies("FROM s WHERE v > {}", "k", "Istream(v)"),
        bodies("FROM s WHERE v > {} ORDER BY k", "k", "k, v"),
        [f"SELECT k, count(*) {GROUPS.format(1)}", f"SELECT k {GROUPS.format(2)}, v"],
        # a constant that is shown is a constant
        bodies(GROUPS, "k, 7 AS level", "k, 8 AS level, count(*) AS n"),
        # what may fail, or leave and return
        bodies("FROM s [RANGE 3] WHERE v > {}", "k", "10 // v AS k"),
        bodies(GROUPS, "Istream(k)", "Istream(k, count(*))"),
        # of no constants
        ["SELECT DISTINCT k FROM s WHERE v > 1", "SELECT v FROM s WHERE v > 2"],
    ],
)
def test_other_queries_have_other_plans(con: cqlduck.Connection, texts: list[str]) -> None:
    assert register(con, *texts) == [None, None]


def test_a_name_of_the_list_means_what_it_means_alone(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {})
    pair.open()
    pair.execute(SCRIPT)
    texts = [
        "SELECT k, count(*) AS n FROM s [RANGE 3] WHERE v > 0 GROUP BY k HAVING n > 1",
        "SELECT k, sum(v) AS n FROM s [RANGE 3] WHERE v > 1 GROUP BY k HAVING n > 2",
        "SELECT v AS k FROM s [RANGE 3] WHERE v > 2 GROUP BY k, v",
        "SELECT k FROM s [RANGE 3] WHERE v > 3 GROUP BY k, v",
        "SELECT k % 2 AS g, count(*) FROM s [RANGE 3] WHERE v > 0 GROUP BY g",
        "SELECT v % 2 AS g, count(*) FROM s [RANGE 3] WHERE v > 1 GROUP BY g",
        "SELECT k, count(*) FROM s [RANGE 3] WHERE v > 0 GROUP BY 1",
        "SELECT v, count(*) FROM s [RANGE 3] WHERE v > 1 GROUP BY 1",
    ]
    for con in pair.both:
        register(con, *texts)
        run(con)
    assert told(pair.both[0]) == told(pair.both[1])


def test_a_family_that_has_moved_gets_no_columns(con: cqlduck.Connection) -> None:
    register(con, *bodies(GROUPS, "k, count(*) AS n", "k, sum(v) AS n"))
    run(con)
    found = register_more(con, *bodies(GROUPS, "k, sum(v) AS n", "k, avg(v) AS n", first=3))
    assert found == ["_cql_family_1", None]
    run(con, 9)
    # those that come later are of one shape with the one that has its own plan, or of the family
    more = bodies(GROUPS, "k, avg(v) AS n", "k, count(*) AS n", first=7)
    assert [name is None for name in register_more(con, *more)] == [False, False]
    run(con, 18)
    assert con.engine.query("more2").family == "_cql_family_2"


def register_more(con: cqlduck.Connection, *texts: str) -> list[str | None]:
    """Register further queries; return their families."""
    first = len([name for name in con.queries if name.startswith("more")])
    names = [f"more{number}" for number in range(first, first + len(texts))]
    for name, text in zip(names, texts, strict=True):
        con.execute(f"CREATE CONTINUOUS QUERY {name} AS {text}")
    return [con.engine.query(name).family for name in names]


def test_a_list_that_is_known_is_parsed_and_compiled_by_nobody(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(con, *bodies(GROUPS, "k, count(*) AS n", "k, sum(v) AS n"))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(Compiler, "compile", refuse)
    more = bodies(GROUPS, "k, count(*) AS n", "k, sum(v) AS n", first=7)
    assert register_more(con, *more) == ["_cql_family_1"] * 2


def test_equal_members_of_a_family_that_gives_way_are_compiled_once(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"SELECT {one} {GROUPS.format(1)}" for one in ("k, count(*) AS n", "k")] * 10
    register(con, *texts)
    count, compiled = 0, Compiler.compile

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        return compiled(*given, **named)

    monkeypatch.setattr(Compiler, "compile", counted)
    assert register_more(con, f"SELECT k, sum(v) AS n {GROUPS.format(2)}") == ["_cql_family_2"]
    assert {con.engine.query(name).family for name in con.queries} == {"_cql_family_2"}
    assert count < 10
    assert register_more(con, *texts[:2] * 3, *bodies(GROUPS, "k, avg(v) AS n", first=3))[-1]


def test_a_family_of_many_members_does_not_give_way(con: cqlduck.Connection) -> None:
    texts = [f"SELECT {one} {GROUPS.format(1)}" for one in ("k, count(*) AS n", "k")] * 33
    assert set(register(con, *texts)[1:]) == {"_cql_family_1"}
    assert register_more(con, f"SELECT k, sum(v) AS n {GROUPS.format(2)}") == [None]


def test_who_stands_still_does_not_move_to_another_family(con: cqlduck.Connection) -> None:
    register(con, *(f"SELECT {one} {GROUPS.format(1)}" for one in ("k, count(*)", "sum(v)")))
    con.execute("ALTER CONTINUOUS QUERY q0 DEACTIVATE")
    found = register_more(con, f"SELECT k, count(*) {GROUPS.format(2)}")
    assert found == [None]
    assert con.queries["q0"].state == "inactive"


def test_who_left_is_merged_again(con: cqlduck.Connection) -> None:
    texts = bodies(GROUPS, "k, count(*) AS n", "k, sum(v) AS n")
    with cqlduck.connect(sharing=False) as alone:
        alone.execute(SCRIPT)
        for one in (con, alone):
            register(one, *texts, texts[0])
            run(one)
        con.execute("ALTER CONTINUOUS QUERY q0 SET (sharing = false)")
        con.execute("ALTER CONTINUOUS QUERY q0 SET (sharing = true)")
        assert con.engine.query("q0").family is None
        for one in (con, alone):
            run(one, 9)
            run(one, 18)
        # q2 has its constants and its list; q1, which has been there for longer, has another one
        assert con.engine.query("q0").family == con.engine.query("q2").family == "_cql_family_1"
        assert told(con) == told(alone)


def test_explain_says_what_a_member_shows(con: cqlduck.Connection) -> None:
    texts = bodies(GROUPS, "k, count(*) AS n", "k, sum(v) AS n", "k, avg(v)", "k, max(v)")
    register(con, texts[0])
    said = explained(con, f"EXPLAIN CREATE CONTINUOUS QUERY x AS {texts[1]}")
    assert (
        "it forms the family _cql_family_1 with q0, of which it shows k, n_2; they differ in "
        "constants besides"
    ) in said
    register_more(con, texts[1])
    said = explained(con, f"EXPLAIN CREATE CONTINUOUS QUERY x AS {texts[2]}")
    assert (
        "it joins _cql_family_1, one plan for 2 queries of other constants and columns, and is "
        "given the columns that it lacks; it shows k, avg(v) of it"
    ) in said
    said = explained(con, f"EXPLAIN CREATE CONTINUOUS QUERY x AS {texts[3]}")
    assert "it or _cql_family_1 has dearer aggregates than the other" in said
    said = explained(con, "EXPLAIN CONTINUOUS QUERY more0")
    assert (
        "one plan for 2 queries, which differ in constants and in what they show; it is number 2 "
        "and shows k, n_2"
    ) in said


@pytest.mark.parametrize("there", [1, 2, 3])
def test_a_change_that_stops_at_any_statement_is_undone(there: int, tmp_path: Path) -> None:
    """Founding, moving from a family without constants, and being given a column."""
    texts = [
        [
            f"SELECT k, count(*) AS n {GROUPS.format(0)}",
            f"SELECT k, sum(v) AS n {GROUPS.format(0)}",
        ],
        bodies(GROUPS, "k, count(*) AS n", "k, sum(v) AS n"),
    ][there == 3][: min(there, 2)]
    text = f"CREATE CONTINUOUS QUERY x AS SELECT k, avg(v) AS n {GROUPS.format(7)}"
    trace = Stops()
    with cqlduck.connect(tmp_path / "a.duckdb", trace=trace) as con:
        con.execute(SCRIPT)
        register(con, *texts)
        before = state(con)

        def check(stops: int) -> None:
            assert state(con) == before, stops

        assert trace.each(con, text, check, step=9 // fewer_if_brief(9)) > 10
        assert con.engine.query("x").family is not None
        run(con)
        after = told(con)
    with cqlduck.connect(sharing=False) as con:
        con.execute(SCRIPT)
        register(con, *texts)
        con.execute(text)
        run(con)
        assert told(con) == after


def test_a_stem_is_read_from_the_text() -> None:
    def keys(text: str) -> list[str]:
        return [stem.key for stem in stems_of(text)]

    assert keys("SELECT k FROM s WHERE v > 1") == keys("SELECT sum(v) AS x FROM s WHERE v > 2")
    assert keys("SELECT k FROM s WHERE v > 1") != keys("SELECT k FROM s WHERE v > 'a'")
    assert keys("SELECT k FROM s WHERE v > 1") != keys("SELECT Rstream(k) FROM s WHERE v > 1")
    assert len(keys("SELECT k FROM s [RANGE 3] WHERE v > 1 AND (k = 1 OR v < 7)")) == 4
    for text in (
        "SELECT k FROM s",
        "SELECT DISTINCT k FROM s WHERE v > 1",
        "SELECT k FROM s WHERE v > 1 ORDER BY k",
        "SELECT k, 1 AS one FROM s WHERE v > 1",
        "SELECT k FROM s WHERE v > 1 LIMIT 3",
    ):
        assert not keys(text)


def test_the_row_at_which_a_reader_fails_is_one_of_its_member(con: cqlduck.Connection) -> None:
    register(con, *bodies(GROUPS, "k, count(*) AS n", "k, sum(v) AS m"))
    con.execute("CREATE CONTINUOUS QUERY reader AS SELECT 6 // (m - 3) AS x FROM q1")
    con.append("s", [(2, 1, None, None)] * 3, at=1)
    # the sum of q0 leaves that comes of q1
    con.append("s", [(2, 3, None, None)], at=2)
    con.advance(2)
    assert con.engine.query("reader").error_row == "q1(k = 2, m = 3)"


CHANGES = [
    "DROP CONTINUOUS QUERY q0",
    "CREATE OR REPLACE CONTINUOUS QUERY q0 AS SELECT k FROM s",
    "ALTER CONTINUOUS QUERY q0 SET (sharing = false)",
]


@pytest.mark.parametrize("text", CHANGES)
@pytest.mark.parametrize("shown", ["k, avg(v) AS n", "count(*) AS n", "k, sum(v) AS n", "k AS n_2"])
def test_who_showed_what_a_family_without_constants_called_otherwise_shows_it(
    text: str, shown: str, tmp_path: Path
) -> None:
    pair = Pair(tmp_path, {})
    pair.open()
    pair.execute(SCRIPT)
    for con in pair.both:
        register(
            con,
            *(f"SELECT {one} {GROUPS.format(1)}" for one in ("k, count(*) AS n", "k, sum(v) AS n")),
        )
        con.execute(text)
        con.execute(f"CREATE CONTINUOUS QUERY x AS SELECT {shown} {GROUPS.format(2)}")
        run(con)
    assert told(pair.both[0]) == told(pair.both[1])


def test_who_has_left_says_no_longer_what_a_list_shows(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {})
    pair.open()
    pair.execute(SCRIPT)
    for con in pair.both:
        lists = ("k, count(*) AS n", "k, count(*) AS n", "k", "k")
        register(con, *(f"SELECT {one} {GROUPS.format(n % 2)}" for n, one in enumerate(lists)))
        con.execute("DROP CONTINUOUS QUERY q1")
        register_more(
            con,
            f"SELECT k, sum(v) AS t {GROUPS.format(0)}",
            *[f"SELECT {lists[0]} {GROUPS.format(0)}"],
        )
        run(con)
    assert told(pair.both[0]) == told(pair.both[1])


def test_an_open_family_of_the_stem_comes_before_one_that_has_to_be_made(
    con: cqlduck.Connection,
) -> None:
    lists = ("k, count(*) AS n", "k, sum(v) AS n", "k, sum(v) AS n")
    register(con, *bodies(GROUPS, *lists))
    run(con)
    con.execute("ALTER CONTINUOUS QUERY q1 SET (sharing = false)")
    assert register_more(con, *bodies(GROUPS, lists[1], first=9)) == ["_cql_family_1"]


def test_a_family_of_many_columns_gets_no_further_ones(con: cqlduck.Connection) -> None:
    lists = [f"k, count(*) FILTER (WHERE v > {n}) AS n" for n in range(40)]
    families = register(con, *bodies(GROUPS, *lists))
    assert len(set(families)) == 3
    for family in con.engine.catalogue.families.values():
        assert len(family.columns) <= 17


def test_a_text_of_several_lines_is_no_other_text() -> None:
    one = "SELECT k, name || 'a\nDPIPE:||\nSTRING:b' AS n FROM s WHERE v > 1"
    other = "SELECT k, name || 'a' || 'b' AS n FROM s WHERE v > 1"
    assert {stem.listed for stem in stems_of(one)}.isdisjoint(
        stem.listed for stem in stems_of(other)
    )
    keys = [{shape.key for shape in shapes_of(text)} for text in (one, other)]
    assert keys[0].isdisjoint(keys[1])
