"""The SELECT of a chain, with only the columns that are read.

    π_columns (σ_predicates (source))   =   SELECT columns FROM source WHERE predicates

A source that is a subquery is written with only the columns that the SELECT reads, and so on down.
A conjunct is written once; those that may raise follow the others (`guards`). Trees are copied, so
that no part of a value belongs to a statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from cqlduck.rewrite.plan import guards
from cqlduck.rewrite.relalg.chain import Chain, Product
from cqlduck.rewrite.relalg.substitution import names_read


def union(
    chains: Sequence[Chain], ctes: Mapping[str, exp.Query], names: Sequence[str] | None
) -> exp.Query:
    """Return the rows of chains together as a query.

    Args:
        chains: The chains.
        ctes: Queries, by name, that their sources may read.
        names: The columns that are written; None is all of a table.
    """
    if len(chains) == 1 and not ctes and (query := _whole(chains[0], names)) is not None:
        return query
    first, *others = (_written(chain, names) for chain in chains)
    query = first
    for other in others:
        query = exp.union(query, other, distinct=False, copy=False)
    for name, cte in ctes.items():
        query = query.with_(name, as_=cte.copy(), copy=False)
    return query


def grouped(
    chain: Chain,
    listed: Sequence[exp.Expr],
    conditions: Sequence[exp.Expr],
    keys: Sequence[exp.Expr],
    having: exp.Expr | None,
) -> exp.Select:
    """Return a SELECT over the source of a chain, which may group.

    Args:
        chain: The chain; its columns stand in the expressions already.
        listed: The list.
        conditions: What WHERE asks besides the chain's predicates.
        keys: What it groups by.
        having: The condition on groups.
    """
    asked = [*chain.predicates, *conditions]
    after = [] if having is None else [having]
    select = _select(list(listed), chain, asked, names_read([*listed, *asked, *keys, *after]))
    if keys:
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    if having is not None:
        select.set("having", exp.Having(this=having.copy()))
    return select


def named(value: exp.Expr, name: str) -> exp.Expr:
    """Return a copy of an expression as an item of a SELECT list."""
    same = isinstance(value, exp.Star) or (isinstance(value, exp.Column) and value.name == name)
    value = value.copy()
    return value if same else exp.alias_(value, name, quoted=True, copy=False)


def _whole(chain: Chain, names: Sequence[str] | None) -> exp.Query | None:
    """Return the source as a query if it is all that there is to say."""
    if names is None or not chain.hands_on():
        return None
    match chain.source:
        case exp.Table() | Product():
            return None
        case exp.Query():
            return chain.source.copy() if tuple(names) == tuple(chain.columns or ()) else None
        case relation:
            return relation.query() if tuple(names) == relation.names else None


def _written(chain: Chain, names: Sequence[str] | None) -> exp.Select:
    if names is None or chain.columns is None:
        return _select([exp.Star()], chain, chain.predicates, None)
    listed = [named(chain.columns[name], name) for name in names]
    return _select(listed, chain, chain.predicates, names_read([*listed, *chain.predicates]))


def _select(
    listed: list[exp.Expr],
    chain: Chain,
    conditions: Iterable[exp.Expr],
    read: frozenset[str] | None,
) -> exp.Select:
    """Return a SELECT over the source of a chain, of which some columns are read."""
    first, *others = _items(chain, read)
    select = exp.Select(expressions=listed, from_=exp.From(this=first))
    if others:
        select.set("joins", [exp.Join(this=item, kind="CROSS") for item in others])
    once = list(dict.fromkeys(conditions))
    if once:
        select.set("where", exp.Where(this=exp.and_(*(part.copy() for part in once), copy=False)))
        guards.order_guards(select)
    return select


def _items(chain: Chain, read: frozenset[str] | None) -> list[exp.Expr]:
    """Return the items of FROM."""
    match chain.source:
        case exp.Table():
            return [chain.source.copy()]
        case Product(items):
            return [item.copy() for item in items]
        case exp.Query():
            return [chain.source.copy().subquery(chain.alias, copy=False)]
        case relation:
            return [relation.query(read).subquery(chain.alias, copy=False)]
