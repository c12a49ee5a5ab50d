"""Rules: plan → plan. `RULES` is the whole pipeline, in order; each rule is one law of equality.

`prune` comes before all that store or compute, so that none does so for unused columns.
`merge_equal` comes before it, because only then a node is known to have several readers, whose
columns it needs; and last, to merge the equal nodes that the others have written.
"""

from __future__ import annotations

from collections.abc import Callable

from cqlduck.rewrite.plan import Plan
from cqlduck.rewrite.rules.canonical import canonical_values
from cqlduck.rewrite.rules.distinct_arguments import distinct_arguments
from cqlduck.rewrite.rules.group_distinct import group_distinct
from cqlduck.rewrite.rules.materialize import materialize
from cqlduck.rewrite.rules.merge_equal import merge_equal
from cqlduck.rewrite.rules.net import net
from cqlduck.rewrite.rules.postpone import materialize_raising, postpone
from cqlduck.rewrite.rules.prune import prune
from cqlduck.rewrite.rules.row_over_nothing import row_over_nothing

RULES: tuple[Callable[[Plan], Plan], ...] = (
    row_over_nothing,
    merge_equal,
    prune,
    postpone,
    distinct_arguments,
    canonical_values,
    materialize_raising,
    group_distinct,
    net,
    materialize,
    merge_equal,
)


def optimize(plan: Plan) -> Plan:
    """Apply all rules in order."""
    for rule in RULES:
        plan = rule(plan)
    return plan
