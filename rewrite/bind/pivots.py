"""PIVOT and UNPIVOT, in terms of what has a law.

    UNPIVOT (v FOR n IN (a, b))            Σ_c  π_others,'c',c (σ_c IS NOT NULL (R))
    PIVOT (f(x) FOR k IN (1, 2))           γ_others; f(x) FILTER k = 1, f(x) FILTER k = 2  (R)

DuckDB says how the columns are called, and of which types they are. As there PIVOT compares texts,
and NULL with NULL, and groups by all columns that it does not name if it has no GROUP BY.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from cqlduck.rewrite.bind.bodies.refusals import finds_columns, has_filter
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.grouping import group_by
from cqlduck.rewrite.bind.projection import project, with_names
from cqlduck.rewrite.bind.scope import Item, Scope, inner_name, resolve
from cqlduck.rewrite.plan import Column, Filter, Plan, Project, UnionAll
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.conditions import without_parens
from cqlduck.rewrite.plan.not_incremental import NotIncremental
from cqlduck.rewrite.relalg.builders import cast, column, filtered, narrowed, typed_nothing
from cqlduck.rewrite.relalg.elements import is_null
from cqlduck.rewrite.rules.canonical import shown
from cqlduck.rewrite.text.parsed import place_of

_CONSTANTS = (exp.Literal, exp.Null, exp.Boolean)


def pivoted(catalog: Catalog, item: Item, written: exp.Pivot, name: str) -> Item:
    """Return an item of FROM under PIVOT or UNPIVOT.

    Args:
        catalog: Tells names and types.
        item: What it stands on.
        written: The clause, or the statement over the item.
        name: What the item is called without an alias.

    Raises:
        NotIncremental: It has no law.
    """
    work = _Pivot(catalog, item, written)
    if finds_columns(written) or has_filter(written):
        raise work.refused()
    plan = work.unpivoted() if written.args.get("unpivot") else work.grouped()
    alias = written.alias or name
    columns = tuple(Column(inner_name(alias, c.name), c.type) for c in plan.columns)
    pairs = zip((c.name for c in plan.columns), columns, strict=True)
    return Item(alias, with_names(plan, columns), tuple(pairs))


@dataclass(frozen=True)
class _Pivot:
    """PIVOT or UNPIVOT of one item."""

    catalog: Catalog
    item: Item
    written: exp.Pivot

    def refused(self) -> NotIncremental:
        """Return why it has to be recomputed."""
        return NotIncremental("PIVOT", offset=place_of(self.written))

    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the result, as DuckDB has them.

        Raises:
            NotIncremental: They cannot be asked for.
        """
        alias = self.written.args.get("alias")
        if any(public == "_ts" for public, _ in self.item.names) or (alias and alias.columns):
            raise self.refused()
        nothing = typed_nothing([Column(public, c.type) for public, c in self.item.names])
        source = nothing.subquery(exp.to_identifier(self.item.alias, quoted=True), copy=False)
        clause = self.written.copy()
        if clause.this:
            clause.set("this", source)
            query = exp.select("*").from_(exp.Subquery(this=clause), copy=False)
        else:
            source.set("pivots", [clause])
            query = exp.select("*").from_(source, copy=False)
        return tuple(self.catalog.describe(query.sql("duckdb")))

    def named(self, written: exp.Expr) -> Column:
        """Return the column of the item that an expression is.

        Raises:
            NotIncremental: It is none.
        """
        bare = without_parens(written)
        if isinstance(bare, exp.Column) and len(bare.parts) == 1:
            known = self.item.find(bare.name)
            if known is not None:
                return known
        raise self.refused()

    # -- UNPIVOT -----------------------------------------------------------------------------------

    def unpivoted(self) -> Plan:
        """Return a union of projections, one for each of the columns."""
        columns = self.columns()
        entries = list(self.entries())
        count = len(entries[0][1])
        taken = {c.name for _, values in entries for c in values}
        others = [known for _, known in self.item.names if known.name not in taken]
        if len(columns) != len(others) + 1 + count or any(len(v) != count for _, v in entries):
            raise self.refused()
        if self.value_names() & {public.lower() for public, c in self.item.names if c in others}:
            raise self.refused()  # DuckDB tests the other column of the name for NULL
        wanted = columns[-count:]
        parts: list[Plan] = []
        for label, values in entries:
            plan = self.item.plan
            if not self.written.args.get("include_nulls"):
                tests = [exp.not_(is_null(column(value.name))) for value in values]
                plan = Filter(plan, exp.and_(*tests))
            listed = [
                *(column(known.name) for known in others),
                cast(exp.Literal.string(label), "VARCHAR"),
                *(_in_type(mine, one) for mine, one in zip(values, wanted, strict=True)),
            ]
            parts.append(Project(plan, tuple(listed), columns))
        return parts[0] if len(parts) == 1 else UnionAll(tuple(parts))

    def value_names(self) -> set[str]:
        """Return what the columns of values are called, in lower case."""
        into = self.written.args.get("into")
        if self.written.args.get("fields"):
            named = [
                name for one in self.written.expressions for name in one.find_all(exp.Identifier)
            ]
        else:
            named = (
                []
                if into is None
                else [n for e in into.expressions for n in e.find_all(exp.Identifier)]
            )
        return {name.name.lower() for name in named} or {"value"}

    def entries(self) -> Iterator[tuple[str, list[Column]]]:
        """Yield the columns that become rows, and what each row calls them."""
        fields = self.written.args.get("fields")
        for entry in fields[0].expressions if fields else self.written.expressions:
            alias = entry.alias if isinstance(entry, (exp.PivotAlias, exp.Alias)) else ""
            bare = entry.this if alias else entry
            if bare.is_star or isinstance(bare, exp.Columns):
                for public in self.expanded(bare):
                    yield public, [self.named(exp.column(public))]
                continue
            values = bare.expressions if isinstance(bare, exp.Tuple) else [bare]
            known = [self.named(value) for value in values]
            names = {c.name: public for public, c in self.item.names}
            yield alias or "_".join(names[c.name] for c in known), known

    def expanded(self, star: exp.Expr) -> Sequence[str]:
        """Return the names of the columns that a star, or COLUMNS, stands for."""
        nothing = typed_nothing([Column(public, c.type) for public, c in self.item.names])
        query = exp.select(star.copy()).from_(nothing.subquery("input", copy=False), copy=False)
        found = self.catalog.described(query.sql("duckdb"))
        if found is None:
            raise self.refused()
        return [name for name, _ in found]

    # -- PIVOT -------------------------------------------------------------------------------------

    def grouped(self) -> Plan:
        """Return an aggregate with a FILTER for each of the values."""
        columns = self.columns()
        written = self.written
        fields = written.args.get("fields") or written.expressions
        calls = written.args.get("using") if written.this else written.expressions
        if not calls:
            calls = [exp.Count(this=exp.Star())]
        tests = [list(self.tests(field)) for field in fields]
        scope = Scope([self.item], [self.item.plan])
        values = [resolve(call.unalias(), scope) for call in calls]
        if any(not list(aggregate_calls(v, self.catalog.aggregates)) for v in values):
            raise self.refused()
        keys = self.keys([*fields, *calls])
        cells = [
            self.filtered(value, exp.and_(*together))
            for together in product(*tests)
            for value in values
        ]
        if len(columns) != len(keys) + len(cells):
            raise self.refused()
        read = narrowed(self.item.plan, tuple(known for _, known in self.item.names))
        once = list(dict.fromkeys(keys))
        grouped, made, _ = group_by(
            self.catalog, shown(read), [column(key.name) for key in once], cells
        )
        named = dict(zip(once, grouped.keys, strict=True))
        listed = [*(column(named[key]) for key in keys), *made]
        plan = project(
            self.catalog,
            grouped,
            [(known.name, value) for known, value in zip(columns, listed, strict=True)],
        )
        if plan.columns != columns:
            raise self.refused()
        return plan

    def keys(self, named: Sequence[exp.Expr]) -> list[Column]:
        """Return the columns to group by: those of GROUP BY, else all that are not named."""
        group = self.written.args.get("group")
        if group is not None:
            return [self.named(key) for key in group.expressions]
        read = {c.name.lower() for part in named for c in part.find_all(exp.Column)}
        return [known for public, known in self.item.names if public.lower() not in read]

    def tests(self, field: exp.Expr) -> Iterator[exp.Expr]:
        """Yield for each of the values that become columns whether a tuple has it."""
        if not isinstance(field, exp.In) or not field.expressions:
            raise self.refused()
        known = self.named(field.this)
        text = _in_type(known, Column("", "VARCHAR"))
        for value in field.expressions:
            bare = value.this if isinstance(value, exp.PivotAlias) else value
            plain = bare.this if isinstance(bare, exp.Neg) else bare
            if not isinstance(plain, _CONSTANTS):
                raise self.refused()
            yield exp.NullSafeEQ(this=text.copy(), expression=cast(bare, "VARCHAR"))

    def filtered(self, value: exp.Expr, condition: exp.Expr) -> exp.Expr:
        """Return an expression of aggregates that are those of some tuples."""
        changed = exp.paren(value.copy())
        for call in list(aggregate_calls(changed, self.catalog.aggregates)):
            call.replace(filtered(call, condition))
        return changed.this  # type: ignore[no-any-return]  # sqlglot's args are untyped


def _in_type(known: Column, wanted: Column) -> exp.Expr:
    value = column(known.name)
    return value if known.type == wanted.type else cast(value, wanted.type)
