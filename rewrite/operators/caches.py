"""The cache of a segment of a join: the combinations of its inputs (thesis, section 5.4).

    C = R₂ ⋈ R₃        ΔC = ΔR₂ ⋈ R₃  +  (R₂ + ΔR₂) ⋈ ΔR₃

`plan.segments` says which segments may have one. What begins in the tick is appended. If the inputs
say when their tuples end, so do the rows of the cache, and what has left is forgotten from time to
time: what stands are the rows with leave > t₁. If not, the cache has what stands, and what ends is
deleted before anything meets it.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.statement import CACHE
from cqlduck.rewrite.plan import Cache, Column
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    WEIGHT,
    after,
    begun,
    forever,
    lifetime_names,
    named,
    once,
    parameter,
    qualified,
    qualified_identity,
    references,
    same,
    state_table,
    temp_table,
    until,
)
from cqlduck.rewrite.relalg.values import identity_columns, values_of_group

COUNT, PLACE, ROW = "_cql_n", "_cql_place", "_cql_row"


class CachedSegment(Operator[Cache]):
    """All combinations of a segment, each with its lifetime."""

    def keep(self) -> None:
        """Keep what begins or ends in the tick, and append what begins."""
        times = tuple(Column(name, "BIGINT") for name in (ENTER, LEAVE, WEIGHT))
        self.writer.synopsis(self.node, CACHE, (*self.node.columns, *times))
        self.keep_delta()
        self.append(self.lives().where(after(column(ENTER), parameter("t0"))))

    def keep_delta(self) -> None:
        """Keep what begins or ends in the tick, unless the join keeps it."""
        if not self._is_kept_below:
            lives = self.writer.lives(self.node.input).query()
            self.writer.delta(self.node, lives, "what begins or ends in the segment")

    def append(self, begun: Rows) -> None:
        """Append rows to the cache when all have read it.

        By name: if it was made for a plan with other caches, its columns have another order.
        """
        query = begun.query()
        names = [exp.to_identifier(part.alias_or_name, quoted=True) for part in query.selects]
        tree = exp.insert(query, self.table, columns=names)
        self.writer.update(self.node, "append to the cache what begins in the segment", tree)

    @property
    def table(self) -> exp.Table:
        """The cache."""
        return state_table(self.writer.table(self.node, CACHE))

    @property
    def _is_kept_below(self) -> bool:
        return self.writer.operator(self.node.input).is_at_hand

    @property
    def is_at_hand(self) -> bool:
        """Whether what begins or ends is read from a temporary table: it is."""
        return True

    def lives(self) -> Rows:
        """Return the lifetimes that begin or end in the tick."""
        if self._is_kept_below:
            return self.writer.lives(self.node.input)
        return Rows.of(self.delta_table, lifetime_names(self.node.columns))

    def standing(self) -> Rows:
        """Return the lifetimes that cover the whole tick."""
        cached = Rows.of(self.table, lifetime_names(self.node.columns))
        return cached.where(after(column(LEAVE), parameter("t1")))


class StandingSegment(CachedSegment):
    """The combinations of a segment that stand, each tuple as often as it is there."""

    def keep(self) -> None:
        """Delete what ends in the tick, before anything meets the cache; append what stays."""
        self.writer.synopsis(self.node, CACHE, self.node.columns)
        self.keep_delta()
        ended = f"_cql_ended_{self.writer.instance(self.node)}"
        self.writer.keep(self.node, ended, self._ended(), "what ends in the segment")
        gone = exp.delete(self.table).where(
            exp.In(this=column("rowid"), query=self._numbered(ended).subquery())
        )
        self.writer.first(self.node, "delete from the cache what ends in the segment", gone)
        # what neither ends in the tick nor stood before it begins in it
        stays = after(column(LEAVE), parameter("t1"))
        self.append(self.lives().where(stays).project(references(self.node.columns), "begun"))

    def _ended(self) -> exp.Select:
        """Return (columns, `_cql_n`): how many of each tuple end that stood."""
        # what stood and is among the lifetimes of the tick ends in it
        stood = until(column(ENTER), parameter("t0"))
        total = cast(exp.Sum(this=column(WEIGHT)), "BIGINT")
        keys = identity_columns(self.node.columns)
        listed = [*values_of_group(self.node.columns), named(total, COUNT)]
        return self.lives().where(stood).select(listed, group=keys, alias="ended")

    def _numbered(self, ended: str) -> exp.Select:
        """Return the rows of the cache that are the first n of those which are the same."""
        place = exp.Window(this=exp.RowNumber(), partition_by=[exp.column("rowid", table="ended")])
        ends, kept = (qualified_identity(name, self.node.columns) for name in ("ended", "kept"))
        numbered = (
            exp.select(
                named(exp.column("rowid", table="kept"), ROW),
                qualified("ended", COUNT),
                named(place, PLACE),
            )
            .from_(self.table.as_("kept"))
            .join(temp_table(ended).as_("ended"), on=same(ends, kept))
        )
        few = exp.LTE(this=column(PLACE), expression=column(COUNT))
        return exp.select(column(ROW)).from_(numbered.subquery("numbered")).where(few)

    def standing(self) -> Rows:
        """Return what is there throughout the tick, as lifetimes without an end."""
        cached = Rows.of(self.table, [c.name for c in self.node.columns])
        times = [begun(), named(forever(), LEAVE), once()]
        return cached.project([*references(self.node.columns), *times], "cached")
