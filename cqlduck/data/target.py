"""The target of data: a stream or relation, or a name by which SQL reads the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cqlduck.rewrite.plan import Column


class Target(Protocol):
    """A name for errors, and the columns that the data is for; an input is one."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the data is for."""


@dataclass(frozen=True)
class Frame:
    """A data frame that SQL reads by name: its columns are what the data has."""

    name: str

    @property
    def columns(self) -> tuple[Column, ...]:
        """None."""
        return ()


def kind(target: Target, field: str) -> str | None:
    """Return the DuckDB type that a column of data is for, or None if its values say it."""
    if isinstance(target, Frame):
        return None
    found = (c.type for c in target.columns if c.name.lower() == field.lower())
    # what an input does not have is refused, but for `_ts`
    return next(found, "VARCHAR")
