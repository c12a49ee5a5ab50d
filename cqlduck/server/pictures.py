"""Pictures: a plan as boxes and arrows, ticks as bars, in SVG.

A plan is drawn in layers. An operator stands below all that read it, the answer on top and stores
at the bottom, so that elements flow upwards as in the figures of the STREAM papers. From left to
right the inputs of an operator have the order that they have in its text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

from cqlduck.queryplan import QueryPlan
from cqlduck.queryplan.model import PlanOperator

BOX, GAP, LAYER = 216, 24, 56
"""The width of a box, and the distances between two boxes and between two layers, in pixels."""

MARGIN = 2
"""Around a picture, for the strokes of its outermost boxes, in pixels."""

LINE, PADDING = 16, 10
"""The height of a line of text, and the space around the lines of a box, in pixels."""

MAX_LETTERS, MAX_LINES = 31, 4
"""How long a line is at most, and how many lines a description has."""

BARS, BAR = 80, 6
"""The height of the bars of ticks and the width of one, in pixels."""


@dataclass(frozen=True)
class Box:
    """An operator, or the answer, in its place.

    Attributes:
        lines: Its text: the kind first, then what it does, what it keeps and what was measured.
        said: How many of the lines after the first one say what it does.
        x: The middle, from the left.
        y: The upper edge.
    """

    lines: tuple[str, ...]
    said: int
    x: float
    y: float

    @property
    def height(self) -> float:
        """How high it is."""
        return len(self.lines) * LINE + 2 * PADDING


def plan(shown: QueryPlan) -> str:
    """Return the picture of a plan: each box of an operator leads to `#operator-<number>`."""
    layers = _layers(shown.operators)
    texts = {one.number: _text(one) for one in shown.operators}
    places = _places(shown.operators)
    tops = _tops(layers, {number: len(lines) for number, (lines, _) in texts.items()})
    boxes = {
        number: Box(lines, said, places[number], tops[layers[number]])
        for number, (lines, said) in texts.items()
    }
    answer = Box((shown.query, f"{shown.kind}, the answer"), 1, boxes[0].x, MARGIN)
    width = max(box.x for box in boxes.values()) + BOX / 2 + MARGIN
    height = max(box.y + box.height for box in boxes.values()) + MARGIN
    picture = _svg(width, height, f"The plan of {shown.query}")
    _arrow(picture, boxes[0], answer, _flow(shown.operators[0]))
    for one in shown.operators:
        for below in one.inputs:
            flow = _flow(shown.operators[below])
            _arrow(picture, boxes[below], boxes[one.number], flow)
    _draw(picture, answer, "answer")
    for one in shown.operators:
        link = Xml.SubElement(picture, "a", {"href": f"#operator-{one.number}"})
        Xml.SubElement(link, "title").text = _printable(one.description)
        _draw(link, boxes[one.number], "store" if not one.inputs else "operator")
    return Xml.tostring(picture, encoding="unicode")


def ticks(newest_first: Sequence[Mapping[str, object]]) -> str:
    """Return ticks as bars, the newest one right; the highest is the slowest.

    Args:
        newest_first: The rows of `cql.ticks`.
    """
    rows = list(reversed(newest_first))
    seconds = [float(str(row["seconds"])) for row in rows]
    most = max(seconds, default=0) or 1
    picture = _svg(max(len(rows), 1) * (BAR + 1), BARS, "The last ticks")
    for place, (row, took) in enumerate(zip(rows, seconds, strict=True)):
        high = max(BARS * took / most, 1)
        at = {"x": place * (BAR + 1), "y": BARS - high, "width": BAR, "height": high}
        bar = Xml.SubElement(picture, "rect", {name: f"{value:.1f}" for name, value in at.items()})
        Xml.SubElement(bar, "title").text = (
            f"tick {row['number']}, up to {row['until']}: {1e3 * took:.1f} ms, "
            f"{row['elements']} elements"
        )
    return Xml.tostring(picture, encoding="unicode")


def _layers(operators: Sequence[PlanOperator]) -> dict[int, int]:
    """Return in which layer each operator stands: below all that read it; the root is in 1."""
    found = {0: 1}
    # an operator has a greater number than the first one that reads it, yet others may follow
    waiting = [0]
    while waiting:
        number = waiting.pop()
        for below in operators[number].inputs:
            if found.get(below, 0) <= found[number]:
                found[below] = found[number] + 1
                waiting.append(below)
    return found


def _places(operators: Sequence[PlanOperator]) -> dict[int, float]:
    """Return the middle of each operator, from the left: that of the inputs that it reads first."""
    found: dict[int, float] = {}
    free = BOX / 2 + MARGIN
    for number, first in _from_below(operators):
        if first:
            found[number] = (found[first[0]] + found[first[-1]]) / 2
        else:
            found[number] = free
            free += BOX + GAP
    return found


def _from_below(operators: Sequence[PlanOperator]) -> Iterator[tuple[int, list[int]]]:
    """Yield each operator after its inputs, left to right, with those that it is the first to read.

    As others stand between these, no two operators of a layer have one place.
    """
    seen = {0}
    above: list[tuple[int, Iterator[int], list[int]]] = [(0, iter(operators[0].inputs), [])]
    while above:
        number, left, first = above[-1]
        below = next((one for one in left if one not in seen), None)
        if below is None:
            above.pop()
            yield number, first
        else:
            seen.add(below)
            first.append(below)
            above.append((below, iter(operators[below].inputs), []))


def _tops(layers: Mapping[int, int], lines: Mapping[int, int]) -> dict[int, float]:
    """Return the upper edge of each layer; the answer, of two lines, is in 0.

    Args:
        layers: In which layer each operator stands.
        lines: How many lines the box of each has.
    """
    tops, top, most = {0: 0.0}, float(MARGIN), 2
    for layer in range(1, max(layers.values()) + 1):
        top += most * LINE + 2 * PADDING + LAYER
        tops[layer] = top
        most = max(lines[number] for number, its in layers.items() if its == layer)
    return tops


def _text(one: PlanOperator) -> tuple[tuple[str, ...], int]:
    """Return the lines of a box, and how many of them say what the operator does."""
    said = textwrap.wrap(one.description, MAX_LETTERS)
    if len(said) > MAX_LINES:
        said = [*said[: MAX_LINES - 1], "…"]
    facts = [_kept(kept.kind, kept.rows) for kept in one.synopses]
    if one.measures is not None:
        facts.append(f"{1e3 * one.measures.seconds:.2f} ms a tick")
    facts += [f"{c.point}: {c.option}" for c in one.choices if c.chosen_by != "default"]
    short = [textwrap.shorten(fact, MAX_LETTERS, placeholder="…") for fact in facts]
    return (f"{one.number} {one.kind}", *said, *short), len(said)


def _kept(kind: str, rows: int | None) -> str:
    return kind if rows is None else f"{kind}: {rows:,} row{'' if rows == 1 else 's'}"


def _flow(below: PlanOperator) -> str:
    """Return how many rows an operator yields in a tick; nothing if that was not measured."""
    return "" if below.measures is None else f"{below.measures.rows_out:,.1f}"


def _svg(width: float, height: float, title: str) -> Xml.Element:
    """Return an empty picture that is as wide as what it shows."""
    size = {"width": f"{width:.0f}", "height": f"{height:.0f}"}
    box = {"viewBox": f"0 0 {width:.0f} {height:.0f}", "role": "img"}
    picture = Xml.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, **box})
    Xml.SubElement(picture, "title").text = _printable(title)
    return picture


def _draw(picture: Xml.Element, box: Box, kind: str) -> None:
    left, group = box.x - BOX / 2, Xml.SubElement(picture, "g", {"class": kind})
    size = {
        "width": f"{BOX}",
        "height": f"{box.height:.1f}",
        "rx": "18" if kind == "answer" else "4",
    }
    Xml.SubElement(group, "rect", {"x": f"{left:.1f}", "y": f"{box.y:.1f}", **size})
    for number, line in enumerate(box.lines):
        place = "name" if number == 0 else "said" if number <= box.said else "fact"
        at = {"x": f"{box.x:.1f}", "y": f"{box.y + PADDING + (number + 0.75) * LINE:.1f}"}
        text = Xml.SubElement(group, "text", {**at, "text-anchor": "middle", "class": place})
        text.text = _printable(line)


def _arrow(picture: Xml.Element, below: Box, above: Box, flow: str) -> None:
    start, end = (below.x, below.y), (above.x, above.y + above.height)
    middle = (start[1] + end[1]) / 2
    path = (
        f"M {start[0]:.1f} {start[1]:.1f} C {start[0]:.1f} {middle:.1f} "
        f"{end[0]:.1f} {middle:.1f} {end[0]:.1f} {end[1]:.1f}"
    )
    Xml.SubElement(picture, "path", {"d": path, "class": "flow"})
    if flow:
        at = {"x": f"{(start[0] + end[0]) / 2 + 6:.1f}", "y": f"{middle + 4:.1f}"}
        Xml.SubElement(picture, "text", {**at, "class": "rows"}).text = flow


def _printable(line: str) -> str:
    """Return a line without the characters that XML has no way to write."""
    return "".join(letter if letter.isprintable() else " " for letter in line)
