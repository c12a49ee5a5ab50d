"""A database file, or its log, that is cut or changed: it is named, or it is right; never wrong.

The log is read up to its last whole transaction, as after a crash, and everything goes on from
there. Of a file DuckDB checks each block when it reads it, so what is wrong may show late; until
then what is read is right.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck

EXAMPLES = 8
STEPS = 8
SETUP = """
    CREATE STREAM s (k INTEGER, v VARCHAR);
    CREATE CONTINUOUS QUERY counts AS SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k;
    CREATE CONTINUOUS QUERY values_of_it AS SELECT * FROM s;
"""


def step(con: cqlduck.Connection, number: int) -> None:
    chance = random.Random(number)
    rows = [(i % 7, chance.randbytes(20).hex()) for i in range(400)]
    k, v = zip(*rows, strict=True)
    con.tick({"s": pa.table({"k": k, "v": v, "_ts": [number] * len(rows)})}, number)


def content(con: cqlduck.Connection) -> tuple[Any, ...]:
    found = [sorted(con.table(name).fetchall(), key=repr) for name in ("counts", "values_of_it")]
    return (*found, sorted(con.sql("FROM s").fetchall(), key=repr), con.queries["counts"].frontier)


class Made:
    """A database, before and after it was closed.

    Attributes:
        killed: The folder of one that was not closed: its log has all steps.
        closed: The folder of one that was.
        states: What was there after each step.
    """

    def __init__(self, killed: Path, closed: Path, states: list[tuple[Any, ...]]) -> None:
        self.killed, self.closed, self.states = killed, closed, states


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("made")
    states = []
    with cqlduck.connect(folder / "a.duckdb") as con:
        con.execute(SETUP)
        con.execute("CHECKPOINT")
        states.append(content(con))
        for number in range(STEPS):
            step(con, number)
            states.append(content(con))
        shutil.copytree(folder, tmp_path_factory.mktemp("killed"), dirs_exist_ok=True)
        killed = tmp_path_factory.getbasetemp() / "killed0"
    return Made(killed, folder, states)


def is_told(error: cqlduck.Error, path: Path) -> None:
    assert isinstance(error, cqlduck.DatabaseError), error
    assert str(path) in error.message
    assert error.hint
    assert str(error) == str(pickle.loads(pickle.dumps(error)))


def damage(file: Path, place: float, bit: int | None) -> None:
    """Cut a file, or change a bit of it."""
    data = bytearray(file.read_bytes())
    at = int(place * len(data))
    if bit is None:
        data = data[:at]
    else:
        data[at] ^= 1 << bit
    file.write_bytes(data)


PLACES = st.floats(0, 1, exclude_max=True)
BITS = st.none() | st.integers(0, 7)


def check_log(made: Made, place: float, bit: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(made.killed, folder, dirs_exist_ok=True)
        path = Path(folder) / "a.duckdb"
        damage(path.with_name("a.duckdb.wal"), place, bit)
        try:
            con = cqlduck.connect(path)
        except cqlduck.Error as error:
            is_told(error, path)
            assert bit is not None or place < 0.01
            return
        with con:
            found = content(con)
            assert found in made.states
            done = made.states.index(found)
            for number in range(done, STEPS):
                step(con, number)
            assert made.states[-1] == content(con)


def check_file(made: Made, place: float, bit: int | None) -> None:
    calls: list[Callable[[cqlduck.Connection], object]] = [
        lambda con: content(con) == made.states[-1],
        lambda con: con.arrow("values_of_it").num_rows == STEPS * 400,
        lambda con: step(con, STEPS) is None,
        lambda con: con.table("values_of_it").fetchall()[: STEPS * 400] is not None,
    ]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(made.closed, folder, dirs_exist_ok=True)
        path = Path(folder) / "a.duckdb"
        damage(path, place, bit)
        try:
            con = cqlduck.connect(path)
        except cqlduck.Error as error:
            return is_told(error, path)
        with con:
            for call in calls:
                try:
                    assert call(con)
                except cqlduck.Error as error:
                    is_told(error, path)


@settings(max_examples=EXAMPLES)
@given(PLACES, BITS)
def test_a_damaged_log_is_named_or_read_as_far_as_it_is_whole(
    made: Made, place: float, bit: int | None
) -> None:
    check_log(made, place, bit)


@settings(max_examples=EXAMPLES)
@given(PLACES, BITS)
def test_a_damaged_file_is_named_or_right(made: Made, place: float, bit: int | None) -> None:
    check_file(made, place, bit)


@pytest.mark.long
@settings(max_examples=max(int(os.environ.get("FUZZ", "0")) // 50, EXAMPLES))
@given(PLACES, BITS)
def test_many_damaged_files_are_named_or_right(made: Made, place: float, bit: int | None) -> None:
    check_log(made, place, bit)
    check_file(made, place, bit)
