"""The SELECTs of a recomputed query as blocks: their items of FROM, and what a name stands for.

A column is known as (block, item, name) where the text tells which it is. It never guesses: a name
that may be another's is `Unclear`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.plan import place_in
from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.text.parsed import words_of

_JOIN = {"this", "on", "using", "side", "kind", "method"}
_MERGING = {"INNER", "LEFT", "SEMI", "ANTI", "ASOF"}


class Unclear(Exception):  # an answer, and no error
    """What the text does not tell."""


@dataclass(frozen=True)
class Known:
    """A column that a name stands for.

    Attributes:
        block: The block in whose FROM it is.
        item: The alias of the item, in lower case.
        name: Its name, in lower case.
    """

    block: Block
    item: str
    name: str

    @property
    def type(self) -> str:
        """Its type, or nothing if that is not known."""
        return self.block.item(self.item).columns[self.name]


@dataclass(eq=False)
class Item:
    """An item of FROM.

    Attributes:
        alias: Its alias, in lower case.
        tree: What it is.
        join: The join that adds it; None for the first.
        place: The number of the input that it is, or None.
        columns: The types of its columns, by name in lower case; nothing for an unknown one.
        is_open: Whether it may have more columns.
        inner: The block that it is, if it is a subquery.
    """

    alias: str
    tree: exp.Expr
    join: exp.Join | None
    place: int | None
    columns: Mapping[str, str]
    is_open: bool = False
    inner: Block | None = None

    @property
    def words(self) -> set[str]:
        """The words of the join."""
        return set() if self.join is None else words_of(self.join) - {"CROSS", "OUTER"}

    @property
    def equal_names(self) -> list[str]:
        """The columns that USING compares for equality; that of an ASOF join's last is another."""
        using = [] if self.join is None else self.join.args.get("using") or []
        names = [name.name.lower() for name in using]
        return names[:-1] if "ASOF" in self.words else names

    @property
    def is_inner(self) -> bool:
        """Whether its rows and those before it are combined by conditions alone."""
        return self.words <= {"INNER"}

    @property
    def reads_inputs(self) -> bool:
        """Whether it is, or reads, an input."""
        return any(place_in(t) is not None for t in self.tree.find_all(exp.Table))


class Block:
    """A SELECT.

    Args:
        select: The SELECT.
        inputs: The inputs of the query.
        outer: The block around it whose columns it may name, or None.

    Raises:
        Unclear: Its FROM clause has something else than inputs, subqueries and table functions.
    """

    def __init__(self, select: exp.Select, inputs: Inputs, outer: Block | None) -> None:
        """Look at its FROM clause."""
        self.select = select
        self.inputs = inputs
        self.outer = outer
        self.items: list[Item] = []
        clause = select.args.get("from_")
        if clause is None:
            return
        joins = [*(clause.this.args.get("joins") or []), *(select.args.get("joins") or [])]
        for tree, join in [(clause.this, None), *((join.this, join) for join in joins)]:
            if join is not None and (
                tree.args.get("joins") or not {k for k, v in join.args.items() if v} <= _JOIN
            ):
                raise Unclear
            self.items.append(self._item(tree, join))
        if len({item.alias for item in self.items}) < len(self.items):
            raise Unclear

    def _item(self, tree: exp.Expr, join: exp.Join | None) -> Item:
        alias = tree.args.get("alias")
        name = tree.alias.lower()
        listed = [] if alias is None else [c.name.lower() for c in alias.args.get("columns") or []]
        place = place_in(tree)
        if not name or tree.args.get("pivots") or tree.args.get("sample"):
            raise Unclear
        if place is not None:
            names, known = self.inputs.names[place], self.inputs.plans[place].columns
            types = {n.lower(): c.type for n, c in zip(names, known, strict=True)}
            if listed or len(types) < len(names):
                raise Unclear
            return Item(name, tree, join, place, types)
        query = tree.this if isinstance(tree, (exp.Subquery, exp.Lateral)) else None
        query = query.this if isinstance(query, exp.Subquery) and not query.alias else query
        if isinstance(query, exp.Select) and not listed:
            inner = Block(query, self.inputs, self)
            columns = inner.shown()
            return Item(name, tree, join, None, columns or {}, columns is None, inner)
        if isinstance(tree, exp.Table) and isinstance(tree.this, exp.Identifier):
            raise Unclear
        return Item(name, tree, join, None, dict.fromkeys(listed, ""), True)

    def item(self, alias: str) -> Item:
        """Return the item of an alias."""
        return next(item for item in self.items if item.alias == alias)

    # -- names -----------------------------------------------------------------------------------

    def known(self, tree: exp.Expr | None) -> Known | None:
        """Return the column that an expression is; None if it is none, or unclear."""
        tree = None if tree is None else without_parens(tree)
        if not isinstance(tree, exp.Column):
            return None
        try:
            return self.find(tree)
        except Unclear:
            return None

    def find(self, read: exp.Column) -> Known | None:
        """Return the column that a name stands for; None if no FROM clause has it.

        Raises:
            Unclear: It may be one of several.
        """
        if len(read.parts) > 2 or isinstance(read.this, exp.Star):
            raise Unclear
        name, table = read.name.lower(), read.table.lower()
        block: Block | None = self
        while block is not None:
            items = [item for item in block.items if table in ("", item.alias)]
            having = [item for item in items if name in item.columns]
            if having and (len(having) == 1 or block._are_merged(having, name)):
                return Known(block, having[0].alias, name)
            if having or (table and items) or any(item.is_open for item in items):
                raise Unclear
            block = block.outer
        return None

    def _are_merged(self, having: list[Item], name: str) -> bool:
        """Return whether USING makes one column of those of several items: the first."""
        return all(
            item.words <= _MERGING and item.join is not None and name in _using(item.join)
            for item in having[1:]
        )

    def shown(self) -> dict[str, str] | None:
        """Return the types of what it shows, by name; None if the text does not tell all names."""
        found: dict[str, str] = {}
        for listed in self.select.expressions:
            star = listed.this if isinstance(listed, exp.Column) else listed
            if isinstance(star, exp.Star):
                if (
                    star.args.get("rename")
                    or star.args.get("ilike")
                    or any(i.is_open for i in self.items)
                ):
                    return None
                hidden = {e.name.lower() for e in star.args.get("except_") or []}
                replaced = {e.alias.lower() for e in star.args.get("replace") or []}
                table = listed.table.lower() if isinstance(listed, exp.Column) else ""
                for item in self.items:
                    for name, kind in item.columns.items():
                        if table in ("", item.alias) and name not in hidden:
                            found.setdefault(name, "" if name in replaced else kind)
            elif listed.find(exp.Columns, exp.Star) is not None:
                return None
            elif listed.alias_or_name:
                known = self.known(listed.unalias())
                found[listed.alias_or_name.lower()] = "" if known is None else known.type
        return found

    def shows(self, name: str) -> Known | None:
        """Return the column of FROM that it shows under a name, as it is; None if it is none."""
        for listed in self.select.expressions:
            star = listed.this if isinstance(listed, exp.Column) else listed
            if isinstance(star, exp.Star):
                table = listed.table.lower() if isinstance(listed, exp.Column) else ""
                read = exp.column(name, table=table or None)
                if name not in {e.alias.lower() for e in star.args.get("replace") or []}:
                    return self.known(read)
            elif listed.alias_or_name.lower() == name:
                return self.known(listed.unalias())
        return None

    # -- what belongs to it ----------------------------------------------------------------------

    def own(self) -> Iterator[exp.Expr]:
        """Yield the nodes of its clauses, queries inside it included but not what is in them.

        Items of FROM are left out, conditions of joins are not.
        """
        items = {id(item.tree) for item in self.items}
        stack: list[exp.Expr] = list(self.select.iter_expressions())
        while stack:
            node = stack.pop()
            if id(node) in items:
                stack += node.args.get("joins") or []
                continue
            yield node
            if not isinstance(node, (exp.Select, exp.SetOperation)):
                stack += node.iter_expressions()

    def is_correlated(self) -> bool:
        """Return whether it, or a block inside it, names a column of a block around it."""
        return any(self._is_outside(read) for read in self.select.find_all(exp.Column))

    def _is_outside(self, read: exp.Column) -> bool:
        """Return whether a name inside may be that of a column around this block."""
        name, table = read.name.lower(), read.table.lower()
        if isinstance(read.this, exp.Star):
            return False
        around = self.outer
        while around is not None:
            for item in around.items:
                is_asked = table == item.alias if table else name in item.columns
                if item.inner is not self and (is_asked or (not table and item.is_open)):
                    return not self._has(read)
            around = around.outer
        return False

    def _has(self, read: exp.Column) -> bool:
        """Return whether a name is that of a column inside, wherever in this block it stands."""
        name, table = read.name.lower(), read.table.lower()
        select = read.find_ancestor(exp.Select)
        while select is not None:
            try:
                block = self if select is self.select else Block(select, self.inputs, None)
            except Unclear:
                return False
            for item in block.items:
                if name in item.columns and table in ("", item.alias):
                    return True
            if select is self.select:
                return False
            select = select.find_ancestor(exp.Select)
        return False


def _using(join: exp.Join) -> set[str]:
    return {name.name.lower() for name in join.args.get("using") or []}
