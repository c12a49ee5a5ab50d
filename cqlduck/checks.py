"""`check()`: the synopses and answers of all queries, or of one, compared with their content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple

import pyarrow as pa

from cqlduck.engine import Engine
from cqlduck.meter import Fraction
from cqlduck.rewrite import Compiled
from cqlduck.state.check import Checked, Checker
from cqlduck.state.registered import Query

_COLUMNS = pa.schema(
    [
        ("query", pa.string()),
        ("operator", pa.int64()),
        ("description", pa.string()),
        ("kind", pa.string()),
        ("synopsis", pa.string()),
        ("state", pa.string()),
        ("rows", pa.int64()),
        ("reason", pa.string()),
    ]
)


class Check:
    """Compares the synopses of queries with their content; says how far it is.

    Args:
        engine: The engine, which is held still.
        queries: The queries.
    """

    def __init__(self, engine: Engine, queries: Sequence[Query]) -> None:
        """Compare nothing yet."""
        self._engine = engine
        planned = list(dict.fromkeys(engine.planned(query).name for query in queries))
        self._planned = [engine.catalogue.planned(name) for name in planned]
        # the log of a family is one that its members have views of
        self._answers = [*(query for query in self._planned if query.shape is not None), *queries]
        self._done = 0

    def way(self) -> Fraction:
        """Return what says how far it is."""
        return lambda: self._done / max(len(self._planned) + len(self._answers), 1)

    def run(self) -> pa.Table:
        """Compare them.

        Returns:
            A row for each synopsis, by query, from the bottom of its plan, then one for each
            answer.
        """
        engine = self._engine
        engine.reading(everything=True)
        found: list[Checked] = []
        checker = Checker(engine.database, engine.catalogue, engine.shown, engine.condensed.of)
        try:
            for query in self._planned:
                compiled, caches = engine.compiled[query.name.lower()], engine.caches.of(query.name)
                found += checker.check(query, compiled, caches)
                self._done += 1
            for query in self._answers:
                found += checker.check_answer(query, self._plan_of(query))
                self._done += 1
        finally:
            checker.close()
        rows = [dict(zip(_COLUMNS.names, astuple(line), strict=True)) for line in found]
        return pa.Table.from_pylist(rows, schema=_COLUMNS)

    def _plan_of(self, query: Query) -> Compiled:
        """Return the plan of a query's own text: a member of a family has it nowhere else."""
        if query.family is not None:
            return self._engine.recompile(query)
        return self._engine.compiled[query.name.lower()]
