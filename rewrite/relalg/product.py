"""The join of rows: its conditions and columns are expressions over the sources of its inputs.

    π_e (σ_p (π_c (σ_q (R)) × S))  =  π_e[c] (σ_q∧p[c] (R × S))

An input that cannot be written so is a subquery, of which the join reads some columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.relalg.chain import Chain, Product
from cqlduck.rewrite.relalg.rows import Rows
from cqlduck.rewrite.relalg.substitution import names_read, owned, qualified, substituted, used


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
    asked = [owned(part, owners) for condition in conditions for part in conjuncts(condition)]
    values = [(owned(item.unalias(), owners), item.alias_or_name) for item in listed]
    about = [*(value for value, _ in values), *asked]
    items: list[exp.Expr] = []
    inside: list[exp.Expr] = []
    meant: dict[tuple[str, str], exp.Expr] = {}
    for alias, rows in legs.items():
        counted = used(about, alias, only=True)
        chain = rows.chains[0]
        source = chain.source if len(rows.chains) == 1 and not rows.ctes else rows
        if (
            counted is None
            or not isinstance(source, (exp.Table, exp.Query))
            or not chain.can_compose(counted)
            or chain.asks_queries()
        ):
            items.append(rows.query(names_read(about)).subquery(alias, copy=False))
            continue
        items.append(_called(source, alias))
        for name in counted:
            meant[alias, name] = qualified(chain.meaning(name), alias)
        inside[:0] = [qualified(part, alias) for part in chain.predicates]
    columns = {name: substituted(value, meant) for value, name in values}
    tested = (*inside, *(substituted(part, meant) for part in asked))
    return Rows((Chain(Product(tuple(items)), "joined", columns, tested),))


def _called(source: exp.Table | exp.Query, alias: str) -> exp.Expr:
    """Return a table or a query as an item of FROM with a name."""
    item = source.copy()
    if isinstance(item, exp.Query):
        return item.subquery(alias, copy=False)
    item.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return item
