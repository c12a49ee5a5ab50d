"""Merging: queries that began at different instants get one plan when it no longer shows.

A query has of its streams what came after its registration. When that has been so for as long as
its windows reach back, it is **warm** (`rewrite.plan.warmth`): it holds what one has that began
earlier. If both say the same, or show something of the same, one plan computes both from then on.
They become members of a family between two ticks, in a transaction of its own:

    before      q₁ ── log of q₁              q₂ ── log of q₂
    after       family ── log of the family, which begins with the content at the frontier
                q₁ = the log it had + π_q₁(σ_q₁(log of the family)) after that instant
                q₂ = the log it had + π_q₂(σ_q₂(log of the family)) after that instant

The synopses of the family are filled with their content (`state.synopses.fill`). Before a query
gives its own up, its answer is compared with what the family says in its place, tuple by tuple; if
they differ, as sums of DOUBLEs may in their last digits, all is undone and both keep their plans.

A family whose members differ in constants takes one that has the constants of a member (`_join`).
Else either may be a family, whose members differ in none. One that has all columns takes
the other in; else both give way to a new one, and its members copy what their logs have shown.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence

import duckdb

from cqlduck.engine import Engine
from cqlduck.errors import DatabaseError, Error, first_line
from cqlduck.registration import families, meetings
from cqlduck.registration.candidates import member_like
from cqlduck.registration.founding import Founding, family_name
from cqlduck.registration.widening import Host, Shown, Widening, shown_with, written
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.statements.content import answer_at_rest
from cqlduck.rewrite.statements.row_synopses import row_synopses
from cqlduck.rewrite.text.tokens import has_same_words
from cqlduck.state import answers, catalog_rows, inspection, machine, members, synopses
from cqlduck.state.columns import differing
from cqlduck.state.connection import quoted
from cqlduck.state.contents import Frontier
from cqlduck.state.registered import Query

log = logging.getLogger("cqlduck")


class _Differs(Error):
    """Two queries cannot be computed by one plan; what has been done to that end is undone."""


def merge_warm(engine: Engine) -> None:
    """Merge two queries that have become warm, between two ticks: no tick waits for many."""
    for meeting in meetings.known(engine):
        query, host = (meetings.running(engine, name) for name in (meeting.query, meeting.host))
        if (
            query is not None
            and host is not None
            and meetings.can_meet(engine, query, host, meeting)
        ):
            _try_merge(engine, query, host)
            return


def _try_merge(engine: Engine, query: Query, host: Query) -> None:
    """Merge a query with a host, in a change; if that cannot be, note it."""
    pair, names = (query.number, host.number), (query.name, host.name)
    try:
        with engine.changing():
            engine.flush(everything=True)
            _merge(engine, query, host)
    except _Differs as error:
        engine.shareable.unmerged[pair] = error.message
        log.debug("%s keeps its own plan beside %s: %s", *names, error.message)
    except (duckdb.Error, DatabaseError) as error:
        if isinstance(error, DatabaseError) and not machine.is_told(error):
            raise  # an interruption
        # ticks can do without
        engine.shareable.postpone(pair, first_line(error), engine.ticks)
        log.warning("%s keeps its own plan beside %s: %s", *names, first_line(error))
    else:
        log.info("%s is computed together with %s from now on", *names)
    engine.shareable.meetings = None


def _merge(engine: Engine, query: Query, host: Query) -> None:
    """Have one plan compute a query and a host, inside a change; each may be a family.

    Raises:
        _Differs: It cannot.
    """
    if engine.catalogue.constants_of(host) is not None:
        _join(engine, host, query)
        engine.catalogue.reorder()
        engine.recount()
        return
    found = _found(engine, query, host)
    family = host
    if found.made is not None:
        family = _family(engine, found.made, query, host)
        names = tuple(column.name for column in host.columns)
        _move(engine, family, host, Shown(names, found.host_selection))
    _move(engine, family, query, Shown(found.projection, found.selection))
    engine.catalogue.reorder()
    engine.recount()


def _join(engine: Engine, family: Query, query: Query) -> None:
    """Make a query another member of its constants, of which one is warm.

    Raises:
        _Differs: There is none any more, or the family does not say what the query says.
    """
    found = meetings.of_constants(engine, family, query)
    if found is None:
        raise _Differs(f"no member of {family.name} has its constants")
    number, since = found
    like = member_like(engine, family, query)
    if like is None:
        raise _Differs(f"no member of {family.name} shows what it shows")
    # its row among the constants is that of the other one
    query = dataclasses.replace(query, since=since)
    _enter(engine, family, query, Shown(like.projection, like.selection), number)


def _move(engine: Engine, family: Query, source: Query, shown: Shown) -> None:
    """Make a query, or the members of a family, members of another family.

    Raises:
        _Differs: That does not say what they say.
    """
    if source.shape is None:
        _enter(engine, family, source, shown)
        return
    for member in engine.catalogue.members_of(source):
        _move_over(engine, family, member, shown.of(source, member))
    families.end(engine, source)


def _found(engine: Engine, query: Query, host: Query) -> Widening:
    """Return how one plan computes a query and a host.

    Raises:
        _Differs: None does.
    """
    own, its = engine.incremental(query), engine.incremental(host)
    if own.outline is not None and its.outline is not None:
        found = shown_with(engine, Host(host, host.body, its), written(query.body, own))
        if isinstance(found, str):
            raise _Differs(found)
        if found.made is None or host.shape is None:
            return found
        return dataclasses.replace(found, made=_founding(engine, found.made.body))
    if not has_same_words(query.body, host.body) or query.columns != host.columns:
        raise _Differs(f"{host.name} says the same in other words")
    made = _founding(engine, host.body) if host.shape is None else None
    return Widening(host, made, (), (), ())


def _founding(engine: Engine, body: str) -> Founding:
    """Return a family that computes a query."""
    name = family_name(engine)
    compiled = engine.compiler.compile(engine.catalogue, name, body)
    return Founding(name, body, compiled, None, None, None)


def _family(engine: Engine, made: Founding, query: Query, host: Query) -> Query:
    """Register a family without members that is where two queries are, and holds what they hold.

    Raises:
        _Differs: What it would have to hold is not kept.
    """
    base, compiled = engine.database, made.compiled
    family = families.make(engine, made, families.WIDENED)
    both = query, host
    family.frontier = family.history_from = host.frontier
    family.begin_instant = max(one.begin_instant for one in both if one.begin_instant is not None)
    family.since = max((one.since for one in both if one.since is not None), default=None)
    catalog_rows.move(base, family)
    frontier = Frontier(family, engine.catalogue, base.value, engine.shown)
    try:
        given = _rows_of_both(engine, family.name, compiled, (host, query))
        lacking = synopses.fill(base, frontier, compiled, given)
    except DatabaseError as error:
        if machine.is_told(error) or not isinstance(error.__cause__, duckdb.Error):
            raise
        lacking = first_line(error.__cause__)
    if lacking is None and family.kind == "relation":
        content = answer_at_rest(family.name, compiled.plan, engine.clock, compiled.synopses)
        lacking = frontier.lacks(content)
        if lacking is None:
            sql = content.query.sql("duckdb")
            answers.begin_with(base, family, sql, frontier.given(sql))
    if lacking is not None:
        raise _Differs(lacking)
    engine.housekeeping.dropped(family)
    return family


def _rows_of_both(
    engine: Engine, name: str, compiled: Compiled, both: Sequence[Query]
) -> dict[str, str]:
    """Return SELECTs of what a family is to have in windows in rows alone: what the others have.

    Raises:
        _Differs: They lack a column.
    """
    those = [one for query in both for one in meetings.row_synopses_of(engine, query)]
    given = {}
    for wanted in row_synopses(name, compiled, engine.clock):
        rows = synopses.copied_rows(wanted, those)
        if rows is None:
            raise _Differs(f"{wanted.synopsis.name} has columns that neither of both keeps")
        given[wanted.synopsis.name] = rows
    return given


def _enter(
    engine: Engine, family: Query, query: Query, shown: Shown, number: int | None = None
) -> None:
    """Make a query a member of a family that is where the query is, of a number if it has these.

    Raises:
        _Differs: The family does not say what the query says.
    """
    base, house = engine.database, engine.housekeeping
    member = _member(family, query, shown, number)
    _compare(engine, family, query, member)
    engine.results.keep(query.changes)
    engine.erase(query, keep_log=True)
    answers.set_before(base, query)
    engine.catalogue.remove(query)
    inspection.refresh(base, engine.catalogue, query)
    engine.compiled.pop(query.name.lower())
    house.dropped(query)
    engine.output_buffer.drop(query)
    families.register(engine, family, member)


def _move_over(engine: Engine, family: Query, query: Query, shown: Shown) -> None:
    """Make a member of a family one of another family that is where both are.

    Raises:
        _Differs: That does not say what the member says, or its log is too long to be copied.
    """
    base = engine.database
    count = int(base.value(f"SELECT count(*) FROM cql_state.{quoted(query.changes)}"))
    if count > MAX_COPIED:
        raise _Differs(f"{query.name} has {count:,} elements, which would have to be copied")
    member = _member(family, query, shown)
    _compare(engine, family, query, member)
    engine.results.keep(query.changes)
    lost = engine.housekeeping.lost_of(query)
    if lost is not None:
        engine.housekeeping.lost[query.name] = lost
    answers.copy_before(base, query)
    answers.drop_member(base, query, keep_before=True)
    catalog_rows.delete(base, query)
    engine.catalogue.remove(query)
    families.register(engine, family, member)


MAX_COPIED = 1_000_000
"""How many elements of a member are copied at most when its family is merged into another one."""


def _member(family: Query, query: Query, shown: Shown, number: int | None = None) -> Query:
    """Return what a query is as a member of a family into which it is merged."""
    return dataclasses.replace(
        query,
        family=family.name,
        member=number,
        projection=shown.columns,
        selection=shown.selection,
        merged_at=family.frontier,
        is_anew=False,
        answer_instant=None,
        saved=(),
        written=None,
    )


def _compare(engine: Engine, family: Query, query: Query, member: Query) -> None:
    """Compare the answer of a query with what it would be as a member of a family.

    Raises:
        _Differs: There is a tuple more or less.
    """
    if query.kind == "stream":
        return  # what it has said is no state
    own = f"SELECT *, 1::BIGINT AS _weight FROM ({engine.answer_sql(query)}) AS answer"
    conditions = members.conditions(member)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    standing = (
        f"SELECT {members.columns(member)}, _weight "
        f"FROM cql_state.{quoted(family.standing_answer)}{where}"
    )
    count = engine.database.value(differing(query.columns, standing, own))
    if count:
        raise _Differs(f"{count} tuples of its answer differ in their last digits, or otherwise")
