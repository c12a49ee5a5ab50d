"""Meetings: which queries that began at different instants can be merged, and from when on.

They are looked for once after each change of what is registered. Between two ticks it is only asked
whether one has come (`merging`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cqlduck.engine import Engine
from cqlduck.engine.shareable import Meeting
from cqlduck.registration import candidates, families
from cqlduck.registration.widening import is_plain
from cqlduck.rewrite.plan import NEVER
from cqlduck.rewrite.plan.warmth import warm_after
from cqlduck.rewrite.statements.row_synopses import RowSynopsis, can_be_compared, row_synopses
from cqlduck.rewrite.text.shapes import shape_of
from cqlduck.rewrite.text.time import ZERO, Duration, Instant
from cqlduck.state import synopses
from cqlduck.state.registered import Query


def known(engine: Engine) -> Sequence[Meeting]:
    """Return which queries can be merged, and from when on."""
    if engine.shareable.meetings is None:
        engine.shareable.meetings = (*_by_constants(engine), *_by_meaning(engine))
    return engine.shareable.meetings


def running(engine: Engine, name: str) -> Query | None:
    """Return a family, or a query with a plan of its own; None if there is none of this name."""
    catalogue = engine.catalogue
    found = catalogue.families.get(name.lower()) or catalogue.queries.get(name.lower())
    return None if found is None or found.family is not None else found


def can_meet(engine: Engine, query: Query, host: Query, meeting: Meeting) -> bool:
    """Return whether two queries are warm and at one frontier, and nothing keeps them apart."""
    if query.frontier is None or query.frontier != host.frontier or query.frontier < meeting.at:
        return False
    begun = all(q.begin_instant is not None and q.amend_from is None for q in (query, host))
    if not begun or _apart(engine, query, host):
        return False
    return not meeting.by_rows or _have_same_rows(engine, query, host)


MOST_TICKS = 256
"""For how many ticks it is not asked again at most whether two queries have the same rows."""


def _have_same_rows(engine: Engine, query: Query, host: Query) -> bool:
    """Return whether the windows in rows of two queries have the same rows, as far as is known.

    It is asked in ever longer intervals, so that nobody waits more than twice as long as needed.
    """
    pair = query.number, host.number
    left, since = engine.shareable.asked.get(pair, (0, engine.ticks))
    if engine.ticks - since < left:
        return False
    both = [row_synopses_of(engine, one) for one in (query, host)]
    known = [{one.id: one for one in rows if one.is_alone} for rows in both]
    is_same = known[0].keys() == known[1].keys() and all(
        synopses.have_same_rows(engine.database, one, known[1][key])
        for key, one in known[0].items()
    )
    if known[0] and is_same:
        engine.shareable.asked.pop(pair, None)
        return True
    engine.shareable.asked[pair] = (min(max(2 * left, 1), MOST_TICKS), engine.ticks)
    return False


def row_synopses_of(engine: Engine, query: Query) -> Sequence[RowSynopsis]:
    """Return what a query, or family, keeps for its windows in rows."""
    return row_synopses(query.name, engine.compiled[query.name.lower()], engine.clock)


def said(engine: Engine, query: Query) -> str:
    """Return in words with what a query will be merged, or why it was not; nothing if with nothing.

    Args:
        engine: The engine.
        query: A query that has a plan of its own.
    """
    for (number, its), why in engine.shareable.unmerged.items():
        if query.number == number:
            host = next((one.name for one in engine.catalogue.running if one.number == its), None)
            if host is not None:
                return f"it is not merged with {host}: {why}"
    found = [one for one in known(engine) if query.name in (one.query, one.host)]
    if not found:
        return ""
    one = min(found, key=lambda meeting: meeting.at)
    other = running(engine, one.host if one.query == query.name else one.query)
    assert other is not None
    if query.frontier is None or query.frontier < one.at:
        rows = " or later, once their windows have the same rows" if one.by_rows else ""
        when = f"when it no longer shows when they began, at {engine.shown(one.at)}{rows}"
        return f"it is merged with {other.name} {when}"
    why = _apart(engine, query, other)
    if not why and one.by_rows:
        why = "once their windows in rows have the same rows"
    return f"it is merged with {other.name} {why or 'with one of the next ticks'}"


def of_constants(engine: Engine, family: Query, query: Query) -> tuple[int, Instant | None] | None:
    """Return the number of a family's members that have the constants of a query, if some do.

    Args:
        engine: The engine.
        family: A family whose members differ in constants.
        query: A query of its shape.

    Returns:
        Of those that began first: their number, and the instant after which they began.
    """
    assert family.shape is not None
    shape = shape_of(query.body, family.shape)
    values = tuple(constant.sql for constant in shape.constants)
    numbers = families.numbers_of(engine, family)
    found = [(since, number) for (each, since), number in numbers.items() if each == values]
    there = {member.member for member in engine.catalogue.members_of(family)}
    found = [(since, number) for since, number in found if number in there]
    if not found:
        return None
    since, number = min(found, key=lambda one: NEVER if one[0] is None else one[0])
    return number, since


def _apart(engine: Engine, *both: Query) -> str:
    """Return in words what has to be otherwise before two warm queries are merged, or nothing."""
    catalogue = engine.catalogue
    for one in both:
        members = () if catalogue.constants_of(one) is not None else catalogue.members_of(one)
        if any(each.state != "active" for each in (one, *members)):
            return f"once {one.name} goes on, which stands still"
        if one.backfill_to is not None:
            return f"once {one.name} is level with the others"
        if engine.streamon.executor.pins_of(one.name):
            return f"once nothing of {one.name} is pinned"
    if both[0].frontier != both[1].frontier:
        return "once both have one frontier"
    return ""


def _by_constants(engine: Engine) -> Iterator[Meeting]:
    """Yield which queries can join a family as members of constants that another member has."""
    catalogue = engine.catalogue
    for family in catalogue.families.values():
        if catalogue.constants_of(family) is None:
            continue
        assert family.shape is not None
        for query in candidates.alike(engine, family.shape):
            if query.keep != family.keep or not _may_meet(engine, query):
                continue
            found = of_constants(engine, family, query)
            reach, by_rows = _reach(engine, query)
            is_shown = candidates.member_like(engine, family, query) is not None
            # a family whose members differ in constants has no windows in rows alone
            if found is not None and is_shown and reach is not None and not by_rows:
                sinces = [one for one in (query.since, found[1]) if one is not None]
                at = Instant(max(sinces) + reach) if sinces else NEVER
                yield from _unless_tried(engine, Meeting(query.name, family.name, at))


def _by_meaning(engine: Engine) -> Iterator[Meeting]:
    """Yield which queries and families say the same, or show something of the same.

    Of each kind all meet the first one.
    """
    near: dict[object, list[Query]] = {}
    for query in engine.catalogue.running:
        if engine.catalogue.constants_of(query) is None and _may_meet(engine, query):
            inputs = frozenset(name.lower() for name in query.inputs)
            near.setdefault((inputs, query.keep, query.kind), []).append(query)
    kinds: dict[object, list[Query]] = {}
    for number, queries in enumerate(near.values()):
        # the other plan of a query that is answered anew may have to be compiled
        for query in queries if len(queries) > 1 else ():
            kept = engine.incremental(query)
            what = kept.root if kept.outline is None else kept.outline.base
            kinds.setdefault((number, what), []).append(query)
    for alike in kinds.values():
        # a family before those that may join it
        host, *others = sorted(alike, key=lambda one: (one.shape is None, one.position))
        for query in others:
            reach, by_rows = _reach(engine, query)
            if reach is not None:
                sinces = [one.since for one in (query, host) if one.since is not None]
                at = Instant(max(sinces) + reach) if sinces else NEVER
                yield from _unless_tried(engine, Meeting(query.name, host.name, at, by_rows))


def _unless_tried(engine: Engine, meeting: Meeting) -> Iterator[Meeting]:
    """Yield the meeting of two queries, unless they could not be merged."""
    both = [running(engine, name) for name in (meeting.query, meeting.host)]
    if tuple(one.number for one in both if one is not None) not in engine.shareable.unmerged:
        yield meeting


def _may_meet(engine: Engine, query: Query) -> bool:
    """Return whether a query, or family, may be merged at all, as it is registered."""
    catalogue = engine.catalogue
    if query.is_deferred or not is_plain(query.taken):
        return False
    if query.shape is None and not (engine.sharing if query.sharing is None else query.sharing):
        return False
    inputs = catalogue.inputs_of(query)
    return not any(one.late == "AMEND" or one is catalogue.system for one in inputs)


def _reach(engine: Engine, query: Query) -> tuple[Duration | None, bool]:
    """Return how many instants behind its beginning a query is warm.

    Returns:
        None if it never is; and whether that is so but for windows in rows alone.
    """
    plan = engine.compiled[query.name.lower()].plan
    reach = warm_after(plan)
    if reach is not None or not can_be_compared(plan):
        return reach, False
    return warm_after(plan, ZERO), True
