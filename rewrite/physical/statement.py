"""The products of operators: the statements of a tick, and synopses."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.physical.emptiness import Needs
from cqlduck.rewrite.physical.quiet import Quiet
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.relalg.elements import LEAVE
from cqlduck.rewrite.text.time import Duration

CACHE, KEYS = "cache", "keys"
"""The combinations of a cache; of a partial one the keys that it knows besides."""

DISPOSABLE = [CACHE, KEYS]
"""The kinds of synopses that may be dropped and made anew at any tick."""


@dataclass(frozen=True)
class Synopsis:
    """A table in `cql_state` that an operator keeps between ticks.

    Args:
        name: The table.
        operator: The number of the operator in its plan.
        kind: 'groups', 'counts', 'outliers', 'rows', 'trace', 'content', 'panes', 'cache' or
            'keys'.
        columns: Its columns.
        reach: For the trace of a stream, how many instants before the frontier its elements are
            still needed; None is all of them.
        is_log: Whether it is a log of a relation's elements, which may be compacted.
    """

    name: str
    operator: int
    kind: str
    columns: tuple[Column, ...]
    reach: Duration | None = None
    is_log: bool = False

    @property
    def has_lifetimes(self) -> bool:
        """Whether its rows say when they leave."""
        return any(known.name == LEAVE for known in self.columns)


@dataclass(frozen=True)
class Reusable:
    """A temporary table that other queries may need too.

    Args:
        table: Its name, which says what it holds.
        parameters: On which of them it depends.
        quiet: When it is empty, as far as that can be told without asking for it.
    """

    table: str
    parameters: frozenset[str]
    quiet: Quiet | None = None


@dataclass(frozen=True)
class Statement:
    """One statement of a tick: the tree, and what it is for.

    With `each`, a temporary table of instants and the ones after them, it runs once for each of
    these, as `$at` and `$next`. `is_stage` says that another form does without it, `is_sure` that
    this one is known to be no slower. `shared` is what it makes if other queries may need the same.
    It `needs` a row in one of each of these sets of temporary tables, besides what its text says
    (`physical.emptiness`). It changes nothing while all inputs of `unless`, if there are any, are
    quiet.
    """

    operator: int
    purpose: str
    tree: exp.Expr
    each: str | None = None
    is_stage: bool = False
    is_sure: bool = False
    shared: Reusable | None = None
    needs: Needs = ()
    unless: tuple[Quiet, ...] = ()
