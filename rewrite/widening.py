"""Widening: the text of a query that shows what two queries show.

Of these two

    SELECT k, count(*) AS n FROM s [RANGE 60] GROUP BY k HAVING count(*) > 5
    SELECT k, sum(v) AS t FROM s [RANGE 60] x GROUP BY k

it is the first one, with what it lacks of the second one behind its SELECT list. Of HAVING it has
what both have; the rest are columns:

    SELECT k, count(*) AS n, sum(s.v) AS t, count(*) > 5 AS condition FROM s [RANGE 60] GROUP BY k

Names are resolved as they are written, so the text may mean something else, if an alias is in the
way: who calls this compares outlines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cqlduck.rewrite.physical.outline import Outline
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.text.constants import NESTING
from cqlduck.rewrite.text.parsed import remove_operator
from cqlduck.rewrite.text.queries import parse_query
from cqlduck.rewrite.text.tokens import tokenize

CONDITION = "condition"
"""How a column is called that was a condition of HAVING."""


@dataclass(frozen=True)
class Written:
    """A query as it is written, and what it shows.

    Attributes:
        text: Its text.
        names: The names of its columns.
        outline: Its outline.
    """

    text: str
    names: tuple[str, ...]
    outline: Outline


def widened(one: Written, other: Written) -> str | None:
    """Return the text of a query that shows what two queries show.

    Args:
        one: A query.
        other: A query with the same base.

    Returns:
        The text; its first columns are those of the first query. None if none can be made of
        theirs.
    """
    parts, tree, added = _Parts.of(one.text), _select(one.text), _select(other.text)
    if parts is None or tree is None or added is None:
        return None
    names = _renamed(tree, added)
    if names is None:
        return None
    shown = set(one.outline.columns)
    taken = {name.lower() for name in one.names}
    items: list[str] = []
    for value, means, name in _items(added, other):
        if means <= shown:
            continue
        if not _can_stand_elsewhere(value):
            return None
        items.append(f"{_printed(value, names)} AS {_new(name, taken)}")
        shown |= means
    conditions = [_conditions(tree, one, {}), _conditions(added, other, names)]
    if None in conditions:
        return None
    first, second = (known or {} for known in conditions)
    having = [sql for means, sql in first.items() if means in second]
    for meaning, sql in {**first, **second}.items():
        if (meaning in first) != (meaning in second) and meaning not in shown:
            items.append(f"{sql} AS {_new(CONDITION, taken)}")
            shown.add(meaning)
    return parts.written(items, having)


def _can_stand_elsewhere(value: exp.Expr) -> bool:
    """Return whether an expression is one column, and says all that it needs."""
    stars = [star for star in value.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    return not stars and value.find(exp.Query, exp.Window) is None


def _new(name: str, taken: set[str]) -> str:
    """Return a name that no column has yet, as SQL, and note it."""
    number, known = 1, name
    while known.lower() in taken:
        number += 1
        known = f"{name}_{number}"
    taken.add(known.lower())
    return exp.to_identifier(known, quoted=True).sql("duckdb")


@dataclass(frozen=True)
class _Parts:
    """The parts of a SELECT, as they are written.

    Attributes:
        head: Up to the end of the SELECT list.
        operator: What closes it, if a relation-to-stream operator stands around it.
        source: From FROM to GROUP BY.
    """

    head: str
    operator: str
    source: str

    @classmethod
    def of(cls, text: str) -> _Parts | None:
        """Return those of a text; None if it is no plain SELECT."""
        tokens = tokenize(text)
        if not tokens or tokens[0].token_type != TokenType.SELECT:
            return None
        found = dict(_clauses(tokens))
        if TokenType.FROM not in found:
            return None
        begin = found[TokenType.FROM]
        ends = [place for kind, place in found.items() if kind in _LAST]
        last = tokens[min(ends, default=len(tokens)) - 1]
        closing = tokens[begin - 1]
        is_operator = (
            tokens[1].text.lower() in ("istream", "rstream")
            and tokens[2].token_type == TokenType.L_PAREN
            and closing.token_type == TokenType.R_PAREN
        )
        end = closing.start if is_operator else closing.end + 1
        return cls(text[:end], ")" if is_operator else "", text[tokens[begin].start : last.end + 1])

    def written(self, items: Sequence[str], having: Sequence[str]) -> str:
        """Return the text with more items, and with these conditions of HAVING."""
        parts = [", ".join([self.head, *items]), self.operator, " ", self.source]
        if having:
            parts += [" HAVING ", " AND ".join(having)]
        return "".join(parts)


_LAST = (TokenType.HAVING, TokenType.ORDER_BY)


def _clauses(tokens: Sequence[Token]) -> Iterator[tuple[TokenType, int]]:
    """Yield where clauses begin, the last ones first."""
    depth, found = 0, list[tuple[TokenType, int]]()
    for place, token in enumerate(tokens):
        depth += NESTING.get(token.token_type, 0)
        is_clause = token.token_type in (TokenType.FROM, *_LAST)
        # IS DISTINCT FROM
        if is_clause and not depth and tokens[place - 1].token_type != TokenType.DISTINCT:
            found.append((token.token_type, place))
    yield from reversed(found)


def _select(text: str) -> exp.Select | None:
    """Return a text as a tree without relation-to-stream operator; None if it is no SELECT."""
    tree = parse_query(text).tree
    if not isinstance(tree, exp.Select):
        return None
    remove_operator(tree)
    return tree


def _renamed(tree: exp.Select, other: exp.Select) -> Mapping[str, str] | None:
    """Return what the items of FROM of another query are called in one; None if they are others."""
    names: dict[str, str] = {}
    both = [_tables(tree), _tables(other)]
    if len(both[0]) != len(both[1]):
        return None
    for mine, its in zip(*both, strict=True):
        if mine.name.lower() != its.name.lower():
            return None
        names[its.alias_or_name.lower()] = mine.alias_or_name
    return names


def _tables(tree: exp.Select) -> list[exp.Expr]:
    source = tree.args.get("from_")
    joins = tree.args.get("joins") or ()
    return [] if source is None else [source.this, *(joined.this for joined in joins)]


def _items(tree: exp.Select, query: Written) -> Iterator[tuple[exp.Expr, set[str], str]]:
    """Yield the items of a SELECT list: value, meanings of the columns, name."""
    columns, place = query.outline.columns, 0
    for item in tree.expressions:
        value = item.unalias()
        is_star = isinstance(value, exp.Star) or (
            isinstance(value, exp.Column) and isinstance(value.this, exp.Star)
        )
        count = 1 + len(columns) - len(tree.expressions) if is_star else 1
        name = query.names[place] if place < len(query.names) else ""
        yield value, set(columns[place : place + count]), name
        place += count


def _conditions(
    tree: exp.Select, query: Written, names: Mapping[str, str]
) -> dict[str, str] | None:
    """Return the conjuncts of HAVING as text, by meaning, without aliases of the SELECT list."""
    clause = tree.args.get("having")
    found = [] if clause is None else conjuncts(clause.this)
    can = all(map(_can_stand_elsewhere, found))
    if len(found) != len(query.outline.conditions) or not can:
        return None
    aliases = {i.alias.lower(): i.this for i in tree.expressions if isinstance(i, exp.Alias)}

    def resolved(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases:
            return exp.Paren(this=aliases[node.name.lower()].copy())
        return node

    texts = [_printed(one.copy().transform(resolved), names) for one in found]
    return dict(zip(query.outline.conditions, texts, strict=True))


def _printed(value: exp.Expr, names: Mapping[str, str]) -> str:
    """Return an expression as text, in parentheses, with other names of the items of FROM."""
    copy = value.copy()
    for column in copy.find_all(exp.Column):
        if column.table and column.table.lower() in names:
            column.set("table", exp.to_identifier(names[column.table.lower()], quoted=True))
    return f"({copy.sql('duckdb')})"
