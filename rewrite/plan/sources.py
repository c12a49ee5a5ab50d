"""The leaves of a logical plan: scans of streams and relations, and what these are of.

A scan reads a source of the catalogue, and has its columns under names of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from cqlduck.rewrite.plan.log_names import condensed_log_of
from cqlduck.rewrite.text.time import Instant

NEVER = Instant(-9223372036854775808)
"""Before all instants."""

FOREVER = Instant(9223372036854775807)
"""The instant that never comes: the end of a lifetime that is not known yet."""


@dataclass(frozen=True)
class Column:
    """A column: its name as people wrote it, and its DuckDB type."""

    name: str
    type: str


@dataclass(frozen=True)
class Source:
    """What a leaf reads: a stream, a relation or a continuous query, as the catalogue has it.

    Args:
        name: Its public name.
        kind: 'stream' or 'relation'.
        columns: Its columns.
        table: The table of its elements, inside schema `cql_state`.
        is_query: Whether it is a continuous query.
        timestamp: The column that carries the timestamps of a stream, or None.
        number: Its number in the catalogue, which it has for life.
        primary_key: The columns of which a relation has each combination once, if it says so.
    """

    name: str
    kind: Literal["stream", "relation"]
    columns: tuple[Column, ...]
    table: str
    is_query: bool = False
    timestamp: str | None = None
    number: int = 0
    primary_key: tuple[str, ...] = ()

    @property
    def condensed(self) -> str:
        """Of a query that yields a relation its log, up to an earlier instant summed up."""
        return condensed_log_of(self.name)


@dataclass(frozen=True)
class _Scan:
    """What `source` has, its columns renamed to `names`; `None` leaves a column out."""

    children: ClassVar[tuple[()]] = ()
    source: Source
    names: tuple[str | None, ...]

    def __post_init__(self) -> None:
        """Refuse a name for each column that there is not."""
        if len(self.names) != len(self.source.columns):
            raise ValueError("a scan has one name for each column of its source")

    @property
    def _read(self) -> list[Column]:
        known = zip(self.names, self.source.columns, strict=True)
        return [Column(name, column.type) for name, column in known if name is not None]


@dataclass(frozen=True)
class StreamScan(_Scan):
    """A stream; with `instant`, the timestamp stands in a last column of that name."""

    instant: str | None = None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are read."""
        instants = [] if self.instant is None else [Column(self.instant, "BIGINT")]
        return (*self._read, *instants)

    @property
    def timestamps(self) -> list[str]:
        """The names of the column of the source that has its timestamps."""
        known = zip(self.names, self.source.columns, strict=True)
        return [name for name, c in known if name and c.name == self.source.timestamp]


@dataclass(frozen=True)
class RelationScan(_Scan):
    """A relation, or a query that yields one."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are read."""
        return tuple(self._read)


def refuse_repeated(columns: Sequence[Column]) -> None:
    """Refuse columns of which two have one name, without regard to case.

    Raises:
        ValueError: If two have.
    """
    names = [column.name.lower() for column in columns]
    if len(set(names)) < len(names):
        twice = {name for name in names if names.count(name) > 1}
        raise ValueError(f"columns {sorted(twice)} are there twice")
