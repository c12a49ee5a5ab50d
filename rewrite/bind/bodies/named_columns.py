"""JOIN … USING written as ON, in a recomputed query.

    a JOIN b USING (v)  =  a JOIN b ON a.v = b.v          where v alone means a.v

The columns that USING names are read where the text shows only a name: the join compares them, a
bare name and `*` show one of both sides. Written as ON, each of these is an expression, so that
`postponed` can put in its place what a subquery computes. A bare name means the column of the left
side; of the right side after RIGHT JOIN; after FULL JOIN the one that is not NULL.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.select_parts import from_items
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.text.parsed import aliases_of, words_of

_SIDES = ({"LEFT"}, {"RIGHT"}, {"FULL"}, set[str]())


def write_using_as_on(select: exp.Select, inputs: Inputs) -> bool:
    """Write the USING of a SELECT's joins as ON, in place.

    Args:
        select: The SELECT.
        inputs: The inputs of the query.

    Returns:
        Whether that could be done; if not, nothing is changed. It cannot if an item of FROM is no
        input, in NATURAL and other joins that are no combination by conditions, and where the text
        does not show whether a name is that of a column.
    """
    found = _read(select, inputs)
    if found is None:
        return False
    conditions, meant = found
    bare = _bare(select, set(meant))
    stars = [e for e in select.expressions if isinstance(e, exp.Star)]
    if bare is None or any(any(star.args.values()) for star in stars):
        return False
    for join, condition in conditions:
        join.set("using", None)
        join.set("on", condition)
    for read in bare:
        write_in_place(read, meant[read.name.lower()].copy())
    listed = [
        shown
        for one in select.expressions
        for shown in (_opened(select, inputs, meant) if isinstance(one, exp.Star) else [one])
    ]
    select.set("expressions", listed)
    return True


def write_in_place(read: exp.Column, value: exp.Expr) -> None:
    """Put an expression in the place of a column, whose name it has in a SELECT list."""
    if isinstance(read.parent, exp.Select) and read.arg_key == "expressions":
        value = exp.alias_(value, read.name, quoted=True)
    read.replace(value)


def _read(
    select: exp.Select, inputs: Inputs
) -> tuple[list[tuple[exp.Join, exp.Expr]], dict[str, exp.Expr]] | None:
    """Return the conditions of the joins with USING, and what each of its names means alone."""
    conditions: list[tuple[exp.Join, exp.Expr]] = []
    meant: dict[str, exp.Expr] = {}
    seen: list[tuple[str, set[str]]] = []
    for item, join in from_items(select):
        known = inputs.columns_of(item)
        if known is None or isinstance(item.parent, exp.Subquery):  # as in (a JOIN b)
            return None
        names = {c.name.lower() for c in known}
        using = [] if join is None else join.args.get("using") or []
        if join is not None and words_of(join) - {"INNER", "CROSS", "OUTER"} not in _SIDES:
            return None
        if join is not None and not using and not join.args.get("on"):
            if meant:
                return None  # a name may then be that of an item on the other side of the comma
            seen = []
        compared: list[exp.Expr] = []
        for name in (identifier.name for identifier in using):
            owners = [alias for alias, columns in seen if name.lower() in columns]
            left = meant.get(name.lower())
            if left is None and len(owners) == 1:
                left = column(name, owners[0])
            if left is None or name.lower() not in names:
                return None
            right = column(name, item.alias)
            compared.append(exp.EQ(this=left.copy(), expression=right))
            meant[name.lower()] = _merged(join, left, right)
        if join is not None and compared:
            conditions.append((join, exp.and_(*compared)))
        seen.append((item.alias, names))
    return conditions, meant


def _merged(join: exp.Join | None, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return what a name of USING means behind its join."""
    side = words_of(join) if join is not None else set()
    if "FULL" in side:
        return exp.Coalesce(this=left.copy(), expressions=[right.copy()])
    return right.copy() if "RIGHT" in side else left


def _bare(select: exp.Select, names: set[str]) -> list[exp.Column] | None:
    """Return where the names stand alone, for a column; None if the text does not tell."""
    aliases = aliases_of(select)
    found = []
    for read in select.find_all(exp.Column):
        if read.table or read.name.lower() not in names:
            continue
        if read.find_ancestor(exp.Select) is not select:
            return None
        if read.name.lower() in aliases:
            clause = _clause(select, read)
            if clause in ("having", "qualify", "distinct"):
                return None
            if clause == "order" and isinstance(read.parent, exp.Ordered):
                continue
        found.append(read)
    return found


def _clause(select: exp.Select, node: exp.Expr) -> str | None:
    """Return the clause of a SELECT in which a node stands."""
    while node.parent is not None and node.parent is not select:
        node = node.parent
    return node.arg_key


def _opened(select: exp.Select, inputs: Inputs, meant: dict[str, exp.Expr]) -> Iterator[exp.Expr]:
    """Yield the columns that `*` stands for: one for each name of USING."""
    shown: set[str] = set()
    for item, _ in from_items(select):
        for known in inputs.columns_of(item) or ():
            name = known.name.lower()
            if name not in meant:
                yield column(known.name, item.alias)
            elif name not in shown:
                shown.add(name)
                yield exp.alias_(meant[name].copy(), known.name, quoted=True)
