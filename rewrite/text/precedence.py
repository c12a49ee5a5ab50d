"""DuckDB's operators: their precedence, and the function that each is written as for sqlglot.

The levels are those of DuckDB 2.0's grammar, from the loosest to the tightest; operators of one
level group from the left. sqlglot has other levels for some of them, and other meanings for a few:
`expressions` writes those as calls of DuckDB's functions of the same meaning, and puts parentheses
where the levels differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ARROW = 0
OR = 1
AND = 2
NOT = 3
IS = 4
DISTINCT_FROM = 5
COMPARISON = 6
MATCH = 7
"""BETWEEN, IN, LIKE and their kin."""
OTHER = 8
"""`||` and every symbol without a level of its own."""
BITS = 9
TERM = 10
FACTOR = 11
POWER = 12
COLLATE = 13
ZONE = 14
SIGN = 15
ATOM = 16
"""Names, literals, calls, what is in parentheses, and what follows them: `::`, `[…]`, `.name`."""


@dataclass(frozen=True)
class Operator:
    """A binary operator.

    Args:
        level: How tightly it binds.
        written: 'infix' as it is; 'call' as a call of the function `name`; 'like' as the keywords
            in `name`; 'arrow' as an arrow between parentheses.
        name: See `written`.
        negated: Whether NOT stands before what it is written as.
    """

    level: int
    written: Literal["infix", "call", "like", "arrow"] = "infix"
    name: str = ""
    negated: bool = False


def _calls(level: int, *names: str) -> dict[str, Operator]:
    return {name: Operator(level, "call", name) for name in names}


SYMBOLS: dict[str, Operator] = {
    "->": Operator(ARROW, "arrow"),
    **dict.fromkeys(("=", "==", "<>", "!=", "<", "<=", ">", ">="), Operator(COMPARISON)),
    "~": Operator(MATCH, "call", "regexp_matches"),
    "!~": Operator(MATCH, "call", "regexp_matches", negated=True),
    "~~": Operator(MATCH, "like", "LIKE"),
    "!~~": Operator(MATCH, "like", "LIKE", negated=True),
    "~~*": Operator(MATCH, "like", "ILIKE"),
    "!~~*": Operator(MATCH, "like", "ILIKE", negated=True),
    "~~~": Operator(MATCH, "like", "GLOB"),
    "||": Operator(OTHER),
    **_calls(OTHER, "->>", "^@", "@>", "<@", "&&", "<->", "<=>"),
    **dict.fromkeys(("&", "|", "<<", ">>"), Operator(BITS)),
    **dict.fromkeys(("+", "-"), Operator(TERM)),
    **dict.fromkeys(("*", "/", "//", "%"), Operator(FACTOR)),
    **_calls(POWER, "^", "**"),
}
"""Operators that are written with signs."""

PREFIXES: dict[str, int] = {"-": SIGN, "+": SIGN, "@": OTHER, "!": OTHER, "~": TERM}
"""Prefix operators, and the level of what they take."""


SIGNS = frozenset("+-*/<>=~!@%^&|")
"""What operators are written with."""

ODD = frozenset("~!@%^&|")
"""Signs after which + and - belong to the same operator, as PostgreSQL has it."""


def needs_parentheses(parent: int, child: int) -> bool:
    """Return whether sqlglot could group an operand otherwise than DuckDB has grouped it.

    Args:
        parent: The level of an operator that is written as it is.
        child: The level of its operand.

    >>> needs_parentheses(AND, COMPARISON), needs_parentheses(COMPARISON, TERM)
    (False, False)
    >>> needs_parentheses(OTHER, BITS), needs_parentheses(TERM, COLLATE)
    (True, True)
    """
    if child == ATOM:
        return False
    if parent in (OR, AND, NOT):
        return child < parent
    if parent in (IS, DISTINCT_FROM, COMPARISON, MATCH):
        return child < OTHER
    if parent in (TERM, FACTOR):
        return child < parent or child in (POWER, COLLATE, ZONE)
    if parent == OTHER:
        return child not in (OTHER, TERM, FACTOR, SIGN)
    return True
