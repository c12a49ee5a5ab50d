"""What a tick makes of its batch alone is worked out beside the tick before, and shows nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import choices
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cqlduck
from cqlduck.rewrite.physical.form import Form
from cqlduck.sources import dropzone
from cqlduck.state import prefetch

OWN = "CREATE STREAM s (k BIGINT, v BIGINT, b VARCHAR, t BIGINT) TIMESTAMP BY t"
S = f"{OWN} FROM 's'"
DISTINCT = """
    CREATE CONTINUOUS QUERY q AS
    SELECT k, count(*) AS n, sum(v) AS total, count(DISTINCT v) AS vs,
        count(DISTINCT v) FILTER (WHERE v > 5) AS large FROM s GROUP BY k
"""
NEWEST = "CREATE CONTINUOUS QUERY q AS SELECT k, v, b FROM s [PARTITION BY k ROWS 1]"
BATCHES, ROWS = 6, 40


def write(root: Path, number: int, rows: pa.Table) -> None:
    hidden = dropzone.hidden_folder(root / "s", number)
    pq.write_table(rows, hidden / "part-0.parquet")
    last = rows.column("t")[-1].as_py()
    reach = dropzone.Extent(len(rows), rows.column("t")[0].as_py(), last, False)
    manifest = dropzone.describe("s", number, reach, last, ("part-0.parquet",), rows.schema)
    assert dropzone.publish(hidden, manifest)


def batch(number: int) -> pa.Table:
    places = range(number * ROWS, (number + 1) * ROWS)
    return pa.table(
        {
            "k": pa.array([i % 3 for i in places], pa.int64()),
            "v": pa.array([None if i % 7 == 0 else i * i % 11 for i in places], pa.int64()),
            "b": pa.array([str(i) for i in places], pa.string()),
            "t": pa.array([i // 10 for i in places], pa.int64()),
        }
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(BATCHES):
        write(tmp_path, number, batch(number))
    return tmp_path


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that ticks from here on take as they were worked out."""
    found: list[str] = []
    consume = prefetch.Prefetcher.consume

    def noted(
        self: prefetch.Prefetcher, made: prefetch.Made, part: prefetch.Prefetch
    ) -> int | None:
        rows = consume(self, made, part)
        found.extend([] if rows is None else [part.table])
        return rows

    monkeypatch.setattr(prefetch.Prefetcher, "consume", noted)
    return found


@pytest.fixture
def con(root: Path) -> Iterator[cqlduck.Connection]:
    with cqlduck.connect(drop_zone=root) as made:
        choices.force_stages(made, True)
        yield made


def expected(query: str) -> list[tuple[object, ...]]:
    """The changes of a query whose batches come by `append`, which works out nothing before."""
    with cqlduck.connect() as con:
        con.execute(f"{OWN}; {query}")
        for number in range(BATCHES):
            con.append("s", batch(number))
            con.advance()
        con.advance(BATCHES * ROWS // 10 - 1)
        return sorted(con.changes("q").fetchall(), key=repr)


def test_what_was_worked_out_is_what_the_statements_give(
    con: cqlduck.Connection, taken: list[str]
) -> None:
    con.execute(f"{S}; {DISTINCT}")
    for _ in range(BATCHES):
        assert 1 == con.follow(limit=1)
    assert len(set(taken)) == 2, "the sums of what has come, and its distinct values"
    assert len(taken) >= 2 * (BATCHES - 3)
    assert expected(DISTINCT) == sorted(con.changes("q").fetchall(), key=repr)


def test_the_newest_rows_of_a_batch_are_worked_out_with_their_numbers(
    con: cqlduck.Connection, taken: list[str]
) -> None:
    con.execute(f"{S}; {NEWEST}")
    for _ in range(BATCHES):
        assert 1 == con.follow(limit=1)
    assert len(taken) >= BATCHES - 3
    assert expected(NEWEST) == sorted(con.changes("q").fetchall(), key=repr)


def test_rows_that_came_between_change_the_numbers(tmp_path: Path, taken: list[str]) -> None:
    for number in range(5):
        rows = batch(number)
        odd = [2 * at.as_py() + 1 for at in rows.column("t")]
        write(tmp_path, number, rows.set_column(3, "t", pa.array(odd, pa.int64())))
    with cqlduck.connect(drop_zone=tmp_path) as con:
        choices.force_stages(con, True)
        con.execute(f"{S}; {NEWEST}")
        for _ in range(3):
            con.follow(limit=1)
        assert taken
        taken.clear()
        con.append("s", pa.table({"k": [7], "v": [-1], "b": ["between"], "t": [24]}))
        con.advance(24)
        con.follow(limit=1)
        assert [] == taken
        ((table,),) = con.sql("SELECT table_name FROM cql.synopses").fetchall()
        numbers = con.engine.database.rows(f"SELECT _cql_seq FROM {table} ORDER BY ALL")
        assert numbers == [(3 * ROWS,), (4 * ROWS - 2,), (4 * ROWS - 1,), (4 * ROWS,)]


def test_beside_a_window_that_looks_back_the_arrivals_are_the_batch_still(
    con: cqlduck.Connection, taken: list[str]
) -> None:
    con.execute(f"{S}; {DISTINCT}; CREATE CONTINUOUS QUERY w AS SELECT v FROM s [RANGE 3]")
    for _ in range(BATCHES):
        con.follow(limit=1)
    assert len(taken) >= 2 * (BATCHES - 3)
    assert expected(DISTINCT) == sorted(con.changes("q").fetchall(), key=repr)


def test_a_query_that_stood_still_reads_more_than_the_batch(
    con: cqlduck.Connection, taken: list[str]
) -> None:
    con.execute(f"{S}; {DISTINCT}; CREATE CONTINUOUS QUERY other AS SELECT v FROM s [NOW]")
    con.follow(limit=1)
    con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
    for _ in range(BATCHES - 2):
        con.follow(limit=1)
    con.execute("ALTER CONTINUOUS QUERY q ACTIVATE")
    con.follow(limit=1)
    assert [] == taken
    assert expected(DISTINCT) == sorted(con.changes("q").fetchall(), key=repr)


def test_what_fails_is_said_by_the_tick_and_not_tried_again(
    tmp_path: Path, taken: list[str]
) -> None:
    largest = 2**63 - 1
    for number in range(4):
        rows = pa.table(
            {
                "k": pa.array([1, 2], pa.int64()),
                "v": pa.array([largest if number == 3 else number, number], pa.int64()),
                "b": pa.array(["", ""], pa.string()),
                "t": pa.array([number, number], pa.int64()),
            }
        )
        write(tmp_path, number, rows)
    with cqlduck.connect(drop_zone=tmp_path) as con:
        choices.force_stages(con, True)
        con.execute(
            f"{S}; CREATE CONTINUOUS QUERY q AS "
            "SELECT count(DISTINCT v + 1) AS n, sum(k) AS k FROM s"
        )
        while con.follow(limit=1):
            pass
        ((state, error),) = con.sql("SELECT state, error FROM cql.queries").fetchall()
        assert ("failed", True) == (state, "Overflow" in error)
        assert [(3, 9)] == con.as_of("q", 2).fetchall()
        assert con.engine.prefetcher._failed


@pytest.mark.parametrize(("value", "is_before"), [("v + 1", True), ("abs(v)", False)])
def test_functions_are_left_to_the_tick(
    con: cqlduck.Connection, value: str, is_before: bool
) -> None:
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS SELECT count(DISTINCT {value}) AS n FROM s")
    steps = con.engine.compiled["q"].steps.of(Form(staged=True))
    (first,) = (s for s in steps if s.purpose == "the tuples of the tick, each once")
    assert is_before == (first.prefetch is not None)


def test_who_changes_settings_is_left_alone(con: cqlduck.Connection, taken: list[str]) -> None:
    con.execute(f"{S}; {DISTINCT}")
    for _ in range(BATCHES - 2):
        con.follow(limit=1)
    assert [] != taken
    taken.clear()
    con.execute("SET memory_limit = '2GB'")
    for _ in range(2):
        con.follow(limit=1)
    assert [] == taken
