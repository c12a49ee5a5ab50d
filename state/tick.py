"""A tick of one query: the statements of its plan over (t₀, t₁], inside the caller's transaction.

Reads only what is at or before t₁ and writes only what is after t₀, so how time is cut into ticks
does not show in what is written.
"""

from __future__ import annotations

import time as wall
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from cqlduck.rewrite.compile import Compiled, Step
from cqlduck.rewrite.delta import Form
from cqlduck.rewrite.weighted import TS, WEIGHT
from cqlduck.state.apart import Workshop
from cqlduck.state.catalog import Query
from cqlduck.state.connection import Database, quoted
from cqlduck.state.fresh import Fresh
from cqlduck.state.queues import ones
from cqlduck.state.shared import Tables
from cqlduck.state.waiting import Queue

NEVER = -9223372036854775808
"""Before all instants."""


@dataclass(frozen=True)
class Ran:
    """What a tick of a query did.

    Attributes:
        elements: How many elements of its answer it wrote.
        rows: How many rows it wrote.
        stages: How many seconds the stages took that it might have been faster without.
    """

    elements: int = 0
    rows: int = 0
    stages: float = 0.0


def run(
    database: Database,
    query: Query,
    compiled: Compiled,
    until: int,
    begin: int,
    form: Form,
    queued: Mapping[str, Queue],
    workshop: Workshop,
    tables: Tables,
    fresh: Fresh | None = None,
) -> Ran:
    """Bring a query's answer from its frontier to an instant.

    Args:
        database: The database, inside a transaction.
        query: The query; its frontier and its first instant move.
        compiled: Its statements.
        until: t₁.
        begin: The first instant of the query, if it has not begun.
        form: The form of its statements.
        queued: What is read from queues, by stream.
        workshop: What has been worked out of them.
        tables: What the tick's queries have made before this one.
        fresh: Where elements may stay before they are in the log, if they may.
    """
    first = query.begin_instant is None
    if first:
        query.begin_instant = begin
        before = begin - 1
    else:
        assert query.frontier is not None
        before = query.frontier
    assert query.begin_instant is not None
    values: dict[str, int] = {
        "t0": before,
        "t1": until,
        "low": NEVER if first else before,
        "begin": query.begin_instant,
        "since": NEVER if query.since is None else query.since,
    }
    elements = rows = 0
    stages = 0.0
    steps = compiled.steps.of(form)
    workshop.note(steps)
    known = {select: table for queue in queued.values() for select, table in queue.made.items()}
    sizes: dict[str, int] = {}
    for step in steps:
        if step.shared is not None and tables.has(step.shared, values):
            sizes[step.shared.table] = tables.rows(step.shared)
            continue
        if step.needs and not any(sizes.get(table, 1) for table in step.needs):
            continue
        started = wall.perf_counter()
        with database.part(query.name, step):
            if step.each is not None:
                for at, following in _instants(database, step.each):
                    here = {**values, "at": at, "next": following}
                    written = database.run(step, here)
                    rows += written
                    if step.makes is not None:
                        sizes[step.makes] = sizes.get(step.makes, 0) + written
                continue
            made = None if step.apart is None else workshop.take(known, step.apart)
            if step.answer is not None and fresh is not None:
                made = _taken(database, query, step, values, queued, fresh)
            written = database.run(step, values) if made is None else made
            if step.shared is not None:
                tables.take(step.shared, values, written)
            if step.is_stage and not step.is_sure:
                stages += wall.perf_counter() - started
            if step.makes is not None:
                sizes[step.makes] = sizes.get(step.makes, 0) + written
            rows += written
            if step.answer is not None:
                elements += written
            if database.profile is not None:
                database.profile.wrote(written)
    query.frontier = until
    return Ran(elements, rows, stages)


def _taken(
    database: Database,
    query: Query,
    step: Step,
    values: Mapping[str, int],
    queued: Mapping[str, Queue],
    fresh: Fresh,
) -> int | None:
    """Keep a tick's elements out of the log for now; return how many, or None if that fails."""
    if step.answer is not None and fresh.may_take(query):
        table = _straight(database, query, step, queued)
        if table is None:
            given = {name: values[name] for name in step.parameters}
            table = database.arrow(step.answer, given)
        if fresh.take(query, table, values["t0"]):
            return int(table.num_rows)
    fresh.store(query)
    return None


def _straight(
    database: Database,
    query: Query,
    step: Step,
    queued: Mapping[str, Queue],
) -> pa.Table | None:
    """Return the elements of a tick that come straight from a queue, or None."""
    way = step.straight
    if way is None or len(queued) != 1:
        return None
    (queue,) = queued.values()
    if not queue.is_whole:
        return None
    rest = None if way.rest is None else database.arrow(way.rest)
    if way.columns is None:
        return rest
    others = iter(() if rest is None else rest.columns)
    columns = [next(others) if name is None else queue.table.column(name) for name in way.columns]
    names = [*(c.name for c in query.columns), TS, WEIGHT]
    return pa.table([*columns, ones(queue.table.num_rows)], names=names)


def _instants(database: Database, table: str) -> list[tuple[int, int | None]]:
    """Return the instants of a temporary table in order, each with the next one or None."""
    rows = database.rows(f"SELECT * FROM temp.{quoted(table)} ORDER BY ALL")
    return [(at, following) for at, following in rows]
