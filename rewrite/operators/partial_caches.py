"""The partial cache of a segment of a join: the combinations for keys that were asked for.

    C = σ_{K} (R₂ ⋈ R₃)        K: the keys that are known        (thesis, sections 5.3.2 and 5.4.1)

In a tick, with A for the keys of the tuples of other inputs that begin or end in it:

    M = A − K                            the misses
    V = {k ∈ K − A : slot(k) ∈ slot(M)}  what they drive out
    C = C − σ_V (C) + σ_M (R₂ ⋈ R₃)      what stands through the whole tick; K = K − V + M
    C = C + σ_K (ΔR₂ ⋈ R₃ + …)           what begins in the tick, after all have read C

So all keys that a pipeline meets in the tick are known, and what it meets of them is what it would
meet in a whole cache. A key without combinations is known, too. Two misses of one slot are both
there until the next one of that slot: so C is larger than its slots by what one tick asks for.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from cqlduck.rewrite.operators import pipelines
from cqlduck.rewrite.operators.caches import ROW, CachedSegment, StandingSegment
from cqlduck.rewrite.physical.statement import KEYS
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Cache, Column, Join, Partial, Plan
from cqlduck.rewrite.plan.join_graph import owners
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    exists,
    lifetime_names,
    named,
    number,
    qualified,
    state_table,
    temp_table,
)

SLOT = "_cql_slot"


class PartialSegment(CachedSegment):
    """The combinations of the keys that are known, each with its lifetime."""

    def keep(self) -> None:
        """Look the misses of the tick up, before anything meets the cache."""
        super().keep()
        columns = [replace(known, name=_key(at)) for at, known in enumerate(self._keys)]
        self.writer.synopsis(self.node, KEYS, (*columns, Column(SLOT, "BIGINT")))
        self._look_up()

    def append(self, begun: Rows) -> None:
        """Append rows of the keys that are known."""
        super().append(begun.where(self._is_in(self._known)))

    @property
    def _partial(self) -> Partial:
        assert self.node.partial is not None
        return self.node.partial

    @property
    def _keys(self) -> list[Column]:
        columns = {known.name: known for known in self.node.columns}
        return [columns[name] for name in self._partial.keys]

    @property
    def _known(self) -> exp.Table:
        return state_table(self.writer.table(self.node, KEYS))

    def _look_up(self) -> None:
        """Write what makes all keys known that the tick asks for."""
        instance = self.writer.instance(self.node)
        missed, evicted = f"_cql_missed_{instance}", f"_cql_evicted_{instance}"
        keep, first = self.writer.keep, self.writer.first
        keep(self.node, missed, self._missed(), "the keys that are asked for and not known")
        keep(self.node, evicted, self._evicted(missed), "the keys that they drive out")
        gone = exp.delete(self.table).where(self._is_in(temp_table(evicted)))
        first(self.node, "delete from the cache what they have", gone)
        rows = exp.select(column(ROW)).from_(temp_table(evicted))
        is_row = exp.In(this=column("rowid"), query=rows.subquery())
        first(self.node, "forget these keys", exp.delete(self._known).where(is_row))
        query = self._standing_of(temp_table(missed)).query()
        names = [exp.to_identifier(part.alias_or_name, quoted=True) for part in query.selects]
        filled = exp.insert(query, self.table, columns=names)
        first(self.node, "add what stands of the keys that were missed", filled)
        everything = exp.select("*").from_(temp_table(missed))
        first(self.node, "know these keys", exp.insert(everything, self._known))

    def _asked(self) -> Rows:
        """Return the keys of the tuples that begin or end in the other inputs."""
        parts = []
        for plan, asker in zip(self.node.askers, self._partial.askers, strict=True):
            # evaluated for each tuple, as the join does: none of these raises
            lives = self.writer.staged_lives(plan).where(*(c.copy() for c in asker.conditions))
            columns = [named(column(name), _key(at)) for at, name in enumerate(asker.columns)]
            parts.append(lives.project(columns, "asking"))
        return Rows.union(parts)

    def _missed(self) -> exp.Select:
        """Return (keys, `_cql_slot`): those that are asked for and not known."""
        keys = [qualified("asked", _key(at)) for at, _ in enumerate(self._keys)]
        is_known = exists(self._known.as_("known"), self._same("known", "asked"))
        has_all = [exp.not_(exp.Is(this=key.copy(), expression=exp.null())) for key in keys]
        slot = exp.Mod(this=exp.Anonymous(this="hash", expressions=keys), expression=self._slots)
        return (
            exp.select(*(key.copy() for key in keys), named(cast(slot, "BIGINT"), SLOT))
            .distinct()
            .from_(self._asked().subquery("asked"))
            .where(*has_all, exp.not_(is_known))
        )

    @property
    def _slots(self) -> exp.Expr:
        return number(self._partial.slots)

    def _evicted(self, missed: str) -> exp.Select:
        """Return (`_cql_row`, keys): those that are known, whose slots are needed, and not they."""
        keys = [qualified("known", _key(at)) for at, _ in enumerate(self._keys)]
        slots = exp.select(column(SLOT)).from_(temp_table(missed)).subquery()
        asked = self._asked().subquery("asked")
        return (
            exp.select(named(qualified("known", "rowid"), ROW), *keys)
            .from_(self._known.as_("known"))
            .where(
                exp.In(this=qualified("known", SLOT), query=slots),
                exp.not_(exists(asked, self._same("known", "asked"))),
            )
        )

    def _same(self, one: str, other: str) -> exp.Expr:
        names = [_key(at) for at, _ in enumerate(self._keys)]
        pairs = ((qualified(one, name), qualified(other, name)) for name in names)
        return exp.and_(*(exp.EQ(this=mine, expression=theirs) for mine, theirs in pairs))

    def _is_in(self, keys: exp.Table) -> exp.Expr:
        return _is_in(self._partial, keys)

    def _standing_of(self, missed: exp.Table) -> Rows:
        """Return the combinations of some keys that stand through the whole tick."""
        listed = [column(name) for name in self._kept_names]
        found = self._throughout(self.node.input, missed).project(listed, "found")
        # the inputs are reduced by each key alone
        return found if len(self._keys) == 1 else found.where(self._is_in(missed))

    @property
    def _kept_names(self) -> list[str]:
        return lifetime_names(self.node.columns)

    def _throughout(self, node: Join, missed: exp.Table | None = None) -> Rows:
        """Return the combinations that stand through the whole tick, from the inputs of a join."""
        whose = owners(node)
        legs = {place: self._leg(plan) for place, plan in enumerate(node.inputs)}
        begin = 0
        for at, known in enumerate(self._keys if missed is not None else ()):
            assert missed is not None
            place = whose[known.name]
            keys = exp.select(column(_key(at))).from_(missed.copy()).subquery()
            legs[place] = legs[place].where(exp.In(this=column(known.name), query=keys))
            begin = place
        pipe = pipelines.anywhere(node, begin)
        arms = pipelines.arms(node)
        return Rows.union([pipelines.nested(node, pipe, arm, legs) for arm in arms])

    def _leg(self, plan: Plan) -> Rows:
        """Return what stands of an input; of a partial cache all combinations, not the known."""
        if isinstance(plan, Cache) and plan.partial is not None:
            return self._throughout(plan.input)
        return self.writer.standing(plan)


class PartialStandingSegment(PartialSegment, StandingSegment):
    """The combinations of the keys that are known that stand, each as often as it is there."""

    @property
    def _kept_names(self) -> list[str]:
        return [known.name for known in self.node.columns]


def is_known(writer: Writer, node: Cache) -> exp.Expr:
    """Return whether a partial cache knows the keys of a combination."""
    assert node.partial is not None
    return _is_in(node.partial, state_table(writer.table(node, KEYS)))


def _is_in(partial: Partial, keys: exp.Table) -> exp.Expr:
    """Return whether the keys of a combination are in a table."""
    mine = [column(name) for name in partial.keys]
    theirs = [column(_key(at)) for at, _ in enumerate(mine)]
    if len(mine) == 1:
        return exp.In(this=mine[0], query=exp.select(theirs[0]).from_(keys).subquery())
    pairs = zip(mine, theirs, strict=True)
    return exists(keys, *(exp.EQ(this=one, expression=other) for one, other in pairs))


def _key(number: int) -> str:
    return f"_cql_key{number + 1}"
