"""Macros that hide what a delta rule must see: aggregates, subqueries, other macros.

DuckDB puts the definition of a macro in the place of its call only when a statement runs. A macro
that is more than an expression over its arguments is put there before the query is bound, so that
its aggregates take the rules of aggregates, and what it reads is refused as it would be by itself.
A table macro in FROM becomes the subquery that it stands for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.aggregates import aggregate_calls
from cqlduck.rewrite.queries import parse_expression, parse_sql, place_of
from cqlduck.rewrite.scope import function_name

DEEPEST = 20
"""How many macros may stand in each other."""


@dataclass(frozen=True)
class Macro:
    """One form of a macro: the names of its parameters, and its definition as text.

    A table macro's definition is a query.
    """

    parameters: tuple[str, ...]
    definition: str
    is_table: bool = False


Macros = Mapping[str, Sequence[Macro]]


def expand_macros(
    tree: exp.Query, macros: Macros, aggregates: frozenset[str], volatile: frozenset[str]
) -> None:
    """Put definitions in the place of calls, in place, wherever that makes a difference.

    Raises:
        NotSupportedError: A call that does not give each parameter a value, or macros without end.
    """
    known = _Known(macros, aggregates, volatile)
    for _ in range(DEEPEST):
        calls = [node for node in tree.find_all(exp.Func) if known.hides_something(node)]
        if not calls:
            return
        inner = {id(call) for call in calls}
        for call in calls:
            above = call.parent
            while above is not None and id(above) not in inner:
                above = above.parent
            if above is None:
                known.expand(call)
    raise NotSupportedError(
        "macros that call each other without end are not supported", offset=place_of(tree)
    )


@dataclass
class _Known:
    macros: Macros
    aggregates: frozenset[str]
    volatile: frozenset[str]

    def forms(self, name: str, is_table: bool = False) -> list[Macro]:
        """Return the forms of a macro of one kind, in the order in which they were written."""
        return [macro for macro in self.macros.get(name, ()) if macro.is_table == is_table]

    def hides_something(self, call: exp.Func) -> bool:
        """Return whether a call is one of a macro whose definition has to be seen."""
        name = function_name(call)
        if (table := _item(call)) is not None:
            return bool(self.forms(name, True)) and not table.args.get("ordinality")
        return self.says_more(name)

    def says_more(self, name: str, inside: frozenset[str] = frozenset()) -> bool:
        """Return whether a scalar macro is more than an expression over its arguments."""
        inside |= {name}
        for macro in self.forms(name):
            for node in _definition(macro).walk():
                if isinstance(node, (exp.Query, exp.Window)):
                    return True
                called = function_name(node) if isinstance(node, exp.Func) else ""
                if called in self.aggregates or called in self.volatile:
                    return True
                if (
                    called in self.macros
                    and called not in inside
                    and self.says_more(called, inside)
                ):
                    return True
        return False

    def expand(self, call: exp.Func) -> None:
        """Put the definition in the place of a call; FILTER and OVER go to its aggregates."""
        name = function_name(call)
        if (table := _item(call)) is not None:
            item = exp.Subquery(**{**table.args, "this": self._filled(name, call, True)})
            if not table.alias:
                item.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
            table.replace(item)
            return
        place: exp.Expr = call
        if isinstance(place.parent, exp.Dot):
            place = place.parent
        around = []
        while isinstance(place.parent, (exp.Filter, exp.Window, exp.IgnoreNulls)) and (
            place.parent.this is place
        ):
            place = place.parent
            around.append(place)
        body = exp.paren(self._filled(name, call))
        for aggregate in list(aggregate_calls(body, self.aggregates)) if around else ():
            wrapped = aggregate.copy()
            for wrapper in around:
                outer = wrapper.copy()
                outer.set("this", wrapped)
                wrapped = outer
            aggregate.replace(wrapped)
        place.replace(body)

    def _filled(self, name: str, call: exp.Func, is_table: bool = False) -> exp.Expr:
        values: dict[str, exp.Expr] = {}
        given = []
        for value in _arguments(call):
            if isinstance(value, (exp.PropertyEQ, exp.Kwarg)):
                values[value.this.name.lower()] = value.expression
            else:
                given.append(value)
        for macro in self.forms(name, is_table):
            rest = [p.lower() for p in macro.parameters if p.lower() not in values]
            if len(rest) == len(given):
                values |= dict(zip(rest, given, strict=True))
                body = exp.paren(_definition(macro))
                for column in list(body.find_all(exp.Column)):
                    if not column.table and column.name.lower() in values:
                        column.replace(exp.paren(values[column.name.lower()].copy()))
                return body.this  # type: ignore[no-any-return]  # sqlglot's args are untyped
        raise NotSupportedError(
            f"the macro {name} has other parameters, or default values",
            hint="give each of its parameters a value, or write out what it stands for",
            offset=place_of(call),
        )


def _item(call: exp.Func) -> exp.Table | None:
    """Return the item of FROM that a call is, if it is one."""
    above = call.parent
    return above if isinstance(above, exp.Table) and call.arg_key == "this" else None


def _definition(macro: Macro) -> exp.Expr:
    read = parse_sql if macro.is_table else parse_expression
    tree = read(macro.definition)
    for node in tree.walk():
        # a place in the definition is none in the query
        node.meta.clear()
    return tree


def _arguments(call: exp.Func) -> list[exp.Expr]:
    if isinstance(call, exp.Anonymous):
        return list(call.expressions)
    found: list[exp.Expr] = []
    for name in call.arg_types:
        value = call.args.get(name)
        found += value if isinstance(value, list) else [value] if value is not None else []
    return [value for value in found if isinstance(value, exp.Expr)]
