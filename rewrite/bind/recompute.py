"""Binding of SQL without a law: the smallest enclosing query becomes a `Recompute`.

Each item of its FROM that can be bound by itself is an input, so a subquery there keeps its own
laws; so is each stream, relation or query that subqueries in its expressions read. The rest is
plain SQL over these inputs, which DuckDB evaluates. `bodies.ties` decides what SQL leaves open,
`bodies.lateral` whether one statement can serve all instants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from cqlduck.errors import BindError, Error, NotSupportedError
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.bodies.canonical import show_canonical
from cqlduck.rewrite.bind.bodies.equalities import preserve_sides
from cqlduck.rewrite.bind.bodies.guarded import guard_conditions
from cqlduck.rewrite.bind.bodies.lateral import why_alone
from cqlduck.rewrite.bind.bodies.postponed import postpone_shown
from cqlduck.rewrite.bind.bodies.ties import aggregates_of, break_ties, from_items
from cqlduck.rewrite.bind.context import Context, Ctes, with_ctes
from cqlduck.rewrite.bind.from_clause import CONSTANT_FUNCTIONS, bind_item
from cqlduck.rewrite.bind.scope import Item, Scope, refuse_always
from cqlduck.rewrite.bind.windows import sample_of, window_of
from cqlduck.rewrite.plan import INPUT, Column, Plan, Project, Recompute, fill_inputs
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.not_incremental import NothingRead
from cqlduck.rewrite.relalg.builders import column, typed_null
from cqlduck.rewrite.relalg.elements import TS, parameter, qualified
from cqlduck.rewrite.text.parsed import (
    MARK,
    function_name,
    has_operator,
    is_now,
    place_of,
    unwrapped,
)
from cqlduck.rewrite.text.spelling import suggestion

_RENAMING = (exp.Order, exp.Having, exp.Group, exp.Qualify, exp.Lambda, exp.Comprehension)
"""Where a name may be an alias of the SELECT list, or a variable."""


def _defines(node: exp.Expr, table: exp.Table) -> bool:
    """Return whether a name in a subquery is that of a CTE in the subquery."""
    around = table.parent
    while around is not None:
        clause = around.args.get("with_")
        for cte in clause.expressions if clause is not None else ():
            if cte.alias.lower() == table.name.lower():
                return True
        if around is node:
            break
        around = around.parent
    return False


def recompute(context: Context, tree: exp.Query, ctes: Ctes, reason: str) -> Plan:
    """Return the plan of a query without a delta rule.

    Raises:
        NothingRead: The query has constants alone.
    """
    body = tree.copy()
    refuse_always(body, context.catalog.volatile)
    _refuse_clauses(body)
    build = _Build(context, ctes, reason)
    clause = body.args.get("with_")
    if isinstance(body, exp.SetOperation) and clause is None:
        build.sides(body)
    else:
        build.whole(body)
    return build.finish(body)


class _Build:
    """Collects the inputs of a `Recompute` while their places in the query are taken."""

    def __init__(self, context: Context, ctes: Ctes, reason: str) -> None:
        self.context = context
        self.ctes = ctes
        self.reason = reason
        self.inputs: list[Plan] = []
        self.names: list[tuple[str, ...]] = []

    # -- inputs ------------------------------------------------------------------------------------

    def sides(self, body: exp.SetOperation) -> None:
        """Make each side of a set operation an input."""
        for side in ("this", "expression"):
            if not any(True for _ in body.args[side].find_all(exp.Table)):
                continue
            try:
                plan = self.context.relation(body.args[side], self.ctes, body)
            except NothingRead:
                self.whole(body.args[side])
                continue
            item = Item("side", plan, tuple((c.name, c) for c in plan.columns))
            body.set(side, exp.select("*").from_(self._leg(item)))

    def whole(self, body: exp.Query) -> None:
        """Make the items of FROM inputs, and all that the expressions' subqueries read."""
        clause = body.args.get("with_")
        if clause is not None and not clause.args.get("recursive"):
            self.ctes = with_ctes(body, self.ctes)
            body.set("with_", None)
        own = {cte.alias.lower() for cte in body.find_all(exp.CTE)}
        if isinstance(body, exp.Select):
            for node, _ in from_items(body):
                if not self._is_shown_late(body, node):
                    self._take(node, own)
        for node in list(body.find_all(exp.Subquery)):
            if isinstance(node.parent, (exp.From, exp.Join)) and self._needs_binding(node):
                if not self._stands_alone(node, own):
                    raise NotSupportedError(
                        "a window or an operator over a recursive CTE is not supported",
                        hint="make the recursive query one of its own, and read that",
                        offset=place_of(node),
                    )
                self._take(node, own)
        # a CTE that reads nothing is put in the place of its name, with what it reads in turn
        while tables := [t for t in body.find_all(exp.Table) if not self._is_done(t, own)]:
            for table in tables:
                self._take(table, own)
        self._show_instants(body)
        _refuse_operators(body)

    def _is_done(self, table: exp.Table, own: set[str]) -> bool:
        if not isinstance(table.this, exp.Identifier):
            return table.this.sql("duckdb").split("(")[0].lower() in CONSTANT_FUNCTIONS
        return table.name.startswith(INPUT) or (
            not table.args.get("db") and table.name.lower() in own
        )

    def _take(self, node: exp.Expr, own: set[str]) -> None:
        """Put an input in the place of an item of FROM, if it can be bound by itself."""
        if not self._stands_alone(node, own):
            return
        scope = Scope(volatile=self.context.catalog.volatile)
        single = node.copy()
        for part in ("joins", "pivots"):
            if isinstance(single, exp.Table) or part == "pivots":
                single.set(part, None)
        try:
            bind_item(self.context, single, scope, self.ctes)
        except NothingRead:
            if isinstance(node, exp.Table):
                self._put_constants(node)
            return
        except (BindError, NotSupportedError):
            if isinstance(node, exp.Subquery) and not self._needs_binding(node):
                return
            raise
        leg = self._leg(scope.items[0])
        for part in ("joins", "pivots"):
            leg.set(part, node.args.get(part))
        node.replace(leg)

    def _stands_alone(self, node: exp.Expr, own: set[str]) -> bool:
        """Return whether an item of FROM does not need what is around it."""
        if isinstance(node, exp.Table):
            return not self._is_done(node, own)
        if not isinstance(node, exp.Subquery):
            return False
        for table in node.find_all(exp.Table):
            if table.name.lower() in own and not _defines(node, table):
                return False
        return not isinstance(node.this, exp.Table) or bool(node.alias)

    def _is_shown_late(self, body: exp.Select, node: exp.Expr) -> bool:
        """Return whether a subquery stays in the text, so that its expressions are evaluated above.

        That is what may raise and WHERE around it guards; what decides ties reads all of it anyway.
        """
        query = unwrapped(node.this) if isinstance(node, exp.Subquery) else None
        if not isinstance(query, exp.Select) or self._needs_binding(node):  # type: ignore[arg-type]
            return False
        if not set(_clauses(query)) <= {"expressions", "from_"} or len(from_items(query)) != 1:
            return False
        if not set(_clauses(body)) <= {"expressions", "from_", "where"} or body.find(exp.Window):
            return False
        shown = [e.unalias() for e in query.expressions]
        return (
            body.args.get("where") is not None
            and not any(
                e.is_star or e.find(exp.Query, exp.Window, exp.Unnest, exp.Columns) for e in shown
            )
            and not all(isinstance(e, (exp.Column, exp.Literal)) for e in shown)
            and not any(
                True for e in shown for _ in aggregate_calls(e, self.context.catalog.aggregates)
            )
        )

    def _put_constants(self, table: exp.Table) -> None:
        """Put the query of a CTE that reads nothing in the place of its name."""
        cte = self.ctes[table.name.lower()]
        inner = exp.Subquery(this=cte.tree.copy())
        alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
        inner.set("alias", alias.copy())
        inner.set("joins", table.args.get("joins"))
        table.replace(inner)

    def _needs_binding(self, node: exp.Subquery) -> bool:
        """Return whether a subquery in FROM is CQL: it has a window, sample or operator."""
        if window_of(self.context, node) is not None or sample_of(self.context, node) is not None:
            return True
        select = unwrapped(node.this)
        return isinstance(select, exp.Select) and has_operator(select)

    def _leg(self, item: Item) -> exp.Table:
        columns = tuple(known for _, known in item.names)
        plan = item.plan
        if columns != plan.columns:
            plan = Project(plan, tuple(column(c.name) for c in columns), columns)
        place = len(self.inputs)
        self.inputs.append(plan)
        self.names.append(
            tuple(_instant(place) if name == "_ts" else name for name, _ in item.names)
        )
        return exp.Table(
            this=exp.to_identifier(f"{INPUT}{place}"),
            alias=exp.TableAlias(this=exp.to_identifier(item.alias, quoted=True)),
        )

    # -- the instants of streams -------------------------------------------------------------------

    def _show_instants(self, body: exp.Query) -> None:
        """Let `_ts` mean the timestamps of an input, which are no part of `*`."""
        if not any(_instant(place) in names for place, names in enumerate(self.names)):
            return
        for node in list(body.find_all(exp.Column)):
            if node.name.lower() == "_ts":
                self._show_instant(node)
        for star in list(body.find_all(exp.Star)):
            around = star.find_ancestor(exp.Select)
            if around is None or isinstance(star.parent, exp.Count):
                continue
            alias = star.parent.table.lower() if isinstance(star.parent, exp.Column) else ""
            hidden = [name for item, name in self._instants_in(around) if alias in ("", item)]
            if hidden:
                left_out = [*(star.args.get("except_") or []), *map(exp.to_identifier, hidden)]
                star.set("except_", left_out)

    def _instants_in(self, select: exp.Select) -> list[tuple[str, str]]:
        """Return alias and name of the instants that a FROM clause has."""
        found = []
        for item, _ in from_items(select):
            place = _place(item)
            if place is not None and _instant(place) in self.names[place]:
                found.append((item.alias.lower(), _instant(place)))
        return found

    def _show_instant(self, node: exp.Column) -> None:
        select = node.find_ancestor(exp.Select)
        while select is not None:
            found = [
                (alias, name)
                for alias, name in self._instants_in(select)
                if node.table.lower() in ("", alias)
            ]
            if len(found) > 1:
                choices = " or ".join(f"{alias}._ts" for alias, _ in found)
                raise BindError(
                    "the column name _ts is ambiguous",
                    hint=f"write {choices}",
                    offset=place_of(node),
                )
            if found:
                ((alias, name),) = found
                shown: exp.Expr = exp.column(
                    exp.to_identifier(name), table=exp.to_identifier(alias, quoted=True)
                )
                if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
                    shown = exp.alias_(shown, "_ts")
                node.replace(shown)
                return
            select = select.find_ancestor(exp.Select)

    # -- what `ties` asks --------------------------------------------------------------------------

    def columns_of(self, item: exp.Expr) -> Sequence[Column] | None:
        """Return the columns of an item that is an input, or None."""
        place = _place(item)
        if place is None or item.args.get("pivots"):
            return None
        columns = zip(self.names[place], self.inputs[place].columns, strict=True)
        return [Column(name, c.type) for name, c in columns if name != _instant(place)]

    def types_in(self, select: exp.Select, listed: list[exp.Expr]) -> Sequence[str] | None:
        """Return the types of expressions over a SELECT's FROM clause, or None if unknown."""
        if select.args.get("from_") is None:
            return None
        around = exp.select(*[exp.alias_(e.copy(), f"c{n}") for n, e in enumerate(listed)])
        around.set("from_", select.args["from_"].copy())
        around.set("joins", [join.copy() for join in select.args.get("joins") or []])
        found = self.described(around)
        return None if found is None else [kind for _, kind in found]

    def width(self, query: exp.Query) -> int | None:
        """Return how many columns a query has, or None if it cannot be asked by itself."""
        found = self.described(query)
        return None if found is None else len(found)

    def described(self, query: exp.Query) -> Sequence[tuple[str, str]] | None:
        """Return names and types of a query's columns, or None if it cannot be asked by itself."""
        return self.context.catalog.described(fill_inputs(query, self._nothing).sql("duckdb"))

    def _nothing(self, place: int) -> exp.Select:
        """Return a SELECT without rows that has the columns of an input."""
        columns = zip(self.names[place], self.inputs[place].columns, strict=True)
        return _nothing(tuple(Column(name, c.type) for name, c in columns))

    # -- the node ----------------------------------------------------------------------------------

    def finish(self, body: exp.Query) -> Recompute:
        """Return the node, with the columns that DuckDB finds.

        Raises:
            NothingRead: There is no input.
        """
        if not self.inputs:
            raise NothingRead(
                "the query reads nothing",
                hint="a continuous query selects FROM a stream or relation",
                offset=place_of(body),
            )
        aggregates = self.context.catalog.aggregates
        columns = self._columns(body)
        grows = only_grows(body, aggregates)
        timed = current_time.mentions(body)
        turns, always = self._changes(body) if timed else ([], False)
        break_ties(body, self, aggregates)
        body = show_canonical(body, self, aggregates)
        postpone_shown(body, self, aggregates, {place for place, _ in turns})
        guard_conditions(body, self, aggregates)
        preserve_sides(body, self)
        self._columns(body)
        read = [c for plan in self.inputs for c in plan.columns]
        alone = why_alone(body, aggregates, [*read, *columns]) or self._why_not_lateral(body)
        if timed:
            instant = parameter("at") if alone else qualified("_cql_instants", TS)
            at_instant = current_time.at(body, self.context.catalog.clock, instant)
            assert isinstance(at_instant, exp.Query)
            body, grows = at_instant, False
        return Recompute(
            tuple(self.inputs),
            tuple(self.names),
            body,
            columns,
            self.reason,
            grows,
            tuple(turns),
            always,
            alone,
        )

    def _changes(self, body: exp.Query) -> tuple[list[tuple[int, exp.Expr]], bool]:
        """Return when a query that depends on τ may change of itself, and whether always.

        Raises:
            NotSupportedError: That would be at every microsecond.
        """
        clock, aggregates = self.context.catalog.clock, self.context.catalog.aggregates
        for select in body.find_all(exp.Select):
            for call in aggregates_of(select, self, aggregates):
                around = call.parent if isinstance(call.parent, exp.Filter) else call
                parts = [*around.iter_expressions()] if around is not call else [call]
                if any(current_time.mentions(p) and p.find(exp.Column) is None for p in parts):
                    raise NotSupportedError(
                        "an aggregate of the current time alone is not supported",
                        hint="aggregate an expression with a column, such as now() - t",
                        offset=place_of(call),
                    )
        turns: list[tuple[int, exp.Expr]] | None = []
        for node in [node for node in body.walk() if is_now(node)]:
            found = self._turns(body, node)
            turns = None if turns is None or found is None else turns + found
        if turns is None and clock.kind == "wall" and clock.granularity == 1:
            raise NotSupportedError(
                "the current time stands where the answer would change at every microsecond",
                hint="compare it with a column in WHERE, or connect with a granularity such as "
                "'1 second'",
            )
        return turns or [], turns is None

    def _turns(self, body: exp.Query, node: exp.Expr) -> list[tuple[int, exp.Expr]] | None:
        """Return when the comparison around a mention of τ turns, or None if that is not known."""
        clock, describe = self.context.catalog.clock, self.context.catalog.described
        around = node.find_ancestor(exp.Between, *current_time.COMPARISONS)
        if around is None or around.find_ancestor(*_RENAMING) is not None:
            return None
        turns: list[tuple[int, exp.Expr]] = []
        for part in current_time.split(around):
            known = current_time.compared(part, clock) if current_time.mentions(part) else None
            if known is None:
                if current_time.mentions(part):
                    return None
                continue
            place = self._leg_of(body, known.value)
            if place is None:
                return None
            plan, names = self.inputs[place], self.names[place]
            inner = {n.lower(): c for n, c in zip(names, plan.columns, strict=True)}
            value = known.value.copy()
            for read in list(value.find_all(exp.Column)):
                mine = column(inner[read.name.lower()].name)
                if read is value:
                    value = mine
                else:
                    read.replace(mine)
            typed = exp.select(value.copy()).from_(_nothing(plan.columns).subquery("leg"))
            types = describe(typed.sql("duckdb"))
            if not types or not current_time.is_exact(known, types[0][1], clock):
                return None
            known = replace(known, value=value)
            for turn in current_time.turns(known, types[0][1], clock):
                turns.append((place, exp.Anonymous(this="try", expressions=[turn])))
        return turns

    def _leg_of(self, body: exp.Query, value: exp.Expr) -> int | None:
        """Return the one input that all columns of an expression come from, or None."""
        if value.find(exp.Query) is not None:
            return None
        legs = [t for t in body.find_all(exp.Table) if t.name.startswith(INPUT)]
        others = [
            item
            for item in body.find_all(exp.Table, exp.Subquery, exp.Values, exp.Unnest, exp.Lateral)
            if isinstance(item.parent, (exp.From, exp.Join)) and item not in legs
        ]
        places: set[int] = set()
        for read in value.find_all(exp.Column):
            alias = read.table.lower()
            if len(read.parts) > 2 or (not alias and others):
                return None
            if alias and any((item.alias or item.name).lower() == alias for item in others):
                return None
            found = {
                int(leg.name.removeprefix(INPUT))
                for leg in legs
                if (not alias or (leg.alias or leg.name).lower() == alias)
                and read.name.lower()
                in (n.lower() for n in self.names[int(leg.name.removeprefix(INPUT))])
            }
            if len(found) != 1:
                return None
            places |= found
        return places.pop() if len(places) == 1 else None

    def _columns(self, body: exp.Query) -> tuple[Column, ...]:
        """Return the columns of the query; a name that stands for something around it is told."""
        typed = fill_inputs(body, self._nothing)
        sql = exp.select("*").from_(typed.subquery("named")).sql("duckdb")
        if self.context.catalog.described(sql) is None:
            # asking for the error would end the transaction, and what is around may help
            missing = self._missing(body)
            if missing is not None:
                name = missing.parts[0].name
                known = dict.fromkeys(known for names in self.names for known in names)
                unknown = BindError(
                    f"there is no column, table or alias {name} here",
                    hint=suggestion(name, known, "columns"),
                    offset=place_of(missing),
                )
                unknown.missing = name
                raise unknown
        return tuple(self.context.catalog.describe(sql))

    def _missing(self, body: exp.Query) -> exp.Column | None:
        """Return the first column that no FROM clause of the query has, or None."""
        for node in body.find_all(exp.Column):
            select = node.find_ancestor(exp.Select)
            known = node.find_ancestor(exp.Lambda, exp.Comprehension) is not None
            while select is not None and not known:
                known = self._may_have(select, node)
                select = select.find_ancestor(exp.Select)
            if not known and not isinstance(node.this, exp.Star):
                return node
        return None

    def _may_have(self, select: exp.Select, node: exp.Column) -> bool:
        name = node.parts[0].name.lower()
        for item, _ in from_items(select):
            columns = self.columns_of(item)
            alias = item.alias or item.name
            if alias.lower() == name:
                return True
            if columns is None or name in {c.name.lower() for c in columns}:
                return True
            if item.args.get("pivots"):
                return True
        return any(listed.alias.lower() == name for listed in select.expressions if listed.alias)

    def _why_not_lateral(self, body: exp.Query) -> str | None:
        """Ask DuckDB whether it takes the query in a LATERAL."""

        def leg(place: int) -> exp.Select:
            same = exp.EQ(this=exp.column("at", "leg"), expression=exp.column("at", "instants"))
            columns = self._nothing(place).select(exp.alias_(exp.Literal.number(1), "at"))
            names = [column(name) for name in self.names[place]]
            return exp.select(*names).from_(columns.subquery("leg")).where(same)

        inside = exp.Lateral(this=exp.Subquery(this=fill_inputs(body, leg)))
        inside.set("alias", exp.TableAlias(this=exp.to_identifier("again")))
        instants = exp.select(exp.alias_(exp.Literal.number(0), "at")).subquery("instants")
        asked = exp.select("again.*").from_(instants).join(inside, join_type="cross")
        found = self.context.catalog.described(asked.sql("duckdb"))
        return None if found is not None else "what DuckDB takes outside of a LATERAL alone"


def _nothing(columns: tuple[Column, ...]) -> exp.Select:
    """Return a SELECT of no rows with these columns."""
    listed = [exp.alias_(typed_null(c.type), c.name, quoted=True) for c in columns]
    return exp.select(*listed).where(exp.false())


def _clauses(query: exp.Expr) -> list[str]:
    return [key for key, value in query.args.items() if value]


def _instant(place: int) -> str:
    """Return what the timestamps of an input are called inside the query."""
    return f"_cql_ts{place}"


def _place(item: exp.Expr) -> int | None:
    """Return the number of the input that an item of FROM is, or None."""
    if isinstance(item, exp.Table) and item.name.startswith(INPUT):
        return int(item.name.removeprefix(INPUT))
    return None


def _refuse_clauses(body: exp.Query) -> None:
    """Refuse what has no meaning over bags, or whose columns depend on the data."""
    message = None
    for node in body.walk():
        words = {str(node.args.get(part)).upper() for part in ("method", "side", "kind")}
        if isinstance(node, exp.Join) and "POSITIONAL" in words:
            message = "POSITIONAL JOIN"
        elif isinstance(node, exp.Join) and "ASOF" in words and words & {"RIGHT", "FULL"}:
            # DuckDB 2.0 waits for ever on some of these, and ties of the right side stay open
            message = "ASOF RIGHT and FULL JOIN"
        elif isinstance(node, exp.Join) and "ASOF" in words and words & {"SEMI", "ANTI"}:
            node.set("method", None)  # whether there is a nearest one is whether there is any
        elif isinstance(node, exp.Pivot) and _finds_columns(node):
            message = "PIVOT without the values that become columns"
        elif isinstance(node, exp.TableSample) or node.args.get("sample"):
            message = "SAMPLE"
        if message is not None:
            raise NotSupportedError(
                f"{message} is not supported",
                hint="see the table of limits for what to write instead",
                offset=place_of(node) or place_of(body),
            )


def _finds_columns(node: exp.Pivot) -> bool:
    """Return whether the columns that a PIVOT makes are looked for in the data."""
    if node.args.get("unpivot"):
        return False
    fields = [*(node.args.get("fields") or []), *(node.expressions if node.this else [])]
    return any(
        not isinstance(field, exp.In) or not field.expressions or field.find(exp.Query)
        for field in fields
    )


def _refuse_operators(body: exp.Query) -> None:
    for literal in body.find_all(exp.Literal):
        if literal.is_string and literal.name.startswith(MARK):
            word = literal.name.removeprefix(MARK).capitalize()
            raise NotSupportedError(
                f"{word} cannot stand in a subquery of an expression",
                hint="put the subquery into FROM",
            )


def only_grows(body: exp.Query, aggregates: frozenset[str]) -> bool:
    """Return whether a query's result can only grow if what it reads does, by its form.

    Projection, WHERE, inner joins, DISTINCT, UNION, IN and EXISTS; nothing that counts, orders,
    negates or leaves rows without a partner.
    """
    for node in body.walk():
        if isinstance(
            node, (exp.Group, exp.Having, exp.Limit, exp.Offset, exp.Qualify, exp.Window)
        ):
            return False
        if isinstance(node, (exp.Lateral, exp.Except, exp.Intersect, exp.Unnest, exp.Columns)):
            return False
        if isinstance(node, exp.Pivot) or (
            isinstance(node, exp.With) and node.args.get("recursive")
        ):
            return False
        if isinstance(node, exp.Distinct) and node.args.get("on"):
            return False
        if isinstance(node, exp.Join):
            words = {str(node.args.get(part) or "") for part in ("method", "side", "kind")}
            if words - {"", "INNER", "CROSS", "NATURAL", "SEMI"}:
                return False
        if isinstance(node, exp.Func) and function_name(node) in aggregates:
            return False
        if isinstance(node, exp.Query) and node is not body and not _may_grow(node):
            return False
    return True


def _may_grow(query: exp.Query) -> bool:
    """Return whether a subquery stands in FROM, in a UNION, or in IN or EXISTS without NOT."""
    around = query.parent
    while isinstance(around, (exp.Subquery, exp.Paren)):
        query, around = around, around.parent  # type: ignore[assignment]
    if isinstance(around, (exp.Union, exp.From, exp.Join, exp.CTE)):
        return True
    if not isinstance(around, (exp.In, exp.Exists)):
        return False
    above = around.parent
    while isinstance(above, (exp.Paren, exp.And, exp.Or)):
        above = above.parent
    return isinstance(above, exp.Where)


__all__ = ["Error", "recompute"]
