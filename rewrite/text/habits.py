"""Habits: what people write who know other systems, or earlier papers, and what is written here.

An error of syntax has a place in the text. If what stands there is a habit, the hint says what to
write in its stead.
"""

from __future__ import annotations

import re

_IN_QUERIES = "CREATE CONTINUOUS QUERY name AS SELECT …"

# each begins where a word or a space does, or a long one would be searched from each of its letters
HABITS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), hint)
    for pattern, hint in (
        (
            r"(\b\w+\s*)?\[\s*(RANGE|ROWS|NOW|UNBOUNDED|PARTITION|HOP|TUMBLE)\b",
            f"windows stand in continuous queries alone: {_IN_QUERIES}",
        ),
        (
            r"\b[IDR]STREAM\s*\(",
            f"relation-to-stream operators stand in continuous queries alone: {_IN_QUERIES}",
        ),
        (
            r"(\(\s*|(?<!\s)\s+)?\b(RANGE|ROWS|HOP|TUMBLE)\s+\d+(\s+\w+)?",
            "a window stands in brackets behind its stream: s [RANGE 5]",
        ),
        (
            r"\b(CREATE(\s+OR\s+REPLACE)?|DROP|ALTER|SHOW|EXPLAIN|DESCRIBE)\s+QUER(Y|IES)\b",
            "write CONTINUOUS QUERY",
        ),
        (
            r"\bDESCRIBE\s+CONTINUOUS\s+QUERY\b",
            "EXPLAIN CONTINUOUS QUERY name says what it does, DESCRIBE name its columns",
        ),
        (
            r"\b(PAUSE|STOP|SUSPEND)\s+CONTINUOUS\s+QUERY\b",
            "ALTER CONTINUOUS QUERY name DEACTIVATE",
        ),
        (
            r"\b(RESUME|START)\s+CONTINUOUS\s+QUERY\b",
            "ALTER CONTINUOUS QUERY name ACTIVATE",
        ),
        (
            r"\bEMIT(\s+\w+)*",
            "leave it out: changes() and subscribe() give what changes",
        ),
        (
            r"\b[IDR]STREAM\s+SELECT\b",
            "write SELECT Istream(a, b) FROM …, or Istream(SELECT …)",
        ),
    )
)
"""What is written, and what to write."""


def habit(text: str, place: int) -> str | None:
    """Return what to write in the stead of the habit at a place, or None if there is none.

    Args:
        text: The text.
        place: Where it could not be read.

    >>> habit("SELECT k FROM s RANGE 5", 22)
    'a window stands in brackets behind its stream: s [RANGE 5]'
    >>> habit("SELECT k FROM s", 14) is None
    True
    """
    for pattern, hint in HABITS:
        for found in pattern.finditer(text, max(text.rfind(";", 0, place), 0)):
            if found.start() > place:
                break
            if place < found.end():
                return hint
    return None
