"""What cannot be read is told in words of ours: the word, its place, and what was meant."""

from __future__ import annotations

import re

import pytest

import cqlduck

TABLES = "CREATE STREAM s (k INTEGER, v BIGINT); CREATE RELATION r (k INTEGER)"
QUERIES = {
    "SELECT k FROM s [RANG 5]": ("RANG", "RANGE"),
    "SELECT k FROM s [ROW 5]": ("ROW", "ROWS"),
    "SELECT k FROM s [RANGE 5 SLIED 5]": ("SLIED", "SLIDE"),
    "SELECT k FROM s [HOP 5 EVREY 5]": ("EVREY", "EVERY"),
    "SELECT k FROM s [TUMBEL 5] x": ("TUMBEL", "TUMBLE"),
    "SELECT k FROM (SELECT k FROM s) [RAGNE 5] x": ("RAGNE", "RANGE"),
    "SELECT k, count(*) AS n FROM s GRUOP BY k": ("GRUOP", "GROUP BY"),
    "SELECT k FROM s WHRE k > 1": ("WHRE", "WHERE"),
    "SELECT k FORM s": ("FORM", "FROM"),
    "SELECT k, count(*) AS n FROM s GROUP BY k HAVNG count(*) > 1": ("HAVNG", "HAVING"),
    "SELECT k FROM s ODER BY k": ("ODER", "ORDER BY"),
    "SELECT k FROM s LIMTI 5": ("LIMTI", "LIMIT"),
    "SELECT s.k FROM s JION r ON s.k = r.k": ("JION", "JOIN"),
    "SELECT Istraem(k) FROM s [ROWS 5]": (None, "Istream"),
    "SELECT uper('a') AS u FROM s": (None, "upper"),
}
STATEMENTS = {
    "CREATE STREEM t (k INTEGER)": ("STREEM", "STREAM"),
    "CREATE REALTION t (k INTEGER)": ("REALTION", "RELATION"),
    "CREATE OR REPLACE CONTINOUS QUERY q AS SELECT k FROM s": ("CONTINOUS", "CONTINUOUS QUERY"),
    "CRAETE STREAM t (k INTEGER)": ("CRAETE", "CREATE"),
    "DROP STREEM s": ("STREEM", "STREAM"),
    "ALTER STRAEM s HEARTBEAT 5": ("STRAEM", "STREAM"),
    "SHOW STREMS": ("STREMS", "STREAMS"),
    "REFRSH RELATION r": ("REFRSH", "REFRESH"),
    "SELCT 1": ("SELCT", "SELECT"),
}
BENEATH = re.compile(
    r"sqlglot|Unexpected token|Invalid expression|Parser Error|Catalog Error|Binder Error|"
    r"Required keyword|Expecting|<class|syntax error",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def con():
    with cqlduck.connect() as con:
        con.execute(TABLES)
        yield con


def check(con: cqlduck.Connection, text: str, word: str | None, meant: str) -> None:
    with pytest.raises(cqlduck.Error) as error:
        con.execute(text)
    assert f"did you mean {meant}?" == error.value.hint
    assert BENEATH.search(str(error.value)) is None
    if word is not None:
        assert text.index(word) == error.value.offset


@pytest.mark.parametrize("query", QUERIES)
def test_a_misspelt_word_of_a_query_is_met_with_what_was_meant(con, query):
    check(con, f"CREATE CONTINUOUS QUERY q AS {query}", *QUERIES[query])


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_misspelt_statement_is_met_with_what_was_meant(con, text):
    check(con, text, *STATEMENTS[text])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM s WHERE",
        "SELECT k FROM s WHERE k >",
        "SELECT k FROM s s s",
        "SELECT (k FROM s",
        "SELECT k) FROM s",
        "SELECT k FROM s [",
        "SELECT k FROM s []",
        "SELECT k FROM s [5]",
        "SELECT k FROM s 5",
        "SELECT f(lambda: 1) FROM s",
        "SELECT CASE WHEN k END FROM s",
        "SELECT k AS FROM s",
        "SELECT k FROM s ORDER k",
        "SELECT k FROM s UNION",
        "SELECT 'open FROM s",
        "SELECT k FROM s JOIN",
        "SELECT k BETWEEN 1 FROM s",
        "SELECT CAST(k INTEGER) FROM s",
        "SELECT k::NOTYPE FROM s",
        "SELECT k FROM",
        "WITH x AS SELECT 1 SELECT k FROM s",
        "SELECT nofunction(k) FROM s",
        "SELECT k FROM s WHERE k LIKE",
        "SELECT {'a': } FROM s",
        "SELECT [1, FROM s",
        "SELECT k COLLATE FROM s",
        "SELECT k AT TIME ZONE FROM s",
        "SELECT sum(k) OVER (PARTITION k) FROM s",
        "SELECT k FROM s ASOF JOIN",
        "INSERT 5",
    ],
)
def test_no_error_is_in_the_words_of_a_parser_beneath(con, query):
    text = f"CREATE CONTINUOUS QUERY broken AS {query}"
    with pytest.raises(cqlduck.Error) as error:
        con.execute(text)
    assert BENEATH.search(str(error.value)) is None
    assert 0 <= error.value.offset < len(text)


@pytest.mark.parametrize(
    "text",
    ["SELECT 1 +", "CREATE TABLE x (", "INSERT INTO r VALUES (1", "SELECT * FORM r", "UPDATE r",
     "CREATE STREAM x", "CREATE STREAM x (k NOTYPE)", "DROP", "CREATE", "SELECT nofunction(1)"],
)  # fmt: skip
def test_no_statement_fails_in_the_words_of_a_parser_beneath(con, text):
    with pytest.raises(cqlduck.Error) as error:
        con.execute(text)
    assert BENEATH.search(str(error.value)) is None


OURS = (
    """
CREATE STREAM x (k INTEGER, t INTEGER) TIMESTAMP BY t OUT OF ORDER WITHIN 5 SECONDS \
AHEAD AT MOST 9 MINUTES LATE KEEP
CREATE STREAM x (k INTEGER) LATE REJECT FROM 'folder'
CREATE STREAM IF NOT EXISTS x (k INTEGER) LATE AMEND
CREATE RELATION x (k INTEGER, v BIGINT, PRIMARY KEY (k)) FROM 'folder'
CREATE RELATION x (k INTEGER, v BIGINT) PRIMARY KEY (k)
CREATE RELATION x PRIMARY KEY (k) AT 7 FROM (SELECT k FROM r)
CREATE RELATION IF NOT EXISTS x FROM d
CREATE OR REPLACE CONTINUOUS QUERY x WITH (HISTORY = TRUE, KEEP = '5 MINUTES') AS SELECT k FROM s
CREATE CONTINUOUS QUERY IF NOT EXISTS x WITH (KEEP = UNBOUNDED) AS SELECT k FROM s
ALTER CONTINUOUS QUERY q SET (KEEP = '5 HOURS')
ALTER CONTINUOUS QUERY q SET (KEEP = DEFAULT)
ALTER CONTINUOUS QUERY q DEACTIVATE
ALTER CONTINUOUS QUERY q ACTIVATE FROM NOW
ALTER STREAM s HEARTBEAT 5
REFRESH RELATION r AT 5 FROM (SELECT k FROM r)
DROP CONTINUOUS QUERY IF EXISTS q
DROP STREAM IF EXISTS x
DROP RELATION IF EXISTS x
SHOW CONTINUOUS QUERIES
SHOW STREAMS
EXPLAIN CONTINUOUS QUERY q
INSERT INTO r VALUES (1)
UPDATE r SET k = 1 WHERE k = 2
DELETE FROM r WHERE k = 1
""".replace("\\\n", "")
    .strip()
    .splitlines()
)
"""Each keyword of them is misspelt in the ways below."""

BLIND = {("UPDATE", "SET")}
"""Words that DuckDB reads as something else: statements and words."""


def words_of(text: str) -> list[re.Match[str]]:
    found = re.finditer(r"\b[A-Z]{2,}\b", text)
    blind = {word for first, word in BLIND if text.startswith(first)}
    return [m for m in found if m[0] not in {"INTEGER", "BIGINT"} | blind]


def misspellings(word: str) -> list[str]:
    """Two letters the other way round, at the beginning and at the end, and a letter left out."""
    wrong = [word[1] + word[0] + word[2:], word[:-2] + word[-1] + word[-2]]
    if len(word) > 3:
        wrong += [word[:1] + word[2:], word[:-1]]
    return [w for w in dict.fromkeys(wrong) if w not in (word, f"{word}S", word.removesuffix("S"))]


@pytest.mark.parametrize("text", OURS)
def test_each_keyword_of_ours_is_met_with_what_was_meant(con, text):
    con.execute("CREATE OR REPLACE TABLE d (a INTEGER); DROP CONTINUOUS QUERY IF EXISTS q")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
    for place in words_of(text):
        for wrong in misspellings(place[0]):
            broken = text[: place.start()] + wrong + text[place.end() :]
            with pytest.raises(cqlduck.Error) as error:
                con.execute(broken)
            assert "did you mean" in (error.value.hint or ""), broken
            assert place[0] in error.value.hint.upper()
            # of a duration it is the place where that begins
            assert broken[error.value.offset :].startswith(wrong) or "unit" in error.value.message
            assert BENEATH.search(str(error.value)) is None


@pytest.mark.parametrize(
    ("text", "kind", "message", "hint", "at"),
    [
        ("CREATE CONTINUOUS QUERY x WITH (hystory = true) AS SELECT k FROM s", cqlduck.BindError,
         "there is no option hystory", "did you mean history?", "hystory"),
        ("ALTER CONTINUOUS QUERY q SET (colour = 1)", cqlduck.BindError,
         "there is no option colour",
             "the options are: history, keep, read, sharing, weight", "colour"),
        ("CREATE CONTINUOUS QUERY x WITH (keep = '1 day', keep = '2 days') AS SELECT k FROM s",
         cqlduck.ParseError, "the option keep is there twice", "write one of them", "keep = '2"),
        ("CREATE CONTINUOUS QUERY x WITH (history = rtue) AS SELECT k FROM s",
         cqlduck.ParseError, "no duration: rtue", "did you mean true?", "rtue"),
        ("CREATE CONTINUOUS QUERY x WITH (keep) AS SELECT k FROM s", cqlduck.ParseError,
         "a duration is missing", "keep is a duration, as '7 days', or unbounded or default", ")"),
        ("SELECT 1; SET memory_limt = '1GB'", cqlduck.BindError,
         "there is no setting memory_limt", "did you mean memory_limit?", "memory_limt"),
        ("SET Window_edge = 'closed'", cqlduck.NotSupportedError,
         "Window_edge is a setting of connect()",
         "pass it there, as in cqlduck.connect(path, window_edge=…)", "Window_edge"),
        ("SELECT 1; SELECT 2 FROM r WHRE k = 1", cqlduck.ParseError,
         "WHRE cannot stand here", "did you mean WHERE?", "WHRE"),
    ],
)  # fmt: skip
def test_options_and_settings_that_there_are_not(con, text, kind, message, hint, at):
    with pytest.raises(cqlduck.Error) as error:
        con.execute(text)
    assert (kind, message, hint) == (type(error.value), error.value.message, error.value.hint)
    assert text.rindex(at) == error.value.offset


def test_names_that_are_like_keywords_are_names(con):
    con.execute("CREATE STREAM fi (form INTEGER, kye INTEGER); CREATE RELATION ro (primry INTEGER)")
    con.execute("CREATE CONTINUOUS QUERY sa AS SELECT form FROM fi")
    con.execute("CREATE STREAM if (form INTEGER); DROP STREAM if; CREATE RELATION ta FROM ro")
    con.execute("DROP CONTINUOUS QUERY sa; DROP STREAM fi; DROP RELATION ro; DROP RELATION ta")


def test_statements_of_duckdb_are_left_alone(con):
    con.execute(
        "CREATE TABLE streem (k INTEGER); CREATE VIEW steam AS FROM streem; DROP VIEW steam"
    )
    con.execute("CREATE SCHEMA relations; DROP TABLE streem; SHOW TABLES; PRAGMA version")
    con.execute("CREATE SEQUENCE steam; RESET threads; ANALYZE; CALL pragma_version()")


STREAM = "CREATE STREAM s (a INTEGER) TIMESTAMP BY a"
QUERY = "CREATE CONTINUOUS QUERY q AS SELECT a FROM s [ROWS 1]"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (STREAM, "CREATE RELATION r (a INTEGER)"),
        (STREAM, "CREATE TABLE t (a INTEGER)"),
        (f"{STREAM} OUT OF ORDER WITHIN 5", "DROP STREAM IF EXISTS s"),
        (f"{STREAM} FROM 's'", "SHOW STREAMS"),
        ("CREATE TABLE t (a INTEGER)", STREAM),
        ("CREATE RELATION r (a INTEGER)", "INSERT INTO r VALUES (1)"),
        (f"{STREAM}; DROP STREAM s", STREAM),
        (f"{STREAM}; INSERT INTO s VALUES (1)", "ALTER STREAM s HEARTBEAT 5"),
        (f"{STREAM}; {QUERY}", "CREATE OR REPLACE CONTINUOUS QUERY p AS SELECT a FROM s"),
        (f"{STREAM}; {QUERY}", "INSERT INTO s VALUES (1)"),
        (f"{STREAM}; {QUERY}", "DROP CONTINUOUS QUERY q"),
        (f"{STREAM}; {QUERY}", "ALTER CONTINUOUS QUERY q SET (keep = '5')"),
        (f"{STREAM}; {QUERY} WHERE a > 1", "DELETE FROM r"),
        (f"{STREAM}; {QUERY} WHERE a > 1", "UPDATE r SET a = 1"),
        (f"{STREAM}; {QUERY} GROUP BY a", "EXPLAIN CONTINUOUS QUERY q"),
    ],
)
def test_a_missing_semicolon_is_told(first: str, second: str) -> None:
    with cqlduck.connect() as con, pytest.raises(cqlduck.ParseError) as error:
        con.execute(f"-- several\n{first}\n{second};")
    assert error.value.hint == f"a ; may be missing before {second.split()[0]}"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM s (update INTEGER,\nupdate INTEGER)",
        "-- one\nCREATE TABLE t AS SELECT nope",
        "SELECT 1;\nCREATE TABLE t AS SELECT nope",
        "EXPLAIN CREATE CONTINUOUS QUERY q AS SELECT a FROM",
        "EXPLAIN ANALYZE INSERT INTO t VALUES (1",
        "SELECT 'INSERT INTO'::INTEGER",
    ],
)
def test_no_semicolon_is_told_to_be_missing(text: str) -> None:
    with cqlduck.connect() as con, pytest.raises(cqlduck.Error) as error:
        con.execute(text)
    assert "may be missing" not in str(error.value)


IN_QUERIES = "CREATE CONTINUOUS QUERY name AS SELECT"
QUERY = "CREATE CONTINUOUS QUERY q AS"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT k FROM s [RANGE 5]", IN_QUERIES),
        ("SELECT k FROM orders [RANGE 5]", IN_QUERIES),
        ("EXPLAIN SELECT k FROM s [ROWS 5]", IN_QUERIES),
        ("SELECT Istream(k) FROM s", IN_QUERIES),
        (f"{QUERY} SELECT k FROM s RANGE 5", "s [RANGE 5]"),
        (f"{QUERY} SELECT k FROM s (RANGE 5 SECONDS)", "s [RANGE 5]"),
        (f"SELECT 1; {QUERY} SELECT k FROM s ROWS 5", "s [RANGE 5]"),
        ("CREATE QUERY q AS SELECT k FROM s", "CONTINUOUS QUERY"),
        ("DROP QUERY q", "CONTINUOUS QUERY"),
        ("ALTER QUERY q DEACTIVATE", "CONTINUOUS QUERY"),
        ("DESCRIBE CONTINUOUS QUERY q", "EXPLAIN CONTINUOUS QUERY"),
        ("PAUSE CONTINUOUS QUERY q", "DEACTIVATE"),
        ("RESUME CONTINUOUS QUERY q", "name ACTIVATE"),
        (f"{QUERY} SELECT k FROM s EMIT CHANGES", "leave it out"),
        (f"{QUERY} ISTREAM SELECT k FROM s", "Istream(a, b)"),
        ("CREATE CONTINUOUS QUERY AS SELECT k FROM s", "CREATE CONTINUOUS QUERY name"),
        ("CREATE RELATION a FROM 'a.csv'", "read_csv"),
        (f"{QUERY} SELECT k FROM s []", "windows begin with RANGE"),
        ("MERGE INTO r USING s ON true WHEN MATCHED THEN DELETE", "ON CONFLICT DO UPDATE"),
    ],
)
def test_habits_of_other_systems_are_named(text: str, hint: str) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE STREAM orders (k INTEGER); "
                    "CREATE RELATION r (k INTEGER PRIMARY KEY)")  # fmt: skip
        with pytest.raises(cqlduck.Error) as caught:
            con.execute(text)
        assert hint in (caught.value.hint or "")
        assert caught.value.offset is not None


def test_a_late_row_of_a_relation_is_not_told_of_clauses_that_it_has_not() -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE RELATION r (k INTEGER)")
        con.heartbeat("r", 10)
        with pytest.raises(cqlduck.LateError) as caught:
            con.append("r", [(1,)], at=3)
        assert (caught.value.hint or "").startswith("send rows in order; nothing")
