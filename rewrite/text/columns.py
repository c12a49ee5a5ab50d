"""The columns of CREATE STREAM and CREATE RELATION, with the key of a relation."""

from __future__ import annotations

from cqlduck.errors import NotSupportedError, ParseError
from cqlduck.rewrite.text.names import is_reserved
from cqlduck.rewrite.text.reader import Reader

RELATION_CLAUSES = ("PRIMARY KEY", "AT", "FROM")


def columns_and_key(
    reader: Reader, kind_of: str
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...] | None]:
    """Read `(name TYPE, …)`, and the PRIMARY KEY of a relation inside the parentheses, if any.

    Raises:
        ParseError: They are no columns.
        NotSupportedError: A constraint, which would not be kept.
    """
    if not reader.accept("("):
        known = RELATION_CLAUSES if kind_of == "RELATION" else ()
        reader.fail("the columns are missing", "write them as (name TYPE, …)", known)
    columns: list[tuple[str, str]] = []
    key: tuple[str, ...] | None = None
    while True:
        reader.refuse_slip("PRIMARY KEY", alone=True)
        if _is_of_table(reader):
            key = _key(reader, kind_of, key)
        else:
            at, name = reader.offset, reader.name()
            if is_reserved(name):
                raise ParseError(
                    f"{name} is a reserved name", hint="give the column another name"
                ).at(reader.text, at)
            if name.lower() in (known.lower() for known, _ in columns):
                raise ParseError(f"column {name} is declared twice").at(reader.text, at)
            kind = reader.until_comma(tuple(CONSTRAINTS))
            if not kind and not reader.next_is("GENERATED", "AS"):
                reader.fail(f"the type of column {name} is missing", "as in: price DOUBLE")
            columns.append((name, kind))
            while reader.next_is(*CONSTRAINTS):
                key = _key(reader, kind_of, key, name)
        if not reader.accept(","):
            break
    reader.expect(")")
    if not columns:
        reader.fail("there are no columns", "write them as (name TYPE, …)")
    return tuple(columns), key


CONSTRAINTS = {
    "PRIMARY": "a stream has no key: it takes every element; use a relation",
    "NOT": "leave it out, and such rows with WHERE … IS NOT NULL in the query",
    "NULL": "leave it out: every column may be NULL",
    "DEFAULT": "leave it out; give the value with the row, or coalesce(…) in the query",
    "CHECK": "leave it out, and such rows with WHERE in the query",
    "UNIQUE": "a relation may have a PRIMARY KEY",
    "REFERENCES": "leave it out, and join in the query",
    "FOREIGN": "leave it out, and join in the query",
    "CONSTRAINT": "leave it out; a relation may have a PRIMARY KEY, without a name",
    "GENERATED": "leave the column out, and compute it in the query",
    "AS": "leave the column out, and compute it in the query",
    "COLLATE": "leave it out, and write COLLATE in the query",
    "USING": "leave it out: DuckDB compresses by itself",
}
"""How what may follow a type in CREATE TABLE begins, and what to do here instead."""


_SHOWN = {"PRIMARY": "PRIMARY KEY", "NOT": "NOT NULL", "FOREIGN": "FOREIGN KEY",
          "GENERATED": "GENERATED AS", "AS": "GENERATED AS"}  # fmt: skip


def _is_of_table(reader: Reader) -> bool:
    """Return whether a constraint of the table is next, not a column that is called so."""
    after = {"CHECK": ("(",), "UNIQUE": ("(",), "FOREIGN": ("KEY",), "PRIMARY": ("KEY",)}
    place = reader.position
    if reader.accept("CONSTRAINT") and reader.peek_name():
        reader.name()
        found = reader.next_is(*after)
    else:
        reader.position = place
        found = any(reader.accept(word, *following) for word, following in after.items())
    reader.position = place
    return found


def _key(
    reader: Reader, kind_of: str, known: tuple[str, ...] | None, column: str | None = None
) -> tuple[str, ...]:
    """Read PRIMARY KEY of a relation, which is kept.

    Raises:
        NotSupportedError: It is another constraint, or a key of a stream.
        ParseError: There is a key already.
    """
    at = reader.offset
    if kind_of == "RELATION" and reader.accept("PRIMARY", "KEY"):
        return one_key(reader, known, key_columns(reader) if column is None else (column,))
    word = reader.word().upper().split()[0]
    of = "" if column is None else f" on column {column}"
    raise NotSupportedError(
        f"{_SHOWN.get(word, word)}{of} in CREATE {kind_of}",
        hint=CONSTRAINTS[word],
        text=reader.text,
        offset=at,
    )


def one_key(reader: Reader, known: tuple[str, ...] | None, key: tuple[str, ...]) -> tuple[str, ...]:
    """Return a key, the only one.

    Raises:
        ParseError: There is one already.
    """
    if known is not None:
        raise ParseError(
            "there are two primary keys",
            hint="write one, as in PRIMARY KEY (a, b)",
            text=reader.text,
            offset=reader.offset,
        )
    return key


def key_columns(reader: Reader) -> tuple[str, ...]:
    """Read the names of the columns of a key.

    Raises:
        ParseError: One of them is there twice.
    """
    reader.expect("(")
    names: dict[str, str] = {}
    while not names or reader.accept(","):
        place, name = reader.offset, reader.name()
        if name.lower() in names:
            raise ParseError(f"column {name} is in the key twice", hint="write it once").at(
                reader.text, place
            )
        names[name.lower()] = name
    reader.expect(")")
    return tuple(names.values())
