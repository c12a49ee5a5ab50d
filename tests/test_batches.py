"""Random cases whose elements come in batches of a drop zone, cut at random.

Each input has a folder. Which rows make a batch, which of them a file, where a heartbeat stands and
how many batches a call follows is drawn; the answer is the reference evaluator's.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import choices
import pyarrow as pa
import pyarrow.parquet as pq
import reference
import strategies
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Relation, Stream
from test_differential import ARROW, QUIET

import cqlduck
from cqlduck.sources import dropzone


@dataclass(frozen=True)
class Batch:
    """Elements in files, and a heartbeat or none."""

    files: tuple[tuple[Any, ...], ...]
    heartbeat: int | None


@dataclass(frozen=True)
class Delivery:
    """A case, the batches of each input, and in which order they come and are followed.

    Attributes:
        case: Its script is not played.
        batches: By the name of the input.
        calls: What happens in turn: the name of an input whose next batch is written, or how many
            batches are followed, None for all.
    """

    case: strategies.Case
    batches: dict[str, list[Batch]]
    calls: tuple[str | int | None, ...]


@st.composite
def deliveries(draw: st.DrawFn) -> Delivery:
    case = draw(
        strategies.cases(
            negative=False, later=False, restarts=False, disorder=True, timestamp_by=True,
            most_queries=2,
        )
    )  # fmt: skip
    batches = {source.name: draw(cut(source, case.t_end)) for source in case.inputs}
    names = [name for name, listed in batches.items() for _ in listed]
    written = draw(st.permutations(names))
    calls: list[str | int | None] = []
    for name in written:
        calls.append(name)
        calls += draw(st.sampled_from([[], [], [1], [2], [None]]))
    return Delivery(case, batches, (*calls, None))


@st.composite
def cut(draw: st.DrawFn, source: Stream | Relation, t_end: int) -> list[Batch]:
    """Draw the batches of an input; the last one promises that nothing else comes."""
    left = list(source.elements if isinstance(source, Stream) else source.changes)
    listed = []
    while left:
        count = draw(st.integers(0, len(left)))
        rows, left = left[:count], left[count:]
        halves = draw(st.integers(0, count))
        files = tuple(part for part in (tuple(rows[:halves]), tuple(rows[halves:])) if part)
        most = min((element[0] for element in left), default=t_end + 1) - 1
        heartbeat = draw(st.none() | st.integers(0, most)) if most >= 0 else None
        listed.append(Batch(files, heartbeat))
    return [*listed, Batch((), t_end)]


def table(source: Stream | Relation, elements: Sequence[Any]) -> pa.Table:
    """Return elements as a file has them."""
    columns: dict[str, pa.Array] = {}
    for place, (name, kind) in enumerate(source.columns):
        columns[name] = pa.array([element[-1][place] for element in elements], ARROW[kind])
    if isinstance(source, Relation):
        columns["_op"] = pa.array(["+" if e[1] > 0 else "-" for e in elements], pa.string())
    if isinstance(source, Relation) or not source.timestamp_by:
        columns["_ts"] = pa.array([element[0] for element in elements], pa.int64())
    return pa.table(columns)


def write(root: Path, source: Stream | Relation, number: int, batch: Batch) -> None:
    folder = root / source.name
    hidden = dropzone.hidden_folder(folder, number)
    names = [f"part-{place}.parquet" for place in range(len(batch.files))]
    for name, elements in zip(names, batch.files, strict=True):
        pq.write_table(table(source, elements), hidden / name)
    stamps = [element[0] for elements in batch.files for element in elements]
    reach = dropzone.Extent(len(stamps), min(stamps), max(stamps), False) if stamps else None
    schema = table(source, ()).schema
    manifest = dropzone.describe(folder.name, number, reach, batch.heartbeat, names, schema)
    (hidden / dropzone.MANIFEST).write_text(manifest.to_json())
    # as `publish` does, but for what makes it outlast a crash of the machine
    hidden.rename(dropzone.batch_folder(folder, number))


def check(delivery: Delivery, **options: Any) -> None:
    case = delivery.case
    inputs = {source.name: source for source in case.inputs}
    numbers: dict[str, Iterator[int]] = {name: itertools.count() for name in inputs}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with cqlduck.connect(drop_zone=root, threads=1, **options) as con:
            choices.draw(con, case)
            for source in case.inputs:
                con.execute(f"{strategies.declaration(source)} FROM '{source.name}'")
            for query in case.queries:
                con.execute(strategies.registration(query))
            for call in delivery.calls:
                if isinstance(call, str):
                    number = next(numbers[call])
                    write(root, inputs[call], number, delivery.batches[call][number])
                else:
                    con.follow(limit=call)
            assert [] == con.sql("SELECT * FROM cql.batches WHERE state <> 'taken'").fetchall()
            con.advance(case.t_end)
            for result in case.expected():
                name = result.query.name
                found = reference.from_changes(con.changes(name).fetchall())
                problems = reference.differences(result, found)
                assert not problems, f"{name}: {problems[:5]}\n{delivery.calls}\n{case}"


@given(deliveries())
@settings(suppress_health_check=QUIET, deadline=None, max_examples=fewer_if_brief(5))
def test_how_elements_are_cut_into_batches_changes_nothing(delivery: Delivery) -> None:
    check(delivery)
