"""ORDER BY: which of its expressions depend on the columns of the result alone.

A name alone is a column of the result. Inside an expression a column of FROM comes before an alias,
as in DuckDB, and the result has it if it is listed, or in a star:

    SELECT -k AS k, v + 1 AS w FROM s ORDER BY k, -(v + 1), w * 2, s.v
                                               k  -w        w * 2  nothing
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.text.parsed import aliases_of, place_of, unwrapped


class Result:
    """The result of a SELECT, and what its columns stand for.

    Args:
        select: The SELECT.
        reads: Whether FROM has a column of a name.
    """

    def __init__(self, select: exp.Select, reads: Callable[[str], bool]) -> None:
        """Take down what is listed."""
        self.reads = reads
        self.aliases = aliases_of(select)
        clause = select.args.get("from_")
        joins = [j for j in select.find_all(exp.Join) if j.find_ancestor(exp.Query) is select]
        self.merges = any(j.args.get("using") or j.args.get("method") for j in joins)
        self.is_distinct = select.args.get("distinct") is not None
        first = None if clause is None else clause.this
        is_one = first and not (select.args.get("joins") or first.args.get("joins"))
        self.only = first.alias_or_name.lower() if first and is_one else ""
        self.stars = [e for e in select.expressions or [exp.Star()] if e.is_star]
        names = [e.alias_or_name.lower() for e in select.expressions if not e.is_star]
        self.names = {*names, *self.aliases}
        self.listed: dict[exp.Expr, str] = {}
        for item in select.expressions:
            if not item.is_star and names.count(item.alias_or_name.lower()) == 1:
                self.listed.setdefault(self._plain(item.unalias()), item.alias_or_name)
        self.listed = {known: name for known, name in self.listed.items() if name}

    def __contains__(self, expression: exp.Expr) -> bool:
        """Return whether an expression is listed."""
        return self._plain(expression) in self.listed

    def over(self, expression: exp.Expr) -> exp.Expr | None:
        """Return an expression of ORDER BY over the columns of the result.

        Returns:
            None if it depends on anything else.

        >>> from sqlglot import parse_one
        >>> select = parse_one("SELECT -k AS k, v + 1 AS w FROM s")
        >>> result = Result(select, {"k", "v"}.__contains__)
        >>> for text in "k", "-(V + 1)", "s.v + 1 - w", "k + 1", "v":
        ...     found = result.over(parse_one(text))
        ...     print("nothing" if found is None else found.sql())
        "k"
        -"w"
        "w" - "w"
        nothing
        nothing
        """
        bare = without_parens(expression)
        if (
            isinstance(bare, exp.Column)
            and len(bare.parts) == 1
            and bare.name.lower() in self.names
        ):
            return column(bare.name)
        return self._over(expression)

    def missing(self, expression: exp.Expr) -> exp.Expr:
        """Return the first column in an expression that the result does not have, or all of it."""
        missing = (c for c in expression.find_all(exp.Column) if self._over(c) is None)
        return next(missing, expression)

    def several(self, expression: exp.Expr) -> NotSupportedError:
        """Return the error of an expression that a row of DISTINCT has no one value of."""
        missing = self.missing(expression)
        name = ".".join(part.name for part in getattr(missing, "parts", ()))
        return NotSupportedError(
            f"ORDER BY {name or missing.sql('duckdb')}, of which the rows that DISTINCT makes one "
            "may have several",
            hint="select it too; or GROUP BY, and ORDER BY an aggregate, as in ORDER BY min(x)",
            offset=place_of(missing),
        )

    def _over(self, node: exp.Expr) -> exp.Expr | None:
        known = self.listed.get(self._plain(node))
        if known is not None:
            return column(known)
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, (exp.Window, exp.Query)):
            return None
        changed = node.copy()
        for child in list(changed.iter_expressions()):
            found = self._over(child)
            if found is None:
                return None
            child.replace(found)
        return changed

    def _column(self, node: exp.Column) -> exp.Expr | None:
        name, is_alone = node.name, len(node.parts) == 1
        for known, shown in self.listed.items():
            if isinstance(known, exp.Column) and self._are_one(known, node):
                return column(shown)
        if is_alone and name.lower() in self.aliases and not self.reads(name):
            return column(name)
        for star in self.stars:
            inner = star.this if isinstance(star, exp.Column) else star
            of = star.table if isinstance(star, exp.Column) else ""
            parts = [*(inner.args.get("except_") or []), *(inner.args.get("rename") or [])]
            gone = {p.name.lower() for p in parts} | {p.this.name.lower() for p in parts}
            gone |= {part.alias.lower() for part in inner.args.get("replace") or []}
            mine = self.only or not of or of.lower() == node.table.lower()
            if isinstance(inner, exp.Star) and mine and name.lower() not in gone:
                return column(name)
        return None

    def _are_one(self, one: exp.Column, other: exp.Column) -> bool:
        """Return whether two names are one column, though one of them says of which item."""
        tables = {one.table, other.table} - {""}
        return (
            not self.merges
            and one.name.lower() == other.name.lower()
            and {len(one.parts), len(other.parts)} == {1, 2}
            and not any(self.reads(table) for table in tables)
        )

    def _plain(self, tree: exp.Expr) -> exp.Expr:
        """Return an expression as it is compared: names in lower case, of one table without it."""
        plain = without_parens(tree).copy()
        for named in list(plain.find_all(exp.Column)):
            if len(named.parts) == 2 and named.table.lower() == self.only:
                named.set("table", None)
            for part in named.parts:
                part.set("this", part.name.lower())
                part.set("quoted", False)
        return plain


class Combined:
    """The result of a set operation, and what its columns stand for on each side.

    As in DuckDB a name is that of a column of the result, or of the first side that has it; an
    expression that a side lists is its column. If there is any other expression in ORDER BY, all
    of its terms are over the columns of the result alone:

        SELECT -a AS x, b FROM s UNION SELECT c, d FROM r ORDER BY x, c, -A          x, x, x
                                                          ORDER BY x, -x, x + b      x, -x, x + b

    Args:
        tree: The set operation.
        names: What the columns of its result are called.
        order: Its ORDER BY, if it has one.
    """

    def __init__(
        self, tree: exp.SetOperation, names: Sequence[str], order: exp.Order | None
    ) -> None:
        """Take down what is listed."""
        self.names = {name.lower(): name for name in names}
        self.called: dict[str, str] = {}
        self.listed: dict[str, str | None] = {}
        self.is_open = self.has_star = False
        self._list(tree, names)
        terms = [without_parens(_value(t)) for t in ([] if order is None else order.expressions)]
        terms = [term for term in terms if not _is_place(term)]
        self.is_simple = all(self._simple(term) is not None for term in terms)
        self.is_unclear = self.is_open and any(
            not isinstance(term, exp.Column) and _text(term) not in self.listed for term in terms
        )

    def _list(self, tree: exp.Expr, names: Sequence[str]) -> None:
        """Take down what the sides of a query list, whose columns are those of the result."""
        inner = unwrapped(tree)
        if isinstance(inner, exp.SetOperation) and inner.args.get("by_name"):
            left, right = _names_of(inner.this), _names_of(inner.expression)
            if left is None or right is None:
                self.is_open = self.has_star = True
                return
            places = {name: place for place, name in enumerate(dict.fromkeys([*left, *right]))}
            self._list(inner.this, [names[places[name]] for name in left])
            self._list(inner.expression, [names[places[name]] for name in right])
        elif isinstance(inner, exp.SetOperation):
            self._list(inner.this, names)
            self._list(inner.expression, names)
        elif isinstance(inner, exp.Select):
            self._list_items(inner.expressions or [exp.Star()], names)
        else:
            self.has_star = True

    def _list_items(self, items: Sequence[exp.Expr], names: Sequence[str]) -> None:
        stars = [place for place, item in enumerate(items) if _is_several(item)]
        self.has_star = self.has_star or bool(stars)
        self.is_open = self.is_open or len(stars) > 1 or any(map(_is_changed, items))
        first, last = (stars[0], stars[-1]) if stars else (len(items), -1)
        more = len(names) - len(items)
        own: dict[str, str | None] = {}
        for place, item in enumerate(items):
            if first <= place <= last:
                continue
            name = names[place if place < first else place + more]
            self.called.setdefault(item.alias_or_name.lower(), name)
            text = _text(item.unalias())
            own[text] = None if text in own else name
        self.listed = own | self.listed

    def _simple(self, bare: exp.Expr) -> exp.Expr | None:
        """Return the column that a name or a listed expression is, or None."""
        found: str | None = None
        if isinstance(bare, exp.Column) and len(bare.parts) == 1:
            found = self.names.get(bare.name.lower())
            if found is None and self.has_star:
                return None
            found = found or self.called.get(bare.name.lower())
        found = found or self.listed.get(_text(bare))
        return None if found is None else column(found)

    def over(self, expression: exp.Expr) -> exp.Expr | None:
        """Return an expression of ORDER BY over the columns of the result, or None."""
        if _is_place(without_parens(expression)):
            return expression.copy()
        if self.is_unclear:
            return None
        if self.is_simple:
            return self._simple(without_parens(expression))
        changed = exp.paren(expression.copy())
        if changed.find(exp.Query) is not None:
            return None
        for node in list(changed.find_all(exp.Column)):
            if len(node.parts) > 1 or node.name.lower() not in self.names:
                return None
            node.replace(column(self.names[node.name.lower()]))
        return changed.this  # type: ignore[no-any-return]  # sqlglot's args are untyped

    def term(self, written: exp.Expr) -> exp.Expr:
        """Return a term of ORDER BY over the columns of the result, or as it is if it has more.

        Raises:
            NotSupportedError: What it means depends on what a star stands for.
        """
        value = without_parens(_value(written))
        if _is_place(value):
            return written.copy()
        if self.is_unclear:
            raise NotSupportedError(
                f"ORDER BY {value.sql('duckdb')} above a set operation with several stars",
                hint="name the columns on its sides, or order by names of its columns alone",
                offset=place_of(value),
            )
        found = self.over(value)
        if found is None or not isinstance(written, exp.Ordered):
            return found or written.copy()
        changed = written.copy()
        changed.set("this", found)
        return changed

    def missing(self, expression: exp.Expr) -> exp.Expr:
        """Return the first column in an expression that the result does not have, or all of it."""
        missing = (c for c in expression.find_all(exp.Column) if self.over(c) is None)
        return next(missing, expression)


def _value(term: exp.Expr) -> exp.Expr:
    return term.this if isinstance(term, exp.Ordered) else term


def _is_place(value: exp.Expr) -> bool:
    return isinstance(value, exp.Literal) or value.sql("duckdb").upper() == "ALL"


def _is_several(item: exp.Expr) -> bool:
    """Return whether an item of a SELECT list may be several columns."""
    return item.is_star or item.find(exp.Columns) is not None


def _is_changed(item: exp.Expr) -> bool:
    """Return whether an item stands for several columns that may be expressions."""
    stars = [item.this if isinstance(item, exp.Column) else item]
    return item.find(exp.Columns) is not None or any(
        isinstance(star, exp.Star) and bool(star.args.get("replace")) for star in stars
    )


def _text(expression: exp.Expr) -> str:
    """Return an expression as it is compared: names in lower case."""
    plain = without_parens(expression).copy()
    for name in list(plain.find_all(exp.Identifier)):
        name.set("this", name.name.lower())
        name.set("quoted", False)
    for call in list(plain.find_all(exp.Anonymous)):
        call.set("this", call.name.lower())
    return plain.sql("duckdb", identify=False)


def _names_of(tree: exp.Expr) -> list[str] | None:
    """Return what the columns of a query are called, in lower case, or None if it has a star."""
    inner = unwrapped(tree)
    if isinstance(inner, exp.SetOperation):
        left, right = _names_of(inner.this), _names_of(inner.expression)
        if not inner.args.get("by_name") or left is None or right is None:
            return left if right is not None or not inner.args.get("by_name") else None
        return list(dict.fromkeys([*left, *right]))
    if not isinstance(inner, exp.Select) or not inner.expressions:
        return None
    if any(map(_is_several, inner.expressions)):
        return None
    return [item.alias_or_name.lower() for item in inner.expressions]
