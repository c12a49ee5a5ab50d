"""Families: queries that differ in constants alone are computed by one plan.

    SELECT k, count(*) AS n FROM s [RANGE 60] WHERE v > 5 GROUP BY k        -- and > 6, > 7, …

become members of one family, whose query is their text with a join in the place of the constants:

    SELECT k, count(*) AS n, c.member FROM s [RANGE 60], constants AS c
    WHERE v > c.c0 AND s._ts > c.since GROUP BY k, c.member

The relation of constants has a row for each member: its number, the instant after which it begins,
its constants. All windows of the query are of what came before the join, so a member has of them
what came after its own beginning. A family is an ordinary query for ticks, recovery and `check`; a
member has no plan and no tables, but two views, of its log and of its answer. To register a member
costs a row in each of two tables.

Queries that say the same, whatever they are, form a family without constants, as long as none of
them has begun: then all begin together. Those that have begun do when they are warm (`merging`).

Members may show different columns of their family (`widening`), and differ in constants besides
(`stems`): then each is a number and a projection, and equal constants have one number.

A member that is deactivated stays in its family, which goes on; its views end at its frontier, and
when it is activated it is where the family is. What the plan of a family raises, all of its members
fail with; therefore nothing is generalized that can raise.

Every operator of the plan of a family has the member as one more key, so that no tuple of one meets
one of another: what makes that wrong is refused by `Shape` (subqueries, LIMIT, OVER, …) and here
(aggregates without GROUP BY, parts that are recomputed, windows without bound).
"""

from __future__ import annotations

from cqlduck.engine import Engine
from cqlduck.engine.completeness import complete_from
from cqlduck.registration.candidates import Candidate, candidates, since_of
from cqlduck.registration.founding import Founding, founding
from cqlduck.registration.generalizing import value
from cqlduck.registration.options import assign, longest, options_of
from cqlduck.registration.pins import Pins
from cqlduck.registration.stems import shown_of_stem
from cqlduck.registration.widening import Shown, Widening, widening
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.text.shapes import SINCE, Shape, shape_of
from cqlduck.rewrite.text.statements import CreateQuery
from cqlduck.rewrite.text.time import BEGINNING, Instant, RawTime
from cqlduck.state import answers, arrivals, catalog_rows, families, inspection, stores
from cqlduck.state.registered import EXPIRED, FAILED, Input, Query


def join(engine: Engine, statement: CreateQuery, pins: Pins) -> bool:
    """Register a query as a member of a family, inside a change, if there is or can be one.

    Args:
        engine: The engine.
        statement: CREATE CONTINUOUS QUERY; its name is unused.
        pins: What was pinned for the query in whose place it comes.

    Returns:
        Whether it is one; if not, nothing has changed.
    """
    for one in candidates(engine, statement, pins=pins):
        family: Query | None = one.query
        if not one.is_open:
            family = _found(engine, one)
        if family is not None:
            is_member = one.like.family == family.name
            shown = Shown(one.like.projection, one.like.selection) if is_member else Shown()
            _add(engine, family, statement, one.like, shown, one.shape)
            return True
    return False


def _found(engine: Engine, one: Candidate) -> Query | None:
    """Make a family of a candidate and those that are like it, if that can be; else return None.

    One that has not moved yet becomes its first member; one that has keeps its own plan.
    """
    made = founding(engine, one)
    if isinstance(made, str):
        return None
    query, family = one.query, make(engine, made, one.shape.key)
    if one.is_first:
        _move_into(engine, family, query, Shown())
    return family


def _separate(engine: Engine, query: Query) -> CreateQuery:
    """Remove a query that has not moved yet; return the statement that would register it."""
    engine.erase(query)
    engine.catalogue.remove(query)
    engine.compiled.pop(query.name.lower())
    inspection.refresh(engine.database, engine.catalogue, query)
    return CreateQuery(query.name, query.body, options_of(query))


def _move(engine: Engine, member: Query, position: int) -> None:
    """Give a member the place of the query that it was."""
    member.position = position
    engine.catalogue.reorder()
    catalog_rows.move(engine.database, member)


def widen(engine: Engine, statement: CreateQuery, compiled: Compiled) -> bool:
    """Register a query as a member of a family that shows more, inside a change, if it can be.

    Args:
        engine: The engine.
        statement: CREATE CONTINUOUS QUERY; its name is unused.
        compiled: The plan that it would have alone.

    Returns:
        Whether it is one; if not, nothing has changed.
    """
    found = widening(engine, statement, compiled)
    if isinstance(found, str):
        found = shown_of_stem(engine, statement, compiled)
    if isinstance(found, str):
        return False
    key = WIDENED if found.stem is None else found.stem.key
    family = found.host
    if found.moved:
        assert found.made is not None
        family = make(engine, found.made, key)
        for query, shown in found.moved:
            _move_into(engine, family, query, shown)
    elif found.made is not None:
        _rewrite(engine, family, found, key)
    else:
        family.shape = key
        catalog_rows.move(engine.database, family)
    like = Query(
        0,
        statement.name,
        statement.body,
        compiled.kind,
        compiled.columns,
        tuple(source.name for source in compiled.sources.values()),
        compiled.order,
        taken=compiled.taken,
    )
    _add(engine, family, statement, like, Shown(found.projection, found.selection))
    return True


def _move_into(engine: Engine, family: Query, query: Query, shown: Shown) -> None:
    """Make a query, or a member of another family, a member of one, before it has moved."""
    if query.family is None:
        statement = _separate(engine, query)
    else:
        statement = CreateQuery(query.name, query.body, options_of(query))
        leave(engine, query)
    _move(engine, _add(engine, family, statement, query, shown), query.position)


WIDENED = "widened"
"""The shape of families whose members show different columns: no text has it."""


def _rewrite(engine: Engine, family: Query, found: Widening, key: str) -> None:
    """Give a family that has not moved yet another plan, which has more columns."""
    assert found.made is not None
    compiled = found.made.compiled
    engine.erase(family)
    family.body, family.columns, family.taken = found.made.body, compiled.columns, compiled.taken
    family.shape = key
    engine.write(family, compiled)
    engine.expect(family)
    for member in engine.catalogue.members_of(family):
        if member.projection and not found.host_selection:
            continue
        member.projection = member.projected
        member.selection = (*member.selection, *found.host_selection)
        catalog_rows.move(engine.database, member)
        answers.create_member(engine.database, engine.clock, member)


def make(engine: Engine, made: Founding, key: str) -> Query:
    """Register a family without members.

    Args:
        engine: The engine.
        made: What it is.
        key: What its members have in common: the key of their shape, or that they show different
            columns.
    """
    known, compiled, found = engine.catalogue, made.compiled, made.generalized
    if made.constants is not None:
        stores.create(engine.database, made.constants)
        known.add(made.constants)
    family = Query(
        known.next_position,
        made.name,
        made.body,
        compiled.kind,
        compiled.columns,
        tuple(source.name for source in compiled.sources.values()),
        compiled.order,
        since=made.since,
        frontier=made.since,
        taken=compiled.taken,
        number=known.next_number,
        shape=key,
        is_open=found is not None and found.is_open,
    )
    known.add(family)
    engine.write(family, compiled)
    engine.recount()
    engine.expect(family)
    return family


def _add(
    engine: Engine,
    family: Query,
    statement: CreateQuery,
    like: Query,
    shown: Shown,
    shape: Shape | None = None,
) -> Query:
    """Register a member of a family.

    Args:
        engine: The engine.
        family: The family.
        statement: CREATE CONTINUOUS QUERY.
        like: A query with its columns, inputs and order.
        shown: What it shows.
        shape: Its shape or stem that the family has; without, that is looked for.
    """
    known, key = engine.catalogue, family.shape
    assert key is not None
    member = Query(
        known.next_position,
        statement.name,
        statement.body,
        like.kind,
        like.columns,
        like.inputs,
        like.order_by,
        since=since_of(engine, family),
        taken=like.taken,
        number=known.next_number,
        family=family.name,
        projection=shown.columns,
        selection=shown.selection,
    )
    assign(engine, member, dict(statement.options))
    compiled = engine.compiled[family.name.lower()]
    member.complete_from = complete_from(engine.catalogue, member, compiled)
    constants = known.constants_of(family)
    if constants is not None:
        shape = shape or shape_of(statement.body, key)
        since = member.since
        numbers = numbers_of(engine, family)
        values = tuple(constant.sql for constant in shape.constants), since
        number = numbers.get(values)
        if number is None or all(m.member != number for m in known.members_of(family)):
            # never one that another had: its elements may be in the log still
            number = numbers[values] = constants.next_seq + 1
            _enter(engine, family, constants, number, since, shape, "+")
        member.member = number
        if family.name in engine.shareable.lists:
            engine.shareable.lists[family.name].setdefault(shape.listed, member)
    register(engine, family, member)
    return member


def register(engine: Engine, family: Query, member: Query) -> None:
    """Register a member of a family."""
    engine.catalogue.add(member)
    families.follow(family, member)
    catalog_rows.insert(engine.database, member)
    answers.create_member(engine.database, engine.clock, member)
    if len(engine.catalogue.members_of(family)) == 1:
        bound_history(engine, family)
    else:
        # without a look at the others, of which there may be thousands
        family.weight += member.weight
        family.keep = longest(engine, [family.keep, member.keep])
    engine.recount()


def numbers_of(engine: Engine, family: Query) -> dict[tuple[tuple[str, ...], Instant | None], int]:
    """Return the numbers of the members of a family by constants and beginning."""
    found = engine.shareable.numbers.get(family.name)
    if found is None:
        found = engine.shareable.numbers[family.name] = {}
        for member in engine.catalogue.members_of(family):
            assert member.member is not None
            assert family.shape is not None
            shape = shape_of(member.body, family.shape)
            values = tuple(constant.sql for constant in shape.constants)
            found[values, member.since] = member.member
    return found


def _enter(
    engine: Engine,
    family: Query,
    constants: Input,
    number: int,
    since: Instant | None,
    shape: Shape,
    operation: str,
) -> None:
    """Insert the row of a member into the relation of constants, or delete it again."""
    clock = engine.clock
    first = BEGINNING if since is None else Instant(since + 1)
    if constants.heartbeat is not None:
        first = max(first, Instant(constants.heartbeat + 1))
    raw = RawTime(BEGINNING if first == BEGINNING else first * clock.granularity)
    shown = "NULL"
    if f".{SINCE}" in family.body:
        shown = (
            answers.before_all(clock) if since is None else answers.shown(clock, f"{since}::BIGINT")
        )
    values = [f"{number}", shown, *(value(engine, constant) for constant in shape.constants)]
    rows = arrivals.Arrivals(
        "(SELECT 1) AS one",
        tuple(
            f"CAST({value} AS {column.type})"
            for value, column in zip(values, constants.columns, strict=True)
        ),
        "",
        f"'{operation}'",
        arrivals.Survey(1, 1, raw, raw, in_order=True, legal=True),
        place="0",
    )
    engine.accept(constants, arrivals.at_once(rows, clock, raw))


def leave(engine: Engine, member: Query, *, keep_log: bool = False) -> None:
    """Remove a member from its family, inside a change; the last one takes the family with it.

    Args:
        engine: The engine.
        member: The member.
        keep_log: Whether its log stays, as a table of its own.
    """
    base, known = engine.database, engine.catalogue
    family = known.family_of(member)
    assert family is not None
    engine.output_buffer.store(family)
    if keep_log:
        # two tuples of a family may be the same of a member
        is_net = member.kind == "relation" or engine.recompile(member).is_net
        answers.separate(base, member, is_net=is_net)
    answers.drop_member(base, member, keep_log=keep_log)
    catalog_rows.delete(base, member)
    known.remove(member)
    lists = engine.shareable.lists.get(family.name, {})
    if any(one is member for one in lists.values()):
        # what it has shown is not what a family shows from now on
        del engine.shareable.lists[family.name]
    engine.housekeeping.lost.pop(member.name, None)
    engine.shareable.meetings = None
    rest = known.members_of(family)
    constants = known.constants_of(family)
    if not rest:
        end(engine, family)
        return
    bound_history(engine, family)
    if constants is not None and all(one.member != member.member for one in rest):
        assert member.member is not None
        engine.shareable.regrouped(family.name)
        assert family.shape is not None
        shape = shape_of(member.body, family.shape)
        _enter(engine, family, constants, member.member, member.since, shape, "-")
        engine.housekeeping.left[family.name] = constants.last_instant
    rest_or_pause(engine, family)


def end(engine: Engine, family: Query) -> None:
    """Remove a family that has no members any more, inside a change."""
    base, known = engine.database, engine.catalogue
    constants = known.constants_of(family)
    engine.results.keep(family.changes)
    engine.erase(family)
    known.remove(family)
    inspection.refresh(base, known, family)
    engine.compiled.pop(family.name.lower())
    engine.housekeeping.dropped(family)
    engine.housekeeping.lost.pop(family.name, None)
    engine.output_buffer.drop(family)
    engine.shareable.regrouped(family.name)
    if constants is not None:
        known.remove(constants)
        stores.drop(base, constants)


def rest_or_pause(engine: Engine, family: Query) -> None:
    """Let a family stand still where all of its members do, and go on where one does.

    One that has expired stays so: what its inputs had since is not kept.
    """
    if family.state == EXPIRED:
        return
    goes_on = any(m.state == "active" for m in engine.catalogue.members_of(family))
    state = "active" if goes_on else "inactive"
    if family.state != state and not (state == "inactive" and family.state == FAILED):
        engine.catalogue.turn(family, state)
        family.error = family.error_reason = family.error_row = None
        if goes_on:
            engine.backfill.begin(family)


def turn(engine: Engine, member: Query, *, active: bool) -> None:
    """Activate or deactivate a member, inside a change; the family goes on for the others."""
    family = engine.catalogue.family_of(member)
    assert family is not None
    engine.output_buffer.store(family)
    engine.catalogue.turn(member, "active" if active else "inactive")
    if active:
        member.error = member.error_reason = member.error_row = None
    rest_or_pause(engine, family)
    if active:
        families.follow(family, member)
    catalog_rows.move(engine.database, member)
    answers.create_member(engine.database, engine.clock, member)


def bound_history(engine: Engine, family: Query) -> None:
    """Let a family keep its changes as long as any member does, and count as all of them."""
    family.weight = sum(one.weight for one in engine.catalogue.members_of(family))
    family.keep = longest(engine, [one.keep for one in engine.catalogue.members_of(family)])
