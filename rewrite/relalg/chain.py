"""Chains: selections and projections of one source, composed before they are written.

    π_e (π_c (σ_p (R)))  =  π_e[c] (σ_p (R))        σ_q (π_c (σ_p (R)))  =  π_c (σ_p∧q[c] (R))

where e[c] has each column replaced by its expression in c. Conjuncts stay separate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp

from cqlduck.rewrite.plan.trees import nodes
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.substitution import may_stand, substituted

Columns = Mapping[str, exp.Expr]
"""What is shown: expressions, by the names of the columns."""


class Relation(Protocol):
    """What a chain may read as a subquery."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, in order; None if they are those of a table."""

    def query(self, read: frozenset[str] | None = None) -> exp.Query:
        """Write the relation as a query, with the columns that are read; None is all."""

    def tables(self) -> Iterator[exp.Table]:
        """Yield the tables that are read."""


@dataclass(frozen=True)
class Product:
    """The cross product of items of FROM, over which columns say of which item they are."""

    items: tuple[exp.Expr, ...]


@dataclass(frozen=True)
class Chain:
    """One SELECT in the making: π_columns (σ_predicates (source)).

    Attributes:
        source: What it reads: a table, a query, items side by side, or other rows.
        alias: What the source is called if it is a subquery.
        columns: What each column is, over those of the source; None if they are the source's.
        predicates: Conjuncts over the columns of the source.
    """

    source: exp.Table | exp.Query | Product | Relation
    alias: str
    columns: Columns | None = None
    predicates: tuple[exp.Expr, ...] = ()

    def meaning(self, name: str) -> exp.Expr:
        """Return what a column stands for."""
        return column(name) if self.columns is None else self.columns[name]

    def meant(self, value: exp.Expr, alias: str) -> exp.Expr:
        """Return an expression in which columns are replaced by what they stand for.

        It may be part of another one: it is copied where it is written.

        Args:
            value: The expression, over the columns of the chain.
            alias: What the chain is called in it, where it is called by a name.
        """
        if isinstance(value, exp.Column):
            return self.meaning(value.name)
        names = {c.name for c in nodes(value, exp.Column)}
        known = {("", name): self.meaning(name) for name in names}
        return substituted(value, known | {(alias, name): m for (_, name), m in known.items()})

    def hands_on(self) -> bool:
        """Return whether rows are those of the source, as they are."""
        if self.predicates or self.columns is None:
            return not self.predicates
        return all(
            isinstance(value, exp.Column) and value.name == name
            for name, value in self.columns.items()
        )

    def renamed(self, names: tuple[str, ...] | None) -> Chain:
        """Return the chain with other names for its columns, in order."""
        if self.columns is None or names is None or tuple(self.columns) == names:
            return self
        return replace(self, columns=dict(zip(names, self.columns.values(), strict=True)))

    def can_compose(self, used: Counter[str]) -> bool:
        """Return whether what stands around may be written over the source.

        Args:
            used: How often each column would be written.
        """
        shown = (self.columns or {}).items()
        return all(
            [
                may_stand(value, used[name])
                for name, value in shown
                if not isinstance(value, exp.Column)
            ]
        )

    def asks_queries(self) -> bool:
        """Return whether a predicate has a subquery, whose names could be taken for others."""
        return any(part.find(exp.Query) for part in self.predicates)

    def tables(self) -> Iterator[exp.Table]:
        """Yield the tables that are read."""
        match self.source:
            case Product(items):
                for item in items:
                    yield from item.find_all(exp.Table)
            case exp.Table() | exp.Query():
                yield from self.source.find_all(exp.Table)
            case relation:
                yield from relation.tables()
        for part in (*self.predicates, *(self.columns or {}).values()):
            yield from part.find_all(exp.Table)
