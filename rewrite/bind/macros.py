"""Macros: calls are expanded to definitions before a query is bound.

DuckDB expands a macro only when a statement runs. So replacing or dropping a macro would change a
query between two ticks, and elements that it has emitted would never leave its answer. Therefore a
query captures the definitions of a user's macros when it is registered. DuckDB's own macros are
expanded if they hide an expression that the binder must see: aggregates, subqueries, other such
macros. A table macro in FROM becomes a subquery.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from sqlglot import exp
from sqlglot.tokens import TokenType

from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.bind.methods import reference
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.text.parsed import function_name, place_of
from cqlduck.rewrite.text.parsing import parse_expression, parse_sql
from cqlduck.rewrite.text.tokens import tokenize

MAX_NESTING = 20
"""How many macros may stand in each other."""


@dataclass(frozen=True)
class Macro:
    """One form of a macro.

    Attributes:
        parameters: Their names.
        definition: Its definition as text: of a table macro a query, else an expression.
        is_table: Whether it is a table macro.
        types: The types of the parameters, None where one has none; empty if none has any.
        schema: Where it is.
        is_own: Whether it is a user's, and none of DuckDB's.
    """

    parameters: tuple[str, ...]
    definition: str
    is_table: bool = False
    types: tuple[str | None, ...] = ()
    schema: str = "main"
    is_own: bool = True


Macros = Mapping[str, Sequence[Macro]]


@dataclass(frozen=True)
class Captured:
    """What a query has taken of macros and types: it means the same, whatever becomes of these.

    Attributes:
        macros: The user's macros that it calls, by lower-case name.
        called: What DuckDB calls lists of columns that have no alias and name these, by the way
            they are written.
        types: What the user's types stand for whose names it has, by lower-case name.
        functions: The names of the users' functions that it calls; see `functions`.
    """

    macros: Macros = field(default_factory=dict)
    called: Mapping[str, Sequence[str]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    functions: Sequence[str] = ()

    def text(self) -> str:
        """Return it as text."""
        forms = {name: [asdict(form) for form in self.macros[name]] for name in sorted(self.macros)}
        known: dict[str, object] = {"called": dict(self.called), "types": dict(self.types)}
        if self.functions:
            known["functions"] = list(self.functions)
        return json.dumps({"macros": forms, **known})

    @staticmethod
    def of(text: str) -> Captured:
        """Return it from its text."""
        known = json.loads(text)
        macros: dict[str, list[Macro]] = {}
        for name, forms in known["macros"].items():
            for form in forms:
                lists = {key: tuple(form[key]) for key in ("parameters", "types")}
                macros.setdefault(name, []).append(Macro(**{**form, **lists}))
        return Captured(macros, known["called"], known["types"], known.get("functions", ()))


def expand_macros(
    tree: exp.Query, macros: Macros, aggregates: frozenset[str], volatile: frozenset[str]
) -> Macros:
    """Put definitions in the place of calls, in place, wherever that makes a difference.

    Returns:
        The user's macros whose definitions have been taken.

    Raises:
        NotSupportedError: A call that does not give each parameter a value, or macros without end.
    """
    known = _Known(macros, aggregates, volatile)
    for _ in range(MAX_NESTING):
        calls = [node for node in tree.find_all(exp.Func) if known.is_expanded(node)]
        if not calls:
            return known.taken
        inner = {id(call) for call in calls}
        for call in calls:
            above = call.parent
            while above is not None and id(above) not in inner:
                above = above.parent
            if above is None:
                note(call)
                known.expand(call)
    raise NotSupportedError(
        "macros that call each other without end are not supported", offset=place_of(tree)
    )


@dataclass
class _Known:
    macros: Macros
    aggregates: frozenset[str]
    volatile: frozenset[str]
    taken: dict[str, Sequence[Macro]] = field(default_factory=dict)

    def forms(self, name: str, is_table: bool = False, schema: str = "main") -> list[Macro]:
        """Return the forms of a macro of one kind, in the order in which they were written."""
        known = [m for m in self.macros.get(name, ()) if m.is_table == is_table]
        found = [m for m in known if m.schema == schema]
        return [m for m in found if m.is_own] or found

    def is_expanded(self, call: exp.Func) -> bool:
        """Return whether a call is one of a macro whose definition has to be seen."""
        name = function_name(call)
        if name not in self.macros:
            return False
        if (table := _item(call)) is not None:
            found = self.forms(name, True, table.db or "main")
            return bool(found) and not table.args.get("ordinality")
        known = self.forms(name, schema=self.schema_of(name, call))
        return any(m.is_own for m in known) or self.says_more(name)

    def schema_of(self, name: str, call: exp.Func) -> str:
        """Return the schema of a function that is called; `x.f()` may be a call of f with x."""
        before = _before(call)
        written = before[-1].name.lower() if before else "main"
        return written if any(m.schema == written for m in self.macros[name]) else "main"

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
            found = self.forms(name, True, table.db or "main")
            args = {key: value for key, value in table.args.items() if key not in ("db", "catalog")}
            item = exp.Subquery(**{**args, "this": self._filled(name, call, found)})
            if not table.alias:
                item.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
            table.replace(item)
            return
        schema = self.schema_of(name, call)
        place: exp.Expr = call
        if before := _before(call):
            assert call.parent is not None
            place = call.parent
            if before[-1].name.lower() != schema:
                # a method of a value, not a function of a schema
                call.set("expressions", [reference(before), *call.expressions])
        around = []
        while isinstance(place.parent, (exp.Filter, exp.Window, exp.IgnoreNulls)) and (
            place.parent.this is place
        ):
            place = place.parent
            around.append(place)
        body = exp.paren(self._filled(name, call, self.forms(name, schema=schema)))
        for aggregate in list(aggregate_calls(body, self.aggregates)) if around else ():
            wrapped = aggregate.copy()
            for wrapper in around:
                outer = wrapper.copy()
                outer.set("this", wrapped)
                wrapped = outer
            aggregate.replace(wrapped)
        body.meta.update(noted(place))
        place.replace(body)

    def _filled(self, name: str, call: exp.Func, forms: Sequence[Macro]) -> exp.Expr:
        values: dict[str, exp.Expr] = {}
        given = []
        for value in _arguments(call):
            if isinstance(value, (exp.PropertyEQ, exp.Kwarg)):
                values[value.this.name.lower()] = value.expression
            else:
                given.append(value)
        fit = []
        for macro in forms:
            rest = [p.lower() for p in macro.parameters if p.lower() not in values]
            if len(rest) == len(given):
                fit.append((macro, values | dict(zip(rest, given, strict=True))))
        if len(fit) == 1 or (fit and not fit[0][0].types):
            if any(macro.is_own for macro in forms):
                self.taken[name] = [m for m in self.macros[name] if m.is_own]
            return _body(*fit[0])
        if fit:
            raise NotSupportedError(
                f"the macro {name} is chosen by the types of its arguments",
                hint="give it another name for each type",
                offset=place_of(call),
            )
        raise NotSupportedError(
            f"the macro {name} has other parameters, or default values",
            hint="give each of its parameters a value, or write out its definition",
            offset=place_of(call),
        )


def _body(macro: Macro, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return the definition of a macro, with values in the place of its parameters."""
    typed = dict(zip(map(str.lower, macro.parameters), macro.types, strict=False))
    body = exp.paren(_definition(macro))
    items = {item.alias_or_name.lower() for item in body.find_all(exp.Table, exp.Subquery)}
    for column in list(body.find_all(exp.Column)):
        name = column.parts[0].name.lower()
        if name not in values or (column.table and name in items):
            continue
        value = exp.paren(values[name].copy())
        if (kind := typed.get(name)) is not None:
            value = exp.cast(value, kind, dialect="duckdb")  # type: ignore[assignment]
        for part in column.parts[1:]:
            value = exp.Dot(this=value, expression=part.copy())  # type: ignore[assignment]
        column.replace(value)
    return body.this  # type: ignore[no-any-return]  # sqlglot's args are untyped


_NOTES = ("written", "taken")
"""What is noted of a column: how it was written, and that it names what a query takes."""


def note(node: exp.Expr) -> None:
    """Note of the column that a node is in how it was written: so DuckDB calls it."""
    place = node
    while place.parent is not None and not isinstance(place, exp.Query):
        if place.arg_key == "expressions" and isinstance(place.parent, exp.Select):
            place.meta.setdefault("written", place.sql("duckdb"))
            place.meta["taken"] = True
        place = place.parent


def noted(node: exp.Expr) -> dict[str, object]:
    """Return what is noted of a node, for one that takes its place."""
    return {key: node.meta[key] for key in _NOTES if key in node.meta}


def _before(call: exp.Func) -> list[exp.Expr]:
    """Return the names in `a.b.f(…)` before the function."""
    above = call.parent
    if not isinstance(above, exp.Dot) or call.arg_key != "expression":
        return []
    found: list[exp.Expr] = []
    place: exp.Expr = above.this
    while isinstance(place, exp.Dot):
        found.append(place.expression)
        place = place.this
    return [place, *reversed(found)]


def _item(call: exp.Func) -> exp.Table | None:
    """Return the item of FROM that a call is, if it is one."""
    above = call.parent
    return above if isinstance(above, exp.Table) and call.arg_key == "this" else None


def _definition(macro: Macro) -> exp.Expr:
    read = parse_sql if macro.is_table else parse_expression
    tree = read(_with_bare_lambdas(macro.definition))
    for node in tree.walk():
        # a place in the definition is none in the query
        node.meta.clear()
    return tree


def _with_bare_lambdas(text: str) -> str:
    """Return SQL without the parentheses that DuckDB puts around lambdas."""
    tokens = tokenize(text)
    gone: set[int] = set()
    for place, token in enumerate(tokens[1:], 1):
        before = tokens[place - 1]
        if token.text.lower() == "lambda" and before.token_type is TokenType.L_PAREN:
            depth = 1
            for after in tokens[place:]:
                depth += after.token_type is TokenType.L_PAREN
                depth -= after.token_type is TokenType.R_PAREN
                if not depth:
                    gone |= {before.start, after.start}
                    break
    return "".join(" " if place in gone else letter for place, letter in enumerate(text))


def _arguments(call: exp.Func) -> list[exp.Expr]:
    if isinstance(call, exp.Anonymous):
        return list(call.expressions)
    found: list[exp.Expr] = []
    for name in call.arg_types:
        value = call.args.get(name)
        found += value if isinstance(value, list) else [value] if value is not None else []
    return [value for value in found if isinstance(value, exp.Expr)]
