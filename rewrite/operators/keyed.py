"""Recompute by keys: a query evaluated for the keys that changed, at the instants they changed at.

For SQL without a law of its own whose inputs are divided by keys κ (`bind.bodies.keys`):

    Q(R₁, …, Rₙ)  =  Σ_κ Q(σ_κ R₁, …, σ_κ Rₙ)

A key whose tuples neither come nor go contributes the same as before. With T_κ the instants of the
tick at which a tuple of key κ comes or goes, and t₀ before them,

    R_κ(τ) = Q(σ_κ L₁(τ), …, σ_κ Lₙ(τ))  for τ in {t₀} + T_κ
    + R_κ(τ) at τ, and − R_κ(τ) at the instant of T_κ after τ, summed by tuple

The pairs (κ, τ) are kept, so DuckDB knows that they are few. Those with the same τ and the same
instant after it have one number: by numbers each input is laid out, and the query runs in a LATERAL
over them, as in `recompute` over the instants.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.explain import by_keys
from cqlduck.rewrite.operators.instants import AT, LISTED, Instants, Laid, at, key_names, laid_out
from cqlduck.rewrite.operators.recompute import (
    Recomputation,
    in_query,
    inputs_at,
    net,
    with_laid_out,
)
from cqlduck.rewrite.plan import Plan, properties
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    NEXT,
    TS,
    greatest,
    named,
    over_time,
    parameter,
    qualified,
    temp_table,
    union_all,
)

NUMBER = "_cql_number"


class KeyedRecomputation(Recomputation):
    """A query that is worked out again for the keys that changed."""

    @property
    def purpose(self) -> str:
        """What its statements are for."""
        return f"worked out again {by_keys(self.node)}{self.node.reason}"

    def keep(self) -> None:
        """Keep the keys and instants that changed, then the net elements of the tick."""
        self.pairs = self.writer.keep(
            self.node,
            f"_cql_keys_{self.writer.instance(self.node)}",
            self._changed(),
            "the keys that changed, and when",
        )
        self.writer.delta(self.node, self._at_pairs(), self.purpose)

    @property
    def _names(self) -> list[str]:
        return key_names(len(self.node.keys[0]))

    def _changed(self) -> exp.Select:
        """Return (keys, `_ts`, `_cql_next`, `_cql_number`): t₀ and the instants of each key."""
        first = cast(greatest(parameter("t0"), parameter("begin")), "BIGINT")
        both = exp.Array(expressions=[column(TS), first])
        parts: list[exp.Query] = []
        for plan, own in zip(self.node.inputs, self.node.keys, strict=True):
            listed = [named(column(key), name) for key, name in zip(own, self._names, strict=True)]
            moment = named(exp.Unnest(expressions=[both.copy()]), TS)
            parts.append(self.writer.elements(plan).project([*listed, moment]).query())
        known = [*self._names, TS]
        following = over_time(exp.Lead(this=column(TS)), [*map(column, self._names)])
        pairs = exp.select(*map(column, known), named(following, NEXT)).from_(
            union_all(parts).subquery("changes", copy=False), copy=False
        )
        pairs = pairs.group_by(*map(column, known), copy=False)
        number = over_time(exp.DenseRank(), by=(TS, NEXT))
        return exp.select(*map(column, known), column(NEXT), named(number, NUMBER)).from_(
            pairs.subquery("pairs", copy=False), copy=False
        )

    def _at_pairs(self) -> exp.Query:
        """Return the net elements of the keys that changed."""
        known = tuple(qualified(LISTED, name) for name in (TS, NEXT))
        instants = Instants(qualified(LISTED, NUMBER), AT, in_query("instants"), known)
        query = net(self.node, in_query("results"), TS)
        listed = list(map(column, (NUMBER, TS, NEXT)))
        numbers = exp.select(*listed).distinct(copy=False).from_(temp_table(self.pairs), copy=False)
        query = query.with_(LISTED, as_=numbers, copy=False)
        for place, plan in enumerate(self.node.inputs):
            query = with_laid_out(query, self.node, place, self._laid_out(plan, place))
        results = at(self.node, inputs_at(self.node, in_query), instants)
        return query.with_("_cql_results", as_=results.query(), copy=False)

    def _laid_out(self, plan: Plan, place: int) -> exp.Select:
        """Return the tuples of an input at the pairs of their keys."""
        own = self.node.keys[place]
        lives = self.writer.alive(plan).query()
        how = Laid(
            plan.columns,
            temp_table(self.pairs),
            own,
            number=NUMBER,
            is_unit=properties(plan).has_unit_weights,
        )
        return laid_out(lives.subquery("l", copy=False), how)
