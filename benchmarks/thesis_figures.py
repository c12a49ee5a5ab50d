"""Figures of Babu's thesis, as curves: how they are drawn, and what of them stands in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Curve = list[tuple[float, float]]
"""Points of a figure."""

Curves = dict[str, Curve]
"""Curves by what they are of."""

SHOWN = 8
"""About how many points of a curve stand in a table."""


@dataclass(frozen=True)
class Figure:
    """A figure of the thesis.

    Attributes:
        name: Its number, and what it is about.
        across: What its x axis has.
        up: What its y axis has.
        curves: The curves.
        is_log: Whether its x axis is logarithmic.
    """

    name: str
    across: str
    up: str
    curves: Curves
    is_log: bool = False

    def draw(self, axes: Any, styles: Mapping[str, str]) -> None:
        """Draw it.

        Args:
            axes: Where.
            styles: The style of each curve, in matplotlib's words.
        """
        for name, curve in self.curves.items():
            style = styles[name]
            if len(curve) > 2 * SHOWN:
                style = style.translate({ord(mark): None for mark in "os^v"})
            axes.plot(*zip(*curve, strict=True), style, label=name, markersize=4)
        if self.is_log:
            axes.set_xscale("log")
        axes.axhline(1, color="grey", linewidth=0.8)
        axes.set_title(self.name, fontsize=9)
        axes.set_xlabel(self.across, fontsize=8)
        axes.set_ylabel(self.up, fontsize=8)
        axes.tick_params(labelsize=8)

    def row(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return a row of a table: the figure, the points of its x axis, and each curve there.

        Args:
            names: The curves, by column; a figure may lack some.
        """
        places = [place for place, _ in next(iter(self.curves.values()))]
        step = max(len(places) // SHOWN, 1)
        values = [
            " ".join(f"{value:.2f}" for _, value in self.curves.get(name, ())[::step])
            for name in names
        ]
        return self.name, self.across, " ".join(f"{each:g}" for each in places[::step]), *values


def picture(
    found: Sequence[Figure], styles: Mapping[str, str], path: Path, columns: int = 3
) -> None:
    """Draw figures into one picture.

    Args:
        found: The figures.
        styles: The style of each curve.
        path: The file.
        columns: How many figures stand side by side.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rows = -(-len(found) // columns)
    figure, places = plt.subplots(rows, columns, figsize=(4.3 * columns, 3.3 * rows))
    for axes, each in zip(places.flat, found, strict=False):
        each.draw(axes, styles)
    for axes in places.flat[len(found) :]:
        axes.set_visible(False)
    handles = {}
    for axes in places.flat:
        named = zip(*axes.get_legend_handles_labels(), strict=True)
        handles |= {label: handle for handle, label in named}
    figure.legend(handles.values(), handles, loc="lower center", ncols=len(handles), fontsize=8)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, dpi=100)


def as_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table in Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))
