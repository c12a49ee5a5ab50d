"""Narrowing: a family shows no more than what some member asks for.

One plan computes queries of which one shows all that the others show (`widening`). When that one
leaves, the family goes on with tuples that nobody asks for:

    family   {v | s}              all:    π_v(family)          big: π_v(σ_{v > 100}(family))
    all is dropped: big alone would have the tuples over 100 only

Then all members leave it for plans of their own, between two ticks, if one of them shows all that
the others show: they meet again in a family that is as wide as that one (`merging`). Without such a
one they would need a plan each, which costs more than what nobody asks for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import duckdb

from cqlduck.engine import Engine
from cqlduck.errors import DatabaseError, NotSupportedError, first_line
from cqlduck.registration import separating
from cqlduck.state import machine
from cqlduck.state.registered import Query

log = logging.getLogger("cqlduck")


MAX_MEMBERS = 16
"""How many members leave a family at most: each is compiled, and no tick is to wait long."""


def narrow(engine: Engine) -> None:
    """Have the members of families that show too much leave them, between two ticks.

    Where that cannot be, because the stores have forgotten what a member would have to keep, the
    family stays.
    """
    for family in list(_wide(engine)):
        try:
            with engine.changing():
                for member in engine.catalogue.members_of(family):
                    separating.separate(engine, member)
        except NotSupportedError as error:
            engine.shareable.unmerged[family.number, family.number] = error.message
            log.debug("%s stays as wide as it is: %s", family.name, error.message)
        except (duckdb.Error, DatabaseError) as error:
            if isinstance(error, DatabaseError) and not machine.is_told(error):
                raise  # an interruption
            # ticks can do without
            pair, why = (family.number, family.number), first_line(error)
            engine.shareable.postpone(pair, why, engine.ticks)
            log.warning("%s stays as wide as it is: %s", family.name, why)
        else:
            log.info("%s showed more than its members asked for, which go on alone", family.name)


def _wide(engine: Engine) -> Iterator[Query]:
    """Yield the families of which no member shows all, but one shows all that any shows."""
    catalogue = engine.catalogue
    for family in catalogue.families.values():
        members = catalogue.members_of(family)
        if not 0 < len(members) <= MAX_MEMBERS or catalogue.constants_of(family) is not None:
            continue
        asked = [set(member.selection) for member in members]
        shared = set.intersection(*asked)
        stands = any(one.state != "active" for one in (family, *members))
        tried = (family.number, family.number) in engine.shareable.unmerged
        if not shared or shared not in asked or stands or tried:
            continue
        if not engine.streamon.executor.pins_of(family.name):
            yield family
