"""Pins of queries that are replaced: they go on with the new plan, alone and in families."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import cqlduck
from cqlduck.errors import CatalogError

STREAM = "CREATE STREAM s (k INTEGER, x VARCHAR, t INTEGER) TIMESTAMP BY t;"
FILTERS = "SELECT k FROM s [RANGE 3] WHERE x ~ 'a' AND x LIKE '%b%' AND x ~ '{}$'"
ABOVE = "SELECT k FROM s [RANGE 3] WHERE k > {}"
COUNTS = "SELECT x, count(*) AS n FROM s [RANGE {}] GROUP BY x"
SUMS = "SELECT x, sum(k) AS n FROM s [RANGE 3] GROUP BY x"
JOIN = "SELECT a.k FROM s [RANGE 3] a, s [RANGE 2] b WHERE a.k = b.k"
RAISES = "SELECT k FROM s [RANGE 3] WHERE 10 // k > 2 AND k > 1"
TEXTS = ["abc", "ab", "bc", "ac", "c", "aabcc"]


@pytest.fixture
def alone() -> Iterator[cqlduck.Connection]:
    """A connection with the stream, on which each query has a plan of its own."""
    with cqlduck.connect(sharing=False) as con:
        con.execute(STREAM)
        yield con


def create(con: cqlduck.Connection, name: str, body: str) -> None:
    con.execute(f"CREATE CONTINUOUS QUERY {name} AS {body}")


def replace(con: cqlduck.Connection, name: str, body: str) -> None:
    con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY {name} AS {body}")


def play(con: cqlduck.Connection, ticks: range) -> None:
    for t in ticks:
        rows = [{"k": n, "x": TEXTS[(n + t) % 6], "t": t} for n in range(1, 20)]
        con.tick({"s": rows}, to=t)


def pins(con: cqlduck.Connection) -> set[tuple[str, str, str]]:
    found = con.sql("SELECT owner, point, option FROM cql.points WHERE ticks IS NULL").fetchall()
    return set(found)


def running(con: cqlduck.Connection, point: str, owner: str) -> set[tuple[str, str]]:
    """Return what stands at the points of a kind that ticks have come to, and who chose it."""
    found = con.sql(
        "SELECT option, chosen_by FROM cql.points WHERE point = ? AND owner = ? AND ticks NOTNULL",
        [point, owner],
    )
    return set(found.fetchall())


def said(con: cqlduck.Connection, create: str) -> str:
    """Return what EXPLAIN says of a statement that creates a query."""
    found = con.execute(f"EXPLAIN {create}")
    assert found is not None
    return str(found.fetchall())


def family(con: cqlduck.Connection, name: str) -> str | None:
    return con.engine.query(name).family


def answer(con: cqlduck.Connection, name: str) -> list[tuple[object, ...]]:
    return sorted(con.table(name).fetchall())


def test_what_is_pinned_runs_in_the_plan_of_the_text_that_comes(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path, sharing=False) as con:
        con.execute(STREAM)
        create(con, "q", FILTERS.format("c"))
        con.pin("filters", "3 1 2", "q")
        con.pin("answer", "recomputed", "q")
        play(con, range(2))
        replace(con, "Q", FILTERS.format("b"))
        expected = {("Q", "filters", "3 1 2"), ("Q", "answer", "recomputed")}
        assert pins(con) == expected
        play(con, range(2, 4))
        assert con.engine.query("q").is_anew
    with cqlduck.connect(path) as con:
        assert pins(con) == expected
        con.pin("answer", None, "q")
        play(con, range(4, 6))
        assert running(con, "filters", "Q") == {("3 1 2", "user")}
        assert not [row for row in con.check().fetchall() if "wrong" in row]


def test_a_pin_waits_while_the_plan_has_no_such_point(alone: cqlduck.Connection) -> None:
    create(alone, "q", FILTERS.format("c"))
    alone.pin("filters", "3 1 2", "q")
    play(alone, range(2))
    replace(alone, "q", COUNTS.format(3))
    play(alone, range(2, 4))
    assert pins(alone) == {("q", "filters", "3 1 2")}
    assert running(alone, "filters", "q") == set()
    replace(alone, "q", FILTERS.format("c"))
    play(alone, range(4, 6))
    assert running(alone, "filters", "q") == {("3 1 2", "user")}


def test_what_others_read_keeps_its_pins_too(alone: cqlduck.Connection) -> None:
    create(alone, "q", FILTERS.format("c"))
    create(alone, "above", "SELECT max(k) AS m FROM q")
    alone.pin("filters", "3 1 2", "q")
    play(alone, range(2))
    replace(alone, "q", FILTERS.format("b"))
    play(alone, range(2, 4))
    assert running(alone, "filters", "q") == {("3 1 2", "user")}


def test_a_replacement_that_is_refused_leaves_the_pins(alone: cqlduck.Connection) -> None:
    create(alone, "q", FILTERS.format("c"))
    create(alone, "above", "SELECT max(k) AS m FROM q")
    alone.pin("filters", "3 1 2", "q")
    with pytest.raises(CatalogError, match="is read by above"):
        replace(alone, "q", COUNTS.format(3))
    assert pins(alone) == {("q", "filters", "3 1 2")}


def test_one_that_can_no_longer_be_answered_anew_says_so(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path, sharing=False) as con:
        con.execute(STREAM)
        create(con, "q", COUNTS.format(3))
        con.pin("answer", "recomputed", "q")
        con.pin("stages", "whole", "q")
        play(con, range(2))
        assert con.engine.query("q").is_anew
        text = f"CREATE OR REPLACE CONTINUOUS QUERY q AS {RAISES}"
        planned = said(con, text)
        assert "answer: recomputed goes, as it could not be answered anew: " in planned
        assert "stages: whole stays pinned" in planned
        with pytest.warns(RuntimeWarning, match=r"q is no longer pinned.*may raise") as warned:
            con.execute(text)
        assert [__file__] == [one.filename for one in warned]
        assert "may raise an error" in con.explain("q")
    with cqlduck.connect(path) as con:
        assert pins(con) == {("q", "stages", "whole")}
        logged = con.sql(
            "SELECT from_option, to_option, reason FROM cql.plan_log WHERE point = 'answer'"
        )
        ((before, after, reason),) = logged.fetchall()
        assert (before, after) == ("recomputed", "incremental")
        assert reason.startswith("it cannot be answered anew: ")
        play(con, range(2, 4))
        assert not con.engine.query("q").is_anew


@pytest.mark.parametrize("body", [ABOVE.format(3), SUMS])
def test_one_that_is_pinned_keeps_a_plan_of_its_own(body: str) -> None:
    with cqlduck.connect() as con:
        con.execute(STREAM)
        create(con, "q", FILTERS.format("c"))
        con.pin("stages", "whole", "q")
        create(con, "above", ABOVE.format(2))
        create(con, "counts", COUNTS.format(3))
        text = f"CREATE OR REPLACE CONTINUOUS QUERY q AS {body}"
        assert "q, in whose place it comes, is pinned" in said(con, text)
        replace(con, "q", body)
        assert family(con, "q") is None
        assert pins(con) == {("q", "stages", "whole")}


def test_a_member_that_stays_in_its_family_runs_what_is_pinned_there(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(STREAM)
        play(con, range(1))
        for at in range(3):
            create(con, f"m{at}", ABOVE.format(at))
        shared = family(con, "m0")
        assert shared is not None
        con.pin("stages", "whole", "m0")
        play(con, range(1, 2))
        text = f"CREATE OR REPLACE CONTINUOUS QUERY m0 AS {ABOVE.format(7)}"
        assert f"it joins {shared}" in said(con, text)
        con.execute(text)
        assert family(con, "m0") == shared
        assert pins(con) == {(shared, "stages", "whole")}
    with cqlduck.connect(path) as con:
        play(con, range(2, 4))
        assert running(con, "stages", shared) == {("whole", "user")}
        assert (8,) in answer(con, "m0")
        assert (7,) not in answer(con, "m0")


def test_a_member_that_leaves_its_family_takes_the_pins_along(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(STREAM)
        for at in range(3):
            create(con, f"m{at}", ABOVE.format(at))
        shared = family(con, "m0")
        assert shared is not None
        con.pin("stages", "whole", "m0")
        play(con, range(2))
        replace(con, "m0", JOIN)
        expected = {(shared, "stages", "whole"), ("m0", "stages", "whole")}
        assert pins(con) == expected
        play(con, range(2, 4))
    with cqlduck.connect(path) as con:
        assert pins(con) == expected
        play(con, range(4, 6))
        assert running(con, "stages", "m0") == {("whole", "user")}
        assert running(con, "stages", shared) == {("whole", "user")}


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER CONTINUOUS QUERY m0 SET (sharing = false)",
        f"CREATE OR REPLACE CONTINUOUS QUERY m0 WITH (sharing = false) AS {ABOVE.format(0)}",
    ],
)
def test_a_member_that_is_separated_takes_the_pins_along(statement: str) -> None:
    with cqlduck.connect() as con:
        con.execute(STREAM)
        create(con, "m0", ABOVE.format(0))
        create(con, "m1", ABOVE.format(1))
        shared = family(con, "m0")
        assert shared is not None
        con.pin("stages", "whole", "m0")
        play(con, range(2))
        con.execute(statement)
        assert family(con, "m0") is None
        assert pins(con) == {(shared, "stages", "whole"), ("m0", "stages", "whole")}


def test_the_last_member_of_a_family_takes_the_pins_along() -> None:
    with cqlduck.connect() as con:
        con.execute(STREAM)
        create(con, "m0", ABOVE.format(0))
        create(con, "m1", ABOVE.format(1))
        con.pin("stages", "whole", "m0")
        con.execute("DROP CONTINUOUS QUERY m1")
        replace(con, "m0", ABOVE.format(2))
        assert family(con, "m0") is None
        assert pins(con) == {("m0", "stages", "whole")}


def test_what_is_created_under_a_name_that_was_dropped_is_not_pinned() -> None:
    with cqlduck.connect() as con:
        con.execute(STREAM)
        create(con, "q", FILTERS.format("c"))
        con.pin("filters", "3 1 2", "q")
        con.execute("DROP CONTINUOUS QUERY q")
        replace(con, "q", FILTERS.format("c"))
        assert pins(con) == set()
