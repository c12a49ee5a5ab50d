"""Founding: the family that can be made of a candidate and a query like it, or why none can be.

Nothing is registered here.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from cqlduck.engine import Engine
from cqlduck.errors import Error
from cqlduck.registration.candidates import Candidate, fits, since_of
from cqlduck.registration.generalizing import Generalized, generalized, is_as
from cqlduck.registration.names import is_unused
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.shapes import MEMBER, SINCE, column_of
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.registered import Input

log = logging.getLogger("cqlduck")

FAMILY, CONSTANTS = "_cql_family_{}", "_cql_constants_{}"
"""How families and their relations of constants are called."""


@dataclass(frozen=True)
class Founding:
    """A family that can be made.

    Attributes:
        name: Its name.
        body: Its query.
        compiled: Its plan.
        since: The instant after which it begins.
        generalized: How its constants are a relation, or None if its members say the same.
        constants: That relation.
    """

    name: str
    body: str
    compiled: Compiled
    since: Instant | None
    generalized: Generalized | None
    constants: Input | None


def founding(engine: Engine, one: Candidate, own: Compiled | None = None) -> Founding | str:
    """Return the family that can be made of a candidate and a query like it, or why none can be.

    Nothing is registered.

    Args:
        engine: The engine.
        one: The candidate.
        own: The plan of the query that it is like; without, that runs.
    """
    since = since_of(engine, one.query)
    if any(thing.late == "AMEND" for thing in engine.catalogue.inputs_of(one.query)):
        return "it reads a stream with LATE AMEND, or a query that does"
    busy = (
        f"{one.query.name} keeps its own plan, as it has begun, is read or pinned, or has other "
        "options"
    )
    if not (one.is_first or since is not None):
        return busy
    found = None
    if one.shape.constants:
        key = one.shape.with_list
        if not {(key, True), (key, one.is_first)} & engine.shareable.unfit:
            own = own or engine.compiled[one.query.name.lower()]
            found = generalized(engine, own, one.shape, begin_at_once=one.is_first)
        if found is None:
            engine.shareable.unfit.add((key, one.is_first))
            return f"the constants in which it differs from {one.like.name} cannot be a relation"
        if not fits(engine, one.shape, found.types):
            return f"its constants have other types than those of {one.like.name}"
    elif not one.is_first:
        return busy
    return _compiled(engine, one, since, found)


def _compiled(
    engine: Engine, one: Candidate, since: Instant | None, generalized: Generalized | None
) -> Founding | str:
    """Return a family that can be made; in words why not, if its text means something else."""
    name, body, constants = family_name(engine), one.like.body, None
    if generalized is not None:
        constants = _constants(engine, name, generalized)
        body = one.shape.generalized(
            constants.name,
            generalized.since,
            generalized.now,
            is_global=generalized.is_global,
        )
    try:
        compiled = engine.compiler.compile(engine.catalogue, name, body, constants=constants)
    except Error as error:
        log.debug("%s is not generalized: %s", one.like.name, error.message)
        compiled = None
    like, is_general = one.like, generalized is not None
    if compiled is None or not is_as(
        compiled, like.kind, like.order_by, like.columns, is_general=is_general
    ):
        engine.shareable.unfit.add((one.shape.with_list, one.is_first))
        return f"one plan for it and {one.like.name} would mean something else"
    return Founding(name, body, compiled, since, generalized, constants)


def family_name(engine: Engine) -> str:
    """Return a name for a family that is being made."""
    number = 1
    taken = engine.shareable.registering.lower()
    while not all(
        is_unused(engine, name.format(number)) and name.format(number) != taken
        for name in (FAMILY, CONSTANTS)
    ):
        number += 1
    return FAMILY.format(number)


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
