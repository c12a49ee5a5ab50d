"""What the views show of inputs and queries is what the engine works with, after any change."""

from __future__ import annotations

import random
from dataclasses import fields
from pathlib import Path

import duckdb
import pytest

import cqlduck
from cqlduck.state import catalog_rows, ticks


def same(con: cqlduck.Connection) -> None:
    """Compare the views with the catalogue in memory."""
    known = con.engine.catalogue
    planned = (*known.queries.values(), *known.families.values())
    inputs = (*known.inputs.values(), *known.constants.values())
    for kind, things in (("inputs", inputs), ("queries", planned)):
        names = [f.name for f in fields(things[0]) if f.name in SHOWN]
        rows = con.sql(f"SELECT {', '.join(names)} FROM cql_state.{kind} ORDER BY position")
        ordered = sorted(things, key=lambda thing: thing.position)
        expected = [tuple(getattr(thing, name) for name in names) for thing in ordered]
        assert rows.fetchall() == expected
    numbers = [n for (n,) in con.sql("SELECT number FROM cql.ticks").fetchall()]
    assert numbers == sorted(set(numbers))
    assert max(numbers, default=0) == con.engine.ticks


SHOWN = {
    "position", "name", "heartbeat", "first_instant", "last_raw", "last_instant", "forgotten",
    "next_seq", "next_batch", "waiting_for", "bound", "state", "error", "since", "begin_instant",
    "frontier", "answer_instant", "history_from", "keep", "amend_from",
}  # fmt: skip


@pytest.mark.parametrize("most", [0, 2, 64])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))]
)
@pytest.mark.parametrize("place", ["a file", "memory", "memory, written soon"])
def test_views_show_the_catalogue(
    place: str, seed: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_rows, "MAX_LISTED_MOVES", most)
    if place == "memory, written soon":
        monkeypatch.setattr(ticks, "MAX_WAITING_ROWS", 3)
    draw = random.Random(seed)
    in_memory = place != "a file"
    path = ":memory:" if in_memory else str(tmp_path / "db.duckdb")
    con = cqlduck.connect(path)
    con.execute("""
        CREATE STREAM s (a BIGINT); CREATE STREAM t (a BIGINT); CREATE RELATION r (a BIGINT);
        CREATE STREAM u (a BIGINT);
        CREATE CONTINUOUS QUERY q AS SELECT a FROM s WHERE a > 1;
        CREATE CONTINUOUS QUERY p AS SELECT s.a FROM s [RANGE 3], r WHERE s.a = r.a;
    """)
    made = 0
    for now in range(1, 61):
        name = draw.choice("st")
        steps = ["tick", "append", "wait", "relation", "heartbeat", "reopen", "query", "refuse"]
        match draw.choice([*steps, "made anew", "refused"]):
            case "tick":
                con.tick({name: [{"a": now, "_ts": now}]}, now)
            case "append":
                con.append(name, [(now,)], at=now)
                con.advance()
            case "wait":
                # rows of inputs wait until somebody looks, or a tick lists them
                con.append(draw.choice("rstu"), [(now,)], at=now)
            case "made anew":
                con.append("u", [(now,)], at=now)
                con.execute("DROP STREAM u; CREATE STREAM u (a BIGINT)")
            case "refused":
                with pytest.raises(cqlduck.Error):
                    con.append(draw.choice("rst"), [("a",)], at=now)
            case "relation":
                con.append("r", [(now,)], at=now)
                con.advance(now)
            case "heartbeat":
                con.heartbeat(name, now)
            case "reopen" if not in_memory:
                con.close()
                con = cqlduck.connect(path)
            case "query":
                made += 1
                con.execute(f"CREATE CONTINUOUS QUERY q{made} AS SELECT a FROM {name} [NOW]")
                if draw.random() < 0.5:
                    con.execute(f"DROP CONTINUOUS QUERY q{made}")
            case "refuse":
                with pytest.raises(cqlduck.Error):
                    con.tick({name: [{"a": now, "_ts": now}], "nobody": []}, now)
        # ticks in memory are written when somebody looks
        if not in_memory or draw.random() < 0.2:
            same(con)
    same(con)
    con.close()


def test_ticks_in_memory_are_written_together(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (a BIGINT); CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
    written = []
    for now in range(1, ticks.MAX_WAITING_ROWS + 3):
        con.tick({"s": [{"a": now, "_ts": now}]}, now)
        written.append(con.engine.database.value("SELECT count(*) FROM cql_state.ticks"))
    assert written == [0] * (ticks.MAX_WAITING_ROWS - 1) + [ticks.MAX_WAITING_ROWS] * 3
    assert con.sql("SELECT count(*), max(number) FROM cql.ticks").fetchall() == [
        (ticks.MAX_WAITING_ROWS + 2, ticks.MAX_WAITING_ROWS + 2)
    ]


def test_ticks_that_are_not_written_yet_outlast_a_failure(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (a BIGINT); CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
    for now in range(1, 4):
        con.tick({"s": [{"a": now, "_ts": now}]}, now)
    with pytest.raises(cqlduck.BindError):
        con.execute("CREATE CONTINUOUS QUERY bad AS SELECT nothing FROM s")
    assert con.engine.query("q").frontier == 3
    con.tick({"s": [{"a": 4, "_ts": 4}]}, 4)
    same(con)
    assert con.sql("SELECT number FROM cql.ticks ORDER BY ALL").fetchall() == [
        (1,), (2,), (3,), (4,),
    ]  # fmt: skip
    assert sorted(con.table("q").fetchall()) == [(n, n) for n in range(1, 5)]


def test_a_refreshed_relation_sees_all_ticks(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE STREAM s (a BIGINT);
        CREATE CONTINUOUS QUERY q AS SELECT a FROM s;
        CREATE RELATION reached FROM (SELECT name, frontier FROM cql.queries);
    """)
    for now in range(1, 4):
        con.tick({"s": [{"a": now, "_ts": now}]}, now)
    assert con.refresh("reached") == 2
    con.advance(9)
    assert con.sql("FROM reached").fetchall() == [("q", "3")]


def test_a_database_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect() as old:
        old.execute(f"ATTACH '{path}' AS old (STORAGE_VERSION 'v1.5.0'); USE old")
        old.execute("CREATE SCHEMA cql_state; CREATE TABLE cql_state.inputs (position BIGINT)")
    with pytest.raises(cqlduck.DatabaseError, match="another version"):
        cqlduck.connect(path)


def test_no_view_of_ours_is_bound_before_it_is_read(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE STREAM s (k INTEGER);
        CREATE CONTINUOUS QUERY q AS SELECT k FROM s [ROWS 2];
    """)
    bound = "SELECT view_name FROM duckdb_views() WHERE schema_name LIKE 'cql%' AND is_bound"
    assert [] == con.sql(bound).fetchall()
    assert [("stream_s", 0)] == con.sql(
        "SELECT table_name, row_count FROM cql_state.store_rows"
    ).fetchall()
    assert {("store_rows",), ("store_rows_0",)} == set(con.sql(bound).fetchall())
