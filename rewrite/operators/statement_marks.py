"""What statements are marked with, because there is another way to write them."""

from __future__ import annotations

from sqlglot import exp

PIPELINE = "pipeline"
"""The mark of a pipeline of several steps."""

REDUCIBLE = "reducible"
"""The mark of what reads a state that may be reduced, or is."""

INTERVALS = "intervals"
"""The mark of what forms pairs which intervals can do without."""


def mark(part: exp.Expr, name: str) -> None:
    """Mark a part of a statement."""
    part.meta[name] = True


def is_marked(tree: exp.Expr, name: str) -> bool:
    """Return whether a part of a statement has a mark."""
    return any(name in node.meta for node in tree.walk())
