"""When a statement of a tick has nothing to do: which temporary tables have to be empty for that.

A tick that changes nothing of a join, or nothing that passes a filter, leaves the tables of deltas
empty that its first statements make, and everything behind them would be planned and run for
nothing: a statement takes about a millisecond before its first row. Which statements these are
follows from their text:

    no row comes of a SELECT if none comes of an input that it joins, of one side of UNION ALL and
    of the other, or of a subquery of EXISTS or IN that its WHERE demands;
    of an aggregate without GROUP BY there is always a row.

So it is a condition over tables: any of several sets, of which all are empty. It is one-sided: what
is not understood is taken to have rows, and its statement runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

Sets = frozenset[frozenset[str]]
"""Sets of temporary tables; the condition is that all tables of one of them are empty."""

NEVER: Sets = frozenset()
ALWAYS: Sets = frozenset({frozenset()})

MAX_SETS = 8
"""How many sets are told apart at most: those of a statement are few."""

_SCALARS = frozenset(
    {"greatest", "hash", "isnan", "least", "make_timestamp", "range", "signbit", "xor"}
)
"""Functions of ours that sqlglot does not know, and that are no aggregates."""

_SETS = (exp.Cube, exp.GroupingSets, exp.Rollup, exp.Tuple)
"""What there may be among the keys of GROUP BY that groups by none of them."""

_TUPLEWISE = (exp.From, exp.Join, exp.Where, exp.With)
"""The clauses of a SELECT that see tuples before they are grouped."""

_WRAPPERS = (exp.Filter, exp.IgnoreNulls)


Needs = tuple[tuple[str, ...], ...]
"""The same in a fixed order."""


def needs(tree: exp.Expr) -> Needs:
    """Return when a statement makes an empty table, or changes nothing.

    Returns:
        Sets of temporary tables: if all tables of one of them are empty, it does nothing.

    >>> from sqlglot import parse_one
    >>> needs(parse_one("INSERT INTO a SELECT b.x FROM temp.b JOIN temp.c USING (x)"))
    (('b',), ('c',))
    """
    return tuple(sorted(tuple(sorted(one)) for one in _of_statement(tree)))


def _of_statement(tree: exp.Expr) -> Sets:
    if isinstance(tree, exp.Create):
        # without a query it is only made empty
        return ALWAYS if tree.expression is None else _of(tree.expression, {})
    if isinstance(tree, exp.Insert):
        return _of(tree.expression, {})
    if isinstance(tree, exp.Delete):
        return _demanded(tree.args.get("where"), {})
    return NEVER


def _of(query: object, known: Mapping[str, Sets]) -> Sets:
    """Return when a query, or an item of FROM, has no rows.

    Args:
        query: The query or the item.
        known: The same of the common table expressions around it.
    """
    if isinstance(query, exp.Table):
        return _of_table(query, known)
    if not isinstance(query, (exp.Subquery, exp.SetOperation, exp.Select)):
        return NEVER
    known = _with_ctes(query, known)
    if isinstance(query, exp.Subquery):
        return _joined(_of(query.this, known), query, known)
    if isinstance(query, exp.SetOperation):
        left, right = _of(query.this, known), _of(query.expression, known)
        if isinstance(query, exp.Union):
            return _both(left, right)
        return left if isinstance(query, exp.Except) else _either(left, right)
    source = query.args.get("from_")
    if source is None or _has_row_over_nothing(query):
        return NEVER
    from_ = _joined(_of(source.this, known), query, known)
    return _either(from_, _demanded(query.args.get("where"), known))


def _of_table(table: exp.Table, known: Mapping[str, Sets]) -> Sets:
    if not isinstance(table.this, exp.Identifier):
        return NEVER  # a function
    if table.db == "temp":
        found = frozenset({frozenset({table.name})})
    else:
        found = NEVER if table.db else known.get(table.name, NEVER)
    return _joined(found, table, known)


def _with_ctes(query: exp.Expr, known: Mapping[str, Sets]) -> Mapping[str, Sets]:
    with_ = query.args.get("with_")
    if with_ is None:
        return known
    inner = dict(known)
    for cte in with_.expressions:
        is_seen = not with_.args.get("recursive")
        inner[cte.alias] = _of(cte.this, inner) if is_seen else NEVER
    return inner


def _joined(left: Sets, owner: exp.Expr, known: Mapping[str, Sets]) -> Sets:
    """Return when the first item of FROM has no rows once it is joined with the others."""
    for join in owner.args.get("joins") or ():
        right = _of(join.this, known)
        side, kind = join.side.upper(), join.kind.upper()
        if join.method.upper() not in ("", "ASOF", "NATURAL"):
            return NEVER
        if side == "FULL":
            left = _both(left, right)
        elif side == "RIGHT":
            left = right
        elif side == "" and kind in ("", "INNER", "CROSS", "SEMI"):
            left = _either(left, right)
        elif side not in ("", "LEFT") or kind not in ("", "OUTER", "ANTI", "SEMI"):
            return NEVER
    return NEVER if owner.args.get("laterals") or owner.args.get("pivots") else left


def _demanded(where: exp.Expr | None, known: Mapping[str, Sets]) -> Sets:
    """Return when a subquery is empty of which WHERE demands a row."""
    found, conditions = NEVER, [] if where is None else [where.this]
    for condition in conditions:
        if isinstance(condition, exp.Paren):
            conditions.append(condition.this)
        elif isinstance(condition, exp.And):
            conditions += [condition.left, condition.right]
        elif isinstance(condition, exp.Exists):
            found = _either(found, _of(condition.this, known))
        elif isinstance(condition, exp.In):
            found = _either(found, _of(condition.args.get("query"), known))
    return found


def _has_row_over_nothing(select: exp.Select) -> bool:
    """Return whether a SELECT may have a row without one of FROM: it is an aggregate without keys.

    sqlglot knows those of DuckDB, or takes them for functions that it does not know. What it does
    not know counts as one.
    """
    group = select.args.get("group")
    if group is not None:
        keys = group.expressions
        others = any(value for name, value in group.args.items() if name != "expressions")
        return others or not keys or any(isinstance(key, _SETS) for key in keys)
    if select.args.get("having") is not None:
        return True
    parts: Iterator[exp.Expr] = select.iter_expressions()
    stack = [node for node in parts if not isinstance(node, _TUPLEWISE)]
    while stack:
        node = stack.pop()
        is_unknown = isinstance(node, exp.Anonymous) and node.name.lower() not in _SCALARS
        if is_unknown or isinstance(node, exp.AggFunc):
            return True
        # also of subqueries: an aggregate of columns around one belongs to the SELECT around it
        inner = _beside_function(node) if isinstance(node, exp.Window) else node.iter_expressions()
        stack.extend(inner)
    return False


def _beside_function(window: exp.Window) -> list[exp.Expr]:
    """Return the parts of a window function but for the function, which is no aggregate there."""
    found: list[exp.Expr] = []
    node: exp.Expr = window
    while isinstance(node, (exp.Window, *_WRAPPERS)):
        found += [part for part in node.iter_expressions() if part is not node.this]
        node = node.this
    return [*found, *node.iter_expressions()]


def _either(left: Sets, right: Sets) -> Sets:
    return _least(left | right)


def _both(left: Sets, right: Sets) -> Sets:
    return _least(frozenset(one | other for one in left for other in right))


def _least(sets: Sets) -> Sets:
    """Return the sets of which none is part of another, and not too many."""
    least = [one for one in sets if not any(other < one for other in sets)]
    return frozenset(sorted(least, key=lambda one: (len(one), sorted(one)))[:MAX_SETS])
