"""The binder: from syntax to a logical plan over streams and relations.

The plan of a SELECT is, from below: a scan and perhaps a window for each item of FROM, a join of
them under the conditions of ON, USING and WHERE, a projection to keys and arguments with the
aggregates above it and HAVING above these, a projection to the SELECT list, DISTINCT, and the
relation-to-stream operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from sqlglot import exp

from cqlduck.errors import BindError, CatalogError, NotSupportedError
from cqlduck.rewrite.bind import collations, current_time, recompute, scalars, subqueries
from cqlduck.rewrite.bind.macros import Macros
from cqlduck.rewrite.bind.methods import is_reference, reference
from cqlduck.rewrite.bind.scope import Item, Scope, resolve
from cqlduck.rewrite.bind.semijoin import Partners, may_raise, safe_types
from cqlduck.rewrite.bind.subqueries import Scalar
from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Column,
    Distinct,
    During,
    Filter,
    Join,
    Plan,
    Project,
    RelationScan,
    RowWindow,
    Sample,
    SetOperation,
    Source,
    StreamScan,
    TimeWindow,
    ToStream,
    UnionAll,
    chain_of,
    guards,
    properties,
)
from cqlduck.rewrite.plan.aggregates import (
    BLIND_TO_COUNT,
    MERGING,
    aggregate_calls,
    aggregate_core,
    function_of,
)
from cqlduck.rewrite.plan.conditions import conjuncts, names_in, without_parens
from cqlduck.rewrite.plan.not_incremental import NothingRead, NotIncremental
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.relalg.builders import cast, column, typed_nothing, typed_null
from cqlduck.rewrite.relalg.values import may_vary
from cqlduck.rewrite.rules.canonical import shown
from cqlduck.rewrite.text.calls import function_name
from cqlduck.rewrite.text.queries import (
    QuerySyntax,
    SampleSyntax,
    WindowSyntax,
    place_of,
    take_operator,
    unwrapped,
)
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.syntax import DATABASE, RESERVED, SCHEMA, STORED, reserved
from cqlduck.rewrite.text.time import Clock

Hung = TypeVar("Hung", WindowSyntax, SampleSyntax)
Describe = Callable[[str], Sequence[Column]]


class Catalog(Protocol):
    """What the binder asks of the catalogue."""

    clock: Clock
    half_open: bool
    aggregates: frozenset[str]
    volatile: frozenset[str]
    recompute: str
    time_is_open: bool

    @property
    def macros(self) -> Macros:
        """The macros of DuckDB, by lower-case name."""

    @property
    def called(self) -> Mapping[str, Sequence[str]]:
        """What columns are called that name what may be gone; see `macros.Taken`."""

    @property
    def types(self) -> Mapping[str, str]:
        """What types stood for when the query was registered; see `macros.Taken`."""

    def lookup(self, name: str) -> Source | None:
        """Return the stream, relation or query of a name, or None."""

    def is_table(self, name: str) -> bool:
        """Return whether a plain table or view of DuckDB has this name."""

    def names(self) -> Sequence[str]:
        """Return the names of all streams, relations and queries."""

    def describe(self, sql: str) -> Sequence[Column]:
        """Return the columns of a SELECT, without running it."""

    def described(self, sql: str) -> Sequence[tuple[str, str]] | None:
        """Return names and types of the columns of a SELECT, or None if it does not bind."""


@dataclass(frozen=True)
class Cte:
    """A common table expression and the ones that it sees."""

    tree: exp.Expr
    ctes: Ctes


Ctes = dict[str, Cte]


@dataclass
class Binder:
    """Binds one query; `sources` collects what it reads."""

    catalog: Catalog
    syntax: QuerySyntax
    sources: dict[str, Source] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    called: dict[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make what builds joins that ask whether there is a partner."""
        self.partners = Partners(self.project)

    def bind(self) -> Plan:
        """Return the plan of the whole query, the default Istream included.

        Raises:
            BindError: A name or a type that does not fit.
            NotSupportedError: A construct that no rule covers.
        """
        collations.refuse_values(self.syntax.tree)
        clock = None if self.catalog.time_is_open else self.catalog.clock
        try:
            plan = self._query(current_time.normalize(self.syntax.tree, clock), {})
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
        if not properties(plan).is_stream and properties(plan).is_monotonic:
            plan = self._to_stream(plan, "istream")
        return plan

    # -- queries ------------------------------------------------------------------------------

    def _query(self, tree: exp.Expr, ctes: Ctes) -> Plan:
        inner = unwrapped(tree)
        assert inner is not None
        tree = inner
        clause = tree.args.get("with_")
        if clause is not None and clause.args.get("recursive"):
            return self._recursive(tree, ctes, clause)
        ctes = self.with_(tree, ctes)
        if isinstance(tree, exp.Select):
            return self._select(tree, ctes)
        if isinstance(tree, exp.SetOperation):
            try:
                if self.catalog.recompute == "always" and not isinstance(tree, exp.Union):
                    raise NotIncremental("the setting recompute is always")
                return self._set_operation(tree, ctes)
            except NotIncremental as reason:
                return self._recomputed(tree, ctes, reason)
        if isinstance(tree, exp.Pivot):
            raise NotIncremental(tree.key.upper(), offset=place_of(tree))
        raise NotSupportedError(
            f"{tree.key.upper()} cannot stand here", hint="write a SELECT", offset=place_of(tree)
        )

    def _recursive(self, tree: exp.Expr, ctes: Ctes, clause: exp.Expr) -> Plan:
        """Return the plan of a query with its own WITH RECURSIVE."""
        assert isinstance(tree, exp.Query)
        operator = take_operator(tree) if isinstance(tree, exp.Select) else None
        plan = self._recomputed(
            tree, ctes, NotIncremental("WITH RECURSIVE", offset=place_of(clause))
        )
        return plan if operator is None else self._to_stream(plan, operator, tree)

    def with_(self, tree: exp.Expr, ctes: Ctes) -> Ctes:
        """Return the common table expressions that a query sees, its own included."""
        clause = tree.args.get("with_")
        if clause is None:
            return ctes
        inner = dict(ctes)
        for cte in clause.expressions:
            body = cte.this
            columns = cte.args["alias"].columns
            if columns:
                body = exp.Subquery(
                    this=body.copy(),
                    alias=exp.TableAlias(this=exp.to_identifier(cte.alias), columns=columns),
                )
                body = exp.select("*").from_(body, copy=False)
            inner[cte.alias.lower()] = Cte(body, dict(inner))
        return inner

    def _set_operation(self, tree: exp.SetOperation, ctes: Ctes) -> Plan:
        word = tree.key.upper()
        if tree.args.get("by_name"):
            raise NotIncremental(f"{word} BY NAME", offset=place_of(tree))
        article = "a" if word == "UNION" else "an"
        for part in ("order", "limit", "offset"):
            if tree.args.get(part):
                raise NotIncremental(
                    f"{part.upper()} above {article} {word}", offset=place_of(tree)
                )
        if not all(any(s.find_all(exp.Table)) for s in (tree.this, tree.expression)):
            raise NotIncremental(f"constants in {article} {word}", offset=place_of(tree))
        sides = [self.relation(side, ctes, tree) for side in (tree.this, tree.expression)]
        if len(sides[0].columns) != len(sides[1].columns):
            raise BindError(
                f"the sides of {word} have {len(sides[0].columns)} and {len(sides[1].columns)} "
                "columns",
                hint="select as many on both sides",
                offset=place_of(tree),
            )
        selects = [typed_nothing(side.columns) for side in sides]
        types = self.catalog.describe(exp.union(*selects, distinct=False).sql("duckdb"))
        columns = tuple(
            Column(mine.name, found.type)
            for mine, found in zip(sides[0].columns, types, strict=True)
        )
        left, right = (_cast(side, columns) for side in sides)
        every = tree.args.get("distinct") is False
        if isinstance(tree, exp.Except):
            return SetOperation(left, right, "except", every)
        if isinstance(tree, exp.Intersect):
            return SetOperation(left, right, "intersect", every)
        both = UnionAll((left, right))
        return both if every else Distinct(both)

    def relation(self, side: exp.Expr, ctes: Ctes, around: exp.Expr) -> Plan:
        """Return the plan of one side of a set operation."""
        plan = self._query(side.copy(), ctes)
        if properties(plan).is_stream:
            raise BindError(
                f"{around.key.upper()} combines relations, and one side yields a stream",
                hint="put the relation-to-stream operator around the whole of it",
                offset=place_of(around),
            )
        return plan

    # -- select -------------------------------------------------------------------------------

    def _select(self, tree: exp.Select, ctes: Ctes) -> Plan:
        operator = take_operator(tree)
        try:
            if self.catalog.recompute == "always":
                raise NotIncremental("the setting recompute is always")
            plan = self._incremental(tree.copy(), ctes)
        except NothingRead:
            plan = self._recomputed(
                tree, ctes, NotIncremental("constants in FROM", offset=place_of(tree))
            )
        except NotIncremental as reason:
            plan = self._recomputed(tree, ctes, reason)
        return plan if operator is None else self._to_stream(plan, operator, tree)

    def _recomputed(self, tree: exp.Query, ctes: Ctes, reason: NotIncremental) -> Plan:
        """Return the plan of a query without a delta rule.

        Raises:
            NotSupportedError: The setting `recompute` refuses it.
        """
        if self.catalog.recompute == "refuse":
            raise NotSupportedError(
                f"there is no law for {reason.message}",
                hint="the setting recompute = 'allow' recomputes it at each change",
                offset=reason.offset,
            )
        return recompute.recompute(self, tree, ctes, reason.message)

    def _incremental(self, tree: exp.Select, ctes: Ctes) -> Plan:
        """Return the plan of a SELECT all of whose parts have delta rules.

        Raises:
            NotIncremental: One of them has none.
        """
        self._refuse_clauses(tree)
        if collations.has_no_rule(tree):
            raise NotIncremental("COLLATE beside a subquery or a join", offset=place_of(tree))
        scope = Scope(volatile=self.catalog.volatile)
        conditions = self.from_(tree, scope, ctes)
        if not tree.expressions:
            tree.set("expressions", [exp.Star()])
        values = scalars.take(self, tree, scope, ctes)
        listed, aliases = self._list(tree, scope)
        where = tree.args.get("where")
        if where is not None:
            self.no_aggregate(where.this, "WHERE")
        group, having = tree.args.get("group"), tree.args.get("having")
        calls = [c for _, e in listed for c in aggregate_calls(e, self.catalog.aggregates)]
        if having is not None:
            having = resolve(having.this, scope, aliases)
        sets = self._grouping_sets(tree, scope, listed, aliases)
        by_all = group is not None and bool(group.args.get("all"))
        if (group is not None and not by_all) or sets != [[]] or calls or having is not None:
            if having is not None:
                calls += aggregate_calls(having, self.catalog.aggregates)
            below = names_in([*calls, *(key for keys in sets for key in keys)])
            below |= set() if where is None else names_in([where])
            above = [v for v in values if not {v.name, *names_in([v.value])} & below]
            # what GROUP BY ALL takes for a key among subqueries, DuckDB alone knows
            if any(v.links for v in above) or (values and by_all):
                raise NotIncremental("a subquery in an expression", offset=place_of(tree))
            others = [v for v in values if v not in above]
            plan = subqueries.where(self, where, scope, conditions, aliases, ctes, others)
            plan = self._union_of(
                [self._aggregate(plan, s, sets, listed, having, above) for s in sets]
            )
        else:
            plan = subqueries.where(self, where, scope, conditions, aliases, ctes, values)
            plan = self.project(plan, listed)
        return plan if tree.args.get("distinct") is None else Distinct(plan)

    def _refuse_clauses(self, tree: exp.Select) -> None:
        distinct = tree.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise NotIncremental("DISTINCT ON", offset=place_of(tree))
        for part in ("limit", "offset", "qualify", "windows", "laterals"):
            if tree.args.get(part):
                raise NotIncremental(part.upper(), offset=place_of(tree))
        refused = {
            "sample": "USING SAMPLE is not supported",
            "into": "SELECT INTO is not supported",
            "locks": "locking clauses are not supported",
        }
        for part, message in refused.items():
            if tree.args.get(part):
                raise NotSupportedError(message, hint="leave the clause out", offset=place_of(tree))

    # -- from ---------------------------------------------------------------------------------

    def from_(self, tree: exp.Select, scope: Scope, ctes: Ctes) -> list[exp.Expr]:
        """Bind a FROM clause: fill the scope, and return the conditions of its joins."""
        clause = tree.args.get("from_")
        if clause is None:
            raise NotIncremental("a SELECT without FROM", offset=place_of(tree))
        conditions = self.item(clause.this, scope, ctes)
        joins = [*(clause.this.args.get("joins") or []), *(tree.args.get("joins") or [])]
        return conditions + self._joins(joins, scope, ctes, 0, 0)

    def _joins(
        self, joins: list[exp.Join], scope: Scope, ctes: Ctes, first: int, start: int
    ) -> list[exp.Expr]:
        """Bind joined items one after the other; return their conditions.

        Args:
            joins: The joins.
            scope: Gets the items.
            ctes: What FROM sees.
            first: The place of the first item that they join.
            start: The place of its plan.
        """
        conditions: list[exp.Expr] = []
        before: list[exp.Expr] = []
        begin = start
        for join in joins:
            kind = _kind_of(join)
            conditions = self._closed(scope, start, conditions)
            left, middle = len(scope.items), len(scope.plans)
            if kind == ",":
                # what is before a comma is no part of the joins behind it
                first, start = left, middle
                before, conditions = before + conditions, []
            inside = self.item(join.this, scope, ctes)
            inside = self._closed(scope, middle, inside)
            own = self._said(join, kind, scope, first, left)
            if kind in (",", ""):
                conditions += inside + own
                continue
            mine = self.joined(scope.plans[start:middle], conditions)
            theirs = self.joined(scope.plans[middle:], inside)
            known = {c.name for c in (*mine.columns, *theirs.columns)}
            if not names_in([*conditions, *inside, *own]) <= known:
                raise NotIncremental(f"a correlated {kind} JOIN", offset=place_of(join.this))
            if any(current_time.mentions(condition) for condition in own):
                raise NotIncremental(
                    f"the current time in ON of a {kind} JOIN", offset=place_of(join.this)
                )
            if kind in ("SEMI", "ANTI"):
                make = self.partners.semi if kind == "SEMI" else self.partners.anti
                plan = make(mine, theirs, own)
                del scope.items[left:]
            else:
                plan = self.partners.outer(mine, theirs, own, kind)
                plan = self._merged(join, kind, scope, left, plan)
            scope.plans[start:] = [plan]
            conditions = []
        if start > begin:
            conditions = self._closed(scope, start, conditions)
        return before + conditions

    def _closed(self, scope: Scope, start: int, conditions: list[exp.Expr]) -> list[exp.Expr]:
        """Make the plans from `start` on one join if a condition may raise; return what is left.

        What may raise is tested of the tuples that the join itself combines, whatever they meet in
        the joins around it.
        """
        plans = scope.plans[start:]
        if len(plans) < 2 or not may_raise(plans, conditions):
            return conditions
        if not names_in(conditions) <= {c.name for plan in plans for c in plan.columns}:
            return conditions
        scope.plans[start:] = [self.joined(plans, conditions)]
        return []

    def _said(
        self, join: exp.Join, kind: str, scope: Scope, first: int, left: int
    ) -> list[exp.Expr]:
        """Return what ON, USING and NATURAL say, the items behind being those from `left` on."""
        conditions: list[exp.Expr] = []
        using = [name.name for name in join.args.get("using") or []]
        if join.args.get("method") == "NATURAL":
            right = [public for item in scope.items[left:] for public, _ in item.names]
            using = [public for public in right if _found(scope.items[first:left], public)]
            if not using:
                raise BindError("NATURAL JOIN finds no common column", offset=place_of(join.this))
            join.set("using", [exp.to_identifier(name) for name in using])
        for name in using:
            conditions.append(self._using(scope, first, left, name, join, kind))
        if join.args.get("on") is not None:
            self.no_aggregate(join.args["on"], "ON")
            conditions += self.conditions(join.args["on"], scope)
        return conditions

    def _using(
        self, scope: Scope, first: int, left: int, name: str, join: exp.Join, kind: str
    ) -> exp.Expr:
        """Merge a column of the items before `left` with that of the items from there on."""
        lefts, rights = _found(scope.items[first:left], name), _found(scope.items[left:], name)
        if not lefts or not rights:
            raise BindError(
                f"USING names {name}, which is no column of both sides", offset=place_of(join)
            )
        known = scope.merged.get(name.lower(), lefts)[0]
        if kind not in ("SEMI", "ANTI"):
            both = {known.name, rights[0].name}
            scope.plans[:] = [shown(plan, both) for plan in scope.plans]
            merged = scope.merged.setdefault(name.lower(), [known])
            merged += rights
            scope.hidden |= {right.name for right in rights}
        return exp.EQ(this=column(known.name), expression=column(rights[0].name))

    def _merged(self, join: exp.Join, kind: str, scope: Scope, left: int, plan: Plan) -> Plan:
        """Let the merged columns of an outer join be known on the side that always is."""
        for written in join.args.get("using") or []:
            name = written.name.lower()
            merged = scope.merged[name]
            own, (other, *_) = merged[0], _found(scope.items[left:], name)
            if kind == "RIGHT":
                value = other
            elif kind == "FULL":
                either = exp.Coalesce(this=column(own.name), expressions=[column(other.name)])
                fresh = f"{name} of {len(scope.items)}"
                (value,) = self.project(plan, [(fresh, either)]).columns
                listed = [column(c.name) for c in plan.columns]
                plan = Project(plan, (*listed, either), (*plan.columns, value))
            else:
                continue
            scope.merged[name] = [value, *merged]
            for item in scope.items:
                for _, known in item.names:
                    if known in merged and known.name not in scope.hidden:
                        scope.shown[known.name] = value
        return plan

    def item(self, tree: exp.Expr, scope: Scope, ctes: Ctes) -> list[exp.Expr]:
        """Bind one item of a FROM clause, add it to the scope, and return conditions inside it."""
        while isinstance(tree, exp.Paren):
            tree = tree.this
        if tree.args.get("sample"):
            raise NotSupportedError(
                "SAMPLE on an item of FROM is not supported",
                hint="leave the clause out",
                offset=place_of(tree),
            )
        if tree.args.get("pivots"):
            raise NotIncremental("PIVOT", offset=place_of(tree))
        if isinstance(tree, exp.Table):
            self._table(tree, scope, ctes)
        elif isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Table):
            return self._parenthesized(tree, scope, ctes)
        elif isinstance(tree, exp.Subquery):
            alias = tree.alias or f"unnamed_subquery{len(scope.items) or ''}"
            try:
                self._derived(tree, alias, tree.this, scope, ctes)
            except BindError as error:
                name = error.missing
                if name is None or not (scope.item(name) or _found(scope.items, name)):
                    raise
                raise NotIncremental(
                    "a correlated subquery in FROM", offset=error.offset
                ) from error
        elif isinstance(tree, (exp.Values, exp.Unnest, exp.Lateral)):
            raise NotIncremental(f"{tree.key.upper()} in FROM", offset=place_of(tree))
        else:
            raise NotSupportedError(
                f"{tree.key.upper()} in FROM is not supported", offset=place_of(tree)
            )
        return []

    def _parenthesized(self, tree: exp.Subquery, scope: Scope, ctes: Ctes) -> list[exp.Expr]:
        """Bind `(s)`, `(s JOIN r …)`, or `(s JOIN r …) AS x`, which hides the names inside it."""
        inner = tree.this.copy()
        joins = inner.args.get("joins") or []
        inner.set("joins", None)
        first, start = len(scope.items), len(scope.plans)
        if not joins:
            if tree.args.get("alias"):
                inner.set("alias", tree.args["alias"].copy())
            self._table(inner, scope, ctes)
            return []
        if not tree.alias:
            self._table(inner, scope, ctes)
            return self._joins(joins, scope, ctes, first, start)
        joined = exp.select("*").from_(inner)
        joined.set("joins", joins)
        self._derived(tree, tree.alias, joined, scope, ctes)
        return []

    def _table(self, tree: exp.Table, scope: Scope, ctes: Ctes) -> None:
        place = tree.this.meta.get("start") if isinstance(tree.this, exp.Identifier) else None
        if not isinstance(tree.this, exp.Identifier):
            if tree.this.sql("duckdb").split("(")[0].lower() in recompute.CONSTANT_FUNCTIONS:
                raise NotIncremental("a table function in FROM", offset=place_of(tree))
            raise NotSupportedError(
                f"the table function {tree.this.sql('duckdb')} cannot stand in a continuous query",
                hint="load it into a relation: CREATE RELATION … FROM",
                offset=place_of(tree),
            )
        for part in ("version", "when", "ordinality", "changes", "only", "hints"):
            if tree.args.get(part):
                raise NotSupportedError(
                    f"{part.upper()} after a table is not supported",
                    hint="leave the clause out",
                    offset=place,
                )
        name = tree.name
        if not tree.args.get("db") and name.lower() in ctes:
            cte = ctes[name.lower()]
            self._derived(tree, tree.alias or name, cte.tree.copy(), scope, cte.ctes)
            return
        is_elsewhere = tree.db.lower() not in ("", SCHEMA)
        is_elsewhere |= tree.catalog.lower() not in ("", DATABASE)
        source = None if is_elsewhere else self.catalog.lookup(name)
        if source is None:
            self._unknown(tree, place)
            raise AssertionError
        self.sources[source.name.lower()] = source
        alias = tree.alias or name
        window, sample = self.window_of(tree), self.sample_of(tree)
        renamed = self._renames(tree, alias, source.columns)
        names = tuple(f"{alias}.{public}" for public in renamed)
        pairs = tuple(
            (public, Column(inner, known.type))
            for public, inner, known in zip(renamed, names, source.columns, strict=True)
        )
        plan: Plan
        if source.kind == "relation":
            for what, written in (("window", window), ("sample", sample)):
                if written is not None:
                    raise BindError(
                        f"{source.name} is a relation, and a {what} stands on a stream",
                        hint=f"leave the {what} out: a relation has a content at each instant",
                        offset=written.offset,
                    )
            plan = RelationScan(source, names)
        else:
            instant = None
            if self.syntax.mentions_ts:
                instant = f"{alias}._ts"
                pairs = (*pairs, ("_ts", Column(instant, "BIGINT")))
            scan = StreamScan(source, names, instant)
            stream = _sampled(scan, sample, source.name)
            plan = self._window(stream, window, alias, pairs)
            if instant is not None:
                plan, pairs = self._public_instant(plan, instant, pairs)
        scope.add(Item(alias, plan, pairs), place)

    def _public_instant(
        self, plan: Plan, instant: str, pairs: tuple[tuple[str, Column], ...]
    ) -> tuple[Plan, tuple[tuple[str, Column], ...]]:
        """Show `_ts` in the type in which people see instants."""
        clock = self.catalog.clock
        if clock.kind == "integer":
            return plan, pairs
        shown = Column(instant, clock.public_type)
        listed: list[exp.Expr] = [column(c.name) for c in plan.columns if c.name != instant]
        micros = exp.Mul(this=column(instant), expression=exp.Literal.number(clock.granularity))
        listed.append(exp.Anonymous(this="make_timestamp", expressions=[micros]))
        columns = (*(c for c in plan.columns if c.name != instant), shown)
        return Project(plan, tuple(listed), columns), (*pairs[:-1], ("_ts", shown))

    def _unknown(self, tree: exp.Table, place: int | None) -> None:
        name = tree.sql("duckdb").split(" AS ")[0]
        if self.catalog.is_table(name):
            raise NotSupportedError(
                f"{name} is a plain table or view, which has no history",
                hint=f"make it a relation: CREATE RELATION {tree.name}_r FROM {name}; later, "
                f"REFRESH RELATION {tree.name}_r takes in what changed",
                offset=place,
            )
        raise CatalogError(
            f"there is no stream, relation or query {name}",
            hint=suggestion(tree.name, self.catalog.names(), "there are"),
            offset=place,
        )

    def _renames(self, tree: exp.Expr, alias: str, columns: tuple[Column, ...]) -> list[str]:
        names = [c.name for c in columns]
        clause = tree.args.get("alias")
        parts = clause.columns if clause is not None else []
        given = [part.name for part in parts]
        if len(given) > len(names):
            raise BindError(
                f"{alias} has {len(names)} columns, and {len(given)} names are given",
                offset=place_of(tree),
            )
        for part, was in zip(parts, names, strict=False):
            # `*` leaves such a column out, and would do so without a word
            if part.name.lower() == "_ts" != was:
                raise BindError(
                    f"{part.name} is a reserved name",
                    hint=f"give the column of {alias} another one, as in {alias}(instant)",
                    offset=place_of(part),
                )
        renamed = given + names[len(given) :]
        lower = [name.lower() for name in renamed]
        for name in given:
            if lower.count(name.lower()) > 1:
                raise BindError(
                    f"{alias} has two columns called {name}",
                    hint="give each of its columns a name",
                    offset=place_of(tree),
                )
        return renamed

    def _derived(
        self,
        tree: exp.Expr,
        alias: str,
        body: exp.Expr,
        scope: Scope,
        ctes: Ctes,
    ) -> None:
        inner = self._query(body, ctes)
        window, sample = self.window_of(tree), self.sample_of(tree)
        renamed = self._renames(tree, alias, inner.columns)
        columns = tuple(
            Column(f"{alias}.{public}", known.type)
            for public, known in zip(renamed, inner.columns, strict=True)
        )
        pairs = tuple(zip(renamed, columns, strict=True))
        if (window is not None or sample is not None) and not properties(inner).is_stream:
            inner = self._to_stream(inner, "istream")
        plan: Plan
        if properties(inner).is_stream:
            assert isinstance(inner, ToStream)
            shown = ToStream(_rename(inner.input, columns), inner.kind)
            plan = self._window(_sampled(shown, sample, alias), window, alias, pairs)
        else:
            plan = _rename(inner, columns)
        scope.add(Item(alias, plan, pairs), place_of(tree))

    # -- windows and samples ----------------------------------------------------------------------

    def window_of(self, tree: exp.Expr) -> WindowSyntax | None:
        """Return the window that was written after an item of FROM, or None."""
        return self._hung("window", self.syntax.windows, tree)

    def sample_of(self, tree: exp.Expr) -> SampleSyntax | None:
        """Return the `n% SAMPLE` that was written after an item of FROM, or None."""
        return self._hung("sample", self.syntax.samples, tree)

    def _hung(self, what: str, written: Mapping[int, Hung], tree: exp.Expr) -> Hung | None:
        places = []
        clause = tree.args.get("alias")
        if clause is not None and isinstance(clause.this, exp.Identifier):
            places.append(clause.this.meta.get("start"))
        if isinstance(tree, exp.Table) and isinstance(tree.this, exp.Identifier):
            places.append(tree.this.meta.get("start"))
        found = [written[p] for p in places if p is not None and p in written]
        if len(found) > 1:
            raise BindError(f"a second {what} on the same stream", offset=found[0].offset)
        if not found:
            return None
        self.used.add(found[0].offset)
        return found[0]

    def _window(
        self,
        stream: StreamScan | ToStream | Sample,
        window: WindowSyntax | None,
        alias: str,
        pairs: tuple[tuple[str, Column], ...],
    ) -> Plan:
        if window is None:
            return TimeWindow(stream, None)
        try:
            return self._windowed(stream, window, alias, pairs)
        except (BindError, NotSupportedError) as error:
            error.offset = window.offset if error.offset is None else error.offset
            raise

    def _windowed(
        self,
        stream: StreamScan | ToStream | Sample,
        window: WindowSyntax,
        alias: str,
        pairs: tuple[tuple[str, Column], ...],
    ) -> Plan:
        clock, half_open = self.catalog.clock, self.catalog.half_open
        only = Scope(volatile=self.catalog.volatile)
        only.items.append(Item(alias, stream, pairs))
        inner: StreamScan | ToStream | Sample | Filter = stream
        if window.where is not None:
            self.no_aggregate(window.where, "WHERE")
            current_time.refuse(window.where, "a window")
            inner = Filter(stream, resolve(self._unqualified(window.where, stream), only))
        width = None if window.range is None else clock.instants(window.range)
        slide = None if window.slide is None else clock.instants(window.slide)
        if slide is not None and slide < 1:
            raise BindError("a window slides by at least one instant")
        if window.rows is not None:
            keys = tuple(self._partition(names, at, only) for names, at in window.partition_by)
            edge = half_open and width is not None
            return RowWindow(inner, window.rows, keys, width, edge, window.slide_rows, slide)
        if window.now:
            return TimeWindow(inner, 0)
        if window.unbounded:
            return TimeWindow(inner, None, slide)
        written = None
        if window.range is not None and window.range.microseconds is not None and not window.where:
            written = " ".join(window.text.upper().split()) + "]"
        edge = half_open and not window.hop
        return TimeWindow(inner, width, slide, window.hop, edge, written)

    def _unqualified(self, tree: exp.Expr, stream: StreamScan | ToStream | Sample) -> exp.Expr:
        """Let the condition in a window name the stream itself, besides its alias."""
        *_, base = chain_of(stream)
        if not isinstance(base, StreamScan):
            return tree
        copy = tree.copy()
        for node in copy.find_all(exp.Column):
            if node.table.lower() == base.source.name.lower():
                node.set("table", None)
        return copy

    def _partition(self, names: Sequence[str], place: int, scope: Scope) -> str:
        (item,) = scope.items
        found = item.find(names[-1])
        if found is None:
            raise BindError(
                f"PARTITION BY names {'.'.join(names)}, which is no column of {item.alias}",
                hint=suggestion(names[-1], [public for public, _ in item.names], "columns"),
                offset=place,
            )
        return found.name

    def _to_stream(self, plan: Plan, kind: str, tree: exp.Expr | None = None) -> ToStream:
        if properties(plan).is_stream:
            raise BindError(
                "a relation-to-stream operator applies to a relation, and this yields a stream",
                hint="use one operator only, or a window between the two",
                offset=None if tree is None else place_of(tree),
            )
        clock = self.catalog.clock
        if (
            kind == "rstream"
            and clock.kind == "wall"
            and clock.granularity == 1
            and not properties(plan).needs_now
        ):
            raise NotSupportedError(
                "this Rstream would repeat a standing relation at every microsecond",
                hint="join with a [NOW] window, or connect with a granularity such as '1 second'",
                offset=None if tree is None else place_of(tree),
            )
        return ToStream(plan, kind)  # type: ignore[arg-type]  # one of the three words

    # -- the SELECT list ----------------------------------------------------------------------

    def _list(
        self, tree: exp.Select, scope: Scope
    ) -> tuple[list[tuple[str | None, exp.Expr]], dict[str, exp.Expr]]:
        """Return (public name, resolved expression) in order, and the aliases."""
        listed: list[tuple[str | None, exp.Expr]] = []
        aliases: dict[str, exp.Expr] = {}
        unnamed: dict[int, exp.Expr] = {}
        for written in tree.expressions:
            star = without_parens(written)
            if isinstance(star, exp.Star) or (
                isinstance(star, exp.Column) and isinstance(star.this, exp.Star)
            ):
                listed += self._star(star, scope, aliases)
                continue
            name = written.alias or None
            bare = without_parens(written.this) if isinstance(written, exp.Alias) else written
            if bare.is_star and not isinstance(bare, exp.Func):
                raise BindError(
                    f"* is as many columns as there are, and has no alias {name}",
                    hint="rename them one by one: * RENAME (a AS b)",
                    offset=place_of(written),
                )
            resolved = resolve(bare, scope, aliases)
            if name is None and is_reference(bare):
                name = bare.name or None
            if name is None:
                unnamed[len(listed)] = written
            listed.append((name, resolved))
            if name is not None:
                aliases.setdefault(name.lower(), resolved)
        if unnamed:
            names = self._names(tree, list(unnamed.values()), scope)
            for place, name in zip(unnamed, names, strict=True):
                listed[place] = (name, listed[place][1])
        if not listed:
            raise BindError(
                "* matches no column here",
                hint="_ts is no part of it: write _ts AS something else",
                offset=place_of(tree),
            )
        return listed, aliases

    def _names(self, tree: exp.Select, expressions: list[exp.Expr], scope: Scope) -> list[str]:
        """Return what DuckDB calls expressions without an alias, by the way they are written."""
        said = [e.meta.get("written", e.sql("duckdb")) for e in expressions]
        key = ", ".join(said)
        if any("taken" in e.meta for e in expressions):
            self.called[key] = known = self.catalog.called.get(key) or self._asked(
                tree, expressions, said, scope
            )
            return list(known)
        return self._asked(tree, expressions, said, scope)

    def _asked(
        self, tree: exp.Select, expressions: list[exp.Expr], said: list[str], scope: Scope
    ) -> list[str]:
        """Return what DuckDB says they are called."""
        trees = [without_parens(e) for e in expressions]
        written = [exp.Var(this=text) for text in said]
        query = exp.select(exp.Star())
        for place, item in enumerate(scope.items):
            columns = [Column(public, known.type) for public, known in item.names]
            nothing = typed_nothing(columns).subquery(exp.to_identifier(item.alias, quoted=True))
            query = query.from_(nothing) if not place else query.join(nothing, join_type="cross")
        group = tree.args.get("group")
        if group is not None and not group.args.get("all"):
            query.set("group", group.copy())
        for listed in (written, trees):
            query.set("expressions", [e.copy() for e in listed])
            found = self.catalog.described(query.sql("duckdb"))
            if found is not None and len(found) == len(expressions):
                return [name for name, _ in found]
        return [e.sql("duckdb") for e in trees]

    def _star(
        self, written: exp.Expr, scope: Scope, aliases: dict[str, exp.Expr]
    ) -> list[tuple[str | None, exp.Expr]]:
        star = written.this if isinstance(written, exp.Column) else written
        pairs = self._starred(written, scope)
        except_ = {node.name.lower() for node in star.args.get("except_") or []}
        replaced = {node.alias.lower(): node.this for node in star.args.get("replace") or []}
        renamed = {node.this.name.lower(): node.alias for node in star.args.get("rename") or []}
        known = {public.lower() for public, _ in pairs}
        for name in (*except_, *replaced, *renamed):
            if name not in known:
                raise BindError(
                    f"* has no column {name}",
                    hint=suggestion(name, [public for public, _ in pairs], "columns"),
                    offset=place_of(written),
                )
        return [
            (
                renamed.get(public.lower(), public),
                resolve(replaced[public.lower()], scope, aliases)
                if public.lower() in replaced
                else found,
            )
            for public, found in pairs
            if public.lower() not in except_
        ]

    def _starred(self, written: exp.Expr, scope: Scope) -> list[tuple[str, exp.Expr]]:
        """Return names and values of `*`, of `item.*`, or of the fields of a struct column.

        Raises:
            BindError: What stands before `.*` is neither.
        """
        parts = written.parts[:-1] if isinstance(written, exp.Column) else []
        names = [part.name for part in parts]
        if not names or (len(names) == 1 and scope.item(names[0]) is not None):
            pairs = scope.star(names[0] if names else None)
            return [(public, column(known.name)) for public, known in pairs]
        alias = names[0]
        if scope.item(alias) is None and scope.find(alias) is None:
            raise BindError(
                f"there is no table or alias {alias} here",
                hint=suggestion(alias, [item.alias for item in scope.items], "there are"),
                offset=place_of(written),
            )
        struct = resolve(reference(parts), scope)
        source = typed_nothing([c for plan in scope.plans for c in plan.columns]).subquery("input")
        only = exp.select(exp.alias_(struct, "struct")).from_(source).subquery("only")
        fields = self.catalog.described(exp.select("struct.*").from_(only).sql("duckdb"))
        if fields is None:
            raise BindError(
                f"{'.'.join(names)} is no struct, which alone has fields for .*",
                offset=place_of(written),
            )
        return [
            (name, exp.Dot(this=struct.copy(), expression=exp.to_identifier(name, quoted=True)))
            for name, _ in fields
        ]

    def no_aggregate(self, tree: exp.Expr, clause: str) -> None:
        """Refuse an aggregate in a clause that has none."""
        for call in aggregate_calls(tree, self.catalog.aggregates):
            raise BindError(
                f"{clause} cannot contain an aggregate",
                hint="put the condition into HAVING",
                offset=place_of(call),
            )

    def conditions(
        self, tree: exp.Expr, scope: Scope, aliases: Mapping[str, exp.Expr] | None = None
    ) -> list[exp.Expr]:
        """Return the conjuncts of ON or WHERE over the columns of the combined relation."""
        conditions: list[exp.Expr] = []
        for conjunct in conjuncts(tree):
            for part in current_time.split(conjunct):
                timed = current_time.mentions(part)
                resolved = resolve(part, scope, aliases, timed=timed)
                conditions += [resolved] if timed else conjuncts(resolved)
        return conditions

    def joined(self, plans: Sequence[Plan], conditions: Sequence[exp.Expr]) -> Plan:
        """Return the inner join of one or more plans under the conditions.

        Comparisons with the current time restrict the lifetimes of the plan that they are about,
        or of the join if they are about several. None is about what stands before it in the text
        and may raise.
        """
        plans = list(plans)
        types = safe_types(plans)
        first = next((n for n, c in enumerate(conditions) if _may_raise(c, types)), None)
        for number, condition in enumerate(conditions):
            if first is not None and number > first and current_time.mentions(condition):
                inner = self.joined(plans, conditions[:number])
                return self.joined([self._during(inner, [condition])], conditions[number + 1 :])
        plain = [c for c in conditions if not current_time.mentions(c)]
        safe = [c for c in conditions[:first] if not current_time.mentions(c)]
        above: list[exp.Expr] = []
        placed: dict[int, list[exp.Expr]] = {}
        for condition in conditions:
            if current_time.mentions(condition):
                owners = [i for i, plan in enumerate(plans) if _reads(condition, plan)]
                if len(owners) > 1:
                    above.append(condition)
                else:
                    placed.setdefault(owners[0] if owners else 0, []).append(condition)
        for place, timed in placed.items():
            others = [p for i, p in enumerate(plans) if i != place]
            own = [c for c in safe if not any(_reads(c, other) for other in others)]
            safe = [c for c in safe if c not in own]
            plain = [c for c in plain if c not in own]
            inner = Filter(plans[place], exp.and_(*own)) if own else plans[place]
            plans[place] = self._during(inner, timed)
        whole = plans[0]
        if len(plans) > 1:
            whole = Join(tuple(plans), tuple(plain))
        elif plain:
            whole = Filter(whole, exp.and_(*plain))
        return self._during(whole, above) if above else whole

    def _during(self, plan: Plan, conditions: list[exp.Expr]) -> Plan:
        """Return a relation's tuples at the instants at which comparisons with τ are true.

        Raises:
            NotIncremental: One of them is no comparison of τ, plus or minus constants.
        """
        clock = self.catalog.clock
        begins: list[exp.Expr] = []
        ends: list[exp.Expr] = []
        for condition in conditions:
            known = current_time.compared(condition, clock)
            if known is None:
                raise NotIncremental(
                    "the current time in an expression", offset=place_of(condition)
                )
            typed = exp.select(
                exp.alias_(known.value.copy(), "value"), exp.alias_(condition.copy(), "condition")
            ).from_(typed_nothing(plan.columns).subquery("input", copy=False), copy=False)
            kind = self.catalog.describe(typed.sql("duckdb"))[0].type
            if not current_time.is_exact(known, kind, clock):
                raise NotIncremental(
                    "the current time in an expression", offset=place_of(condition)
                )
            begin, end = current_time.lifetime(known, kind, clock)
            begins += [begin] if begin is not None else []
            ends += [end] if end is not None else []
            if end is not None and isinstance(known.value, exp.Column):
                plan = current_time.bounded(
                    plan, known.value.name, current_time.reach(known, clock)
                )
        return During(plan, tuple(begins), tuple(ends), tuple(conditions))

    def project(self, plan: Plan, listed: list[tuple[str | None, exp.Expr]]) -> Project:
        """Return the projection to named expressions; without a name, DuckDB gives one."""
        named = [
            expression if name is None else exp.alias_(expression, name, quoted=True)
            for name, expression in listed
        ]
        source = typed_nothing(plan.columns).subquery("input", copy=False)
        inner = exp.select(*named).from_(source, copy=False)
        outer = exp.select("*").from_(inner.subquery("named", copy=False), copy=False)
        try:
            columns = tuple(self.catalog.describe(outer.sql("duckdb")))
        except BindError as error:
            for _, expression in listed:
                alone = exp.select(exp.alias_(expression, "value")).from_(source)
                if self.catalog.described(alone.sql("duckdb")) is None:
                    error.offset = place_of(expression)
                    break
            raise
        values = [
            _typed(expression, known.type)
            for (_, expression), known in zip(listed, columns, strict=True)
        ]
        return Project(plan, tuple(values), columns)

    # -- aggregates ---------------------------------------------------------------------------

    def _aggregate(
        self,
        plan: Plan,
        keys: list[exp.Expr],
        sets: list[list[exp.Expr]],
        listed: list[tuple[str | None, exp.Expr]],
        having: exp.Expr | None,
        values: list[Scalar],
    ) -> Plan:
        """Return the aggregate by one grouping set, HAVING and the SELECT list above it.

        `values` are those of subqueries that are joined to the groups.
        """
        everything = [key for other in sets for key in other]
        work = _Grouping(self, plan, keys, [key for key in everything if key not in keys])
        work.known = {value.name for value in values}
        listed = [(name, work.rewritten(expression)) for name, expression in listed]
        condition = None if having is None else work.rewritten(having)
        grouped: Plan = work.finish()
        if values:
            grouped = Join((grouped, *(value.plan for value in values)))
        if condition is not None:
            grouped = Filter(grouped, condition)
        return self.project(grouped, listed)

    def grouped(
        self, plan: Plan, keys: list[exp.Expr], values: list[exp.Expr]
    ) -> tuple[Aggregate, list[exp.Expr], tuple[AggregateCall, ...]]:
        """Return an aggregate by keys, and values over its columns."""
        work = _Grouping(self, plan, keys, [])
        shown = [work.rewritten(value) for value in values]
        node = work.finish()
        return node, shown, node.calls

    def _union_of(self, plans: list[Plan]) -> Plan:
        """Return the UNION ALL of plans that differ at most in their columns' types."""
        first = plans[0]
        if len(plans) == 1:
            return first
        columns = first.columns
        for other in plans[1:]:
            types = self.catalog.describe(
                exp.union(typed_nothing(columns), typed_nothing(other.columns), distinct=False).sql(
                    "duckdb"
                )
            )
            columns = tuple(
                Column(mine.name, found.type) for mine, found in zip(columns, types, strict=True)
            )
        return UnionAll(tuple(_cast(plan, columns) for plan in plans))

    def _grouping_sets(
        self,
        tree: exp.Select,
        scope: Scope,
        listed: list[tuple[str | None, exp.Expr]],
        aliases: dict[str, exp.Expr],
    ) -> list[list[exp.Expr]]:
        """Return the keys of each grouping set; plain GROUP BY is one set."""
        group = tree.args.get("group")
        if group is None:
            return [[]]
        if group.args.get("all"):
            return [
                [
                    without_parens(e)
                    for _, e in listed
                    if e.find(exp.Column)  # what is one value in all rows makes no groups
                    and next(iter(aggregate_calls(e, self.catalog.aggregates)), None) is None
                ]
            ]
        sets: list[list[exp.Expr]] = [[]]
        for written in group.expressions:
            choices = self._choices(written, tree, scope, listed, aliases)
            sets = [[*known, *choice] for known in sets for choice in choices]
        return [list(dict.fromkeys(keys)) for keys in sets]

    def _choices(
        self,
        written: exp.Expr,
        tree: exp.Select,
        scope: Scope,
        listed: list[tuple[str | None, exp.Expr]],
        aliases: dict[str, exp.Expr],
    ) -> list[list[exp.Expr]]:
        """Return the sets that one item of GROUP BY stands for."""

        def one(item: exp.Expr) -> list[exp.Expr]:
            if isinstance(item, exp.Tuple):
                return [key for part in item.expressions for key in one(part)]
            return [self._key(without_parens(item), tree, scope, listed, aliases)]

        match written:
            case exp.Rollup():
                parts = [one(part) for part in written.expressions]
                return [
                    [key for part in parts[:n] for key in part] for n in range(len(parts), -1, -1)
                ]
            case exp.Cube():
                parts = [one(part) for part in written.expressions]
                return [
                    [key for i, part in enumerate(parts) if chosen >> i & 1 for key in part]
                    for chosen in range(2 ** len(parts))
                ]
            case exp.GroupingSets():
                return [
                    choice
                    for part in written.expressions
                    for choice in self._choices(part, tree, scope, listed, aliases)
                ]
            case _:
                return [one(written)]

    def _key(
        self,
        written: exp.Expr,
        tree: exp.Select,
        scope: Scope,
        listed: list[tuple[str | None, exp.Expr]],
        aliases: dict[str, exp.Expr],
    ) -> exp.Expr:
        if isinstance(written, exp.Literal) and written.is_int:
            place = int(written.name)
            if not 1 <= place <= len(listed):
                raise BindError(f"GROUP BY {place} is out of range", offset=place_of(tree))
            return without_parens(listed[place - 1][1])
        self.no_aggregate(written, "GROUP BY")
        return without_parens(resolve(written, scope, aliases))


class _Grouping:
    """Builds an `Aggregate`: keys and arguments below it, references to its columns above."""

    def __init__(
        self, binder: Binder, plan: Plan, keys: list[exp.Expr], absent: list[exp.Expr]
    ) -> None:
        """Begin with the keys of a grouping set; those that are `absent` from it are NULL."""
        self.absent = absent
        self.binder = binder
        self.plan = plan
        self.types = safe_types([plan])
        self.below: list[tuple[str, exp.Expr]] = []
        self.keys: list[tuple[str, exp.Expr]] = []
        self.calls: list[tuple[str, exp.Expr]] = []
        self.known: set[str] = set()
        for key in keys:
            if all(key != known for _, known in self.keys):
                self.keys.append((self._below(key, f"key{len(self.keys)}"), key))

    def _below(self, expression: exp.Expr, name: str) -> str:
        if isinstance(expression, exp.Column):
            name = expression.name
        for known, same in self.below:
            if same == expression:
                return known
        self.below.append((name, expression.copy()))
        return name

    def rewritten(self, tree: exp.Expr) -> exp.Expr:
        """Return an expression over the aggregate's columns."""
        tree = exp.paren(tree.copy())
        self._visit(tree)
        inner = tree.this
        for node in inner.find_all(exp.Column):
            made = {n for n, _ in self.keys} | {n for n, _ in self.calls} | self.known
            if node.name not in made:
                public = node.name.split(".", 1)[-1]
                raise BindError(
                    f"{public} is neither a key of GROUP BY nor inside an aggregate",
                    hint=f"add {public} to GROUP BY, or write GROUP BY ALL",
                )
        return inner  # type: ignore[no-any-return]  # sqlglot's args are untyped

    def _visit(self, node: exp.Expr) -> None:
        for child in list(node.iter_expressions()):
            replacement = self._replacement(child)
            if replacement is None:
                self._visit(child)
            else:
                child.replace(replacement)

    def _replacement(self, node: exp.Expr) -> exp.Expr | None:
        for name, key in self.keys:
            if without_parens(node) == key:
                return column(name)
        if isinstance(node, (exp.Grouping, exp.GroupingId)) or (
            isinstance(node, exp.Anonymous) and node.name.lower() in ("grouping", "grouping_id")
        ):
            bits = [int(without_parens(e) in self.absent) for e in node.expressions]
            value = sum(bit << place for place, bit in enumerate(reversed(bits)))
            return cast(exp.Literal.number(value), "BIGINT")
        if without_parens(node) in self.absent:
            nothing = exp.select(exp.alias_(node.copy(), "value")).from_(
                typed_nothing(self.plan.columns).subquery("input")
            )
            (found,) = self.binder.catalog.describe(nothing.sql("duckdb"))
            return typed_null(found.type)
        if next(iter(aggregate_calls(node, self.binder.catalog.aggregates)), None) is node:
            inner = aggregate_core(node)
            for child in inner.iter_expressions():
                self.binder.no_aggregate(child, "an aggregate")
            for name, known in self.calls:
                if known == node:
                    return column(name)
            name = f"{function_name(inner)}{len(self.calls)}"  # type: ignore[arg-type]
            self.calls.append((name, node.copy()))
            return column(name)
        return None

    def finish(self) -> Aggregate:
        """Return the aggregate over the projection to keys and arguments."""
        prepared = [(name, *self._prepared(call)) for name, call in self.calls]
        calls = []
        shown = [(n, e) for n, e in self.below]
        if not shown:
            shown = [("one", exp.Literal.number(1))]
        typed = self.binder.project(self.plan, [(n, e) for n, e in shown])
        types = {c.name: c.type for c in typed.columns}
        for name, function, call, argument in prepared:
            inner = exp.select(exp.alias_(call, "value", quoted=True)).from_(
                typed_nothing(typed.columns).subquery("input", copy=False), copy=False
            )
            (found,) = self.binder.catalog.describe(inner.sql("duckdb"))
            calls.append(
                AggregateCall(
                    name,
                    function,  # type: ignore[arg-type]  # one of the words of the node
                    call,
                    argument,
                    found.type,
                    self._argument_type(call, typed) if argument is None else types[argument],
                    _is_blind(call),
                )
            )
        keys = tuple(name for name, _ in self.keys)
        return Aggregate(typed, keys, tuple(calls), everything=not keys)

    def _argument_type(self, call: exp.Expr, typed: Plan) -> str | None:
        """Return the type of an aggregate's argument; of several, one whose values may vary."""
        values = [
            value
            for value in aggregate_core(call).iter_expressions()
            if not isinstance(value, (exp.Star, exp.Literal, exp.Distinct))
        ]
        if not values:
            return None
        core = aggregate_core(call)
        if isinstance(core, exp.Func) and function_name(core) in MERGING:
            del values[1:]
        listed = [exp.alias_(value.copy(), f"c{n}") for n, value in enumerate(values)]
        query = exp.select(*listed).from_(
            typed_nothing(typed.columns).subquery("input", copy=False), copy=False
        )
        found = self.binder.catalog.described(query.sql("duckdb")) or []
        kinds = [kind for _, kind in found]
        return next(filter(may_vary, kinds), kinds[0] if kinds else None)

    def _prepared(self, call: exp.Expr) -> tuple[str, exp.Expr, str | None]:
        """Return the rule, the call over the columns below, and its argument's column."""
        function = function_of(call)
        core = aggregate_core(call)
        condition = call.expression.this if isinstance(call, exp.Filter) else None
        distinct = isinstance(core, (exp.Count, exp.Sum, exp.Avg)) and isinstance(
            core.this, exp.Distinct
        )
        if condition is not None:
            condition = guards.ordered(condition, self.types)
        if function == "other" and not distinct:
            copy = guards.filtered(call, self.types)
            for node in list(copy.find_all(exp.Column)):
                self._below(column(node.name), node.name)
            return function, copy, None
        argument = core.this
        if argument is None or isinstance(argument, exp.Star):
            if condition is None:
                return "count", exp.Count(this=exp.Star()), None
            argument = exp.Literal.number(1)
        if isinstance(argument, exp.Distinct):
            if not argument.expressions:
                raise BindError(
                    "DISTINCT has no value to tell apart",
                    hint="name one, as in count(DISTINCT a)",
                    offset=place_of(core),
                )
            (argument,) = argument.expressions
            if isinstance(argument, exp.Star):
                raise BindError(
                    "DISTINCT * is used as a value",
                    hint="name the columns, as in count(DISTINCT (a, b))",
                    offset=place_of(core),
                )
        if condition is not None:
            argument = exp.Case().when(condition.copy(), argument.copy())
        name = self._below(argument, f"argument{len(self.below)}")
        if distinct:
            only = exp.Distinct(expressions=[column(name)])
            return function, type(core)(this=only), name
        made = {"count": exp.Count, "sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max}
        return function, made[function](this=column(name)), name


def _found(items: Sequence[Item], name: str) -> list[Column]:
    return [known for item in items if (known := item.find(name)) is not None]


def _kind_of(join: exp.Join) -> str:
    """Return ',', '' for an inner join, 'LEFT', 'RIGHT', 'FULL', 'SEMI' or 'ANTI'.

    Raises:
        NotIncremental: Another kind of join.
    """
    method, side, kind = (str(join.args.get(part) or "") for part in ("method", "side", "kind"))
    words = " ".join(word.upper() for word in (method, side, kind) if word)
    if method not in ("", "NATURAL"):
        raise NotIncremental(f"{words} JOIN", offset=place_of(join.this))
    kind = " ".join(word.upper() for word in (side, kind) if word).removesuffix(" OUTER")
    if kind in ("LEFT", "RIGHT", "FULL", "SEMI", "ANTI"):
        return kind
    if kind not in ("", "INNER", "CROSS"):
        raise NotIncremental(f"{words} JOIN", offset=place_of(join.this))
    conditions = [join.args.get(part) for part in ("method", "kind", "on", "using")]
    return "" if any(conditions) else ","


def _is_blind(call: exp.Expr) -> bool:
    core = aggregate_core(call)
    return isinstance(core.this, exp.Distinct) or (
        isinstance(core, exp.Func) and function_name(core) in BLIND_TO_COUNT
    )


def _may_raise(condition: exp.Expr, types: Mapping[str, str]) -> bool:
    """Return whether a condition may raise, or what it compares the current time with."""
    if not current_time.mentions(condition):
        return can_raise(condition, types)
    sides = [side for side in condition.iter_expressions() if not current_time.mentions(side)]
    return any(can_raise(side, types) for side in sides)


def _reads(expression: exp.Expr, plan: Plan) -> bool:
    """Return whether an expression reads a column of a plan."""
    names = {c.name for c in plan.columns}
    return any(node.name in names for node in expression.find_all(exp.Column))


def _sampled(
    stream: StreamScan | ToStream, sample: SampleSyntax | None, seed: str
) -> StreamScan | ToStream | Sample:
    if sample is None or sample.percent == 100:
        return stream
    return Sample(stream, sample.percent, seed.lower())


def _rename(plan: Plan, columns: tuple[Column, ...]) -> Plan:
    if plan.columns == columns:
        return plan
    beside = {c.name.lower() for c in plan.columns}.intersection((*RESERVED, *STORED))
    if beside and isinstance(plan, Project):
        # delta rules put columns of these names beside those of an operator
        return Project(plan.input, plan.expressions, columns)
    if beside.intersection(RESERVED):
        raise reserved(min(beside.intersection(RESERVED)))
    return Project(plan, tuple(column(c.name) for c in plan.columns), columns)


def _typed(value: exp.Expr, type_name: str) -> exp.Expr:
    """Return what a SELECT list shows so that it has its type wherever it is substituted.

    A constant takes on the type of what it stands beside: `t + 100` of a TINYINT is a TINYINT, of a
    column that is 100 it is an INTEGER.
    """
    bare = without_parens(value)
    constant = bare.this if isinstance(bare, exp.Neg) else bare
    return cast(bare, type_name) if isinstance(constant, exp.Literal) else value


def _cast(plan: Plan, columns: tuple[Column, ...]) -> Plan:
    expressions: list[exp.Expr] = []
    for mine, wanted in zip(plan.columns, columns, strict=True):
        same = mine.type == wanted.type
        read = column(mine.name)
        expressions.append(read if same else cast(read, wanted.type))
    if plan.columns == columns:
        return plan
    return Project(plan, tuple(expressions), columns)
