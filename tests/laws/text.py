"""Statements for people: names without quotes where that can be, and lists side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

WIDTH = 100


def plain(tree: exp.Expr) -> exp.Expr:
    """Return a copy of a tree in which names that need no quotes have none."""
    copy = tree.copy()
    for name in copy.find_all(exp.Identifier):
        if re.fullmatch(r"[a-z_][a-z0-9_]*", name.this):
            name.set("quoted", False)
    return copy


def written(tree: exp.Expr, functions: Literal["upper"] | None = "upper") -> str:
    """Return a statement as text.

    Args:
        tree: The statement.
        functions: How functions that sqlglot does not know are written; None is as they are.
    """
    how = False if functions is None else functions
    lines = tree.sql("duckdb", pretty=True, copy=True, normalize_functions=how).splitlines()
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
    for group in _groups(items):
        one = _joined(group)
        lines = [" " * indent + one] if indent + len(one) <= WIDTH else _broken(group, indent)
        if out and _goes_on(out[-1], lines[0].strip()):
            out[-1] += f" {lines.pop(0).strip()}"
        out += lines
    return out


def _goes_on(line: str, other: str) -> bool:
    """Return whether a line goes on with another one: in a list, from clause to clause, at AND."""
    if len(line) + 1 + len(other) > WIDTH or other == "FROM (":
        return False
    if other.startswith("AND "):
        return not line.lstrip().startswith((")", "JOIN ", "LEFT JOIN ", "FROM "))
    return line.endswith(",") or other.startswith(("FROM ", "WHERE ", "GROUP BY "))


def _broken(group: Sequence[_Item], indent: int) -> list[str]:
    """Return items that belong together, as lines; what stands below begins behind a keyword."""
    out: list[str] = []
    for item in group:
        below = _block(item.below, indent + 2)
        first = " " * indent + item.line
        is_keyword = below and not item.line.endswith("(")
        if is_keyword and len(first) + len(below[0]) - indent - 1 <= WIDTH:
            first += f" {below.pop(0).strip()}"
        out += [first, *below]
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
