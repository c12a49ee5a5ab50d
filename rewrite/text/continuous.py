"""CREATE and ALTER CONTINUOUS QUERY."""

from __future__ import annotations

from cqlduck.errors import ParseError
from cqlduck.rewrite.text.options import OF_QUERIES, read_options
from cqlduck.rewrite.text.plans import written_plan
from cqlduck.rewrite.text.reader import Reader
from cqlduck.rewrite.text.statements import AlterQuery, CreateQuery


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
    if reader.next_is("AS", "WITH"):
        reader.fail("the name of the query is missing", "CREATE CONTINUOUS QUERY name AS SELECT …")
    name = reader.object_name()
    options: tuple[tuple[str, str], ...] = ()
    if reader.accept("WITH"):
        options = read_options(reader, OF_QUERIES)
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
        options = read_options(reader, OF_QUERIES)
        reader.end()
        return AlterQuery(name, "SET", options, at)
    reader.fail(
        "ALTER CONTINUOUS QUERY needs an action",
        "write ACTIVATE, ACTIVATE FROM NOW, DEACTIVATE or SET (…)",
        ("ACTIVATE", "DEACTIVATE", "SET"),
    )
    raise AssertionError
