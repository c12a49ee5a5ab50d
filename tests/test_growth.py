"""What a tick, a registration and a read cost does not grow with what has been before.

Costs are counted, not timed: bytecodes that Python runs, statements and their characters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import choices
import pyarrow as pa
import pytest

import cqlduck
from cqlduck.state import input_buffer, inspection, output_buffer, pending

S = "CREATE STREAM s (k INTEGER, v BIGINT, t BIGINT) TIMESTAMP BY t"
R = "CREATE RELATION r (k INTEGER, name VARCHAR) PRIMARY KEY (k)"
QUERIES = (
    "SELECT k, v FROM s WHERE v > 3",
    "SELECT s.v, r.name FROM s [RANGE 500] JOIN r ON s.k = r.k",
    "SELECT k, count(*) AS n, sum(v) AS total FROM s [RANGE 90] GROUP BY k",
)


def bytecodes(run: Callable[[], object]) -> int:
    """Return how many bytecodes Python runs in a call: a loop over ten things costs ten rounds."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def calls(run: Callable[[], object]) -> int:
    """Return how many functions Python calls in a call."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(trace)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def rows(t: int) -> pa.Table:
    return pa.table(
        {
            "k": pa.array([t % 5, (t + 1) % 5], pa.int32()),
            "v": pa.array([t % 17, t % 7], pa.int64()),
            "t": pa.array([t, t], pa.int64()),
        }
    )


class Statements:
    """The statements that run, as a setting `trace`."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.found = (0, 0)

    def __call__(self, sql: str, _: object) -> None:
        self.texts.append(sql)

    def of(self, run: Callable[[], object]) -> tuple[int, int]:
        """Return how many statements a call runs, and how many characters they have."""
        self.texts.clear()
        run()
        self.found = len(self.texts), sum(map(len, self.texts))
        return self.found


@pytest.fixture(params=["memory", "file"])
def traced(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[cqlduck.Connection, Statements]]:
    statements = Statements()
    path = ":memory:" if request.param == "memory" else tmp_path / "a.duckdb"
    with cqlduck.connect(path, trace=statements, threads=1) as con:
        choices.force_stages(con, True)
        # statements are counted in all ticks, or the clock would say in which
        con.engine.streamon.budget.fraction = 1.0
        yield con, statements


def test_a_tick_costs_the_same_after_many(
    traced: tuple[cqlduck.Connection, Statements],
) -> None:
    """Ticks that put pieces together, or write what waits, cost more; most do not.

    Reads look at pieces, of which there are few at any time, and not always as few.
    """
    con, statements = traced
    con.execute(f"{S}; {R}")
    con.append("r", [(k, str(k)) for k in range(5)], at=0)
    for n, query in enumerate(QUERIES):
        con.execute(f"CREATE CONTINUOUS QUERY q{n} AS {query}")

    def cost(t: int) -> tuple[int, ...]:
        texts = statements.of(lambda: con.tick({"s": rows(t)}, t))
        read = bytecodes(lambda: list(con.subscribe("q0", since=t - 1)))
        return (bytecodes(lambda: con.tick({"s": rows(t + 1)}, t + 1)), read, *texts)

    costs: list[list[int]] = []
    t = 1
    for wait in (10, 100):
        for _ in range(wait):
            con.tick({"s": rows(t)}, t)
            t += 1
        costs.append(
            [min(counts) for counts in zip(*(cost(t + 2 * n) for n in range(8)), strict=True)]
        )
        t += 16
    early, late = costs
    assert late[0] <= 1.01 * early[0]
    assert late[1] <= 2 * early[1]
    assert late[2] == early[2]
    assert late[3] <= early[3] + 3 * early[2], "numbers may have a digit more"


def test_rows_of_many_ticks_are_held_in_few_pieces(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS {QUERIES[2].replace('90', '100000')}")
    for t in range(100):
        con.tick({"s": rows(t)}, t)
    held = con.engine.input_buffer.kept["s"]
    assert 200 == sum(piece.table.num_rows for piece in held)
    assert len(held) <= 10
    assert [99] == [held[-1].last]
    assert [(v,) for v in range(5)] == con.table("q").project("k").order("k").fetchall()
    order = pa.concat_tables([piece.table for piece in held]).column("_cql_seq").to_pylist()
    assert list(range(200)) == order


def test_pieces_are_not_larger_than_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_buffer, "PIECE", 8)
    held: input_buffer.Pieces = ()
    for n in range(64):
        held = input_buffer.joined(held, pa.table({"_ts": pa.array([n], pa.int64())}))
        sizes = [piece.table.num_rows for piece in held]
        assert n + 1 == sum(sizes)
        assert max(sizes) <= 8
        assert len(sizes) <= (n + 1) / 8 + 4
    assert list(range(7, 64, 8)) == [piece.last for piece in held]


def test_of_small_ticks_so_many_tables_wait_and_no_more(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_buffer, "MAX_TABLES", 10)
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT v FROM s")
    seen = []
    for t in range(1, 48):
        con.tick({"s": rows(t)}, t)
        assert len(con.engine.output_buffer._ends["q"].tables) <= 10
        seen += [row for batch in con.subscribe("q", since=t - 1) for row in batch.to_pylist()]
    assert 40 < con.engine.database.value("SELECT count(*) FROM cql_state.changes_q")
    assert [(t % 17, t) for t in range(1, 48)] == [(r["v"], r["_ts"]) for r in seen[::2]]
    assert 94 == con.table("q").count("*").fetchall()[0][0]


def test_what_an_undone_tick_added_is_gone(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT v FROM s")
    con.tick({"s": rows(1)}, 1)
    end = con.engine.output_buffer._ends["q"]
    size = end.size

    def fails() -> None:
        with con.engine.changing():
            con.engine.output_buffer.append(con.engine.query("q"), end.tables[0], 1)
            assert 2 * size == con.engine.output_buffer._ends["q"].size
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert (1, 1, size) == (len(end.tables), len(end.starts), end.size)
    assert 2 == con.table("q").count("*").fetchall()[0][0]


@pytest.mark.parametrize("shape", ["one stream", "streams of their own", "over each other"])
def test_a_tick_and_a_registration_are_linear_in_queries(shape: str) -> None:
    """Of 40 queries the last is registered as the tenth was; a tick costs four times as much.

    In a chain a query also looks at whether one of those below it stands still.
    """

    def create(n: int) -> str:
        if shape == "one stream":
            return f"CREATE CONTINUOUS QUERY q{n} AS SELECT k, v FROM s WHERE v > {n % 10}"
        if shape == "streams of their own":
            stream = S.replace("STREAM s", f"STREAM s{n}")
            return f"{stream}; CREATE CONTINUOUS QUERY q{n} AS SELECT k, v FROM s{n} WHERE v > 1"
        under = "s" if n == 0 else f"q{n - 1}"
        return f"CREATE CONTINUOUS QUERY q{n} AS SELECT k, v FROM {under} WHERE v > 1"

    statements = Statements()
    registered: list[tuple[int, int, int]] = []
    ticked: list[int] = []
    with cqlduck.connect(trace=statements, threads=1, sharing=False) as con:
        choices.force_stages(con, True)
        con.execute(S)
        for n in range(40):
            text = create(n)
            registered.append(
                (calls(lambda t=text: statements.of(lambda: con.execute(t))), *statements.found)  # type: ignore[misc]
            )
            if n in (9, 39):
                for t in range(n, n + 4):
                    con.tick({"s": rows(t)}, t)
                ticked.append(
                    min(
                        bytecodes(lambda t=t: con.tick({"s": rows(t)}, t))  # type: ignore[misc]
                        for t in range(n + 4, n + 7)
                    )
                )
    # a registration that begins a page of the views lists the pages too
    early, late = (list(zip(*registered[a:b], strict=True)) for a, b in ((3, 9), (34, 40)))
    assert max(late[0]) <= 1.1 * max(early[0])
    assert max(late[1]) == max(early[1])
    assert max(late[2]) <= max(early[2]) + 100 * inspection.PAGE
    assert ticked[1] <= (5.5 if shape == "over each other" else 4.2) * ticked[0]


HOLDERS = "SELECT name, unnest(held_by, recursive := true) FROM cql.stores WHERE kind <> 'base'"


def test_the_view_of_stores_says_who_holds_what(con: cqlduck.Connection) -> None:
    con.execute(f"""{S}; {R};
        CREATE CONTINUOUS QUERY q AS SELECT s.k FROM s [RANGE 60] JOIN r ON s.k = r.k;
        CREATE CONTINUOUS QUERY p AS SELECT DISTINCT a.k FROM s a, s b WHERE a.k = b.k;
        CREATE CONTINUOUS QUERY o AS SELECT count(*) AS n FROM q""")
    everything = "windows without bound"
    following = "what comes after its frontier"
    next_one = "a query that is registered next"
    assert [
        ("s", "p", None, everything),
        ("s", "q", None, "windows that look back 61 instants from its frontier"),
        ("s", None, None, "r has no heartbeat yet"),
        ("s", None, None, "s has no heartbeat yet"),
        ("r", "q", None, following),
        ("r", None, None, "r has no heartbeat yet"),
        ("r", None, None, "s has no heartbeat yet"),
    ] == con.sql(HOLDERS).fetchall()
    con.append("s", [(1, 2, 3), (1, 2, 80)])
    con.append("r", [(1, "a"), (2, "b")], at=5)
    con.advance(100)
    con.execute("DROP CONTINUOUS QUERY p; ALTER CONTINUOUS QUERY o DEACTIVATE")
    con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
    con.advance(200)
    look_back = (
        "windows that look back 61 instants from its frontier, and it stands still (inactive)"
    )
    assert [
        ("s", "q", "39", look_back),
        ("s", None, "201", next_one),
        ("r", "q", "100", f"{following}, and it stands still (inactive)"),
        ("r", None, "201", next_one),
    ] == con.sql(HOLDERS).fetchall()
    assert [
        ("s", "stream", 'cql_state."stream_s"', 2, "3", "80", None),
        ("r", "relation", 'cql_state."relation_r"', 2, "5", "5", None),
    ] == con.sql("SELECT * EXCLUDE (held_by) FROM cql.stores WHERE kind <> 'base'").fetchall()


def test_views_of_tables_follow_what_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pages of two, which come and go, and are there when a file is opened again."""
    monkeypatch.setattr(inspection, "PAGE", 2)
    there: list[str] = []

    def check(con: cqlduck.Connection) -> None:
        synopses = con.sql("SELECT query, row_count FROM cql.synopses").fetchall()
        assert [(name, 1) for name in sorted(there)] == synopses
        stores = con.sql("SELECT name, row_count FROM cql.stores").fetchall()
        assert [("s", 1), *((f"s{name}", 0) for name in there)] == stores

    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(f"{S}; CREATE CONTINUOUS QUERY late AS SELECT k FROM s")
        for n in range(9):
            stream = S.replace("STREAM s", f"STREAM sq{n}")
            con.execute(f"{stream}; CREATE CONTINUOUS QUERY q{n} AS SELECT max(v) AS v FROM sq{n}")
            there.append(f"q{n}")
            if n in (3, 5, 7):
                gone = there.pop(n % 3)
                con.execute(f"DROP CONTINUOUS QUERY {gone}; DROP STREAM s{gone}")
            if n == 6:
                con.append("s", [(1, 1, 50)])
                con.advance(1)
            if n > 6:
                con.advance(n)
                check(con)
    monkeypatch.setattr(inspection, "PAGE", 3)
    with cqlduck.connect(path) as con:
        check(con)
        for name in list(there):
            con.execute(f"DROP CONTINUOUS QUERY {name}; DROP STREAM s{name}")
        there.clear()
        check(con)
        pages = con.engine.database.rows(
            "SELECT view_name FROM duckdb_views() WHERE view_name SIMILAR TO '.*_rows_\\d+'"
        )
        assert 2 == len(pages), "of the stream and of the query that are left"


@pytest.mark.parametrize("window", ["RANGE 9", "TUMBLE 5", "ROWS 4", "RANGE 9 SLIDE 3", "NOW"])
def test_the_trace_of_a_stream_is_cut_behind_the_windows_above(window: str) -> None:
    found = []
    for room in (1, 10_000):
        with cqlduck.connect() as con:
            con.execute(S)
            con.execute(
                "CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n, sum(v) AS v FROM "
                f"(SELECT Istream(v) FROM s [RANGE 3]) [{window}]"
            )
            con.engine.housekeeping.trace_room = room
            for t in range(60):
                con.append("s", [(1, t, t)])
                con.advance(t)
            tables = "SELECT row_count FROM cql.synopses WHERE kind = 'trace'"
            assert (con.sql(tables).fetchall()[0][0] <= 20) == (room == 1)
            states = {row[5] for row in con.check().fetchall()}
            assert states <= {"right", "cannot be had"}
            found.append(con.changes("q").fetchall())
    assert found[0] == found[1]


def test_a_trace_is_cut_after_as_many_rows_as_it_may_have() -> None:
    cuts: list[str] = []
    with cqlduck.connect(
        trace=lambda sql, _: cuts.append(sql) if sql.startswith("DELETE") else None
    ) as con:
        con.execute(S)
        # the answer changes by more rows than the trace of its stream
        con.execute(
            "CREATE CONTINUOUS QUERY q AS SELECT x.v, y.v AS w FROM "
            "(SELECT Istream(v) FROM s [RANGE 3]) [RANGE 9] AS x, s [RANGE 9] y"
        )
        con.engine.housekeeping.trace_room = 10
        for t in range(1, 101):
            con.append("s", [(1, t, t)])
            con.advance(t)
        ((trace,),) = con.sql("SELECT table_name FROM cql.synopses WHERE kind = 'trace'").fetchall()
        mine = [sql for sql in cuts if trace in sql]
        # ten instants stand, and ten rows may come before each cut
        assert 8 <= len(mine) <= 11


def test_the_trace_of_a_stream_that_is_never_forgotten_is_kept() -> None:
    with cqlduck.connect() as con:
        con.execute(S)
        con.execute(
            "CREATE CONTINUOUS QUERY q AS SELECT x.v FROM (SELECT Istream(v) FROM s [RANGE 3]) x, "
            "s [NOW] y WHERE x.v >= y.k"
        )
        con.engine.housekeeping.trace_room = 1
        for t in range(20):
            con.append("s", [(0, t, t)])
            con.advance(t)
        tables = "SELECT row_count FROM cql.synopses WHERE kind = 'trace'"
        assert con.sql(tables).fetchall() == [(20,)]
        assert con.table("q").aggregate("count(*)").fetchall() == [(20,)]


@pytest.mark.parametrize("key", ["", " PRIMARY KEY (k)"])
def test_a_queue_leaves_no_rows_behind_that_scans_would_pass(
    key: str, con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "MAX_DELETED", 100)
    con.execute(f"CREATE RELATION r (k INTEGER, v INTEGER){key}")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM r")
    database = con.engine.database

    def left() -> int:
        known = "estimated_size FROM duckdb_tables() WHERE table_name = 'pending_r'"
        return int(database.value(f"SELECT {known}"))

    con.append("r", [(k, k) for k in range(500)], at=1)
    con.advance(1)
    assert not left()
    for t in range(2, 60):
        # what has instants of its own goes into the queue at once
        con.retract("r", [(t, t)], at=[t])
        con.append("r", [(t, t + 1), (1000 + t, 0)], at=[t, t])
        # what is left for later stays, and keeps the rows before it there
        con.append("r", [(2000 + t, 0)], at=[t + 1])
        con.advance(t)
    assert left() > 100
    con.advance(60)
    assert not left()
    assert [(500 + 2 * 58,)] == con.table("q").fetchall()
    comment = "SELECT comment FROM duckdb_tables() WHERE table_name = 'pending_r'"
    assert "not closed" in database.value(comment)
