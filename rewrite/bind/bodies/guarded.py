"""Conditions in the order of their text, in a recomputed query.

This is `plan.guards` for SQL instead of plans: in WHERE, HAVING, QUALIFY and ON, a condition that
may raise and those after it are tested in a CASE; arguments of aggregates that may raise are
evaluated where their FILTER is true. A condition over several items of FROM reads all of them, so
that DuckDB does not test it on one of them alone; so do the conditions of WHERE behind an ON that
may raise, which is tested again before them. Equalities that link items stay outside, unless they
are such conditions of WHERE: DuckDB joins by them.

Conditions with a subquery of their own stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.select_parts import from_items
from cqlduck.rewrite.plan import guards
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.text.parsed import words_of

_CALL = "_cql_call"
"""What stands for the value of an aggregate or window function while a condition is looked at."""


def guard_conditions(body: exp.Query, inputs: Inputs) -> bool:
    """Put the conditions of a query, of its subqueries too, in the order of their text, in place.

    Args:
        body: The query.
        inputs: What is known of the items of its FROM clauses.

    Returns:
        Whether the order of some conditions matters: one of them may raise.
    """
    is_guarded = False
    for select in list(body.find_all(exp.Select)):
        conditions = _Conditions(select, inputs)
        conditions.order_filters()
        conditions.order_joins()
        for clause in ("where", "having", "qualify"):
            conditions.order_clause(clause)
        is_guarded |= conditions.is_guarded
    return is_guarded


class _Conditions:
    """The conditions of one SELECT."""

    def __init__(self, select: exp.Select, inputs: Inputs) -> None:
        self.select = select
        self.inputs = inputs
        self.aggregates = inputs.catalog.aggregates
        self.items = from_items(select)
        self.types = {**column_types(select, inputs), _CALL: "BIGINT"}
        self.is_guarded = False

    def order_filters(self) -> None:
        """Work out arguments where FILTER is true."""
        for node in list(self.select.find_all(exp.Filter)):
            if node.find_ancestor(exp.Query) is self.select:
                made = guards.filtered(node, self.types)
                node.set("this", made.this)
                node.set("expression", made.expression)

    def order_joins(self) -> None:
        """Order what ON says of a join: it is about the items since the last comma."""
        first = 0
        for number, (_, join) in enumerate(self.items):
            if join is None or _is_comma(join):
                first = number
                continue
            on = join.args.get("on")
            if on is None or not _is_ordered(join):
                continue
            seen = [*self._visible(first, number), self.items[number][0]]
            ordered = self._ordered(conjuncts(on), self._present(seen))
            if ordered is not None:
                join.set("on", ordered)

    def _present(self, items: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Return what is true of every row, and reads each of several items."""
        known = [(item, self.inputs.columns_of(item)) for item in items]
        read = [column(columns[0].name, item.alias) for item, columns in known if columns]
        return [_are_there(read)] if len(items) > 1 and read else []

    def _visible(self, first: int, end: int) -> list[exp.Expr]:
        """Return the items of a range whose columns are seen behind their join."""
        items = self.items[first:end]
        return [item for item, join in items if join is None or not _is_asking(join)]

    def order_clause(self, name: str) -> None:
        """Order WHERE, HAVING or QUALIFY."""
        clause = self.select.args.get(name)
        if clause is None:
            return
        present: list[exp.Expr] = []
        if name == "where" and all(join is None or _is_ordered(join) for _, join in self.items):
            present = self._present(self._visible(0, len(self.items)))
        written, is_after = conjuncts(clause.this), False
        if name == "where":
            joins = [join for _, join in self.items if join is not None and join.args.get("on")]
            is_after = any(self._may_raise(c) for join in joins for c in conjuncts(join.args["on"]))
            if is_after:
                # DuckDB makes one of ON and WHERE: the latter says what is tested before it
                inner = [join.args["on"] for join in joins if is_inner(join)]
                written = [c for on in inner for c in conjuncts(on)] + written
        ordered = self._ordered(written, present, is_after)
        if ordered is not None:
            clause.set("this", ordered)

    def _ordered(
        self, conditions: Sequence[exp.Expr], present: Sequence[exp.Expr], is_after: bool = False
    ) -> exp.Expr | None:
        """Return conditions in order; None if they may stay as they are.

        Args:
            conditions: The conditions.
            present: What is true, and reads all that they are about.
            is_after: Whether something that may raise comes before them.
        """
        risky = [n for n, condition in enumerate(conditions) if self._may_raise(condition)]
        if not (risky or is_after) or (len(conditions) == 1 and not present):
            return None
        self.is_guarded = True
        asking = [condition for condition in conditions if condition.find(exp.Query) is not None]
        early = [
            condition
            for n, condition in enumerate(conditions)
            if not is_after and (n < risky[0] or (n not in risky and self._is_link(condition)))
        ]
        early = [condition for condition in early if condition not in asking]
        tested = [c for c in conditions if c not in early and c not in asking]
        ahead = [c.copy() for c in [*early, *present]]
        guard = guards.nested([exp.and_(*ahead), *tested] if ahead else tested)
        return exp.and_(*(c.copy() for c in [*early, *asking]), guard)

    def _is_link(self, condition: exp.Expr) -> bool:
        """Return whether a condition compares columns of two items for equality.

        An item of a SELECT around this one counts too: a subquery is joined by such equalities.
        """
        if not isinstance(condition, (exp.EQ, exp.NullSafeEQ)):
            return False
        sides = (condition.this, condition.expression)
        if not all(isinstance(side, exp.Column) for side in sides):
            return False
        one, other = (self._item_of(side) for side in sides)
        return one is not None and other is not None and one != other

    def _item_of(self, read: exp.Column) -> str | None:
        """Return the name of the item that has a column, or None if the text does not tell."""
        if read.table:
            return read.table.lower()
        for scope in _scopes(self.select):
            items = [item for item, _ in from_items(scope)]
            having = [item for item in items if self._has(item, read.name)]
            if having or any(self.inputs.columns_of(item) is None for item in items):
                return having[0].alias_or_name.lower() if len(having) == 1 else None
        return None

    def _has(self, item: exp.Expr, name: str) -> bool:
        return any(c.name.lower() == name.lower() for c in self.inputs.columns_of(item) or ())

    def _may_raise(self, condition: exp.Expr) -> bool:
        if condition.find(exp.Query) is not None:
            return False
        copy = exp.paren(condition.copy())
        for node in list(copy.find_all(exp.Window)):
            node.replace(exp.column(_CALL))
        for call in list(aggregate_calls(copy, self.aggregates)):
            call.replace(exp.column(_CALL))
        return can_raise(copy, self.types)


def column_types(select: exp.Select, inputs: Inputs) -> Mapping[str, str]:
    """Return the types of the columns that a SELECT names, where the text tells them.

    A column may be one of a SELECT around it, or of one inside. A name that has several types, or
    that is also one of an item of which nothing is known, is left out.

    Args:
        select: The SELECT.
        inputs: What is known of the items of FROM clauses.
    """
    known: dict[str, set[str]] = {}
    aliases: set[str] = set()
    for scope in [*_scopes(select), *select.find_all(exp.Select)]:
        for item, _ in from_items(scope):
            for found in inputs.columns_of(item) or ():
                known.setdefault(found.name.lower(), set()).add(found.type)
                aliases.add(item.alias_or_name.lower())
    columns = list(select.find_all(exp.Column))
    hidden = {c.name.lower() for c in columns if c.table and c.table.lower() not in aliases}
    return {
        node.name: next(iter(known[node.name.lower()]))
        for node in columns
        if len(known.get(node.name.lower(), ())) == 1 and node.name.lower() not in hidden
    }


def _scopes(select: exp.Select) -> Iterator[exp.Select]:
    """Yield a SELECT and those around it, whose columns it may name."""
    scope: exp.Expr | None = select
    while scope is not None:
        if isinstance(scope, exp.Select):
            yield scope
        scope = scope.parent


def is_inner(join: exp.Join) -> bool:
    """Return whether a join keeps no row without a partner."""
    return words_of(join) <= {"INNER", "CROSS", "NATURAL"}


def _is_comma(join: exp.Join) -> bool:
    return not words_of(join) and not join.args.get("on") and not join.args.get("using")


def _is_asking(join: exp.Join) -> bool:
    """Return whether a join only asks for a partner, and shows none of its columns."""
    return bool(words_of(join) & {"SEMI", "ANTI"})


def _is_ordered(join: exp.Join) -> bool:
    """Return whether a join combines rows by conditions alone."""
    return not words_of(join) & {"ASOF", "POSITIONAL", "LATERAL"}


def _are_there(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return what is true, and reads values, though DuckDB does not know so.

    One call reads all: of several conditions DuckDB may test some before a LEFT JOIN.
    """
    return exp.not_(
        exp.Is(this=exp.Anonymous(this="hash", expressions=[*values]), expression=exp.null())
    )
