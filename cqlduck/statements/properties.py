"""UPDATE of `cql.properties`: what can be set is set there, or by ALTER (CIDR 2003, section 6.1).

The paper's entities have a table of attributes and values that can be read and updated. Here it is
a view of all of them. An UPDATE runs on a copy of it; each value that is another one afterwards is
set by what ALTER calls, too. If one of several cannot be set, none is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot.tokens import Token, TokenType

from cqlduck import settings
from cqlduck.engine import Engine
from cqlduck.errors import CatalogError, NotSupportedError
from cqlduck.registration import activation, families, inputs, queries
from cqlduck.rewrite.text.options import DEFAULT, OF_QUERIES, OF_STREAMS, Option
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.statements import Dml
from cqlduck.state import records
from cqlduck.state.running import Parameters
from cqlduck.state.settings import TABLE, Property, properties, table_of_properties, updated

NAMES = ("cql.properties", "cqlduck.cql.properties")
"""How the view is called in a statement."""

_ACTIVE = Option("word", ("true", "false", DEFAULT))


def run(engine: Engine, statement: Dml, parameters: Parameters) -> None:
    """Run the UPDATE inside a change.

    Args:
        engine: The engine.
        statement: An INSERT, UPDATE or DELETE of the view.
        parameters: Values for its parameters.

    Raises:
        NotSupportedError: It is no UPDATE of values, or a property cannot be changed.
        CatalogError: It finds no property.
        Error: A value that a property cannot have.
    """
    tokens = statement.tokens
    if statement.kind != "UPDATE" or any(t.text.upper() == "RETURNING" for t in tokens):
        what = statement.kind if statement.kind != "UPDATE" else "RETURNING"
        raise NotSupportedError(
            f"{what} on cql.properties",
            hint="set a value: UPDATE cql.properties SET value = … WHERE name = …",
        )
    with table_of_properties(engine.database):
        before = properties(engine.database)
        found = updated(engine.database, _on_copy(statement), parameters)
        after = properties(engine.database)
    if not found:
        raise _nothing_found(before, tokens)
    others = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    for old, new in others:
        _refuse_unchangeable(old, new)
    _set(engine, [(old, new.value) for old, new in others])


def _on_copy(statement: Dml) -> str:
    """Return the statement as one about the copy."""
    text, tokens = statement.text, statement.tokens
    start = statement.offset - statement.start
    first = next(at for at, token in enumerate(tokens) if token.start == start)
    parts = statement.name.count(".")
    last = tokens[first + 2 * parts]
    is_named = tokens[first + 2 * parts + 1].text.upper() != "SET"
    name = TABLE if is_named else f"{TABLE} AS properties"
    return f"{text[:start]}{name}{text[last.end + 1 :]}"


def _refuse_unchangeable(old: Property, new: Property) -> None:
    """Refuse what is more than another value of a property that can have one.

    Raises:
        NotSupportedError: It is.
    """
    if old._replace(value=None) != new._replace(value=None):
        raise NotSupportedError(
            "of cql.properties only the column value can be set",
            hint="as in UPDATE cql.properties SET value = 2 WHERE name = 'weight'",
        )
    if not old.is_changeable:
        raise NotSupportedError(f"{_called(old)} cannot be changed", hint=old.statement)


def _called(one: Property) -> str:
    """Return a property as people call it."""
    return one.name if one.owner is None else f"{one.name} of {one.owner}"


def _nothing_found(known: Sequence[Property], tokens: Sequence[Token]) -> CatalogError:
    """Return the error of an UPDATE that sets nothing."""
    names = list(dict.fromkeys(one.name for one in known))
    meant = [*names, *dict.fromkeys(one.owner for one in known if one.owner is not None)]
    written = [t.text for t in tokens if t.token_type == TokenType.STRING]
    slips = [text for text in written if text not in (*meant, *{one.kind for one in known})]
    hint = suggestion(slips[-1], meant, "names are") if slips else f"names are: {', '.join(names)}"
    return CatalogError("no property meets the condition of this UPDATE", hint=hint)


def _set(engine: Engine, wanted: Sequence[tuple[Property, str | None]]) -> None:
    """Give properties other values."""
    texts = {one.name: value for one, value in wanted if one.kind == "database"}
    if texts:
        set_settings(engine, texts)
    for one, value in wanted:
        if one.owner is None:
            continue
        text = DEFAULT if value is None else value
        if one.name == "active":
            active = _ACTIVE.checked(one.name, text) != "false"
            activation.set_active(engine, one.owner, active)
        elif one.kind == "query":
            text = OF_QUERIES[one.name].checked(one.name, text)
            queries.set_options(engine, one.owner, [(one.name, text)])
        else:
            text = OF_STREAMS[one.name].checked(one.name, text)
            inputs.set_options(engine, one.owner, {one.name: text})


def set_settings(engine: Engine, texts: Mapping[str, str | None]) -> None:
    """Give settings of the connection other values, inside a change.

    Args:
        engine: The engine.
        texts: Their values as texts; None stands for the default.

    Raises:
        Error: A value that a setting cannot have.
    """
    now = engine.settings.values
    values = settings.changed(now, texts)
    engine.settings.change(values)
    if values["records"] != now["records"]:
        records.cut_all(engine.database, engine.kept_records)
    if values["history"] != now["history"]:
        for family in engine.catalogue.families.values():
            families.bound_history(engine, family)
