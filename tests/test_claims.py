"""A batch that does not hold what its manifest says is not taken, nor is one from elsewhere."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest
import xxhash

import cqlduck
from cqlduck.sources import checksums, dropzone
from cqlduck.sources.ahead import Ahead

WAYS = ["together", "ahead", "by DuckDB"]
"""How a batch is read: with others, alone by Arrow, alone by DuckDB."""


def follow(con: cqlduck.Connection, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "by DuckDB":
        monkeypatch.setattr(Ahead, "small", lambda self, batch, prepare: None)
    while con.follow(limit=None if way == "together" else 1):
        pass


def change(folder: Path, **fields: Any) -> None:
    path = folder / dropzone.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / dropzone.MANIFEST).read_text())
    return found


def taken(con: cqlduck.Connection) -> list[Any]:
    return con.sql("SELECT next_batch, elements, heartbeat FROM cql.streams").fetchall()


# ------------------------------------------------------------------------------------------ times


@pytest.mark.parametrize(
    ("kind", "way"), [*(("STREAM", way) for way in WAYS), ("RELATION", "together")]
)
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"min_ts": 3}, "has the least timestamp 4, and its manifest says 3"),
        ({"min_ts": 5}, "has the least timestamp 4, and its manifest says 5"),
        ({"max_ts": 9}, "has the greatest timestamp 5, and its manifest says 9"),
        ({"rows": 3}, "has 2 rows, and its manifest says 3"),
        (
            {"min_ts": "2013-01-01T00:00:00Z", "max_ts": "2013-01-01T00:00:00Z"},
            "has other times than its manifest, which gives wall-clock time",
        ),
    ],
    ids=str,
)
def test_a_manifest_that_is_wrong_about_its_rows(
    fields: dict[str, Any],
    words: str,
    kind: str,
    way: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number, times in enumerate(([1, 2], [4, 5], [7])):
        rows = pa.table({"v": times, "_ts": times})
        dropzone.write_batch(tmp_path, "s", number, rows)
    folder = dropzone.batch_folder(tmp_path / "s", 1)
    whole = json.loads((folder / dropzone.MANIFEST).read_text())
    change(folder, **fields)
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(f"CREATE {kind} s (v BIGINT) FROM 's'")
        with pytest.raises(cqlduck.DropZoneError) as caught:
            follow(con, way, monkeypatch)
        assert f"{folder} {words}" == caught.value.message
        view = "streams" if kind == "STREAM" else "relations"
        count = f"SELECT next_batch, elements, waiting_for FROM cql.{view}"
        assert [(1, 2, caught.value.message)] == con.sql(count).fetchall()
        change(folder, **whole)
        follow(con, way, monkeypatch)
        assert [(3, 5, None)] == con.sql(count).fetchall()


@pytest.mark.parametrize("way", ["together", "ahead"])
@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ("DATE", pa.array([datetime(2013, 1, 1, 5), datetime(2013, 1, 2, 6)])),
        ("DATE", pa.array([date(2013, 1, 1), date(2013, 1, 2)])),
        ("TIMESTAMP", pa.array([date(2013, 1, 1), date(2013, 1, 2)])),
        ("TIMESTAMP", pa.array([1_999, 5_000_001], pa.timestamp("ns"))),
        ("TIMESTAMP_NS", pa.array([-1_999, 5_000_001], pa.timestamp("ns"))),
        ("TIMESTAMP_MS", pa.array([1_499, 5_501], pa.timestamp("us"))),
        ("TIMESTAMP_S", pa.array([-1_500_000, 5_500_001], pa.timestamp("us"))),
        ("TIMESTAMPTZ", pa.array([datetime(2013, 1, 1, 5, tzinfo=UTC), datetime(2014, 1, 2)])),
        ("INTEGER", pa.array([-3, 7], pa.int64())),
        ("BIGINT", pa.array([3, 7], pa.uint32())),
    ],
    ids=str,
)
def test_a_manifest_that_is_right_whatever_the_types(
    declared: str, values: pa.Array, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read as a coarser type than it was written is compared as it is read."""
    for number in range(2):
        one = pa.table({"at": values.slice(number, 1)})
        dropzone.write_batch(tmp_path, "s", number, one, ts="at")
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(f"CREATE STREAM s (at {declared}) TIMESTAMP BY at FROM 's'")
        follow(con, way, monkeypatch)
        assert 2 == taken(con)[0][0]


# --------------------------------------------------------------------------------------- checksums


def flip(file: Path) -> None:
    """Change a byte of a value; the file stays one that can be read."""
    table = pq.read_table(file)
    pq.write_table(table.set_column(0, "v", pa.compute.add(table["v"], 1)), file)


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_was_changed_is_noticed(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        dropzone.write_batch(tmp_path, "s", number, pa.table({"v": [number], "_ts": [number]}))
    folder = dropzone.batch_folder(tmp_path / "s", 1)
    file = folder / "part-0.parquet"
    whole = file.read_bytes()
    flip(file)
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute("CREATE STREAM s (v BIGINT) FROM 's'")
        with pytest.raises(cqlduck.DropZoneError) as caught:
            follow(con, way, monkeypatch)
        found, said = (checksums.of_file(file), manifest(folder)["checksums"][file.name])
        assert f"{file} has the checksum {found}, and its manifest says {said}" == str(
            caught.value.message
        )
        assert 1 == taken(con)[0][0]
        file.write_bytes(whole)
        follow(con, way, monkeypatch)
        assert (3, 3, "1") == taken(con)[0]


def test_checksums_may_be_missing(tmp_path: Path) -> None:
    dropzone.write_batch(tmp_path, "s", 0, pa.table({"v": [1], "_ts": [1]}))
    change(dropzone.batch_folder(tmp_path / "s", 0), checksums={})
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute("CREATE STREAM s (v BIGINT) FROM 's'")
        assert 1 == con.follow()


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ([], "'checksums' is not an object"),
        ({"other.parquet": "xxh3_64:2d06800538d394c2"}, "names 'other.parquet', which 'files'"),
        ({"part-0.parquet": "2d06800538d394c2"}, "no checksum for 'part-0.parquet'"),
        ({"part-0.parquet": "md5:d41d8cd98f00b204e9800998ecf8427e"}, "no checksum for"),
        ({"part-0.parquet": "xxh3_64:2D06800538D394C2"}, "no checksum for"),
        ({"part-0.parquet": 7}, "no checksum for"),
    ],
    ids=str,
)
def test_checksums_that_are_none(written: Any, words: str, tmp_path: Path) -> None:
    dropzone.write_batch(tmp_path, "s", 0, pa.table({"v": [1], "_ts": [1]}))
    change(dropzone.batch_folder(tmp_path / "s", 0), checksums=written)
    with pytest.raises(cqlduck.DropZoneError, match=words):
        dropzone.read_batch(tmp_path / "s", 0)


def test_a_checksum_is_that_of_the_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    # the value that the algorithm's authors give
    assert "xxh3_64:2d06800538d394c2" == checksums.of_file(file)
    many = bytes(range(256)) * (checksums.PIECE // 128 + 1)
    file.write_bytes(many)
    assert f"xxh3_64:{xxhash.xxh3_64_hexdigest(many)}" == checksums.of_file(file)


# ------------------------------------------------------------------------------------------- links


@pytest.mark.parametrize("linked", ["batch", "folder"])
def test_a_link_out_of_the_drop_zone_is_refused(linked: str, tmp_path: Path) -> None:
    zone, elsewhere = tmp_path / "zone", tmp_path / "elsewhere"
    rows = pa.table({"v": [1], "_ts": [1]})
    dropzone.write_batch(elsewhere, "s", 0, rows, heartbeat=5)
    inside = dropzone.batch_folder(zone / "s", 0) if linked == "batch" else zone / "s"
    outside = dropzone.batch_folder(elsewhere / "s", 0) if linked == "batch" else elsewhere / "s"
    inside.parent.mkdir(parents=True)
    inside.symlink_to(outside)
    with cqlduck.connect(drop_zone=zone) as con:
        con.execute("CREATE STREAM s (v BIGINT) FROM 's'")
        with pytest.raises(cqlduck.DropZoneError, match=f"{inside}: leads out of") as caught:
            con.follow()
        assert "link" in str(caught.value.hint)
        assert [(0, 0, None)] == taken(con)
        # what it leads to may lie in the drop zone itself
        inside.unlink()
        shutil.copytree(outside, zone / ".here")
        if linked == "batch":
            (zone / ".here").rename(zone / "s" / ".here")
            inside.symlink_to(".here")
        else:
            (zone / "s").symlink_to(".here")
            change(dropzone.batch_folder(zone / ".here", 0), stream="s")
        assert 1 == con.follow()
        assert [(1, 1, "5")] == taken(con)


def test_the_drop_zone_itself_may_be_a_link(tmp_path: Path) -> None:
    dropzone.write_batch(tmp_path / "real", "s", 0, pa.table({"v": [1], "_ts": [1]}))
    (tmp_path / "zone").symlink_to(tmp_path / "real")
    with cqlduck.connect(drop_zone=tmp_path / "zone") as con:
        con.execute("CREATE STREAM s (v BIGINT) FROM 's'")
        assert 1 == con.follow()


@pytest.mark.parametrize("source", ["/tmp", "../s", "a/../../s", "C:\\s", "\\s", "a\\..\\..\\s"])
def test_a_folder_is_named_below_the_drop_zone(source: str, con: cqlduck.Connection) -> None:
    for statement in ("CREATE STREAM s (v BIGINT)", "CREATE RELATION s (v BIGINT)"):
        with pytest.raises(cqlduck.BindError, match="no folder inside the drop zone"):
            con.execute(f"{statement} FROM '{source}'")
