"""Prospects: with what a query would be computed if it were registered now, in words too."""

from __future__ import annotations

from dataclasses import dataclass

from cqlduck.engine import Engine
from cqlduck.registration.candidates import (
    Candidate,
    Founding,
    candidates,
    founding,
    wants_sharing,
)
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.text.statements import CreateQuery
from cqlduck.state.catalog import Query


@dataclass(frozen=True)
class Prospect:
    """What a query would be computed with.

    Attributes:
        candidate: What it is like, or None if it would have a plan of its own.
        made: The family that would be made for both, or None if there is one that takes it.
        why: Why it would have a plan of its own.
    """

    candidate: Candidate | None
    made: Founding | None
    why: str

    @property
    def family(self) -> Query | None:
        """The family that takes the query, if there is one."""
        return self.candidate.query if self.candidate is not None and self.made is None else None

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
    engine: Engine, statement: CreateQuery, leaving: Query | None = None, *, is_new: bool = True
) -> Prospect:
    """Return what a query would be computed with; nothing changes.

    Args:
        engine: The engine.
        statement: CREATE CONTINUOUS QUERY.
        leaving: A query that goes before.
        is_new: Whether it would come in the place of that one, which others may read.
    """
    if is_new and leaving is not None and engine.catalogue.readers(leaving):
        return Prospect(None, None, f"{leaving.name}, in whose place it comes, is read by others")
    if not wants_sharing(engine, statement):
        return Prospect(None, None, "sharing is off for it")
    if any(key == "history" for key, _ in statement.options):
        return Prospect(None, None, "it asks for history")
    why = "no query says the same, or differs from it in constants alone"
    for one in candidates(engine, statement, leaving):
        made = None if one.is_open else founding(engine, one)
        if not isinstance(made, str):
            return Prospect(one, made, "")
        why = made
    return Prospect(None, None, why)


def said(engine: Engine, found: Prospect) -> str:
    """Return in words what a query would be computed with."""
    if found.candidate is None:
        return f"it has a plan of its own: {found.why}"
    differ = "say the same"
    if found.candidate.shape.constants:
        differ = "differ in constants alone"
    if found.made is None:
        family = found.candidate.query
        count = len(engine.catalogue.members_of(family))
        return f"it joins {family.name}, one plan for {count} queries, which {differ}"
    like = found.candidate.query.name
    if found.candidate.is_first:
        return f"it forms the family {found.made.name} with {like}: they {differ}"
    return (
        f"it forms the family {found.made.name}, for those of its shape that follow; {like} keeps "
        "what it has"
    )
