"""What one tick alone reads of a stream is read from its queue, and shows no other way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cqlduck
from cqlduck.engine import Engine
from cqlduck.rewrite.plan import Source
from cqlduck.sources import dropzone
from cqlduck.state import input_buffer, names

S = "CREATE STREAM s (a BIGINT, b VARCHAR, t BIGINT) TIMESTAMP BY t"
ODD = "CREATE CONTINUOUS QUERY odd AS SELECT a, b FROM s WHERE a % 2 = 1"
COUNTS = "CREATE CONTINUOUS QUERY counts AS SELECT b, count(*) AS n FROM s GROUP BY b"
LAST = "CREATE CONTINUOUS QUERY last AS SELECT a, b FROM s [PARTITION BY b ROWS 1]"
RECENT = "CREATE CONTINUOUS QUERY recent AS SELECT a, b FROM s [RANGE 5]"


@pytest.fixture
def con(tmp_path: Path) -> Iterator[cqlduck.Connection]:
    """A database in a file, whose queues hold nothing from tick to tick."""
    with cqlduck.connect(tmp_path / "a.db") as made:
        yield made


@pytest.fixture
def memory() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as made:
        yield made


def rows(*of: tuple[int, str, int]) -> pa.Table:
    return pa.table(
        {
            "a": pa.array([a for a, _, _ in of], pa.int64()),
            "b": pa.array([b for _, b, _ in of], pa.string()),
            "t": pa.array([t for _, _, t in of], pa.int64()),
        }
    )


def stored(con: cqlduck.Connection) -> list[tuple[object, ...]]:
    return con.engine.database.rows(
        "SELECT a, _ts, _cql_seq FROM cql_state.stream_s ORDER BY _cql_seq"
    )


def changes(con: cqlduck.Connection, query: str) -> list[tuple[object, ...]]:
    return sorted(con.changes(query).fetchall(), key=lambda row: (row[-2], row[-1], repr(row)))


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[str]]:
    """Of what streams each tick from here on has all that is kept in queues."""
    found: list[frozenset[str]] = []
    place = Engine._place

    def noted(*args: Any) -> Mapping[str, input_buffer.Buffered]:
        queues = place(*args)
        found.append(frozenset(n for n, q in queues.items() if q.held is not None))
        return queues

    monkeypatch.setattr(Engine, "_place", noted)
    return found


def test_what_one_tick_reads_is_not_stored(
    con: cqlduck.Connection, queued: list[frozenset[str]]
) -> None:
    con.execute(f"{S}; {ODD}; {COUNTS}; {LAST}")
    con.tick({"s": rows((1, "x", 1), (2, "x", 2), (3, "y", 2))}, 2)
    con.tick({"s": rows((5, "y", 4))}, 5)
    assert [frozenset("s")] * 2 == queued
    assert [] == stored(con)
    assert [(1, "x", 1, 1), (3, "y", 2, 1), (5, "y", 4, 1)] == changes(con, "odd")
    assert [("x", 2), ("y", 2)] == con.table("counts").order("b").fetchall()
    assert [(2, "x"), (5, "y")] == con.table("last").order("b").fetchall()
    assert [(4,)] == con.sql("SELECT elements FROM cql.streams").fetchall()


@pytest.mark.parametrize(
    ("more", "to"),
    [
        (RECENT, 2),
        (f"CREATE STREAM other (a BIGINT, t BIGINT) TIMESTAMP BY t; {COUNTS}", None),
        ("CREATE CONTINUOUS QUERY pairs AS SELECT x.a FROM s x, s y WHERE x.a = y.a", 2),
        (COUNTS, 1),
    ],
    ids=["a window looks back", "another stream lags", "all is kept", "time stops before"],
)
def test_what_a_later_tick_may_read_is_stored(
    more: str, to: int | None, con: cqlduck.Connection, queued: list[frozenset[str]]
) -> None:
    con.execute(f"{S}; {ODD}; {more}")
    con.tick({"s": rows((1, "x", 1), (3, "y", 2))}, to)
    assert [frozenset()] * len(queued) == queued
    assert [(1, 1, 0), (3, 2, 1)] == stored(con)
    con.tick({"s": rows((5, "x", 4))}, 5)
    con.advance(9)
    assert [(1, "x", 1, 1), (3, "y", 2, 1), (5, "x", 4, 1)] == changes(con, "odd")


def test_what_nobody_reads_yet_is_stored(con: cqlduck.Connection) -> None:
    con.execute(S)
    con.tick({"s": rows((1, "x", 1), (2, "y", 2))}, 2)
    assert [(1, "x", 1), (2, "y", 2)] == con.sql("FROM s").order("a").fetchall()
    con.execute(ODD.replace(" AS SELECT", " WITH (history = true) AS SELECT"))
    con.advance(3)
    assert [(1, "x", 1, 1)] == changes(con, "odd")


def test_what_was_stored_before_goes_when_nobody_needs_it(
    con: cqlduck.Connection, queued: list[frozenset[str]]
) -> None:
    con.execute(f"{S}; {ODD}")
    con.append("s", [(1, "x", 1), (3, "x", 3)])
    con.advance(3)
    assert [(3, 3, 1)] == stored(con)
    con.tick({"s": rows((5, "x", 5))}, 5)
    assert queued[-1] == frozenset("s")
    assert [] == stored(con)
    con.execute(RECENT)
    con.tick({"s": rows((7, "x", 7))}, 8)
    assert [(7, 7, 3)] == stored(con)
    assert [(7, "x")] == con.table("recent").fetchall()


@pytest.mark.parametrize("name", ["a.db", ":memory:"])
def test_a_tick_that_is_bounded_keeps_what_lies_after_it(
    name: str, tmp_path: Path, queued: list[frozenset[str]]
) -> None:
    in_memory = name == ":memory:"
    with cqlduck.connect(name if in_memory else tmp_path / name, max_tick=2) as con:
        con.execute(f"{S}; {ODD}; CREATE STREAM other (a BIGINT, t BIGINT) TIMESTAMP BY t")
        con.execute("CREATE CONTINUOUS QUERY total AS SELECT sum(a) AS a FROM other")
        con.append("other", [(t, t) for t in range(1, 6)])
        con.tick({"s": rows((1, "x", 4), (3, "x", 5))}, 6)
        assert queued[0] == frozenset("s" if in_memory else "")
        assert [(1, "x", 4, 1), (3, "x", 5, 1)] == changes(con, "odd")
        assert [(15,)] == con.table("total").fetchall()


@pytest.mark.parametrize("name", ["a.db", ":memory:"])
def test_a_query_that_begins_at_an_earlier_heartbeat_finds_all(
    name: str, tmp_path: Path, queued: list[frozenset[str]]
) -> None:
    """That of another stream that it reads too; a batch has said how far `s` is."""
    hidden = dropzone.hidden_folder(tmp_path / "s", 0)
    table = rows((1, "x", 1), (3, "y", 2))
    pq.write_table(table, hidden / "part-0.parquet")
    manifest = dropzone.describe(
        "s", 0, dropzone.Extent(2, 1, 2, False), 5, ("part-0.parquet",), table.schema
    )
    assert dropzone.publish(hidden, manifest)
    in_memory = name == ":memory:"
    with cqlduck.connect(name if in_memory else tmp_path / name, drop_zone=tmp_path) as con:
        con.execute(f"{S} FROM 's'; CREATE STREAM other (a BIGINT); {ODD}")
        con.heartbeat("other", 1)
        con.follow()
        assert frozenset("s" if in_memory else "") == queued[-1]
        con.execute(
            "CREATE CONTINUOUS QUERY both_of_them AS SELECT a FROM s UNION ALL SELECT a FROM other"
        )
        con.advance(6)
        assert [(3, 2, 1)] == changes(con, "both_of_them")


def test_a_query_that_fails_finds_its_elements_in_the_store(
    con: cqlduck.Connection, queued: list[frozenset[str]]
) -> None:
    con.execute(
        f"{S}; {ODD}; CREATE CONTINUOUS QUERY number AS SELECT CAST(b AS BIGINT) AS n FROM s"
    )
    con.tick({"s": rows((1, "1", 1))}, 1)
    con.tick({"s": rows((3, "3", 3), (5, "x", 4), (7, "7", 4))}, 5)
    assert queued[:2] == [frozenset("s")] * 2
    ((state, error),) = con.sql(
        "SELECT state, error FROM cql.queries WHERE name = 'number'"
    ).fetchall()
    assert state == "failed"
    assert "at 4" in error
    assert [(1, 1, 1), (3, 3, 1)] == changes(con, "number")
    assert [(1, "1", 1, 1), (3, "3", 3, 1), (5, "x", 4, 1), (7, "7", 4, 1)] == changes(con, "odd")
    assert [(3, 3, 1), (5, 4, 2), (7, 4, 3)] == stored(con)
    # it needs them still
    con.tick({"s": rows((9, "9", 6))}, 6)
    assert queued[-1] == frozenset()


def test_rows_that_have_to_be_cast_are_stored(
    con: cqlduck.Connection, queued: list[frozenset[str]]
) -> None:
    con.execute(f"{S}; {ODD}")
    narrow = rows((1, "x", 1)).cast(
        pa.schema([("a", pa.int32()), ("b", pa.string()), ("t", pa.int64())])
    )
    con.tick({"s": narrow}, 1)
    assert [frozenset()] == queued
    assert [(1, "x", 1, 1)] == changes(con, "odd")


def test_late_rows_are_refused_as_ever(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; {ODD}")
    con.tick({"s": rows((1, "x", 5))}, 5)
    with pytest.raises(cqlduck.LateError):
        con.tick({"s": rows((3, "x", 5))}, 6)
    con.tick({"s": rows((5, "x", 6))}, 6)
    assert [(1, "x", 5, 1), (5, "x", 6, 1)] == changes(con, "odd")


@pytest.mark.parametrize("granularity", ["1 second", "1 millisecond"])
def test_instants_before_1970_are_left_to_sql(granularity: str) -> None:
    times = pa.array([-1_500_000, -1, 0, 1_999_999], pa.int64()).cast(pa.timestamp("us"))
    with cqlduck.connect(granularity=granularity) as con:
        con.execute("CREATE STREAM s (a BIGINT, t TIMESTAMP) TIMESTAMP BY t")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
        con.tick({"s": pa.table({"a": [1, 2, 3, 4], "t": times})}, "1970-01-01 00:00:01.999999")
        found = [row[1].timestamp() for row in changes(con, "q")]
    expected = {"1 second": [-2, -1, 0, 1], "1 millisecond": [-1.5, -0.001, 0, 1.999]}
    assert [x - found[2] for x in found] == pytest.approx(expected[granularity])


def test_a_database_goes_on_after_its_queues(tmp_path: Path) -> None:
    file = f"{tmp_path}/db.duckdb"
    with cqlduck.connect(file) as con:
        con.execute(f"{S}; {COUNTS}")
        con.tick({"s": rows((1, "x", 1))}, 1)
    with cqlduck.connect(file) as con:
        con.tick({"s": rows((2, "x", 2))}, 2)
        con.append("s", [(3, "x", 3)])
        con.advance(3)
        assert [("x", 3)] == con.table("counts").fetchall()
        assert [2] == [number for _, _, number in stored(con)]


# ------------------------------------------------------------------- what is held from tick to tick

WINDOW = "CREATE CONTINUOUS QUERY w AS SELECT a, b FROM s [RANGE 2]"


def test_in_memory_the_queue_holds_what_a_window_looks_back_to(
    memory: cqlduck.Connection, queued: list[frozenset[str]]
) -> None:
    memory.execute(f"{S}; {WINDOW}")
    for t in range(1, 9):
        memory.tick({"s": rows((t, "x", t))}, t)
    memory.advance(9)
    assert [frozenset("s")] * 9 == queued
    assert [] == stored(memory)
    assert [(7, "x"), (8, "x")] == memory.table("w").order("a").fetchall()
    assert [] == stored(memory)
    everything = [(t, "x", t, 1) for t in range(1, 9)] + [(t, "x", t + 3, -1) for t in range(1, 7)]
    assert sorted(everything) == sorted(memory.changes("w").fetchall())


def test_who_looks_at_a_stream_finds_its_rows_for_a_while_in_the_store(
    memory: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_buffer, "TICKS_IN_STORE", 2)
    memory.execute(f"{S}; {WINDOW}")
    memory.tick({"s": rows((1, "x", 1))}, 1)
    assert [(1, "x", 1)] == memory.sql("FROM s").fetchall()
    held = []
    for t in range(2, 7):
        memory.tick({"s": rows((t, "x", t))}, t)
        held.append(not stored(memory))
    assert [False, False, True, True, True] == held
    assert [(4, "x"), (5, "x"), (6, "x")] == memory.table("w").order("a").fetchall()
    assert [4, 5, 6] == [a for (a,) in memory.sql("SELECT a FROM s ORDER BY a").fetchall()][-3:]


@pytest.mark.parametrize(
    ("text", "may_read"),
    [
        ("SELECT 1 AS ss", False),
        ("FROM w", False),
        ("SELECT name, elements FROM cql.streams", False),
        ("SELECT count(*) FROM S AS t", True),
        ('FROM cql_state."stream_s"', True),
        ("SELECT row_count FROM cql.stores WHERE name = 's'", True),
        ("SELECT row_count FROM cql.stores", True),
        ("FROM query_table('s')", True),
    ],
)
def test_what_cannot_read_a_stream_leaves_its_rows_where_they_are(
    memory: cqlduck.Connection, text: str, may_read: bool
) -> None:
    memory.execute(f"{S}; {WINDOW}")
    memory.tick({"s": rows((1, "x", 1))}, 1)
    memory.sql(text)
    assert may_read == bool(stored(memory))


@pytest.mark.parametrize("made", ["VIEW v AS FROM s", "MACRO v() AS TABLE FROM s"])
def test_a_view_reads_the_rows_of_a_stream(memory: cqlduck.Connection, made: str) -> None:
    memory.execute(f"{S}; {WINDOW}; CREATE {made}")
    memory.tick({"s": rows((1, "x", 1))}, 1)
    assert [(1,)] == memory.sql(f"SELECT a FROM {made.split(' ')[1]}").fetchall()


def test_a_queue_holds_no_more_rows_than_it_may(
    memory: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_buffer, "MAX_ROWS", 2)
    memory.execute(f"{S}; {WINDOW}")
    memory.tick({"s": rows((1, "x", 1))}, 1)
    memory.tick({"s": rows((2, "x", 2))}, 2)
    assert [] == stored(memory)
    memory.tick({"s": rows((3, "x", 3))}, 3)
    assert [(1, 1, 0), (2, 2, 1), (3, 3, 2)] == stored(memory)
    assert [(1, "x"), (2, "x"), (3, "x")] == memory.table("w").order("a").fetchall()


def test_a_tick_that_is_undone_holds_what_was_held(memory: cqlduck.Connection) -> None:
    memory.execute(
        f"{S}; {WINDOW}; CREATE CONTINUOUS QUERY bad AS SELECT CAST(b AS INT) AS n FROM s"
    )
    memory.tick({"s": rows((1, "7", 1))}, 1)
    memory.tick({"s": rows((2, "no", 2), (3, "8", 3))}, 3)
    assert [("active",), ("failed",)] == memory.sql("SELECT state FROM cql.queries").fetchall()
    assert [(1, "7"), (2, "no"), (3, "8")] == memory.table("w").order("a").fetchall()
    assert [(1, 1, 0), (2, 2, 1), (3, 3, 2)] == stored(memory)


def test_a_filter_beside_a_window_reads_what_is_new(memory: cqlduck.Connection) -> None:
    memory.execute(f"{S}; {WINDOW}; {ODD}")
    for t in range(1, 5):
        memory.tick({"s": rows((t, "x", t))}, t)
    assert [] == stored(memory)
    assert [(1, "x", 1, 1), (3, "x", 3, 1)] == changes(memory, "odd")


def test_a_query_with_history_finds_what_was_held(memory: cqlduck.Connection) -> None:
    memory.execute(f"{S}; {WINDOW}")
    memory.tick({"s": rows((1, "x", 1))}, 1)
    memory.execute("CREATE CONTINUOUS QUERY n WITH (history = true) AS SELECT count(*) AS n FROM s")
    memory.tick({"s": rows((2, "x", 2))}, 2)
    assert [(2,)] == memory.table("n").fetchall()


def test_a_distinct_of_what_waits_and_a_relation(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; CREATE RELATION r (a BIGINT)")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM s UNION SELECT a FROM r")
    con.append("r", [(2,), (7,)], at=1)
    con.tick({"s": rows((1, "x", 1), (2, "y", 2))}, 2)
    con.retract("r", [(2,), (7,)], at=3)
    con.tick({"s": rows((1, "x", 3), (3, "z", 3))}, 3)
    found = [(1, 1, 1), (2, 1, 1), (7, 1, 1), (3, 3, 1), (7, 3, -1)]
    assert sorted(found, key=lambda row: (row[1:], repr(row))) == changes(con, "q")


PAIRS = "CREATE CONTINUOUS QUERY pairs AS SELECT x.a, y.b FROM s x, s y WHERE x.a = y.a"


@pytest.fixture
def arriving(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[str]]:
    """Of what streams the arrivals are what has just come, in each tick of a query from here on."""
    found: list[frozenset[str]] = []
    bind = names.Names.bind

    def noted(self: names.Names, source: Source, **given: bool) -> None:
        found.append(frozenset([source.name] if given["has_just_come"] else ()))
        bind(self, source, **given)

    monkeypatch.setattr(names.Names, "bind", noted)
    return found


@pytest.mark.parametrize("name", ["a.db", ":memory:"])
@pytest.mark.parametrize("query", [PAIRS, RECENT])
def test_a_tick_takes_from_the_queue_what_comes_in_it(
    query: str, name: str, tmp_path: Path, arriving: list[frozenset[str]]
) -> None:
    found = []
    for at_once in (True, False):
        place = name if name == ":memory:" else tmp_path / f"{at_once}-{name}"
        with cqlduck.connect(place) as con:
            con.execute(f"{S}; {query}")
            # in memory the queue would hold what the window looks back to
            con.engine.input_buffer._looked["s"] = 100
            for t in range(0, 12, 2):
                table = rows((1, "x", t), (t, "y", t + 1), (t, None, t + 1))
                if at_once:
                    con.tick({"s": table}, t + 1)
                else:
                    con.append("s", table)
                    con.advance(t + 1)
            con.advance(40)
            found.append(changes(con, "pairs" if query == PAIRS else "recent"))
    assert found[0] == found[1]
    # the first tick begins the query, the last has no arrivals
    assert [frozenset(), *[frozenset("s")] * 5, frozenset()] == arriving[:7]
    assert {frozenset()} == set(arriving[7:])


@pytest.mark.parametrize(
    ("declared", "steps"),
    [
        (S, [((1, 4), 3)]),
        (S, [((1, 2), None), ((1, 4), 4)]),
        (f"{S} LATE AMEND", [((1, 4), 4)]),
    ],
    ids=["time stops before", "others came before", "late ones may come"],
)
def test_arrivals_that_are_not_those_of_the_tick_are_read_from_the_store(
    declared: str,
    steps: list[tuple[tuple[int, int], int | None]],
    con: cqlduck.Connection,
    arriving: list[frozenset[str]],
) -> None:
    con.execute(f"{declared}; {PAIRS}")
    con.tick({"s": rows((1, "x", 1))}, 1)
    for (a, t), to in steps:
        if to is None:
            con.append("s", rows((a, "y", t)))
        else:
            con.tick({"s": rows((a, "z", t))}, to)
    assert {frozenset()} == set(arriving)
    con.advance(9)
    came = 1 + len(steps)
    assert (
        came * came == con.sql("SELECT sum(_weight) FROM cql_state.changes_pairs").fetchall()[0][0]
    )
