"""Insertions into a relation with a primary key whose keys are all free.

Where a key has no tuple, and no second element, `primary_key` comes to one thing: its tuple enters
at the instant of its insertion. So of insertions alone it is asked only which keys are not free,
before their tuples are compared with any others. If there is one, the other laws judge them all.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.operators.relation import Relation, near_keys
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import SEQ, named, number, references, temp_table, union_all


def occupied(relation: Relation) -> exp.Select:
    """Return (`_cql_seq`) of each key that is not free, by what changes: one of its rows.

    Args:
        relation: The relation; it has a primary key, its pending elements are insertions alone, and
            `Scratch.changed` has them.
    """
    assert relation.scratch is not None
    keys = [c for c in relation.columns if c.name in relation.primary_key]
    changed = temp_table(relation.scratch.changed)
    elements = exp.select(*references(keys), column(SEQ)).from_(changed, copy=False)
    both = union_all([elements, near_keys(relation, changed)]).subquery("tuples", copy=False)
    count = exp.Count(this=exp.Star())
    return (
        exp.select(named(exp.Min(this=column(SEQ)), SEQ))
        .from_(both, copy=False)
        .group_by(*references(keys), copy=False)
        .having(exp.GT(this=count, expression=number(1)), copy=False)
    )
