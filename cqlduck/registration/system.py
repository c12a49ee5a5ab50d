"""The stream of what operators did: made for the first query that reads it, gone with the last."""

from __future__ import annotations

import re

from cqlduck.engine import Engine
from cqlduck.errors import CatalogError
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.names import SYSTEM
from cqlduck.state import inspection, listing, stores
from cqlduck.state.registered import Input

COLUMNS = (
    Column("query", "VARCHAR"),
    Column("operator", "INTEGER"),
    Column("property", "VARCHAR"),
    Column("value", "DOUBLE"),
)

_NAMED = re.compile(rf"\b{SYSTEM}\b", re.IGNORECASE)


def prepare(engine: Engine, body: str) -> None:
    """Make the stream, inside a change, if the text of a query may read it and it is not there.

    Raises:
        CatalogError: A table of users has its name.
    """
    catalogue = engine.catalogue
    if catalogue.system is not None or _NAMED.search(body) is None:
        return
    if listing.has_table(engine.database, SYSTEM):
        raise CatalogError(
            f"a table or view is called {SYSTEM}, as the stream of what operators did",
            hint="give it another name",
        )
    thing = Input(catalogue.next_position, SYSTEM, "stream", COLUMNS)
    thing.number = catalogue.next_number
    thing.heartbeat = engine.system.reached()
    stores.create(engine.database, thing)
    catalogue.add(thing)
    inspection.refresh(engine.database, catalogue, thing)
