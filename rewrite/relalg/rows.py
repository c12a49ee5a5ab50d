"""Rows: a chain of linear operators over tables, one SELECT by construction.

    Rows  =  Σ  π_columns (σ_predicates (source))

A law applies operations to the rows of its input: `where` restricts them, `project` names
expressions over each, `union` adds those of several. None of these writes a SELECT. The next
operation substitutes: a column is replaced by its expression, and conditions are added to the
conjuncts. `query` and `select` write the statement, once, with the columns that are read. So DuckDB
parses and binds one SELECT for a chain, however many operators it has, and its conjuncts stay
separate.

Rows become a subquery under the next expressions if substitution could change their meaning or
cost:

* a value that is no column, constant or arithmetic over these is evaluated once, inside;
* so is one of more than a few nodes that would occur in several places;
* an expression with names of its own (a subquery, a lambda, the field of a struct) could capture a
  name from inside; `#1` and COLUMNS depend on all columns, in their order.

In DuckDB a column precedes an alias of the same name, except in ORDER BY: nothing here orders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.relalg import select
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.chain import Chain, Columns
from cqlduck.rewrite.relalg.substitution import is_scalar, used


@dataclass(frozen=True)
class Rows:
    """The rows of one or more chains together; all have the same columns, by name.

    Attributes:
        chains: The chains.
        ctes: Queries, by name, that the sources of the chains may read.
    """

    chains: tuple[Chain, ...]
    ctes: Mapping[str, exp.Query] = field(default_factory=dict)

    @classmethod
    def of(cls, table: exp.Table, columns: Iterable[str] | None = None) -> Rows:
        """Return the rows of a table, with all of its columns or some."""
        listed = None if columns is None else {name: column(name) for name in columns}
        return cls((Chain(table, "", listed),))

    @classmethod
    def given(cls, query: exp.Query, columns: Iterable[str], alias: str = "input") -> Rows:
        """Return the rows of a query that is no chain.

        Args:
            query: The query.
            columns: Its columns, in its order.
            alias: What it is called where it is a subquery.
        """
        return cls((Chain(query, alias, {name: column(name) for name in columns}),))

    @classmethod
    def union(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts together, with the names of the first; columns by place."""
        if len(parts) == 1:
            return parts[0]
        names = parts[0].names
        chains = [chain for part in parts for chain in part._alone().chains]
        return cls(tuple(chain.renamed(names) for chain in chains))

    def _alone(self) -> Rows:
        """Return the same rows, their CTEs inside: they may stand beside others."""
        return self.within("arm") if self.ctes else self

    def within(self, alias: str) -> Rows:
        """Return the same rows as those of a subquery."""
        names = self.names
        listed = None if names is None else {name: column(name) for name in names}
        return Rows((Chain(self, alias, listed),))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, in order; None if they are those of a table."""
        known = self.chains[0].columns
        return None if known is None else tuple(known)

    def with_(self, name: str, query: exp.Query) -> Rows:
        """Return the same rows, their sources reading a query by name."""
        return replace(self, ctes={**self.ctes, name: query})

    def _unnamed(self) -> Chain:
        """Return the chain with the columns of its source, as they are."""
        return replace(self.chains[0], columns=None)

    def where(self, *conditions: exp.Expr, alias: str = "input") -> Rows:
        """Return the rows that meet conditions over their columns."""
        asked = [part for condition in conditions for part in conjuncts(condition)]
        if self._is_table():
            return self._with(predicates=(*self.chains[0].predicates, *asked))
        counted = used(asked, alias)
        # the column itself stays, so what is asked of it is written besides
        if counted is None or not self._may_take(counted + Counter(list(counted))):
            return self.within(alias)._with(predicates=tuple(asked))
        (chain,) = self.chains
        meant = tuple(chain.meant(part, alias) for part in asked)
        return self._with(predicates=(*chain.predicates, *meant))

    def _is_table(self) -> bool:
        """Return whether expressions over the columns need no substitution."""
        return len(self.chains) == 1 and self.chains[0].columns is None

    def _with(self, **changes: Any) -> Rows:
        return replace(self, chains=(replace(self.chains[0], **changes),))

    def _may_take(self, counted: Counter[str]) -> bool:
        return len(self.chains) == 1 and self.chains[0].can_compose(counted)

    def _may_choose(self, values: Columns, counted: Counter[str]) -> bool:
        """Return whether values are columns, each once, and what is left out is of no account."""
        if not all([isinstance(value, exp.Column) for value in values.values()]):
            return False
        left_out = [
            value
            for chain in self.chains
            for name, value in (chain.columns or {}).items()
            if name not in counted
        ]
        return max(counted.values(), default=0) <= 1 and all(map(is_scalar, left_out))

    def project(self, listed: Iterable[exp.Expr], alias: str = "input") -> Rows:
        """Return expressions over each row.

        Args:
            listed: Columns and named expressions over the columns of the rows.
            alias: What the rows are called in these, or where they are a subquery.
        """
        values = {item.alias_or_name: item.unalias() for item in listed}
        if self._is_table():
            return self._with(columns=values)
        counted = used(values.values(), alias)
        if counted is None or not (self._may_take(counted) or self._may_choose(values, counted)):
            return self.within(alias)._with(columns=values)
        made = [
            replace(
                chain, columns={name: chain.meant(value, alias) for name, value in values.items()}
            )
            for chain in self.chains
        ]
        return replace(self, chains=tuple(made))

    @property
    def table(self) -> exp.Table | None:
        """The table whose rows they are, each as it is; None if they are not."""
        chain = self.chains[0]
        if len(self.chains) > 1 or self.ctes or not isinstance(chain.source, exp.Table):
            return None
        return chain.source if chain.hands_on() else None

    def tables(self) -> Iterator[exp.Table]:
        """Yield the tables that are read."""
        for chain in self.chains:
            yield from chain.tables()
        for cte in self.ctes.values():
            yield from cte.find_all(exp.Table)

    def query(self, read: frozenset[str] | None = None) -> exp.Query:
        """Write the rows as a query.

        Args:
            read: The columns that are read of them; None is all.
        """
        return select.union(self.chains, self.ctes, self._kept(read))

    def _kept(self, read: frozenset[str] | None) -> list[str] | None:
        """Return which columns are written; unused ones are removed, if they are scalars."""
        names = self.names
        if read is None or names is None:
            return None if names is None else list(names)
        kept = [
            name
            for name in names
            if name in read or not all(is_scalar(chain.meaning(name)) for chain in self.chains)
        ]
        return kept or [names[0]]

    def subquery(self, alias: str) -> exp.Subquery:
        """Write the rows as an item of FROM."""
        return self.query().subquery(alias, copy=False)

    def select(
        self,
        listed: Sequence[exp.Expr],
        *,
        where: Sequence[exp.Expr] = (),
        group: Sequence[exp.Expr] = (),
        having: exp.Expr | None = None,
        alias: str = "input",
    ) -> exp.Select:
        """Write one SELECT over the rows, which may group them.

        Args:
            listed: Its list, over the columns of the rows.
            where: Its conditions.
            group: What it groups by: columns, and expressions over them.
            having: Its condition on groups.
            alias: What the rows are called in these, or where they are a subquery.
        """
        asked = [part for condition in where for part in conjuncts(condition)]
        about = [*(e.unalias() for e in listed), *asked, *group, *([having] if having else [])]
        merges = self._may_group(used(about, alias), group)
        chain = self.chains[0] if merges else self.within(alias)._unnamed()
        keys = [chain.meant(part, alias) for part in group]
        return select.grouped(
            chain,
            [select.named(chain.meant(e.unalias(), alias), e.alias_or_name) for e in listed],
            [chain.meant(part, alias) for part in asked],
            _varying(keys) if merges else keys,
            None if having is None else chain.meant(having, alias),
        )

    def _may_group(self, counted: Counter[str] | None, group: Sequence[exp.Expr]) -> bool:
        """Return whether a SELECT that groups may be over the source of the chain.

        Args:
            counted: How often it reads each column; None if it has names of its own.
            group: What it groups by.
        """
        chain = self.chains[0]
        if len(self.chains) > 1 or self.ctes or (counted is None and not self._is_table()):
            return False
        return chain.can_compose(counted or Counter()) and all(
            _groups(part, chain) for part in group
        )


def _groups(part: exp.Expr, chain: Chain) -> bool:
    """Return whether a SELECT may group by what a column of GROUP BY stands for.

    A number would be a position.
    """
    if not isinstance(part, exp.Column):
        return True
    return isinstance(chain.meaning(part.name), (exp.Column, exp.Cast))


def _varying(keys: list[exp.Expr]) -> list[exp.Expr]:
    """Leave out of GROUP BY what is one value in all rows; one stays, to group no rows."""
    return [key for key in keys if key.find(exp.Column)] or keys
