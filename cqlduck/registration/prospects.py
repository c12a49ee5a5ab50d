"""Prospects: with what a query would be computed if it were registered now, in words too."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from cqlduck.engine import Engine
from cqlduck.registration.candidates import Candidate, candidates, wants_sharing
from cqlduck.registration.founding import Founding, founding
from cqlduck.registration.options import is_deferred
from cqlduck.registration.pins import NO_PINS, pins_of
from cqlduck.registration.stems import shown_of_stem
from cqlduck.registration.widening import Widening, widening
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.text.shapes import without_literals
from cqlduck.rewrite.text.statements import CreateQuery
from cqlduck.state.registered import Query


@dataclass(frozen=True)
class Prospect:
    """What a query would be computed with.

    Attributes:
        candidate: What it is like, or None.
        made: The family that would be made for both, or None if there is one that takes it.
        why: Why it would have a plan of its own.
        widened: With what it would be shown, or None. Without this and a candidate it would have a
            plan of its own.
    """

    candidate: Candidate | None
    made: Founding | None
    why: str
    widened: Widening | None = None

    @property
    def family(self) -> Query | None:
        """The family that takes the query as it is, if there is one."""
        if self.made is not None:
            return None
        if self.widened is not None:
            return self.widened.host
        return None if self.candidate is None else self.candidate.query

    @property
    def replaced(self) -> Query | None:
        """The query, or family, whose plan would be that of the family that is made, or None."""
        if self.made is None:
            return None
        if self.widened is not None:
            return self.widened.host
        is_first = self.candidate is not None and self.candidate.is_first
        return self.candidate.query if self.candidate is not None and is_first else None

    def compiled(self, engine: Engine, own: Compiled) -> Compiled:
        """Return the plan that would compute the query.

        Args:
            engine: The engine.
            own: The one that it would have alone.
        """
        if self.made is not None:
            return self.made.compiled
        return own if self.family is None else engine.compiled[self.family.name.lower()]


def prospect(
    engine: Engine,
    statement: CreateQuery,
    own: Compiled,
    leaving: Query | None = None,
    *,
    is_new: bool = True,
) -> Prospect:
    """Return what a query would be computed with; nothing changes.

    Args:
        engine: The engine.
        statement: CREATE CONTINUOUS QUERY.
        own: The plan that it has alone.
        leaving: A query that goes before.
        is_new: Whether it would come in the place of that one, which others may read.
    """
    if is_new and leaving is not None and engine.catalogue.readers(leaving):
        return Prospect(None, None, f"{leaving.name}, in whose place it comes, is read by others")
    if not wants_sharing(engine, statement):
        why = "sharing is off for it"
        if is_deferred(dict(statement.options).get("read")):
            why = "it is answered when it is read"
        return Prospect(None, None, why)
    if any(key == "history" for key, _ in statement.options):
        return Prospect(None, None, "it asks for history")
    why, pins = "", NO_PINS
    if is_new and leaving is not None:
        pins = pins_of(engine, leaving)
    for one in candidates(engine, statement, leaving, pins):
        made = None if one.is_open else founding(engine, one)
        if not isinstance(made, str):
            return Prospect(one, made, "")
        why = made
    if pins and leaving is not None:
        return Prospect(None, None, f"{leaving.name}, in whose place it comes, is pinned")
    for search in (widening, shown_of_stem):
        found = search(engine, statement, own, leaving)
        if not isinstance(found, str):
            return Prospect(None, found.made, "", found)
        why = why or found
    return Prospect(None, None, why or _differs(engine, statement, leaving))


MOST_COMPARED = 1000
"""With how many queries one is compared to say why it shares with none."""


def _differs(engine: Engine, statement: CreateQuery, leaving: Query | None) -> str:
    """Return why a query has nothing in common with others."""
    mine = without_literals(statement.body)
    for other in islice(engine.catalogue.queries.values(), MOST_COMPARED):
        if other is not leaving and without_literals(other.body) == mine:
            return (
                f"it and {other.name} differ in constants alone, but one of these stands where "
                "none is cut out"
            )
    return "no query says the same, shows something of the same, or has other constants alone"


def said(engine: Engine, found: Prospect) -> str:
    """Return in words what a query would be computed with."""
    if found.widened is not None:
        return _said_of_widened(engine, found.widened)
    if found.candidate is None:
        return f"it has a plan of its own: {found.why}"
    differ = "say the same"
    if found.candidate.shape.constants:
        differ = "differ in constants alone"
    if found.made is None:
        family = found.candidate.query
        count = len(engine.catalogue.members_of(family))
        queries = "1 query; they" if count == 1 else f"{count} queries, which"
        return f"it joins {family.name}, one plan for {queries} {differ}"
    like = found.candidate.query.name
    if found.candidate.is_first:
        return f"it forms the family {found.made.name} with {like}: they {differ}"
    return (
        f"it forms the family {found.made.name}, for those of its shape that follow; {like} keeps "
        "what it has"
    )


def _said_of_widened(engine: Engine, found: Widening) -> str:
    """Return in words with what a query would be shown."""
    host, made, is_stem = found.host, found.made, found.stem is not None
    shown = f"it shows {', '.join(found.projection)}"
    if found.selection:
        shown += f" where {' and '.join(found.selection)}"
    if found.moved:
        assert made is not None
        besides = "; they differ in constants besides" if is_stem else ""
        return f"it forms the family {made.name} with {host.name}, of which {shown}{besides}"
    count = len(engine.catalogue.members_of(host))
    queries = "1 query that shows" if count == 1 else f"{count} queries that show"
    queries += " something of the same"
    if is_stem:
        queries = (
            f"{'1 query' if count == 1 else f'{count} queries'} of other constants and columns"
        )
    more = ", and is given the columns that it lacks" if made is not None else ""
    return f"it joins {host.name}, one plan for {queries}{more}; {shown} of it"
