"""Expressions that may raise are evaluated on net relations, without elements that cancel.

L − R passes on the elements of L, and those of R with negated weights. A log has elements, so a
deleted tuple is in it twice, and later tuples are joined with both, once with each weight. In sums
that changes nothing. But an expression above is evaluated for each of them, and may raise for a
tuple that is not in the result. So where an expression may raise,

    R  =  net(R)

whose elements and lifetimes are those of the tuples that are there, each by its count (`counting`).
Elements alone need no synopsis: those of a tick are summed by tuple and instant. The node stands
below the linear operators that lead up to the expression, above the elements that cancel: a
difference, a log below a join, and the log of a named query, whose past is one instant for a query
that begins later. An append-only input has nothing that cancels.

In L ⟕ R = (L ⋈ R) + (L ▷ R) × NULLs each tuple of L is in one part or the other. So an expression
over columns of L alone, that no condition over columns of R guards, raises in both parts alike: for
it the difference stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from cqlduck.rewrite.physical.algebra import needs_lifetimes
from cqlduck.rewrite.plan import (
    Aggregate,
    Difference,
    During,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Recompute,
    RelationScan,
    ToStream,
    Trace,
    UnionAll,
    on_children,
    properties,
    with_children,
)
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.relalg.builders import column, is_padding

MAX_NODES = 500
"""How many nodes of an expression are looked at; text that is read twice at each level doubles."""

_OTHER = "large"

Tests = tuple[exp.Expr, ...]
"""Expressions in the order of evaluation: each where those before it are true."""


@dataclass(frozen=True)
class _Above:
    """The expressions that linear operators above a node evaluate on its tuples.

    Attributes:
        tests: Expressions over the node's columns, some of which may raise.
        types: The types of the columns that they read.
        lives: Whether lifetimes are read, not elements.
    """

    tests: tuple[Tests, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    lives: bool = False

    def behind(self, node: Plan, conditions: Sequence[exp.Expr]) -> _Above:
        """Return the same with conditions of a node before it."""
        types = {**self.types, **_types(node.children)}
        own = [tuple(conditions)] if any(can_raise(c, types) for c in conditions) else []
        tests = (*(tuple(conditions) + listed for listed in self.tests), *own)
        return replace(self, tests=tests, types=types)

    def through(self, node: Project) -> _Above:
        """Return the same over the input of a projection, with the projection's expressions."""
        values = dict(zip((c.name for c in node.columns), node.expressions, strict=True))
        types = _types([node.input])
        own = [(value,) for value in node.expressions if can_raise(value, types)]
        tests = [tuple(_meant(test, values) for test in listed) for listed in self.tests]
        others = {name: kind for name, kind in self.types.items() if name not in values}
        return replace(self, tests=(*tests, *own), types={**others, **types})

    def into(self, plan: Plan) -> _Above:
        """Return the same over one input of a join; columns of the others get names of their own.

        A column that no input has, because its tuples were combined above, is renamed once more.
        """
        known = {c.name for c in plan.columns}
        names = {name: f"{name} beside" for name in self.types if name not in known}
        values: dict[str, exp.Expr] = {old: column(new) for old, new in names.items()}
        tests = tuple(tuple(_meant(test, values) for test in listed) for listed in self.tests)
        types = {names.get(name, name): kind for name, kind in self.types.items()}
        return _Above(tests, types, lives=True)

    def may_raise_on_padding(self) -> bool:
        """Return whether something may raise that is, or stands behind, what reads padding."""
        return any(self._reads_padding(listed) for listed in self.tests)

    def _reads_padding(self, listed: Tests) -> bool:
        is_padded = False
        for test in listed:
            is_padded = is_padded or any(map(is_padding, test.walk()))
            if is_padded and can_raise(_with_nulls(test), self.types):
                return True
        return False


def net(plan: Plan) -> Plan:
    """Make inputs of expressions that may raise net, where elements may cancel."""
    return _net(plan, _Above())


def _net(plan: Plan, above: _Above) -> Plan:
    if above.tests and _cancels(plan, above):
        # what the log was for the net relation keeps too
        kept = plan.input if isinstance(plan, Trace) else plan
        return Net(_net(kept, _Above()), above.lives)
    match plan:
        case Filter() if not properties(plan).is_stream:
            return _with(plan, above.behind(plan, conjuncts(plan.predicate)))
        case During():
            return _with(plan, replace(above.behind(plan, (*plan.begins, *plan.ends)), lives=True))
        case Project():
            return _with(plan, above.through(plan))
        case Join():
            own = above.behind(plan, plan.predicates)
            return with_children(plan, tuple(_net(i, own.into(i)) for i in plan.inputs))
        case UnionAll() | Difference():
            return _with(plan, above)
        case Trace():
            is_now = properties(plan).is_instantaneous
            return _with(plan, replace(above, lives=is_now))
        case Aggregate():
            return _with(plan, _Above(lives=needs_lifetimes(plan)))
        case Recompute() | ToStream(kind="rstream"):
            return _with(plan, _Above(lives=True))
        case _:
            return _with(plan, _Above())


def _with(plan: Plan, above: _Above) -> Plan:
    return on_children(plan, lambda child: _net(child, above))


def _cancels(plan: Plan, above: _Above) -> bool:
    """Return whether tuples that are not there may be among those that a node hands on."""
    facts = properties(plan)
    match plan:
        case Difference():
            return not plan.is_padded or above.lives or above.may_raise_on_padding()
        case _ if facts.is_append_only:
            return False
        case RelationScan() if plan.source.is_query:
            return True
        case _ if not above.lives or facts.is_instantaneous:
            return False
        case UnionAll():
            return any(map(ends_in_difference, plan.inputs))
        case Join() | Recompute() | Trace():
            return True
        case _:
            return False


def ends_in_difference(plan: Plan) -> bool:
    """Return whether a plan is a difference, selected and projected."""
    while isinstance(plan, (Filter, During, Project)):
        plan = plan.input
    return isinstance(plan, Difference)


def _types(plans: Iterable[Plan]) -> dict[str, str]:
    return {c.name: c.type for plan in plans for c in plan.columns}


def _meant(tree: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return an expression with columns replaced by what they stand for.

    One that would get too large becomes a call of no known function over what it reads: that may
    raise, as far as is known, and reads padding if it did.
    """
    read = [c for c in tree.find_all(exp.Column) if c.name in values]
    sizes = {c.name: sum(1 for _ in values[c.name].walk()) for c in read}
    if sum(sizes[c.name] for c in read) > MAX_NODES:
        parts = [part for name in sizes for part in _read_by(values[name])]
        parts += [c for c in tree.find_all(exp.Column) if c.name not in values]
        return exp.Anonymous(this=_OTHER, expressions=[p.copy() for p in dict.fromkeys(parts)])

    def replaced(node: exp.Expr) -> exp.Expr:
        known = isinstance(node, exp.Column) and node.name in values
        return values[node.name].copy() if known else node

    return tree.copy().transform(replaced, copy=False)


def _read_by(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the columns and the padding in an expression."""
    for node in tree.walk():
        if isinstance(node, exp.Column) or is_padding(node):
            yield node


def _with_nulls(tree: exp.Expr) -> exp.Expr:
    """Return an expression with a bare NULL for what pads: a cast of it never raises.

    Where something else may take its place, as in coalesce, the expression stays as it is.
    """
    if tree.find(exp.Coalesce, exp.Case, exp.If):
        return tree

    def replaced(node: exp.Expr) -> exp.Expr:
        return exp.null() if is_padding(node) else node

    return tree.copy().transform(replaced, copy=False)
