"""What `tpch.py` measured, as a table and a picture.

    python benchmarks/tpch_report.py RUN.json [RUN.json …]

Each file is what a run with `--json` left. Writes `TPCH.md` and `tpch.png` beside this file: the
ratio over the size of a tick, for each query and as the geometric mean, and where keeping answers
up and answering anew take equally long.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import geometric_mean

from report import machine
from tpch_cells import Cell, Tick

from cqlduck.rewrite.statements.refreshing import RECOMPUTED

HERE = Path(__file__).parent

GAP = 1.09
"""How many times higher than another one a name has to stand to be readable."""


def cells_of(run: str) -> list[Cell]:
    """Return the right cells of a run.

    Args:
        run: The text of its file.
    """
    found = [
        Cell(
            **{
                **cell,
                "ours": [Tick(**tick) for tick in cell["ours"]],
                "theirs": [Tick(**tick) for tick in cell["theirs"]],
            }
        )
        for cell in json.loads(run)["cells"]
    ]
    return [cell for cell in found if not cell.wrong]


def means(cells: Sequence[Cell]) -> dict[float, float]:
    """Return the geometric mean of the ratios of each fraction, by rising fraction."""
    fractions = sorted({cell.fraction for cell in cells})
    return {
        fraction: geometric_mean(cell.ratio for cell in cells if cell.fraction == fraction)
        for fraction in fractions
    }


def crossover(ratios: dict[float, float]) -> float | None:
    """Return at which fraction a ratio falls to 1, between two that were measured.

    >>> round(crossover({0.001: 4.0, 0.1: 0.25}), 9)
    0.01
    >>> crossover({0.001: 4.0, 0.1: 2.0})
    """
    for (left, above), (right, below) in pairwise(ratios.items()):
        if above >= 1 > below:
            share = math.log(above) / math.log(above / below)
            return math.exp(math.log(left) + share * math.log(right / left))
    return None


def percent(fraction: float) -> str:
    """Return a fraction as text.

    >>> percent(0.00001), percent(0.1)
    ('0.001 %', '10 %')
    """
    return f"{100 * fraction:g} %"


def table(cells: Sequence[Cell]) -> list[list[str]]:
    """Return the rows of the table, the head first: ratios and our milliseconds."""
    fractions = sorted({cell.fraction for cell in cells})
    by = {(cell.query, cell.fraction): cell for cell in cells}
    queries = sorted({cell.query for cell in cells}, key=lambda name: int(name[1:]))
    rows = [["query", *map(percent, fractions)]]
    for query in queries:
        rows.append([query, *(_shown(by.get((query, fraction))) for fraction in fractions)])
    rows.append(["geometric mean", *(f"**{mean:.2f}**" for mean in means(cells).values())])
    answers = [
        geometric_mean(cell.ratio_of_answers for cell in cells if cell.fraction == fraction)
        for fraction in fractions
    ]
    return [*rows, ["the same without intake", *(f"{mean:.2f}" for mean in answers)]]


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    mark = "*" if cell.option == RECOMPUTED else ""
    return f"{cell.ratio:.2f}{mark} ({cell.milliseconds:.0f} ms)"


def apart(heights: dict[str, float]) -> dict[str, float]:
    """Return names at the least heights at which none covers the one below, on a log scale.

    >>> apart({"b": 1.0, "a": 1.0, "c": 2.0})
    {'a': 1.0, 'b': 1.09, 'c': 2.0}
    """
    found: dict[str, float] = {}
    for name, height in sorted(heights.items(), key=lambda item: (item[1], item[0])):
        below = max(found.values(), default=0.0)
        found[name] = max(height, below * GAP)
    return found


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Draw the ratios over the fractions."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5))
    for query in sorted({cell.query for cell in cells}):
        line = sorted((c.fraction, c.ratio) for c in cells if c.query == query)
        axes.plot(*zip(*line, strict=True), color="tab:blue", alpha=0.3, linewidth=1)
    mean = means(cells)
    smallest = min(mean)
    firsts = {cell.query: cell.ratio for cell in cells if cell.fraction == smallest}
    for query, height in apart(firsts).items():
        axes.annotate(query, (smallest, height), xytext=(-6, 0), textcoords="offset points",
                      fontsize=7, ha="right", va="center", color="grey")  # fmt: skip
    axes.plot(mean.keys(), mean.values(), "o-", color="black", label="geometric mean")
    axes.axhline(1, color="grey", linewidth=0.8)
    meets = crossover(mean)
    if meets is not None:
        axes.axvline(meets, color="tab:red", linestyle=":", label=f"equal at {100 * meets:.2g} %")
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = [0.25, 0.5, 1, 2, 4, 8]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks(list(mean), [percent(fraction) for fraction in mean])
    axes.minorticks_off()
    axes.set_xlabel("rows that change in a tick")
    axes.set_ylabel("time to answer anew / time to keep the answer up")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Write the table and the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN.json")
    parser.add_argument("--into", type=Path, default=HERE, help="the folder (%(default)s)")
    parser.add_argument("--remark", help="what is to be said of the runs, such as their versions")
    wanted = parser.parse_args()
    texts = [path.read_text(encoding="utf-8") for path in wanted.runs]
    cells = [cell for text in texts for cell in cells_of(text)]
    draw(cells, wanted.into / "tpch.png")
    head, *rows = table(cells)
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---:"] * len(head), *rows)]
    commands = "\n".join(json.loads(text)["command"] for text in texts)
    (wanted.into / "TPCH.md").write_text(
        "# TPC-H under change\n\n"
        "Of each query how many times longer DuckDB takes to take the changes in and answer it "
        "anew than cqlduck takes to keep its answer up, and in parentheses what a tick takes with "
        "cqlduck. In a tick this share of orders and lineitem (of q2, q11 and q16 partsupp) "
        "changes, at one instant: half are insertions, a quarter deletions, a quarter updates. "
        "Medians; `tpch.py` says what is compared. In each tick the answers were equal. With * the "
        "choice of the point `answer` was to answer anew in the end.\n\n"
        + "\n".join(lines)
        + "\n\n![ratio over the size of a tick](tpch.png)\n\n"
        + "\n".join(f"- {line}" for line in (*machine()[:2], wanted.remark) if line)
        + f"\n\n```\n{commands}\n```\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
