"""A query may be answered anew at each change: no answer, and no element, depends on it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import cqlduck
from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.statements.refreshing import INCREMENTAL, RECOMPUTED
from cqlduck.streamon.points import ANSWER

BODIES = {
    "sums": "SELECT r.b, count(*) AS n, sum(v) AS v FROM s [RANGE 3], r WHERE s.a = r.a "
    "GROUP BY r.b",
    "all_of_it": "SELECT count(*) AS n FROM s [RANGE 3]",
    "comes": "SELECT Istream(a, count(*) AS n) FROM s [RANGE 3] GROUP BY a",
    "goes": "SELECT Dstream(a, v) FROM s [RANGE 2] WHERE v > 1",
    "stands": "SELECT Rstream(a, count(*) AS n) FROM s [RANGE 3] GROUP BY a",
    "outer_join": "SELECT r.a, r.b, s.v FROM r LEFT JOIN s [RANGE 4] ON r.a = s.a",
    "without": "SELECT DISTINCT a FROM s [RANGE 4 SLIDE 2] EXCEPT SELECT b FROM r",
    "equal_tuples": "SELECT r.b FROM s [RANGE 3], r WHERE s.a = r.a",
    "met": "SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s [RANGE 3] WHERE s.a = r.a "
    "AND s.v > r.b)",
    "first": "SELECT a, v FROM s [RANGE 5] ORDER BY v LIMIT 2",
    "above": "SELECT n + 1 AS m FROM sums WHERE b = 1 ORDER BY m LIMIT 1",
    "inner_query": "SELECT w.a, w.n FROM (SELECT a, count(*) AS n FROM s [RANGE 5] GROUP BY a) w, "
    "r WHERE w.n = r.b",
}

PAIR = ("sums", "above")
"""One query, and one that reads it."""

INPUTS = """
    CREATE RELATION r (a INTEGER, b INTEGER);
    CREATE STREAM s (a INTEGER, v INTEGER, t BIGINT) TIMESTAMP BY t;
"""


def made(path: Path | str = ":memory:", names: Sequence[str] = tuple(BODIES)) -> cqlduck.Connection:
    con = cqlduck.connect(path, sharing=False, threads=1)
    con.execute(INPUTS)
    for name in names:
        con.execute(f"CREATE CONTINUOUS QUERY {name} AS {BODIES[name]}")
    return con


def is_anew(con: cqlduck.Connection, name: str) -> bool:
    return con.engine.query(name).is_anew


def elements(con: cqlduck.Connection, name: str) -> list[tuple[Any, ...]]:
    return sorted(con.changes(name).fetchall(), key=repr)


def answer(con: cqlduck.Connection, name: str) -> list[tuple[Any, ...]]:
    return sorted(con.sql(f"FROM {name}").fetchall(), key=repr)


def wrong(con: cqlduck.Connection) -> list[Any]:
    return [row for row in con.check().fetchall() if "wrong" in row]


Change = tuple[int, list[dict[str, Any]], list[tuple[int, int, int, int]]]
"""How far a tick goes, what comes of the stream, and (a, b, at, weight) of the relation."""


def drawn(seed: int, ticks: int) -> Iterator[Change]:
    """Yield ticks of one instant or several, with ties, NULLs, duplicates and empty instants."""
    draw, now, there = random.Random(seed), 0, list[tuple[int, int]]()
    for _ in range(ticks):
        until = now + draw.choice([1, 1, 1, 2, 4])
        rows = [
            {
                "a": draw.choice([1, 2, None]),
                "v": draw.randint(0, 3),
                "t": draw.randint(now + 1, until),
            }
            for _ in range(draw.randint(0, 3))
        ]
        changes = []
        at = draw.randint(now + 1, until)
        if draw.random() < 0.3:
            there.append((draw.randint(1, 2), draw.randint(1, 2)))
            changes.append((*there[-1], at, 1))
        elif there and draw.random() < 0.3:
            changes.append((*there.pop(draw.randrange(len(there))), at, -1))
        yield until, sorted(rows, key=lambda row: row["t"]), changes
        now = until


def bring(con: cqlduck.Connection, change: Change) -> None:
    until, rows, changes = change
    if rows:
        con.append("s", rows)
    for a, b, at, weight in changes:
        (con.append if weight > 0 else con.retract)("r", [{"a": a, "b": b}], at=at)
    con.advance(until)


@pytest.mark.parametrize("seed", range(2))
def test_it_goes_to_and_fro_and_nothing_shows(tmp_path: Path, seed: int) -> None:
    draw, went = random.Random(seed), set[str]()
    names = [*draw.sample([name for name in BODIES if name not in PAIR], 3), *PAIR]
    con, beside = made(tmp_path / "some.duckdb", names), made(names=names)
    for number, change in enumerate(drawn(seed, 10)):
        for name in draw.sample(names, 2):
            con.pin(ANSWER, draw.choice([RECOMPUTED, RECOMPUTED, INCREMENTAL, None]), name)
        if number == 5:
            con.close()
            con = cqlduck.connect(tmp_path / "some.duckdb", sharing=False, threads=1)
        bring(con, change)
        bring(beside, change)
        went |= {name for name in names if is_anew(con, name)}
        assert not wrong(con)
        for name in names:
            assert answer(con, name) == answer(beside, name), (number, name)
    for name in names:
        assert elements(con, name) == elements(beside, name), name
    assert len(went) > 2
    con.close()
    beside.close()


@pytest.mark.parametrize("name", BODIES)
def test_each_kind_of_query_can_be_answered_anew(name: str) -> None:
    names = ("sums", "above") if name == "above" else (name,)
    with made(names=names) as con, made(names=names) as beside:
        con.pin(ANSWER, RECOMPUTED, name)
        for change in drawn(5, 5):
            bring(con, change)
            bring(beside, change)
        assert is_anew(con, name)
        assert elements(con, name) == elements(beside, name)
        assert not wrong(con)


def test_what_it_keeps_is_the_log_of_its_answer() -> None:
    with made(names=["sums"]) as con:
        bring(con, (1, [{"a": 1, "v": 1, "t": 1}], [(1, 1, 1, 1)]))
        con.pin(ANSWER, RECOMPUTED, "sums")
        bring(con, (2, [{"a": 1, "v": 1, "t": 2}], []))
        kinds = con.sql("SELECT kind FROM cql.synopses WHERE query = 'sums'").fetchall()
        assert kinds == [("trace",)]
        con.pin(ANSWER, INCREMENTAL, "sums")
        bring(con, (3, [], []))
        kinds = con.sql("SELECT DISTINCT kind FROM cql.synopses WHERE query = 'sums'").fetchall()
        assert ("groups",) in kinds


def test_it_stands_after_a_restart_and_the_log_says_so(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with made(path, ["sums"]) as con:
        bring(con, (1, [{"a": 1, "v": 1, "t": 1}], [(1, 1, 1, 1)]))
        con.pin(ANSWER, RECOMPUTED, "sums")
        bring(con, (2, [{"a": 1, "v": 2, "t": 2}], []))
        assert "answer: recomputed, chosen by user" in str(con.explain("sums"))
        logged = con.sql(
            "SELECT to_option, reason FROM cql.plan_log WHERE point = 'answer'"
        ).fetchall()
        assert logged == [(RECOMPUTED, "a user wants it")]
    with cqlduck.connect(path, sharing=False, threads=1) as con:
        assert is_anew(con, "sums")
        bring(con, (3, [{"a": 1, "v": 4, "t": 3}], []))
        assert answer(con, "sums") == [(1, 3, 7)]
        con.pin(ANSWER, None, "sums")
        bring(con, (4, [], []))
        assert not is_anew(con, "sums")
        assert answer(con, "sums") == [(1, 3, 7)]
        assert not wrong(con)


def test_without_adaptivity_it_is_incremental_again() -> None:
    with made(names=["sums"]) as con:
        con.pin(ANSWER, RECOMPUTED)
        bring(con, (1, [], [(1, 1, 1, 1)]))
        bring(con, (2, [], []))
        assert is_anew(con, "sums")
        con.pin(ANSWER, None)
        con.execute("UPDATE cql.properties SET value = 'false' WHERE name = 'adaptive'")
        bring(con, (3, [], []))
        assert not is_anew(con, "sums")


REFUSED = {
    "SELECT a, avg(v) AS v FROM s [RANGE 3] GROUP BY a": "a DOUBLE, whose last digits may differ",
    "SELECT a, sum(v) AS v FROM s GROUP BY a": "of s would have to be kept",
    "SELECT a, v FROM s [ROWS 3]": "is not kept in a store",
    "SELECT a FROM s [RANGE 3] WHERE 10 // v > 2 AND a > 1": "may raise an error",
}


@pytest.mark.parametrize("body", REFUSED)
def test_a_query_that_cannot_says_why(body: str) -> None:
    with cqlduck.connect(sharing=False) as con:
        con.execute(INPUTS)
        con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
        bring(con, (1, [{"a": 2, "v": 1, "t": 1}], []))
        with pytest.raises(NotSupportedError, match=REFUSED[body]):
            con.pin(ANSWER, RECOMPUTED, "q")
        # of all queries those have it run that can
        con.pin(ANSWER, RECOMPUTED)
        bring(con, (2, [{"a": 2, "v": 1, "t": 2}], []))
        assert not is_anew(con, "q")


def test_a_tick_without_a_change_does_not_ask_for_the_answer() -> None:
    ran: list[str] = []
    with made(names=["sums"]) as con:
        bring(con, (1, [], [(1, 1, 1, 1)]))
        con.pin(ANSWER, RECOMPUTED, "sums")
        bring(con, (2, [], []))
        con.engine.database.trace = lambda sql, _: ran.append(sql)
        bring(con, (3, [], []))
        asked = [sql for sql in ran if "GROUP BY\n" in sql and "SUM(v)" in sql]
        assert ran
        assert not asked
        bring(con, (4, [{"a": 1, "v": 1, "t": 4}], []))
        assert [sql for sql in ran if "SUM(v)" in sql]


def test_what_was_in_its_answer_goes_on_as_it_was_logged() -> None:
    """A kept answer, read from synopses before, is read from the log from then on."""
    with made(names=["all_of_it"]) as con:
        bring(con, (1, [{"a": 1, "v": 1, "t": 1}], []))
        con.pin(ANSWER, RECOMPUTED, "all_of_it")
        bring(con, (2, [], []))
        assert answer(con, "all_of_it") == [(1,)]
        bring(con, (9, [], []))
        assert answer(con, "all_of_it") == [(0,)]
        assert con.as_of("all_of_it", 3).fetchall() == [(1,)]
        con.pin(ANSWER, INCREMENTAL, "all_of_it")
        bring(con, (10, [{"a": 1, "v": 1, "t": 10}], []))
        assert answer(con, "all_of_it") == [(1,)]


def test_one_that_fails_while_it_is_answered_anew_says_the_instant() -> None:
    body = "SELECT r.b, sum(s.v * 2000000000) AS v FROM s [RANGE 3], r WHERE s.a = r.a GROUP BY r.b"
    said = []
    for option in (INCREMENTAL, RECOMPUTED):
        with cqlduck.connect(sharing=False, threads=1) as con:
            con.execute(INPUTS)
            con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
            bring(con, (1, [{"a": 1, "v": 1, "t": 1}], [(1, 1, 1, 1)]))
            con.pin(ANSWER, option, "q")
            bring(con, (2, [], []))
            assert is_anew(con, "q") == (option == RECOMPUTED)
            bring(con, (8, [{"a": 1, "v": 1, "t": 4}, {"a": 1, "v": 3, "t": 6}], []))
            query = con.engine.query("q")
            logged = con.sql("FROM cql_state.changes_q ORDER BY ALL").fetchall()
            said.append((logged, query.state, query.frontier, query.error_row))
    assert said[0] == said[1]
    assert said[0][1:3] == ("failed", 5)


PROCESS = """
import sys
sys.path[:0] = sys.argv[2:]
import cqlduck
from test_answers_anew import made
con = made(sys.argv[1], ["sums", "above"])
con.execute("INSERT INTO r VALUES (1, 1), (2, 2)")
now = 0
while True:
    now += 1
    con.pin("answer", "recomputed" if now % 2 else "incremental", "sums")
    con.append("s", [dict(a=1 + now % 2, v=now % 5, t=now)])
    con.advance(now)
    print(now, flush=True)
"""


@pytest.mark.parametrize("pause", [0.0, 0.011, 0.027])
def test_a_process_that_is_killed_while_it_goes_loses_nothing(tmp_path: Path, pause: float) -> None:
    path, here = tmp_path / "some.duckdb", str(Path(__file__).parent)
    arguments = [sys.executable, "-c", PROCESS, str(path), here]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 5:
                break
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
    with cqlduck.connect(path, sharing=False, threads=1) as con:
        now = con.engine.query("sums").frontier
        assert now is not None
        assert now >= 5
        last = con.sql("SELECT max(t) FROM cql_state.stream_s").fetchall()[0][0]
        con.advance(last)
        rows = [{"a": 1 + t % 2, "v": t % 5, "t": t} for t in range(1, last + 1)]
        with made(names=["sums", "above"]) as beside:
            beside.execute("INSERT INTO r VALUES (1, 1), (2, 2)")
            beside.append("s", rows)
            beside.advance(last)
            for name in ("sums", "above"):
                assert answer(con, name) == answer(beside, name)
                assert elements(con, name) == elements(beside, name)
        assert not wrong(con)
