"""Plans as text, and as rows for `cql.operators`, in the paper's words (chapter, Table 1)."""

from __future__ import annotations

from cqlduck.rewrite.plan import (
    Aggregate,
    Anew,
    Cache,
    Difference,
    Distinct,
    During,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Recompute,
    RelationScan,
    RowWindow,
    Sample,
    SetOperation,
    StreamScan,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    VaryingWindow,
    properties,
    unique,
)


def kind_of(plan: Plan) -> str:
    """Return the paper's name of an operator."""
    match plan:
        case StreamScan():
            return "stream"
        case RelationScan():
            return "relation"
        case TimeWindow() | VaryingWindow() | RowWindow():
            return "seq-window"
        case Sample():
            return "sample"
        case Filter() | During():
            return "select"
        case Project():
            return "project"
        case Join():
            return "binary-join" if len(plan.inputs) == 2 else "mjoin"
        case Distinct():
            return "duplicate-eliminate"
        case Aggregate():
            return "duplicate-eliminate" if plan.is_distinct else "aggregate"
        case Recompute() | Anew():
            return "recompute"
        case UnionAll():
            return "union"
        case Difference():
            return "antisemijoin"
        case SetOperation():
            return plan.kind
        case ToStream():
            return {"istream": "i-stream", "dstream": "d-stream", "rstream": "r-stream"}[plan.kind]
        case Trace() | Net():
            return "materialize"
        case Cache():
            return "cache"


def linearity_of(plan: Plan) -> str:
    """Return 'linear', 'multilinear' or 'non-linear': what the delta of an operator depends on.

    What is linear needs no synopsis: Δ(f(R)) = f(ΔR).
    """
    match plan:
        case Join():
            return "multilinear"
        case ToStream() if plan.kind == "rstream":
            return "linear"
        case RowWindow() | Distinct() | Aggregate() | SetOperation() | ToStream():
            return "non-linear"
        case Recompute() | Anew():
            return "non-linear"
    return "linear"


def describe(plan: Plan) -> str:
    """Return what an operator does, in a line, without numbers that change."""
    match plan:
        case StreamScan() | RelationScan():
            return plan.source.name
        case TimeWindow():
            return _time_window(plan)
        case VaryingWindow():
            edge = ", half-open" if plan.half_open else ""
            column = f"{plan.widths.name}.{plan.column}"
            return f"[RANGE {column}, at most {plan.limit}{edge}]"
        case RowWindow():
            return _row_window(plan)
        case Sample():
            return f"{plan.percent} %"
        case Filter():
            return plan.predicate.sql("duckdb")
        case During():
            return " AND ".join(condition.sql("duckdb") for condition in plan.written)
        case Project():
            return ", ".join(
                e.sql("duckdb") if e.name == c.name else f"{e.sql('duckdb')} AS {c.name}"
                for e, c in zip(plan.expressions, plan.columns, strict=True)
            )
        case Join():
            return " AND ".join(p.sql("duckdb") for p in plan.predicates) or "all combinations"
        case Aggregate() if plan.is_distinct:
            return ", ".join(plan.keys)
        case Aggregate():
            written = [call.written or call.call for call in plan.calls]
            calls = ", ".join(call.sql("duckdb") for call in written) or "no aggregate"
            return f"{calls} BY {', '.join(plan.keys)}" if plan.keys else calls
        case Recompute():
            alone = f"; one instant at a time: {plan.alone}" if plan.alone else ""
            return f"{plan.query.sql('duckdb')} ({by_keys(plan)}{plan.reason}{alone})"
        case Anew():
            return "the whole query, at each instant at which an input changes"
        case Distinct() | UnionAll():
            return ", ".join(c.name for c in plan.columns)
        case Difference():
            return "the first input without the second"
        case SetOperation():
            listed = ", ".join(c.name for c in plan.columns)
            return f"ALL {listed}" if plan.all else listed
        case ToStream():
            return plan.kind.capitalize()
        case Trace():
            lives_shortly = properties(plan).is_instantaneous
            return "the tuples of the tick" if lives_shortly else "the log of its elements"
        case Net():
            return "the tuples that are there" if plan.is_kept else "the elements of the tick"
        case Cache():
            return describe(plan.input)


def _row_window(plan: RowWindow) -> str:
    words = []
    if plan.partition_by:
        words.append(f"PARTITION BY {', '.join(map(_public, plan.partition_by))}")
    words.append(f"ROWS {plan.rows}")
    if plan.width is not None:
        words.append(f"RANGE {plan.width}")
    if plan.slide is not None:
        words.append(f"SLIDE {plan.slide}")
    if plan.every is not None:
        words.append(f"SLIDE {plan.every}")
    return f"[{' '.join(words)}]"


def _time_window(plan: TimeWindow) -> str:
    if plan.written is not None:
        return plan.written
    if plan.width is None:
        slide = f" SLIDE {plan.slide}" if plan.slide is not None else ""
        return f"[RANGE UNBOUNDED{slide}]"
    if plan.hop:
        return f"[HOP {plan.width} EVERY {plan.slide}]"
    if plan.width == 0 and plan.slide is None and not plan.half_open:
        return "[NOW]"
    edge = ", half-open" if plan.half_open else ""
    slide = f" SLIDE {plan.slide}" if plan.slide is not None else ""
    return f"[RANGE {plan.width}{slide}{edge}]"


def by_keys(plan: Recompute) -> str:
    """Return by which keys a query is recomputed; nothing if it has none."""
    return f"by {', '.join(map(_public, plan.keys[0]))}: " if plan.keys else ""


def _public(name: str) -> str:
    return name.split(".", 1)[-1]


def tree(plan: Plan) -> list[str]:
    """Return the plan as indented lines, each with the operator's number.

    What stands below an operator with several parents is shown once.
    """
    numbers = {id(node): number for number, node in enumerate(unique(plan))}
    shown: set[int] = set()

    def lines(node: Plan) -> list[str]:
        inputs = node.children
        again = bool(inputs) and id(node) in shown
        shown.add(id(node))
        first = f"{numbers[id(node)]} {kind_of(node)}: {describe(node)}"
        if again:
            return [f"{first} (the same)"]
        return [first, *[f"  {line}" for child in inputs for line in lines(child)]]

    return lines(plan)
