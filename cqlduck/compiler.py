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
from cqlduck.rewrite.bind.functions import UserFunction, UserFunctions
from cqlduck.rewrite.bind.macros import Captured, Macros
from cqlduck.rewrite.plan import Column, Source
from cqlduck.rewrite.text.cutting import OPERATORS
from cqlduck.rewrite.text.spelling import said_by_duckdb, suggestion
from cqlduck.rewrite.text.time import Clock
from cqlduck.state import listing
from cqlduck.state.catalog import Catalogue
from cqlduck.state.columns import of_query, types_of
from cqlduck.state.connection import Database
from cqlduck.state.registered import Input


@dataclass
class Compiler:
    """Compiles queries over a database."""

    database: Database
    aggregates: frozenset[str] = field(init=False)
    volatile: frozenset[str] = field(init=False)
    functions: frozenset[str] = field(init=False)
    _macros: Macros | None = None

    def __post_init__(self) -> None:
        """Ask DuckDB for its functions."""
        self.aggregates, self.volatile, self.functions = listing.functions(self.database)
        if self.database.is_new:
            self._macros = listing.macros_of_a_new(self.database)

    def compile(
        self,
        catalogue: Catalogue,
        name: str,
        body: str,
        taken: str | None = None,
        constants: Input | None = None,
        *,
        is_anew: bool = False,
    ) -> Compiled:
        """Compile a query against what is registered.

        Args:
            catalogue: What is registered.
            name: The query.
            body: Its text.
            taken: The macros and types that it captured when it was registered, as text; without,
                it is what they are by now.
            constants: A relation of ours that it may read, if it is a family.
            is_anew: Whether it is answered anew at each change.

        Raises:
            Error: Of the family, with its place in the query.
        """
        known, macros = Captured() if taken is None else Captured.of(taken), self.macros
        if taken is not None:
            macros = {n: [m for m in forms if not m.is_own] for n, forms in self.macros.items()}
            macros = {**macros, **known.macros}
        view = _View(
            self.database,
            catalogue,
            catalogue.clock,
            catalogue.half_open,
            self.aggregates,
            self.volatile,
            macros,
            "always" if is_anew else catalogue.settings["recompute"],
            catalogue.time_is_open,
            self.functions,
            known.called,
            known.types,
            {
                key: UserFunction(function.name, function.return_type, function.raises)
                for key, function in catalogue.functions.items()
            },
            constants,
        )
        return compile_query(name, body, view, is_anew=is_anew)

    @property
    def macros(self) -> Macros:
        """The macros that there are, by lower-case name."""
        if self._macros is None:
            self._macros = listing.macros(self.database)
        return self._macros

    @property
    def own_names(self) -> frozenset[str]:
        """The lower-case names of the users' macros."""
        return frozenset(
            name for name, forms in self.macros.items() if any(form.is_own for form in forms)
        )

    def forget_macros(self) -> None:
        """Read macros anew for the next query: a statement may have changed them."""
        self._macros = None

    kept: None = None
    """Macros stay, unless a transaction is undone."""

    def roll_back(self, _: None) -> None:
        """Read macros anew for the next query: what is undone may have made some."""
        self._macros = None


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
    listed: frozenset[str]
    called: Mapping[str, Sequence[str]]
    types: Mapping[str, str]
    functions: UserFunctions
    constants: Input | None = None

    def lookup(self, name: str) -> Source | None:
        """Return the stream, relation or query of a name."""
        found = self.catalogue.inputs.get(name.lower())
        if self.constants is not None and name == self.constants.name:
            found = self.constants
        if found is not None:
            return Source(
                found.name,
                "stream" if found.kind == "stream" else "relation",
                found.columns,
                found.table,
                timestamp=found.timestamp_by,
                number=found.number,
                primary_key=tuple(found.primary_key),
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

    def defined(self, name: str) -> str | None:
        """Return what a type stands for, one of the open transaction too; None if there is none."""
        try:
            return types_of(self.database, [name])[0]
        except duckdb.Error:
            return None

    def describe(self, sql: str) -> Sequence[Column]:
        """Return the columns of a SELECT.

        Raises:
            BindError: DuckDB's own word on a name or type that does not fit.
        """
        found = self.database.described(sql)
        if found is not None:
            return [Column(name, kind) for name, kind in found]
        try:
            return of_query(self.database, sql)
        except duckdb.Error as error:
            said = said_by_duckdb(first_line(error))
            unknown = _UNKNOWN.match(said)
            if unknown is None:
                raise BindError(said) from error
            raise BindError(
                f"there is no function {unknown[1]}",
                hint=suggestion(
                    unknown[1],
                    (*map(str.capitalize, OPERATORS), *self.listed, *self.functions),
                    "duckdb_functions() lists what there is",
                    every=False,
                ),
            ) from error


_UNKNOWN = re.compile(r'.*Function with name "?(\w+)"? does not exist')
