"""Statements for people: names without quotes where that can be, and lists side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

WIDTH = 98


def plain(tree: exp.Expr) -> exp.Expr:
    """Return a copy of a tree in which names that need no quotes have none."""
    copy = tree.copy()
    for name in copy.find_all(exp.Identifier):
        if re.fullmatch(r"[a-z_][a-z0-9_]*", name.this):
            name.set("quoted", False)
    return copy


def written(tree: exp.Expr) -> str:
    """Return a statement as text."""
    lines = tree.sql("duckdb", pretty=True, copy=True).splitlines()
    items, _ = _items([(len(line) - len(line.lstrip()), line.strip()) for line in lines], 0, 0)
    return "\n".join(_block(items, 0))


@dataclass
class _Item:
    """A line, and what stands indented below it."""

    line: str
    below: list[_Item]


def _items(lines: Sequence[tuple[int, str]], place: int, indent: int) -> tuple[list[_Item], int]:
    found: list[_Item] = []
    while place < len(lines) and lines[place][0] >= indent:
        depth, line = lines[place]
        if depth > indent and found:
            found[-1].below, place = _items(lines, place, depth)
        else:
            found.append(_Item(line, []))
            place += 1
    return found, place


def _block(items: Sequence[_Item], indent: int) -> list[str]:
    """Return items that stand below each other; what fits into a line is one."""
    out: list[str] = []
    is_open = False
    for group in _groups(items):
        one = _joined(group)
        fits = indent + len(one) <= WIDTH
        if not fits:
            for item in group:
                out.append(" " * indent + item.line)
                out += _block(item.below, indent + 2)
            is_open = False
            continue
        # a list goes on in the same line
        if is_open and len(out[-1]) + 1 + len(one) <= WIDTH:
            out[-1] += f" {one}"
        else:
            out.append(" " * indent + one)
        is_open = one.endswith(",")
    return out


def _groups(items: Sequence[_Item]) -> list[list[_Item]]:
    """Return items that belong together: brackets, from the one that opens to the one that ends."""
    groups: list[list[_Item]] = []
    depth = 0
    for item in items:
        if depth > 0:
            groups[-1].append(item)
        else:
            groups.append([item])
        depth += item.line.count("(") - item.line.count(")")
    return groups


def _joined(items: Sequence[_Item]) -> str:
    text = ""
    for item in items:
        one = item.line + (f" {_joined(item.below)}" if item.below else "")
        text += f" {one}"
    return re.sub(r"\s+\)", ")", re.sub(r"\(\s+", "(", text)).strip()
