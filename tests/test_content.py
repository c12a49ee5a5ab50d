"""What each synopsis should hold, said again over what is below it: `con.check()`.

A synopsis that a tick keeps up to date row by row is compared with one SELECT that makes it anew.
So random scripts check the delta rules once more, and what is broken by hand is named.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import reference
import strategies
import test_differential
import test_sql_differential
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

import cqlduck
from cqlduck.rewrite.physical.statement import Synopsis
from cqlduck.rewrite.statements.content import Content, contents
from cqlduck.state.answers import create_member
from cqlduck.state.connection import Database
from cqlduck.state.input_buffer import Stay

INPUTS = """
    CREATE STREAM s (k INTEGER, v DOUBLE, t INTEGER) TIMESTAMP BY t;
    CREATE STREAM u (k INTEGER, w INTEGER, t INTEGER) TIMESTAMP BY t;
    CREATE RELATION r (k INTEGER, name VARCHAR);
"""

QUERIES = {
    # operator, over what: a query of which the first synopsis is meant
    ("seq-window", "`[ROWS n]`"): "SELECT k FROM s [ROWS 3] JOIN r USING (k)",
    ("seq-window", "`[PARTITION BY k ROWS n]`"): "SELECT * FROM s [PARTITION BY k ROWS 2]",
    ("seq-window", "`[ROWS 1]`"): "SELECT * FROM s [PARTITION BY k ROWS 1]",
    ("seq-window", "`[ROWS n SLIDE m]`"): "SELECT * FROM s [PARTITION BY k ROWS 3 SLIDE 2]",
    ("seq-window", "`[ROWS n RANGE w]`"): "SELECT * FROM s [PARTITION BY k ROWS 3 RANGE 4]",
    (
        "seq-window",
        "`[ROWS n RANGE w SLIDE s]`",
    ): "SELECT * FROM s [PARTITION BY k ROWS 3 RANGE 4 SLIDE 3]",
    ("aggregate", "`[RANGE w]`, `[NOW]`"): "SELECT k, sum(v) AS x FROM s [RANGE 6] GROUP BY k",
    ("aggregate", "`[RANGE w SLIDE s]`"): "SELECT k, min(v) FROM s [RANGE 6 SLIDE 4] GROUP BY k",
    ("aggregate", "`[HOP w EVERY s]`"): "SELECT k, sum(v) FROM s [HOP 6 EVERY 4] GROUP BY k",
    ("aggregate", "`[TUMBLE w]`"): (
        "SELECT x.k, x.n, r.name FROM (SELECT k, count(*) AS n, stddev(v) FROM s [TUMBLE 4] "
        "GROUP BY k) x JOIN r USING (k)"
    ),
    ("aggregate", "`[RANGE UNBOUNDED]`"): "SELECT k, max(v), sum(v), count(*) FROM s GROUP BY k",
    (
        "aggregate",
        "`[ROWS n]`",
    ): "SELECT k, median(v), sum(t) FROM s [PARTITION BY k ROWS 3] GROUP BY k",
    ("aggregate", "`[ROWS n SLIDE m]`"): (
        "SELECT k, count(*) FROM s [PARTITION BY k ROWS 3 SLIDE 2] GROUP BY k"
    ),
    ("aggregate", "a relation"): "SELECT name, count(*), max(k) FROM r GROUP BY name",
    ("aggregate", "an aggregate"): (
        "SELECT n, count(*) FROM (SELECT k, count(*) AS n FROM s [RANGE 6] GROUP BY k) GROUP BY n"
    ),
    (
        "duplicate-eliminate",
        "`[RANGE w]`, `[NOW]`",
    ): "SELECT DISTINCT k FROM s [RANGE 4] UNION SELECT w FROM u [NOW]",
    ("duplicate-eliminate", "`[RANGE UNBOUNDED]`"): "SELECT DISTINCT k FROM s WHERE v > 1",
    ("except, intersect", "`[RANGE w]`, `[NOW]`"): (
        "SELECT k FROM s [RANGE 8] EXCEPT ALL SELECT w AS k FROM u [RANGE 4]"
    ),
    ("except, intersect", "`[RANGE UNBOUNDED]`"): "SELECT k FROM s INTERSECT SELECT k FROM u",
    ("materialize", "a join of `[RANGE w]`"): (
        "SELECT x.k FROM (SELECT a.k FROM s [RANGE 6] a LEFT JOIN u [RANGE 6] b USING (k)) x "
        "JOIN r USING (k)"
    ),
    ("materialize", "an i-stream of `[RANGE w]`"): (
        "SELECT count(*) FROM (SELECT Istream(k) FROM s [RANGE 3] WHERE v > 2) [RANGE 9]"
    ),
    ("materialize", "an i-stream of an aggregate"): (
        "SELECT count(*) FROM (SELECT Istream(k, count(*) AS n) FROM s [RANGE 3] GROUP BY k) "
        "[RANGE 9]"
    ),
    ("materialize", "recompute"): (
        "SELECT x.k FROM (SELECT k, row_number() OVER (ORDER BY k) AS n FROM s [RANGE 6]) x "
        "JOIN r USING (k)"
    ),
    ("queries at boundaries", "`[TUMBLE w]`"): (
        "SELECT a.k, count(*) FROM s [TUMBLE 4] a JOIN u [TUMBLE 4] b USING (k) GROUP BY a.k"
    ),
    ("queries at boundaries", "`[HOP w EVERY s]`"): (
        "SELECT k, count(*), max(v) FROM s [HOP 8 EVERY 4] GROUP BY k"
    ),
}
"""For each operator and what it stands on a query that has its synopses."""

OWN = {"except, intersect": ("except", "intersect")}
"""Operators that `cql.operators` has other names for."""


def fill(con: cqlduck.Connection, upto: int = 22) -> None:
    """Let some time go by, in ticks of one instant and of several."""
    draw = random.Random(7)
    values = [1.5, -0.0, 0.1, 1e300, float("nan"), 2.0, 1e-40, None]
    con.append("r", [(k, f"n{k % 2}") for k in range(4)], at=0)
    con.append("r", [(1, "n1")], at=3)
    con.retract("r", [(2, "n0")], at=7)
    for to in (3, 7, 8, 16, upto):
        since = con.queries[next(iter(con.queries))].frontier
        instants = range(0 if since is None else since + 1, to + 1)
        # one key is there at the beginning alone
        keys = {t: 9 if t == 0 else draw.randrange(4) for t in instants}
        con.append("s", [(keys[t], draw.choice(values), t) for t in instants])
        con.append("u", [(draw.randrange(4), draw.randrange(4), t) for t in instants])
        con.advance(to)


def keep_stores(con: cqlduck.Connection) -> None:
    """Let the stores of streams forget nothing, so that more content can be had."""
    con.engine.progress.stay = lambda *_: Stay.STORED  # type: ignore[method-assign]
    con.engine.housekeeping._forget = lambda: None  # type: ignore[method-assign]


def lines(
    con: cqlduck.Connection, query: str | None = None, *, answers: bool = False
) -> list[dict[str, Any]]:
    """Return the lines of synopses, or of answers."""
    found = con.check(query)
    both = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    return [line for line in both if (line["kind"] == "answer") == answers]


def states(con: cqlduck.Connection, query: str | None = None) -> set[str]:
    """Return the states of synopses and answers."""
    return {state for (state,) in con.check(query).project("state").fetchall()}


@pytest.fixture
def queries(con: cqlduck.Connection) -> Iterator[dict[tuple[str, str], str]]:
    """Register them all, over stores that are kept; return their names."""
    keep_stores(con)
    con.execute(INPUTS)
    names = {key: f"q{number}" for number, key in enumerate(QUERIES)}
    for key, name in names.items():
        con.execute(f"CREATE CONTINUOUS QUERY {name} AS {QUERIES[key]}")
    return names


def test_each_operator_over_each_window_is_right(
    con: cqlduck.Connection, queries: dict[tuple[str, str], str]
) -> None:
    fill(con)
    for (operator, over), name in queries.items():
        found = lines(con, name)
        assert found, (operator, over)
        had = {line["state"] for line in found}
        past = (operator, over) == ("materialize", "an i-stream of an aggregate")
        assert had == ({"right", "cannot be had"} if past else {"right"}), (operator, over, found)


BROKEN = (
    ("aggregate", "`[RANGE w]`, `[NOW]`"),
    ("except, intersect", "`[RANGE w]`, `[NOW]`"),
    ("seq-window", "`[ROWS n SLIDE m]`"),
    ("materialize", "a join of `[RANGE w]`"),
    ("materialize", "an i-stream of `[RANGE w]`"),
    ("queries at boundaries", "`[HOP w EVERY s]`"),
)

GROWING = (
    ("aggregate", "`[RANGE UNBOUNDED]`"),
    ("aggregate", "`[TUMBLE w]`"),
    ("duplicate-eliminate", "`[RANGE UNBOUNDED]`"),
)


def test_a_row_too_few_and_one_too_many_are_seen(con: cqlduck.Connection) -> None:
    """The first line that says wrong is that of the synopsis: those above read it."""
    keep_stores(con)
    con.execute(INPUTS)
    for number, key in enumerate(BROKEN):
        con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {QUERIES[key]}")
    fill(con)
    base = con.engine.database
    tried = set()
    for line in lines(con):
        table = f'cql_state."{line["synopsis"]}"'
        tried.add(line["kind"])
        base.execute(f"CREATE OR REPLACE TEMP TABLE before AS FROM {table}")
        for broken in (
            f"DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table})",
            f"INSERT INTO {table} FROM {table} ORDER BY rowid DESC LIMIT 1",
            *_later(base, table),
        ):
            base.execute(broken)
            first = next(found for found in lines(con, line["query"]) if found["state"] == "wrong")
            assert (line["synopsis"], line["description"]) == (
                first["synopsis"],
                first["description"],
            )
            assert first["rows"] >= 1
            base.execute(f"DELETE FROM {table}")
            base.execute(f"INSERT INTO {table} FROM temp.before")
    assert tried == {"groups", "outliers", "counts", "rows", "trace", "content", "panes"}
    assert states(con) == {"right"}


def _later(base: Database, table: str) -> Iterator[str]:
    """Yield a statement that dates a row of a log after the frontier, if it is one."""
    if "_ts" in [name for name, *_ in base.rows(f"DESCRIBE {table}")]:
        yield f"UPDATE {table} SET _ts = 1000 WHERE rowid = (SELECT max(rowid) FROM {table})"


def test_a_sum_that_is_wrong_is_named_with_its_operator(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, sum(w) AS x FROM u [RANGE 50] GROUP BY k")
    fill(con)
    assert states(con) == {"right"}
    (line,) = lines(con)
    table = f'cql_state."{line["synopsis"]}"'
    con.engine.database.execute(f'UPDATE {table} SET "_cql_sum0" = -7 WHERE "u.k" = 1')

    (line,) = lines(con)
    assert ("q", 'aggregate: SUM("u.w") BY u.k', "groups", "wrong", 2, None) == tuple(
        line[name] for name in ("query", "description", "kind", "state", "rows", "reason")
    )


@pytest.mark.parametrize("text", ["k, v FROM s [RANGE 50]", "k, count(*) FROM s GROUP BY k"])
def test_an_element_too_many_shows_in_the_answer(con: cqlduck.Connection, text: str) -> None:
    con.execute(INPUTS)
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT {text}")
    fill(con)
    assert ["right"] == [line["state"] for line in lines(con, answers=True)]
    log = 'cql_state."changes_q"'
    con.engine.reading(everything=True)
    con.engine.database.execute(f"INSERT INTO {log} FROM {log} ORDER BY _ts DESC LIMIT 1")
    (line,) = lines(con, answers=True)
    assert ("q", None, "wrong", 1) == tuple(
        line[name] for name in ("query", "operator", "state", "rows")
    )
    assert "wrong" not in {line["state"] for line in lines(con)}


@pytest.mark.parametrize("damage", ["number", "projection"])
def test_a_member_with_another_place_in_its_family_shows(
    con: cqlduck.Connection, damage: str
) -> None:
    con.execute(INPUTS)
    for at in range(4):
        listed = "count(*) AS n" if at % 2 else "sum(w) AS n"
        con.execute(
            f"CREATE CONTINUOUS QUERY q{at} AS SELECT k, {listed} FROM u [RANGE 50] "
            f"WHERE w > {at} GROUP BY k"
        )
    fill(con)
    known = con.engine.catalogue
    (family,) = known.families.values()
    assert 4 == len(known.members_of(family))
    assert states(con) == {"right"}
    member = known.queries["q0"]
    if damage == "number":
        member.member = known.queries["q2"].member
    else:
        member.projection = known.queries["q1"].projection
    create_member(con.engine.database, con.engine.clock, member)
    wrong = {line["query"] for line in lines(con, answers=True) if line["state"] == "wrong"}
    assert {"q0"} == wrong
    assert {"wrong"} == {line["state"] for line in lines(con, "q0", answers=True)} - {"right"}
    assert {"right"} == {line["state"] for line in lines(con, "q1", answers=True)}
    assert {"right"} == {line["state"] for line in lines(con)}


def test_values_that_are_equal_but_not_the_same_are_told_apart(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT * FROM s [ROWS 1]")
    keep_stores(con)
    con.append("s", [(1, -0.0, 5)])
    con.advance(5)
    assert states(con) == {"right"}
    (line,) = lines(con)
    table = f'cql_state."{line["synopsis"]}"'
    con.engine.database.execute(
        f'CREATE TEMP TABLE other AS SELECT * REPLACE (0.0::DOUBLE AS "s.v") FROM {table}'
    )
    con.engine.database.execute(f"DELETE FROM {table}")
    con.engine.database.execute(f"INSERT INTO {table} FROM temp.other")
    assert states(con) == {"wrong"}


def test_what_a_synopsis_should_hold_can_take_its_place() -> None:
    """All are made anew in the middle, and the elements that come after are the same."""
    changes = []
    for renews in (False, True):
        with cqlduck.connect() as con:
            keep_stores(con)
            con.execute(INPUTS)
            for number, key in enumerate((*BROKEN, *GROWING)):
                con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {QUERIES[key]}")
            con.engine.on_tick.append(lambda _: None)  # elements are in the logs at once
            fill(con, 17)
            if renews:
                assert {"groups", "outliers", "counts", "rows", "trace", "content", "panes"} == {
                    kind for name in con.queries for kind in renew(con, name)
                }
            for t in (18, 19, 24):
                con.append("s", [(k, 0.5 * k, t) for k in range(3)])
                con.append("u", [(k, k + 1, t) for k in range(2)])
                con.advance(t)
            assert "wrong" not in states(con)
            changes.append({name: elements(con, name) for name in con.queries})
    assert changes[0] == changes[1]


def elements(con: cqlduck.Connection, name: str) -> list[str]:
    """Return the elements of a query; what is worked out of DOUBLEs, to some digits."""
    rounded = [
        tuple(f"{value:.9g}" if isinstance(value, float) else value for value in row)
        for row in con.changes(name).fetchall()
    ]
    return sorted(map(str, rounded))


def renew(con: cqlduck.Connection, name: str) -> Iterator[str]:
    """Put its content in the place of each synopsis of a query, from the top; yield their kinds."""
    con.engine.reading(everything=True)
    query, base = con.engine.query(name), con.engine.database
    compiled = con.engine.compiled[name]
    values = {"t1": query.frontier, "begin": query.begin_instant, "since": -(2**63)}
    for content in reversed(contents(name, compiled.plan, con.engine.clock, compiled.synopses)):
        if content.found is None:
            continue
        sql, table = content.query.sql("duckdb"), f'cql_state."{content.synopsis.name}"'
        given = {key: value for key, value in values.items() if f"${key}" in sql}
        base.execute(f"CREATE OR REPLACE TEMP TABLE anew AS {sql}", given)
        base.execute(f"DELETE FROM {table}")
        listed = ", ".join(f'"{c.name}"' for c in content.synopsis.columns)
        weighted = "_weight" in (c.name for c in content.synopsis.columns)
        copies = "" if weighted else ", range(_weight) AS copies(_cql_copy)"
        base.execute(f"INSERT INTO {table} SELECT {listed} FROM temp.anew{copies}")
        yield content.synopsis.kind


# -- what cannot be had ----------------------------------------------------------------------------


def test_what_a_store_has_forgotten_is_named(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s GROUP BY k")
    fill(con)
    (line,) = lines(con, "q")
    assert ("cannot be had", None) == (line["state"], line["rows"])
    assert line["reason"] == ("s has forgotten what came up to 21; all of it would have to be kept")


def test_what_stood_at_earlier_instants_is_kept_nowhere(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute(
        f"CREATE CONTINUOUS QUERY q AS {QUERIES['materialize', 'an i-stream of an aggregate']}"
    )
    fill(con)
    reasons = {line["kind"]: line["reason"] for line in lines(con) if line["reason"]}
    assert list(reasons) == ["trace"]
    assert "what stood there at earlier instants is not kept" in reasons["trace"]


def test_before_what_came_late_is_amended_nothing_can_be_said(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t LATE AMEND")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 9] GROUP BY k")
    con.append("s", [(1, 1), (2, 3)])
    con.advance(5)
    con.append("s", [(1, 2)])
    (line,) = lines(con)
    assert (line["state"], line["reason"]) == (
        "cannot be had",
        "late elements at 2 enter with the next tick",
    )
    con.advance(6)
    assert states(con) == {"right"}


def test_a_query_that_begins_late_or_has_not_begun_is_right(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s GROUP BY k")
    assert states(con) == {"right"}
    keep_stores(con)
    fill(con, 17)
    con.execute("CREATE CONTINUOUS QUERY p AS SELECT k, count(*) AS n FROM s GROUP BY k")
    assert states(con) == {"right"}
    con.append("s", [(1, 1.0, 20)])
    con.advance(22)
    assert states(con) == {"right"}
    assert [(1, 1)] == con.table("p").fetchall()


def test_a_query_over_a_query_reads_its_log(con: cqlduck.Connection) -> None:
    keep_stores(con)
    con.execute(INPUTS)
    con.execute("""
        CREATE CONTINUOUS QUERY below AS SELECT k, count(*) AS n FROM s [RANGE 4] GROUP BY k;
        CREATE CONTINUOUS QUERY came AS SELECT Istream(*) FROM below;
        CREATE CONTINUOUS QUERY above AS SELECT n, count(*) AS m FROM below GROUP BY n;
        CREATE CONTINUOUS QUERY last AS SELECT * FROM came [PARTITION BY k ROWS 2];
    """)
    fill(con)
    assert {"below", "above", "last"} == {line["query"] for line in lines(con)}
    assert states(con) == {"right"}


def test_nothing_changes(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, sum(v) AS x FROM s [RANGE 5] GROUP BY k")
    fill(con)
    con.engine.reading(everything=True)
    base = con.engine.database

    def everything() -> dict[str, str]:
        tables = base.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'cql_state'")
        return {t: str(base.rows(f'FROM cql_state."{t}" ORDER BY ALL')) for (t,) in tables}

    before = everything()
    assert states(con) == {"right"}
    assert before == everything()


def test_a_name_that_is_no_query_is_refused(con: cqlduck.Connection) -> None:
    with pytest.raises(cqlduck.CatalogError):
        con.check("nothing")


def test_a_listener_cannot_ask(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s GROUP BY k")
    told: list[str] = []

    def ask(_: object) -> None:
        with pytest.raises(cqlduck.Error) as caught:
            con.check()
        told.append(caught.value.message)

    con.engine.on_tick.append(ask)
    con.append("s", [(1, 1.0, 1)])
    con.advance(2)
    assert told
    assert all("check()" in message for message in told)


# -- the table of docs/operators.md ----------------------------------------------------------------

DOCS = Path(__file__).parents[1] / "docs" / "operators.md"


def table() -> dict[tuple[str, str], dict[str, str]]:
    """Return the table as {(operator, over what): {synopsis: whether it can be had}}."""
    _, _, text = DOCS.read_text().partition("| operator | over | synopsis |")
    found: dict[tuple[str, str], dict[str, str]] = {}
    for line in text.splitlines()[2:]:
        if not line.startswith("|"):
            break
        operator, over, kind, had = (cell.strip() for cell in line.strip("|").split("|"))
        found.setdefault((operator, over), {})[kind.strip("`")] = had
    return found


def had(content: Content, spans: dict[str, int | None]) -> str:
    """Say when the content of a synopsis can be had, of what stores keep for the plan's windows."""
    if content.reason is not None:
        return "no"
    for need in content.needs:
        if need.source.kind == "relation":
            continue
        is_trace = isinstance(need.source, Synopsis)
        span = need.source.reach if is_trace else spans[need.source.name]
        if span is None:
            continue
        if need.after is None or need.after.find(exp.Placeholder).this == "begin":
            return "while the store is whole"
        sql = f"SELECT {need.after.sql('duckdb')} FROM (SELECT $t1::BIGINT)"
        for frontier in range(60, 90):
            ((low,),) = duckdb.execute(sql, {"t1": frontier}).fetchall()
            # up to which instant a store may have been cut
            if frontier - span - 1 > low:
                return "while the store has the window"
    return "always"


def test_the_table_of_contents_is_that_of_the_code(
    con: cqlduck.Connection, queries: dict[tuple[str, str], str]
) -> None:
    said = {}
    for (operator, over), name in queries.items():
        compiled = con.engine.compiled[name]
        kinds = OWN.get(operator, (operator,))
        said[operator, over] = {
            found.synopsis.kind: had(found, compiled.spans)
            for found in contents(name, compiled.plan, con.engine.clock, compiled.synopses)
            if found.operator.split(":")[0] in kinds or operator.startswith("queries")
        }
    assert said == table()


# -- random ----------------------------------------------------------------------------------------


def never_wrong(con: cqlduck.Connection, name: str) -> None:
    found = lines(con, name)
    assert "wrong" not in {line["state"] for line in found}, found
    assert not any("DuckDB fails" in (line["reason"] or "") for line in found), found


def play(case: strategies.Case, keeps: bool, edge: reference.Edge) -> None:
    """Run a case's script; at its end no synopsis is wrong."""

    def read(con: cqlduck.Connection, name: str) -> None:
        never_wrong(con, name)

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if keeps:
            patch.setattr("cqlduck.progress.Progress.stay", lambda *_: Stay.STORED)
            patch.setattr("cqlduck.housekeeping.Housekeeping._forget", lambda *_: None)
        restarts = any(isinstance(step, strategies.Restart) for step in case.script)
        database = str(Path(folder) / "case.duckdb") if restarts else ":memory:"
        test_differential.play(case, database, read=read, window_edge=edge)


DRAWN: dict[str, st.SearchStrategy[Any]] = {
    "case": st.one_of(test_differential.ANY_CASE, test_sql_differential.ANY_CASE),
    "keeps": st.sampled_from([True, True, False]),
    "edge": st.sampled_from(["closed", "half_open"]),
}
"""Random scripts, whether the stores of streams are cut, and the edge of windows."""


@given(**DRAWN)
@settings(
    suppress_health_check=test_differential.QUIET,
    deadline=None,
    max_examples=fewer_if_brief(test_sql_differential.examples(0.12)),
)
def test_after_a_random_script_no_synopsis_is_wrong(
    case: strategies.Case, keeps: bool, edge: reference.Edge
) -> None:
    play(case, keeps, edge)
