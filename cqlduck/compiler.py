"""Compiling queries: the rewriter's questions to the catalogue and to DuckDB, answered.

The rewriter is pure. It asks a `Catalog` (`rewrite`'s bind) for the types of expressions, for the
functions that are aggregates or not deterministic, and for the definitions of macros; this module
has that catalog.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from cqlduck.errors import BindError, first_line
from cqlduck.rewrite import Compiled, compile_query
from cqlduck.rewrite.bind.macros import Macro, Macros, Taken
from cqlduck.rewrite.plan import Column, Source
from cqlduck.rewrite.plan.aggregates import RECOMPUTED
from cqlduck.rewrite.text.queries import OPERATORS
from cqlduck.rewrite.text.spelling import said_by_duckdb, suggestion
from cqlduck.rewrite.text.time import Clock
from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database

NOT_DETERMINISTIC = frozenset(
    {"approx_quantile", "approx_top_k", "current_date", "current_time", "current_timestamp",
     "gen_random_uuid", "get_current_timestamp", "localtime", "localtimestamp", "now", "rand",
     "random", "reservoir_quantile", "today", "uuid"}
)  # fmt: skip


@dataclass
class Compiler:
    """Compiles queries over a database."""

    database: Database
    aggregates: frozenset[str] = field(init=False)
    volatile: frozenset[str] = field(init=False)
    functions: frozenset[str] = field(init=False)
    _macros: Macros | None = None
    _may_roll_back: bool = False

    def __post_init__(self) -> None:
        """Ask DuckDB for its functions."""
        self.aggregates, self.volatile, self.functions = _functions(self.database)
        if self.database.is_new:
            self._macros = _macros_of_a_new(self.database)

    def compile(
        self, catalogue: Catalogue, name: str, body: str, taken: str | None = None
    ) -> Compiled:
        """Compile a query against what is registered.

        Args:
            catalogue: What is registered.
            name: The query.
            body: Its text.
            taken: What it has taken of macros when it was registered (`Taken`), as text; without,
                it is what they are by now.

        Raises:
            Error: Of the family, with its place in the query.
        """
        if self._macros is None:
            self._macros = _macros(self.database)
        known, macros = Taken() if taken is None else Taken.of(taken), self._macros
        if taken is not None:
            macros = {n: [m for m in forms if not m.is_own] for n, forms in self._macros.items()}
            macros = {**macros, **known.macros}
        view = _View(
            self.database,
            catalogue,
            catalogue.clock,
            catalogue.half_open,
            self.aggregates,
            self.volatile,
            macros,
            catalogue.settings["recompute"],
            catalogue.time_is_open,
            self.functions,
            known.called,
            known.types,
        )
        return compile_query(name, body, view)

    def forget_macros(self) -> None:
        """Read macros anew for the next query: a statement may have changed them."""
        self._macros = None
        self._may_roll_back = True

    def ended(self, *, committed: bool) -> None:
        """Note the end of a transaction: what it made of macros may be undone."""
        if self._may_roll_back and not committed:
            self._macros = None
        self._may_roll_back = False


@dataclass
class _View:
    """The catalogue as the binder sees it."""

    database: Database
    catalogue: Catalogue
    clock: Clock
    half_open: bool
    aggregates: frozenset[str]
    volatile: frozenset[str]
    macros: Macros
    recompute: str
    time_is_open: bool
    functions: frozenset[str]
    called: Mapping[str, Sequence[str]]
    types: Mapping[str, str]

    def lookup(self, name: str) -> Source | None:
        """Return the stream, relation or query of a name."""
        found = self.catalogue.inputs.get(name.lower())
        if found is not None:
            return Source(
                found.name,
                "stream" if found.kind == "stream" else "relation",
                found.columns,
                found.table,
                timestamp=found.timestamp_by,
                number=found.number,
            )
        query = self.catalogue.queries.get(name.lower())
        if query is not None:
            return Source(
                query.name,
                "stream" if query.kind == "stream" else "relation",
                query.columns,
                query.changes,
                is_query=True,
                number=query.number,
            )
        return None

    def is_table(self, name: str) -> bool:
        """Return whether a plain table or view has this name."""
        return self.database.described(f"SELECT * FROM {name}") is not None

    def names(self) -> Sequence[str]:
        """Return all names."""
        known = self.catalogue
        inputs = [thing.name for thing in known.inputs.values()]
        return inputs + [query.name for query in known.queries.values()]

    def described(self, sql: str) -> Sequence[tuple[str, str]] | None:
        """Return names and types of the columns of a SELECT, or None if it does not bind."""
        return self.database.described(sql)

    def describe(self, sql: str) -> Sequence[Column]:
        """Return the columns of a SELECT.

        Raises:
            BindError: DuckDB's own word on a name or type that does not fit.
        """
        found = self.database.described(sql)
        if found is not None:
            return [Column(name, kind) for name, kind in found]
        try:
            return [Column(r[0], r[1]) for r in self.database.rows(f"DESCRIBE {sql}")]
        except duckdb.Error as error:
            said = said_by_duckdb(first_line(error))
            unknown = _UNKNOWN.match(said)
            if unknown is None:
                raise BindError(said) from error
            raise BindError(
                f"there is no function {unknown[1]}",
                hint=suggestion(
                    unknown[1],
                    (*map(str.capitalize, OPERATORS), *self.functions),
                    "duckdb_functions() lists what there is",
                    every=False,
                ),
            ) from error


_UNKNOWN = re.compile(r'.*Function with name "?(\w+)"? does not exist')

_FUNCTIONS: list[tuple[frozenset[str], frozenset[str], frozenset[str]]] = []


def _functions(database: Database) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return DuckDB's aggregates, what is not deterministic, and all functions, read once."""
    if not _FUNCTIONS:
        rows = database.rows(
            "SELECT lower(function_name), function_type = 'aggregate', "
            "coalesce(stability, '') <> 'CONSISTENT' AND function_type = 'scalar' "
            "FROM duckdb_functions() WHERE function_type IN ('aggregate', 'scalar')"
        )
        aggregates = frozenset(row[0] for row in rows if row[1]) | RECOMPUTED
        volatile = frozenset(row[0] for row in rows if row[2]) | NOT_DETERMINISTIC
        _FUNCTIONS.append((aggregates, volatile, frozenset(row[0] for row in rows)))
    return _FUNCTIONS[0]


def _macros(database: Database) -> dict[str, list[Macro]]:
    """Return the macros that a database has by now."""
    macros: dict[str, list[Macro]] = {}
    for name, parameters, definition, is_table, types, schema, is_own in database.rows(
        "SELECT lower(function_name), parameters, macro_definition, function_type = 'table_macro', "
        "parameter_types, lower(schema_name), NOT internal "
        "FROM duckdb_functions() WHERE function_type IN ('macro', 'table_macro') "
        "AND schema_name <> 'pg_catalog' "
        "AND (internal OR database_name IN (current_database(), 'temp')) ORDER BY function_oid"
    ):
        typed = tuple(types) if any(kind is not None for kind in types) else ()
        macros.setdefault(name, []).append(
            Macro(tuple(parameters), definition, is_table, typed, schema, is_own)
        )
    return macros


_MACROS: list[dict[str, list[Macro]]] = []


def _macros_of_a_new(database: Database) -> dict[str, list[Macro]]:
    """Return the macros that every new database has, read once: a listing takes 15 ms."""
    if not _MACROS:
        _MACROS.append(_macros(database))
    return _MACROS[0]
