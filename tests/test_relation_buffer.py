"""Elements of relations in memory before their instants close: the same as in their queues."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.state import pending, relation_buffer

R = "CREATE RELATION r (k INTEGER, v DOUBLE{})"
KEY = ", PRIMARY KEY (k)"
QUERIES = """
    CREATE CONTINUOUS QUERY content AS SELECT * FROM r;
    CREATE CONTINUOUS QUERY total AS SELECT k, count(*) AS n FROM r GROUP BY k;
"""


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as connection:
        connection.execute(R.format(KEY))
        connection.execute(QUERIES)
        # once its queue is known to be empty
        connection.append("r", [(0, 0.0)], at=1)
        connection.advance(1)
        yield connection


def waiting(con: cqlduck.Connection, name: str = "r") -> int:
    """How many elements are in memory."""
    known = con.engine.relation_buffer.kept.get(name)
    return 0 if known is None else known.count


def queued(con: cqlduck.Connection) -> int:
    """How many are in the queue, without that somebody writes them there."""
    return int(con.engine.database.value("SELECT count(*) FROM cql_state.pending_r"))


def test_elements_of_an_instant_stay_in_memory_until_it_closes(con: cqlduck.Connection) -> None:
    con.append("r", [(1, 1.0), (2, 2.0)], at=2)
    con.retract("r", [(0, 0.0)], at=2)
    con.append("r", [(0, 5.0)], at=3)
    assert (4, 0) == (waiting(con), queued(con))
    con.advance(3)
    assert (0, 0) == (waiting(con), queued(con))
    assert [(0, 5.0), (1, 1.0), (2, 2.0)] == sorted(con.table("content").fetchall())


def test_what_waits_runs_no_statement(con: cqlduck.Connection) -> None:
    texts: list[str] = []
    con.append("r", [(1, 1.0)], at=2)
    con.engine.database.trace = lambda sql, _: texts.append(sql)
    con.append("r", [(2, 2.0)], at=2)
    con.retract("r", [(0, 0.0)], at=2)
    assert [] == texts
    con.advance(2)
    assert ("BEGIN TRANSACTION", "COMMIT") == (texts[0], texts[-1])
    assert 1 == texts.count("BEGIN TRANSACTION") == texts.count("COMMIT")
    assert [(1, 1.0), (2, 2.0)] == sorted(con.table("content").fetchall())


def test_who_reads_the_queue_finds_them(con: cqlduck.Connection) -> None:
    con.append("r", [(1, 1.0)], at=2)
    shown = con.sql("SELECT k, v, _ts, _op FROM cql_state.pending_r")
    assert [(1, 1.0, 2, "+")] == shown.fetchall()
    assert (0, 1) == (waiting(con), queued(con))
    # what comes then lies beside it until both are resolved
    con.retract("r", [(1, 1.0)], at=3)
    assert (1, 1) == (waiting(con), queued(con))
    con.advance(2)
    assert [(0, 0.0), (1, 1.0)] == sorted(con.table("content").fetchall())
    con.advance(3)
    assert [(0, 0.0)] == con.table("content").fetchall()
    con.append("r", [(7, 7.0)], at=4)
    con.sql("FROM cql.queues")
    con.append("r", [(8, 8.0)], at=4)
    assert (1, 1) == (waiting(con), queued(con))
    con.advance(4)
    assert [0, 7, 8] == sorted(k for k, _ in con.table("content").fetchall())
    con.append("r", [(9, 9.0)], at=5)
    assert (1, 0) == (waiting(con), queued(con))


def test_what_is_for_later_stays(con: cqlduck.Connection) -> None:
    con.append("r", [(1, 1.0)], at=2)
    con.append("r", [(2, 2.0)], at=5)
    con.advance(3)
    assert [(0, 0.0), (1, 1.0)] == sorted(con.table("content").fetchall())
    con.append("r", [(3, 3.0)], at=4)
    con.advance(4)
    con.advance(5)
    assert [0, 1, 2, 3] == sorted(k for k, _ in con.table("content").fetchall())
    frontiers = con.sql("SELECT DISTINCT frontier FROM cql.queries").fetchall()
    assert [("5",)] == frontiers


def test_a_statement_counts_with_them(con: cqlduck.Connection) -> None:
    con.append("r", [(1, 1.0)], at=2)
    con.execute("UPDATE r SET v = v + 10")
    con.advance(9)
    assert [(0, 10.0), (1, 11.0)] == sorted(con.table("content").fetchall())
    con.append("r", [(2, 2.0)], at=10)
    con.refresh("r", [(2, 3.0)], at=11)
    con.advance(12)
    assert [(2, 3.0)] == con.table("content").fetchall()


def test_a_change_that_is_undone_takes_none_with_it(con: cqlduck.Connection) -> None:
    con.append("r", [(1, 1.0)], at=2)
    for rows in ([("x", 1.0)], [(1, 2.0, 3)]):
        with pytest.raises(cqlduck.Error):
            con.append("r", rows, at=2)
    with pytest.raises(cqlduck.Error):
        con.execute("INSERT INTO r VALUES (5, 5.0); INSERT INTO r VALUES ('x', 5.0)")
    con.advance(3)
    assert [(0, 0.0), (1, 1.0)] == sorted(con.table("content").fetchall())


def test_what_has_to_be_cast_goes_into_the_queue(con: cqlduck.Connection) -> None:
    con.append("r", pa.table({"k": pa.array([1], pa.int64()), "v": ["2.5"]}), at=2)
    assert (0, 1) == (waiting(con), queued(con))
    con.append("r", pa.table({"V": [3.5], "K": pa.array([2], pa.int32())}), at=2)
    con.advance(2)
    assert [(0, 0.0), (1, 2.5), (2, 3.5)] == sorted(con.table("content").fetchall())


def test_many_go_into_the_queue(con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation_buffer, "MAX_ELEMENTS", 3)
    for k in range(1, 4):
        con.append("r", [(k, 1.0)], at=2)
    assert (3, 0) == (waiting(con), queued(con))
    con.append("r", [(4, 1.0)], at=2)
    assert (0, 4) == (waiting(con), queued(con))
    con.advance(2)
    assert 5 == len(con.table("content").fetchall())


def test_that_they_wait_is_an_option_of_the_point_of_arrivals(con: cqlduck.Connection) -> None:
    con.append("r", [(1, 1.0)], at=2)
    shown = "SELECT option, chosen_by FROM cql.points WHERE point = 'arrivals' AND owner = 'r'"
    assert [("queue", "default")] == con.sql(shown).fetchall()
    con.pin("arrivals", "store", "r")
    con.append("r", [(2, 2.0)], at=3)
    assert (0, 2) == (waiting(con), queued(con))
    con.advance(3)
    assert [0, 1, 2] == sorted(k for k, _ in con.table("content").fetchall())
    assert {("store", "user")} == set(con.sql(shown).fetchall())
    con.pin("arrivals", None, "r")
    con.append("r", [(3, 3.0)], at=4)
    assert (1, 0) == (waiting(con), queued(con))


def test_in_a_file_nothing_waits(tmp_path: Path) -> None:
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        con.execute(R.format(KEY))
        for at in (1, 2):
            con.append("r", [(at, 1.0)], at=at)
            assert (0, 1) == (waiting(con), queued(con))
            con.advance(at)


def test_in_a_file_elements_of_all_instants_are_inserted_by_one_text(tmp_path: Path) -> None:
    texts: list[str] = []
    with cqlduck.connect(tmp_path / "a.duckdb", trace=lambda sql, _: texts.append(sql)) as con:
        con.execute(R.format(KEY) + ";" + QUERIES)
        for at in (1, 2, 3):
            con.append("r", [(at, 1.0)], at=at)
            con.advance(at)
        inserted = [text for text in texts if 'INSERT INTO cql_state."pending_r"' in text]
        assert (3, 1) == (len(inserted), len(set(inserted)))
        assert [1, 2, 3] == sorted(at for _, _, at, _ in con.changes("content").fetchall())


def test_a_relation_that_is_dropped_leaves_none(con: cqlduck.Connection) -> None:
    con.append("r", [(1, 1.0)], at=2)
    con.execute("DROP CONTINUOUS QUERY content; DROP CONTINUOUS QUERY total; DROP RELATION r")
    con.execute(R.format("") + ";" + QUERIES)
    con.append("r", [(3, 1.0)], at=2)
    con.advance(2)
    assert [(3, 1.0)] == con.table("content").fetchall()


KEYS = st.sampled_from([0, 1, 1, 2, None])
VALUES = st.sampled_from([0.0, -0.0, 1.0, float("nan"), None])
ROWS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["append", "append", "retract"]), ROWS, st.integers(0, 2)),
    st.tuples(st.just("each"), ROWS, st.integers(0, 2)),
    st.tuples(st.sampled_from(["look", "cast", "bad", "update", "refresh"]), ROWS, st.just(0)),
    st.tuples(st.just("advance"), st.none(), st.integers(0, 3)),
)


def play(con: cqlduck.Connection, steps: list[tuple[str, Any, int]]) -> list[Any]:
    """Take steps; return all that can be seen, the errors too."""
    now, seen = 1, list[Any]()
    for kind, rows, more in steps:
        try:
            match kind:
                case "append" | "retract":
                    seen.append(getattr(con, kind)("r", rows, at=now + more))
                case "each":
                    con.append("r", rows, at=[now + more] * len(rows))
                case "look":
                    con.sql("FROM cql.queues").fetchall()
                case "cast":
                    texts = {"k": [k for k, _ in rows], "v": [str(v or 0) for _, v in rows]}
                    con.append("r", pa.table(texts), at=now)
                case "bad":
                    con.append("r", [("no number", 1.0)], at=now)
                case "update":
                    con.execute("UPDATE r SET v = 1 WHERE k = 1")
                case "refresh":
                    con.refresh("r", rows[:1])
                case "advance":
                    now += more
                    con.advance(now)
        except cqlduck.Error as error:
            seen.append(error.message)
    with contextlib.suppress(cqlduck.Error):
        con.advance(now + 5)
    for query in ("content", "total"):
        seen.append(sorted(map(repr, con.changes(query).fetchall())))
    late = con.sql("SELECT * FROM cql.late")
    seen.append(sorted(map(repr, late.fetchall())))
    pending = con.sql("FROM cql_state.pending_r")
    seen.append(sorted(map(repr, pending.fetchall())))
    return seen


@settings(max_examples=fewer_if_brief(settings().max_examples))
@given(
    steps=st.lists(STEPS, max_size=14),
    keyed=st.booleans(),
    strict=st.booleans(),
    room=st.sampled_from([5, 10_000]),
)
def test_all_is_as_if_none_waited(
    steps: list[tuple[str, Any, int]], keyed: bool, strict: bool, room: int
) -> None:
    found = []
    for most in (room, 0):
        with (
            mock.patch.object(relation_buffer, "MAX_ELEMENTS", most),
            cqlduck.connect(strict=strict) as con,
        ):
            con.execute(R.format(KEY if keyed else "") + ";" + QUERIES)
            con.append("r", [(0, 0.0)], at=1)
            con.advance(1)
            found.append(play(con, steps))
    assert found[0] == found[1]


@settings(max_examples=fewer_if_brief(20))
@given(
    steps=st.lists(STEPS, max_size=14),
    keyed=st.booleans(),
    strict=st.booleans(),
    in_memory=st.booleans(),
)
def test_many_come_to_what_few_come_to(
    steps: list[tuple[str, Any, int]], keyed: bool, strict: bool, in_memory: bool
) -> None:
    """The first are what a relation is loaded with; more than may swap have the general law."""
    found = []
    for few, swapped in ((10_000, 1_000_000), (0, 1_000_000), (1, 2)):
        with (
            mock.patch.object(pending, "MAX_SCRATCH_ELEMENTS", few),
            mock.patch.object(pending, "MAX_SWAPPED_ELEMENTS", swapped),
            mock.patch.object(relation_buffer, "MAX_ELEMENTS", 10_000 if in_memory else 0),
            cqlduck.connect(strict=strict) as con,
        ):
            con.execute(R.format(KEY if keyed else "") + ";" + QUERIES)
            found.append(play(con, steps))
    assert [found[0]] * 2 == found[1:]
