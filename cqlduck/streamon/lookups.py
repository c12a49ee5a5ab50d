"""How the pending elements of relations find their rows: by a scan of the store, or an index.

Few elements of a large relation are looked up by the column of its key that has the most values. An
index on it is an option of the relation's point `search`, as it is of an aggregate's
(`cqlduck.streamon.searching`). Many elements at once take longer to keep an index than to build it
anew behind them: before these it goes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cqlduck.rewrite.operators import relation
from cqlduck.rewrite.operators.search import INDEXED, MAX_ELEMENTS, MAX_KEYS
from cqlduck.rewrite.plan.searches import SEARCH, key_of
from cqlduck.rewrite.statements.ordered import NOWHERE, TableSearch
from cqlduck.state import listing, pending
from cqlduck.state.choices import Point
from cqlduck.state.connection import Database
from cqlduck.state.indexes import Index, Indexes
from cqlduck.state.pending import Pending
from cqlduck.state.probing import count_rows
from cqlduck.state.registered import Input
from cqlduck.streamon.executor import Executor
from cqlduck.streamon.points import Facts
from cqlduck.streamon.searching import LEAST_ROWS

REBUILD_RATIO = 16
"""An index goes before as many elements come as all that have come so far, divided by this."""


@dataclass
class _Asked:
    """What was chosen for a relation that is being closed."""

    point: Point
    facts: Facts
    option: str
    spent: float


class Lookups:
    """Chooses how pending elements find their rows.

    Args:
        database: The database.
        executor: What is asked at each point.
        indexes: The indexes that there are.
    """

    def __init__(self, database: Database, executor: Executor, indexes: Indexes) -> None:
        """Begin without knowing any relation."""
        self._database = database
        self._executor = executor
        self._indexes = indexes
        self._asked: _Asked | None = None

    def column(self, thing: Input, found: Pending) -> str | None:
        """Return the column by which pending elements are looked up in an index; None if in none.

        Args:
            thing: The relation, which is being closed.
            found: Its pending elements.
        """
        if found.count * REBUILD_RATIO > thing.next_seq and self._indexes.of(thing.name):
            self._indexes.prepare(thing.name, ())
            return None
        about = _about(thing)
        if not about.keys or not pending.is_few(thing, found):
            return None
        executor, point = self._executor, Point(SEARCH, thing.name)
        stands = executor.standing(point) is not None
        if not stands and thing.next_seq < LEAST_ROWS and not executor.pinned(SEARCH):
            return None
        facts = Facts(
            found.count,
            stored=lambda: listing.row_count(self._database, [thing.table]),
            about=about,
        )
        option = executor.choose(point, facts, thing.heartbeat)
        key = None if about.option(option) is None else key_of(option)
        name = None if key is None else about.names[key]
        wanted = [] if name is None else [Index(0, thing.table, _place(thing, name))]
        made = self._indexes.prepare(thing.name, wanted)
        spent = sum(one.seconds for one in made)
        if made:
            executor.profiler.budget.looking += spent
            executor.ledger.filled(point, len(made), spent)
        self._asked = _Asked(point, facts, option, spent)
        if name is None or found.count > MAX_ELEMENTS:
            return None
        if found.count > MAX_KEYS:
            self._indexes.look_up(MAX_ELEMENTS)
        return name

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Take note of what it takes to close a relation in the block, if `column` is asked."""
        self._asked, started = None, time.perf_counter()
        yield
        self._indexes.look_up()
        if self._asked is not None:
            self._closed(self._asked, time.perf_counter() - started)

    def _closed(self, asked: _Asked, seconds: float) -> None:
        executor, found = self._executor, None
        if executor.adapts:
            wanted = executor.reoptimizer.wants(asked.point, asked.facts, asked.option)
            if wanted is not None and isinstance(wanted.about, TableSearch):
                found = count_rows(self._database, wanted.about)
        executor.saw(asked.point, asked.facts, asked.option, seconds - asked.spent, found)


def _about(thing: Input) -> TableSearch:
    """Return a relation as what is searched: by its key, or by all of its columns."""
    types = {column.name: column.type for column in thing.columns}
    names, plain = thing.primary_key or tuple(types), relation.plain(thing.columns)
    keys = tuple(
        place for place, name in enumerate(names) if name in plain and types[name] in INDEXED
    )
    return TableSearch(NOWHERE, names, keys, thing.table)


def _place(thing: Input, name: str) -> int:
    """Return the place of a column in a relation's store."""
    return next(place for place, column in enumerate(thing.columns) if column.name == name)
