"""Names that are reserved, and the schema of streams, relations and queries."""

from __future__ import annotations

from collections.abc import Collection

from cqlduck.errors import BindError

SCHEMA, DATABASE = "main", "cqlduck"
"""Where streams, relations and queries are, for those who write it before a name."""

RESERVED = ("_ts", "_weight", "_op")

SYSTEM = "SysStream"
"""The stream of what operators did, which ticks write."""


STORED = ("_cql_seq", "_cql_enter", "_cql_leave")
"""The columns that stand beside those of a stream or relation where it is stored."""

OURS = "_cql_"
"""How the names of columns begin that statements of a tick have beside those of their inputs."""


def is_reserved(name: str) -> bool:
    """Return whether no column of a stream or relation may have a name.

    >>> is_reserved("_TS"), is_reserved("_cql_at"), is_reserved("ts")
    (True, True, False)
    """
    return name.lower() in RESERVED or name.lower().startswith(OURS)


def refuse_name(name: str) -> None:
    """Refuse to make something that no query could name.

    Raises:
        BindError: It has a name of ours.
    """
    if name.lower().startswith(OURS):
        raise of_ours(name)


def of_ours(name: str) -> BindError:
    """Return the error that something has a name of ours."""
    return BindError(
        f"{name} is a reserved name",
        hint=f"names that begin with {OURS} are those of what cqlduck computes; choose another one",
    )


def reserved(name: str) -> BindError:
    """Return the error that a column of a query has a name of ours."""
    return BindError(f"{name} is a reserved name", hint=f"write {name} AS something else")


def bare(name: str) -> str:
    """Return a name without the schema of streams, relations and queries, if it begins with it.

    >>> bare("main.s"), bare("cqlduck.main.s"), bare("other.s")
    ('s', 's', 'other.s')
    """
    for prefix in (f"{DATABASE}.{SCHEMA}.", f"{SCHEMA}."):
        if name.lower().startswith(prefix):
            return name[len(prefix) :]
    return name


def unused(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken, with as many underscores behind it as it needs.

    >>> unused("a", {"a", "a_"})
    'a__'
    """
    while name in taken:
        name += "_"
    return name
