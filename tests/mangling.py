"""Statements that are not quite CQL any more, the same for the same number.

    >>> mangled(7) == mangled(7)
    True

`mangled(n)` takes a text of the corpus (all CQL in the documentation, the examples and the tests,
and statements of every kind) and does to it what hands, editors and generators do: words and
characters are lost, doubled, swapped and put in, quotes and brackets do not match, numbers are
beyond all bounds, names are Unicode, and expressions are nested beyond all depth.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

BASE = """
    CREATE STREAM s (a INTEGER, b VARCHAR, k INTEGER, v BIGINT, d DOUBLE);
    CREATE STREAM t (k INTEGER, w BIGINT, at TIMESTAMP);
    CREATE STREAM u (a INTEGER);
    CREATE STREAM S1 (A INTEGER, B INTEGER, P VARCHAR);
    CREATE STREAM S2 (A INTEGER, C VARCHAR, Q VARCHAR);
    CREATE RELATION r (a INTEGER, b VARCHAR, k INTEGER, name VARCHAR);
    CREATE TABLE plain (a INTEGER);
    CREATE CONTINUOUS QUERY there AS SELECT a, b FROM s [ROWS 2];
"""
"""What the texts are about."""

KINDS = (
    "CREATE STREAM x (a INTEGER, b VARCHAR) TIMESTAMP BY a OUT OF ORDER WITHIN 5 LATE DROP",
    "CREATE STREAM IF NOT EXISTS x (t TIMESTAMP, v DECIMAL(9, 2)[]) LATE KEEP FROM 'folder'",
    "CREATE RELATION x (a INTEGER PRIMARY KEY, b STRUCT(c INTEGER, d VARCHAR)) FROM 'folder'",
    "CREATE RELATION x (a INTEGER, b VARCHAR, PRIMARY KEY (a, b))",
    "CREATE OR REPLACE CONTINUOUS QUERY there AS SELECT count(*) AS n FROM s [RANGE 5 SLIDE 2]",
    "CREATE CONTINUOUS QUERY x WITH (keep = '1 day', history = true) AS SELECT a FROM s",
    "DROP STREAM u",
    "DROP RELATION IF EXISTS r",
    "DROP CONTINUOUS QUERY there",
    "ALTER CONTINUOUS QUERY there DEACTIVATE",
    "ALTER CONTINUOUS QUERY there SET (keep = unbounded)",
    "ALTER CONTINUOUS QUERY there SET (weight = 2, sharing = false)",
    "ALTER STREAM s SET (late = drop, out_of_order_within = 5, ahead_at_most = '2 days')",
    "ALTER STREAM s HEARTBEAT 5",
    "REFRESH RELATION r AT 5 FROM (SELECT a, 'x' AS b FROM plain)",
    "UPDATE cql.properties SET value = 2 WHERE name = 'weight' AND owner IN ('there')",
    "EXPLAIN CREATE CONTINUOUS QUERY x AS SELECT a, count(*) AS n FROM s [RANGE 5] GROUP BY a",
    "SHOW STREAMS; SHOW RELATIONS; SHOW CONTINUOUS QUERIES",
    "EXPLAIN CONTINUOUS QUERY there",
    "INSERT INTO s VALUES (1, 'x', 2, 3, 0.5), (NULL, NULL, NULL, NULL, NULL)",
    "INSERT INTO r (a, b) SELECT a, 'y' FROM plain WHERE a IN (SELECT a FROM there)",
    "UPDATE r SET b = upper(b), a = a + 1 WHERE k IS NOT NULL",
    "DELETE FROM r WHERE a = 1 OR b LIKE 'x%'",
    "INSERT INTO main.r (k, a) SELECT count(DISTINCT k), max(s.a) FROM main.plain AS s",
    "DELETE FROM main.r WHERE main.r.k = (SELECT MAP {'a': max(a)}['a'] FROM plain AS p)",
    "CREATE TABLE x AS SELECT a FROM there; INSERT INTO x VALUES (1)",
    "CREATE VIEW x AS FROM plain; SELECT * FROM x, there",
    "SELECT a, count(*) FROM there GROUP BY ALL ORDER BY 1",
    "DESCRIBE there",
)
"""A statement of each kind."""

_WORDS = r"""
    SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET UNION ALL EXCEPT INTERSECT DISTINCT ON AS
    JOIN LEFT FULL CROSS NATURAL ASOF LATERAL USING AND OR NOT IN EXISTS BETWEEN LIKE IS NULL CASE
    WHEN THEN ELSE END CAST OVER PARTITION ROWS RANGE NOW UNBOUNDED PRECEDING SLIDE HOP EVERY TUMBLE
    SAMPLE Istream Dstream Rstream Istream( CREATE STREAM RELATION CONTINUOUS QUERY DROP ALTER SHOW
    EXPLAIN INSERT INTO VALUES UPDATE SET DELETE WITH RECURSIVE TIMESTAMP LATE PRIMARY KEY count(*)
    sum(v) max( min(a) avg list( row_number() grouping(a) unnest FILTER QUALIFY WINDOW EXCLUDE
    REPLACE COLUMNS(*) PIVOT INTERVAL SECONDS MONTH s t u r S1 S2 there plain x a b k v d w _ts
    _weight _op * ( ) [ ] { } , ; . .. : :: ; = <> < >= + - / // % || -> => ? $1 $a @ # ! ~ ^ & | \
    ` ' " '' $$ -- /* */ s.* s.a r.* [NOW] [ROWS [ROWS 2] [RANGE 5 SECONDS] [PARTITION BY k ROWS 1]
    [1] [1:2] {'a':1} lambda
"""
WORDS = tuple(_WORDS.split())
NUMBERS = (
    "0", "1", "-1", "00", "1.5", ".5", "5.", "1e3", "1e400", "-1e400", "1.5.5", "1_000", "0x1F",
    "9223372036854775807", "9223372036854775808", "99999999999999999999", "4611686018427387905",
    "1e-400", "'5'", "NULL", "NaN", "Infinity", "5 SECONDS", "'5 minutes'", "INTERVAL 5 DAYS",
    "²", "1²", "\u0663", "'01:30:00'", "INTERVAL '1 hour'",
)  # fmt: skip
CHARACTERS = (
    *"'\"`()[]{};,.\\/*-$\n\r\t ", "\x00", "\x01", "\x1b", "\x7f", "\u00a0", "\u2028", "\u200b",
    "\u202e", "\ufeff", "é", "ß", "\u0130", "\u0131", "\u01c6", "字", "\u0627", "\u0301", "🦆",
    "👩\u200d👩\u200d👧", "\ud800", "\udfff", "\U0010ffff", "½", "\u0663",
)  # fmt: skip
"""Ends of words and strings, controls, spaces, and letters that change in lower case."""

TOKEN = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|.", re.DOTALL)
NUMBER = re.compile(r"\b\d+(?:\.\d+)?\b")
STATEMENT = re.compile(
    r"\s*(SELECT|[IDR]STREAM|FROM|WITH|CREATE|DROP|ALTER|SHOW|EXPLAIN|INSERT|UPDATE|DELETE)\b",
    re.IGNORECASE,
)
# What would leave the database: files, other databases, extensions, settings.
OUTSIDE = re.compile(
    r"\b(COPY|ATTACH|EXPORT|IMPORT|INSTALL|LOAD|PRAGMA|SECRET|read_\w+|glob|range\s*\(|"
    r"generate_series)\b",
    re.IGNORECASE,
)

TEMPLATE = re.compile(r"\{\w*\}|[⟦⟧]")


@cache
def corpus() -> tuple[str, ...]:
    """Return the texts: whole statements, each query as the statement that registers it."""
    found = dict.fromkeys([*KINDS, *_documented(), *_golden(), *_tested()])
    return tuple(
        text
        for text in found
        if len(text) < 2000 and not OUTSIDE.search(text) and not TEMPLATE.search(text)
    )


def _documented() -> Iterator[str]:
    texts = [
        match[1]
        for file in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
        for match in re.finditer(r"```(?:cql|sql)\n(.*?)```", file.read_text("utf-8"), re.DOTALL)
    ]
    texts += [file.read_text("utf-8") for file in sorted((ROOT / "sql" / "examples").glob("*.cql"))]
    for text in texts:
        yield from map(_registered, text.split(";"))


def _golden() -> Iterator[str]:
    for file in sorted((ROOT / "tests" / "golden").glob("*.sql")):
        text = file.read_text("utf-8")
        for match in re.finditer(r"^-- title:.*\n(.*?)\n----$", text, re.M | re.S):
            yield from map(_registered, match[1].split(";"))


def _tested() -> Iterator[str]:
    for file in sorted((ROOT / "tests").glob("test_*.py")):
        if file.name in ("test_fuzz.py", "test_docs.py"):
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value.replace("¦", "")
                if STATEMENT.match(text) and len(text.split()) > 2:
                    yield _registered(text)


def _registered(text: str) -> str:
    text = text.strip()
    if re.match(r"(--.*\n\s*)*(SELECT|[IDR]STREAM|FROM|WITH)\b", text, re.IGNORECASE):
        return f"CREATE CONTINUOUS QUERY x AS {text}"
    return text


def mangled(number: int) -> str:
    """Return the text of a number."""
    chance = random.Random(number)
    texts = corpus()
    text = chance.choice(texts)
    for _ in range(chance.choice((1, 1, 1, 1, 2, 2, 4))):
        text = chance.choice(MANGLERS)(chance, text)
    return text


# -- the manglers -----------------------------------------------------------------------------


def _on_tokens(change: Callable[[random.Random, list[str], int], None]) -> Callable[..., str]:
    def mangle(chance: random.Random, text: str) -> str:
        tokens = TOKEN.findall(text) or [" "]
        change(chance, tokens, chance.randrange(len(tokens)))
        return "".join(tokens)

    return mangle


def _delete(chance: random.Random, tokens: list[str], place: int) -> None:
    del tokens[place : place + chance.choice((1, 1, 2, 5))]


def _duplicate(chance: random.Random, tokens: list[str], place: int) -> None:
    part = tokens[place : place + chance.choice((1, 1, 3, 8))]
    tokens[place:place] = [*part, chance.choice(("", " "))]


def _swap(chance: random.Random, tokens: list[str], place: int) -> None:
    other = chance.randrange(len(tokens))
    tokens[place], tokens[other] = tokens[other], tokens[place]


def _insert(chance: random.Random, tokens: list[str], place: int) -> None:
    tokens.insert(place, f" {chance.choice(WORDS)} ")


def _replace(chance: random.Random, tokens: list[str], place: int) -> None:
    tokens[place] = f" {chance.choice(WORDS)} "


def _characters(chance: random.Random, text: str) -> str:
    letters = list(text) or [" "]
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = chance.randrange(len(letters) + 1)
        if chance.random() < 0.5:
            letters.insert(place, chance.choice(CHARACTERS))
        elif place < len(letters):
            letters[place] = chance.choice(("", letters[place] * 2, chance.choice(CHARACTERS)))
    return "".join(letters)


def _truncate(chance: random.Random, text: str) -> str:
    place = chance.randrange(len(text) + 1)
    return text[:place] if chance.random() < 0.8 else text[place:]


def _number(chance: random.Random, text: str) -> str:
    places = list(NUMBER.finditer(text))
    if not places:
        return f"{text} {chance.choice(NUMBERS)}"
    place = chance.choice(places)
    return text[: place.start()] + chance.choice(NUMBERS) + text[place.end() :]


def _nest(chance: random.Random, text: str) -> str:
    before, after = chance.choice(
        (
            ("(", ")"), ("[", "]"), ("NOT ", ""), ("- ", ""), ("(SELECT ", ")"), ("f(", ")"),
            ("(SELECT * FROM ", ") x"), ("CASE WHEN a THEN ", " END"), ("{'a': ", "}"), ("(", ""),
            ("Istream(", ")"), ("a + ", ""), ("a AND ", ""), ("x.", ""), ("WITH x AS (", ")"),
            ("/* ", " */"), ("'", "'"), ("((", ") + 1)"),
        )
    )  # fmt: skip
    depth = chance.choice((2, 5, 20, 20, 100, 100, 400, 1500))
    tokens = TOKEN.findall(text) or [" "]
    first = chance.randrange(len(tokens))
    last = min(first + chance.choice((1, 1, 3, 10)), len(tokens))
    inner = "".join(tokens[first:last])
    return "".join([*tokens[:first], before * depth, inner, after * depth, *tokens[last:]])


def _splice(chance: random.Random, text: str) -> str:
    other = chance.choice(corpus())
    return text[: chance.randrange(len(text) + 1)] + other[chance.randrange(len(other) + 1) :]


def _join(chance: random.Random, text: str) -> str:
    both = [text, chance.choice(corpus())]
    chance.shuffle(both)
    return chance.choice((";", "; ", ";\n", " UNION ALL ", "\n", ";;")).join(both)


def _rename(chance: random.Random, text: str) -> str:
    names = re.findall(r"\b[A-Za-z_]\w*\b", text)
    if not names:
        return text
    name = chance.choice(names)
    new = chance.choice(
        ('"_"', '"a b"', '""', "ünï", "字", '"🦆"', "_cql_n", '"a"".b"', "SELECT", "x" * 300,
         '"s.a"', "_ts", "\u0130", "\u017f", '"' + "\x00" + '"', "main.s", "cql.streams",
         "a.b.c.d.e")
    )  # fmt: skip
    return re.sub(rf"\b{name}\b", lambda _: new, text, count=chance.choice((0, 1)))


MANGLERS: tuple[Callable[[random.Random, str], str], ...] = (
    _on_tokens(_delete),
    _on_tokens(_delete),
    _on_tokens(_duplicate),
    _on_tokens(_swap),
    _on_tokens(_swap),
    _on_tokens(_insert),
    _on_tokens(_insert),
    _on_tokens(_replace),
    _on_tokens(_replace),
    _characters,
    _characters,
    _truncate,
    _number,
    _nest,
    _splice,
    _join,
    _rename,
)
