"""The engine against the reference evaluator: random streams, relations, queries and tick cuts.

`differences` compares the net elements of every instant, so this is invariants 1 (instant
exactness), 2 (batch invariance) and 4 (restarts) at once.
"""

from __future__ import annotations

import dataclasses
import random
import tempfile
from collections.abc import Collection
from pathlib import Path

import choices
import pyarrow as pa
import python_functions
import reference
import strategies
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sql_strategies import sql_cases

import cqlduck
from cqlduck.state import intake


def connect(
    case: strategies.Case, database: str, *, everywhere: bool = False, **options
) -> cqlduck.Connection:
    con = cqlduck.connect(database, **options)
    if any(python_functions.NAME in query.cql for query in case.queries):
        python_functions.register(con)
    con.engine.housekeeping.trace_room = 3
    choices.draw(con, case, everywhere=everywhere)
    if random.Random(str(case)).random() < 0.5:
        work_ahead(con)
    return con


def work_ahead(con: cqlduck.Connection) -> None:
    """Have what a tick makes of its queues alone worked out before it, as of a drop zone's."""
    waiting, prefetcher = con.engine.input_buffer, con.engine.prefetcher
    accept = waiting.accept

    def taken(thing, rows) -> intake.Accepted:
        work, ready = prefetcher.order(thing.name), rows.ready
        begin = thing.next_seq
        queue = None if work is None or ready is None else ready.as_stored(thing, begin)
        if queue is not None:
            ready = dataclasses.replace(ready, stored=queue, made=work(queue), begin=begin)
            rows = dataclasses.replace(rows, ready=ready)
        return accept(thing, rows)

    waiting.accept = taken


def changes(con: cqlduck.Connection, name: str) -> list[tuple]:
    return con.changes(name).fetchall()


def play(case: strategies.Case, database: str, read=changes, **options) -> dict:
    """Run a case's script on the engine; return what is read of each query."""
    con = connect(case, database, **options)
    draw = random.Random(str(case))
    script = list(case.script)
    try:
        for declaration in case.declarations:
            con.execute(declaration)
        while script:
            taken = arrivals(script)
            if taken and draw.random() < 0.5:
                *_, last = script[: len(taken) + 1]
                if draw.random() < 0.5 and has_arrow(case, taken):
                    taken = {name: as_arrow(case, name, rows) for name, rows in taken.items()}
                con.tick(taken, last.to)
                del script[: len(taken) + 1]
                continue
            match script.pop(0):
                case strategies.Register(query, chosen):
                    con.execute(strategies.registration(query, chosen))
                case strategies.Append(thing, elements):
                    append(con, thing, elements)
                case strategies.Advance(to):
                    con.advance(to)
                case strategies.Restart():
                    if database != ":memory:":
                        con.close()
                        con = connect(case, database, **options)
        return {query.name: read(con, query.name) for query in case.queries}
    finally:
        con.close()


def arrivals(script) -> dict[str, list[dict]]:
    """Return what streams get before the next advance, if that is all and each gets it at once."""
    found: dict[str, list[dict]] = {}
    for step in script:
        match step:
            case strategies.Append(reference.Stream() as stream, elements):
                if stream.name in found or not elements:
                    return {}
                names = [name for name, *_ in stream.columns]
                rows = [dict(zip(names, row, strict=True)) for _, row in elements]
                if not stream.timestamp_by:
                    instants = [ts for ts, _ in elements]
                    rows = [r | {"_ts": ts} for r, ts in zip(rows, instants, strict=True)]
                found[stream.name] = rows
            case strategies.Advance():
                return found
            case _:
                return {}
    return {}


def as_arrow(case: strategies.Case, name: str, rows: list[dict]) -> pa.Table:
    """Return rows as Arrow has them: with the types of the stream's columns."""
    (stream,) = (source for source in case.inputs if source.name == name)
    types = {column: ARROW[kind] for column, kind in stream.columns} | {"_ts": pa.int64()}
    return pa.table({key: pa.array([r[key] for r in rows], types[key]) for key in rows[0]})


def has_arrow(case: strategies.Case, names: Collection[str]) -> bool:
    """Return whether Arrow has the types of all columns of these streams."""
    found = [source.columns for source in case.inputs if source.name in names]
    return all(kind in ARROW for columns in found for _, kind in columns)


def append(con, thing, elements) -> None:
    """Append elements in arrival order; runs of insertions and deletions of a relation apart."""
    if isinstance(thing, reference.Stream):
        at = None if thing.timestamp_by else [ts for ts, _ in elements]
        con.append(thing.name, [row for _, row in elements], at=at)
        return
    for ts, sign, row in elements:
        change = con.append if sign > 0 else con.retract
        change(thing.name, [row], at=None if ts == reference.BEGINNING else ts)


def check(case: strategies.Case, database: str = ":memory:", **options) -> None:
    """Compare all elements of all queries with the reference evaluator's."""
    actual = play(case, database, **options)
    for result in case.expected():
        found = reference.from_changes(actual[result.query.name])
        problems = reference.differences(result, found)
        assert not problems, f"{result.query.name}: {problems[:5]}\n{case}"


ARROW = {
    "BIGINT": pa.int64(),
    "VARCHAR": pa.string(),
    "DOUBLE": pa.float64(),
    "DECIMAL(9,2)": pa.decimal128(9, 2),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIME": pa.time64("us"),
    "UTINYINT": pa.uint8(),
    "BLOB": pa.binary(),
    "BIGINT[]": pa.list_(pa.int64()),
    "STRUCT(a BIGINT, b VARCHAR)": pa.struct([("a", pa.int64()), ("b", pa.string())]),
}

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

COUNTED = ("join", "natural", "where_subquery", "set_operation")
"""The shapes that count partners, or how often a tuple is there."""

ANY_CASE = st.one_of(
    strategies.cases(restarts=False),
    strategies.cases(restarts=False, wide=True, disorder=True),
    strategies.cases(restarts=False, extremes=True),
    strategies.cases(timestamp_by=True, disorder=True),
    strategies.cases(restarts=False, timestamp_by=True, current=True, extremes=True),
    strategies.cases(wide=True, paced=True, disorder=True),
    sql_cases(shapes=COUNTED, plain=5, most_queries=1),
    sql_cases(shapes=COUNTED, plain=20, wide=True, disorder=True, restarts=True),
    sql_cases(plain=30, wide=True, paced=True),
    strategies.cases(restarts=False, typed=True, undated=True, wide=True, disorder=True),
)
"""Plain cases; all kinds of windows, out of order; NaN, infinities and 1e300; restarts on disk; the
current time; windows that hop together; what counts partners or copies of a tuple, twice; columns
of more types, and relations that hold something from the beginning of time on."""


def on_disk_if_it_restarts(case: strategies.Case, **options) -> None:
    """Check a case: in memory, or in a file if it is closed and opened again."""
    if not any(isinstance(step, strategies.Restart) for step in case.script):
        check(case, **options)
        return
    with tempfile.TemporaryDirectory() as folder:
        check(case, str(Path(folder) / "case.duckdb"), **options)


@given(case=ANY_CASE)
@settings(
    suppress_health_check=QUIET,
    deadline=None,
    max_examples=fewer_if_brief(settings.default.max_examples),
)
def test_every_instant_equals_the_reference(case):
    on_disk_if_it_restarts(case)


@given(case=strategies.cases(restarts=False), max_tick=st.sampled_from([1, 2, 3]))
@settings(suppress_health_check=QUIET, deadline=None, max_examples=fewer_if_brief(25))
def test_bounded_ticks_change_nothing(case, max_tick):
    check(case, max_tick=max_tick)


def test_what_a_window_pushes_out_leaves_no_outlier_behind(con):
    """Found by the long run: outliers were read after the window below had moved on."""
    nan = float("nan")
    con.execute("""
        CREATE RELATION r (a BIGINT, b DOUBLE);
        CREATE CONTINUOUS QUERY every AS SELECT Rstream(DISTINCT *) FROM r;
        CREATE CONTINUOUS QUERY answer AS
        SELECT every.a, avg(r.b) AS mean, count(*) AS n FROM every [ROWS 2], r GROUP BY ALL;
    """)
    con.append("r", [(1, nan)], at=0)
    con.append("r", [(1, 0.5)], at=1)
    con.retract("r", [(1, nan)], at=5)
    con.advance(8)

    assert [(1, 0.5, 2)] == con.table("answer").fetchall()


def test_what_lives_for_an_instant_is_repeated_through_two_outer_joins(con):
    """Found by the long run: the log below the second join knew no ends, and they cancelled."""
    con.execute("""
        CREATE RELATION r (k VARCHAR);
        CREATE CONTINUOUS QUERY every AS SELECT Rstream(*) FROM r;
        CREATE CONTINUOUS QUERY answer AS
        SELECT Rstream(x.k) FROM every [NOW] x LEFT JOIN r y ON x.k < y.k
        LEFT JOIN (SELECT DISTINCT k || 'x' AS k FROM r) z ON x.k < z.k;
    """)
    con.append("r", [("a",)], at=0)
    for instant in range(4):
        con.advance(instant)

    assert [("a", t, 1) for t in range(4)] == con.changes("answer").fetchall()


def test_what_lives_for_an_instant_ends_above_a_join_that_is_materialized(con):
    """Found by the long run: the join above took its tuples for ones that never end."""
    con.execute("""
        CREATE STREAM s (k BIGINT);
        CREATE STREAM u (k BIGINT);
        CREATE CONTINUOUS QUERY every AS SELECT k FROM s;
        CREATE CONTINUOUS QUERY answer AS
        SELECT x.k FROM (SELECT e.k FROM every e JOIN every [RANGE 0] f ON e.k < f.k) x
        JOIN u ON true;
    """)
    con.append("u", [(0,)], at=0)
    con.append("s", [(1,), (2,)], at=0)
    con.advance(0)
    con.advance(2)

    assert [(1, 0, 1), (1, 1, -1)] == con.changes("answer").fetchall()
