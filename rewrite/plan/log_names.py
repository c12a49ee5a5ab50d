"""The names of the log of a query's elements, and of its condensed log, inside `cql_state`."""

from __future__ import annotations

CONDENSED = "condensed_"
"""How the names of condensed logs begin."""


def log_of(query: str) -> str:
    """Return the name of the log of the elements of a query.

    >>> log_of("q")
    'changes_q'
    """
    return f"changes_{query}"


def condensed_log_of(query: str) -> str:
    """Return the name of the log of a query, up to an earlier instant summed up.

    >>> condensed_log_of("q")
    'condensed_q'
    """
    return f"{CONDENSED}{query}"
