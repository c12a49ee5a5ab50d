"""What may not be read or written: it is named, nothing is left, and the rest goes on.

Root may do everything, so a test that is run by root is nobody as long as it needs to.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import cqlduck
from cqlduck.sources.dropzone import MANIFEST, batch_folder, write_batch

pytestmark = pytest.mark.skipif(not hasattr(os, "seteuid"), reason="rights are others there")

NOBODY = 65534
READ, WRITE, ALL = 0o555, 0o333, 0o777


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Let the rights of files bind this process as long as the block runs."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture(scope="module")
def imported() -> None:
    """Import what is imported when it is first needed, because nobody may not be able to."""
    with tempfile.TemporaryDirectory() as zone, cqlduck.connect(drop_zone=zone) as con:
        con.follow()


@pytest.fixture
def folder(imported: None) -> Iterator[Path]:
    """An empty folder that all may use; those of pytest are closed to others."""
    made = Path(tempfile.mkdtemp()).resolve()
    made.chmod(ALL)
    yield made
    for path in (made, *made.rglob("*")):
        if not path.is_symlink():
            path.chmod(ALL)
    shutil.rmtree(made)


def refused(kind: type[cqlduck.Error], call: Callable[[], object], *names: Path) -> None:
    with unprivileged(), pytest.raises(kind) as caught:
        call()
    error = caught.value
    for name in names:
        assert str(name) in error.message
    assert os.strerror(13) in error.message
    assert error.hint
    assert str(error) == str(pickle.loads(pickle.dumps(error)))


# ------------------------------------------------------------------------------------- databases


def test_a_database_in_a_folder_that_may_not_be_written(folder: Path) -> None:
    folder.chmod(READ)
    path = folder / "a.duckdb"
    refused(cqlduck.DatabaseError, lambda: cqlduck.connect(path), path)
    assert [] == os.listdir(folder)


def test_a_database_that_may_not_be_written(folder: Path) -> None:
    path = folder / "a.duckdb"
    with cqlduck.connect(path) as con:
        con.execute("CREATE STREAM s (k INTEGER)")
    path.chmod(READ)
    before = path.read_bytes()
    refused(cqlduck.DatabaseError, lambda: cqlduck.connect(path), path)
    assert before == path.read_bytes()


def test_a_database_that_cannot_have_its_log_beside_it(folder: Path) -> None:
    path = folder / "a.duckdb"
    with unprivileged():
        con = cqlduck.connect(path)
        con.execute("CREATE STREAM s (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        con.execute("CHECKPOINT")
    assert [path] == list(folder.iterdir())
    folder.chmod(READ)
    refused(cqlduck.DatabaseError, lambda: con.append("s", [(1,)], at=1), path)
    refused(cqlduck.DatabaseError, lambda: con.execute("CREATE TABLE t (a INTEGER)"), path)
    assert [] == con.sql("FROM s").fetchall()
    folder.chmod(ALL)
    with unprivileged():
        con.append("s", [(1,)], at=1)
        assert 1 == con.advance(1)
        con.close()
        with cqlduck.connect(path) as con:
            assert [(1, 1)] == con.table("q").fetchall()


def test_a_snapshot_in_a_folder_that_may_not_be_written(folder: Path) -> None:
    folder.chmod(READ)
    with cqlduck.connect() as con:
        refused(cqlduck.DatabaseError, lambda: con.snapshot(folder / "a.duckdb"), folder)
    assert [] == os.listdir(folder)


# ------------------------------------------------------------------------------------- drop zones


@pytest.mark.parametrize("name", ["s", "new"])
def test_a_batch_that_may_not_be_written(folder: Path, name: str) -> None:
    (folder / "s").mkdir()
    for path in (folder / "s", folder):
        path.chmod(READ)
    given = pa.table({"t": [1]})
    refused(
        cqlduck.DropZoneError, lambda: write_batch(folder, name, 0, given, ts="t"), folder / name
    )
    assert ["s"] == os.listdir(folder)
    assert [] == os.listdir(folder / "s")


def batch(root: Path, name: str) -> Path:
    return batch_folder(root / name, 1)


@pytest.mark.parametrize(
    ("hidden", "rights", "limit"),
    [
        (lambda root: root / "hurt", 0, None),
        (lambda root: root / "hurt", 0o666, 1),
        (lambda root: batch(root, "hurt"), 0, 1),
        (lambda root: batch(root, "hurt") / MANIFEST, WRITE, None),
        (lambda root: batch(root, "hurt") / "part-0.parquet", WRITE, None),
        (lambda root: batch(root, "hurt") / "part-0.parquet", WRITE, 1),
    ],
)
def test_what_may_not_be_read_holds_its_own_input(
    folder: Path, hidden: Callable[[Path], Path], rights: int, limit: int | None
) -> None:
    for name in ("hurt", "well"):
        for number in range(3):
            given = pa.table({"t": [2 * number, 2 * number + 1]})
            write_batch(folder, name, number, given, ts="t", heartbeat=2 * number + 1)
    with cqlduck.connect(drop_zone=folder) as con:
        con.execute("""
            CREATE STREAM hurt (t BIGINT) TIMESTAMP BY t FROM 'hurt';
            CREATE STREAM well (t BIGINT) TIMESTAMP BY t FROM 'well';
            CREATE CONTINUOUS QUERY some AS SELECT * FROM hurt;
            CREATE CONTINUOUS QUERY others AS SELECT * FROM well;
        """)
        path = hidden(folder)
        path.chmod(rights)
        # what is read ahead is read after the call that begins it
        with unprivileged():
            for _ in range(3):
                with contextlib.suppress(cqlduck.DropZoneError):
                    con.follow(limit=limit)
            refused(cqlduck.DropZoneError, con.follow, path)
        assert [(t, t) for t in range(6)] == sorted(con.table("others").fetchall())
        waits = con.sql("SELECT name FROM cql.streams WHERE waiting_for IS NOT NULL").fetchall()
        assert [("hurt",)] == waits
        path.chmod(ALL)
        with unprivileged():
            con.follow()
        assert [(t, t) for t in range(6)] == sorted(con.table("some").fetchall())


def test_a_folder_that_leads_to_itself_holds_its_own_input(folder: Path) -> None:
    (folder / "hurt").symlink_to(folder / "hurt")
    write_batch(folder, "well", 0, pa.table({"t": [1]}), ts="t", heartbeat=1)
    with cqlduck.connect(drop_zone=folder) as con:
        con.execute("CREATE STREAM hurt (t BIGINT) TIMESTAMP BY t FROM 'hurt'")
        con.execute("CREATE STREAM well (t BIGINT) TIMESTAMP BY t FROM 'well'")
        with pytest.raises(cqlduck.DropZoneError, match=f"{folder}/hurt: cannot be read"):
            con.follow()
        assert [(1,)] == con.sql("FROM well").fetchall()
