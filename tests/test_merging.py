"""Merging: queries that began at different instants are computed by one plan once they are warm.

Whatever is merged, each query says what it says alone, in a database that does not share.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from counts import fewer_if_brief, is_brief
from stops import Stops
from test_families import SCRIPT, Pair, leave, rows_of, told, unlike

import cqlduck
from cqlduck.rewrite.plan.warmth import warm_after

FAILING = "SELECT k, 1 // (6 * k + v - 15) AS x FROM s [RANGE 2]"
"""It fails at the first tuple (2, 3)."""

ALIKE = [
    "SELECT k FROM s [RANGE 2] EXCEPT SELECT k FROM r",
    "SELECT k, v FROM s [RANGE 3] ORDER BY v DESC, k LIMIT 2",
    "SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) AS n FROM s [RANGE 2]",
    "SELECT Dstream(k, w) FROM s [RANGE 3] LEFT JOIN r USING (k)",
    "SELECT Istream(k, count(*) AS n) FROM s [RANGE 4 SLIDE 2] GROUP BY k",
    "SELECT DISTINCT s.k, u.v FROM s [RANGE 1], u [TUMBLE 2] WHERE s.k = u.k",
    "SELECT k, w FROM r WHERE EXISTS (SELECT 1 FROM u [NOW] WHERE u.k = r.k)",
    "SELECT k, max(w) AS m FROM r GROUP BY k UNION ALL SELECT k, v FROM u [RANGE 2]",
    "SELECT a.k, b.v FROM s [RANGE 2] a, u [RANGE 3] b, r c WHERE a.k = b.k AND b.k = c.k",
    "SELECT k, v FROM s [PARTITION BY k ROWS 2 RANGE 3]",
    "SELECT k, first(v) AS f, list(v) AS l FROM s [RANGE 2] GROUP BY k",
    FAILING,
    # once the same rows are there
    "SELECT k, count(*) AS n FROM s [ROWS 3] GROUP BY k",
    "SELECT k, v FROM s [PARTITION BY k ROWS 1]",
    "SELECT Istream(a.k, max(b.v) AS m) FROM s [ROWS 2] a, u [RANGE 2] b, r "
    "WHERE a.k = b.k AND b.k = r.k GROUP BY a.k",
    "SELECT DISTINCT k FROM s [ROWS 4] EXCEPT SELECT k FROM s [PARTITION BY k ROWS 2]",
    # never warm
    "SELECT k, v FROM s [ROWS 3 SLIDE 2]",
    "SELECT k, count(*) AS n FROM (SELECT Istream(k, v) FROM s [RANGE 2]) [ROWS 3] GROUP BY k",
    "SELECT DISTINCT k FROM s",
    "SELECT k FROM (SELECT Istream(k, w) FROM r) [RANGE 2]",
]


def registered(rnd: random.Random) -> str:
    """Return the text of a query of which others may show something of the same."""
    if rnd.random() < 0.5:
        return rnd.choice(ALIKE)
    return unlike(rnd, rnd.choice([0, 0, 1, 2, 2, 5, 6]))


def goes_on(con: cqlduck.Connection, name: str) -> bool:
    """Return whether neither a query nor one below it stands still."""
    query = con.engine.query(name)
    return query.state == "active" and not con.engine.catalogue.stopped_below(query)


def families_of(con: cqlduck.Connection) -> dict[str, str | None]:
    """Return the family of each query, by name."""
    return dict(con.sql("SELECT name, family FROM cql.queries").fetchall())


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(n, marks=pytest.mark.long) for n in range(8, 300))]
)
def test_who_is_merged_says_what_it_says_alone(seed: int, tmp_path: Path) -> None:
    """Queries come, stand still, leave and go between random ticks, in two databases."""
    rnd = random.Random(seed)
    settings: dict[str, Any] = {}
    if rnd.random() < 0.3:
        settings["window_edge"] = "half_open"
    if rnd.random() < 0.4:
        settings["history"] = rnd.choice(["2", "5", "9"])
    is_wall = rnd.random() < 0.3
    if is_wall:
        settings["granularity"] = "1 second"
        settings.pop("history", None)
    pair = Pair(tmp_path, settings, is_wall, in_memory=rnd.random() < 0.4)
    pair.open()
    pair.execute(SCRIPT)
    texts = [registered(rnd) for _ in range(4)]
    if rnd.random() < 0.2:
        texts[0] = FAILING
    instant, merged = 0, set[str]()
    for number in range(16 if is_brief() else 24):
        names = list(pair.both[1].queries)
        if number < 20 and rnd.random() < 0.5:
            text = rnd.choice(texts)
            if is_wall:
                text = re.sub(r"(RANGE|SLIDE|TUMBLE) (\d)", r"\1 \2 SECONDS", text)
            pair.execute(f"CREATE CONTINUOUS QUERY IF NOT EXISTS q{number} AS {text}")
            if rnd.random() < 0.25:
                pair.execute(f"CREATE CONTINUOUS QUERY y{number} AS FROM q{number}")
        for name in names:
            draw, moves = rnd.random(), True
            if draw < 0.01:
                leave(pair.both[0], name)
            elif draw < 0.03:
                pair.execute(f"ALTER CONTINUOUS QUERY {name} DEACTIVATE")
            elif draw < 0.09:
                pair.execute(f"ALTER CONTINUOUS QUERY {name} ACTIVATE")
            elif draw < 0.1:
                pair.execute(f"DROP CONTINUOUS QUERY IF EXISTS {name}")
            elif draw < 0.13 and goes_on(pair.both[0], name):
                # behind what stores have forgotten, which is more where a family has gone on
                text = rnd.choice(["FROM {}", "SELECT DISTINCT k FROM {}"]).format(name)
                pair.execute(f"CREATE CONTINUOUS QUERY IF NOT EXISTS z{number} AS {text}")
            else:
                moves = False
            if moves:
                # a member is then where its family is, alone it goes there in the next tick
                pair.advance(instant)
        if rnd.random() < 0.2 and not any("//" in text for text in texts):
            # what is answered anew says otherwise what it fails with
            pair.both[0].pin("answer", rnd.choice(["recomputed", "incremental", None]))
        for at in range(instant + 1, instant + 1 + rnd.choice([1, 1, 2])):
            for name in ("s", "u", "r"):
                pair.append(name, rows_of(rnd, name), at)
            instant = at
        pair.advance(instant)
        if rnd.random() < 0.1:
            pair.open()
        merged |= {name for name, family in families_of(pair.both[0]).items() if family}
        if number % 4 == 3:
            pair.compare()
    one = pair.both[0]
    assert not [row for row in one.check().fetchall() if row[5] == "wrong"]
    # of the first ones it is known; others may have drawn none that can be
    assert merged or seed >= 8
    while left := list(one.queries):
        for name in reversed(left):
            pair.execute(f"DROP CONTINUOUS QUERY {name}")
    assert not one.engine.catalogue.families
    tables = one.sql("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'cql_state'")
    kinds = "(changes|before|answer|beside|standing)_|[qyz][0-9]|_cql_family"
    assert not [name for (name,) in tables.fetchall() if re.match(kinds, name)]
    for con in pair.both:
        con.close()


def late_pair(con: cqlduck.Connection, one: str, other: str, until: int) -> None:
    """Register two queries at different instants, and go on."""
    con.execute(SCRIPT)
    con.execute(f"CREATE CONTINUOUS QUERY a AS {one}")
    rnd = random.Random(1)
    for at in range(until + 1):
        if at == 4:
            con.execute(f"CREATE CONTINUOUS QUERY b AS {other}")
        con.append("s", [(rnd.randrange(2), rnd.randrange(4)), (1, 3)], at=at)
        con.append("r", [(rnd.randrange(2), at)], at=at)
        con.advance(at)


COUNTED = "SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k"
SUMMED = "SELECT k, sum(v) AS t FROM s [RANGE 3] x GROUP BY k HAVING count(*) > 1"


def test_a_query_is_merged_when_no_window_has_what_came_before_it() -> None:
    """Registered behind 3, it lacks what came at 3 until 7: [RANGE 3] has that up to 6."""
    with cqlduck.connect() as con:
        late_pair(con, COUNTED, SUMMED, 7)
        assert set(families_of(con).values()) == {None}
        assert "it is merged with a with one of the next ticks" in con.explain("b")
        assert "it is merged with b" in con.explain("a")
        con.advance(8)
        families = families_of(con)
        assert families["a"] == families["b"] is not None
        con.execute(f"CREATE CONTINUOUS QUERY c AS {SUMMED}")
        assert "when it no longer shows when they began, at 12" in con.explain("c")


def test_when_a_query_is_warm_its_plan_says() -> None:
    """The longest window counts; a window in rows, or none, never forgets."""
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        known = []
        for number, body in enumerate(ALIKE):
            con.execute(f"CREATE CONTINUOUS QUERY q{number} WITH (sharing = false) AS {body}")
            known.append(warm_after(con.engine.compiled[f"q{number}"].plan))
    assert known == [3, 4, 3, 4, 7, 5, 1, 3, 4, 4, 3, 3, *[None] * 8]


@pytest.mark.parametrize(
    ("bodies", "at"),
    [
        # a tick has two elements: before that of 6 the second one has four
        (("SELECT k, count(*) AS n FROM s [ROWS 3] GROUP BY k",) * 2, 6),
        (("SELECT sum(v) AS t FROM s [ROWS 9]", "SELECT count(*) AS n FROM s [ROWS 9] x"), 12),
        (("SELECT v FROM s [ROWS 2] WHERE k = 1", "SELECT k, v FROM s [ROWS 2] y WHERE k = 1"), 5),
        (("SELECT s.v, w FROM s [ROWS 3], r WHERE s.k = r.k",) * 2, 6),
        (("SELECT k, v FROM s [PARTITION BY k ROWS 2 RANGE 3]",) * 2, 8),
        # the partition 9 has been there before, and has nothing since
        (("SELECT k, v FROM s [PARTITION BY k ROWS 1]",) * 2, None),
        (("SELECT k, v FROM s [PARTITION BY k ROWS 1] WHERE k < 2",) * 2, None),
        (("SELECT k FROM s [ROWS 3 SLIDE 2]",) * 2, None),
    ],
)
def test_windows_in_rows_are_alike_once_they_have_the_same_rows(
    bodies: tuple[str, str], at: int | None
) -> None:
    """It is asked in ever longer intervals; merged, both go on with what both had."""
    told_by = {}
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute(SCRIPT)
            con.execute(f"CREATE CONTINUOUS QUERY a AS {bodies[0]}")
            merged = None
            for now in range(20):
                if now == 4:
                    con.execute(f"CREATE CONTINUOUS QUERY b AS {bodies[1]}")
                con.append("s", [(now % 2, now), (9 if now < 4 else 1, 3)], at=now)
                con.append("r", [(now % 2, now)], at=now)
                con.advance(now)
                if now == 4 and sharing and at is not None and "RANGE" not in bodies[0]:
                    assert "once their windows in rows have the same rows" in con.explain("b")
                if merged is None and families_of(con)["a"] is not None:
                    merged = now
            assert merged == (at if sharing else None)
            assert not [row for row in con.check().fetchall() if row[5] == "wrong"]
            told_by[sharing] = [told(con)[name] for name in con.queries]
    assert told_by[True] == told_by[False]


def test_who_has_the_rows_of_a_window_leaves_with_them() -> None:
    """The last member too, with whom its family goes, and who has begun again in between."""
    told_by = {}
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute(SCRIPT)
            bodies = [
                "SELECT sum(v) AS t FROM s [ROWS 5] WHERE k <> 1",
                "SELECT sum(v) AS t FROM s [ROWS 5] WHERE k <> 0",
                "SELECT k, max(v) AS m, count(*) AS n FROM s [ROWS 4 SLIDE 3] GROUP BY k",
                "SELECT k, min(v) AS m FROM s [ROWS 4 SLIDE 3] GROUP BY k",
                "SELECT sum(v) AS t FROM s [ROWS 5] WHERE k <> 2",
                "SELECT sum(v) AS t FROM s [ROWS 5] WHERE k <> 3",
                # with a range, behind which the store is cut too
                "SELECT k, v FROM s [PARTITION BY k ROWS 2 RANGE 3] WHERE v > 1",
                "SELECT k, v FROM s [PARTITION BY k ROWS 2 RANGE 3] WHERE v > 2",
            ]
            for number, body in enumerate(bodies[2:4], 2):
                con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {body}")
            for number in (6, 7):
                con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {bodies[number]}")
            con.advance(0)
            for number, body in enumerate(bodies[:2]):
                con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {body}")
            for now in range(1, 30):
                con.append("s", [(now % 3, now), (now % 2, 3)], at=now)
                con.advance(now)
                if now in (22, 26):
                    # it leaves when the window has rows of before its beginning
                    number = 4 + now // 26
                    con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {bodies[number]}")
                left = {9: 2, 12: 3, 15: 0, 23: 4, 27: 5, 28: 1, 6: 6, 8: 7}.get(now)
                if sharing and left is not None:
                    name = f"q{left}"
                    assert con.engine.query(name).family is not None
                    con.execute(f"ALTER CONTINUOUS QUERY {name} SET (sharing = false)")
            assert set(families_of(con).values()) == {None}
            assert not [row for row in con.check().fetchall() if row[5] == "wrong"]
            assert not con.sql("FROM duckdb_tables() WHERE table_name LIKE '_cql_rows%'").fetchall()
            told_by[sharing] = [told(con)[name] for name in con.queries]
    assert told_by[True] == told_by[False]


def test_two_columns_of_one_meaning_leave_with_their_rows() -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        for name in "ab":
            body = "SELECT k, v, w FROM (SELECT k, v, v AS w FROM s) [ROWS 2]"
            con.execute(f"CREATE CONTINUOUS QUERY {name} AS {body}")
        con.append("s", [(1, 1), (2, 2), (3, 3)], at=0)
        con.advance(0)
        con.execute("ALTER CONTINUOUS QUERY a SET (sharing = false)")
        con.append("s", [(4, 4)], at=1)
        con.advance(1)
        assert families_of(con)["a"] is None
        for name in "ab":
            assert sorted(con.table(name).fetchall()) == [(3, 3, 3), (4, 4, 4)]


def test_who_cannot_be_merged_keeps_its_plan() -> None:
    """Who is pinned, wants none of it, or has other options."""
    for text in (
        "ALTER CONTINUOUS QUERY a SET (sharing = false)",
        "ALTER CONTINUOUS QUERY b SET (keep = '100')",
        "UPDATE cql.properties SET value = false WHERE name = 'sharing'",
        "",
    ):
        with cqlduck.connect() as con:
            late_pair(con, COUNTED, COUNTED.replace("count(*)", "sum(v)"), 5)
            if text:
                con.execute(text)
            else:
                con.pin("answer", "incremental", "b")
            for at in range(6, 12):
                con.append("s", [(1, at)], at=at)
                con.advance(at)
            assert set(families_of(con).values()) == {None}, text


def test_who_is_read_is_merged_and_comes_before_its_readers(tmp_path: Path) -> None:
    """A family is younger than who reads its members, and runs before them all the same."""
    found = {}
    for sharing in (True, False):
        path = tmp_path / f"{sharing}.duckdb"
        with cqlduck.connect(path, sharing=sharing) as con:
            con.execute(SCRIPT)
            texts = COUNTED, "FROM a", SUMMED, "SELECT n FROM a WHERE k = 1"
            for number, text in enumerate(texts):
                con.execute(f"CREATE CONTINUOUS QUERY {'abcd'[number]} AS {text}")
                con.append("s", [(1, number), (number, 3)], at=number)
                con.advance(number)
            con.execute("CREATE CONTINUOUS QUERY e AS SELECT * FROM b JOIN a USING (k)")
            for at in range(4, 12):
                con.append("s", [(1, at), (at % 3, 2)], at=at)
                con.advance(at)
        with cqlduck.connect(path, sharing=sharing) as con:
            con.append("s", [(2, 12), (1, 1)], at=12)
            con.advance(13)
            assert list(con.queries) == ["a", "b", "c", "d", "e"]
            families = families_of(con)
            assert (families["a"] is not None) == sharing
            assert families["a"] == families["c"]
            names = [query.name for query in con.engine.catalogue.running]
            assert names == ([families["a"], "b", "d", "e"] if sharing else list("abcde"))
            assert all(row[5] == "right" for row in con.check().fetchall())
            found[sharing] = [told(con)[name] for name in con.queries]
            con.execute("DROP CONTINUOUS QUERY a CASCADE")
            assert list(con.queries) == ["c"]
    assert found[True] == found[False]
    assert len(found[True]) == 5


def test_nothing_is_said_of_who_was_dropped_before_it_was_merged() -> None:
    with cqlduck.connect() as con:
        late_pair(con, COUNTED, SUMMED, 5)
        assert "it is merged with b" in con.explain("a")
        con.execute("DROP CONTINUOUS QUERY b")
        assert "merged" not in con.explain("a")
        con.plan("a")
        con.advance(9)


def test_who_reads_a_member_stops_where_its_family_fails() -> None:
    """It would lack for good what the family says of that instant."""
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing) as con:
            con.execute(SCRIPT)
            for name in "ab":
                con.execute(f"CREATE CONTINUOUS QUERY {name} AS {FAILING}")
            con.execute("CREATE CONTINUOUS QUERY c AS SELECT count(*) FROM a, u [RANGE 2]")
            con.append("s", [(1, 1)], at=4)
            con.append("u", [(1, 1, "", 0.0, 1, 1)], at=4)
            con.advance(4)
            con.append("s", [(2, 3)], at=5)
            with pytest.warns(RuntimeWarning, match="Division by zero"):
                con.advance(6)
            assert [con.queries[name].frontier for name in "abc"] == [4, 4, 4]


def test_who_would_say_something_else_is_not_merged() -> None:
    """An answer stays as it has been said: else what leaves it would not be what came."""
    with cqlduck.connect() as con:
        late_pair(con, COUNTED, SUMMED, 6)
        table = next(s.name for s in con.engine.compiled["b"].synopses if s.kind == "groups")
        with con.engine.changing():
            con.engine.database.execute(f'UPDATE cql_state."{table}" SET _cql_sum0 = 99')
        for at in range(7, 12):
            con.append("s", [(1, at), (0, at)], at=at)
            con.advance(at)
        assert set(families_of(con).values()) == {None}
        assert "it is not merged with a: " in con.explain("b")
        assert "differ in their last digits" in con.explain("b")


EXCEPTED = "Istream(SELECT k FROM s [RANGE 3] EXCEPT SELECT k FROM r WHERE k = 1)"


@pytest.mark.parametrize("bodies", [(COUNTED, SUMMED), (EXCEPTED, EXCEPTED)])
def test_what_was_said_before_goes_with_history(bodies: tuple[str, str], tmp_path: Path) -> None:
    """Up to where history is kept there are elements, and no table from before any more."""
    with cqlduck.connect(tmp_path / "a.duckdb", history="6") as con:
        late_pair(con, *bodies, 9)
        assert None not in families_of(con).values()
        tables = "SELECT count(*) FROM duckdb_tables() WHERE starts_with(table_name, 'before_')"
        assert con.sql(tables).fetchall() == [(2,)]
        began = {"a": 0, "b": 4}
        assert {name: query.began for name, query in con.queries.items()} == began
        for at in range(10, 30):
            con.append("s", [(1, at), (1, at), *[(k, at) for k in (0, 0, 2) if at % 5 == k]], at=at)
            con.advance(at)
        assert con.sql(tables).fetchall() == [(0,)]
        assert {name: query.began for name, query in con.queries.items()} == began
        with pytest.raises(cqlduck.DataError, match="the history of a begins at"):
            con.changes("a", since=9)
        last = sorted(con.changes("b", since=24).fetchall())
        assert last
    with cqlduck.connect(tmp_path / "a.duckdb", history="6") as con:
        assert sorted(con.changes("b", since=24).fetchall()) == last
        assert {name: query.began for name, query in con.queries.items()} == began


def test_who_has_the_constants_of_a_member_becomes_one_of_its_number(tmp_path: Path) -> None:
    """The first of a shape keeps its plan until it is warm; the number stays with the last."""
    found = {}
    for sharing in (True, False):
        with cqlduck.connect(tmp_path / f"{sharing}.duckdb", sharing=sharing) as con:
            late_pair(con, COUNTED, COUNTED, 7)
            con.execute(f"CREATE CONTINUOUS QUERY c AS {COUNTED.replace('3', '2')}")
            families = families_of(con)
            if sharing:
                assert None is families["a"] != families["b"] == families["c"]
                assert f"it is merged with {families['b']} with one" in con.explain("a")
            for at in range(8, 12):
                con.append("s", [(at % 2, at), (1, at)], at=at)
                con.advance(at)
            assert set(families_of(con).values()) == {families["b"]}
            con.execute("DROP CONTINUOUS QUERY b")
            con.append("s", [(1, 12), (2, 12)], at=12)
            con.advance(12)
        with cqlduck.connect(tmp_path / f"{sharing}.duckdb", sharing=sharing) as con:
            con.append("s", [(1, 13), (1, 12)], at=13)
            con.advance(13)
            found[sharing] = [told(con)[name] for name in ("a", "c")]
            assert all(row[5] == "right" for row in con.check().fetchall())
            con.execute("DROP CONTINUOUS QUERY a")
            con.append("s", [(1, 14)], at=14)
            con.advance(15)
            if sharing:
                numbers = con.sql("SELECT count(*) FROM cql_state.relation__cql_constants_1 "
                                  "WHERE _cql_leave > 9e18::BIGINT").fetchall()  # fmt: skip
                assert numbers == [(1,)]
    assert found[True] == found[False]


def test_what_is_said_of_who_stands_still_or_is_pinned() -> None:
    """What keeps two apart is said, and nothing is promised."""
    with cqlduck.connect() as con:
        late_pair(con, COUNTED, SUMMED, 7)
        con.execute("ALTER CONTINUOUS QUERY b DEACTIVATE")
        con.advance(9)
        assert "it is merged with b once b goes on, which stands still" in con.explain("a")
        con.execute("ALTER CONTINUOUS QUERY b ACTIVATE")
        con.pin("answer", "incremental", "a")
        con.advance(11)
        assert "it is merged with a once nothing of a is pinned" in con.explain("b")
        con.pin("answer", None, "a")
        con.advance(12)
        assert None not in families_of(con).values()


def test_who_joins_a_family_keeps_the_bound_of_its_own_history(tmp_path: Path) -> None:
    """A family that began later has let go of nothing yet."""
    path, asked = tmp_path / "a.duckdb", "the history of a begins at"
    with cqlduck.connect(path, history="4") as con:
        late_pair(con, COUNTED, COUNTED, 3)
        for at in range(4, 20):
            if at == 12:
                con.execute(f"CREATE CONTINUOUS QUERY b AS {COUNTED}")
            con.append("s", [(1, at)], at=at)
            con.advance(at)
            start = con.engine.query("a").history_from
            assert at < 9 or (start is not None and start >= at - 6), at
            if families_of(con)["a"] is not None:
                break
        assert families_of(con)["a"] is not None
        assert con.engine.planned(con.engine.query("a")).history_from is None
        with pytest.raises(cqlduck.DataError, match=asked):
            con.as_of("a", 2)
    with cqlduck.connect(path, history="4") as con, pytest.raises(cqlduck.DataError, match=asked):
        con.as_of("a", 2)


def test_a_merge_without_room_stops_no_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both keep their plans, and it is tried again long after it."""
    monkeypatch.setattr("cqlduck.engine.shareable.RETRIED_AFTER", 8)

    def full(*_: object) -> None:
        raise duckdb.OutOfMemoryException("Out of Memory Error: no room")

    with cqlduck.connect() as con:
        late_pair(con, COUNTED, SUMMED, 7)
        with monkeypatch.context() as patch:
            patch.setattr("cqlduck.state.answers.begin_with", full)
            con.advance(8)
        con.append("s", [(1, 1), (1, 2)], at=9)
        con.advance(10)
        assert set(families_of(con).values()) == {None}
        said = con.explain("b")
        assert "it is not merged with a: Out of Memory Error: no room" in said
        assert "it is tried again after 8 ticks" in said
        for at in range(11, 18):
            assert set(families_of(con).values()) == {None}
            con.append("s", [(1, at)], at=at)
            con.advance(at)
        assert None not in families_of(con).values()
        con.execute("DROP CONTINUOUS QUERY b")
        con.execute(f"CREATE CONTINUOUS QUERY b AS {SUMMED}")
        for at in range(18, 25):
            con.append("s", [(1, at)], at=at)
            con.advance(at)
        assert None not in families_of(con).values()


@pytest.mark.parametrize("first", [0, 1])
def test_who_subscribes_too_slowly_hears_of_it_and_nobody_else_does(first: int) -> None:
    """What a query said before it was merged is its own, and what stands there is no change."""
    bodies = (
        "SELECT k, sum(w) AS t FROM r GROUP BY k",
        "SELECT k, count(*) AS t FROM r GROUP BY k HAVING count(*) <> 5",
    )
    for sharing in (True, False):
        with cqlduck.connect(sharing=sharing, history="4") as con:
            con.execute(SCRIPT)
            con.execute(f"CREATE CONTINUOUS QUERY a AS {bodies[0]}")
            slow = con.subscribe("a")
            con.append("r", [(1, 5)], at=first)
            for at in range(first, 24):
                if at == 3:
                    quick = con.subscribe("a")
                if at == 12:
                    con.execute(f"CREATE CONTINUOUS QUERY b AS {bodies[1]}")
                if at == 13:
                    late = con.subscribe("b")
                if at == 22:
                    con.append("r", [(1, 1)], at=22)
                con.advance(at)
            assert (families_of(con)["b"] is not None) == sharing
            assert len([row for batch in quick for row in batch.to_pylist()]) == 2
            assert [row["_ts"] for batch in late for row in batch.to_pylist()] == [22, 22]
            with pytest.raises(cqlduck.DataError, match="too slow"):
                list(slow)


def test_what_is_answered_anew_is_merged_too() -> None:
    """It is kept up incrementally from then on."""
    with cqlduck.connect() as con:
        con.pin("answer", "recomputed")
        late_pair(con, COUNTED, SUMMED, 6)
        assert all(con.engine.query(name).is_anew for name in "ab")
        for at in range(7, 12):
            con.append("s", [(1, at), (0, at)], at=at)
            con.advance(at)
        assert len({*families_of(con).values()} - {None}) == 1
        assert all(row[5] == "right" for row in con.check().fetchall())
        assert sorted(con.table("a").fetchall()) == [(0, 4), (1, 4)]


def test_families_are_merged_with_queries_and_with_each_other(tmp_path: Path) -> None:
    """One plan has the columns of all, in the end; each has its log from before, in parts."""
    found = {}
    for sharing in (True, False):
        with cqlduck.connect(tmp_path / f"{sharing}.duckdb", sharing=sharing) as con:
            late_pair(con, COUNTED, SUMMED, 8)
            for at in range(9, 30):
                if at == 10:
                    con.execute(
                        f"CREATE CONTINUOUS QUERY c AS {COUNTED.replace('count(*)', 'max(v)')}"
                    )
                if at == 20:
                    for name, call in (("d", "min(v)"), ("e", "avg(v)")):
                        text = COUNTED.replace("count(*)", call)
                        con.execute(f"CREATE CONTINUOUS QUERY {name} AS {text} HAVING count(*) < 3")
                    assert len({*families_of(con).values()}) == (2 if sharing else 1)
                con.append("s", [(at % 3, at), (at % 2, at)], at=at)
                con.advance(at)
                if at == 15 and sharing:
                    assert len({*families_of(con).values()}) == 1
            assert (None in families_of(con).values()) == (not sharing)
            assert len({*families_of(con).values()}) == 1
            assert all(row[5] == "right" for row in con.check().fetchall())
            found[sharing] = told(con)
    for name in "abcde":
        assert found[True][name] == found[False][name], name


def heard(con: cqlduck.Connection, since: int) -> list[str]:
    """Return what a subscription to the later query hears of an instant and all after it."""
    return [str(row) for batch in con.subscribe("b", since=since) for row in batch.to_pylist()]


def test_who_subscribes_hears_each_element_once(tmp_path: Path) -> None:
    """A subscription goes on over the instant at which its query is merged, and a restart."""
    known: dict[bool, list[str]] = {}
    for sharing in (True, False):
        path = tmp_path / f"{sharing}.duckdb"
        with cqlduck.connect(path, sharing=sharing) as con:
            late_pair(con, COUNTED, SUMMED, 5)
            rows = heard(con, 3)
            for at in range(6, 14):
                con.append("s", [(at % 2, at)], at=at)
                con.advance(at)
                rows += heard(con, at - 1)
            assert (families_of(con)["b"] is not None) == sharing
            known[sharing] = sorted(rows)
        with cqlduck.connect(path, sharing=sharing) as con:
            assert sorted(heard(con, 3)) == known[sharing]
    assert len(known[True]) > 10
    assert known[True] == known[False]


def test_a_merge_that_stops_at_any_statement_is_undone(tmp_path: Path) -> None:
    """It is one transaction, whichever statement is last; then it is made."""
    trace = Stops()
    with cqlduck.connect(tmp_path / "a.duckdb", trace=trace) as con:
        late_pair(con, COUNTED, SUMMED, 7)
        before = told(con)

        def check(stops: int) -> None:
            assert told(con) == before, stops

        stops = trace.each_time(con.engine.between_ticks, check, step=9 // fewer_if_brief(9))
        assert stops > 10
        assert None not in families_of(con).values()
        after = {name: told(con)[name] for name in ("a", "b")}
        assert {name: before[name] for name in ("a", "b")} == after
        con.append("s", [(1, 7)], at=8)
        con.advance(9)
        later = told(con)
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        assert told(con) == later
