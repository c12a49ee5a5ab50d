"""The inputs of a recomputed query: its items of FROM that are bound by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.scope import Item
from cqlduck.rewrite.plan import INPUT, Column, Plan, Recompute, fill_inputs, place_in
from cqlduck.rewrite.relalg.builders import narrowed, typed_nothing


class Inputs:
    """The inputs of a recomputed query.

    Args:
        catalog: The catalogue.
        known: The query, if it has been bound; else it begins without inputs.

    Attributes:
        plans: The plan of each.
        names: The names of its columns in the query.
    """

    def __init__(self, catalog: Catalog, known: Recompute | None = None) -> None:
        """Begin with the inputs that are known."""
        self.catalog = catalog
        self.plans: list[Plan] = [] if known is None else [*known.inputs]
        self.names: list[tuple[str, ...]] = [] if known is None else [*known.names]

    def add(self, item: Item) -> exp.Table:
        """Add an item of FROM; return the table that takes its place in the query."""
        columns = tuple(known for _, known in item.names)
        place = len(self.plans)
        self.plans.append(narrowed(item.plan, columns))
        self.names.append(
            tuple(instant_name(place) if name == "_ts" else name for name, _ in item.names)
        )
        return exp.Table(
            this=exp.to_identifier(f"{INPUT}{place}"),
            alias=exp.TableAlias(this=exp.to_identifier(item.alias, quoted=True)),
        )

    def columns_of(self, item: exp.Expr) -> Sequence[Column] | None:
        """Return the columns of an item that is an input, or None."""
        place = place_in(item)
        if place is None or item.args.get("pivots"):
            return None
        columns = zip(self.names[place], self.plans[place].columns, strict=True)
        return [Column(name, c.type) for name, c in columns if name != instant_name(place)]

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
        return self.catalog.described(fill_inputs(query, self.nothing).sql("duckdb"))

    def nothing(self, place: int) -> exp.Select:
        """Return a SELECT without rows that has the columns of an input."""
        columns = zip(self.names[place], self.plans[place].columns, strict=True)
        return typed_nothing([Column(name, c.type) for name, c in columns])


def instant_name(place: int) -> str:
    """Return what the timestamps of an input are called inside the query."""
    return f"_cql_ts{place}"
