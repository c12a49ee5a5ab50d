"""Plans of queries as values: operators, what they keep, what runs, and what was measured.

`plan_of` reads the plan of a registered query; `QueryPlan` shows it as text, JSON, a picture in
Mermaid and as SQL over the inspection views.
"""

from cqlduck.queryplan.plan import QueryPlan, plan_of

__all__ = ["QueryPlan", "plan_of"]
