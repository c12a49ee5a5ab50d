"""What fills a cache that is made between two ticks: the content of its segment at the frontier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.physical.statement import CACHE, DISPOSABLE, KEYS, Synopsis
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Cache, Join, Source, bottom_up, unique
from cqlduck.rewrite.plan.divided import cached_of_part
from cqlduck.rewrite.plan.segments import Cached, Caches, segments_of
from cqlduck.rewrite.plan.trees import placeholders
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.elements import parameter, state_table
from cqlduck.rewrite.statements.at_rest import AtRest


@dataclass(frozen=True)
class Filled:
    """A cache, and the statement that fills it.

    Attributes:
        synopsis: The cache.
        sql: Inserts what stands at `$t0`; it runs in the tick, before the other statements. None of
            a partial cache, which begins without keys.
        parameters: Those that it takes.
    """

    synopsis: Synopsis
    sql: str | None
    parameters: frozenset[str] = frozenset()


class _AtBeginning(AtRest):
    """Reads what stands before a tick, by the names that the tick has bound."""

    def stored(self, source: Source) -> Rows:
        """Return all that is kept of a stream."""
        return Writer.stored(self, source)


def filled(writer: Writer) -> tuple[Filled, ...]:
    """Return the caches of a plan.

    Args:
        writer: Has written the statements of its ticks.
    """
    known = {(s.operator, s.kind): s for s in writer.synopses if s.kind not in DISPOSABLE}
    tables = {s.name: s for s in writer.synopses if s.kind in DISPOSABLE}
    rest = _AtBeginning(
        writer.query, writer.plan, writer.clock, divided=writer.divided, synopses_of=known
    )
    found = []
    # those first of which others are made
    for node in bottom_up(writer.plan):
        if isinstance(node, Cache):
            synopsis = tables[writer.table(node, CACHE)]
            if node.partial is not None:
                found += [Filled(synopsis, None), Filled(tables[writer.table(node, KEYS)], None)]
                continue
            content = rest.standing(node.input)
            listed = [exp.column(known.name, quoted=True) for known in synopsis.columns]
            names = [exp.to_identifier(known.name, quoted=True) for known in synopsis.columns]
            query = content.project(listed).query()
            insert = exp.insert(query, state_table(synopsis.name), columns=names)
            tree = insert.transform(_before)
            sql = tree.sql("duckdb", pretty=True)
            found.append(Filled(synopsis, sql, frozenset(placeholders(tree))))
    return tuple(found)


def _before(part: exp.Expr) -> exp.Expr:
    is_end = isinstance(part, exp.Placeholder) and part.this == "t1"
    return parameter("t0") if is_end else part


def caches_in(writer: Writer, tables: Iterable[str]) -> Caches:
    """Return the caches that have these tables; others are of another plan.

    Args:
        writer: Of the plan without caches.
        tables: The tables.
    """
    parts: dict[str, list[Cached]] = {}
    for table in tables:
        instance, at, part = table.removesuffix(f"_{CACHE}").rpartition("_of_")
        cached = cached_of_part(f"of_{part}") if at else None
        if cached is not None:
            parts.setdefault(instance, []).append(cached)
    found = []
    for node in unique(writer.plan):
        if isinstance(node, Join):
            segments = {*segments_of(node)}
            mine = [c for c in parts.get(writer.instance(node), ()) if c.segment in segments]
            if mine:
                mine.sort(key=lambda one: one.segment)
                found.append((writer.number(node), tuple(mine)))
    return tuple(found)
