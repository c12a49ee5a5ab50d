"""Widening: the text of a query that shows what two queries show.

Of these two

    SELECT k, count(*) AS n FROM s [RANGE 60] GROUP BY k HAVING count(*) > 5
    SELECT k, sum(v) AS t FROM s [RANGE 60] x GROUP BY k

it is the first one, with what it lacks of the second one behind its SELECT list. Of HAVING,
and of the conditions of WHERE that are such (`outline`), it has what both have; the rest are
columns:

    SELECT k, count(*) AS n, sum(s.v) AS t, count(*) > 5 AS condition FROM s [RANGE 60] GROUP BY k

Names are resolved as they are written, so the text may mean something else, if an alias is in the
way: who calls this compares outlines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cqlduck.rewrite.physical.outline import Outline
from cqlduck.rewrite.plan.conditions import conjuncts as conjuncts_of
from cqlduck.rewrite.text.constants import NESTING, conjuncts
from cqlduck.rewrite.text.parsed import remove_operator
from cqlduck.rewrite.text.queries import parse_query
from cqlduck.rewrite.text.tokens import tokenize

CONDITION = "condition"
"""How a column is called that was a condition of HAVING or WHERE."""


@dataclass(frozen=True)
class Written:
    """A query as it is written, and what it shows.

    Attributes:
        text: Its text.
        names: The names of its columns.
        types: Their types.
        outline: Its outline.
    """

    text: str
    names: tuple[str, ...]
    types: tuple[str, ...]
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
    first, second = _conditions(tree, one, {}), _conditions(added, other, names)
    if first is None or second is None:
        return None
    both = [c for means, c in first.items() if means in second]
    having = [c.sql for c in both if c.place is None and c.sql is not None]
    removed: list[int] = []
    for meaning, condition in {**second, **first}.items():
        if meaning in first and meaning in second:
            continue
        if condition.sql is None:
            return None
        if meaning not in shown:
            items.append(f"{condition.sql} AS {_new(CONDITION, taken)}")
            shown.add(meaning)
        if meaning in first and condition.place is not None:
            removed.append(condition.place)
    source = parts.source_without(removed)
    return None if source is None else parts.written(items, source, having)


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
        conditions: Where each conjunct of WHERE begins and ends in the text.
        text: All of it.
    """

    head: str
    operator: str
    source: slice
    conditions: Sequence[slice]
    text: str

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
        source = slice(tokens[begin].start, last.end + 1)
        where = _conjuncts_of_where(tokens, found)
        return cls(text[:end], ")" if is_operator else "", source, where, text)

    def source_without(self, removed: Collection[int]) -> str | None:
        """Return what stands from FROM to GROUP BY, without some conjuncts of WHERE.

        Args:
            removed: A place in each of these.

        Returns:
            The text; None if one stands elsewhere, or together with others in parentheses.
        """
        if not removed:
            return self.text[self.source]
        inside = [[at for at in removed if c.start <= at < c.stop] for c in self.conditions]
        if sum(map(len, inside)) != len(removed) or any(len(one) > 1 for one in inside):
            return None
        first, last = self.conditions[0], self.conditions[-1]
        rest = [self.text[c] for c, gone in zip(self.conditions, inside, strict=True) if not gone]
        before = self.text[self.source.start : first.start].rstrip()
        before = before if rest else before[: -len("WHERE")]
        behind = self.text[last.stop : self.source.stop]
        return " ".join(filter(None, [before.strip(), " AND ".join(rest), behind.strip()]))

    def written(self, items: Sequence[str], source: str, having: Sequence[str]) -> str:
        """Return the text with more items, another source, and these conditions of HAVING."""
        parts = [", ".join([self.head, *items]), self.operator, " ", source]
        if having:
            parts += [" HAVING ", " AND ".join(having)]
        return "".join(parts)


_LAST = (TokenType.HAVING, TokenType.ORDER_BY)
_AFTER_WHERE = (TokenType.GROUP_BY, *_LAST)


def _conjuncts_of_where(tokens: Sequence[Token], found: Mapping[TokenType, int]) -> Sequence[slice]:
    """Return where the conjuncts of WHERE begin and end in the text."""
    where = found.get(TokenType.WHERE)
    if where is None:
        return []
    end = min((found[kind] for kind in _AFTER_WHERE if kind in found), default=len(tokens))
    inside = tokens[where + 1 : end]
    each = list(conjuncts(inside)) or [inside]
    return [slice(one[0].start, one[-1].end + 1) for one in each]


def _clauses(tokens: Sequence[Token]) -> Iterator[tuple[TokenType, int]]:
    """Yield where clauses begin, the last ones first."""
    depth, found = 0, list[tuple[TokenType, int]]()
    for place, token in enumerate(tokens):
        depth += NESTING.get(token.token_type, 0)
        is_clause = token.token_type in (TokenType.FROM, TokenType.WHERE, *_AFTER_WHERE)
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


@dataclass(frozen=True)
class _Condition:
    """A condition of HAVING or WHERE.

    Attributes:
        sql: Its text, with the names of the query that it is put into; None if it stands in a
            subquery of FROM, or has one.
        place: Where a column of it stands in the text of its query; None of HAVING.
    """

    sql: str | None
    place: int | None


def _conditions(
    tree: exp.Select, query: Written, names: Mapping[str, str]
) -> dict[str, _Condition] | None:
    """Return the conditions of a query by meaning, without aliases of the SELECT list."""
    clause = tree.args.get("having")
    found = [] if clause is None else list(conjuncts_of(clause.this))
    shown = query.outline
    listed = list(zip(shown.conditions, shown.places, strict=True))
    having = [meaning for meaning, place in listed if place is None]
    if len(found) != len(having) or not all(map(_can_stand_elsewhere, found)):
        return None
    aliases = {i.alias.lower(): i.this for i in tree.expressions if isinstance(i, exp.Alias)}

    def resolved(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases:
            return exp.Paren(this=aliases[node.name.lower()].copy())
        return node

    texts = [_printed(one.copy().transform(resolved), names) for one in found]
    known = {m: _Condition(sql, None) for m, sql in zip(having, texts, strict=True)}
    where = list(_where(tree))
    for meaning, place in listed:
        if place is None:
            continue
        there = [one for one in where if place in _places(one)]
        can = len(there) == 1 and _can_stand_elsewhere(there[0])
        known[meaning] = _Condition(_printed(there[0], names) if can else None, place)
    return known


def _where(tree: exp.Select) -> Iterator[exp.Expr]:
    """Yield the conjuncts of WHERE, and of ON."""
    where = tree.args.get("where")
    said = [None if where is None else where.this]
    said += [joined.args.get("on") for joined in tree.args.get("joins", ())]
    for condition in said:
        if condition is not None:
            yield from conjuncts_of(condition)


def _places(tree: exp.Expr) -> set[int]:
    """Return where the names of an expression stand in the text."""
    return {node.meta["start"] for node in tree.walk() if "start" in node.meta}


def _printed(value: exp.Expr, names: Mapping[str, str]) -> str:
    """Return an expression as text, in parentheses, with other names of the items of FROM."""
    copy = value.copy()
    for column in copy.find_all(exp.Column):
        if column.table and column.table.lower() in names:
            column.set("table", exp.to_identifier(names[column.table.lower()], quoted=True))
    return f"({copy.sql('duckdb')})"
