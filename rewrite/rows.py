"""Rows: what a chain of linear operators makes of a table, one SELECT by construction.

    Rows  =  Σ  π_columns (σ_predicates (source))

A delta rule says what its operator does to the rows of its input: `where` restricts them, `project`
names what is worked out of each, `union` adds those of several. None of these writes a SELECT. The
next one substitutes: a column is replaced by what it stands for, and conditions join those that are
there, each by itself. `query`, `select` and `joined` write the statement, once, with the columns
that are read. So a chain costs DuckDB one SELECT to parse and to bind, however many operators it
has, and its conjuncts stay apart.

Rows are put into a subquery, around which the next expressions stand, where substitution could
change what they mean or cost:

* a value that is no column, constant or arithmetic over these is worked out once, inside;
* so is one of more than a few nodes that would stand in several places;
* an expression with names of its own (a subquery, a lambda, the field of a struct) could capture a
  name that comes from inside; `#1` and COLUMNS are about all columns there are, in their order.

In DuckDB a column goes before an alias of the same name, but in ORDER BY: nothing here orders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from cqlduck.rewrite import guards
from cqlduck.rewrite.conditions import conjuncts
from cqlduck.rewrite.scope import column

_SIMPLE = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Placeholder, exp.Cast,
    exp.DataType, exp.DataTypeParam, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Paren,
)  # fmt: skip
"""What values are made of that are substituted: deterministic, and cheap enough to stand twice."""

_SCALAR = (
    *_SIMPLE, exp.Case, exp.If, exp.Coalesce, exp.And, exp.Or, exp.Not, exp.Is, exp.GT, exp.GTE,
    exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Div, exp.IntDiv, exp.Mod,
)  # fmt: skip
"""What values are made of that nobody misses: `unnest` or a window decides about rows."""

_NAMES_INSIDE = (exp.Query, exp.Lambda, exp.Dot, exp.Columns, exp.PositionalColumn)

_SMALL = 8
"""How many nodes a value has at most that is written more than once."""

Columns = Mapping[str, exp.Expr]


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

    source: exp.Table | exp.Query | Product | Rows
    alias: str
    columns: Columns | None = None
    predicates: tuple[exp.Expr, ...] = ()

    def meaning(self, name: str) -> exp.Expr:
        """Return what a column stands for."""
        return column(name) if self.columns is None else self.columns[name]

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

    def may_take(self, used: Counter[str]) -> bool:
        """Return whether what stands around may be written over the source.

        Args:
            used: How often each column would be written.
        """
        for name, value in ({} if self.columns is None else self.columns).items():
            if isinstance(value, exp.Column):
                continue
            nodes = list(value.walk())
            allowed = _SIMPLE if used[name] else _SCALAR
            if not all(isinstance(node, allowed) for node in nodes):
                return False
            if used[name] > 1 and len(nodes) > _SMALL:
                return False
        return True


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
        used = _used(asked, alias)
        # the column itself stays, so what is asked of it is written besides
        if used is None or not self._may_take(Counter({n: times + 1 for n, times in used.items()})):
            return self.within(alias)._with(predicates=tuple(asked))
        (chain,) = self.chains
        meant = tuple(_meant(part, chain, alias) for part in asked)
        return self._with(predicates=(*chain.predicates, *meant))

    def _is_table(self) -> bool:
        """Return whether expressions over the columns need no substitution."""
        return len(self.chains) == 1 and self.chains[0].columns is None

    def _with(self, **changes: Any) -> Rows:
        return replace(self, chains=(replace(self.chains[0], **changes),))

    def _may_take(self, used: Counter[str]) -> bool:
        return len(self.chains) == 1 and self.chains[0].may_take(used)

    def _may_choose(self, values: Columns, used: Counter[str]) -> bool:
        """Return whether values are columns, each once, and what is left out is of no account."""
        if not all(isinstance(value, exp.Column) for value in values.values()):
            return False
        return max(used.values(), default=0) <= 1 and all(
            name in used or _is_scalar(value)
            for chain in self.chains
            for name, value in (chain.columns or {}).items()
        )

    def project(self, listed: Iterable[exp.Expr], alias: str = "input") -> Rows:
        """Return what is worked out of each row.

        Args:
            listed: Columns and named expressions over the columns of the rows.
            alias: What the rows are called in these, or where they are a subquery.
        """
        values = {item.alias_or_name: item.unalias() for item in listed}
        if self._is_table():
            return self._with(columns=values)
        used = _used(values.values(), alias)
        if used is None or not (self._may_take(used) or self._may_choose(values, used)):
            return self.within(alias)._with(columns=values)
        made = [
            replace(
                chain,
                columns={name: _meant(value, chain, alias) for name, value in values.items()},
            )
            for chain in self.chains
        ]
        return replace(self, chains=tuple(made))

    def tables(self) -> Iterator[exp.Table]:
        """Yield the tables that are read."""
        for chain in self.chains:
            match chain.source:
                case Rows():
                    yield from chain.source.tables()
                case Product(items):
                    for item in items:
                        yield from item.find_all(exp.Table)
                case source:
                    yield from source.find_all(exp.Table)
            for part in (*chain.predicates, *(chain.columns or {}).values()):
                yield from part.find_all(exp.Table)
        for cte in self.ctes.values():
            yield from cte.find_all(exp.Table)

    # -- as text -----------------------------------------------------------------------------------

    def query(self, read: frozenset[str] | None = None) -> exp.Query:
        """Write the rows as a query.

        Args:
            read: The columns that are read of them; None is all.
        """
        kept = self._kept(read)
        if len(self.chains) == 1 and not self.ctes and (whole := self._whole(kept)) is not None:
            return whole
        queries = [_written(chain, kept) for chain in self.chains]
        query = queries[0]
        for other in queries[1:]:
            query = exp.union(query, other, distinct=False, copy=False)
        for name, cte in self.ctes.items():
            query = query.with_(name, as_=cte.copy(), copy=False)
        return query

    def _whole(self, kept: list[str] | None) -> exp.Query | None:
        """Return the source as a query if it is all that there is to say."""
        (chain,) = self.chains
        source = chain.source
        if isinstance(source, (exp.Table, Product)) or not chain.hands_on() or kept is None:
            return None
        names = source.names if isinstance(source, Rows) else tuple(chain.columns or ())
        if tuple(kept) != names:
            return None
        return source.query() if isinstance(source, Rows) else source.copy()

    def _kept(self, read: frozenset[str] | None) -> list[str] | None:
        """Return which columns are written; those that nobody reads go, if they are scalars."""
        names = self.names
        if read is None or names is None:
            return None if names is None else list(names)
        kept = [
            name
            for name in names
            if name in read or not all(_is_scalar(chain.meaning(name)) for chain in self.chains)
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
        used = _used(about, alias)
        chain = self.chains[0]
        merges = len(self.chains) == 1 and not self.ctes
        merges = merges and (used is not None or self._is_table())
        merges = merges and chain.may_take(used or Counter())
        merges = merges and all(_groups(part, chain) for part in group)
        if not merges:
            chain = self.within(alias)._unnamed()
        values = [_named(_meant(e.unalias(), chain, alias), e.alias_or_name) for e in listed]
        conditions = [*chain.predicates, *(_meant(part, chain, alias) for part in asked)]
        keys = [_meant(part, chain, alias) for part in group]
        after = [] if having is None else [_meant(having, chain, alias)]
        read = _read([*values, *conditions, *keys, *after])
        select = _select(values, chain, conditions, read)
        keys = _varying(keys) if merges else keys
        if keys:
            select.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        if after:
            select.set("having", exp.Having(this=after[0].copy()))
        return select


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


def joined(
    legs: Mapping[str, Rows], listed: Sequence[exp.Expr], conditions: Sequence[exp.Expr]
) -> Rows:
    """Return the inner join of rows, as one SELECT.

    Args:
        legs: The rows, by what they are called.
        listed: The list; a column says of which rows it is, if it is one of several of its name.
        conditions: The conditions, over such columns.
    """
    owners = {name: alias for alias, rows in legs.items() for name in rows.names or ()}
    asked = [_owned(part, owners) for condition in conditions for part in conjuncts(condition)]
    values = [(_owned(item.unalias(), owners), item.alias_or_name) for item in listed]
    about = [*(value for value, _ in values), *asked]
    items: list[exp.Expr] = []
    inside: list[exp.Expr] = []
    meant: dict[tuple[str, str], exp.Expr] = {}
    for alias, rows in legs.items():
        used = _used(about, alias, only=True)
        chain = rows.chains[0]
        source = chain.source if len(rows.chains) == 1 and not rows.ctes else rows
        if (
            used is None
            or not isinstance(source, (exp.Table, exp.Query))
            or not chain.may_take(used)
            or _asks_queries(chain)
        ):
            read = _read(about)
            items.append(rows.query(read).subquery(alias, copy=False))
            continue
        items.append(_called(source, alias))
        for name in used:
            meant[alias, name] = _qualified(chain.meaning(name), alias)
        inside[:0] = [_qualified(part, alias) for part in chain.predicates]
    columns = {name: _replaced(value, meant) for value, name in values}
    tested = (*inside, *(_replaced(part, meant) for part in asked))
    return Rows((Chain(Product(tuple(items)), "joined", columns, tested),))


def _called(source: exp.Table | exp.Query, alias: str) -> exp.Expr:
    """Return a table or a query as an item of FROM with a name."""
    item = source.copy()
    if isinstance(item, exp.Query):
        return item.subquery(alias, copy=False)
    item.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return item


def _owned(value: exp.Expr, owners: Mapping[str, str]) -> exp.Expr:
    """Return an expression whose columns all say of which rows they are."""
    tree = value.copy()
    for known in [tree] if isinstance(tree, exp.Column) else tree.find_all(exp.Column):
        if not known.table and known.name in owners:
            known.set("table", exp.to_identifier(owners[known.name]))
    return tree


def _asks_queries(chain: Chain) -> bool:
    return any(part.find(exp.Query) for part in chain.predicates)


def _qualified(value: exp.Expr, alias: str) -> exp.Expr:
    tree = value.copy()
    for known in [tree] if isinstance(tree, exp.Column) else tree.find_all(exp.Column):
        known.set("table", exp.to_identifier(alias))
    return tree


def _written(chain: Chain, kept: list[str] | None) -> exp.Query:
    if kept is None or chain.columns is None:
        return _select([exp.Star()], chain, chain.predicates, None)
    listed = [_named(chain.columns[name], name) for name in kept]
    return _select(listed, chain, chain.predicates, _read([*listed, *chain.predicates]))


def _select(
    listed: list[exp.Expr],
    chain: Chain,
    conditions: Iterable[exp.Expr],
    read: frozenset[str] | None,
) -> exp.Select:
    """Write a SELECT over the source of a chain, of which some columns are read."""
    source = chain.source
    items: list[exp.Expr]
    match source:
        case exp.Table():
            items = [source.copy()]
        case Product():
            items = [item.copy() for item in source.items]
        case Rows():
            items = [source.query(read).subquery(chain.alias, copy=False)]
        case _:
            items = [source.copy().subquery(chain.alias, copy=False)]
    select = exp.Select(expressions=listed, from_=exp.From(this=items[0]))
    if len(items) > 1:
        select.set("joins", [exp.Join(this=item, kind="CROSS") for item in items[1:]])
    once = list(dict.fromkeys(conditions))
    if once:
        select.set("where", exp.Where(this=exp.and_(*(part.copy() for part in once), copy=False)))
        guards.settle(select)
    return select


def _meant(value: exp.Expr, chain: Chain, alias: str) -> exp.Expr:
    """Return an expression in which columns are replaced by what they stand for.

    It may be part of another one: it is copied where it is written.
    """
    if isinstance(value, exp.Column):
        return chain.meaning(value.name)
    names = {c.name for c in value.find_all(exp.Column)}
    meant = {("", name): chain.meaning(name) for name in names}
    return _replaced(value, meant | {(alias, name): m for (_, name), m in meant.items()})


def _replaced(value: exp.Expr, meant: Mapping[tuple[str, str], exp.Expr]) -> exp.Expr:
    if isinstance(value, exp.Column):
        return meant.get((value.table, value.name), value)
    tree = value.copy()
    for known in list(tree.find_all(exp.Column)):
        meaning = meant.get((known.table, known.name))
        if meaning is None:
            continue
        new = meaning.copy()
        if isinstance(new, (exp.Binary, exp.Neg)):
            new = exp.Paren(this=new)
        known.replace(new)
    return tree


def _named(value: exp.Expr, name: str) -> exp.Expr:
    same = isinstance(value, exp.Star) or (isinstance(value, exp.Column) and value.name == name)
    value = value.copy()
    return value if same else exp.alias_(value, name, quoted=True, copy=False)


def _used(parts: Iterable[exp.Expr], alias: str, *, only: bool = False) -> Counter[str] | None:
    """Return how often each column is read, or None if expressions have names of their own.

    Args:
        parts: The expressions.
        alias: What the rows are called in them.
        only: Whether columns that do not say of which rows they are belong to others.
    """
    used: Counter[str] = Counter()
    for part in parts:
        for node in [part] if isinstance(part, exp.Column) else part.walk():
            if isinstance(node, exp.Column):
                if node.table == alias or not (node.table or only):
                    used[node.name] += 1
            elif isinstance(node, _NAMES_INSIDE) or (isinstance(node, exp.Star) and _is_all(node)):
                return None
    return used


def _read(parts: Iterable[exp.Expr]) -> frozenset[str] | None:
    """Return the columns that expressions may read; None if it may be all."""
    found: set[str] = set()
    for part in parts:
        for node in part.walk():
            if isinstance(node, (exp.Columns, exp.PositionalColumn)):
                return None
            if isinstance(node, exp.Star) and _is_all(node):
                return None
            # of a.b either may be the column
            if isinstance(node, exp.Identifier):
                found.add(node.name)
    return frozenset(found)


def _is_all(star: exp.Star) -> bool:
    """Return whether a star stands for all columns, as the one in count(*) does not."""
    return not isinstance(star.parent, exp.Count)


def _is_scalar(value: exp.Expr) -> bool:
    return isinstance(value, exp.Column) or all(isinstance(n, _SCALAR) for n in value.walk())
