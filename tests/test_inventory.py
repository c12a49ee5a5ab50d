"""What is there, as values, as text and as HTML."""

from __future__ import annotations

import datetime
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.inventory import MAX_CHARACTERS, Inventory, Relation

SCRIPT = """
    CREATE STREAM clicks (who VARCHAR, at TIMESTAMP) TIMESTAMP BY at
        OUT OF ORDER WITHIN 5 SECONDS LATE KEEP;
    CREATE RELATION Users (who VARCHAR, plan VARCHAR, PRIMARY KEY (who));
    CREATE CONTINUOUS QUERY counts AS SELECT who, count(*) AS n FROM clicks GROUP BY who;
    CREATE CONTINUOUS QUERY news WITH (keep = '1 hour') AS SELECT Istream(*) FROM counts;
"""
NOON = datetime.datetime(2013, 1, 1, 12)


def cells(text: str) -> list[list[str]]:
    """The rows of all tables of well-formed HTML, heads included."""
    root = ET.fromstring(f"<div>{text}</div>")
    assert {"div", "p", "table", "thead", "tbody", "tr", "th", "td"} >= {e.tag for e in root.iter()}
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def test_what_is_there_is_what_the_views_say(con: cqlduck.Connection) -> None:
    con.execute(SCRIPT)
    con.append("clicks", [("ann", NOON), ("bob", NOON + datetime.timedelta(seconds=9))])
    con.append("users", [("ann", "free")], at=NOON)
    con.advance("2013-01-01 12:00:20")
    clicks, users, counts = con.streams["clicks"], con.relations["users"], con.queries["COUNTS"]
    assert (["clicks"], ["Users"], ["counts", "news"]) == (
        list(con.streams),
        list(con.relations),
        list(con.queries),
    )
    assert {"who": "VARCHAR", "at": "TIMESTAMP"} == clicks.columns
    assert ("at", "KEEP", 2, NOON) == (
        clicks.timestamp_by,
        clicks.late,
        clicks.elements,
        clicks.first_element,
    )
    assert (("who",), "Users") == (users.primary_key, users.name)
    assert [(users.elements,)] == con.sql("SELECT elements FROM cql.relations").fetchall()
    assert NOON + datetime.timedelta(seconds=20) == counts.frontier == clicks.heartbeat
    assert ("relation", "active", ("clicks",), None) == (
        counts.kind,
        counts.state,
        counts.inputs,
        counts.error,
    )
    assert ("stream", "1 hour") == (con.queries["news"].kind, con.queries["news"].keep)
    rows = con.sql("SELECT name, kind, state, frontier, query FROM cql.queries").fetchall()
    found = [(q.name, q.kind, q.state, str(q.frontier), q.text) for q in con.queries.values()]
    assert rows == found


def test_what_was_returned_stays_as_it_was(con: cqlduck.Connection) -> None:
    con.execute(
        "CREATE STREAM s (a INTEGER); CREATE CONTINUOUS QUERY q AS SELECT a FROM s [ROWS 2]"
    )
    before = con.queries
    assert before["q"].frontier is None
    con.append("s", [(1,)], at=3)
    con.advance(3)
    con.execute("DROP CONTINUOUS QUERY q")
    assert before["q"].frontier is None
    assert 0 == len(con.queries)
    assert "no queries" == repr(con.queries)
    with pytest.raises(AttributeError):
        before["q"].state = "failed"  # type: ignore[misc]
    with pytest.raises(TypeError):
        before["q"].columns["b"] = "INTEGER"  # type: ignore[index]


def test_a_name_that_is_not_there(con: cqlduck.Connection) -> None:
    con.execute(SCRIPT)
    assert "clicks" not in con.queries
    assert con.queries.get("clicks") is None
    for error in (cqlduck.CatalogError, KeyError):
        with pytest.raises(error) as caught:
            con.queries["count"]
        assert "count is not among the queries\nhint: did you mean counts?" == str(caught.value)


def test_a_failed_query_says_why(con: cqlduck.Connection) -> None:
    con.execute(
        "CREATE STREAM s (a VARCHAR);"
        "CREATE CONTINUOUS QUERY q AS SELECT a::INTEGER AS n FROM s [NOW]"
    )
    con.append("s", [("<one>",)], at=3)
    con.advance(3)
    query = con.queries["q"]
    assert "failed" == query.state
    assert "<one>" in (query.error or "")
    assert "<one>" in repr(con.queries)
    assert "<one>" not in con.queries._repr_html_()


def test_a_connection_shows_itself(tmp_path: Path) -> None:
    path = tmp_path / "<i>a.duckdb"
    con = cqlduck.connect(path)
    assert str(path) in repr(con)
    assert [] == cells(con._repr_html_())
    con.execute(SCRIPT)
    assert "1 stream, 1 relation, 2 queries, frontier none" in repr(con)
    assert ["clicks", "Users", "counts", "news"] == [
        row[0] for row in cells(con._repr_html_()) if row[0] != "name"
    ]
    con.close()
    assert "closed" in repr(con)
    assert [] == cells(con._repr_html_())
    with pytest.raises(cqlduck.DatabaseError, match="closed"):
        _ = con.queries


WORDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=80)


@settings(max_examples=60)
@given(WORDS, st.dictionaries(WORDS, WORDS, min_size=1, max_size=3))
def test_any_text_is_shown_as_it_is(name: str, columns: dict[str, Any]) -> None:
    thing = Relation(name, columns, (), None, None, 1, None, None, 0, None)
    things = Inventory("relations", [thing])
    facts = {"name": name, "columns": ", ".join(f"{k} {v}" for k, v in columns.items())}
    head, row = cells(things._repr_html_())
    for fact, whole in facts.items():
        shown = row[head.index(fact)]
        assert shown == whole or shown == f"{whole[: MAX_CHARACTERS - 1]}…"
    one = dict(cells(thing._repr_html_())[1:])
    assert row[head.index("name")] == one["name"]
    assert name in repr(thing)
    assert 2 == len(repr(things).splitlines())
