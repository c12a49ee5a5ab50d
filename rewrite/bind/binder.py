"""The binder: from syntax to a logical plan over streams and relations.

The plan of a SELECT is, from below: a scan and perhaps a window for each item of FROM, a join of
them under the conditions of ON, USING and WHERE, a projection to keys and arguments with the
aggregates above it and HAVING above these, a projection to the SELECT list, DISTINCT, and the
relation-to-stream operator.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import BindError, NotSupportedError
from cqlduck.rewrite.bind import collations, current_time, recompute
from cqlduck.rewrite.bind.context import Context, Ctes, Scalar, with_ctes
from cqlduck.rewrite.bind.from_clause import item_alone
from cqlduck.rewrite.bind.marks import ByPartners
from cqlduck.rewrite.bind.pivots import pivoted
from cqlduck.rewrite.bind.projection import with_names
from cqlduck.rewrite.bind.scalars import bind_scalars
from cqlduck.rewrite.bind.scope import Scope
from cqlduck.rewrite.bind.select import incremental
from cqlduck.rewrite.bind.set_operations import combined
from cqlduck.rewrite.bind.windows import to_stream
from cqlduck.rewrite.plan import Column, Plan, Recompute, properties
from cqlduck.rewrite.plan.not_incremental import NothingRead, NotIncremental
from cqlduck.rewrite.text.parsed import place_of, remove_operator, unwrapped
from cqlduck.rewrite.text.windows import SampleSyntax, WindowSyntax

_ALL = "all of it is recomputed, by the setting recompute or the point answer"


class Binder(Context):
    """Binds one query; `sources` collects what it reads."""

    def bind(self) -> Plan:
        """Return the plan of the whole query, the default Istream included.

        Raises:
            BindError: A name or a type that does not fit.
            NotSupportedError: A construct that no rule covers.
        """
        collations.refuse_values(self.syntax.tree)
        clock = None if self.catalog.time_is_open else self.catalog.clock
        try:
            plan = self.query(current_time.normalize(self.syntax.tree, clock), {})
        except NothingRead as error:
            raise BindError(error.message, hint=error.hint, offset=error.offset) from error
        hung: list[WindowSyntax | SampleSyntax] = [*self.syntax.windows.values()]
        for written in [*hung, *self.syntax.samples.values()]:
            if written.offset not in self.used:
                what = "window" if isinstance(written, WindowSyntax) else "sample"
                raise BindError(
                    f"this {what} stands on nothing that could have one",
                    hint=f"a {what} follows the name of a stream in FROM",
                    offset=written.offset,
                )
        grows = properties(plan).is_monotonic and not any(self.syntax.tree.find_all(exp.Pivot))
        if not properties(plan).is_stream and grows:
            plan = to_stream(self.catalog, plan, "istream")
        return plan

    def scalars(self, tree: exp.Select, scope: Scope, ctes: Ctes) -> list[Scalar]:
        """Put values into the places of a SELECT's scalar subqueries; return what yields them."""
        return bind_scalars(self, tree, scope, ctes)

    def query(self, tree: exp.Expr, ctes: Ctes) -> Plan:
        """Return the plan of a query, under the common table expressions that it sees."""
        inner = unwrapped(tree)
        assert inner is not None
        tree = inner
        clause = tree.args.get("with_")
        if clause is not None and clause.args.get("recursive"):
            return self._recursive(tree, ctes, clause)
        ctes = with_ctes(tree, ctes)
        if isinstance(tree, exp.Select):
            return self._select(tree, ctes)
        if isinstance(tree, exp.SetOperation):
            try:
                if self.catalog.recompute == "always" and not isinstance(tree, exp.Union):
                    raise NotIncremental(_ALL)
                return combined(self, tree, ctes)
            except NotIncremental as reason:
                return self._recomputed(tree, ctes, reason)
        if isinstance(tree, exp.Pivot):
            return self._pivot(tree, ctes)
        raise NotSupportedError(
            f"{tree.key.upper()} cannot stand here", hint="write a SELECT", offset=place_of(tree)
        )

    def _recursive(self, tree: exp.Expr, ctes: Ctes, clause: exp.Expr) -> Plan:
        """Return the plan of a query with its own WITH RECURSIVE."""
        assert isinstance(tree, exp.Query)
        operator = remove_operator(tree) if isinstance(tree, exp.Select) else None
        plan = self._recomputed(
            tree, ctes, NotIncremental("WITH RECURSIVE", offset=place_of(clause))
        )
        return plan if operator is None else to_stream(self.catalog, plan, operator, tree)

    def _pivot(self, tree: exp.Pivot, ctes: Ctes) -> Plan:
        """Return the plan of a PIVOT or UNPIVOT that is a query in FROM."""
        try:
            if self.catalog.recompute == "always":
                raise NotIncremental(_ALL)
            source = item_alone(self, tree.this, Scope(volatile=self.catalog.volatile), ctes)
            item = pivoted(self.catalog, source, tree, "pivot")
        except NotIncremental as reason:
            self._refuse(reason)
            return recompute.recompute_pivot(self, tree, ctes, reason.message)
        columns = tuple(Column(public, known.type) for public, known in item.names)
        return with_names(item.plan, columns)

    def _select(self, tree: exp.Select, ctes: Ctes) -> Plan:
        operator = remove_operator(tree)
        try:
            if self.catalog.recompute == "always":
                raise NotIncremental(_ALL)
            plan = incremental(self, tree.copy(), ctes)
        except NothingRead:
            plan = self._recomputed(
                tree, ctes, NotIncremental("constants in FROM", offset=place_of(tree))
            )
        except ByPartners as reason:
            plan = reason.plan
            if self.catalog.recompute != "refuse":
                again = self._recomputed(tree, ctes, reason, whole=True)
                plan = again if again.keys else plan
        except NotIncremental as reason:
            plan = self._recomputed(tree, ctes, reason)
        return plan if operator is None else to_stream(self.catalog, plan, operator, tree)

    def _recomputed(
        self, tree: exp.Query, ctes: Ctes, reason: NotIncremental, *, whole: bool = False
    ) -> Recompute:
        """Return the plan of a query without a delta rule, or of the `whole` of it."""
        self._refuse(reason)
        return recompute.recompute(self, tree, ctes, reason.message, whole=whole)

    def _refuse(self, reason: NotIncremental) -> None:
        """Refuse what has no delta rule, if the setting `recompute` says so.

        Raises:
            NotSupportedError: It does.
        """
        if self.catalog.recompute == "refuse":
            raise NotSupportedError(
                f"there is no law for {reason.message}",
                hint="the setting recompute = 'allow' recomputes it at each change",
                offset=reason.offset,
            )
