"""The catalogue, as far as binding a query needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from cqlduck.rewrite.bind.functions import UserFunctions
from cqlduck.rewrite.bind.macros import Macros
from cqlduck.rewrite.plan import Column, Source
from cqlduck.rewrite.text.time import Clock


class Catalog(Protocol):
    """What the binder asks of the catalogue."""

    clock: Clock
    half_open: bool
    aggregates: frozenset[str]
    volatile: frozenset[str]
    recompute: str
    time_is_open: bool

    @property
    def macros(self) -> Macros:
        """The macros of DuckDB, by lower-case name."""

    @property
    def functions(self) -> UserFunctions:
        """The users' functions, by lower-case name."""

    @property
    def called(self) -> Mapping[str, Sequence[str]]:
        """What columns are called that name what may be gone; see `macros.Captured`."""

    @property
    def types(self) -> Mapping[str, str]:
        """What types stood for when the query was registered; see `macros.Captured`."""

    def lookup(self, name: str) -> Source | None:
        """Return the stream, relation or query of a name, or None."""

    def is_table(self, name: str) -> bool:
        """Return whether a plain table or view of DuckDB has this name."""

    def names(self) -> Sequence[str]:
        """Return the names of all streams, relations and queries."""

    def describe(self, sql: str) -> Sequence[Column]:
        """Return the columns of a SELECT, without running it."""

    def described(self, sql: str) -> Sequence[tuple[str, str]] | None:
        """Return names and types of the columns of a SELECT, or None if it does not bind."""

    def defined(self, name: str) -> str | None:
        """Return what a type stands for, or None if there is none of the name."""
