"""Profiles the filters of a selection on a sample of what comes to it, inside a tick."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from cqlduck.errors import DatabaseError, first_line
from cqlduck.rewrite.physical.statement import CACHE
from cqlduck.rewrite.plan.orders import Site
from cqlduck.rewrite.statements.ordered import JoinCaches, Ordered, TableSearch
from cqlduck.rewrite.statements.probes import FilterProbe, PipelineProbe, Query, SizeProbe
from cqlduck.rewrite.statements.steps import Steps
from cqlduck.state import listing
from cqlduck.state.connection import Database, quoted

log = logging.getLogger("cqlduck")

TIMED_RUNS = 2
"""How often each filter is timed; the least counts, because whatever disturbs only adds."""

LEAST_SECONDS = 1e-9
"""What a filter takes at least for a tuple: what it takes is divided by."""

MEETING_SECONDS = 2e-7
"""What it takes to carry a tuple to an input of a join and to look for its match.

To read the input takes as long in any order, so that is not in it.
"""

LEAST_TUPLES = 64
"""Of fewer tuples a filter takes too little to be timed."""


@dataclass(frozen=True)
class Wanted:
    """What a tick is to profile.

    Attributes:
        about: What is ordered, or may have caches or an index.
        is_timed: Whether to measure what each filter takes.
        turn: Of a join that may have caches, which of the pipelines is profiled that are not
            profiled elsewhere.
    """

    about: Ordered
    is_timed: bool = False
    turn: int = 0


@dataclass(frozen=True)
class Profiled:
    """What a probe has found.

    Attributes:
        site: Where the filters are.
        masks: How many tuples have each mask, in which bit i is 1 where filter i drops the tuple.
        times: The seconds that each filter takes for a tuple; None if they were not measured.
        seconds: How long the probe took.
    """

    site: Site
    masks: Mapping[int, int]
    times: tuple[float, ...] | None
    seconds: float

    @property
    def has_found(self) -> bool:
        """Whether there was a tuple to be profiled."""
        return any(self.masks.values())


@dataclass(frozen=True)
class JoinProfiled:
    """What a probe of a pipeline has found.

    Attributes:
        site: Where the pipeline is.
        counts: How many tuples have so many combinations, of the path to each other input.
        fixed: The seconds that meeting the inputs took.
        seconds: How long the probe took.
    """

    site: Site
    counts: Mapping[tuple[int, ...], int]
    fixed: float
    seconds: float

    @property
    def has_found(self) -> bool:
        """Whether there was a tuple to be profiled."""
        return any(self.counts.values())


@dataclass(frozen=True)
class CachesProfiled:
    """What a probe of a join that may have caches has found.

    Attributes:
        site: Where the join is.
        input: The input in whose pipeline tuples were sampled, or None.
        counts: How many of them have so many combinations, of the path to each other input.
        alive: How many rows each input has.
        delta: How many rows of each input begin or end in the tick.
        seconds: How long the probe took.
        rows: About how many rows its caches have together.
        asking: Of a sample of the tuples of an input, by it and those of its columns that are keys,
            by hash how many have each.
    """

    site: Site
    input: int | None
    counts: Mapping[tuple[int, ...], int]
    alive: tuple[int, ...]
    delta: tuple[int, ...]
    seconds: float
    rows: int = 0
    asking: tuple[int, tuple[str, ...], Mapping[int, int]] | None = None

    @property
    def has_found(self) -> bool:
        """Whether something was profiled: how many rows there are always is."""
        return True


@dataclass(frozen=True)
class RowsCounted:
    """What a probe of a table that is searched has found.

    Attributes:
        site: Where it is.
        rows: How many rows it has.
        values: About how many values each key has.
        seconds: How long the probe took.
    """

    site: Site
    rows: int
    values: tuple[int, ...]
    seconds: float

    @property
    def has_found(self) -> bool:
        """Whether something was profiled: how many rows there are always is."""
        return True


Found = Profiled | JoinProfiled | CachesProfiled | RowsCounted


class ProbeFailed(DatabaseError):
    """DuckDB fails at a probe, which does not run any more; the tick has to be undone."""


def profile(
    database: Database, steps: Steps, wanted: Wanted, instants: Mapping[str, int], *, single: bool
) -> Found | None:
    """Take a sample and profile what is wanted on it.

    Deltas have been written, and synopses are not up to date yet, as a delta meets them.

    Args:
        database: The database.
        steps: The statements of the query.
        wanted: What is profiled.
        instants: The parameters of the tick.
        single: Whether it has one instant.

    Returns:
        What was found; None if there is nothing that could profile it.

    Raises:
        ProbeFailed: DuckDB fails.
    """
    if wanted.about.site in steps.unprofiled:
        return None
    try:
        return _found(database, steps, wanted, instants, single=single)
    except (duckdb.Error, DatabaseError) as error:
        cause = error if isinstance(error, duckdb.Error) else error.__cause__
        if not isinstance(cause, duckdb.Error) or isinstance(cause, duckdb.InterruptException):
            raise
        steps.unprofiled.add(wanted.about.site)
        message = f"a probe of {steps.name} has failed: {first_line(cause)}"
        log.warning("%s; nothing is profiled there any more", message)
        raise ProbeFailed(message) from error


def _found(
    database: Database, steps: Steps, wanted: Wanted, instants: Mapping[str, int], *, single: bool
) -> Found | None:
    about = wanted.about
    if isinstance(about, JoinCaches):
        return _sizes(database, steps, about, wanted.turn, instants, single=single)
    if isinstance(about, TableSearch):
        return count_rows(database, about)
    probe = steps.probe(about, single=single)
    if probe is None:
        return None
    if isinstance(probe, PipelineProbe):
        return _matches(database, about.site, probe, instants)
    assert isinstance(probe, FilterProbe)
    started = time.perf_counter()
    masks = {int(mask): int(tuples) for mask, tuples in _run(database, probe.masks, instants)}
    times = _times(database, probe, instants) if wanted.is_timed else None
    return Profiled(about.site, masks, times, time.perf_counter() - started)


def _run(database: Database, query: Query, instants: Mapping[str, int]) -> list[tuple[Any, ...]]:
    return database.rows(query.sql, {name: instants[name] for name in query.parameters})


def _matches(
    database: Database, site: Site, probe: PipelineProbe, instants: Mapping[str, int]
) -> JoinProfiled:
    """Take a sample of a delta, and count what each tuple matches on the path to each input."""
    started = time.perf_counter()
    _run(database, probe.sample, instants)
    begun = time.perf_counter()
    rows = _run(database, probe.matches, instants)
    counts = {tuple(map(int, row[:-1])): int(row[-1]) for row in rows}
    ended = time.perf_counter()
    return JoinProfiled(site, counts, ended - begun, ended - started)


def count_rows(database: Database, about: TableSearch) -> RowsCounted:
    """Count the rows of a table, and take DuckDB's estimate of how many values each key has."""
    started = time.perf_counter()
    table = f"cql_state.{quoted(about.table)}"
    values = ", ".join(f"stats({quoted(key)})" for key in about.names)
    rows = int(database.value(f"SELECT count(*) FROM {table}"))
    found = database.rows(f"SELECT {values} FROM {table} LIMIT 1") if rows else []
    counts = tuple(map(listing.distinct, found[0])) if found else (0,) * len(about.names)
    return RowsCounted(about.site, rows, counts, time.perf_counter() - started)


def _sizes(
    database: Database,
    steps: Steps,
    join: JoinCaches,
    turn: int,
    instants: Mapping[str, int],
    *,
    single: bool,
) -> CachesProfiled | None:
    """Count the rows of inputs and deltas, and what a sample of one delta matches."""
    place, counts, seconds = None, {}, 0.0
    probe = steps.probe(join, single=single)
    if probe is None:
        return None
    if join.unordered:
        place = join.unordered[turn % len(join.unordered)]
        pipeline = steps.probe(join.pipelines[place], single=single)
        assert isinstance(pipeline, PipelineProbe)
        found = _matches(database, join.pipelines[place].site, pipeline, instants)
        counts, seconds = dict(found.counts), found.seconds
    assert isinstance(probe, SizeProbe)
    started = time.perf_counter()
    (sizes,) = _run(database, probe.sizes, instants)
    alive, delta = sizes[: len(join.names)], sizes[len(join.names) :]
    caches = database.rows(
        "SELECT table_name FROM cql_state.synopses WHERE query = ? AND operator = ? AND kind = ?",
        [steps.name, join.site.operator, CACHE],
    )
    rows = listing.row_count(database, [name for (name,) in caches]) if caches else 0
    asking = None
    if probe.keys:
        one = probe.keys[turn % len(probe.keys)]
        asking = one.place, one.columns, dict(_run(database, one.keys, instants))
    seconds += time.perf_counter() - started
    return CachesProfiled(join.site, place, counts, alive, delta, seconds, rows, asking)


def _times(
    database: Database, probe: FilterProbe, instants: Mapping[str, int]
) -> tuple[float, ...] | None:
    """Return the seconds that each filter takes for a tuple, or None if there are too few."""
    ((sampled,),) = _run(database, probe.sample, instants)
    if sampled < LEAST_TUPLES:
        return None
    nothing, *alone = (_seconds(database, query) for query in probe.alone)
    tested = (max((one - nothing) / sampled, LEAST_SECONDS) for one in alone)
    return *tested, *[MEETING_SECONDS] * probe.met


def _seconds(database: Database, query: str) -> float:
    """Return what a query takes."""
    found = []
    for _ in range(TIMED_RUNS):
        started = time.perf_counter()
        database.rows(query)
        found.append(time.perf_counter() - started)
    return min(found)
