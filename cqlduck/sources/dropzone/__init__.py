"""The drop zone: a folder of batches for each stream or relation, read and written.

    drop/flights/batch=000000000042/part-0.parquet
    drop/flights/batch=000000000042/_manifest.json
       {"version": 1, "stream": "flights", "batch": 42, "rows": 918,
        "min_ts": "2013-02-11T05:02:00Z", "max_ts": "2013-02-11T23:58:00Z",
        "heartbeat": "2013-02-11T23:59:59.999999Z",
        "files": ["part-0.parquet"], "schema": [["origin", "VARCHAR"], ["dep_delay", "DOUBLE"]],
        "checksums": {"part-0.parquet": "xxh3_64:2d06800538d394c2"}}

What a reader may rely on:

- A batch folder is written under a hidden name and renamed into place, so one that can be seen is
  complete. Names that start with `.` or `_` are nobody's business but their writer's.
- Batches are taken strictly by number from 0; a gap waits. Of two writers of one number the first
  to rename wins, and the other leaves what it finds, so writing a batch again is harmless.
- Only the files that the manifest lists belong to the batch, in that order; arrival order is file,
  then row. A batch without rows is a heartbeat.

Times are integers, or wall-clock time as ISO 8601 in UTC with `Z`. In Python both are `int`: the
instants of integer time as they are, or microseconds since 1970-01-01 with `wall_clock` true.
"""

from __future__ import annotations

from cqlduck.sources.dropzone.arrow import Extent, duckdb_type, extent
from cqlduck.sources.dropzone.batches import (
    Batch,
    batch_folder,
    gap,
    inside,
    is_there,
    pending,
    read_batch,
)
from cqlduck.sources.dropzone.manifest import MANIFEST, VERSION, Manifest
from cqlduck.sources.dropzone.refusals import reading, writing
from cqlduck.sources.dropzone.times import raw_time
from cqlduck.sources.dropzone.writer import (
    BatchWriter,
    describe,
    hidden_folder,
    publish,
    refuse_without_times,
    stream_folder,
    write_batch,
)

__all__ = [
    "MANIFEST",
    "VERSION",
    "Batch",
    "BatchWriter",
    "Extent",
    "Manifest",
    "batch_folder",
    "describe",
    "duckdb_type",
    "extent",
    "gap",
    "hidden_folder",
    "inside",
    "is_there",
    "pending",
    "publish",
    "raw_time",
    "read_batch",
    "reading",
    "refuse_without_times",
    "stream_folder",
    "write_batch",
    "writing",
]
