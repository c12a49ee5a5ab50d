"""Separating: a member leaves its family with a copy of what the family has for it.

Its log becomes a table, and its operators get tables of their own, which are filled with their
content: what they would have if they had been there from the beginning. That can be had while the
stores have what it follows from; else the member stays. No element is written, and no answer
changes.
"""

from __future__ import annotations

import dataclasses

from cqlduck.engine import Engine
from cqlduck.errors import NotSupportedError
from cqlduck.registration import candidates, families, meetings
from cqlduck.registration.pins import pins_of, restore
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.relalg.elements import TS
from cqlduck.rewrite.statements.row_synopses import row_synopses
from cqlduck.state import answers, synopses
from cqlduck.state.contents import Frontier
from cqlduck.state.registered import Query


def separate(engine: Engine, member: Query) -> Query:
    """Give a member of a family a plan of its own, inside a change.

    Returns:
        The query in its place.

    Raises:
        NotSupportedError: It stands still, or some of its content is forgotten.
    """
    base, known = engine.database, engine.catalogue
    family = known.family_of(member)
    assert family is not None
    if member.state != "active" or family.state != "active":
        at = engine.shown(member.frontier)
        raise NotSupportedError(
            f"{member.name} stands still, and what its family had at {at} is no longer there",
            hint=f"ALTER CONTINUOUS QUERY {member.name} ACTIVATE first, or leave it in its family",
        )
    # content is read from the stores
    engine.flush(everything=True)
    compiled = engine.recompile(member)
    lost, pins = engine.housekeeping.lost_of(member), pins_of(engine, member)
    given = _rows_of_family(engine, member, compiled) if member.begin_instant is not None else {}
    families.leave(engine, member, keep_log=True)
    query = dataclasses.replace(
        member,
        family=None,
        member=None,
        projection=(),
        selection=(),
        is_anew=False,
        saved=(),
        written=None,
        merged_at=None,
    )
    known.add(query)
    # those that read it come after it
    known.reorder()
    engine.write(query, compiled, has_log=True)
    if query.begin_instant is not None:
        frontier = Frontier(query, known, base.value, engine.shown)
        lacking = synopses.fill(base, frontier, compiled, given)
        if lacking is not None:
            raise NotSupportedError(
                f"{query.name} cannot leave its family: {lacking}",
                hint="it stays as it is; dropped and created anew WITH (sharing = false) it begins "
                "with what comes then",
            )
        answers.view(base, engine.clock, query, compiled.answer)
    for table in given.values():
        base.execute(f"DROP TABLE {table.removeprefix('FROM ')}")
    if lost is not None:
        engine.housekeeping.lost[query.name] = lost
    candidates.note(engine, query)
    restore(engine, query, pins)
    engine.recount()
    engine.expect(query)
    return query


def _rows_of_family(engine: Engine, member: Query, compiled: Compiled) -> dict[str, str]:
    """Copy what a family holds for windows in rows, which goes with its last member.

    Returns:
        Of the synopses that a member alone has for them: a SELECT of the copy, by name.
    """
    family = engine.catalogue.family_of(member)
    assert family is not None
    those, given = meetings.row_synopses_of(engine, family), {}
    for number, wanted in enumerate(row_synopses(member.name, compiled, engine.clock)):
        rows = synopses.copied_rows(wanted, those)
        if rows is not None:
            table, since = f"temp._cql_rows_{number}", member.since
            # what came before it began is for others
            seen = "" if since is None else f" WHERE {TS} > {since}"
            engine.database.execute(
                f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM ({rows}) AS held{seen}"
            )
            given[wanted.synopsis.name] = f"FROM {table}"
    return given
