"""What is kept between ticks: little, and forgetting it shows in no answer."""

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import reference
import strategies
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from test_differential import append

import cqlduck
from cqlduck.state import answers, retention

S = "CREATE STREAM s (k INTEGER, v INTEGER)"


def rows_of(con: cqlduck.Connection, table: str) -> list[tuple[Any, ...]]:
    return con.sql(f'SELECT * FROM cql_state."{table}" ORDER BY ALL').fetchall()


def synopses(con: cqlduck.Connection, kind: str) -> dict[str, int]:
    """How many rows each synopsis of a kind has."""
    names = con.sql(f"SELECT table_name FROM cql_state.synopses WHERE kind = '{kind}'").fetchall()
    return {name: len(rows_of(con, name)) for (name,) in names}


def test_a_group_that_is_empty_leaves_nothing_behind(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT k, sum(v) FROM s [RANGE 2] GROUP BY k")
    con.append("s", [(k, 1) for k in range(50)], at=1)
    con.advance(2)
    assert [50] == list(synopses(con, "groups").values())
    con.append("s", [(7, 1)], at=3)
    con.advance(5)
    assert [1] == list(synopses(con, "groups").values())
    con.advance(6)
    assert [0] == list(synopses(con, "groups").values())


def test_an_outlier_that_has_left_leaves_a_log_that_is_made_net(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "LOG", 0)
    con.execute(
        "CREATE STREAM s (k INTEGER, x DOUBLE);"
        "CREATE CONTINUOUS QUERY q AS SELECT k, sum(x) AS t FROM s [RANGE 2] GROUP BY k"
    )
    for instant in range(40):
        con.append("s", [(1, 1e300)], at=instant)
        con.advance(instant)
    assert 10 > synopses(con, "outliers").popitem()[1]
    con.append("s", [(1, 0.5)], at=60)
    con.advance(60)
    assert [(1, 0.5)] == con.table("q").fetchall()


def test_a_window_of_rows_keeps_its_rows_alone(con: cqlduck.Connection) -> None:
    con.execute(
        f"{S}; CREATE CONTINUOUS QUERY q AS SELECT v FROM s [ROWS 3];"
        "CREATE CONTINUOUS QUERY p AS SELECT v FROM s [PARTITION BY k ROWS 2]"
    )
    for instant in range(30):
        con.append("s", [(instant % 4, instant)], at=instant)
        con.advance(instant)
    assert {3, 8} == set(synopses(con, "rows").values())


def test_a_stream_is_kept_until_the_last_window_has_passed(con: cqlduck.Connection) -> None:
    """The element at 10 leaves RANGE 5 at 16: after that, and not before, it is forgotten."""
    con.execute(
        f"{S}; CREATE CONTINUOUS QUERY long AS SELECT v FROM s [RANGE 5];"
        "CREATE CONTINUOUS QUERY short AS SELECT v FROM s [RANGE 1]"
    )
    con.append("s", [(1, 10), (1, 100)], at=[10, 100])
    for instant in range(40):
        con.advance(instant)
        there = (1, 10, 10) in [row[:3] for row in rows_of(con, "stream_s")]
        assert there or instant >= 15
    assert not there
    assert [(10, 10, 1), (10, 16, -1)] == sorted(con.changes("long").fetchall())
    assert [(10, 10, 1), (10, 12, -1)] == sorted(con.changes("short").fetchall())


def test_a_stream_that_slides_is_kept_until_its_last_boundary(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT v FROM s [RANGE 2 SLIDE 7]")
    con.append("s", [(1, 13), (1, 100)], at=[13, 100])
    for instant in range(60):
        con.advance(instant)
    # ⌈13/7⌉·7, and the first multiple after 15.
    assert [(13, 14, 1), (13, 21, -1)] == sorted(con.changes("q").fetchall())
    assert [100] == [row[1] for row in rows_of(con, "stream_s")]


def play(con: cqlduck.Connection, case: strategies.Case) -> None:
    """Take the steps of a case that has no restarts, and look at all that is there."""
    for declaration in case.declarations:
        con.execute(declaration)
    for step in case.script:
        match step:
            case strategies.Register(query):
                con.execute(strategies.registration(query))
            case strategies.Append(thing, elements):
                append(con, thing, elements)
            case strategies.Advance(to):
                con.advance(to)
                # answers are kept when they are read
                con.sql("FROM cql.queries")


def sums(changes: list[tuple[Any, ...]], instant: int) -> Counter[tuple[Any, ...]]:
    """The sum of the elements up to an instant."""
    found: Counter[tuple[Any, ...]] = Counter()
    for *row, ts, weight in changes:
        if ts <= instant:
            found[reference.normal(tuple(row))] += weight
    return +found


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


ANY_CASE = strategies.cases(restarts=False, wide=True)


@given(case=ANY_CASE)
@settings(suppress_health_check=QUIET, deadline=None, max_examples=fewer_if_brief(20))
def test_keeping_logs_and_answers_small_shows_in_nothing(case: strategies.Case) -> None:
    """Every log is made net, and every answer written anew, as soon as it has grown at all."""
    with pytest.MonkeyPatch.context() as patch, cqlduck.connect() as con:
        patch.setattr(retention, "LOG", 0)
        patch.setattr(answers, "TAIL", 0)
        play(con, case)
        for result in case.expected():
            name = result.query.name
            changes = con.changes(name).fetchall()
            problems = reference.differences(result, reference.from_changes(changes))
            assert not problems, f"{name}: {problems[:5]}\n{case}"
            if result.stream is not None:
                continue
            for instant in range(case.t_begin, case.t_end + 1):
                rows = con.as_of(name, instant).fetchall()
                assert sums(changes, instant) == reference.bag_of(rows), f"{name}\n{case}"
            rows = con.table(name).fetchall()
            assert sums(changes, case.t_end) == reference.bag_of(rows), f"{name}\n{case}"


def test_an_answer_is_kept_apart_from_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "TAIL", 3)
    path = tmp_path / "a.duckdb"

    def kept_until(con: cqlduck.Connection) -> list[int | None]:
        return [con.engine.query(name).answer_instant for name in ("q", "p")]

    with cqlduck.connect(path, drop_zone=tmp_path) as con:
        con.execute(
            f"{S}; CREATE CONTINUOUS QUERY q AS SELECT v FROM s [RANGE 1000] WHERE k = 0;"
            "CREATE CONTINUOUS QUERY p AS SELECT v FROM s [RANGE 1000] WHERE k > 0"
        )
        for t in range(9):
            con.tick({"s": pa.table({"k": [0, 1], "v": [t, t], "_ts": [t, t]})}, t)
        assert [None, None] == kept_until(con), "a tick does not do it"
        assert [(t,) for t in range(9)] == sorted(con.table("q").fetchall())
        assert [8, None] == kept_until(con), "one answer was read"
        assert 9 == con.arrow("p").num_rows
        assert [8, 8] == kept_until(con)
        for t in range(9, 27):
            con.tick({"s": pa.table({"k": [0, 1], "v": [t, t], "_ts": [t, t]})}, t)
        con.table("q"), con.table("p")
        assert [8, 8] == kept_until(con), "18 elements do not outweigh 9 tuples"
        con.tick({"s": [(0, 27)]}, 27)
        con.follow()
        assert [8, 8] == kept_until(con), "nor does following"
        con.table("q")
        assert [27, 8] == kept_until(con)
        con.tick({"s": [(1, 28)]}, 28)
    with cqlduck.connect(path) as con:
        assert [27, 28] == kept_until(con), "the file was closed"
        for t in range(29, 100):
            con.tick({"s": [(0, t)]}, t)
        assert 99 == con.sql("SELECT count(*) FROM q").fetchall()[0][0]
        assert [99, 28] == kept_until(con), "counted anew after opening"


def test_who_listens_to_ticks_reads_answers_as_they_are_after_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answers, "TAIL", 3)
    seen: list[int] = []
    with cqlduck.connect() as con:
        con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT v FROM s [RANGE 1000]")
        con.engine.on_tick.append(lambda _: seen.append(len(con.table("q").fetchall())))
        for t in range(12):
            con.tick({"s": pa.table({"k": [1], "v": [t], "_ts": [t]})}, t)
        assert list(range(1, 13)) == seen
        con.engine.on_tick.clear()
        assert 12 == len(con.table("q").fetchall())


def test_an_answer_that_cannot_be_kept_is_read_from_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise duckdb.IOException("the disk is full")

    monkeypatch.setattr(answers, "TAIL", 3)
    monkeypatch.setattr(answers, "keep", fails)
    with cqlduck.connect(tmp_path / "a.duckdb", drop_zone=tmp_path) as con:
        con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT v FROM s [RANGE 1000]")
        con.append("s", [(1, v) for v in range(9)], at=1)
        con.advance(1)
        assert 9 == len(con.table("q").fetchall()) == con.arrow("q").num_rows
        assert [(9,)] == con.sql("SELECT count(*) FROM q").fetchall()
        con.follow()
    assert {"an answer is read from its log: the disk is full"} == set(caplog.messages)
    monkeypatch.undo()
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        assert 9 == len(con.table("q").fetchall())


@pytest.mark.parametrize("window", ["TUMBLE 10", "RANGE 10", "RANGE 7 SLIDE 4", "ROWS 5"])
def test_history_that_a_window_still_reads_is_kept(window: str) -> None:
    found = []
    for keep in ("", "WITH (keep = '1 second') "):
        with cqlduck.connect() as con:
            con.execute(
                "CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t;"
                f"CREATE CONTINUOUS QUERY p {keep}AS "
                "SELECT Istream(k, count(*) AS n) FROM s [RANGE 3] GROUP BY k;"
                f"CREATE CONTINUOUS QUERY q AS SELECT k, n FROM p [{window}]"
            )
            for t in range(60):
                con.append("s", [(t % 3, t)])
                con.advance(t)
            con.advance(80)
            found.append(sorted(con.changes("q").fetchall()))
            kept = con.changes("p").fetchall()
    assert found[0] == found[1]
    assert len(kept) < 40, "what no window needs is forgotten"
