"""Checks of names in the catalogue: free, existing, or missing."""

from __future__ import annotations

from collections.abc import Sequence

from cqlduck.engine import Engine
from cqlduck.errors import CatalogError
from cqlduck.rewrite.text.names import SYSTEM, bare
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.statements import Drop
from cqlduck.state import listing
from cqlduck.state.registered import Input, Query


def is_registered(engine: Engine, name: str, allowed: bool, kind: str) -> bool:
    """Refuse a name that something else has; return whether what it is for is there already.

    Args:
        engine: The engine.
        name: The name.
        allowed: Whether a thing of this kind may be there already.
        kind: What it is to be: stream, relation, continuous query or data frame.

    Raises:
        CatalogError: The name is that of something else.
    """
    refuse_reserved(bare(name))
    if kind != "data frame" and engine.database.frames.find(name) is not None:
        raise CatalogError(
            f"{name} is a data frame that is registered",
            hint=f"unregister({name!r}) first, or choose another name",
        )
    catalogue, key = engine.catalogue, name.lower()
    known = catalogue.inputs.get(key) or catalogue.queries.get(key)
    if known is None and (key in catalogue.families or key in catalogue.constants):
        raise CatalogError(
            f"{name} is there already: cqlduck computes several queries with it",
            hint="choose another name",
        )
    if known is not None:
        what = known.kind if isinstance(known, Input) else "continuous query"
        if allowed and what == kind:
            return True
        raise CatalogError(
            f"{name} is there already, as a {what}",
            hint="choose another name, or drop it; IF NOT EXISTS leaves it as it is"
            if what == kind
            else "choose another name, or drop it",
        )
    if listing.has_table(engine.database, name):
        raise CatalogError(
            f"{name} is there already, as a table or view", hint="choose another name"
        )
    return False


def is_unused(engine: Engine, name: str) -> bool:
    """Return whether nothing has a name."""
    known = engine.catalogue
    lists = (known.inputs, known.constants, known.queries, known.families)
    return not (
        any(name.lower() in one for one in lists) or listing.has_table(engine.database, name)
    )


def refuse_missing(statement: Drop, kind: str, there: Sequence[Input | Query]) -> None:
    """Refuse to drop what is not there, unless the statement says IF EXISTS.

    Raises:
        CatalogError: It does not.
    """
    if not statement.if_exists:
        raise CatalogError(
            f"there is no {kind} {statement.name}",
            hint=suggestion(statement.name, [t.name for t in there], "there are"),
        )


def refuse_if_read(engine: Engine, thing: Input | Query) -> None:
    """Refuse to drop what a query reads.

    Raises:
        CatalogError: A query does.
    """
    readers = engine.catalogue.readers(thing)
    if readers:
        named = [q for r in readers for q in (engine.catalogue.members_of(r) or [r])]
        raise CatalogError(
            f"{thing.name} is read by {', '.join(q.name for q in named)}",
            hint="drop these queries first, or all together with CASCADE at the end",
        )


def refuse_reserved(name: str) -> None:
    """Refuse a name that stands for something in every database.

    Raises:
        CatalogError: It does.
    """
    if name.lower() == SYSTEM.lower():
        raise CatalogError(
            f"{SYSTEM} is a reserved name: of the stream of what operators did",
            hint="choose another name",
        )
