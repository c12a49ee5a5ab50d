"""EXPLAIN CREATE CONTINUOUS QUERY: what the statement would do, and what a tick would take.

It refuses what the statement refuses, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cqlduck import selects
from cqlduck.engine import Engine
from cqlduck.registration import system
from cqlduck.registration.names import is_registered
from cqlduck.registration.pins import pins_of
from cqlduck.registration.prospects import Prospect, prospect, said
from cqlduck.registration.queries import (
    compile_anew,
    refuse_other,
    refuse_unbounded,
    refuse_unfit,
    stays,
    would_begin_after,
)
from cqlduck.registration.removal import drop_unread
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.statement import Synopsis
from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.statements.refreshing import RECOMPUTED
from cqlduck.rewrite.statements.steps import OperatorRow
from cqlduck.rewrite.text.names import refuse_name
from cqlduck.rewrite.text.queries import refuse_ours
from cqlduck.rewrite.text.statements import CreateQuery
from cqlduck.state import ticks
from cqlduck.state.connection import quoted
from cqlduck.state.registered import Query
from cqlduck.streamon import estimates
from cqlduck.streamon.estimates import Estimate, Measured
from cqlduck.streamon.points import ANSWER


@dataclass(frozen=True)
class Proposal:
    """What a CREATE CONTINUOUS QUERY would come to.

    Attributes:
        statement: The statement.
        compiled: The plan that the query has, or would have.
        old: The query of that name that is there.
        stays: Why nothing would change, or nothing.
        prospect: What the query would be computed with, unless nothing would change.
    """

    statement: CreateQuery
    compiled: Compiled
    old: Query | None = None
    stays: str = ""
    prospect: Prospect | None = None

    @property
    def replaced(self) -> Query | None:
        """The query that would go, or None."""
        return None if self.stays else self.old


def explain_create(engine: Engine, statement: CreateQuery) -> str:
    """Return what CREATE CONTINUOUS QUERY would do, and do nothing.

    It says which operators and tables would be made and dropped, what a tick is estimated to take,
    and what bounds the memory of the query.

    Raises:
        Error: As `queries.create` would.
    """
    refuse_name(statement.name)
    if not engine.has_text(statement.name, statement.body):
        refuse_ours(statement.body)
    system.prepare(engine, statement.body)
    proposal = _proposed(engine, statement)
    known = list(estimates.measured(engine.compiled, engine.streamon.profiler))
    kept = dict(statement.options).get("keep", engine.history)
    planned, found = proposal.compiled, proposal.prospect
    if found is not None:
        planned = found.compiled(engine, planned)
    parts = [
        proposal.compiled.explain(),
        "\n".join(["-- operators kept, made and dropped", *_operators(engine, proposal)]),
        "\n".join(["-- synopses made and dropped", *_tables(engine, proposal)]),
        "\n".join(_estimated(engine, planned, known, _history(engine, proposal))),
        selects.memory(selects.stored(engine, statement.name, proposal.compiled), kept),
    ]
    if (old := proposal.replaced) is not None:
        about = (_leaving(engine, old), _pinned(engine, proposal, old))
        parts[3:3] = filter(None, map("\n".join, about))
    if found is not None:
        parts.insert(1, f"-- with what it is computed\n--   {said(engine, found)}")
    drop_unread(engine)
    return "\n\n".join(parts)


def _proposed(engine: Engine, statement: CreateQuery) -> Proposal:
    """Return what a statement would come to.

    Raises:
        Error: It would be refused.
    """
    refuse_other(engine, statement)
    old = engine.catalogue.queries.get(statement.name.lower())
    if old is None or not statement.or_replace:
        is_registered(engine, statement.name, statement.if_not_exists, "continuous query")
    if old is not None and not statement.or_replace:
        why = f"{old.name} is there already, and stays as it is"
        return Proposal(statement, engine.compiled[old.planned_by], old, why)
    if old is not None and stays(engine, old, statement):
        why = f"{old.name} says the same, and goes on"
        return Proposal(statement, engine.compiled[old.planned_by], old, why)
    compiled = compile_anew(engine, statement, old)
    refuse_unbounded(engine, statement, compiled)
    if old is not None and (readers := engine.catalogue.readers_of(old)):
        refuse_unfit(engine, statement, compiled, old, readers)
    return Proposal(statement, compiled, old, "", prospect(engine, statement, compiled, old))


def _operators(engine: Engine, proposal: Proposal) -> Iterator[str]:
    """Yield a line for each operator that would be kept, made or dropped."""
    if proposal.stays:
        for row in proposal.compiled.operators:
            yield f"--   kept: {_named(row)}"
        return
    if proposal.replaced is not None:
        planned = engine.planned(proposal.replaced)
        if planned is proposal.replaced or len(engine.catalogue.members_of(planned)) == 1:
            for row in engine.compiled[proposal.replaced.planned_by].operators:
                yield f"--   dropped: {_named(row)}"
    made = proposal.compiled
    if proposal.prospect is not None:
        made, found = proposal.prospect.compiled(engine, made), proposal.prospect
        if found.family is not None:
            for row in made.operators:
                yield f"--   kept: {_named(row)}"
            return
        if found.replaced is not None:
            for row in engine.compiled[found.replaced.planned_by].operators:
                yield f"--   dropped, of {found.replaced.name}: {_named(row)}"
    elsewhere = _elsewhere(engine, proposal.replaced)
    for row in made.operators:
        there = elsewhere.get(row.id)
        as_well = "" if there is None else f"; {there} has the same, with tables of its own"
        yield f"--   made: {_named(row)}{as_well if row.inputs else ''}"


def _named(row: OperatorRow) -> str:
    return f"operator {row.number}, {row.kind}: {row.description} ({row.id})"


def _elsewhere(engine: Engine, replaced: Query | None) -> dict[str, str]:
    """Return by id which query has an operator, but for one that would go."""
    left = "" if replaced is None else replaced.name
    rows = engine.database.rows(
        "SELECT id, min_by(query, number) FROM cql_state.operators WHERE query <> ? GROUP BY id",
        [left],
    )
    return dict(rows)


def _tables(engine: Engine, proposal: Proposal) -> list[str]:
    """Return a line for each table that would be dropped or made, or what stands for them."""
    if proposal.stays:
        return [f"--   {proposal.stays}"]
    there: tuple[Synopsis, ...] = ()
    if proposal.replaced is not None and proposal.replaced.family is None:
        there = engine.compiled[proposal.replaced.planned_by].synopses
    made, found, others = proposal.compiled, proposal.prospect, there[:0]
    if found is not None:
        made = found.compiled(engine, made)
        if found.replaced is not None:
            others = engine.compiled[found.replaced.planned_by].synopses
    new = () if found is not None and found.family is not None else made.synopses
    lines = [
        f"--   {done}: {synopsis.kind} of operator {synopsis.operator}, "
        f"cql_state.{quoted(synopsis.name)}"
        for done, synopses in (("dropped", (*there, *others)), ("made", new))
        for synopsis in synopses
    ]
    return lines or ["--   none"]


def _leaving(engine: Engine, old: Query) -> Iterator[str]:
    """Yield what would go with a query that is replaced."""
    yield f"-- what goes with the old {old.name}"
    readers = engine.catalogue.readers_of(old)
    if readers:
        names = ", ".join(one.name for one in readers if one.shape is None)
        yield (
            f"--   its log and history stay for {names}; at the "
            "first instant of the new one its answer is deleted"
        )
    else:
        yield "--   its answer, its log and its history"
    family = engine.catalogue.family_of(old)
    if family is not None:
        others = len(engine.catalogue.members_of(family)) - 1
        goes = f"which goes on for {others} others" if others else "which goes with it"
        yield f"--   its row among the constants of {family.name}, {goes}"


def _pinned(engine: Engine, proposal: Proposal, old: Query) -> Iterator[str]:
    """Yield what would become of what is pinned for a query (`pins.restore`)."""
    pins, found = pins_of(engine, old), proposal.prospect
    if pins:
        yield f"-- what is pinned for {old.name}"
    candidate = None if found is None else found.candidate
    would_join = candidate is not None and candidate.query.name == pins.family
    for point, option in pins.options.items():
        reason = None
        if (point, option) == (ANSWER, RECOMPUTED) and not would_join:
            statement = proposal.statement
            reason = engine.could_not_be_anew(statement.name, statement.body, proposal.compiled)
        if reason is None:
            yield f"--   {point}: {option} stays pinned"
        else:
            yield f"--   {point}: {option} goes, as it could not be answered anew: {reason}"


def _history(engine: Engine, proposal: Proposal) -> int | None:
    """Return how many elements a query would read that came before; None if it asks for none.

    Raises:
        BindError: Some of them are forgotten.
    """
    wanted = dict(proposal.statement.options).get("history", "false")
    if proposal.stays or wanted.lower() == "false":
        return None
    compiled = proposal.compiled
    since = would_begin_after(engine, proposal.statement, compiled)
    found = (engine.catalogue.inputs.get(name) for name in compiled.sources)
    after = NEVER if since is None else since
    return sum(engine.deferral.after(thing, after) for thing in found if thing is not None)


def _estimated(
    engine: Engine, compiled: Compiled, known: Sequence[Measured], history: int | None
) -> Iterator[str]:
    """Yield what a tick of a query is estimated to take, and what that rests on.

    Args:
        engine: The engine.
        compiled: Its plan.
        known: The operators that were measured.
        history: How many elements it would read that came before; None if it asks for none.
    """
    yield f"-- a tick of it, as an estimate from the last {ticks.RATE_TICKS} ticks"
    rates = _rates(engine, compiled, known)
    for key, source in compiled.sources.items():
        came = rates.get(key)
        said = "unknown how many rows come" if came is None else f"{came:,.4g} rows come"
        yield f"--   {source.name}: {said} in a tick"
    found = [one for one in estimates.estimates(compiled, rates, known) if one.basis]
    for one in found:
        yield f"--   operator {one.number}, {one.kind}: {_shown(one)}"
    rows, seconds = found[0].rows_out, [one.seconds for one in found]
    shown = "unknown how many rows" if rows is None else f"some {rows:,.4g} rows"
    unknown = [str(one.number) for one in found if one.seconds is None]
    total = sum(one for one in seconds if one is not None)
    took = f"some {1e3 * total:.3g} ms"
    if unknown:
        took = f"unknown how long, as that of operators {', '.join(unknown)} is"
    yield f"--   in all: {shown}, {took}"
    if history is not None:
        came, most = sum(rates.values()), "unknown how long"
        if came and not unknown:
            # a large tick takes less a row
            most = f"at most some {total * history / came:.3g} s"
        yield f"--   before, between the ticks of others: {history:,} elements of history, {most}"


def _shown(one: Estimate) -> str:
    if one.rows_out is None or one.seconds is None:
        return one.basis
    came = "" if one.rows_in is None else f"{one.rows_in:,.4g} rows in, "
    return f"{came}{one.rows_out:,.4g} rows out, {1e3 * one.seconds:.3g} ms, {one.basis}"


def _rates(engine: Engine, compiled: Compiled, known: Sequence[Measured]) -> dict[str, float]:
    """Return how many rows come in a tick of the inputs of a query, where that is known."""
    came, catalogue = ticks.rates(engine.database), engine.catalogue
    answers = {one.query.lower(): one.measures.rows_out for one in known if one.number == 0}
    found: dict[str, float] = {}
    for key in compiled.sources:
        thing, query = catalogue.inputs.get(key), catalogue.queries.get(key)
        if thing is not None and thing.position in came:
            found[key] = came[thing.position]
        if thing is None and query is None:
            # the constants of a family: no query is registered in a tick
            found[key] = 0.0
        # of a member it is not known which rows of its family's are its own
        if query is not None and query.family is None and key in answers:
            found[key] = answers[key]
    return found
