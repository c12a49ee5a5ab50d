"""A compiled query: its plan and statements, and facts that the engine reads between ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cqlduck.rewrite import explain
from cqlduck.rewrite.physical.form import UNSTAGED, Form
from cqlduck.rewrite.physical.outline import Outline
from cqlduck.rewrite.physical.statement import Synopsis
from cqlduck.rewrite.plan import Column, Plan, Source
from cqlduck.rewrite.statements.ordered import Ordered
from cqlduck.rewrite.statements.steps import OperatorRow, Steps
from cqlduck.rewrite.text.time import Duration


@dataclass(frozen=True)
class Compiled:
    """A query, ready to run.

    Args:
        kind: 'stream' or 'relation': what the query yields.
        columns: Its columns, without `_ts` and `_weight`.
        sources: What it reads, by lower-case name.
        steps: The statements of its ticks.
        root: The id of the operator that the query is.
        synopses: The tables that it keeps between ticks.
        spans: For each stream, how many instants before the frontier its elements are still
            needed; None is all of them.
        order: ORDER BY of the outermost SELECT as text, or None: how `table()` shows the answer.
        answer: The answer at the frontier, (columns, `_weight`), each of weight 1, read from
            synopses; or None where they do not hold it.
        repeats: Whether it may have elements at every instant: an Rstream of what stands, or the
            current time in the answer.
        counts_instants: Whether a window counts bare instants, which only integer time allows.
        is_heavy: Whether a tick costs pairs of instants and tuples, so that it should stay small.
        is_net: Whether of the elements that a tick writes no two have the same tuple and instant.
        period: After its first tick it changes at multiples of so many instants alone, its windows
            being such; None if it may change at any.
        taken: The macros and types that it captured, as text (`macros.Captured`).
        ordered: What has an order that can be chosen, or caches.
        outline: What it shows of what; None if nothing else can be shown of that.
    """

    kind: str
    columns: tuple[Column, ...]
    sources: dict[str, Source]
    steps: Steps
    root: str
    synopses: tuple[Synopsis, ...]
    spans: dict[str, Duration | None]
    order: str | None
    repeats: bool = False
    counts_instants: bool = False
    is_heavy: bool = False
    answer: str | None = None
    period: Duration | None = None
    is_net: bool = False
    taken: str = ""
    ordered: tuple[Ordered, ...] = ()
    outline: Outline | None = None

    @property
    def plan(self) -> Plan:
        """The logical plan."""
        return self.steps.plan

    @property
    def operators(self) -> tuple[OperatorRow, ...]:
        """The operators of the plan for people to look at."""
        return self.steps.operators

    def rests(self, before: int, until: int) -> bool:
        """Return whether nothing can change after one instant and up to another."""
        return self.period is not None and before // self.period == until // self.period

    def explain(
        self, forms: Sequence[Form] = (UNSTAGED, Form(single=True, staged=True)), notes: str = ""
    ) -> str:
        """Return the plan as text, and under each operator's number its statements.

        Args:
            forms: The forms of which they are; of those after the first one what is another
                statement. By default what differs most: the others mix these.
            notes: What is to be said between the plan and the statements.
        """
        parts = ["\n".join(explain.tree(self.plan)), *([notes] if notes else [])]
        for made in self.steps.fills(forms[0]):
            what = f"-- operator {made.synopsis.operator}: fill a cache, when it is made"
            parts += [] if made.sql is None else [f"{what}\n{made.sql};"]
        for step, form in self.steps.shown(forms):
            where = "" if form is None else f", in {form}"
            parts.append(f"-- operator {step.operator}: {step.purpose}{where}\n{step.sql};")
        return "\n\n".join(parts)
