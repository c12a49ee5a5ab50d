"""With `strict` a batch with an element that has no effect is quarantined, and the rest goes on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.sources import dropzone

Change = tuple[int, str, int]
"""An instant, an operation and a value."""

ROWS = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("_ts", pa.int64()), ("_op", pa.string())])


def write(
    root: Path, folder: str, number: int, changes: Sequence[Change], heartbeat: int | None = None
) -> None:
    rows = [{"k": v, "v": v, "_ts": ts, "_op": op} for ts, op, v in changes]
    dropzone.write_batch(
        root, folder, number, pa.Table.from_pylist(rows, ROWS), heartbeat=heartbeat
    )


def quarantined(con: cqlduck.Connection) -> list[tuple[Any, ...]]:
    return con.sql(
        "SELECT input, batch, row_count, reason FROM cql.batches WHERE state = 'quarantined'"
    ).fetchall()


def content(con: cqlduck.Connection) -> list[tuple[Any, ...]]:
    return con.sql("SELECT k FROM r ORDER BY ALL").fetchall()


@pytest.fixture
def zone(tmp_path: Path) -> Iterator[tuple[cqlduck.Connection, Path]]:
    with cqlduck.connect(drop_zone=tmp_path, strict=True) as con:
        con.execute("""
            CREATE RELATION r (k BIGINT, v BIGINT) FROM 'r';
            CREATE STREAM s (v BIGINT) FROM 's';
            CREATE CONTINUOUS QUERY q AS SELECT k FROM r;
            CREATE CONTINUOUS QUERY other AS SELECT v FROM s;
        """)
        dropzone.write_batch(tmp_path, "s", 0, pa.table({"v": [1, 2], "_ts": [1, 9]}), heartbeat=20)
        yield con, tmp_path


@pytest.mark.parametrize("limit", [None, 1])
def test_the_batch_is_named_and_nothing_stands_still(
    limit: int | None, zone: tuple[cqlduck.Connection, Path]
) -> None:
    con, root = zone
    write(root, "r", 0, [(1, "+", 1), (2, "+", 2)], 2)
    write(root, "r", 1, [(3, "-", 1), (4, "-", 7), (9, "+", 8)], 5)
    write(root, "r", 2, [(6, "-", 2)], 10)
    taken = 0
    while count := con.follow(limit=limit):
        taken += count
    assert 4 == taken
    # not its right changes either, nor its heartbeat
    reason = "r retracts what is not there: {'k': 7, 'v': 7}"
    assert [("r", 1, 3, reason)] == quarantined(con)
    assert [(1,)] == content(con)
    assert [(1, 1, 1), (2, 2, 1), (2, 6, -1)] == con.changes("q").fetchall()
    assert 2 == len(con.changes("other").fetchall())
    assert [(3, None, "10")] == con.sql(
        "SELECT next_batch, waiting_for, heartbeat FROM cql.relations"
    ).fetchall()


def test_what_is_open_of_an_earlier_batch_is_taken_back(tmp_path: Path) -> None:
    """It was taken, some of it is closed, and only then the wrong one turns up."""
    path = tmp_path / "it.duckdb"
    zone = tmp_path / "zone"
    with cqlduck.connect(path, drop_zone=zone, strict=True) as con:
        con.execute("""
            CREATE RELATION r (k BIGINT, v BIGINT) FROM 'r';
            CREATE CONTINUOUS QUERY q AS SELECT k FROM r;
        """)
        write(zone, "r", 0, [(1, "+", 1), (5, "-", 7), (6, "+", 6)], 1)
        write(zone, "r", 1, [(6, "+", 2)], 4)
        assert 2 == con.follow()
        assert [] == quarantined(con)
    with cqlduck.connect(path, drop_zone=zone, strict=True) as con:
        write(zone, "r", 2, [], 9)
        assert 1 == con.follow()
        assert [("r", 0, 3, "r retracts what is not there: {'k': 7, 'v': 7}")] == quarantined(con)
        assert [(1,), (2,)] == content(con)
        assert 9 == con.advance()


def test_of_two_batches_the_one_that_came_last_is_wrong(
    zone: tuple[cqlduck.Connection, Path],
) -> None:
    con, root = zone
    write(root, "r", 0, [(1, "+", 1)], 1)
    write(root, "r", 1, [(3, "-", 1)])
    write(root, "r", 2, [(3, "-", 1)])
    write(root, "r", 3, [], 9)
    con.follow()
    assert [2] == [row[1] for row in quarantined(con)]
    assert [] == content(con)


def test_second_rows_under_a_key(tmp_path: Path) -> None:
    with cqlduck.connect(drop_zone=tmp_path, strict=True) as con:
        con.execute("CREATE RELATION r (k BIGINT, v BIGINT, PRIMARY KEY (k)) FROM 'r'")
        write(tmp_path, "r", 0, [(1, "+", 1), (2, "u", 1)], 2)
        write(tmp_path, "r", 1, [(3, "+", 1)], 3)
        con.follow()
        reason = "r is a second row under its primary key: {'k': 1, 'v': 1}"
        assert [("r", 1, 1, reason)] == quarantined(con)


def test_what_is_no_batchs_is_an_error_as_ever(zone: tuple[cqlduck.Connection, Path]) -> None:
    con, root = zone
    con.retract("r", [(7, 7)], at=3)
    write(root, "r", 0, [(1, "+", 1)], 9)
    with pytest.raises(cqlduck.DataError, match="retracts what is not there"):
        con.follow()
    assert [] == quarantined(con)
    assert 0 == con.sql("SELECT next_batch FROM cql.relations").fetchall()[0][0]


FOLDERS = itertools.count()
changes = st.lists(
    st.tuples(st.integers(1, 9), st.sampled_from("++-"), st.integers(1, 2)), max_size=3
)


BATCHES = {
    "batches": st.lists(st.tuples(changes, st.none() | st.integers(0, 9)), min_size=1, max_size=4),
    "cuts": st.lists(st.integers(1, 2), min_size=1, max_size=4),
}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[cqlduck.Connection, Path]]:
    root = tmp_path_factory.mktemp("zone")
    with cqlduck.connect(drop_zone=root, strict=True, threads=1) as con:
        yield con, root


@given(**BATCHES)
@settings(deadline=None, max_examples=max(1, settings().max_examples // 20))
def test_no_cut_of_following_changes_what_is_quarantined(
    many: tuple[cqlduck.Connection, Path],
    batches: list[tuple[list[Change], int | None]],
    cuts: list[int],
) -> None:
    con, root = many
    folder = f"case{next(FOLDERS)}"
    for number, (rows, heartbeat) in enumerate([*batches, ([], 10)]):
        write(root, folder, number, rows, heartbeat)
    found = []
    for limits in ([], [1] * 5, cuts):
        con.execute("DROP RELATION IF EXISTS r")
        con.execute(f"CREATE RELATION r (k BIGINT, v BIGINT) FROM '{folder}'")
        for limit in (*limits, None):
            con.follow(limit=limit)
        found.append((quarantined(con), content(con)))
        assert [] == con.sql("FROM cql.late").fetchall()
        assert 0 == con.engine.database.value("SELECT count(*) FROM cql_state.pending_r")
    assert found[0] == found[1] == found[2]
