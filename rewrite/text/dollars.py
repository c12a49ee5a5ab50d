"""Parameters that stand close together, which sqlglot reads as a dollar-quoted text.

sqlglot reads `$1,$` in `VALUES ($1,$2)` as the beginning of a text `$1,$…$1,$`. DuckDB wants a name
there, or nothing. A space after the parameter tells them apart, and has no other meaning.
"""

from __future__ import annotations

import re

_WORDS = re.compile(
    r"""
      [eE]'(?:[^'\\]|\\.|'')*'                      # a string with escapes
    | '(?:[^']|'')*'                                # a string
    | "(?:[^"]|"")*"                                # a quoted name
    | --[^\n]* | /\*.*?\*/                          # a comment
    | [^\W\d][\w$]*                                # a name
    | (?P<tag>\$(?:[^\W\d]\w*)?\$).*?(?P=tag)       # a text between dollars
    | (?P<parameter>\$(?:\d+|[^\W\d]\w*)) (?P<close>(?=[^\s$][^$]*\$))?  # and a dollar behind it
    """,
    re.VERBOSE | re.DOTALL,
)


def spaced(text: str) -> str:
    """Return a text of SQL with a space behind each parameter that another could follow.

    >>> spaced("SELECT '$1,$2' IN ($1,$2)")
    "SELECT '$1,$2' IN ($1 ,$2)"
    """
    return _WORDS.sub(lambda m: m[0] if m["close"] is None else f"{m[0]} ", text)


def place_before(text: str, place: int) -> int:
    """Return which place of a text has come to stand at a place of `spaced(text)`.

    >>> place_before("($1,$2)", 4)
    3
    """
    before = 0
    for found in _WORDS.finditer(text):
        if found["close"] is not None and found.end() + before < place:
            before += 1
    return place - before
