"""What operators did in ticks that were measured: rows in and out, selectivity, seconds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cqlduck.rewrite.plan import Plan, unique
from cqlduck.rewrite.statements.steps import Step
from cqlduck.state.tick_plan import StepRan
from cqlduck.streamon.profiler import MeasuredTick


@dataclass(frozen=True)
class Measures:
    """What an operator did in a tick, or on the average of some.

    Attributes:
        rows_in: How many rows came to it, or None if they were not counted.
        rows_out: How many rows its statements made of them.
        selectivity: The second over the first, or None.
        seconds: How long its statements took.
    """

    rows_in: float | None
    rows_out: float
    selectivity: float | None
    seconds: float


def by_operator(plan: Plan, ticks: Sequence[MeasuredTick]) -> dict[int, Measures]:
    """Return what each operator with statements did in a tick, on the average.

    What an operator yields are the rows of the last table that it fills before the answer is
    written. What comes to it is what the operators below it yield, those without statements being
    part of it; if only one input is below it that has none, that is what came in the tick.

    Args:
        plan: The plan.
        ticks: The ticks.
    """
    nodes = unique(plan)
    numbers = {id(node): number for number, node in enumerate(nodes)}
    below = {numbers[id(node)]: [numbers[id(c)] for c in node.children] for node in nodes}
    leaves = sum(not inputs for inputs in below.values())
    rows_in: dict[int, list[int | None]] = {}
    rows_out: dict[int, list[int]] = {}
    seconds: dict[int, list[float]] = {}
    for tick in ticks:
        made = _yields(tick.steps, tick.ran)
        for number, rows in made.items():
            rows_out.setdefault(number, []).append(rows)
            came = _coming(number, below, made, tick.elements if leaves == 1 else None)
            rows_in.setdefault(number, []).append(came)
        spent: dict[int, float] = dict.fromkeys(made, 0.0)
        for step, one in zip(tick.steps, tick.ran, strict=True):
            spent[step.operator] = spent.get(step.operator, 0.0) + one.seconds
        for number, took in spent.items():
            seconds.setdefault(number, []).append(took)
    found = {}
    for number, took_each in seconds.items():
        made_each = rows_out.get(number, [0])
        known = [
            (came, rows)
            for came, rows in zip(rows_in.get(number, [None]), made_each, strict=True)
            if came is not None
        ]
        came_in = statistics.fmean(came for came, _ in known) if known else None
        part = statistics.fmean(rows for _, rows in known) / came_in if came_in else None
        found[number] = Measures(
            came_in, statistics.fmean(made_each), part, statistics.fmean(took_each)
        )
    return found


def _yields(steps: Sequence[Step], ran: Sequence[StepRan]) -> dict[int, int]:
    """Return how many rows each operator has made, of those that have statements."""
    found: dict[int, tuple[str | None, int]] = {}
    for step, one in zip(steps, ran, strict=True):
        table, rows = found.get(step.operator, (None, 0))
        if step.answer is not None:
            found[step.operator] = None, one.rows
            # what follows brings synopses up to date
            break
        found[step.operator] = step.makes, one.rows + (rows if step.makes == table else 0)
    return {number: rows for number, (_, rows) in found.items()}


def _coming(
    number: int, below: Mapping[int, Sequence[int]], made: Mapping[int, int], came: int | None
) -> int | None:
    """Return how many rows came to an operator, or None if they were not counted."""
    if not below[number]:
        return came
    total = 0
    for inner in below[number]:
        rows = made[inner] if inner in made else _coming(inner, below, made, came)
        if rows is None:
            return None
        total += rows
    return total
