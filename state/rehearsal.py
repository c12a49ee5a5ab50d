"""Rehearses a tick of a query by its other plan: what it would take, with nothing of it kept.

It comes behind the tick, in its transaction, when all names stand for what the tick has read. The
synopses of the other plan are made and filled, the statements that make temporary tables run as
they would, those that write the log or a synopsis do not, and the synopses are dropped. So no model
of DuckDB's plans is needed, and no plan has to be put into force to be known.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from cqlduck.errors import DatabaseError, first_line
from cqlduck.rewrite.statements.content import Content
from cqlduck.rewrite.statements.steps import Step
from cqlduck.state import synopses
from cqlduck.state.connection import Database
from cqlduck.state.contents import Frontier
from cqlduck.state.interrupts import interrupted_after
from cqlduck.state.profile import PROBES
from cqlduck.state.reusable import Tables
from cqlduck.state.tick import instants_in

MAX_INSTANTS = 2
"""At how many instants of change the answer is asked for at most: what one takes is what counts."""

SHORT_SECONDS = 0.02
"""What takes less is rehearsed twice, and the lesser counts: a plan is made at first."""


@dataclass(frozen=True)
class Rehearsed:
    """What a tick by the other plan would take.

    Attributes:
        fixed: The seconds of the statements that run once.
        each: The seconds for an instant of those that run at each instant of change.
        instants: How many instants of change there are; in a tick of one instant 1 at most.
        filling: The seconds that it took to fill the synopses.
        seconds: How long the rehearsal took.
    """

    fixed: float
    each: float
    instants: int
    filling: float
    seconds: float

    @property
    def tick(self) -> float:
        """What the tick would take."""
        return self.fixed + self.instants * self.each


class RehearsalFailed(DatabaseError):
    """DuckDB fails at a rehearsal. The transaction has to be undone."""


class RehearsalExceeded(RehearsalFailed):
    """A rehearsal took longer than it may."""


def rehearse(
    database: Database,
    frontier: Frontier,
    contents: Sequence[Content],
    tables: Tables,
    steps: tuple[Step, ...],
    values: Mapping[str, int],
    seconds: float,
) -> Rehearsed:
    """Rehearse a tick, inside its transaction, behind its statements.

    Args:
        database: The database.
        frontier: The query, and what is kept of its inputs.
        contents: What the synopses of the other plan hold.
        tables: Takes note of the temporary tables that it makes.
        steps: The statements of the other plan, in the form for the tick.
        values: The parameters of the tick.
        seconds: How long it may take.

    Raises:
        RehearsalExceeded: It took longer, and was interrupted.
        RehearsalFailed: DuckDB fails.
    """
    made = _made(steps)
    started = time.perf_counter()
    try:
        with (
            database.part(PROBES),
            interrupted_after(database.connection, seconds),
        ):
            began = time.perf_counter()
            synopses.stand_in(database, frontier, contents)
            filling = time.perf_counter() - began
            found = _run(database, tables, steps, values)
            if found.tick < min(SHORT_SECONDS, seconds / 4):
                found = min(found, _run(database, tables, steps, values), key=lambda r: r.tick)
            tables.discard(made)
            synopses.stand_out(database, contents)
    except (duckdb.Error, DatabaseError) as error:
        cause = error if isinstance(error, duckdb.Error) else error.__cause__
        if not isinstance(cause, duckdb.Error):
            raise
        if not isinstance(cause, duckdb.InterruptException):
            raise RehearsalFailed(f"DuckDB fails: {first_line(cause)}") from error
        if time.perf_counter() - started < seconds:
            raise
        raise RehearsalExceeded(f"it took longer than {seconds:.2f} s") from error
    seconds = time.perf_counter() - started
    return Rehearsed(found.fixed, found.each, found.instants, filling, seconds)


def _made(steps: tuple[Step, ...]) -> set[str]:
    """Return the temporary tables of a plan."""
    return {step.makes for step in steps if step.makes is not None}


def _run(
    database: Database, tables: Tables, steps: tuple[Step, ...], values: Mapping[str, int]
) -> Rehearsed:
    """Run the statements that make temporary tables once."""
    fixed, each, instants, started = 0.0, 0.0, 1, time.perf_counter()
    for step in steps:
        if step.makes is None:
            continue
        began = time.perf_counter()
        if step.each is None:
            _execute(database, tables, step, values)
            fixed += time.perf_counter() - began
            continue
        found = instants_in(database, step.each)
        instants = len(found)
        for at, following in found[:MAX_INSTANTS]:
            _execute(database, tables, step, {**values, "at": at, "next": following})
        each += (time.perf_counter() - began) / max(min(instants, MAX_INSTANTS), 1)
    return Rehearsed(fixed, each, instants, 0.0, time.perf_counter() - started)


def _execute(
    database: Database, tables: Tables, step: Step, values: Mapping[str, int | None]
) -> None:
    # other queries of the tick would read what is made here
    assert step.shared is None
    assert step.makes is not None
    given = {name: values[name] for name in step.parameters}
    written = sum(int(row[0]) for row in database.execute(step.sql, given))
    tables.wrote(step.makes, written, step.sql if step.is_new else None, None)
