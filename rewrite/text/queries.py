"""The text of a query, parsed to a DuckDB syntax tree to which CQL's parts are attached.

The text is tokenized with sqlglot's stock DuckDB tokenizer. Windows, samples and relation-to-stream
operators are cut out of the list of tokens, which keep their places, so errors point into the
original text. The rest is plain DuckDB SQL and is parsed as such. A window is found again by the
place of the name that it follows (`windows`); a relation-to-stream operator leaves a marker as the
first expression of its SELECT, which is removed later.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokens import TokenType

from cqlduck.errors import Error
from cqlduck.rewrite.text.cutting import (
    Scan,
    cut_operators,
    cut_windows,
    refuse_empty_names,
    refuse_unpaired,
)
from cqlduck.rewrite.text.names import OURS, of_ours
from cqlduck.rewrite.text.parsing import parse_tokens
from cqlduck.rewrite.text.tokens import tokenize
from cqlduck.rewrite.text.windows import SampleSyntax, WindowSyntax


@dataclass(frozen=True)
class QuerySyntax:
    """A query: its syntax tree, its windows and samples by the place of the name they follow."""

    text: str
    tree: exp.Query
    windows: dict[int, WindowSyntax]
    samples: dict[int, SampleSyntax]
    mentions_ts: bool


def parse_query(text: str) -> QuerySyntax:
    """Read a query.

    >>> parse_query("SELECT a FROM s [ROWS 5] x").windows
    {14: WindowSyntax(offset=16, range=None, rows=5, now=False, unbounded=False, hop=False, \
slide=None, slide_rows=None, partition_by=(), where=None)}

    Raises:
        ParseError: With line, column and a caret.
    """
    tokens = tokenize(text)
    scan = Scan(text, tokens)
    try:
        cut_operators(scan)
        cut_windows(scan)
        refuse_unpaired(scan)
        refuse_empty_names(scan)
    except Error as error:
        place = tokens[0].start if tokens else 0
        raise error.at(text, place if error.offset is None else error.offset) from error
    mentions = "_ts" in [t.text.lower() for t in tokens if t.token_type != TokenType.STRING]
    tree = parse_tokens(text, scan.kept)
    return QuerySyntax(text, tree, scan.windows, scan.samples, mentions)


def refuse_ours(body: str) -> None:
    """Refuse a query that names something as statements of a tick may name what they compute.

    Raises:
        BindError: It has such a name, at its place.
        ParseError: It is no query.
    """
    if OURS not in body.lower():
        return
    for name in parse_query(body).tree.find_all(exp.Identifier):
        if name.name.lower().startswith(OURS):
            places = [token.start for token in tokenize(body) if token.text == name.name]
            raise of_ours(name.name).at(body, next(iter(places), 0))
