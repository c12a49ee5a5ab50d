"""The parts of a plan as people and programs see it. All are plain values, as in their JSON."""

from __future__ import annotations

from dataclasses import dataclass

from cqlduck.streamon.measures import Measures


@dataclass(frozen=True)
class PlanStatement:
    """A statement of an operator.

    Attributes:
        purpose: What it is for.
        ticks: In which ticks it is that one, where the form of the plan makes a difference.
        sql: The statement.
    """

    purpose: str
    ticks: str
    sql: str


@dataclass(frozen=True)
class PlanSynopsis:
    """A table that an operator keeps, or the store of an input.

    Attributes:
        kind: What it has, as in `cql.synopses`; 'store' of an input, 'log' of a query, and 'base'
            of one that yields a relation.
        table: The table, as SQL names it.
        readers: The queries that read it.
        bound: What bounds it, in words, or that it grows for ever.
        rows: How many rows it has, if that was measured.
        bytes: About how many bytes these take, as Arrow holds them, if that was measured.
    """

    kind: str
    table: str
    readers: tuple[str, ...]
    bound: str | None
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class PlanChoice:
    """What stands at a point of choice.

    Attributes:
        point: Its kind.
        input: Of a pipeline of a join, the number of the input that changes, from 1; or None.
        ticks: For which ticks it is chosen, or ''.
        option: What runs.
        options: What there is, as far as that is a list.
        chosen_by: 'default', 'measured' or 'user'.
        since: The number of the first tick with it.
        reason: Why, if it was changed.
    """

    point: str
    input: int | None
    ticks: str
    option: str
    options: tuple[str, ...]
    chosen_by: str
    since: int
    reason: str | None


@dataclass(frozen=True)
class PlanChange:
    """A change of a choice.

    Attributes:
        tick: The number of the first tick with the new option.
        point: The kind of the point.
        operator: The number of the operator, or None.
        before: The option before.
        after: The new one.
        chosen_by: 'measured' or 'user'.
        reason: Why.
    """

    tick: int
    point: str
    operator: int | None
    before: str
    after: str
    chosen_by: str
    reason: str | None


@dataclass(frozen=True)
class PlanOperator:
    """An operator of a plan.

    Attributes:
        number: Its number, from 0, the root's.
        id: What it computes: equal operators of different queries have the same id.
        kind: In the words of the STREAM papers.
        description: What it does.
        linearity: 'linear', 'multilinear' or 'non-linear' (docs/operators.md).
        inputs: The numbers of its inputs.
        readers: The queries that read what it yields: of an input or a query those besides this
            one; of the root those that stand on this query.
        synopses: What it keeps between ticks; of an input its store.
        statements: What a tick runs for it; an operator without is part of those above it.
        choices: What was chosen at its points.
        measures: What it did in the last ticks, if that was asked and measured.
    """

    number: int
    id: str
    kind: str
    description: str
    linearity: str
    inputs: tuple[int, ...]
    readers: tuple[str, ...]
    synopses: tuple[PlanSynopsis, ...]
    statements: tuple[PlanStatement, ...]
    choices: tuple[PlanChoice, ...]
    measures: Measures | None = None
