"""What `connect` is given, however odd: it connects, or names what is wrong and changes nothing."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.settings import Settings

EXAMPLES = int(os.environ.get("FUZZ", "0"))
FEW = 120

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**30),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=4),
    st.sampled_from(
        ["1 second", "-1 second", "0 days", "9" * 400 + " days", "1 mintue", "1e400 s", "2 months",
         "1GB", "-1GB", "1 XB", "closed", "clsoed", "allow", "unbounded", "unbouned",
         "\0", "\ud800",
         "٣", "²", "1_000", math.nan, -math.inf, [], {}, (), object(), len, Path("x"), 10**400]
    ),
)  # fmt: skip
NAMES = st.sampled_from([*Settings.__dataclass_fields__, "max_tik", "threds", "x"])


def attempt(database: Any, **given: Any) -> str | None:
    """Connect and close; return what it is refused with, or None."""
    try:
        con = cqlduck.connect(database, **given)
    except cqlduck.Error as error:
        return str(error)
    con.close()
    return None


def check_settings(given: dict[str, Any]) -> None:
    # as many threads as that are started
    if given.get("threads") in range(17, 5000):
        return
    said = attempt(":memory:", **given)
    assert said is None or any(name in said for name in given), said


@settings(max_examples=FEW)
@given(st.dictionaries(NAMES, ODD, min_size=1, max_size=2))
def test_settings_connect_or_are_named(given: dict[str, Any]) -> None:
    check_settings(given)


@pytest.mark.long
@settings(max_examples=max(EXAMPLES // 20, FEW))
@given(st.dictionaries(NAMES, ODD, min_size=1, max_size=3))
def test_many_settings_connect_or_are_named(given: dict[str, Any]) -> None:
    check_settings(given)


@pytest.fixture(scope="module")
def good(tmp_path_factory: Any) -> Path:
    path: Path = tmp_path_factory.mktemp("good") / "good.duckdb"
    with cqlduck.connect(path) as con:
        con.execute("CREATE STREAM s (k INTEGER)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s GROUP BY k")
        con.append("s", [(i,) for i in range(50)], at=1)
        con.advance(1)
    return path


@contextlib.contextmanager
def copied(path: Path) -> Iterator[Path]:
    folder = path.parent / "copy"
    folder.mkdir()
    try:
        yield Path(shutil.copy(path, folder))
    finally:
        shutil.rmtree(folder)


def check_damaged(good: Path, cut: float | None, flips: list[tuple[float, int]]) -> None:
    with copied(good) as path:
        data = bytearray(path.read_bytes())
        if cut is not None:
            data = data[: int(cut * len(data))]
        for place, bit in flips:
            # three headers of 4096 bytes
            data[min(int(place * 12_288), len(data) - 1)] ^= 1 << bit
        path.write_bytes(data)
        said = attempt(path)
        if said is not None:
            assert str(path) in said
            assert bytes(data) == path.read_bytes()
            assert [path.name] == os.listdir(path.parent)


CUTS = st.none() | st.floats(0.001, 0.999)
FLIPS = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), max_size=2)


@settings(max_examples=25)
@given(CUTS, FLIPS)
def test_a_damaged_file_is_named_and_left_as_it_is(
    good: Path, cut: float | None, flips: list[tuple[float, int]]
) -> None:
    check_damaged(good, cut, flips)


@pytest.mark.long
@settings(max_examples=max(EXAMPLES // 50, 25))
@given(CUTS, FLIPS)
def test_many_damaged_files_are_named_and_left_as_they_are(
    good: Path, cut: float | None, flips: list[tuple[float, int]]
) -> None:
    check_damaged(good, cut, flips)


@pytest.mark.parametrize(
    "path",
    [5, None, b"x.duckdb", [], "", " ", "a\0b", "\ud800", ":memory:x", " :memory:",
     "none/x.duckdb", "http://localhost/x.duckdb", "s3://bucket/x.duckdb", "~/none/x.duckdb"],
)  # fmt: skip
def test_a_path_that_is_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cqlduck.DatabaseError) as error:
        cqlduck.connect(path)
    assert (repr(path) if not isinstance(path, str) or "/" not in path else path) in str(
        error.value
    )
    assert error.value.hint
    assert [] == os.listdir(tmp_path)


def foreign(path: Path, script: str) -> None:
    with duckdb.connect(str(path)) as other:
        other.execute(script)


def test_what_is_no_database_of_ours_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").write_text("hello " * 1000)
    foreign(tmp_path / "other.duckdb", "CREATE SCHEMA cql; CREATE TABLE cql.queries (a INTEGER)")
    for name in ("folder", "text.txt", "other.duckdb"):
        path = tmp_path / name
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(cqlduck.DatabaseError) as error:
            cqlduck.connect(path)
        assert str(path) in str(error.value)
        assert before == (path.read_bytes() if path.is_file() else b"")
    assert ["folder", "other.duckdb", "text.txt"] == sorted(os.listdir(tmp_path))


def test_what_was_refused_opens_afterwards(good: Path) -> None:
    """A refusal holds neither the file nor its name, and writes nothing."""
    with copied(good) as path:
        before = path.read_bytes()
        for given in ({"max_tick": 0}, {"window_edge": "half_open"}, {"granularity": "1 hour"}):
            said = attempt(path, **given)
            assert said is not None
            assert next(iter(given)) in said
            assert before == path.read_bytes()
        with cqlduck.connect(path) as con:
            assert 50 == len(con.table("q").fetchall())
