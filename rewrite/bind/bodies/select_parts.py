"""The parts of a SELECT in a recomputed query: the items of FROM, the aggregates, the keys."""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.text.parsed import aliases_of, function_name


def from_items(select: exp.Select) -> list[tuple[exp.Expr, exp.Join | None]]:
    """Return the items of a FROM clause in order, each with the join that adds it."""
    clause = select.args.get("from_")
    if clause is None:
        return []
    joins = [*(clause.this.args.get("joins") or []), *(select.args.get("joins") or [])]
    items = _opened(clause.this, None)
    for join in joins:
        items += _opened(join.this, join)
    return items


def _opened(item: exp.Expr, join: exp.Join | None) -> list[tuple[exp.Expr, exp.Join | None]]:
    """Return the items inside parentheses that have no name of their own, `(r JOIN s …)`."""
    inner = item.this
    if not isinstance(item, exp.Subquery) or item.alias or not isinstance(inner, exp.Table):
        return [(item, join)]
    items = _opened(inner, join)
    for other in inner.args.get("joins") or []:
        items += _opened(other.this, other)
    return items


def aggregates_of(select: exp.Select, inputs: Inputs) -> list[exp.Func]:
    """Return the calls of aggregates that belong to a SELECT, those under OVER left out."""
    return SelectParts(select, inputs).calls()


def group_keys(select: exp.Select, inputs: Inputs) -> list[exp.Expr]:
    """Return the keys of GROUP BY of a SELECT, places and aliases looked up."""
    keys = [key.copy() for key in SelectParts(select, inputs).group_keys()]
    return [key for key in keys if not isinstance(key, exp.Anonymous) or key.name != "grouping_id"]


class SelectParts:
    """The parts of one SELECT.

    Attributes:
        body: The SELECT.
        inputs: What it reads.
        aggregates: The names of all aggregates.
    """

    def __init__(self, body: exp.Select, inputs: Inputs) -> None:
        """Look at a SELECT, which may change meanwhile."""
        self.body = body
        self.inputs = inputs
        self.aggregates = inputs.catalog.aggregates

    def own(self, kind: type[exp.Expr]) -> list[exp.Expr]:
        """Return the nodes of a kind that belong to this SELECT and not to one inside it."""
        return [n for n in self.body.find_all(kind) if n.find_ancestor(exp.Query) is self.body]

    def _is_call(self, node: exp.Expr) -> bool:
        """Return whether a node is the call of an aggregate, outside of OVER."""
        if not isinstance(node, exp.Func) or function_name(node) not in self.aggregates:
            return False
        outermost = _outermost(node)
        around = outermost.parent
        return not isinstance(around, exp.Window) or around.this is not outermost

    def _has_call(self, tree: exp.Expr) -> bool:
        """Return whether an expression contains an aggregate of this SELECT."""
        return any(self._is_call(node) for node in tree.find_all(exp.Func))

    def calls(self) -> list[exp.Func]:
        """Return the aggregates of this SELECT."""
        inside_from = {id(n) for item, _ in from_items(self.body) for n in item.walk()}
        return [
            node
            for node in self.own(exp.Func)
            if isinstance(node, exp.Func) and self._is_call(node) and id(node) not in inside_from
        ]

    def group_keys(self) -> list[exp.Expr]:
        """Return the keys of GROUP BY in order; of several sets `grouping_id` is the last."""
        group = self.body.args.get("group")
        if group is None:
            return []
        if group.args.get("all"):
            return self._all_keys()
        keys, several = [], False
        for written in group.expressions:
            several |= isinstance(written, (exp.Rollup, exp.Cube, exp.GroupingSets))
            keys += [self._key(part) for part in _parts(written)]
        keys = list(dict.fromkeys(keys))
        if several and keys:
            keys.append(exp.Anonymous(this="grouping_id", expressions=[k.copy() for k in keys]))
        return keys

    def _all_keys(self) -> list[exp.Expr]:
        """Return what GROUP BY ALL groups by: HAVING adds the columns that it names."""
        keys = [
            e
            for listed in self.body.expressions
            for e in (self._starred(listed) if listed.is_star else [listed.unalias()])
            if not e.find(exp.Star, exp.Columns, exp.Window) and not self._has_call(e)
        ]
        having = self.body.args.get("having")
        if having is not None:
            keys += self._bare_columns(self.opened(having.this.copy(), frozenset()))
        return list(dict.fromkeys(key for key in keys if key.find(exp.Column)))

    def _starred(self, listed: exp.Expr) -> list[exp.Expr]:
        """Return what a star shows, or nothing if an item's columns are not known."""
        star = listed.this if isinstance(listed, exp.Column) else listed
        item = listed.table if isinstance(listed, exp.Column) else ""
        if not isinstance(star, exp.Star):
            return []
        left_out = {node.name.lower() for node in star.args.get("except_") or []}
        replaced = {node.alias.lower(): node.this for node in star.args.get("replace") or []}
        shown: list[exp.Expr] = []
        for known, _ in from_items(self.body):
            alias, columns = known.alias_or_name, self.inputs.columns_of(known)
            if columns is None:
                return []
            if not item or item.lower() == alias.lower():
                names = [c.name for c in columns if c.name.lower() not in left_out]
                shown += [replaced.get(name.lower()) or column(name, alias) for name in names]
        return shown

    def opened(self, tree: exp.Expr, inside: frozenset[str]) -> exp.Expr:
        """Return an expression of HAVING with what aliases stand for in their places.

        An alias comes before a column; `inside` of what aliases stand for a column comes first.
        """
        if isinstance(tree, exp.Query) or self._is_call(tree):
            return tree
        name = tree.name.lower()
        if isinstance(tree, exp.Column) and len(tree.parts) == 1 and name not in inside:
            meant = aliases_of(self.body).get(name)
            if meant is not None and not (inside and self.reads(name)):
                return exp.paren(self.opened(meant.copy(), inside | {name}))
        if isinstance(tree, exp.Column) and len(tree.parts) == 1 and inside:
            items = [item for item, _ in from_items(self.body) if self._has(item, name)]
            return column(tree.name, items[0].alias_or_name) if len(items) == 1 else tree
        for child in list(tree.iter_expressions()):
            found = self.opened(child, inside)
            if found is not child:
                child.replace(found)
        return tree

    def _bare_columns(self, tree: exp.Expr) -> list[exp.Expr]:
        """Return the columns of an expression outside of aggregates."""
        if isinstance(tree, exp.Column):
            return [tree]
        if isinstance(tree, exp.Query) or self._is_call(tree):
            return []
        return [c for child in tree.iter_expressions() for c in self._bare_columns(child)]

    def _key(self, written: exp.Expr) -> exp.Expr:
        """Return what an item of GROUP BY means: a place or an alias of the SELECT list."""
        listed = self.body.expressions
        if isinstance(written, exp.Literal) and not written.is_string:
            place = int(written.name)
            return listed[place - 1].unalias() if 1 <= place <= len(listed) else written
        if isinstance(written, exp.Column) and not written.table:
            for item in listed:
                is_alias = item.alias.lower() == written.name.lower()
                if is_alias and isinstance(item, exp.Alias) and not self.reads(written.name):
                    return item.this  # type: ignore[no-any-return]  # sqlglot's args are untyped
        return written

    def reads(self, name: str) -> bool:
        """Return whether an item of FROM is known to have a column of this name."""
        return any(self._has(item, name) for item, _ in from_items(self.body))

    def _has(self, item: exp.Expr, name: str) -> bool:
        """Return whether an item of FROM is known to have a column of this name."""
        columns = self.inputs.columns_of(item) or ()
        return name.lower() in {known.name.lower() for known in columns}


def _parts(written: exp.Expr) -> list[exp.Expr]:
    """Return the single keys of an item of GROUP BY."""
    if isinstance(written, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)):
        return [key for part in written.expressions for key in _parts(part)]
    return [written.this] if isinstance(written, exp.Paren) else [written]


def _outermost(node: exp.Expr) -> exp.Expr:
    while isinstance(node.parent, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)):
        node = node.parent
    return node
