"""The inverse of `expressions`: marked calls in sqlglot's tree get their names back."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokens import Token

from cqlduck.errors import ParseError
from cqlduck.rewrite.text.cursor import CALL

LIST = "\x00list:"
"""What the marker of a SELECT list begins with; a number follows."""

_NULLS = (exp.Lead, exp.Lag, exp.FirstValue, exp.LastValue, exp.NthValue)
"""Functions that may leave NULLs out."""

_PLAIN = re.compile(r"\w+(\(.*\))?")


@dataclass(frozen=True)
class Reading:
    """The tokens of a query for sqlglot, and the items of its SELECT lists as they were written."""

    text: str
    tokens: list[Token]
    lists: list[list[str]]


def restore(tree: exp.Expr, reading: Reading) -> None:
    """Give functions in a tree their names back, and note how items of SELECT lists were written.

    The text of an item is `meta["written"]`. The tree is changed in place.
    """
    for node in list(tree.walk()):
        name = node.args.get("this")
        if isinstance(name, str) and name.startswith(CALL):
            node.set("this", name.removeprefix(CALL))
        match node:
            case exp.Select():
                _note_items(node, reading)
            case exp.DataType():
                kind = node.args.get("kind")
                if isinstance(kind, str) and not _PLAIN.fullmatch(kind):
                    node.set("kind", exp.to_identifier(kind, quoted=True))
            case exp.Anonymous(expressions=[first]):
                _spread_distinct(node, first)
            case exp.Bracket():
                _keep_index(node)
            case exp.WithinGroup(this=exp.Anonymous() as function):
                # as which DuckDB knows the functions of the standard
                known = function.name.removeprefix(CALL).lower()
                if known in ("percentile_cont", "percentile_disc"):
                    function.set("this", known.replace("percentile", "quantile"))
            case exp.IgnoreNulls() | exp.RespectNulls() if not isinstance(node.this, _NULLS):
                raise ParseError(
                    f"{'IGNORE' if isinstance(node, exp.IgnoreNulls) else 'RESPECT'} NULLS belongs "
                    "to lead, lag, first_value, last_value and nth_value",
                    hint="leave NULLs out of an aggregate with FILTER (WHERE x IS NOT NULL)",
                    text=reading.text,
                    offset=min(
                        (n.meta["start"] for n in node.walk() if "start" in n.meta), default=0
                    ),
                )


def _keep_index(bracket: exp.Bracket) -> None:
    """Let an index be the number that was written, whatever takes the place of what it is of.

    Sqlglot counts from 0 unless it knows that the operand is text, and is to write it alike.
    """
    if not bracket.args.get("json_access"):
        counted = DuckDB.INDEX_OFFSET - (bracket.args.get("offset") or 0)
        index = exp.apply_index_offset(bracket.this, bracket.expressions, counted, dialect="duckdb")
        bracket.set("expressions", index)
        bracket.set("offset", DuckDB.INDEX_OFFSET)


def _spread_distinct(call: exp.Anonymous, first: exp.Expr) -> None:
    """Let DISTINCT stand on the first argument alone: of several sqlglot would make a tuple."""
    distinct = first.this if isinstance(first, exp.Order) else first
    if not isinstance(distinct, exp.Distinct) or len(distinct.expressions) < 2:
        return
    value, *others = distinct.expressions
    if isinstance(first, exp.Order):
        first.set("this", others[-1])
        others[-1] = first
    call.set("expressions", [exp.Distinct(expressions=[value]), *others])


def _note_items(select: exp.Select, reading: Reading) -> None:
    """Take the marker out of a SELECT list, and hang the texts of its items on these."""
    if not select.expressions:
        return
    first, *items = select.expressions
    if isinstance(first, exp.Literal) and first.name.startswith(LIST):
        written = reading.lists[int(first.name.removeprefix(LIST))]
        select.set("expressions", items)
        for item, said in zip(items[-len(written) :], written, strict=False):
            item.meta["written"] = said
