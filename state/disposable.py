"""What is made for ticks, and may go at any time: nothing is lost with it.

Which caches and indexes there are is chosen at points; logs are condensed as they grow. What stands
is known in memory, by owner, and takes part in transactions: after one that was undone, it is known
as it was before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database

_Thing = TypeVar("_Thing")


class Disposable(Generic[_Thing]):
    """What a database has of one kind.

    Args:
        database: The database.
        catalogue: What is registered.

    Attributes:
        kept: What there is, by name of the owner; who has nothing is not listed.
    """

    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        """Know nothing before the database is opened."""
        self.database = database
        self.catalogue = catalogue
        self.kept: Mapping[str, tuple[_Thing, ...]] = {}
        database.participants.append(self)

    def roll_back(self, kept: Mapping[str, tuple[_Thing, ...]]) -> None:
        """Know what was known then."""
        self.kept = kept

    def of(self, owner: str) -> Sequence[_Thing]:
        """Return what an owner has."""
        return self.kept.get(owner, ())

    def _know(self, owner: str, there: tuple[_Thing, ...]) -> None:
        others = {name: mine for name, mine in self.kept.items() if name != owner}
        self.kept = {**others, owner: there} if there else others
