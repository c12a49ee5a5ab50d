"""Instances of operators: the owners of synopses, after which tables are named.

An operator is what it computes, so its id is the same in all queries. An instance is what one owner
has of it since the owner began: its synopses, and its tables of a tick. Every query owns its
instances, which are named after the query and the id.
"""

from __future__ import annotations

from collections.abc import Collection

from cqlduck.rewrite.physical.identity import identity
from cqlduck.rewrite.plan import Plan


def name(owner: str, node: Plan, taken: Collection[str] = ()) -> str:
    """Return the name of an owner's instance of an operator.

    Args:
        owner: The query.
        node: The operator in the query's plan.
        taken: The names of the owner's other instances: a plan may have an operator twice.
    """
    first = f"{owner}_{identity(node).id}"
    if first not in taken:
        return first
    return next(other for n in range(2, len(taken) + 3) if (other := f"{first}_{n}") not in taken)
