"""A plan as comments of EXPLAIN ANALYZE, and as SQL over the inspection views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cqlduck.queryplan.model import PlanChange, PlanOperator
from cqlduck.state.connection import literal


def notes(operators: Sequence[PlanOperator], changes: Sequence[PlanChange], ticks: int) -> str:
    """Return in lines what was measured, and what changed of what is chosen.

    Args:
        operators: The operators of the plan.
        changes: The last changes, the newest first.
        ticks: How many ticks were measured.
    """
    if ticks:
        lines = [f"-- in a tick, on the average of the last {ticks} that were measured"]
    else:
        lines = [
            "-- no tick was measured yet: some are, in a percent of the time, with adaptive=True"
        ]
    for operator in operators:
        lines += _of_operator(operator)
    if changes:
        lines.append("-- last changes of what is chosen")
    for change in changes:
        where = "" if change.operator is None else f" of operator {change.operator}"
        why = "" if change.reason is None else f": {change.reason}"
        lines.append(
            f"--   tick {change.tick}: {change.point}{where}, {change.before} → {change.after}, "
            f"{change.chosen_by}{why}"
        )
    return "\n".join(lines)


def _of_operator(operator: PlanOperator) -> Iterator[str]:
    measures, name = operator.measures, f"--   operator {operator.number}, {operator.kind}"
    if measures is not None:
        came = "" if measures.rows_in is None else f"{measures.rows_in:,.4g} rows in, "
        part = "" if measures.selectivity is None else f", selectivity {measures.selectivity:.3g}"
        took = f"{1e3 * measures.seconds:.2f} ms"
        yield f"{name}: {came}{measures.rows_out:,.4g} rows out{part}, {took}"
    for kept in operator.synopses:
        if kept.rows is not None:
            assert kept.bytes is not None
            yield f"{name}: {kept.kind} has {kept.rows:,} rows, {kept.bytes / 1e3:,.1f} kB"


_MEASURES = ("rows_in", "rows_out", "selectivity", "seconds")


def sql(query: str, operators: Sequence[PlanOperator], *, is_measured: bool) -> str:
    """Return the SELECT over the inspection views that says what a plan says.

    Args:
        query: The query, as `cql.operators` calls it.
        operators: The operators of the plan.
        is_measured: Whether to say what was measured, which no view has.
    """
    listed = "o.number, o.parent, o.kind, o.description, o.id, o.inputs, f.linearity, f.readers,"
    listed += "\n    k.kind AS synopsis, k.table_name, "
    listed += "coalesce(s.row_count, k.rows) AS row_count, k.bound"
    facts = ", ".join(
        f"({one.number}, {literal(one.linearity)}, {_texts(one.readers)})" for one in operators
    )
    joined = f"LEFT JOIN (VALUES {facts}) AS f(number, linearity, readers) USING (number)"
    tables = [
        f"({operator.number}, {literal(one.kind)}, {literal(one.table)}, {_text(one.bound)}, "
        f"{_number(one.rows)}::BIGINT, {_number(one.bytes)}::BIGINT)"
        for operator in operators
        for one in operator.synopses
    ]
    values = f"(VALUES {', '.join(tables)})" if tables else _NO_TABLES
    joined += (
        f"\nLEFT JOIN {values} AS k(number, kind, table_name, bound, rows, bytes) USING (number)"
    )
    joined += "\nLEFT JOIN cql.synopses AS s ON s.query = o.query AND s.table_name = k.table_name"
    if is_measured:
        listed += ", k.bytes"
        listed += "".join(f", m.{name}" for name in _MEASURES)
        rows = [_values(operator) for operator in operators if operator.measures is not None]
        values = f"(VALUES {', '.join(rows)})" if rows else _NOTHING
        joined += f"\nLEFT JOIN {values} AS m(number, {', '.join(_MEASURES)}) USING (number)"
    return (
        f"SELECT {listed}, o.sql\nFROM cql.operators AS o\n"
        f"{joined}\nWHERE o.query = {literal(query)}\nORDER BY o.number, k.kind"
    )


def _text(value: str | None) -> str:
    return "NULL::VARCHAR" if value is None else literal(value)


def _number(value: float | None) -> str:
    return "NULL" if value is None else repr(value)


def _texts(values: Sequence[str]) -> str:
    return f"[{', '.join(map(literal, values))}]::VARCHAR[]"


_NO_TABLES = (
    "(SELECT NULL::INTEGER, NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR, NULL::BIGINT, "
    "NULL::BIGINT LIMIT 0)"
)
_NOTHING = "(SELECT NULL::INTEGER, NULL::DOUBLE, NULL::DOUBLE, NULL::DOUBLE, NULL::DOUBLE LIMIT 0)"


def _values(operator: PlanOperator) -> str:
    assert operator.measures is not None
    values = (getattr(operator.measures, name) for name in _MEASURES)
    shown = ", ".join(f"{_number(value)}::DOUBLE" for value in values)
    return f"({operator.number}, {shown})"
