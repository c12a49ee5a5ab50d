"""Parameters that stand close together, which sqlglot takes for a text between dollars.

In `VALUES ($1,$2)` it reads `$1,$` as the beginning of a text `$1,$…$1,$`. DuckDB wants a name
there, or nothing. A space behind the parameter tells them apart, and means nothing else.
"""

from __future__ import annotations

import re

_WORDS = re.compile(
    r"""
      \b[eE]'(?:[^'\\]|\\.|'')*'                    # a string with escapes
    | '(?:[^']|'')*'                                # a string
    | "(?:[^"]|"")*"                                # a quoted name
    | --[^\n]* | /\*.*?\*/                          # a comment
    | (?P<tag>\$(?:[^\W\d]\w*)?\$).*?(?P=tag)       # a text between dollars
    | (?P<parameter>(?<!\w)\$\w+)(?=[^\s$][^$]*\$)  # a parameter, and another dollar behind it
    """,
    re.VERBOSE | re.DOTALL,
)


def apart(text: str) -> str:
    """Return a text of SQL with a space behind each parameter that another could follow.

    >>> apart("SELECT '$1,$2' IN ($1,$2)")
    "SELECT '$1,$2' IN ($1 ,$2)"
    """
    return _WORDS.sub(lambda m: m[0] + " " if m["parameter"] else m[0], text)
