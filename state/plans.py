"""The stored plans of queries: `cql_state.plans`, and their statements, a row for each form.

Rows belong to one version of the rewriter, which they name by a digest of its source. Rows of
another version are not read: the query is compiled and its rows are written anew. In memory nothing
is stored.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from cqlduck.errors import DatabaseError
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.plan import Plan
from cqlduck.rewrite.statements.compiled import Compiled
from cqlduck.rewrite.statements.steps import Step, Steps
from cqlduck.rewrite.statements.stored import (
    form_of,
    form_text,
    plan_of,
    plan_text,
    steps_of,
    steps_text,
)
from cqlduck.rewrite.text.time import Clock
from cqlduck.state.connection import Database

_DAMAGED = (zlib.error, ValueError, LookupError, TypeError)
"""What reading a row raises that is not as it was written."""


@functools.cache
def version() -> str:
    """Return the version of the rewriter: a digest of its source."""
    found = hashlib.sha256()
    for file in _sources(files("cqlduck.rewrite")):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _sources(folder: Traversable) -> Iterator[Traversable]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            yield from _sources(entry)
        elif entry.name.endswith(".py"):
            yield entry


def load(
    database: Database, clock: Clock, names: Iterable[str], compiled: Callable[[str], Compiled]
) -> dict[str, Compiled]:
    """Return the plans that are stored, by lower-case name of the query.

    Args:
        database: The database.
        clock: Its clock.
        names: The queries.
        compiled: Compiles a query anew.
    """
    if database.is_new:
        return {}
    facts = dict(
        database.rows("SELECT query, facts FROM cql_state.plans WHERE version = ?", [version()])
    )
    found = {}
    for name in names:
        if name in facts:
            make = functools.partial(_plan, name, compiled)
            # what cannot be read is written anew
            with contextlib.suppress(*_DAMAGED):
                found[name.lower()] = plan_of(facts[name], name, clock, make)
    for name, form in database.rows("SELECT query, form FROM cql_state.statements"):
        if name.lower() in found:
            read = functools.partial(_read, database, name, form)
            # statements of a form that cannot be read are written anew
            with contextlib.suppress(*_DAMAGED):
                found[name.lower()].steps.stored[form_of(form)] = read
    return found


def _plan(name: str, compiled: Callable[[str], Compiled], root: str) -> Plan:
    """Return the plan of a query's text, if that still means what it meant.

    Raises:
        DatabaseError: It does not.
    """
    found = compiled(name)
    if found.root != root:
        raise DatabaseError(
            f"the text of the continuous query {name} means something else than when it was "
            "registered; a type or a function that it names has changed",
            hint="CREATE OR REPLACE CONTINUOUS QUERY registers it as it is now",
        )
    return found.plan


def _read(database: Database, name: str, form: str) -> tuple[Step, ...]:
    packed = database.value(
        "SELECT steps FROM cql_state.statements WHERE query = ? AND form = ?", [name, form]
    )
    try:
        return steps_of(zlib.decompress(packed).decode())
    except _DAMAGED as error:
        raise DatabaseError(
            f"the stored statements of the continuous query {name} are damaged",
            hint="empty cql_state.plans with duckdb; plans are compiled anew then",
        ) from error


def save(database: Database, name: str, compiled: Compiled) -> None:
    """Write the plan of a query that has none there."""
    if not database.in_memory:
        database.execute(
            "INSERT INTO cql_state.plans VALUES (?, ?, ?)", [name, version(), plan_text(compiled)]
        )


def renew(database: Database, name: str, compiled: Compiled) -> None:
    """Write the plan of a query, in place of what stands there."""
    if not database.in_memory:
        drop(database, name)
        save(database, name, compiled)


def save_statements(database: Database, plans: Mapping[str, Compiled]) -> list[tuple[Steps, Form]]:
    """Write the statements of the forms that are new; return these, to be noted after the commit.

    Args:
        database: The database, inside a transaction.
        plans: The plans, by lower-case name of the query.
    """
    if database.in_memory:
        return []
    new = [(c.steps, form) for c in plans.values() for form in c.steps.unstored()]
    if new:
        marks = ", ".join(["(?, ?, ?)"] * len(new))
        values: list[object] = []
        for steps, form in new:
            packed = zlib.compress(steps_text(steps.of(form)).encode(), 1)
            values += [steps.name, form_text(form), packed]
        database.execute(f"INSERT INTO cql_state.statements VALUES {marks}", values)
    return new


def written(plans: Mapping[str, Compiled]) -> Mapping[str, tuple[Steps, int]]:
    """Return how many forms of each plan are written: equal while none is written or replaced."""
    return {name: (one.steps, len(one.steps.written)) for name, one in plans.items()}


def drop(database: Database, name: str) -> None:
    """Remove the plan of a query and its statements."""
    for table in ("plans", "statements"):
        database.execute(f"DELETE FROM cql_state.{table} WHERE query = ?", [name])
