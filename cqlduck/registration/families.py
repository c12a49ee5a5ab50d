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
them has begun: then all begin together.

A member that is deactivated stays in its family, which goes on; its views end at its frontier, and
when it is activated it is where the family is. What the plan of a family raises, all of its members
fail with; therefore nothing is generalized that can raise.

Every operator of the plan of a family has the member as one more key, so that no tuple of one meets
one of another: what makes that wrong is refused by `Shape` (subqueries, LIMIT, OVER, …) and here
(aggregates without GROUP BY, parts that are recomputed, windows without bound).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from cqlduck.engine import Engine
from cqlduck.errors import Error
from cqlduck.registration.generalizing import Generalized, generalized, is_as, value
from cqlduck.registration.names import is_unused
from cqlduck.registration.options import assign, longest, options_of, retention_of, sharing_of
from cqlduck.rewrite.bind.macros import Captured
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.shapes import MEMBER, SINCE, Shape, column_of, shape_of, shapes_of
from cqlduck.rewrite.text.statements import CreateQuery
from cqlduck.rewrite.text.time import BEGINNING, Instant, RawTime
from cqlduck.state import answers, arrivals, catalog_rows, families, inspection, stores
from cqlduck.state.catalog import EXPIRED, Input, Query
from cqlduck.state.connection import quoted

log = logging.getLogger("cqlduck")

FAMILY, CONSTANTS = "_cql_family_{}", "_cql_constants_{}"
"""How families and their relations of constants are called."""


def join(engine: Engine, statement: CreateQuery) -> bool:
    """Register a query as a member of a family, inside a change, if there is or can be one.

    Args:
        engine: The engine.
        statement: CREATE CONTINUOUS QUERY; its name is unused.

    Returns:
        Whether it is one; if not, nothing has changed.
    """
    if not wants_sharing(engine, statement):
        return False
    if any(key == "history" for key, _ in statement.options):
        return False
    try:
        shapes = shapes_of(statement.body)
    except Error:
        return False  # to compile it says what is wrong, and where
    keep = retention_of(engine, dict(statement.options).get("keep"))
    for shape in shapes:
        known = [one for one in engine.catalogue.families.values() if one.shape == shape.key]
        open_to_it = [one for one in known if one.keep == keep and _may_join(engine, one)]
        open_to_it = [one for one in open_to_it if _fits(engine, shape, _types(engine, one))]
        for query in open_to_it or [*known, *_alike(engine, shape.key)]:
            like = (*engine.catalogue.members_of(query), query)[0]
            if _is_plain(engine, like, shape):
                is_first = query.keep == keep and _is_first(engine, query)
                family: Query | None = query
                if not open_to_it:
                    family = _found(engine, query, like, shape, is_first=is_first)
                if family is not None:
                    _add(engine, family, statement, shape, like)
                    return True
    return False


def wants_sharing(engine: Engine, statement: CreateQuery) -> bool:
    """Return whether a query that is registered may be computed with others."""
    wish = sharing_of(dict(statement.options).get("sharing"))
    return engine.sharing if wish is None else wish


def _types(engine: Engine, family: Query) -> Sequence[str]:
    """Return the types that a family has for its constants."""
    constants = engine.catalogue.constants_of(family)
    return () if constants is None else [column.type for column in constants.columns[2:]]


def _fits(engine: Engine, shape: Shape, types: Sequence[str]) -> bool:
    """Return whether constants have the types of a family: of what is no date DuckDB has the word.

    Args:
        engine: The engine.
        shape: The shape of a query.
        types: The types; none if the queries of the family have no constants of their own.
    """
    try:
        for constant in shape.constants:
            value(engine, constant)
    except Error:
        return False  # to compile it says what is wrong, and where
    pairs = zip(shape.constants, types, strict=False)
    texts = [(c.sql, kind) for c, kind in pairs if c.kind == "text" and kind != "VARCHAR"]
    checks = [f"TRY_CAST({sql} AS {kind}) IS NOT NULL" for sql, kind in texts]
    return not checks or bool(engine.database.value(f"SELECT {' AND '.join(checks)}"))


def note(engine: Engine, query: Query) -> None:
    """Note a query that has a plan of its own, for those that come after it."""
    if engine.shapes is not None:
        for shape in shapes_of(query.body):
            engine.shapes.setdefault(shape.key, []).append(query.name.lower())


def _alike(engine: Engine, key: str) -> list[Query]:
    """Return the queries of a shape that have plans of their own."""
    if engine.shapes is None:
        engine.shapes = {}
        for query in engine.catalogue.queries.values():
            if query.family is None:
                note(engine, query)
    known = map(engine.catalogue.queries.get, engine.shapes.get(key, ()))
    found = {query.name: query for query in known if query is not None and query.family is None}
    # another query may have the name by now
    return [q for q in found.values() if shape_of(q.body, key).key == key]


def _is_plain(engine: Engine, like: Query, shape: Shape) -> bool:
    """Return whether the text of a query means what that of one like it meant.

    That is so if neither names a macro, a type or a function of a user.
    """
    known = Captured() if not like.taken else Captured.of(like.taken)
    if known != Captured():
        return False
    words = {word.partition(":")[2].lower() for word in shape.words.split("\n")}
    return words.isdisjoint(engine.compiler.own_names) and words.isdisjoint(
        engine.catalogue.functions
    )


def _since(engine: Engine, query: Query) -> Instant | None:
    """Return the instant after which a query begins that reads the inputs of another one."""
    reached = engine.progress.target(query)
    lost = (thing.forgotten for thing in engine.catalogue.inputs_of(query))
    return max((at for at in (reached, *lost) if at is not None), default=None)


def _may_join(engine: Engine, family: Query) -> bool:
    """Return whether a family takes a member that is registered now.

    One that stands still does not: its inputs may not be kept for it until it would go on.
    """
    if family.state != "active":
        return False
    since = _since(engine, family)
    if family.is_open and since is not None:
        return True
    return _is_new(family) and family.since == since


def _is_new(query: Query) -> bool:
    """Return whether a query has not moved since it was registered."""
    return query.begin_instant is None and query.frontier == query.since


def _is_first(engine: Engine, query: Query) -> bool:
    """Return whether a query that has a plan of its own can become a member of a family.

    That is so if it has not moved yet, nobody reads it or has pinned something of it, and it goes
    on with the log of no other.
    """
    if query.shape is not None or query.state != "active" or not _is_new(query):
        return False
    if query.sharing is False:
        return False
    if query.since != _since(engine, query) or engine.catalogue.readers(query):
        return False
    if engine.streamon.executor.has_wishes(query.name):
        return False
    log = f"cql_state.{quoted(query.changes)}"
    return not engine.database.value(f"SELECT EXISTS (FROM {log})")


def _found(
    engine: Engine, query: Query, like: Query, shape: Shape, *, is_first: bool
) -> Query | None:
    """Make a family of a query and those that are like it, if that can be; else return None.

    One that has not moved yet becomes its first member; one that has keeps its own plan.

    Args:
        engine: The engine.
        query: A query that has a plan of its own.
        like: That query, or, if it is a family, a member.
        shape: The shape of the query that is registered, which both have.
        is_first: Whether the query becomes its first member.
    """
    since = _since(engine, query)
    amends = any(thing.late == "AMEND" for thing in engine.catalogue.inputs_of(query))
    if amends or not (is_first or since is not None):
        return None
    found = None
    if shape.constants:
        if shape.key not in engine.unfit:
            found = generalized(engine, query, shape, since)
        if found is None:
            engine.unfit.add(shape.key)
            return None
        if not _fits(engine, shape, found.types):
            return None
    elif not is_first:
        return None
    number = 1
    while not all(is_unused(engine, name.format(number)) for name in (FAMILY, CONSTANTS)):
        number += 1
    family = _make(engine, FAMILY.format(number), like, shape, since, found)
    if family is not None and is_first:
        statement = CreateQuery(query.name, query.body, options_of(query))
        position = query.position
        engine.erase(query)
        engine.catalogue.remove(query)
        engine.compiled.pop(query.name.lower())
        inspection.refresh(engine.database, engine.catalogue, query)
        first = _add(engine, family, statement, shape_of(query.body, shape.key), query)
        first.position = position
        engine.catalogue.reorder()
        catalog_rows.move(engine.database, first)
    return family


def _make(
    engine: Engine,
    name: str,
    like: Query,
    shape: Shape,
    since: Instant | None,
    generalized: Generalized | None,
) -> Query | None:
    """Register a family without members; None if its text does not mean what it should."""
    known = engine.catalogue
    body, constants = like.body, None
    if generalized is not None:
        constants = _constants(engine, name, generalized)
        body = shape.generalized(
            constants.name,
            generalized.since,
            generalized.now,
            is_global=generalized.is_global,
        )
    try:
        compiled = engine.compiler.compile(known, name, body, constants=constants)
    except Error as error:
        log.debug("%s is not generalized: %s", like.name, error.message)
        compiled = None
    if compiled is None or not is_as(compiled, like, is_general=generalized is not None):
        engine.unfit.add(shape.key)
        return None
    if constants is not None:
        stores.create(engine.database, constants)
        known.add(constants)
    family = Query(
        known.next_position,
        name,
        body,
        compiled.kind,
        compiled.columns,
        tuple(source.name for source in compiled.sources.values()),
        compiled.order,
        since=since,
        frontier=since,
        taken=compiled.taken,
        number=known.next_number,
        shape=shape.key,
        is_open=generalized is not None and (since is not None or not generalized.looks_back),
    )
    known.add(family)
    engine.write(family, compiled)
    engine.recount()
    engine.expect(family)
    return family


def _constants(engine: Engine, family: str, generalized: Generalized) -> Input:
    """Return the relation of constants of a family that is being made."""
    return Input(
        engine.catalogue.next_position,
        CONSTANTS.format(family.rpartition("_")[2]),
        "relation",
        (
            Column(MEMBER, "BIGINT"),
            Column(SINCE, "BIGINT" if engine.clock.kind == "integer" else "TIMESTAMP"),
            *(Column(column_of(n), kind) for n, kind in enumerate(generalized.types)),
        ),
        primary_key=(MEMBER,),
        number=engine.catalogue.next_number,
        family=family,
    )


def _add(engine: Engine, family: Query, statement: CreateQuery, shape: Shape, like: Query) -> Query:
    """Register a member of a family.

    Args:
        engine: The engine.
        family: The family.
        statement: CREATE CONTINUOUS QUERY.
        shape: The shape of its text.
        like: A query of this shape.
    """
    known = engine.catalogue
    since = _since(engine, family)
    member = Query(
        known.next_position,
        statement.name,
        statement.body,
        like.kind,
        like.columns,
        like.inputs,
        like.order_by,
        since=since,
        taken=like.taken,
        number=known.next_number,
        family=family.name,
    )
    assign(engine, member, dict(statement.options))
    constants = known.constants_of(family)
    if constants is not None:
        numbers = _numbers(engine, family)
        values = tuple(constant.sql for constant in shape.constants), since
        number = numbers.get(values)
        if number is None or all(m.member != number for m in known.members_of(family)):
            # never one that another had: its elements may be in the log still
            number = numbers[values] = constants.next_seq + 1
            _enter(engine, family, constants, number, since, shape, "+")
        member.member = number
    known.add(member)
    families.follow(family, member)
    catalog_rows.insert(engine.database, member)
    answers.create_member(engine.database, engine.clock, member)
    bound_history(engine, family)
    engine.recount()
    return member


def _numbers(engine: Engine, family: Query) -> dict[object, int]:
    """Return the numbers of the members of a family by constants and beginning."""
    found = engine.numbers.get(family.name)
    if found is None:
        found = engine.numbers[family.name] = {}
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
    if since is not None and f".{SINCE}" in family.body:
        shown = answers.shown(clock, f"{since}::BIGINT")
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
        answers.separate(base, member)
    answers.drop_member(base, member, keep_log=keep_log)
    catalog_rows.delete(base, member)
    known.remove(member)
    rest = known.members_of(family)
    constants = known.constants_of(family)
    if not rest:
        engine.results.keep(family.changes)
        engine.erase(family)
        known.remove(family)
        inspection.refresh(base, known, family)
        engine.compiled.pop(family.name.lower())
        engine.housekeeping.dropped(family)
        engine.housekeeping.lost.pop(family.name, None)
        engine.output_buffer.store(family)
        engine.numbers.pop(family.name, None)
        if constants is not None:
            known.remove(constants)
            stores.drop(base, constants)
        return
    bound_history(engine, family)
    if constants is not None and all(one.member != member.member for one in rest):
        assert member.member is not None
        engine.numbers.pop(family.name, None)
        assert family.shape is not None
        shape = shape_of(member.body, family.shape)
        _enter(engine, family, constants, member.member, member.since, shape, "-")
        engine.housekeeping.left[family.name] = constants.last_instant
    rest_or_pause(engine, family)


def rest_or_pause(engine: Engine, family: Query) -> None:
    """Let a family stand still where all of its members do, and go on where one does.

    One that has expired stays so: what its inputs had since is not kept.
    """
    if family.state == EXPIRED:
        return
    goes_on = any(m.state == "active" for m in engine.catalogue.members_of(family))
    state = "active" if goes_on else "inactive"
    if family.state != state and not (state == "inactive" and family.state == "failed"):
        engine.catalogue.turn(family, state)
        family.error = family.error_reason = family.error_row = None


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
