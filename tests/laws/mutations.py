"""Broken rules: each is a function on the trees of a block's statements.

Of each node of each tree `CHANGES` say how it may be broken. A mutation is known by its title,
which names the statement, what is there and what takes its place; of equal titles the second has a
2 behind it, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from cqlduck.rewrite.plan import FOREVER
from cqlduck.rewrite.relalg.elements import ENTER, LEAVE, WEIGHT
from laws.bench import Written

Change = tuple[str, Callable[[], object]]
"""What is broken at a node, in words, and what breaks it in place."""


@dataclass(frozen=True)
class Mutation:
    """A statement that is broken at a node, in one of the ways that there are; or left out."""

    title: str
    statement: int
    node: int | None = None
    way: int = 0

    def applied(self, statements: Written) -> Written:
        """Return the statements, one of them broken."""
        if self.node is None:
            return statements.with_part(self.statement, None)
        # whoever is replaced has a parent
        root = exp.Paren(this=statements.parts[self.statement].tree.copy())
        node = list(root.this.walk(bfs=False))[self.node]
        _, change = list(changes(node))[self.way]
        change()
        return statements.with_part(self.statement, root.this)


def mutations(statements: Written) -> list[Mutation]:
    """Return all mutations of statements."""
    found: list[Mutation] = []
    for place, part in enumerate(statements.parts):
        if part.is_hidden:
            continue
        tree = exp.Paren(this=part.tree.copy()).this
        for number, node in enumerate(tree.walk(bfs=False)):
            for way, (title, _) in enumerate(changes(node)):
                found.append(Mutation(f"{part.title}: {title}", place, number, way))
        if part.kind == "upkeep" or isinstance(part.tree, (exp.Insert, exp.Delete, exp.Update)):
            found.append(Mutation(f"{part.title}: left out", place))
    return _told_apart(found)


def _told_apart(found: list[Mutation]) -> list[Mutation]:
    seen: Counter[str] = Counter()
    out = []
    for one in found:
        seen[one.title] += 1
        number = seen[one.title]
        out.append(one if number == 1 else replace(one, title=f"{one.title} {number}"))
    return out


def changes(node: exp.Expr) -> Iterator[Change]:
    """Yield the ways in which a node may be broken."""
    for kind in CHANGES:
        yield from kind(node)


def _becomes(node: exp.Expr, other: exp.Expr) -> Change:
    return f"{_short(node)} -> {_short(other)}", lambda: node.replace(other)


def _short(node: exp.Expr, width: int = 60) -> str:
    text = node.sql("duckdb")
    return text if len(text) <= width else f"{text[: width // 2]} … {text[-width // 2 :]}"


_EDGES = {exp.LT: exp.LTE, exp.LTE: exp.LT, exp.GT: exp.GTE, exp.GTE: exp.GT}
_LOOSE = {exp.NullSafeEQ: exp.EQ, exp.NullSafeNEQ: exp.NEQ}
_OTHERS = {
    exp.Add: exp.Sub,
    exp.Sub: exp.Add,
    exp.Min: exp.Max,
    exp.Max: exp.Min,
    exp.Sum: exp.Max,
    exp.Lead: exp.Lag,
    exp.Lag: exp.Lead,
}


def comparisons(node: exp.Expr) -> Iterator[Change]:
    """An edge, or that NULL is equal to NULL."""
    other = (_EDGES | _LOOSE).get(type(node))
    if other is not None:
        yield _becomes(node, other(this=node.this.copy(), expression=node.expression.copy()))


def opposites(node: exp.Expr) -> Iterator[Change]:
    """Addition and subtraction, least and greatest, a sum and one of it, the next and the last."""
    other = _OTHERS.get(type(node))
    if other is not None:
        yield _becomes(node, other(**{k: _copied(v) for k, v in node.args.items()}))
    if isinstance(node, exp.Anonymous) and node.name in ("least", "greatest"):
        name = "least" if node.name == "greatest" else "greatest"
        listed = [value.copy() for value in node.expressions]
        yield _becomes(node, exp.Anonymous(this=name, expressions=listed))


def _copied(value: object) -> object:
    if isinstance(value, exp.Expr):
        return value.copy()
    return [_copied(one) for one in value] if isinstance(value, list) else value


def terms(node: exp.Expr) -> Iterator[Change]:
    """A term of a union is empty."""
    if isinstance(node, exp.SetOperation):
        for side in ("left", "right"):
            arm = getattr(node, side)
            if not isinstance(arm, exp.SetOperation):
                rows = exp.select("*").from_(arm.copy().subquery("term")).where(exp.false())
                yield f"without {_short(arm)}", lambda arm=arm, rows=rows: arm.replace(rows)


def conjuncts(node: exp.Expr) -> Iterator[Change]:
    """A condition is forgotten, or one of several of which one is enough."""
    if isinstance(node, (exp.Where, exp.Having, exp.Qualify)):
        found = list(_flat(node.this, exp.And))
    elif isinstance(node, exp.Join) and node.args.get("on"):
        found = list(_flat(node.args["on"], exp.And))
    elif isinstance(node, exp.If):
        found = list(_flat(node.this, exp.And))
    else:
        found = []
    for condition in found:
        if not isinstance(condition, exp.Boolean):
            yield f"without {_short(condition)}", lambda c=condition: c.replace(exp.true())
    if isinstance(node, exp.Or):
        for condition in (node.left, node.right):
            if not isinstance(condition, exp.Or):
                what = f"without OR {_short(condition)}"
                yield what, lambda c=condition: c.replace(exp.false())


def _flat(node: exp.Expr, kind: type[exp.Connector]) -> Iterator[exp.Expr]:
    inner = node.unnest() if isinstance(node.unnest(), kind) else node
    if isinstance(inner, kind):
        yield from _flat(inner.left, kind)
        yield from _flat(inner.right, kind)
    else:
        yield inner


def joins(node: exp.Expr) -> Iterator[Change]:
    """What finds no partner is there, or is not."""
    if isinstance(node, exp.Join) and node.args.get("on"):
        other = "" if node.side == "LEFT" else "LEFT"
        name = _short(node.this)
        yield (
            f"{node.side or 'INNER'} JOIN {name} -> {other or 'INNER'}",
            lambda: node.set("side", other),
        )


def signs(node: exp.Expr) -> Iterator[Change]:
    """A weight is turned round, or a product has one factor."""
    if isinstance(node, exp.Neg):
        yield _becomes(node, node.this.copy())
    if isinstance(node, exp.Mul):
        yield _becomes(node, node.left.copy())
        yield _becomes(node, node.right.copy())
    shown = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    if shown and node.alias_or_name == WEIGHT and not isinstance(node.unalias(), exp.Neg):
        turned = exp.alias_(exp.Neg(this=exp.paren(node.unalias().copy())), WEIGHT)
        yield _becomes(node, turned)


def lifetimes(node: exp.Expr) -> Iterator[Change]:
    """When a tuple enters is taken for when it leaves, or the other way round."""
    if isinstance(node, exp.Column) and node.name in (ENTER, LEAVE):
        other = node.copy()
        other.this.set("this", LEAVE if node.name == ENTER else ENTER)
        if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
            other = exp.alias_(other, node.name)
        yield _becomes(node, other)


def bounds(node: exp.Expr) -> Iterator[Change]:
    """One end of the tick is taken for the other."""
    if isinstance(node, exp.Placeholder) and str(node.this) in ("t0", "t1"):
        other = "t1" if str(node.this) == "t0" else "t0"
        around = node.parent or node
        title = f"{_short(around)} with ${other}"
        yield title, lambda: node.replace(exp.Placeholder(this=other))


def numbers(node: exp.Expr) -> Iterator[Change]:
    """A number is one more."""
    if not isinstance(node, exp.Literal) or node.is_string or not node.this.isdigit():
        return
    in_list = isinstance(node.parent, exp.Select)
    if in_list or int(node.this) == FOREVER or node.find_ancestor(exp.DataType):
        return
    title = f"{_short(node.parent or node)} with {int(node.this) + 1}"
    yield title, lambda: node.replace(exp.Literal.number(int(node.this) + 1))


def frames(node: exp.Expr) -> Iterator[Change]:
    """A window function goes over more rows, or in the other order."""
    if not isinstance(node, exp.Window):
        return
    for key in node.args.get("partition_by") or []:
        yield f"{_short(node)} without {_short(key)}", lambda key=key: key.replace(exp.true())
    for key in node.find_all(exp.Ordered):
        if key.find_ancestor(exp.Window) is node:
            title = f"{_short(node)} with {_short(key)} turned round"
            yield title, lambda key=key: key.set("desc", not key.args.get("desc"))


def values(node: exp.Expr) -> Iterator[Change]:
    """The first of several values is taken, a truth is another, or is always so."""
    if isinstance(node, exp.Coalesce):
        yield _becomes(node, node.this.copy())
    if isinstance(node, exp.Boolean) and not isinstance(node.parent, exp.Where):
        yield _becomes(node, exp.Boolean(this=not node.this))
    if isinstance(node, exp.Alias) and isinstance(node.this.unnest(), (exp.Predicate, exp.Not)):
        inner = node.this
        yield f"{_short(node)} -> TRUE", lambda: inner.replace(exp.true())


CHANGES = (
    comparisons, opposites, terms, conjuncts, joins, signs, lifetimes, bounds, numbers, frames,
    values,
)  # fmt: skip
