"""What Arrow tells of Parquet files is what DuckDB tells of them, or is left to DuckDB."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cqlduck
from cqlduck.sources import dropzone
from cqlduck.sources.ahead import Ahead
from cqlduck.sources.footers import Footers

SECOND = 1_000_000
STAMPS = ("_ts", "_TS", "At", "t", "t.u")


def write(root: Path, number: int, tables: Sequence[pa.Table]) -> None:
    """Write a batch of several files; its manifest is right where there are times to tell of."""
    hidden = dropzone.hidden_folder(root / "s", number)
    names = tuple(f"part-{i}.parquet" for i in range(len(tables)))
    for name, table in zip(names, tables, strict=True):
        pq.write_table(table, hidden / name)
    reach = dropzone.Extent(sum(map(len, tables)), 0, 0, False)
    stamps = [table[n] for table in tables for n in table.column_names if n in STAMPS]
    with contextlib.suppress(cqlduck.Error, pa.ArrowException):
        found = dropzone.extent(pa.chunked_array([c for s in stamps for c in s.chunks]), "_ts")
        # no manifest can tell of infinity
        reach = found if (found.max_ts or 0) < 2**60 else reach
    assert dropzone.publish(
        hidden, dropzone.describe("s", number, reach, None, names, pa.schema([("a", pa.int64())]))
    )


def outcome(create: str, root: Path, limit: int | None) -> list[object]:
    """What becomes of the batches: errors, the books, and the elements."""
    found: list[object] = []
    with cqlduck.connect(granularity="1 second", drop_zone=root) as con:
        con.execute(create)
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT * FROM s [RANGE UNBOUNDED]")
        con.execute(
            "CREATE CONTINUOUS QUERY keeps_all AS SELECT count(*) AS n "
            "FROM s [RANGE UNBOUNDED] AS a, s [RANGE UNBOUNDED] AS b WHERE a._ts = b._ts"
        )
        taken = 1
        while taken:
            try:
                taken = con.follow(limit=limit)
            except cqlduck.Error as error:
                taken = 0
                found.append((type(error), error.message, error.hint))
            found.append(taken)
        con.advance()
        found.append(con.sql("SELECT name, heartbeat, waiting_for FROM cql.streams").fetchall())
        found.append(con.sql("SELECT * FROM cql.batches ORDER BY ALL").fetchall())
        found.append(sorted(map(str, con.changes("q").fetchall())))
        store = con.engine.database.rows("SELECT * FROM cql_state.stream_s ORDER BY _cql_seq")
        found.append(list(map(str, store)))
    return found


def compared(
    create: str, root: Path, monkeypatch: pytest.MonkeyPatch, limit: int | None = None
) -> list[object]:
    """The outcome, which has to be the same when everything is asked of DuckDB."""
    quick = outcome(create, root, limit)
    with monkeypatch.context() as patch:
        patch.setattr(Ahead, "small", lambda self, batch, prepare: None)
        assert outcome(create, root, limit) == quick
        patch.setattr(Footers, "columns", lambda self: None)
        patch.setattr(Footers, "times", lambda self, column: None)
        assert outcome(create, root, limit) == quick
    return quick


KINDS = [
    ("BIGINT", pa.int64()),
    ("BIGINT", pa.int32()),
    ("BIGINT", pa.uint64()),
    ("INTEGER", pa.int64()),
    ("TIMESTAMP", pa.timestamp("us")),
    ("TIMESTAMP", pa.timestamp("ms")),
    ("TIMESTAMP", pa.timestamp("ns")),
    ("TIMESTAMP", pa.timestamp("us", "UTC")),
    ("TIMESTAMP", pa.timestamp("us", "Europe/Berlin")),
    ("TIMESTAMP WITH TIME ZONE", pa.timestamp("us")),
    ("TIMESTAMP WITH TIME ZONE", pa.timestamp("us", "UTC")),
    ("TIMESTAMP_NS", pa.timestamp("ns")),
    ("DATE", pa.date32()),
]


WAYS = [("", None), ("", 1), ("LATE DROP", None)]
"""A late policy, and how many batches are followed at once."""

STAMPED = KINDS + [(None, kind) for kind in dict(map(reversed, KINDS))]


@pytest.mark.parametrize(
    ("declared", "kind", "late", "limit"),
    [(*known, *WAYS[number % 3]) for number, known in enumerate(STAMPED)]
    + [
        pytest.param(*known, *way, marks=pytest.mark.long)
        for number, known in enumerate(STAMPED)
        for way in WAYS
        if way != WAYS[number % 3]
    ],
    ids=str,
)
def test_times_are_judged_as_a_scan_does(
    declared: str | None,
    kind: pa.DataType,
    late: str,
    limit: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stamp = "At" if declared else "_ts"
    clause = f", at {declared}) TIMESTAMP BY at" if declared else ")"
    unit = {"us": SECOND, "ms": 1000, "ns": 1000 * SECOND}.get(getattr(kind, "unit", ""), 1)
    plain = pa.int32() if kind == pa.date32() else pa.int64()

    def table(times: list[int | None]) -> pa.Table:
        raw = pa.array([None if t is None else t * unit for t in times], plain)
        return pa.table({"a": pa.array(times, pa.int64()), stamp: raw.cast(kind)})

    batches: list[list[list[int | None]]] = [
        [[1, 2, 4]],
        [[5, 5], [5, 9]],
        [[12], [11, 13]],
        [[14, 15], [], [16]],
        [[17, 20, 19]],
        [[3]],
        [[21], [22]],
        [[23, None]],
        [[24]],
    ]
    for number, files in enumerate(batches):
        write(tmp_path, number, [table(times) for times in files])
    create = f"CREATE STREAM s (a BIGINT{clause}"
    compared(f"{create} {late} FROM 's'", tmp_path, monkeypatch, limit)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": pa.int64(), "A": pa.int64(), "_ts": pa.int64()},
        {"a": pa.int64(), "b": pa.int64(), "_ts": pa.int64()},
        {"b": pa.int64(), "_ts": pa.int64()},
        {"a": pa.int64()},
        {"A": pa.int64(), "_TS": pa.int64()},
        {"a": pa.int64(), "_ts": pa.string()},
        {"a": pa.int64(), "_ts": pa.struct([("x", pa.int64())])},
        {"a": pa.string(), "_ts": pa.int64()},
        {"a": pa.int64(), "_ts": pa.int64(), "_op": pa.int64()},
    ],
    ids=lambda columns: " ".join(columns),
)
def test_columns_are_matched_as_duckdb_names_them(
    columns: dict[str, pa.DataType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def column(kind: pa.DataType) -> pa.Array:
        if kind == pa.string():
            return pa.array(["1", "x"])
        return (
            pa.array([{"x": 1}, {"x": 2}], kind) if pa.types.is_struct(kind) else pa.array([1, 2])
        )

    table = pa.Table.from_arrays([column(k) for k in columns.values()], names=list(columns))
    write(tmp_path, 0, [table])
    compared("CREATE STREAM s (a BIGINT) FROM 's'", tmp_path, monkeypatch)


@pytest.mark.parametrize("limit", [None, 1])
def test_files_of_a_batch_that_differ_are_read_as_duckdb_reads_them(
    limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = pa.table({"a": [1], "_ts": [1]})
    write(tmp_path, 0, [one])
    write(tmp_path, 1, [pa.table({"_ts": pa.array([2], pa.int32()), "a": [2]})])
    write(tmp_path, 2, [pa.table({"a": [3], "_ts": [3]}), pa.table({"a": [4]})])
    compared("CREATE STREAM s (a BIGINT) FROM 's'", tmp_path, monkeypatch, limit)


@pytest.mark.parametrize("kind", ["STREAM", "RELATION"])
@pytest.mark.parametrize("extra", [{"b": [3]}, {"_op": ["-"]}, {"B": [{"x": 1}]}])
def test_a_column_that_the_first_file_has_not_is_not_skipped(
    kind: str, extra: dict[str, Any], tmp_path: Path
) -> None:
    (name,) = extra
    write(tmp_path, 0, [pa.table({"a": [1], "_ts": [1]})])
    write(
        tmp_path, 1, [pa.table({"a": [2], "_ts": [2]}), pa.table({"a": [1], "_ts": [3], **extra})]
    )
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(f"CREATE {kind} s (a BIGINT) FROM 's'")
        with pytest.raises(cqlduck.DropZoneError, match=f"part-1.*has a column {name}, which part"):
            con.follow()
        assert 1 == con.engine.catalogue.inputs["s"].next_batch


def test_operations_are_no_columns_of_a_stream(tmp_path: Path) -> None:
    write(tmp_path, 0, [pa.table({"a": [1], "_ts": [1], "_op": ["-"]})])
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute("CREATE STREAM s (a BIGINT) FROM 's'")
        with pytest.raises(cqlduck.DropZoneError, match="has _op too many, for stream s"):
            con.follow()


@pytest.mark.parametrize("limit", [None, 1])
def test_batches_that_differ_are_not_read_together(
    limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 0, [pa.table({"a": [1], "_ts": [1]})])
    write(tmp_path, 1, [pa.table({"a": [2], "_ts": [2], "b": [3]})])
    found = compared("CREATE STREAM s (a BIGINT) FROM 's'", tmp_path, monkeypatch, limit)
    assert "has b too many" in str(found)


def test_a_file_that_is_cut_off_is_duckdbs_to_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 0, [pa.table({"a": [1], "_ts": [1]})])
    write(tmp_path, 1, [pa.table({"a": [2], "_ts": [2]})])
    file = dropzone.batch_folder(tmp_path / "s", 1) / "part-0.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    # without checksums, which would say it first
    manifest = file.with_name(dropzone.MANIFEST)
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"checksums": {}}))
    found = compared("CREATE STREAM s (a BIGINT) FROM 's'", tmp_path, monkeypatch)
    assert "cannot be read" in str(found[0])


def test_a_time_with_a_dot_in_its_name_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 0, [pa.table({"a": [1, 2], "t.u": [1, 5]})])
    create = """CREATE STREAM s (a BIGINT, "t.u" BIGINT) TIMESTAMP BY "t.u" FROM 's'"""
    assert "(1, 1" in str(compared(create, tmp_path, monkeypatch))


def test_infinite_times_are_duckdbs_to_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = pa.array([2**63 - 1], pa.int64()).cast(pa.timestamp("us"))
    write(tmp_path, 0, [pa.table({"a": [1], "_ts": endless})])
    found = compared("CREATE STREAM s (a BIGINT) FROM 's'", tmp_path, monkeypatch)
    assert found[0] != 1


@pytest.mark.parametrize("name", ["a", "file_row_number", "FILE_INDEX"])
@pytest.mark.parametrize("files", [1, 3])
def test_rows_are_numbered_in_order_of_files(
    name: str, files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        tables = [
            pa.table({name: [number, file, 7], "t": pa.array([number] * 3, pa.int64())})
            for file in range(files)
        ]
        write(tmp_path, number, tables)
    create = f"CREATE STREAM s ({name} BIGINT, t BIGINT) TIMESTAMP BY t FROM 's'"
    *_, store = compared(create, tmp_path, monkeypatch)
    numbers = [int(row.strip("()").split(", ")[-1]) for row in store]  # type: ignore[attr-defined]
    assert list(range(9 * files)) == numbers
    values = [int(row.strip("()").split(", ")[0]) for row in store]  # type: ignore[attr-defined]
    assert [v for n in range(3) for f in range(files) for v in (n, f, 7)] == values
