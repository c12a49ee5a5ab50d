"""Top k: the first tuples of an input by a total order, from those that can be among them.

Let k be what LIMIT and OFFSET come to together. Of the tuples that stand through the whole tick
only the first k can be chosen at any of its instants, so these, and what begins or ends in the
tick, decide as the input itself does:

    top_k (R(τ))  =  top_k (top_k (S) + L(τ))       S: what stands through the tick, L: the rest

A deletion is the end of a lifetime, not one with a negative weight: an input of which that is not
so is kept net (`rules.materialize`).

The order is total, as ties are broken by all columns (`bind.bodies.ties`); equal tuples are the
same in the result. What is shown of tuples that are not chosen may not raise: it is not worked out.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.operators.recompute import Recomputation
from cqlduck.rewrite.plan import (
    Column,
    During,
    Filter,
    Net,
    Plan,
    Project,
    Recompute,
    SetOperation,
    UnionAll,
    properties,
)
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import lifetime_names
from cqlduck.rewrite.relalg.values import identities


class TopK(Recomputation):
    """The first tuples of an input, chosen from those that can be among them."""

    def touching(self, place: int) -> exp.Query:
        """Return the lifetimes that can matter in the tick."""
        plan, order = self.node.inputs[place], ordering(self.node)
        assert order is not None
        assert self.node.first is not None
        standing = self.writer.standing(plan).subquery("standing")
        first = exp.select("*").from_(standing, copy=False)
        first = first.order_by(*order, copy=False).limit(self.node.first, copy=False)
        chosen = Rows.given(first, lifetime_names(plan.columns), "chosen")
        return Rows.union([chosen, self.writer.lives(plan)]).query()


def can_choose(node: Recompute) -> bool:
    """Return whether a query chooses the first tuples of its input, and they can be told."""
    return node.first is not None and _are_there(node.inputs[0]) and ordering(node) is not None


def _are_there(plan: Plan) -> bool:
    """Return whether no lifetime has a negative weight."""
    match plan:
        case Net():
            return plan.is_kept
        case SetOperation():
            return True
        case Filter() | During() | Project():
            return _are_there(plan.input)
        case UnionAll():
            return all(map(_are_there, plan.inputs))
        case _:
            return properties(plan).has_unit_weights


def ordering(node: Recompute) -> list[exp.Expr] | None:
    """Return the terms by which tuples are chosen, over the columns of the input.

    Args:
        node: A query that chooses the `first` tuples of its input.

    Returns:
        None if a term, or what is shown, may raise, or if its names do not tell what it reads.
    """
    (plan,), select = node.inputs, node.query
    assert isinstance(select, exp.Select)
    types = {c.name: c.type for c in plan.columns}
    known = dict(zip((name.lower() for name in node.names[0]), plan.columns, strict=True))
    alias = select.args["from_"].this.alias_or_name.lower()
    shown = [_over(e.unalias(), alias, known) for e in select.expressions]
    if any(e is None or can_raise(e, types) for e in shown):
        return None
    aliases = {
        listed.alias.lower(): e for listed, e in zip(select.expressions, shown, strict=True)
        if isinstance(listed, exp.Alias)
    }  # fmt: skip
    told = identities(plan.columns)  # of these it is known that they do not raise
    terms: list[exp.Expr] = []
    for term in select.args["order"].expressions:
        value = term.this if isinstance(term, exp.Ordered) else term
        if isinstance(value, exp.Literal):
            if value.is_string or not 1 <= int(value.name) <= len(shown):
                return None
            found = shown[int(value.name) - 1]
        elif isinstance(value, exp.Column) and not value.table and value.name.lower() in aliases:
            found = aliases[value.name.lower()]
        else:
            found = _over(value, alias, known)
        if found is None or (found not in told and can_raise(found, types)):
            return None
        if found.find(exp.Column) is None:
            # it decides nothing, and a number would be a place
            continue
        made = term.copy() if isinstance(term, exp.Ordered) else exp.Ordered(this=term.copy())
        made.set("this", found.copy())
        terms.append(made)
    return terms


def _over(value: exp.Expr, alias: str, known: dict[str, Column]) -> exp.Expr | None:
    """Return an expression of the query over the columns of its input, or None."""
    if value.is_star or value.find(exp.Window, exp.Unnest, exp.Query, exp.Columns):
        return None
    value = value.copy()
    for read in list(value.find_all(exp.Column)):
        meant = known.get(read.name.lower()) if read.table.lower() in ("", alias) else None
        if meant is None or len(read.parts) > 2:
            return None
        if read is value:
            return column(meant.name)
        read.replace(column(meant.name))
    return value
