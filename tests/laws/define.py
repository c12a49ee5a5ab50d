"""Writes what a definition gives under `gives`, where nothing is written yet.

    PYTHONPATH=tests python -m laws.define [FILE …]

It asks `reference`, and never the operator.
"""

from __future__ import annotations

import sys
from collections import Counter

from laws import blocks
from laws.bench import Bench

Bag = Counter[tuple[object, ...]]


def shown(elements: dict[int, Bag]) -> str:
    """Return elements as a block has them."""
    return "\n".join(f"--   {ts}: {_bag(change)}" for ts, change in elements.items())


def _bag(bag: Bag) -> str:
    return " ".join(_tuple(*item) for item in sorted(bag.items(), key=_nulls_last))


def _nulls_last(item: tuple[tuple[object, ...], int]) -> list[tuple[bool, str]]:
    return [(value is None, str(value)) for value in item[0]]


def _tuple(row: tuple[object, ...], weight: int) -> str:
    times = {1: "", -1: "-"}.get(weight, str(weight))
    return f"{times}({', '.join(map(_value, row))})"


def _value(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float) and value - value != 0:
        return f"'{value}'"
    return "NULL" if value is None else str(value)


def main(files: list[str]) -> None:
    """Fill in what is empty."""
    for file in files or blocks.FILES:
        laws = blocks.read(file)
        for law in laws:
            if not law.gives and law.means is not None:
                found = Bench(law).defined()
                head = law.head.replace("-- gives:", f"-- gives:\n{shown(found or {})}", 1)
                law.head = head
        blocks.write(file, laws)


if __name__ == "__main__":
    main(sys.argv[1:])
