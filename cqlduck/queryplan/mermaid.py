"""A plan as a picture: a flowchart in Mermaid's language, which GitHub and notebooks draw."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from cqlduck.queryplan.model import PlanOperator, PlanSynopsis

WIDTH = 36
"""After how many characters a line of a description ends."""

MAX_LINES = 4
"""How many lines of a description are shown."""

ESCAPED = {ord(sign): f"#{ord(sign)};" for sign in '"#&;<>\\`{}[]()|'}
"""What Mermaid would read as more than text, as it writes it."""

UNSEEN = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " ")
"""What ends a line, and control characters: a name may have them, and Mermaid reads by lines."""


def flowchart(query: str, kind: str, operators: Sequence[PlanOperator]) -> str:
    """Return the picture of a plan: elements flow upwards, from stores to the answer.

    Args:
        query: The query.
        kind: 'stream' or 'relation'.
        operators: The operators of its plan.
    """
    return "\n".join(["flowchart BT", *_lines(query, kind, operators)]) + "\n"


def _lines(query: str, kind: str, operators: Sequence[PlanOperator]) -> Iterator[str]:
    readers: dict[str, str] = {}
    for operator in operators:
        node = f"op{operator.number}"
        yield f"    {node}{_box(operator)}"
        for number, kept in enumerate(operator.synopses, 1):
            table = f"{node}_s{number}"
            link = "-->" if kept.kind in ("store", "log", "base") else "-.-"
            yield f'    {table}[("{_table(kept)}")] {link} {node}'
        for below in operator.inputs:
            yield f"    op{below} -->{_rows(operators[below])} {node}"
        if not operator.inputs:
            for name in operator.readers:
                reader = readers.setdefault(name, f"reader{len(readers)}")
                yield f'    {node} -.-> {reader}(["{_text(name)}"])'
    root = operators[0]
    yield f'    answer(["{_text(query)}<br/>{kind}"])'
    yield f"    op0 -->{_rows(root)} answer"
    for name in root.readers:
        reader = readers.setdefault(name, f"reader{len(readers)}")
        yield f'    answer -.-> {reader}(["{_text(name)}"])'


def _box(operator: PlanOperator) -> str:
    lines = textwrap.wrap(operator.description, WIDTH)
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], "…"]
    facts = [operator.linearity] if operator.inputs else []
    if operator.measures is not None:
        facts.append(f"{1e3 * operator.measures.seconds:.2f} ms a tick")
    for choice in operator.choices:
        if choice.chosen_by != "default":
            facts.append(f"{choice.point}: {choice.option}")
    words = [f"{operator.number} {operator.kind}", *lines, *facts]
    return f'["{"<br/>".join(map(_text, words))}"]'


def _table(kept: PlanSynopsis) -> str:
    words = [kept.kind]
    if kept.rows is not None:
        words.append(f"{kept.rows:,} rows")
    if len(kept.readers) > 1:
        words.append(f"{len(kept.readers)} readers")
    return "<br/>".join(map(_text, words))


def _rows(below: PlanOperator) -> str:
    if below.measures is None:
        return ""
    return f'|"{below.measures.rows_out:,.4g} rows"|'


def _text(words: str) -> str:
    return words.translate(ESCAPED | UNSEEN)
