"""GROUP BY: grouping sets, aggregates, and the expressions above them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.conditions import no_aggregate, safe_types
from cqlduck.rewrite.bind.context import Scalar
from cqlduck.rewrite.bind.projection import cast_to, project, union_types
from cqlduck.rewrite.bind.scope import Scope, is_local, resolve
from cqlduck.rewrite.bind.semijoin import Partners
from cqlduck.rewrite.plan import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    Plan,
    UnionAll,
    guards,
)
from cqlduck.rewrite.plan.aggregates import (
    BLIND_TO_COUNT,
    MERGING,
    aggregate_calls,
    aggregate_core,
    function_of,
)
from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.relalg.builders import cast, column, over_nothing, typed_null
from cqlduck.rewrite.relalg.values import may_vary, struct_of
from cqlduck.rewrite.text.parsed import function_name, place_of


def grouping_sets(
    catalog: Catalog,
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
                and next(iter(aggregate_calls(e, catalog.aggregates)), None) is None
            ]
        ]

    def key(written: exp.Expr) -> exp.Expr:
        if isinstance(written, exp.Literal) and written.is_int:
            place = int(written.name)
            if not 1 <= place <= len(listed):
                raise BindError(f"GROUP BY {place} is out of range", offset=place_of(tree))
            return without_parens(listed[place - 1][1])
        no_aggregate(catalog, written, "GROUP BY")
        return without_parens(resolve(written, scope, aliases))

    def keys(item: exp.Expr) -> list[exp.Expr]:
        if isinstance(item, exp.Tuple):
            return [found for part in item.expressions for found in keys(part)]
        return [key(without_parens(item))]

    sets: list[list[exp.Expr]] = [[]]
    for written in group.expressions:
        sets = [[*known, *choice] for known in sets for choice in _choices(written, keys)]
    return [list(dict.fromkeys(one)) for one in sets]


def _choices(written: exp.Expr, keys: Callable[[exp.Expr], list[exp.Expr]]) -> list[list[exp.Expr]]:
    """Return the sets that one item of GROUP BY stands for."""
    match written:
        case exp.Rollup():
            parts = [keys(part) for part in written.expressions]
            return [[key for part in parts[:n] for key in part] for n in range(len(parts), -1, -1)]
        case exp.Cube():
            parts = [keys(part) for part in written.expressions]
            return [
                [key for i, part in enumerate(parts) if chosen >> i & 1 for key in part]
                for chosen in range(2 ** len(parts))
            ]
        case exp.GroupingSets():
            return [choice for part in written.expressions for choice in _choices(part, keys)]
        case _:
            return [keys(written)]


def aggregate(
    catalog: Catalog,
    plan: Plan,
    keys: list[exp.Expr],
    sets: list[list[exp.Expr]],
    listed: list[tuple[str | None, exp.Expr]],
    having: exp.Expr | None,
    values: list[Scalar],
    partners: Partners,
) -> Plan:
    """Return the aggregate by one grouping set, HAVING and the SELECT list above it.

    `values` are those of subqueries that are joined to the groups, or ask `partners` for a mark.
    """
    everything = [key for other in sets for key in other]
    work = _Grouping(catalog, plan, keys, [key for key in everything if key not in keys])
    work.known = {c.name for value in values for c in value.plan.columns}
    work.known |= {value.mark for value in values}
    listed = [(name, work.rewritten(expression)) for name, expression in listed]
    condition = None if having is None else work.rewritten(having)
    links = {value.mark: list(map(work.rewritten, value.links)) for value in values}
    grouped: Plan = work.finish()
    plain = [value.plan for value in values if not value.mark]
    if plain:
        grouped = Join((grouped, *plain))
    for value in values:
        if value.mark:
            grouped = partners.marked(grouped, value.plan, links[value.mark], value.mark)
    if condition is not None:
        grouped = Filter(grouped, condition)
    return project(catalog, grouped, listed)


def group_by(
    catalog: Catalog, plan: Plan, keys: list[exp.Expr], values: list[exp.Expr]
) -> tuple[Aggregate, list[exp.Expr], tuple[AggregateCall, ...]]:
    """Return an aggregate by keys, and values over its columns."""
    work = _Grouping(catalog, plan, keys, [])
    shown = [work.rewritten(value) for value in values]
    node = work.finish()
    return node, shown, node.calls


def union_of(catalog: Catalog, plans: list[Plan]) -> Plan:
    """Return the UNION ALL of plans that differ at most in their columns' types."""
    first = plans[0]
    if len(plans) == 1:
        return first
    columns = first.columns
    for other in plans[1:]:
        columns = union_types(catalog, columns, other.columns)
    return UnionAll(tuple(cast_to(plan, columns) for plan in plans))


class _Grouping:
    """Builds an `Aggregate`: keys and arguments below it, references to its columns above."""

    def __init__(
        self, catalog: Catalog, plan: Plan, keys: list[exp.Expr], absent: list[exp.Expr]
    ) -> None:
        """Begin with the keys of a grouping set; those that are `absent` from it are NULL."""
        self.absent = absent
        self.catalog = catalog
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
            if node.name not in made and not is_local(node):
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
            nothing = over_nothing(self.plan.columns, [node])
            (found,) = self.catalog.describe(nothing.sql("duckdb"))
            return typed_null(found.type)
        if next(iter(aggregate_calls(node, self.catalog.aggregates)), None) is node:
            inner = aggregate_core(node)
            for child in inner.iter_expressions():
                no_aggregate(self.catalog, child, "an aggregate")
            for name, known in self.calls:
                if known == node:
                    return column(name)
            name = f"{function_name(inner)}{len(self.calls)}"  # type: ignore[arg-type]
            self.calls.append((name, node.copy()))
            return column(name)
        return None

    def finish(self) -> Aggregate:
        """Return the aggregate over the projection to keys and arguments."""
        if not self.keys and not self.calls:
            # the row of everything is there, though nobody reads what it has
            self.calls.append(("count0", exp.Count(this=exp.Star())))
        prepared = [(name, *self._prepared(call)) for name, call in self.calls]
        calls = []
        shown = self.below or [("one", exp.Literal.number(1))]
        typed = project(self.catalog, self.plan, [*shown])
        types = {c.name: c.type for c in typed.columns}
        kinds = self._types_of([call for _, _, call, _ in prepared], typed)
        for (name, function, call, argument), kind in zip(prepared, kinds, strict=True):
            calls.append(
                AggregateCall(
                    name,
                    function,  # type: ignore[arg-type]  # one of the words of the node
                    call,
                    argument,
                    kind,
                    self._argument_type(call, typed) if argument is None else types[argument],
                    _is_blind(call),
                )
            )
        keys = tuple(name for name, _ in self.keys)
        return Aggregate(typed, keys, tuple(calls), everything=not keys)

    def _types_of(self, calls: Sequence[exp.Expr], typed: Plan) -> Sequence[str]:
        """Return the types of aggregates: DuckDB is asked once for all, if all are right."""
        found = self.catalog.described(over_nothing(typed.columns, calls).sql("duckdb"))
        if found is not None and len(found) == len(calls):
            return [kind for _, kind in found]
        alone = [over_nothing(typed.columns, [call]).sql("duckdb") for call in calls]
        return [self.catalog.describe(sql)[0].type for sql in alone]

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
        query = over_nothing(typed.columns, values)
        found = self.catalog.described(query.sql("duckdb")) or []
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
            if isinstance(argument, exp.Tuple) and function == "other":
                # files are in the format of DuckDB 1.5, which stores structs and no tuples
                parts = argument.expressions
                argument = struct_of([(f"f{n}", part) for n, part in enumerate(parts)])
        if condition is not None:
            argument = exp.Case().when(condition.copy(), argument.copy())
        name = self._below(argument, f"argument{len(self.below)}")
        if distinct:
            only = exp.Distinct(expressions=[column(name)])
            return function, type(core)(this=only), name
        made = {"count": exp.Count, "sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max}
        return function, made[function](this=column(name)), name


def _is_blind(call: exp.Expr) -> bool:
    core = aggregate_core(call)
    return isinstance(core.this, exp.Distinct) or (
        isinstance(core, exp.Func) and function_name(core) in BLIND_TO_COUNT
    )
