"""ORDER BY: which of its expressions depend on the columns of the result alone.

A name alone is a column of the result. Inside an expression a column of FROM comes before an alias,
as in DuckDB, and the result has it if it is listed, or in a star:

    SELECT -k AS k, v + 1 AS w FROM s ORDER BY k, -(v + 1), w * 2, s.v
                                               k  -w        w * 2  nothing
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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

    As in DuckDB a name is that of a column of the result, or of one of a side; an expression that a
    side lists is its column, any other is one of columns of the result:

        SELECT a + 1 AS x, b FROM s UNION SELECT c, d FROM r ORDER BY x, c, a + 1, x + b
                                                                      x  x  x      x + b

    Args:
        tree: The set operation.
        names: What the columns of its result are called.
    """

    def __init__(self, tree: exp.SetOperation, names: Sequence[str]) -> None:
        """Take down what is listed."""
        self.names = {name.lower(): name for name in names}
        self.is_plain = len(self.names) == len(names)
        self.called: dict[str, set[str]] = {}
        self.listed: dict[str, set[str]] = {}
        for select in _sides(tree):
            items = select.expressions
            if any(part.args.get("by_name") for part in _set_operations(tree)):
                continue
            if len(items) != len(names) or any(e.is_star for e in items):
                continue
            own = [e.alias_or_name.lower() for e in items]
            self.is_plain = self.is_plain and len({*own} - {""}) == len([n for n in own if n])
            for item, called, name in zip(items, own, names, strict=True):
                self.called.setdefault(called, set()).add(name)
                self.listed.setdefault(_text(item.unalias()), set()).add(name)

    def over(self, expression: exp.Expr) -> exp.Expr | None:
        """Return an expression of ORDER BY over the columns of the result, or None."""
        if not self.is_plain:
            return None
        bare = without_parens(expression)
        is_name = isinstance(bare, exp.Column) and len(bare.parts) == 1
        if is_name and bare.name.lower() in self.names:
            return column(self.names[bare.name.lower()])
        found = set(self.listed.get(_text(bare), ()))
        if is_name:
            found |= self.called.get(bare.name.lower(), set())
        if found:
            return column(*found) if len(found) == 1 else None
        changed = exp.paren(expression.copy())
        if changed.find(exp.Query) is not None:
            return None
        for node in list(changed.find_all(exp.Column)):
            if len(node.parts) > 1 or node.name.lower() not in self.names:
                return None
            node.replace(column(self.names[node.name.lower()]))
        return changed.this  # type: ignore[no-any-return]  # sqlglot's args are untyped

    def missing(self, expression: exp.Expr) -> exp.Expr:
        """Return the first column in an expression that the result does not have, or all of it."""
        missing = (c for c in expression.find_all(exp.Column) if self.over(c) is None)
        return next(missing, expression)


def _text(expression: exp.Expr) -> str:
    """Return an expression as it is compared."""
    return without_parens(expression).sql("duckdb", identify=False).lower()


def _set_operations(tree: exp.Expr) -> Iterator[exp.SetOperation]:
    inner = unwrapped(tree)
    if isinstance(inner, exp.SetOperation):
        yield inner
        yield from _set_operations(inner.this)
        yield from _set_operations(inner.expression)


def _sides(tree: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs of a set operation, from the left."""
    inner = unwrapped(tree)
    if isinstance(inner, exp.SetOperation):
        yield from _sides(inner.this)
        yield from _sides(inner.expression)
    elif isinstance(inner, exp.Select):
        yield inner
