"""CREATE and ALTER CONTINUOUS QUERY, with the options of a query."""

from __future__ import annotations

from cqlduck.errors import BindError, ParseError
from cqlduck.rewrite.text.plans import written_plan
from cqlduck.rewrite.text.reader import Reader
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.statements import AlterQuery, CreateQuery
from cqlduck.rewrite.text.time import parse_duration

_OPTIONS = {"history": ("true", "false"), "keep": ("unbounded", "default")}
"""The options of a query, and what each may be besides a duration."""


def create_query(reader: Reader, or_replace: bool) -> CreateQuery:
    """Read CREATE CONTINUOUS QUERY from IF NOT EXISTS or the name on."""
    place = reader.offset
    if_not_exists = reader.accept_if("IF NOT EXISTS")
    if or_replace and if_not_exists:
        raise ParseError(
            "OR REPLACE and IF NOT EXISTS contradict each other",
            hint="OR REPLACE replaces the query, IF NOT EXISTS leaves it unchanged",
        ).at(reader.text, place)
    at = reader.offset
    name = reader.object_name()
    options: tuple[tuple[str, str], ...] = ()
    if reader.accept("WITH"):
        options = _options(reader)
    elif not reader.next_is("AS", "FROM"):
        reader.fail("expected AS here", known=("AS", "WITH", "FROM PLAN"))
    if reader.accept("FROM"):
        reader.expect("PLAN")
        place = reader.offset
        text = reader.string()
        reader.end()
        try:
            plan = written_plan(text)
        except ParseError as error:
            raise error.at(reader.text, place) from error
        return CreateQuery(
            name, plan.body, options, or_replace, if_not_exists, at, place, id=plan.id
        )
    reader.expect("AS")
    if reader.done:
        reader.fail("the query is missing after AS", "write SELECT … FROM a stream or relation")
    body = reader.rest()
    return CreateQuery(name, body, options, or_replace, if_not_exists, at, reader.offset)


def alter_query(reader: Reader) -> AlterQuery:
    """Read ALTER CONTINUOUS QUERY from the name on."""
    at = reader.offset
    name = reader.object_name()
    for action in ("ACTIVATE", "DEACTIVATE"):
        if reader.accept(action):
            if action == "ACTIVATE" and reader.accept("FROM", "NOW"):
                action = "ACTIVATE FROM NOW"
            reader.end(("FROM NOW",))
            return AlterQuery(name, action, (), at)
    if reader.accept("SET"):
        options = _options(reader)
        reader.end()
        return AlterQuery(name, "SET", options, at)
    reader.fail(
        "ALTER CONTINUOUS QUERY needs an action",
        "write ACTIVATE, ACTIVATE FROM NOW, DEACTIVATE or SET (…)",
        ("ACTIVATE", "DEACTIVATE", "SET"),
    )
    raise AssertionError


def _options(reader: Reader) -> tuple[tuple[str, str], ...]:
    """Read `(name = value, …)`.

    Raises:
        BindError: There is no such option.
        ParseError: An option that is there twice, or a value that it cannot have.
    """
    reader.expect("(")
    options: dict[str, str] = {}
    while True:
        at, key = reader.offset, reader.word().lower()
        if key not in _OPTIONS:
            raise BindError(
                f"there is no option {key}", hint=suggestion(key, _OPTIONS, "the options are")
            ).at(reader.text, at)
        if key in options:
            raise ParseError(f"the option {key} is there twice", hint="write one of them").at(
                reader.text, at
            )
        reader.accept("=")
        options[key] = _option(reader, key)
        if not reader.accept(","):
            break
    reader.expect(")")
    return tuple(options.items())


def _option(reader: Reader, key: str) -> str:
    """Read the value of an option.

    Raises:
        ParseError: It is none.
    """
    at, words, value = reader.offset, _OPTIONS[key], reader.value()
    if value.lower() not in words:
        shown = f"{key} is a duration, as '7 days', or {' or '.join(words)}"
        try:
            parse_duration(value)
        except ParseError as error:
            hint = error.hint if error.hint and "did you mean" in error.hint else shown
            raise ParseError(error.message, hint=suggestion(value, words, hint, every=False)).at(
                reader.text, at
            ) from error
    return value
