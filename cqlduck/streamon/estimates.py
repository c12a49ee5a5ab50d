"""What a tick of a query would take that is not registered: from what ticks of others did.

An operator that another query has too, with the same id, does what it does there. One of a kind
that others have is expected to make as many rows of a row, and to take as long for one, as those
did. Where neither was measured, or what would come is not known, the estimate is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.form import FIRST
from cqlduck.rewrite.plan import Plan, RelationScan, StreamScan, unique
from cqlduck.streamon.measures import Measures, by_operator
from cqlduck.streamon.profiler import Profiler


@dataclass(frozen=True)
class Measured:
    """An operator of a query, and what it did in its last ticks that were measured.

    Attributes:
        query: The query.
        number: The number of the operator there.
        id: What it computes.
        kind: What kind of operator it is.
        measures: What it did in a tick, on the average.
        ticks: Of how many ticks.
    """

    query: str
    number: int
    id: str
    kind: str
    measures: Measures
    ticks: int


@dataclass(frozen=True)
class Estimate:
    """What an operator is expected to do in a tick.

    Attributes:
        number: Its number.
        kind: What kind of operator it is.
        rows_in: How many rows would come to it, or None.
        rows_out: How many it would make of them, or None.
        seconds: How long its statements would take, or None; 0 if it has none.
        basis: What that follows from, or why it is unknown.
    """

    number: int
    kind: str
    rows_in: float | None
    rows_out: float | None
    seconds: float | None
    basis: str


def measured(compiled: Mapping[str, Compiled], profiler: Profiler) -> Iterator[Measured]:
    """Yield the operators of queries that were measured.

    Args:
        compiled: The queries' statements, by lower-case name.
        profiler: What counted them.
    """
    for query in compiled.values():
        ticks = profiler.last(query.steps.name)
        if ticks:
            rows = {row.number: row for row in query.operators}
            for number, found in by_operator(query.plan, ticks).items():
                row = rows[number]
                yield Measured(query.steps.name, number, row.id, row.kind, found, len(ticks))


def estimates(
    compiled: Compiled, rates: Mapping[str, float], known: Sequence[Measured]
) -> list[Estimate]:
    """Return what the operators of a query would do in a tick, by number.

    Args:
        compiled: The query.
        rates: By lower-case name of an input, how many rows come in a tick, where that is known.
        known: The operators that were measured.
    """
    nodes = list(unique(compiled.plan))
    numbers = {id(node): number for number, node in enumerate(nodes)}
    rows = {row.number: row for row in compiled.operators}
    written = {step.operator for step in compiled.steps.of(FIRST)}
    found: dict[int, Estimate] = {}

    def of(node: Plan) -> Estimate:
        number = numbers[id(node)]
        if number not in found:
            came = _sum([of(child).rows_out for child in node.children])
            is_input = isinstance(node, (StreamScan, RelationScan))
            if isinstance(node, (StreamScan, RelationScan)):
                came = rates.get(node.source.name.lower())
            row = rows[number]
            if number in written:
                one = _of_statements(number, row.id, row.kind, came, known)
                # an input hands on what comes of it
                found[number] = replace(one, rows_out=came) if is_input else one
            else:
                found[number] = Estimate(number, row.kind, came, came, 0.0, "")
        return found[number]

    of(compiled.plan)
    return [found[number] for number in sorted(found)]


def _of_statements(
    number: int, identity: str, kind: str, came: float | None, known: Sequence[Measured]
) -> Estimate:
    """Return what an operator with statements would do, if so many rows come."""
    for one in known:
        # a projection has the id of what it projects
        if (one.id, one.kind) == (identity, kind):
            did = one.measures
            basis = (
                f"as operator {one.number} of {one.query}, which is the same, {_over(one.ticks)}"
            )
            came = came if did.rows_in is None else did.rows_in
            return Estimate(number, kind, came, did.rows_out, did.seconds, basis)
    others = [one for one in known if one.kind == kind and one.measures.rows_in]
    alike = [one.measures for one in others]
    total = sum(one.rows_in or 0.0 for one in alike)
    if not total:
        return Estimate(number, kind, came, None, None, f"unknown: no other {kind} was measured")
    if came is None:
        return Estimate(number, kind, None, None, None, "unknown, as what comes to it is")
    made = sum(one.rows_out for one in alike) / total
    seconds = sum(one.seconds for one in alike) / total
    counted = _over(sum(one.ticks for one in others))
    basis = (
        f"by {made:.3g} rows and {1e6 * seconds:.3g} µs for each row, as {len(others)} of its kind "
        f"took {counted}"
    )
    return Estimate(number, kind, came, came * made, came * seconds, basis)


def _over(ticks: int) -> str:
    return (
        f"in {ticks} tick{'s' if ticks > 1 else ''} that {'were' if ticks > 1 else 'was'} measured"
    )


def _sum(numbers: Sequence[float | None]) -> float | None:
    """Return a sum; None if one of the numbers is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
