"""Caches of joins: which there may be, that they change no answer, and when they are made."""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import choices
import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.rewrite.plan import Join, unique
from cqlduck.rewrite.plan.join_graph import SpanningTree
from cqlduck.rewrite.plan.segments import (
    CACHES,
    Cached,
    Segment,
    caching_of_text,
    caching_text,
    is_laminar,
    met,
    segments_of,
    units,
)
from cqlduck.rewrite.statements.ordered import JoinCaches
from cqlduck.state.filling import Limit
from cqlduck.state.probing import CachesProfiled, JoinProfiled
from cqlduck.streamon import cache_costs, caching, confirming, streamon
from cqlduck.streamon.cache_choice import (
    allocated,
    global_optimum,
    least,
    thesis,
    with_keys,
)
from cqlduck.streamon.cache_costs import (
    APPEND,
    DELETE,
    LEAST_FIXED,
    MOST_FIXED,
    ROW,
    SCAN,
    SEARCH,
    SEARCH_SCAN,
    STATEMENT,
    STEP,
    TABLE,
    UPKEEP,
    Costs,
    Known,
)
from cqlduck.streamon.candidates import prefixes
from cqlduck.streamon.join_orders import Matches
from cqlduck.streamon.selection import exhaustive, selected

NAMES = "rsuv"
RELATIONS = "klm"
STREAMS = "".join(
    f"CREATE STREAM {name} (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t;" for name in NAMES
)
SCHEMA = STREAMS + "".join(f"CREATE RELATION {name} (a INTEGER, b INTEGER);" for name in RELATIONS)
CHAIN = "WHERE r.a = s.a AND s.b = u.b AND u.a = v.a"
WINDOWS = "r [RANGE 3], s [RANGE 5 SLIDE 2], u [RANGE 2], v [RANGE 7]"
SHOWN = "r.b AS w, v.b AS x, s.b AS y, u.b AS z"
QUERIES = {
    "chain": f"SELECT {SHOWN} FROM {WINDOWS} {CHAIN} AND r.b <= v.b",
    "star": f"SELECT {SHOWN} FROM {WINDOWS} WHERE r.a = s.a AND r.a = u.a AND r.a = v.a",
    "cycle": f"SELECT {SHOWN} FROM {WINDOWS} {CHAIN} AND v.b = r.b",
    "groups": f"SELECT v.b, count(*) AS n, max(s.b) AS m FROM {WINDOWS} {CHAIN} GROUP BY v.b",
    "trace": f"SELECT r.b, median(s.b) AS m, median(u.b) AS n FROM {WINDOWS} WHERE r.a = s.a "
    "AND r.a = u.a AND r.a = v.a GROUP BY r.b",
    "now": f"SELECT {SHOWN} FROM r [NOW], s [RANGE 5], u [RANGE 2], v [RANGE 7] {CHAIN}",
    "unbounded": f"SELECT {SHOWN} FROM r [RANGE 3], s, u [RANGE 4], v {CHAIN}",
    "stream": f"SELECT ISTREAM(r.b AS w, v.b AS x) FROM {WINDOWS} {CHAIN}",
    "null safe": f"SELECT {SHOWN} FROM {WINDOWS} WHERE r.a IS NOT DISTINCT FROM s.a "
    "AND s.b = u.b AND u.a IS NOT DISTINCT FROM v.a",
    "filters": f"SELECT {SHOWN} FROM {WINDOWS} {CHAIN} AND s.b > 0 AND u.a < 2",
    "rows": f"SELECT {SHOWN} FROM r [RANGE 2], s [ROWS 6], u [PARTITION BY a ROWS 2], v [RANGE 4] "
    f"{CHAIN}",
    "relations": "SELECT r.b AS w, k.b AS x, l.b AS y FROM r [RANGE 3], k, l, m WHERE r.a = k.a "
    "AND k.b = l.a AND l.b = m.a",
    "relations and windows": "SELECT r.b AS w, k.b AS x, s.b AS y FROM r [NOW], k, s [RANGE 3], l "
    "WHERE r.a = k.a AND k.b = s.a AND s.b = l.a",
    "grouped relations": "SELECT k.b, count(*) AS n, min(m.b) AS x FROM k, l, m WHERE k.a = l.a "
    "AND l.b = m.a GROUP BY k.b",
    "two unions": "SELECT x.b AS w, y.b AS x, z.b AS y FROM (SELECT * FROM r [RANGE 3] UNION ALL "
    "SELECT * FROM s [RANGE 4]) x, u [RANGE 5] y, v [RANGE 2] z WHERE x.a = y.a AND y.b = z.b",
}
PINS = [
    *["none", "1+2", "2+3", "3+4", "1+2+3", "2+3+4", "1+2 3+4", "1+4", "1+3 2+4", "1+3"],
    # XJoins, and caches that some pipelines use
    *["1+2 1+2+3", "2+3 2+3+4", "1+3 1+2+3", "2+3@1", "1+2@3", "1+2@3 3+4@1+2", "2+3@4"],
    *["2+3@1+4 2+3+4@1", "2+3@4 2+3+4", "1+2@4 1+2+3", "1+2@3 1+2+3", "1+3@2 1+3+4"],
    # partial ones, with room for all keys or one, in others and around them
    *["2+3@1:64", "2+3@1:1", "2+3@4:2", "1+2@3:2", "2+3+4@1:2", "1+2:1", "1+3@2:1 1+3+4"],
    *["1+2@3:3 1+2+3@4:2", "2+3@4:1 2+3+4", "2+3 2+3+4@1:1", "1+2:8", "1+2@3:1 3+4@2:1"],
]


def batch(drawn: random.Random, at: int, most: int = 3) -> dict[str, list[tuple[Any, ...]]]:
    """Return tuples of each stream at an instant: equal ones, NULLs, none of some."""
    values = [0, 1, 2, None]
    return {
        name: [
            (drawn.choice(values), drawn.choice(values), at) for _ in range(drawn.randint(0, most))
        ]
        for name in NAMES
    }


def play(con: cqlduck.Connection, seed: int, instants: range) -> None:
    for at in instants:
        for sign, name, row in changes(seed)[at] if "k" in con.relations else ():
            (con.append if sign == "+" else con.retract)(name, [row], at=at)
        for name, rows in batch(random.Random(f"{seed} {at}"), at).items():
            if rows:
                con.append(name, rows)
        if at % 3 != 1:
            con.advance(at)


@functools.cache
def changes(seed: int) -> list[list[tuple[str, str, tuple[Any, Any]]]]:
    """Return by instant what comes to relations and goes: equal tuples and NULLs, too."""
    drawn, values = random.Random(f"{seed} relations"), [0, 1, 2, None]
    standing: list[tuple[str, tuple[Any, Any]]] = []
    found = []
    for _ in range(40):
        mine = []
        for name in RELATIONS:
            for _ in range(drawn.randint(0, 2)):
                row = (drawn.choice(values), drawn.choice(values))
                mine += [("+", name, row)] * drawn.choice([1, 1, 2])
        standing += [(name, row) for _, name, row in mine]
        for _ in range(drawn.randint(0, 5)):
            if len(standing) > 6:
                name, row = standing.pop(drawn.randrange(len(standing)))
                mine.append(("-", name, row))
        found.append(mine)
    return found


def elements(con: cqlduck.Connection) -> list[Any]:
    return sorted(map(str, con.changes("q").fetchall()))


def cached(con: cqlduck.Connection) -> list[str]:
    return [row[0] for row in con.sql("SELECT inputs FROM cql.caches ORDER BY ALL").fetchall()]


def assert_right(con: cqlduck.Connection) -> None:
    wrong = (
        con.check().filter("state = 'wrong' OR (kind = 'cache' AND state <> 'right')").fetchall()
    )
    assert [] == wrong


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect(adaptive=False) as connection:
        connection.execute(SCHEMA)
        yield connection


def about(con: cqlduck.Connection) -> JoinCaches:
    (found,) = [one for one in con.engine.compiled["q"].ordered if isinstance(one, JoinCaches)]
    return found


# -- which there may be ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("chain", "1+2 2+3 3+4 1+2+3 2+3+4"),
        ("star", "1+2 1+3 1+4 1+2+3 1+2+4 1+3+4"),
        ("cycle", "1+2 1+4 2+3 3+4 1+2+3 1+2+4 1+3+4 2+3+4"),
        ("now", "2+3 3+4 2+3+4"),
        ("unbounded", "1+2 2+3 3+4 1+2+3 2+3+4"),
        ("two unions", "1+2 2+3"),
        ("rows", "1+2 2+3 3+4 1+2+3 2+3+4"),
        ("relations", "1+2 2+3 3+4 1+2+3 2+3+4"),
        ("relations and windows", "2+3 3+4 2+3+4"),
    ],
)
def test_segments_are_linked_by_equalities(
    con: cqlduck.Connection, kind: str, expected: str
) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {QUERIES[kind]}")
    assert expected == " ".join(caching_text((Cached(one),)) for one in about(con).segments)


@pytest.mark.parametrize(
    ("items", "where"),
    [
        ("r [RANGE 3], s [RANGE 5]", "r.a = s.a"),
        ("r [NOW], s [NOW], u [RANGE 3]", "r.a = s.a AND s.b = u.b"),
        ("r [RANGE 3], (SELECT DISTINCT a, b FROM k) k, (SELECT max(b) AS b FROM l) l",
         "r.a = k.a AND k.b = l.b"),
        ("r [RANGE 3], s [RANGE 3], u [RANGE 3]", "r.a < s.a AND s.b > u.b"),
        ("r [RANGE 3], s [RANGE 3], u [RANGE 3]",
         "r.a = s.a AND s.b = u.b AND (r.b || u.a)::INTEGER > 3"),
        ("r [RANGE 3], s [RANGE 3], u", "r.a = s.a AND s.b = u.b AND u.t <= s.t"),
    ],
)  # fmt: skip
def test_where_nothing_is_linked_or_stored_there_is_no_cache(
    con: cqlduck.Connection, items: str, where: str
) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT r.a FROM {items} WHERE {where}")
    found = con.engine.compiled["q"].ordered
    assert [] == [one for one in found if isinstance(one, JoinCaches)]
    con.pin(CACHES, "1+2, 2+3")
    play(con, 0, range(4))
    assert [] == cached(con)


def test_a_pin_runs_where_it_may(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {QUERIES['chain']}")
    con.pin(CACHES, "1+3, 3+2", "q")
    play(con, 0, range(3))
    assert ["2+3"] == cached(con)
    stands = con.sql("SELECT option, chosen_by FROM cql.points WHERE point = 'caches' "
                     "AND operator IS NOT NULL").fetchall()  # fmt: skip
    assert [("2+3", "user")] == stands
    assert "caches of operator 1: 2+3, chosen by user" in con.explain("q")
    assert "append to the cache what begins in the segment" in con.explain("q")
    assert "fill a cache, when it is made" in con.explain("q")
    ((shown,),) = con.sql("SELECT sql FROM cql.operators WHERE number = 1").fetchall()
    assert "_of_2_3_cache" in shown
    con.pin(CACHES, None, "q")
    play(con, 0, range(3, 6))
    assert [] == cached(con)


@pytest.mark.parametrize(
    "option",
    ["2", "2+2", "0+1", "1+2 2+3", "1 2", "2+", "a+b", "2+3:", "2+3@1:0", "2+3@1:-1", "2+3:x"],
)
def test_what_is_no_option_says_what_is(con: cqlduck.Connection, option: str) -> None:
    with pytest.raises(cqlduck.Error) as caught:
        con.pin(CACHES, option)
    assert f"the point caches has no option {option}" == caught.value.message
    assert "inputs such as '2+3', or of two caches '1+2 3+4'" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        ("3+4 1+2", "1+2 3+4"),
        ("1+2 1+2+3", "1+2 1+2+3"),
        # who can use them
        ("1+2@3+4", "1+2"),
        ("1+2@3 1+2+3@4", "1+2 1+2+3"),
        ("1+2@4 1+2+3@4", None),
        # inputs that are cached together have one pipeline
        ("2+3@1 1+4", "1+4 2+3"),
        ("1+2@3", "1+2@3"),
        ("1+2@3 3+4@1", "1+2 3+4"),
        ("1+2@3+4 1+2+3@4", "1+2 1+2+3"),
        ("1+2@3 2+3", None),
        ("1+2@5", None),
        # of a partial one all who use it ask for the same keys, and are no caches themselves
        ("3+2@1:64", "2+3@1:64"),
        ("2+3@4:1", "2+3@4:1"),
        ("2+3:64", None),
        ("1+2@3+4:64", None),
        ("1+3:64", None),
        ("1+2@3:64 3+4@1", None),
        ("1+2@3:2 1+2+3@4:64", "1+2@3:2 1+2+3@4:64"),
        ("2+3:64 2+3+4", "2+3@4:64 2+3+4"),
    ],
)
def test_an_option_is_written_in_one_way(
    con: cqlduck.Connection, option: str, shown: str | None
) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {QUERIES['cycle']}")
    known = about(con)
    # a text that is none of caches is another kind of option
    assert shown == (known.option(option) if caching_of_text(option) else None)


def test_what_pipelines_meet() -> None:
    five = (0, 1, 2, 3, 4)
    tree = caching_of_text("1+2 1+2+3 4+5@1+2+3")
    assert tree is not None
    assert ((0, 1, 2), (3, 4)) == units(tree, five)
    assert ((0, 1), (2,)) == units(tree, (0, 1, 2))
    assert ((0, 1, 2), (3, 4)) == met(tree, (0, 1, 2), five) == met(tree, (3, 4), five)
    others = caching_of_text("1+2@4 1+2+3@5")
    assert others is not None
    assert ((0, 1), (2,), (3,), (4,)) == met(others, (3,), five)
    assert ((0, 1, 2), (3,), (4,)) == met(others, (4,), five)
    # 3 is said to use none
    assert ((0,), (1,), (2,)) == met(others, (2,), (0, 1, 2))


# -- they change no answer ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "edge"),
    [*((kind, "closed") for kind in QUERIES), ("chain", "half_open"), ("now", "half_open")],
)
def test_caches_change_no_element(kind: str, edge: str) -> None:
    """Pins follow each other in the middle of the run, in ticks of one instant and of several."""
    # of relations few tuples match
    ticks = 20 if kind == "relations" else 14
    with cqlduck.connect(adaptive=False, window_edge=edge) as con:
        con.execute(f"{SCHEMA} CREATE CONTINUOUS QUERY q AS {QUERIES[kind]}")
        play(con, 1, range(ticks))
        con.advance(30)
        expected = elements(con)
        assert expected
    drawn, seen = random.Random(kind), set()
    with cqlduck.connect(adaptive=False, window_edge=edge) as con:
        con.execute(f"{SCHEMA} CREATE CONTINUOUS QUERY q AS {QUERIES[kind]}")
        options = [pin for pin in PINS if about(con).option(pin)]
        drawn.shuffle(options)
        for number, first in enumerate(range(0, ticks, 2)):
            con.pin(CACHES, options[number % len(options)])
            con.pin("stages", drawn.choice(["staged", "whole"]))
            play(con, 1, range(first, first + 2))
            seen |= set(cached(con))
            if number % 3 == 0:
                assert_right(con)
        con.advance(30)
        assert expected == elements(con)
    assert len(seen) > 1


# each stays for some ticks; the last ones are in each other
PARTIAL_PINS = ["2+3@1:1", "1+2@3:1", "1+2@3:1 1+2+3@4:1", "2+3@4:1", "2+3@4:1 2+3+4"]


@pytest.mark.parametrize("kind", ["chain", "unbounded", "rows", "relations"])
def test_partial_caches_change_no_element(kind: str) -> None:
    """Ticks ask for several keys where there is room for one, and others for what was known."""
    found, seen = [], set()
    for is_pinned in (False, True):
        with cqlduck.connect(adaptive=False) as con:
            con.execute(f"{SCHEMA} CREATE CONTINUOUS QUERY q AS {QUERIES[kind]}")
            options = [pin for pin in PARTIAL_PINS if about(con).option(pin)]
            for number, first in enumerate(range(0, 6 * len(options), 6)):
                if is_pinned:
                    con.pin(CACHES, options[number])
                play(con, 5, range(first, first + 6))
                if is_pinned:
                    seen |= set(cached(con))
                    assert_right(con)
            con.advance(40)
            found.append(elements(con))
    assert found[0] == found[1]
    assert found[0]
    assert any(":1" in one for one in seen)


@settings(max_examples=fewer_if_brief(9), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_random_caches_change_no_element(seed: int) -> None:
    kind = random.Random(seed).choice([*QUERIES])
    found = []
    for everywhere in (False, True):
        with cqlduck.connect() as con:
            choices.draw(con, seed, everywhere=everywhere)
            con.execute(f"{SCHEMA} CREATE CONTINUOUS QUERY q AS {QUERIES[kind]}")
            play(con, seed, range(11))
            con.advance(15)
            assert_right(con)
            found.append(elements(con))
    assert found[0] == found[1]


def test_caches_stay_in_a_file_and_may_be_gone(tmp_path: Path) -> None:
    with cqlduck.connect(adaptive=False) as con:
        con.execute(f"{STREAMS} CREATE CONTINUOUS QUERY q AS {QUERIES['chain']}")
        play(con, 2, range(24))
        expected = elements(con)
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path, adaptive=False) as con:
        con.execute(f"{STREAMS} CREATE CONTINUOUS QUERY q AS {QUERIES['chain']}")
        con.pin(CACHES, "2+3")
        play(con, 2, range(8))
        con.check()
    with cqlduck.connect(path, adaptive=False) as con:
        assert ["2+3"] == cached(con)
        assert_right(con)
        play(con, 2, range(8, 12))
        # somebody has taken it away
        (table,) = {one.name for one in con.engine.caches.of("q")}
        with con.engine.database.transaction():
            con.engine.database.execute(f'DROP TABLE cql_state."{table}"')
            con.engine.database.execute("DELETE FROM cql_state.synopses WHERE kind = 'cache'")
    with cqlduck.connect(path, adaptive=False) as con:
        play(con, 2, range(12, 16))
        assert ["2+3"] == cached(con)
        assert_right(con)
        con.pin(CACHES, "1+2 3+4")
    with cqlduck.connect(path, adaptive=False) as con:
        play(con, 2, range(16, 24))
        assert ["1+2", "3+4"] == cached(con)
        assert_right(con)
        assert expected == elements(con)
        con.execute("DROP CONTINUOUS QUERY q")
        assert [] == cached(con)
        left = con.engine.database.rows(
            "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '%cache%'"
        )
        assert [] == left


def test_a_tick_that_fails_makes_no_cache(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {QUERIES['chain']}")
    text = "(r.a || CASE r.a WHEN 7 THEN 'x' END)::INTEGER"
    con.execute(f"CREATE CONTINUOUS QUERY z AS SELECT {text} AS e FROM r [RANGE 3] WHERE r.a = 7")
    play(con, 3, range(3))
    con.pin(CACHES, "2+3")
    # q is first in the tick, which is undone and runs once more without z
    con.append("r", [(7, 0, 4)])
    con.advance(4)
    assert [("failed",)] == con.sql("SELECT state FROM cql.queries WHERE name = 'z'").fetchall()
    assert ["2+3"] == cached(con)
    assert_right(con)


def test_a_query_that_is_worked_out_again_fills_its_caches_anew() -> None:
    late = [("s", (1, 1, 2)), ("u", (1, 1, 2)), ("r", (1, 0, 3)), ("v", (1, 2, 3))]
    found = []
    for pin in ("none", "2+3"):
        with cqlduck.connect(adaptive=False) as con:
            con.execute(STREAMS.replace("BY t;", "BY t LATE AMEND;"))
            query = QUERIES["chain"].replace("u [RANGE 2]", "u [RANGE 9]")
            con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
            con.pin(CACHES, pin)
            play(con, 4, range(6))
            con.advance(6)
            for name, row in late:
                con.append(name, [row])
            con.advance(7)
            # what the cache had before still stands
            assert_right(con)
            play(con, 4, range(8, 12))
            assert ([] if pin == "none" else ["2+3"]) == cached(con)
            found.append(elements(con))
            assert_right(con)
    assert found[0] == found[1]


def test_what_has_left_a_cache_is_forgotten(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {QUERIES['chain']}")
    con.engine.housekeeping.trace_room = 20
    con.pin(CACHES, "2+3")
    largest = 0
    for at in range(60):
        for name in "su":
            con.append(name, [(0, value, at) for value in (0, 1, 0)])
        con.advance(at)
        ((rows,),) = con.sql("SELECT row_count FROM cql.caches").fetchall()
        largest = max(largest, rows)
    # at most 6 instants of 15 combinations stand, and as many wait to be forgotten
    assert 0 < largest < 300
    assert_right(con)


def test_caches_in_each_other_say_their_ends(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {QUERIES['chain']}")
    con.pin(CACHES, "1+2 1+2+3")
    play(con, 0, range(6))
    assert {"1+2", "1+2+3"} == {*cached(con)}
    assert all(one.has_lifetimes for one in con.engine.caches.of("q"))
    assert "delete from the cache" not in con.explain("q")


# -- the examples of the thesis -------------------------------------------------------------------

FIGURE_5_2 = """
    CREATE RELATION r1 (a INTEGER); CREATE RELATION r2 (a INTEGER, b INTEGER);
    CREATE RELATION r3 (b INTEGER);
    CREATE CONTINUOUS QUERY q AS SELECT r1.a, r2.a AS a2, r2.b, r3.b AS b3
        FROM r1, r2, r3 WHERE r1.a = r2.a AND r2.b = r3.b
"""
"""The join of example 5.1.1. A relation may have a tuple twice, as its windows may."""


def come(con: cqlduck.Connection, at: int, **rows: list[tuple[int, ...]]) -> list[Any]:
    """Have tuples come; return what the join makes of them at the instant."""
    for name, mine in rows.items():
        con.append(name, mine, at=at)
    con.advance(at)
    return sorted(con.changes("q").filter(f"_ts = {at}").fetchall())


def segment(con: cqlduck.Connection) -> list[Any]:
    """Return the combinations in the cache of R₂ and R₃."""
    ((name,),) = con.sql("SELECT table_name FROM cql.caches").fetchall()
    return sorted(con.sql(f"FROM {name}").fetchall())


def test_examples_5_4_1_5_4_2_and_5_4_4(con: cqlduck.Connection) -> None:
    """The cache of R₂ and R₃ in the pipeline of ΔR₁; here it has the values of all keys."""
    con.execute(FIGURE_5_2)
    con.pin(CACHES, "2+3@1", "q")
    come(con, 1, r2=[(1, 2), (1, 3), (2, 3)], r3=[(2,)])
    assert ["2+3"] == cached(con)
    # 5.4.1: what ⟨1⟩ joins with is there; here before it comes
    assert [(1, 2, 2)] == segment(con)
    assert [(1, 1, 2, 2)] == [row[:4] for row in come(con, 2, r1=[(1,)])]
    # the next one hits
    assert [(1, 1, 2, 2)] == [row[:4] for row in come(con, 3, r1=[(1,)])]
    # 5.4.2 and 5.4.4: ⟨3⟩ makes (1,3,3) and (2,3,3), which passes through the pipeline of ΔR₃
    assert [(1, 1, 3, 3, 4, 2)] == come(con, 4, r3=[(3,)])
    # in a partial cache, nobody has asked for key 2
    assert [(1, 2, 2), (1, 3, 3), (2, 3, 3)] == segment(con)
    assert [(1, 1, 2, 2), (1, 1, 3, 3)] == [row[:4] for row in come(con, 5, r1=[(1,)])]
    assert_right(con)


def test_examples_5_4_1_5_4_2_and_5_4_4_with_a_partial_cache(con: cqlduck.Connection) -> None:
    """The same, as in the paper: what nobody has asked for is not there."""
    con.execute(FIGURE_5_2)
    con.pin(CACHES, "2+3@1:64", "q")
    come(con, 1, r2=[(1, 2), (1, 3), (2, 3)], r3=[(2,)])
    assert [] == segment(con)
    # 5.4.1: ⟨1⟩ misses, and what it joins with is created
    assert [(1, 1, 2, 2)] == [row[:4] for row in come(con, 2, r1=[(1,)])]
    assert [(1, 2, 2)] == segment(con)
    # the next one hits
    assert [(1, 1, 2, 2)] == [row[:4] for row in come(con, 3, r1=[(1,)])]
    # 5.4.2 and 5.4.4: of (1,3,3) and (2,3,3) the second one is ignored
    assert [(1, 1, 3, 3, 4, 2)] == come(con, 4, r3=[(3,)])
    assert [(1, 2, 2), (1, 3, 3)] == segment(con)
    assert [(1, 1, 2, 2), (1, 1, 3, 3)] == [row[:4] for row in come(con, 5, r1=[(1,)])]
    # a key without combinations is known, too
    assert [] == come(con, 6, r1=[(7,)])
    assert [1, 7] == known_keys(con)
    assert [(7, 7, 3, 3, 7, 1)] == come(con, 7, r2=[(7, 3)])
    assert [(1, 2, 2), (1, 3, 3), (7, 3, 3)] == segment(con)
    assert_right(con)


def known_keys(con: cqlduck.Connection) -> list[int]:
    """Return the keys that the partial cache knows."""
    ((name,),) = con.sql("SELECT table_name FROM cql.synopses WHERE kind = 'keys'").fetchall()
    return [key for key, _ in con.sql(f"FROM {name} ORDER BY 1").fetchall()]


@pytest.mark.parametrize("slots", [1, 4, 1024])
def test_a_partial_cache_has_as_many_keys_as_slots(con: cqlduck.Connection, slots: int) -> None:
    """And those for which the last tick asked: several of one slot stay until the next miss.

    A tuple asks when it begins, and when it ends at the next instant.
    """
    con.execute(f"CREATE CONTINUOUS QUERY q AS {QUERIES['now']}")
    con.pin(CACHES, f"2+3@1:{slots}", "q")
    con.append("s", [(key, 0, 0) for key in range(40)])
    con.append("u", [(0, 0, 0)])
    con.advance(0)
    for at in range(1, 4):
        con.append("r", [(key, 0, at) for key in range(10 * at, 10 * at + 10)])
        con.advance(at)
        known, asked = {*known_keys(con)}, {*range(max(10, 10 * at - 10), 10 * at + 10)}
        assert asked <= known
        assert len(known - asked) <= slots
        ((rows,),) = con.sql("SELECT row_count FROM cql.caches").fetchall()
        # s leaves after five instants, u after two
        assert len(known) == rows or at > 2
        assert_right(con)
    # with 4 slots ten misses drive out the ten before
    assert (slots > 4) == (10 <= min(known) < 20)


# -- what they cost -------------------------------------------------------------------------------


def matches(root: int, fanouts: dict[int, int]) -> Matches:
    """Return what one tuple of an input matches in a star."""
    places = [place for place in range(3) if place != root]
    paths = tuple(() if place == root else (place,) for place in range(3))
    return Matches(SpanningTree(root, paths), {tuple(fanouts[place] for place in places): 1})


def three(
    delta: tuple[float, ...],
    alive: tuple[float, ...],
    fanout: int,
    ends: tuple[int, ...] = (0, 1, 2),
) -> Costs:
    fanouts = {0: {1: fanout, 2: fanout}, 1: {0: fanout, 2: fanout}, 2: {0: fanout, 1: fanout}}
    return Costs(
        {root: matches(root, mine) for root, mine in fanouts.items()},
        {0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 1, 0)},
        ends,
        (0, 1, 2),
        alive,
        delta,
    )


def test_a_cache_makes_one_step_of_two() -> None:
    known = three((10, 0, 0), (100, 1000, 2000), 3)
    # 10 tuples become 30, and then 90
    fixed = STATEMENT + 2 * STEP
    assert known.of(()) == pytest.approx(fixed + SCAN * 3000 + ROW * (10 + 30 + 30 + 90))
    # R₂ ⋈ R₃ has 3,000 rows by R₂ and 6,000 by R₃
    assert known.rows_of((1, 2)) == 4500
    with_it = STATEMENT + STEP + SCAN * 4500 + ROW * (10 + 90)
    assert known.of((Cached((1, 2)),)) == pytest.approx(with_it)


def test_a_cache_has_to_be_kept_up_to_date() -> None:
    known = three((0, 10, 0), (100, 1000, 2000), 3)
    before = STATEMENT + 2 * STEP + SCAN * 2100 + ROW * (10 + 30 + 30 + 90)
    assert known.of(()) == pytest.approx(before)
    # the step to R₁ is a statement of its own, and half of what begins or ends begins
    after = before + STATEMENT + UPKEEP + APPEND * 30 / 2
    assert known.of((Cached((1, 2)),)) == pytest.approx(after)
    assert ((), known.of(())) == least(known, [(0, 1), (1, 2)])
    searched = three((0, 10, 0), (100, 1000, 2000), 3, ends=(0, 2))
    rows = searched.rows_of((1, 2))
    assert searched.of((Cached((1, 2)),)) == pytest.approx(
        known.of((Cached((1, 2)),)) + SEARCH + SEARCH_SCAN * rows + DELETE * 30 / 2, rel=1e-4
    )
    # where a row ends in one tick of ten, nothing has to be searched for in the other nine
    seldom = three((0, 0.1 / 1.5, 0), (100, 1000, 2000), 3, ends=(0, 2))
    kept = seldom.of((Cached((1, 2)),)) - seldom.of(())
    often = UPKEEP - TABLE + APPEND + SEARCH + SEARCH_SCAN * rows
    # nor is the second step a statement in ticks in which nothing comes to it
    steps = -math.expm1(-0.2) * (STATEMENT + STEP) - STEP
    assert kept == pytest.approx(TABLE - math.expm1(-0.1) * often + steps, abs=2e-6)
    assert 0 == three((10, 0, 0), (100, 1000, 2000), 3, ends=()).maintenance((1, 2))


def test_fixed_parts_are_fitted_to_what_statements_take() -> None:
    known = three((10, 0, 0), (100, 1000, 2000), 3)
    cached = (Cached((1, 2)),)
    rows = SCAN * 3000 + ROW * (10 + 30 + 30 + 90)
    slower = known.fitted((), 2 * (STATEMENT + 2 * STEP) + rows)
    assert slower.fixed == pytest.approx(2)
    # what a row takes is not fitted, so a cache of many rows saves more by its fewer steps
    assert slower.of(()) - slower.of(cached) > 1.9 * (known.of(()) - known.of(cached)) > 0
    # it is fitted anew, not on top, also to a tick with caches
    assert slower.fitted(cached, known.of(cached)).fixed == pytest.approx(1)
    assert known.fitted((), 0).fixed == LEAST_FIXED
    assert known.fitted((), 1000).fixed == MOST_FIXED
    # of what nothing is known there is nothing to fit
    assert known.fitted((Cached((1, 2), (0,), 4),), 1.0) == known


def test_what_never_changes_has_as_many_rows_as_others_met_there() -> None:
    chain = Matches(SpanningTree(0, ((), (1,), (1, 2))), {(2, 10): 1, (4, 8): 1, (0, 0): 2})
    orders = {0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 1, 0)}
    known = Costs({0: chain}, orders, (), (0, 1, 2), (10, 1000, 70), (10, 0, 0))
    # 6 rows of R₂ have met 18 of R₃
    assert 3000 == known.rows_of((1, 2))
    star = Matches(SpanningTree(0, ((), (1,), (2,))), {(2, 10): 1})
    unknown = Costs({0: star}, orders, (), (0, 1, 2), (10, 1000, 70), (10, 0, 0))
    assert math.inf == unknown.rows_of((1, 2)) == unknown.of((Cached((1, 2)),))


def test_what_a_path_outside_of_a_segment_leads_to_says_nothing_of_it() -> None:
    """In a cycle each input is met on the shortest path, which need not be that of the segment."""
    paths = ((), (1,), (2,), (1, 3))
    known = Costs(
        {0: Matches(SpanningTree(0, paths), {(2, 3, 5): 1})},
        {place: (place, *({0, 1, 2, 3} - {place})) for place in range(4)},
        range(4),
        range(4),
        (10, 10, 10, 10),
        (5, 0, 0, 0),
    )
    assert 20 == known.rows_of((0, 1))
    # R₄ is linked to R₃ too, but was met over R₂
    assert math.inf == known.rows_of((0, 2, 3))


def test_of_a_segment_that_hardly_changes_there_is_a_cache() -> None:
    known = three((1000, 1, 1), (100_000, 50_000, 50_000), 2)
    caching, cost = least(known, [(0, 1), (1, 2), (0, 2)])
    assert (Cached((1, 2)),) == caching
    assert cost == known.of((Cached((1, 2)),)) < known.of(())


def families(some: list[Segment]) -> Iterator[list[Segment]]:
    """Yield all sets of segments that may have caches together."""
    for count in range(len(some) + 1):
        for family in itertools.combinations(some, count):
            if is_laminar(family):
                yield [*family]


def drawn_costs(seed: int) -> tuple[Costs, list[Segment]]:
    """Return what is known of a star, and the segments that fit."""
    drawn, count = random.Random(seed), random.Random(seed).choice([3, 4, 4, 5])
    places = [*range(count)]
    known = {}
    for root in places:
        paths = tuple(() if place == root else (place,) for place in places)
        counts = {
            tuple(drawn.choice([0, 1, 2, 5]) for _ in places[1:]): drawn.randint(1, 9)
            for _ in range(4)
        }
        known[root] = Matches(SpanningTree(root, paths), counts)
    orders = {root: (root, *drawn.sample([*places[:root], *places[root + 1 :]], count - 1))
              for root in places}  # fmt: skip
    ends = [place for place in places if drawn.random() < 0.8]
    running = [place for place in places if drawn.random() < 0.8]
    alive = [drawn.choice([100, 5_000, 80_000]) for _ in places]
    delta = [drawn.choice([0, 10, 300, 9_000]) for _ in places]
    segments = [
        one
        for size in range(2, count)
        for one in itertools.combinations(places, size)
        if drawn.random() < 0.7
    ]
    return Costs(known, orders, ends, running, alive, delta), segments


@settings(max_examples=fewer_if_brief(60), deadline=None)
@given(seed=st.integers(0, 10**9))
def test_the_best_tree_of_joins_is_found(seed: int) -> None:
    known, some = drawn_costs(seed)
    some = some[:8]
    trees = (tuple(map(Cached, sorted(family))) for family in families(some))
    best = min(map(known.of, trees))
    caching, cost = least(known, some)
    assert cost == pytest.approx(known.of(caching))
    # who uses them is chosen as well
    assert cost <= best + 1e-12
    assert {one.segment for one in caching} <= set(some)
    mine, total = global_optimum(known, some)
    assert total == pytest.approx(known.of(mine))
    assert total <= known.of(())
    for algorithm in (selected, exhaustive):
        mine, total = thesis(known, some, algorithm)
        assert total == pytest.approx(known.of(mine))
        assert {one.segment for one in mine} <= set(some) & set(prefixes(known.orders))


def test_where_orders_leave_no_candidate_there_are_globally_consistent_ones() -> None:
    """The pipeline of the second input begins with the first, so 2+3 is (R₂ ⋈ R₃) ⋉ R₁."""
    known = three((1000, 1, 1), (100_000, 50_000, 50_000), 2)
    known = replace(known, orders={0: (0, 1, 2), 1: (1, 0, 2), 2: (2, 0, 1)})
    assert ((), known.of(())) == thesis(known, [(1, 2)], exhaustive)
    caching, cost = global_optimum(known, [(1, 2)])
    assert ((Cached((1, 2)),), known.of(caching)) == (caching, cost)
    assert cost < known.of(())
    assert ((), known.of(())) == global_optimum(known, [(1, 2)], most=0)


def test_a_pipeline_does_not_use_a_cache_that_costs_it_more() -> None:
    """Three windows of few rows have many combinations; the second pipeline has few tuples."""
    star = {root: Matches(SpanningTree(root, tuple(() if at == root else (at,) for at in range(4))),
                          {(100, 100, 100): 1}) for root in range(4)}  # fmt: skip
    orders = {root: (root, *(at for at in (1, 2, 0, 3) if at != root)) for root in range(4)}
    alive = (1e6, 5000, 5000, 1e6)
    known = Costs(star, orders, range(4), range(4), alive, (500, 0, 0, 1e-6), fixed=0.1)
    assert 500_000 == known.rows_of((1, 2))
    caching = known.used([(1, 2)])
    assert "2+3@1" == caching_text(caching or ())
    assert known.of(caching or ()) < known.of((Cached((1, 2)),))


def test_caches_have_as_much_memory_as_there_is() -> None:
    """Those that bring most for a row are there, as in section 5.6."""
    known = three((1000, 1, 1000), (100_000, 50_000, 1_000), 2)
    some: tuple[Cached, ...] = (Cached((1, 2)),)
    assert some == allocated(known, some, known.rows_of((1, 2)))
    assert () == allocated(known, some, known.rows_of((1, 2)) - 1)
    known, segments = drawn_costs(7)
    known = replace(known, fixed=0.01)
    both, _ = least(known, segments)
    assert len(both) > 1
    rows = {one: known.rows_of(one.segment) for one in both}
    for room in (*rows.values(), sum(rows.values()) - 1, 0.0):
        found = allocated(known, both, room)
        assert sum(known.rows_of(one.segment) for one in found) <= room
    assert both == allocated(known, both, sum(rows.values()))


# -- what is measured -----------------------------------------------------------------------------


@pytest.fixture
def short_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed parts are taken to be short, so that caches pay where they have few rows."""
    monkeypatch.setattr(cache_costs, "MOST_FIXED", cache_costs.LEAST_FIXED)


def slow_and_fast(con: cqlduck.Connection, ticks: range) -> None:
    """Many tuples of r, of which few meet two windows that hardly change."""
    drawn = random.Random(0)
    for at in ticks:
        con.append("r", [(value % 400, value % 5, at) for value in range(600)])
        for name in "su":
            rows = 3000 if at == 0 else 30
            con.append(
                name, [(drawn.randrange(400), drawn.randrange(900), at) for _ in range(rows)]
            )
        con.advance(at)


SLOW = ("SELECT r.b, count(*) AS n FROM r [RANGE 1], s [RANGE 900], u [RANGE 900] "
        "WHERE r.a = s.a AND s.b = u.b GROUP BY r.b")  # fmt: skip


@pytest.mark.usefixtures("short_statements")
def test_a_cache_is_made_because_it_is_expected_to_save(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the statements take does not matter here; what the model says does."""
    monkeypatch.setattr(confirming, "TOLERANCE", 1e9)
    with cqlduck.connect() as adaptive:
        choices.measure(adaptive)
        adaptive.engine.streamon.budget.fraction = 1e9
        for one in (con, adaptive):
            one.execute(f"{'' if one is con else SCHEMA} CREATE CONTINUOUS QUERY q AS {SLOW}")
            one.pin("stages", "staged")
            slow_and_fast(one, range(14))
        assert ["2+3"] == cached(adaptive)
        answers = [sorted(one.table("q").fetchall()) for one in (con, adaptive)]
        assert answers[0] == answers[1]
        assert_right(adaptive)
        ((point, before, after, by, reason),) = adaptive.sql(
            "SELECT point, from_option, to_option, chosen_by, reason FROM cql.plan_log "
            "WHERE point = 'caches'"
        ).fetchall()
        assert ("caches", "none", "2+3", "measured") == (point, before, after, by)
        assert "2+3 has some" in reason
        assert reason in adaptive.explain("q")


def slow_and_fast_relations(con: cqlduck.Connection, ticks: range) -> None:
    """Many tuples of r, of which few meet two relations that hardly change; a row seldom goes."""
    drawn = random.Random(0)
    standing: dict[str, list[tuple[int, int]]] = {"k": [], "l": []}
    for at in ticks:
        con.append("r", [(value % 400, value % 5, at) for value in range(3000)])
        for name, known in standing.items():
            if at % 4 == 3:
                con.retract(name, [known.pop()], at=at)
            count = 5 if known else 3000
            # of one another the relations meet few
            most = 900 if name == "k" else 90_000
            came = [(drawn.randrange(400), drawn.randrange(most)) for _ in range(count)]
            con.append(name, came, at=at)
            known += came
        con.advance(at)


@pytest.mark.usefixtures("short_statements")
def test_a_cache_of_relations_is_made_because_it_is_expected_to_save(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirming, "TOLERANCE", 1e9)
    query = SLOW.replace("s [RANGE 900], u [RANGE 900]", "k AS s, l AS u")
    with cqlduck.connect() as adaptive:
        choices.measure(adaptive)
        adaptive.engine.streamon.budget.fraction = 1e9
        for one in (con, adaptive):
            one.execute(f"{'' if one is con else SCHEMA} CREATE CONTINUOUS QUERY q AS {query}")
            one.pin("stages", "staged")
            slow_and_fast_relations(one, range(14))
        assert ["2+3"] == cached(adaptive)
        answers = [sorted(one.changes("q").fetchall()) for one in (con, adaptive)]
        assert answers[0] == answers[1]
        assert_right(adaptive)


@pytest.mark.usefixtures("short_statements")
@pytest.mark.parametrize(
    ("rows", "seconds", "what"),
    [(100, 60.0, "it has more than 100 rows"), (10**9, 0.0, "to fill it took longer than 0.00 s")],
)
def test_a_cache_that_takes_more_than_it_may_is_given_up(
    monkeypatch: pytest.MonkeyPatch, rows: int, seconds: float, what: str
) -> None:
    """The model errs: the tick is undone with the cache, runs without it, and the log says so."""
    monkeypatch.setattr(confirming, "TOLERANCE", 1e9)
    monkeypatch.setattr(streamon, "fill_limit", lambda _: Limit(rows, seconds))
    answers = []
    for adaptive in (False, True):
        with cqlduck.connect(adaptive=adaptive) as con:
            choices.measure(con)
            con.engine.streamon.budget.fraction = 1e9
            con.execute(f"{SCHEMA} CREATE CONTINUOUS QUERY q AS {SLOW}")
            con.pin("stages", "staged")
            slow_and_fast(con, range(14))
            answers.append(elements(con))
            assert [] == cached(con)
            if adaptive:
                logged = con.sql(
                    "SELECT from_option, to_option, reason FROM cql.plan_log "
                    "WHERE point = 'caches' ORDER BY number"
                ).fetchall()
                # it is not made again as long as what was found stays as it is
                assert [
                    ("none", "2+3", "expected to save"),
                    ("2+3", "none", f"given up: {what}"),
                ] == logged
                ((fills, back, option),) = con.sql(
                    "SELECT fills, taken_back, option FROM cql.adaptivity WHERE point = 'caches'"
                ).fetchall()
                assert (1, 1, "none") == (fills, back, option)
                # what a user wants is made whatever it takes
                con.pin(CACHES, "2+3", "q")
                slow_and_fast(con, range(14, 16))
                assert ["2+3"] == cached(con)
                assert_right(con)
    assert answers[0] == answers[1]


@pytest.mark.usefixtures("short_statements")
@pytest.mark.parametrize("algorithm", ["optimum", "a-caching", "exhaustive", "global"])
def test_an_algorithm_selects_the_caches(monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    """A tuple of s meets u first, as in the text: that satisfies the prefix invariant."""
    monkeypatch.setattr(confirming, "TOLERANCE", 1e9)
    asked = []
    for name, found in caching.ALGORITHMS.items():
        monkeypatch.setitem(
            caching.ALGORITHMS,  # type: ignore[arg-type]
            name,
            lambda some, prices, name=name, found=found: asked.append(name) or found(some, prices),
        )
    with cqlduck.connect() as con:
        choices.measure(con)
        con.engine.streamon.budget.fraction = 1e9
        query = SLOW.replace(
            "r [RANGE 1], s [RANGE 900], u [RANGE 900]", "u [RANGE 900], s [RANGE 900], r [RANGE 1]"
        )
        con.execute(f"{SCHEMA} CREATE CONTINUOUS QUERY q AS {query}")
        con.pin("caching", algorithm)
        con.pin("stages", "staged")
        slow_and_fast(con, range(10))
        assert ["1+2"] == cached(con)
        assert_right(con)
        shown = con.sql("SELECT option, chosen_by FROM cql.points WHERE point = 'caching' "
                        "AND owner = 'q'").fetchall()  # fmt: skip
        assert [(algorithm, "user")] == shown
    assert ({algorithm} & {"a-caching", "exhaustive"}) == set(asked)


@pytest.mark.usefixtures("short_statements")
@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_cache_that_has_grown_too_large_is_dropped(
    monkeypatch: pytest.MonkeyPatch, is_pinned: bool
) -> None:
    """However much it brings; one that somebody has pinned stays."""
    monkeypatch.setattr(confirming, "TOLERANCE", 1e9)
    answers = []
    for adaptive in (False, True):
        with cqlduck.connect(adaptive=adaptive) as con:
            choices.measure(con)
            con.engine.streamon.budget.fraction = 1e9
            con.execute(f"{SCHEMA} CREATE CONTINUOUS QUERY q AS {SLOW}")
            con.pin("stages", "staged")
            if is_pinned:
                con.pin(CACHES, "2+3", "q")
            monkeypatch.setattr(caching, "MAX_ROWS", 10**6)
            slow_and_fast(con, range(12))
            assert ([] if not adaptive and not is_pinned else ["2+3"]) == cached(con)
            monkeypatch.setattr(caching, "MAX_ROWS", 5_000)
            slow_and_fast(con, range(12, 16))
            answers.append(elements(con))
            if is_pinned:
                assert ["2+3"] == cached(con)
            elif adaptive:
                assert [] == cached(con)
                ((before, after, reason),) = con.sql(
                    "SELECT from_option, to_option, reason FROM cql.plan_log "
                    "WHERE point = 'caches' ORDER BY number DESC LIMIT 1"
                ).fetchall()
                assert ("2+3", "none") == (before, after)
                assert "rows, of 5000 that they may" in reason
    assert answers[0] == answers[1]


def policy(con: cqlduck.Connection) -> tuple[caching.JoinCaching, Costs]:
    policies = con.engine.streamon.reoptimizer._policies
    (found,) = [one for one in policies.values() if isinstance(one, caching.JoinCaching)]
    costs = found.costs()
    assert costs is not None
    return found, costs


def test_what_is_modelled_is_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirming, "TOLERANCE", 1e9)
    with cqlduck.connect() as con:
        choices.measure(con)
        con.engine.streamon.budget.fraction = 1e9
        con.execute(f"{STREAMS} CREATE CONTINUOUS QUERY q AS {SLOW}")
        con.pin("stages", "staged")
        con.pin(CACHES, "2+3", "q")
        slow_and_fast(con, range(8))
        _, known = policy(con)
        ((rows,),) = con.sql("SELECT row_count FROM cql.caches").fetchall()
        assert known.rows_of((1, 2)) == pytest.approx(rows, rel=0.3)
        assert (1800, 3210, 3210) == tuple(known.alive)
        assert [30, 30] == known.delta[1:]


def test_a_cache_that_costs_more_than_it_brings_is_dropped() -> None:
    made = caching.JoinCaching(caching.Budget())
    with cqlduck.connect(adaptive=False) as con:
        con.execute(f"{STREAMS} CREATE CONTINUOUS QUERY q AS {SLOW}")
        made.about = about(con)
    made.windows = {0: [(1, 1)] * 9, 1: [(50, 50)] * 9, 2: [(50, 50)] * 9}  # type: ignore[assignment]
    made.alive = (10, 10_000, 10_000)
    made.deltas.append((0, 500, 500))
    made.budget.ticks = 1e6
    facts = caching.Facts(1000, about=made.about)
    found = made.better("2+3", 1e-4, facts)
    assert found is not None
    assert "none" == found.option
    assert "the caches cost more than they bring" in found.reason
    assert 0 < (found.saved or 0) < 1
    assert made.better("none", 1e-4, facts) is None


def test_of_tuples_that_match_otherwise_those_before_are_forgotten() -> None:
    made = caching.JoinCaching(caching.Budget())
    made._match(0, {(1, 3): 100, (0, 3): 28})
    # another part by chance
    made._match(0, {(1, 3): 90, (0, 3): 38})
    assert 256 == len(made.windows[0])
    made._match(0, {(0, 3): 128})
    assert [(0, 3)] * 128 == [*made.windows[0]]
    made._match(0, {})
    made._match(1, {(2, 2): 5})
    assert (128, 5) == (len(made.windows[0]), len(made.windows[1]))
    # what is stored is one sample, in whatever order
    made.windows[0].extend([(1, 3)] * 128)
    again = caching.JoinCaching(caching.Budget())
    again.restore(json.loads(json.dumps(made.state())))
    assert made.windows == again.windows


def test_there_is_no_cache_without_room_and_time() -> None:
    made = caching.JoinCaching(caching.Budget())
    with cqlduck.connect(adaptive=False) as con:
        con.execute(f"{STREAMS} CREATE CONTINUOUS QUERY q AS {SLOW}")
        made.about = about(con)
    made.windows = {0: [(3, 9)] * 9, 1: [(9, 3)] * 9, 2: [(9, 3)] * 9}  # type: ignore[assignment]
    made.alive = (10, 100_000, 100_000)
    made.deltas.append((90_000, 0, 0))
    facts = caching.Facts(90_000, about=made.about)
    # 300,000 rows are made in some 50 ms
    known = made.costs()
    assert known is not None
    assert 0.03 < known.filling((1, 2)) < 0.1
    made.budget.ticks = 0.2
    assert made.better("none", 1e-6, facts) is None
    made.budget.ticks = 2.0
    found = made.better("none", 1e-6, facts)
    assert found is not None
    assert "2+3" == found.option
    assert found.reason.startswith("a tick")
    made.alive = (10, 1_000_000, 1_000_000)
    made.budget.ticks = 1e6
    assert made.better("none", 1e-6, facts) is None


def many_keys(keys: int) -> caching.JoinCaching:
    """Return the policy of a join of whose segment a whole cache would have 16,000,000 rows."""
    made = caching.JoinCaching(caching.Budget())
    with cqlduck.connect(adaptive=False) as con:
        con.execute(f"{STREAMS} CREATE CONTINUOUS QUERY q AS {SLOW}")
        made.about = about(con)
    made.windows = {0: [(4, 16)] * 9, 1: [(1, 4)] * 9, 2: [(4, 4)] * 9}  # type: ignore[assignment]
    made.alive = (10_000, 4_000_000, 4_000_000)
    made.budget.ticks = 1e6
    sizes = (10_000, 5, 5)
    # each key is seen about eight times
    asked = [drawn % keys for drawn in random.Random(keys).choices(range(10**9), k=8 * keys)]
    counts = {key: asked.count(key) for key in {*asked}}
    place, columns = 0, ("r.a",)
    asking = place, columns, counts
    assert made.learn(CachesProfiled(made.about.site, None, {}, made.alive, sizes, 0.0, 0, asking))
    return made


def test_a_partial_cache_is_made_where_few_keys_are_asked_for_of_many() -> None:
    made = many_keys(200)
    facts = caching.Facts(10_000, about=made.about)
    found = made.better("none", 1e-5, facts)
    assert found is not None
    assert "2+3@1:4096" == found.option
    expected = "2+3@1:4096 has some 3200 rows, of 200 of 200 keys; of 200 that a tick asks for 0 "
    assert expected in found.reason
    cost = made.costing(facts)
    assert cost("2+3") is None
    assert (cost("2+3@1:4096") or 1) < 0.9 * (cost("none") or 0)
    # with fewer slots more is missed, with many more nothing is gained
    costs = [cost(f"2+3@1:{1 << bits}") or 1 for bits in range(4, 20)]
    assert costs == sorted(costs, reverse=True)
    # what is not known of keys is not modelled
    made.asking.clear()
    assert made.costing(facts)("2+3@1:4096") is None
    assert made.better("none", 1e-5, facts) is None


def test_partial_caches_have_as_much_memory_as_there_is() -> None:
    made = many_keys(400)
    made.deltas.clear()
    made.deltas.append((500, 5, 5))
    known = made.costs()
    assert known is not None
    slots = []
    for rows in (1e6, 160_000, 40_000, 20_000):
        (one,) = with_keys(known, (), Cached((1, 2), (0,)), rows) or ()
        assert known.rows_in(one) <= rows
        slots.append(one.slots)
    assert [8192, 8192, 2048, 1024] == slots
    # that much is needed for the keys that one tick asks for
    assert with_keys(known, (), Cached((1, 2), (0,)), 4_000) is None


def test_what_is_restored_is_asked_before_it_profiles() -> None:
    """So the join is known from the question."""
    made = many_keys(200)
    made.is_due = True
    again = caching.JoinCaching(caching.Budget(ticks=1e6))
    again.restore(json.loads(json.dumps(made.state())))
    caching.JoinCaching(caching.Budget()).refuse("2+3")
    facts = caching.Facts(10_000, about=made.about)
    for _ in range(4):
        again.saw(facts, "none", 0.1, None)
    found = again.propose("none", caching.Statistics(), facts)
    assert found is not None
    assert "2+3@1:4096" == found.option


def test_of_caches_that_have_grown_those_stay_that_are_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """How many rows they have says the next probe of caches, and not the one before."""
    with cqlduck.connect(adaptive=False) as con:
        con.execute(
            f"{STREAMS} CREATE CONTINUOUS QUERY q AS SELECT r.b FROM r [RANGE 3], "
            "s [RANGE 9], u [RANGE 9], v [RANGE 9] WHERE r.a = s.a AND s.b = u.b AND u.a = v.a"
        )
        join = about(con)
    monkeypatch.setattr(caching, "MAX_ROWS", 600)
    made = caching.JoinCaching(caching.Budget(ticks=1e6), about=join)
    made.windows = {  # type: ignore[assignment]
        0: [(3, 9, 9)] * 9, 1: [(1, 2, 2)] * 9, 2: [(1, 1, 2)] * 9, 3: [(1, 1, 1)] * 9
    }  # fmt: skip
    made.alive, made.rows, made.is_due = (10, 1000, 1000, 1000), 2015, True
    made.deltas.append((1000, 10, 10, 10))
    facts, now = caching.Facts(1000, about=join), "1+2 3+4"
    made.counted, ran = now, []
    for number in range(9):
        found = made.propose(now, caching.Statistics(), facts)
        now = now if found is None else found.option
        made.saw(facts, now, 1e-3, None)
        if number == 5:
            # one on behalf of an order
            made.saw(facts, now, None, JoinProfiled(join.pipelines[0].site, {(3, 9, 9): 9}, 0, 0))
        ran.append(now)
    assert ["1+2"] * 9 == ran


def test_what_is_known_of_keys_survives_the_process() -> None:
    made = many_keys(50)
    again = caching.JoinCaching(caching.Budget(), about=made.about)
    again.restore(json.loads(json.dumps(made.state())))
    assert made.asking == again.asking
    assert known_by(made) == known_by(again)


def known_by(made: caching.JoinCaching) -> Known | None:
    costs = made.costs()
    assert costs is not None
    return costs.known_by(Cached((1, 2), (0,), 64))


def test_the_keys_that_a_tick_asks_for_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirming, "TOLERANCE", 1e9)
    with cqlduck.connect() as con:
        choices.measure(con)
        con.engine.streamon.budget.fraction = 1e9
        con.execute(f"{STREAMS} CREATE CONTINUOUS QUERY q AS {SLOW}")
        con.pin("stages", "staged")
        con.pin(CACHES, "2+3@1:4096", "q")
        slow_and_fast(con, range(8))
        made, known = policy(con)
        # 600 tuples begin and as many end, of 400 keys
        assert known.keys[0, ("r.a",)] == pytest.approx(400, rel=0.3)
        assert (0, ("r.a",)) in made.asking
        assert 400 == len(known_keys(con))
        assert_right(con)


def test_joins_of_a_plan_have_the_segments_that_the_plan_has(con: cqlduck.Connection) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {QUERIES['star']}")
    (node,) = (node for node in unique(con.engine.compiled["q"].plan) if isinstance(node, Join))
    assert tuple(segments_of(node)) == about(con).segments
