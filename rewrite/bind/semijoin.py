"""Semijoins, antijoins and outer joins, made of joins, duplicate elimination and differences.

    L ⋉ R  =  L ⋈ δ(π R)           π: the keys of R, if the condition consists of equalities
    L ⋉ R  =  L ⋈ δ(π (L ⋈ R))     π: the columns of L that any other condition names
    L ▷ R  =  L − (L ⋉ R)
    L ⟕ R  =  (L ⋈ R) + (L ▷ R) × NULLs
    mark   =  (L ⋉ R) × {true} + (L ▷ R) × {false}

The first form evaluates the keys and the conditions on R alone for all tuples of R. Where that may
raise an error the second form is used, which evaluates them for pairs.

δ has each key once, so a tuple of L meets at most one partner and keeps its weight. The only
counting is in δ; everything else is linear in each input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.conditions import may_raise
from cqlduck.rewrite.bind.projection import project
from cqlduck.rewrite.plan import (
    Column,
    Difference,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    UnionAll,
    properties,
)
from cqlduck.rewrite.plan.aggregates import INTEGERS
from cqlduck.rewrite.plan.conditions import names_in
from cqlduck.rewrite.relalg.builders import PADDING, column, narrowed, typed_null
from cqlduck.rewrite.relalg.elements import is_null
from cqlduck.rewrite.relalg.values import identity


@dataclass
class Partners:
    """Builds joins that ask whether there is a partner.

    Args:
        catalog: Tells the types of keys.
    """

    catalog: Catalog
    _names: Iterator[str] = field(default_factory=lambda: map("match{}".format, count()))

    def unique_name(self) -> str:
        """Return the name of a column that no other has."""
        return next(self._names)

    def matches(
        self, left: Plan, right: Plan, conditions: Sequence[exp.Expr]
    ) -> tuple[Plan, list[exp.Expr]]:
        """Return what a tuple of `left` with a partner in `right` meets just once, and how.

        Args:
            left: The side that is kept.
            right: The side that is looked into.
            conditions: Which tuples are partners, over the columns of both sides.
        """
        mine, theirs, equal, others = _sorted(left, right, conditions)
        keys = self._keys(left, right, equal)
        both = (left, right)
        late = keys is not None and may_raise(both, [*theirs, *(key for _, _, key in keys)])
        late = late or (bool(theirs) and may_raise(both, conditions))
        if keys is None or others or late:
            return self._matched_columns(left, right, list(conditions))
        if theirs:
            right = Filter(right, exp.and_(*[c.copy() for c in theirs]))
        if not keys:
            return self._distinct(right, [exp.Literal.number(1)])[0], mine
        plan, names = self._distinct(right, [key for _, _, key in keys])
        links = {
            id(condition): kind(this=own.copy(), expression=column(name))
            for condition, (kind, own, _), name in zip(equal, keys, names, strict=True)
        }
        # in the order of the text: who stands before one that may raise guards it
        kept = {id(c) for c in (*mine, *equal)}
        return plan, [links.get(id(c), c) for c in conditions if id(c) in kept]

    def meets_one(self, left: Plan, right: Plan, conditions: Sequence[exp.Expr]) -> bool:
        """Return whether a tuple of `left` meets one key of `right` at most."""
        _, _, equal, _ = _sorted(left, right, conditions)
        return len(equal) == len(conditions) and self._keys(left, right, equal) is not None

    def semi(self, left: Plan, right: Plan, conditions: Sequence[exp.Expr]) -> Plan:
        """Return the tuples of `left` that have a partner."""
        met, links = self.matches(left, right, conditions)
        return narrowed(Join((left, met), tuple(links)), left.columns)

    def anti(self, left: Plan, right: Plan, conditions: Sequence[exp.Expr]) -> Difference:
        """Return the tuples of `left` that have no partner."""
        return Difference(left, self.semi(left, right, conditions))

    def marked(
        self, left: Plan, right: Plan, conditions: Sequence[exp.Expr], mark: str
    ) -> UnionAll:
        """Return the tuples of `left`, with a column that says whether they have a partner."""
        met, links = self.matches(left, right, conditions)
        pairs = narrowed(Join((left, met), tuple(links)), left.columns)
        columns = (*left.columns, Column(mark, "BOOLEAN"))
        own = [column(c.name) for c in left.columns]
        return UnionAll(
            (
                Project(pairs, (*own, exp.true()), columns),
                Project(Difference(left, pairs), (*own, exp.false()), columns),
            )
        )

    def not_in(
        self,
        left: Plan,
        right: Plan,
        compared: tuple[exp.Expr, exp.Expr],
        conditions: Sequence[exp.Expr],
    ) -> Plan:
        """Return the tuples of `left` for which `x NOT IN (SELECT y FROM right …)` is true.

        It is false if x = y for some tuple of `right`, and unknown if x or some y is NULL, unless
        there is no tuple to compare with. By what has a partner in one way or another,

            L − (x = y) − (y IS NULL) − (x IS NULL) + (x = y and y' IS NULL)

        where those with x NULL are in the third set alone.
        """
        own, other = compared
        known = exp.not_(is_null(own))
        equal = self.matches(left, right, [*conditions, exp.EQ(this=own, expression=other)])
        unknown = self.matches(left, right, [*conditions, known, is_null(other)])
        nothing = self.matches(left, right, [*conditions, is_null(own)])
        without = [
            narrowed(Join((left, met), tuple(links)), left.columns)
            for met, links in (equal, unknown, nothing)
        ]
        met, links = unknown
        twice = Join((left, equal[0], met), (*equal[1], *links))
        again = UnionAll((left, narrowed(twice, left.columns)))
        return Difference(again, UnionAll(tuple(without)))

    def outer(self, left: Plan, right: Plan, conditions: Sequence[exp.Expr], side: str) -> Plan:
        """Return a LEFT, RIGHT or FULL join."""
        columns = (*left.columns, *right.columns)
        parts: list[Plan] = [Join((left, right), tuple(conditions))]
        if side in ("LEFT", "FULL"):
            parts.append(_padded(self.anti(left, right, conditions), columns))
        if side in ("RIGHT", "FULL"):
            parts.append(_padded(self.anti(right, left, conditions), columns))
        return UnionAll(tuple(parts))

    def _matched_columns(
        self, left: Plan, right: Plan, conditions: list[exp.Expr]
    ) -> tuple[Plan, list[exp.Expr]]:
        read = names_in(conditions)
        listed = [c for c in left.columns if c.name in read]
        pairs = Join((left, right), tuple(conditions))
        if not listed:
            return self._distinct(pairs, [exp.Literal.number(1)])[0], []
        values: list[exp.Expr] = [column(c.name) for c in listed]
        # the conditions may tell equal values apart, and then their partners are not the same
        values += [e for c in listed if (e := identity(column(c.name), c.type)) is not None]
        met, names = self._distinct(pairs, values)
        # DuckDB finds few rows of many by an equality alone
        known = properties(met).not_null
        return met, [
            (exp.EQ if name in known else exp.NullSafeEQ)(
                this=value.copy(), expression=column(name)
            )
            for value, name in zip(values, names, strict=True)
        ]

    def _distinct(self, plan: Plan, keys: list[exp.Expr]) -> tuple[Plan, list[str]]:
        names = [self.unique_name() for _ in keys]
        listed: list[tuple[str | None, exp.Expr]] = [
            (name, key.copy()) for name, key in zip(names, keys, strict=True)
        ]
        return Distinct(project(self.catalog, plan, listed)), names

    def _keys(
        self, left: Plan, right: Plan, equal: list[exp.Expr]
    ) -> list[tuple[type[exp.Expr], exp.Expr, exp.Expr]] | None:
        """Return (comparison, side of `left`, side of `right`) of equalities of one type.

        None if the types differ: two values of `right` may then equal the same one of `left`.
        """
        if not equal:
            return []
        names = {c.name for c in left.columns}
        keys: list[tuple[type[exp.Expr], exp.Expr, exp.Expr]] = []
        for condition in equal:
            one, other = condition.this, condition.expression
            if not names_in([one]) <= names:
                one, other = other, one
            keys.append((type(condition), one, other))
        sides = [
            project(
                self.catalog, plan, [(f"key{i}", key.copy()) for i, key in enumerate(read)]
            ).columns
            for plan, read in ((left, [key[1] for key in keys]), (right, [key[2] for key in keys]))
        ]
        for mine, theirs in zip(*sides, strict=True):
            types = {mine.type, theirs.type}
            if len(types) > 1 and not types <= INTEGERS - {"BOOLEAN"}:
                return None
        return keys


def _sorted(
    left: Plan, right: Plan, conditions: Sequence[exp.Expr]
) -> tuple[list[exp.Expr], list[exp.Expr], list[exp.Expr], list[exp.Expr]]:
    """Return the conditions on `left` alone, on `right` alone, equalities, and the others."""
    mine: list[exp.Expr] = []
    theirs: list[exp.Expr] = []
    equal: list[exp.Expr] = []
    others: list[exp.Expr] = []
    lefts, rights = ({c.name for c in plan.columns} for plan in (left, right))
    for condition in conditions:
        read = names_in([condition])
        if not read & rights:
            mine.append(condition)
        elif not read & lefts:
            theirs.append(condition)
        elif isinstance(condition, (exp.EQ, exp.NullSafeEQ)) and all(
            names_in([side]) and (names_in([side]) <= lefts or names_in([side]) <= rights)
            for side in (condition.this, condition.expression)
        ):
            equal.append(condition)
        else:
            others.append(condition)
    return mine, theirs, equal, others


def _padded(plan: Difference, columns: tuple[Column, ...]) -> Plan:
    """Return the plan with NULL in the columns that it has not."""
    known = {c.name for c in plan.columns}
    listed = [column(c.name) if c.name in known else _padding(c.type) for c in columns]
    return Project(replace(plan, is_padded=True), tuple(listed), columns)


def _padding(type_name: str) -> exp.Expr:
    null = typed_null(type_name)
    null.meta[PADDING] = True
    return null
