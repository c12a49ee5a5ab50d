"""Rules: plan → plan. `RULES` is the whole pipeline, in order; each rule is one law of equality.

`prune` comes first, so that no other rule stores or computes unused columns; `merge_equal` comes
last, to merge the equal nodes that the others have written.
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

RULES: tuple[Callable[[Plan], Plan], ...] = (
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
