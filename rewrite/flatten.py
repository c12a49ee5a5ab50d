"""One SELECT for a chain of selections and projections.

The delta rules nest: each writes its SELECT around those of its inputs. DuckDB would merge them
when it optimizes, but by then it has parsed and bound each, and in a tick over few rows that is
most of the time. So they are merged here, once, when a query is compiled.

It is for what the rules write: a query's own text may name rows and columns in more ways.

`flatten` replaces a column of an inner SELECT by what it stands for, and joins the conditions. It
leaves alone whatever could come out as something else:

* an inner SELECT with more than a list, FROM and WHERE, or with expressions other than columns,
  constants and arithmetic over them, which are deterministic and cheap enough to stand twice;
* expressions with names of their own, in which a name that comes from inside could be captured:
  subqueries, lambdas, fields of structs;
* outer joins, whose sides are filtered before they are joined.

Before that, what an inner SELECT lists and nobody around it reads is left out, if it is a value
that each row has by itself: an aggregate or `unnest` decides how many rows there are.

In DuckDB a column goes before an alias of the same name everywhere but in ORDER BY, so a SELECT
with an ORDER BY stays around what it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from sqlglot import exp

from cqlduck.rewrite import guards
from cqlduck.rewrite.conditions import conjuncts

_PLAIN = {"expressions", "from_", "where"}
"""The clauses of an inner SELECT that is merged."""

_AROUND = _PLAIN | {"joins", "group", "having", "distinct", "with_"}
"""The clauses of a SELECT that others are merged into."""

_SIMPLE = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Placeholder, exp.Cast,
    exp.DataType, exp.DataTypeParam, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Paren,
)  # fmt: skip
"""What the expressions of an inner SELECT are made of."""

_SCALAR = (
    *_SIMPLE, exp.Case, exp.If, exp.Coalesce, exp.And, exp.Or, exp.Not, exp.Is, exp.GT, exp.GTE,
    exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Div, exp.IntDiv, exp.Mod,
)  # fmt: skip
"""What the expressions are made of that are left out if nobody reads them."""

_GROUPED = (exp.Column, exp.Cast)
"""By what a SELECT is grouped that others are merged into; a number would be a position."""

_SMALL = 8
"""How many nodes an expression has at most that is written more than once."""


def flatten(tree: exp.Expr) -> exp.Expr:
    """Merge the nested SELECTs of a statement, in place, and return it."""
    if tree.find(exp.Lateral) is not None:
        return tree
    for select in tree.find_all(exp.Select):
        _leave_out(select)
    for select in reversed(list(tree.find_all(exp.Select))):
        while _merge(select):
            pass
        if not _unwrap(select):
            _rename(select)
    for select in tree.find_all(exp.Select):
        guards.settle(select)
    return tree


def _leave_out(select: exp.Select) -> None:
    """Leave out of what a SELECT reads the columns that it does not."""
    joins = select.args.get("joins") or []
    items = [select.args["from_"], *joins] if select.args.get("from_") else []
    inner = [(leg, query) for leg in items if (query := _inner(leg)) is not None]
    if not inner or any(join.args.get("using") or join.args.get("method") for join in joins):
        return
    legs = {id(leg.this) for leg in items}
    around = list(select.walk(prune=lambda node: id(node) in legs))
    if any(
        isinstance(node, (exp.Columns, exp.PositionalColumn)) or _is_all(node) for node in around
    ):
        return
    # of a.b either may be the column
    read = {node.name.lower() for node in around if isinstance(node, exp.Identifier)}
    for _, query in inner:
        arms = list(_arms(query))
        if not all(isinstance(arm, exp.Select) and _clauses(arm) <= _PLAIN for arm in arms):
            continue
        lists = [arm.expressions for arm in arms]
        if len({len(listed) for listed in lists}) > 1 or not all(map(_has_name, lists[0])):
            continue
        kept = [
            place
            for place, known in enumerate(lists[0])
            if known.alias_or_name.lower() in read
            or not all(isinstance(node, _SCALAR) for arm in lists for node in _value(arm[place]))
        ]
        for arm, listed in zip(arms, lists, strict=True):
            arm.set("expressions", [listed[place] for place in kept or [0]])


def _value(listed: exp.Expr) -> Iterator[exp.Expr]:
    return listed.unalias().walk()


def _is_all(node: exp.Expr) -> bool:
    """Return whether a node stands for all columns, as the one in count(*) does not."""
    return isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count)


def _merge(select: exp.Select) -> bool:
    """Merge one of the SELECTs that a SELECT reads into it; return whether there was one."""
    if not _clauses(select) <= _AROUND or "from_" not in _clauses(select):
        return False
    joins = select.args.get("joins") or []
    legs = [select.args["from_"], *joins]
    if not all(map(_is_inner, joins)) or not all(map(_has_name, select.expressions)):
        return False
    if not _groups_by_columns(select) or any(map(_has_names_inside, _own(select))):
        return False
    if joins and not _qualify(select, legs):
        return False
    return any(_merge_leg(select, leg, bool(joins)) for leg in legs)


def _merge_leg(select: exp.Select, leg: exp.Expr, is_joined: bool) -> bool:
    inner = _inner(leg)
    if not isinstance(inner, exp.Select) or "from_" not in _clauses(inner):
        return False
    if not _clauses(inner) <= _PLAIN:
        return False
    base, condition = inner.args["from_"].this, inner.args.get("where")
    if not isinstance(base, (exp.Table, exp.Subquery)) or base.args.get("joins"):
        return False
    meant = {listed.alias_or_name: listed.unalias() for listed in inner.expressions}
    if not all(isinstance(node, _SIMPLE) for value in meant.values() for node in value.walk()):
        return False
    if is_joined and condition is not None and condition.find(exp.Query) is not None:
        return False
    alias = leg.this.alias
    read = [c for c in _columns(select) if not is_joined or c.table == alias]
    used = Counter(c.name for c in read)
    if any(c.name not in meant or c.table not in ("", alias) for c in read):
        return False
    if any(count > 1 and _size(meant[name]) > _SMALL for name, count in used.items()):
        return False
    if any(c.find_ancestor(exp.Group) and not isinstance(meant[c.name], _GROUPED) for c in read):
        return False
    if is_joined:
        parts = [*meant.values(), *([] if condition is None else [condition])]
        inside = {id(c): c for part in parts for c in part.find_all(exp.Column)}.values()
        if any(c.args.get("db") or c.table not in ("", base.alias_or_name) for c in inside):
            return False
        for known in inside:
            known.set("table", exp.to_identifier(alias))
        base.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    _replace(read, meant)
    _drop_constants(select)
    leg.set("this", base)
    if condition is not None:
        _restrict(select, condition.this)
    return True


def _replace(read: list[exp.Column], meant: Mapping[str, exp.Expr]) -> None:
    for known in read:
        value, name = meant[known.name].copy(), known.name
        if isinstance(known.parent, exp.Select):
            known.replace(_named(value, name))
            continue
        if isinstance(value, (exp.Binary, exp.Neg)) and not isinstance(known.parent, exp.Alias):
            value = exp.Paren(this=value)
        known.replace(value)


def _drop_constants(select: exp.Select) -> None:
    """Leave out of GROUP BY what is one value in all rows; the last stays, to group no rows."""
    group = select.args.get("group")
    varying = [p for p in group.expressions if p.find(exp.Column)] if group is not None else []
    if group is not None and varying:
        group.set("expressions", varying)


def _restrict(select: exp.Select, condition: exp.Expr) -> None:
    """Add a condition to a SELECT; what stands there twice is written once."""
    known = select.args.get("where")
    parts = [*conjuncts(condition), *([] if known is None else conjuncts(known.this))]
    once = list({part: part for part in parts})
    select.set("where", exp.Where(this=exp.and_(*once, copy=False)))


def _unwrap(select: exp.Select) -> bool:
    """Put what a SELECT reads in its place, if it only reads it; return whether it did."""
    if not _clauses(select) <= {"expressions", "from_", "with_"} or "from_" not in _clauses(select):
        return False
    inner = _inner(select.args["from_"])
    if inner is None or (inner.args.get("with_") and select.args.get("with_")):
        return False
    if isinstance(select.parent, exp.SetOperation) and (
        not isinstance(inner, exp.Select) or not _clauses(inner) <= _AROUND - {"with_"}
    ):
        return False
    names = [listed.alias_or_name for listed in inner.selects]
    listed = [e.name for e in select.expressions if isinstance(e, exp.Column)]
    is_all = [exp.Star()] == select.expressions
    if not is_all and (listed != names or len(listed) != len(select.expressions) or "*" in names):
        return False
    if select.args.get("with_"):
        inner.set("with_", select.args["with_"])
    select.replace(inner)
    return True


def _rename(select: exp.Select) -> None:
    """Put a UNION ALL in the place of a SELECT that only chooses and renames its columns."""
    if not _clauses(select) <= {"expressions", "from_"} or "from_" not in _clauses(select):
        return
    inner = _inner(select.args["from_"])
    chosen = [listed.unalias() for listed in select.expressions]
    if not isinstance(inner, exp.Union) or not all(isinstance(c, exp.Column) for c in chosen):
        return
    within = select.parent
    if isinstance(within, exp.SetOperation) and (
        inner.args.get("with_") or not _is_union_all(within)
    ):
        return
    arms = list(_arms(inner))
    names = [listed.alias_or_name for listed in inner.selects]
    if not all(map(_can_be_renamed, arms)) or any(c.name not in names for c in chosen):
        return
    for arm in arms:
        values = [arm.expressions[names.index(c.name)].unalias().copy() for c in chosen]
        pairs = zip(values, select.expressions, strict=True)
        arm.set("expressions", [_named(value, known.alias_or_name) for value, known in pairs])
    select.replace(inner)


def _arms(query: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(query, exp.Union) and _is_union_all(query):
        yield from _arms(query.left)
        yield from _arms(query.right)
    else:
        yield query


def _is_union_all(query: exp.SetOperation) -> bool:
    return (
        isinstance(query, exp.Union)
        and not query.args.get("distinct")
        and _clauses(query) <= {"this", "expression", "with_"}
    )


def _can_be_renamed(arm: exp.Expr) -> bool:
    return (
        isinstance(arm, exp.Select)
        and _clauses(arm) <= _AROUND - {"distinct", "with_"}
        and _groups_by_columns(arm)
        and all(map(_has_name, arm.expressions))
    )


def _named(value: exp.Expr, name: str) -> exp.Expr:
    same = isinstance(value, exp.Column) and value.name == name
    return value if same else exp.alias_(value, name, quoted=True, copy=False)


def _qualify(select: exp.Select, legs: list[exp.Expr]) -> bool:
    """Say of each column of a join which side it is of; return whether all are known."""
    owners: dict[str, str] = {}
    for leg in legs:
        inner = _inner(leg)
        if inner is not None:
            owners |= {listed.alias_or_name: leg.this.alias for listed in inner.selects}
    known = {leg.this.alias_or_name for leg in legs}
    bare = [c for c in _columns(select) if not c.table]
    if any(c.name not in owners for c in bare) or "" in known or len(known) < len(legs):
        return False
    for c in bare:
        c.set("table", exp.to_identifier(owners[c.name]))
    return True


def _inner(leg: exp.Expr) -> exp.Query | None:
    """Return the query that an item of FROM is, if it is one and nothing else."""
    item = leg.this
    if isinstance(item, exp.Subquery) and _clauses(item) <= {"this", "alias"}:
        if item.alias_column_names:
            return None
        return item.this if isinstance(item.this, exp.Query) else None
    return None


def _own(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the nodes of a SELECT's expressions, without what it reads."""
    for key in ("where", "group", "having", "distinct"):
        if select.args.get(key):
            yield from select.args[key].walk()
    for listed in select.expressions:
        yield from listed.walk()
    for join in select.args.get("joins") or []:
        if join.args.get("on"):
            yield from join.args["on"].walk()


def _columns(select: exp.Select) -> list[exp.Column]:
    return [node for node in _own(select) if isinstance(node, exp.Column)]


def _clauses(node: exp.Expr) -> set[str]:
    return {key for key, value in node.args.items() if value}


def _is_inner(join: exp.Expr) -> bool:
    return _clauses(join) <= {"this", "on", "kind"} and join.args.get("kind") in (
        None, "", "CROSS", "INNER",
    )  # fmt: skip


def _has_name(listed: exp.Expr) -> bool:
    return isinstance(listed, (exp.Column, exp.Alias))


def _groups_by_columns(select: exp.Select) -> bool:
    group, distinct = select.args.get("group"), select.args.get("distinct")
    if distinct is not None and _clauses(distinct):
        return False
    return group is None or (
        _clauses(group) <= {"expressions"}
        and all(isinstance(part, _GROUPED) for part in group.expressions)
    )


def _has_names_inside(node: exp.Expr) -> bool:
    return _is_all(node) or isinstance(node, (exp.Query, exp.Lambda, exp.Dot))


def _size(value: exp.Expr) -> int:
    return sum(1 for _ in value.walk())
