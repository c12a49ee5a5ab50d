"""What the queue of a relation comes to, against a model, over values of all types.

The model goes through the instants one by one, and through the elements in the order of arrival. A
row is known by its number, so it is seen which of several equal rows stands.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws.text import written
from relation_model import Case, Element, Model
from sqlglot import exp

import cqlduck
from cqlduck.rewrite.operators import (
    bags,
    outcome,
    primary_key,
    primary_key_insertions,
    primary_key_once,
    primary_key_swap,
    relation,
)
from cqlduck.rewrite.operators.relation import Relation, Scratch
from cqlduck.rewrite.operators.search import INDEXED
from cqlduck.rewrite.plan import FOREVER, Column
from cqlduck.state import pending

GOLDEN = Path(__file__).parent / "golden" / "relations" / "relation.sql"

VALUES: dict[str, list[str | tuple[str, ...]]] = {
    "INTEGER": ["1", "2"],
    "DOUBLE": ["'nan'", ("'0'", "'-0'")],
    "FLOAT": [("'0'", "'-0'"), "'inf'"],
    "VARCHAR": ["''", "'x'"],
    "INTERVAL": [
        ("INTERVAL '1 month'", "INTERVAL '30 days'", "INTERVAL '720 hours'"),
        "INTERVAL '1 microsecond'",
    ],
    "DATE": ["'infinity'", "'-infinity'"],
    "TIMESTAMP": ["'infinity'", "'2013-01-01'"],
    "TIMESTAMP_NS": ["'2013-01-01 00:00:00.000000001'", "'2013-01-01 00:00:00.000000002'"],
    "TIMETZ": ["'01:00:00+01'", "'02:00:00+01'"],
    "INTEGER[]": ["[1, NULL]", "[]"],
    "INTEGER[2]": ["[1, NULL]", "[1, 2]"],
    "DOUBLE[]": [("[0::DOUBLE, NULL]", "['-0'::DOUBLE, NULL]"), "['nan'::DOUBLE]"],
    "INTERVAL[2]": [
        ("[INTERVAL '1 day', NULL]", "[INTERVAL '24 hours', NULL]"),
        "[NULL, INTERVAL '1 day']",
    ],
    "STRUCT(a INTEGER, b DOUBLE)": [
        "{'a': NULL, 'b': 'nan'}",
        ("{'a': 1, 'b': 0::DOUBLE}", "{'a': 1, 'b': '-0'::DOUBLE}"),
    ],
    "MAP(VARCHAR, INTEGER[])": ["MAP {'a': [1]}", "MAP {}"],
    "UNION(a INTEGER, b VARCHAR)": ["union_value(b := '1')", "union_value(a := 1)"],
    "VARIANT": ["1::VARIANT", "[1]::VARIANT"],
    "ENUM('a', 'b')": ["'a'", "'b'"],
    "BIT": ["'01'", "'10'"],
    "BLOB": ["'\\x00'::BLOB", "''::BLOB"],
    "UUID": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "HUGEINT": ["-170141183460469231731687303715884105728", "0"],
    "DECIMAL(38, 1)": ["0.1", "-0.1"],
    "JSON": ["'{}'", "'null'"],
}
"""Of each type two values that are different; NULL is a third one. Forms of a value are equal."""


@st.composite
def cases(draw: st.DrawFn, keyed: bool | None = None) -> Case:
    keyed = draw(st.booleans()) if keyed is None else keyed
    rows = st.tuples(st.integers(0, 2 if keyed else 0), st.integers(0, 2))
    unique = (lambda row: row[0]) if keyed else None
    held = draw(st.lists(rows, max_size=3, unique_by=unique))
    operations = "+-u" if keyed else "+-"
    elements = st.builds(Element, rows, st.integers(1, 4), st.sampled_from(operations))
    listed = draw(st.lists(elements, min_size=1, max_size=12))
    kind = draw(st.sampled_from(sorted(VALUES)))
    return Case(kind, keyed, tuple(held), tuple(listed), wide=keyed and draw(st.booleans()))


@pytest.fixture(scope="module")
def shell() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("CREATE SCHEMA cql_state")
    return con


def described(case: Case) -> Relation:
    names = ("k", "part", "v") if case.wide else ("k", "v")
    key = names[:-1] if case.keyed else ()
    return Relation(
        tuple(Column(name, case.type) for name in names), key, "store", "queue", "outcome"
    )


def values_of(case: Case, row: tuple[int, int], number: int) -> str:
    """Return the values of a row; two keys of two columns have the same first one.

    Which of its forms a value has follows from the number of the row.
    """
    values = [*VALUES[case.type], "NULL"]
    key = [(0, 0), (0, 1), (2, 0)][row[0]] if case.wide else row[:1]
    found = (values[place] for place in (*key, row[1]))
    return ", ".join(v if isinstance(v, str) else v[number % len(v)] for v in found)


def fill(shell: duckdb.DuckDBPyConnection, case: Case) -> None:
    listed = ", ".join(f"{c.name} {c.type}" for c in described(case).columns)
    shell.execute(
        f"CREATE OR REPLACE TABLE cql_state.store ({listed}, "
        "_cql_enter BIGINT, _cql_leave BIGINT, _cql_seq BIGINT);"
        f"CREATE OR REPLACE TABLE cql_state.queue ({listed}, "
        "_ts BIGINT, _op VARCHAR, _cql_seq BIGINT)"
    )
    rows = [f"({values_of(case, row, n)}, 0, {FOREVER}, {n})" for n, row in enumerate(case.held)]
    if rows:
        shell.execute(f"INSERT INTO cql_state.store VALUES {', '.join(rows)}")
    first = len(case.held)
    rows = [
        f"({values_of(case, e.row, first + n)}, {e.instant}, '{e.operation}', {first + n})"
        for n, e in enumerate(case.elements)
    ]
    shell.execute(f"INSERT INTO cql_state.queue VALUES {', '.join(rows)}")


QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


def make(shell: duckdb.DuckDBPyConnection, table: str, tree: exp.Expr, **values: int) -> None:
    text = tree.sql("duckdb")
    shell.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {text}", values or None)


def given_as(
    shell: duckdb.DuckDBPyConnection, case: Case, few: bool, lead: int = 0, copied: bool = True
) -> Relation:
    """Return a case's relation with what is known of its queue, which may be apart.

    Args:
        shell: The database.
        case: The case.
        few: Whether it is.
        lead: Which of the columns that can be looked for first is; and whether it has an index.
        copied: Whether the elements are copied, if they are few.
    """
    of = described(case)
    fill(shell, case)
    names = of.primary_key or tuple(c.name for c in of.columns)
    nulls = [
        name
        for name in names
        if shell.execute(f"SELECT count(*) FROM cql_state.queue WHERE {name} IS NULL").fetchone()
        != (0,)
    ]
    of = replace(of, matches_null=bool(nulls))
    if few:
        leads = [*(n for n in names if n in relation.plain(of.columns) and n not in nulls), None]
        turn, place = divmod(lead, len(leads))
        queue, has_index = "few" if copied else None, turn % 2 == 1 and leads[place] is not None
        of = replace(of, scratch=Scratch(queue, "held", "changed", leads[place], has_index))
        if has_index and case.type in INDEXED:
            shell.execute(f"CREATE INDEX by_lead ON cql_state.store ({leads[place]})")
        make(shell, "few", relation.queued(of), until=4)
        make(shell, "held", relation.candidates(of))
    return of


def carry_out(shell: duckdb.DuckDBPyConnection, of: Relation, law: exp.Expr, **values: int) -> None:
    """Do what an outcome says; what changes apart is what has changed in the store."""
    make(shell, "outcome", law, **({} if of.scratch else {"until": 4}) | values)
    before = shell.execute("FROM cql_state.store").fetchall()
    if of.scratch is not None:
        make(shell, "changed", outcome.changed_by_outcome(of))
    shell.execute(outcome.ends(of).sql("duckdb"))
    shell.execute(outcome.begins(of).sql("duckdb"))
    if of.scratch is not None:
        check_changed(shell, before, "_cql_rowid")


def check_changed(
    shell: duckdb.DuckDBPyConnection, before: list[tuple[object, ...]], others: str
) -> None:
    """Compare what changes apart, without columns that the store has not, with what has changed."""
    now = Counter(map(repr, shell.execute("FROM cql_state.store").fetchall()))
    now.subtract(map(repr, before))
    rows = shell.execute(f"SELECT * EXCLUDE ({others}) FROM changed").fetchall()
    assert Counter(map(repr, rows)) == +now


def check(shell: duckdb.DuckDBPyConnection, case: Case, tree: exp.Expr, **values: int) -> None:
    """Compare what a queue comes to with the model."""
    model = Model(case)
    used = {name.this for name in tree.find_all(exp.Placeholder)}
    values = {name: value for name, value in ({"until": 4} | values).items() if name in used}
    found = shell.execute(tree.sql("duckdb"), values).fetchall()
    rows = [*case.held, *(e.row for e in case.elements)]
    lives = [(n, enter, leave) for n, enter, leave, _ in found if leave is not None]
    wrong = Counter({(at, rows[n]): count for n, at, leave, count in found if leave is None})
    assert sorted(model.lives, key=repr) == sorted(lives, key=repr)
    assert dict(model.wrong) == dict(wrong)
    # what enters, or has no effect, is a row of the queue
    assert all(n >= len(case.held) for n, at, _, _ in found if at is not None)


def check_store(shell: duckdb.DuckDBPyConnection, case: Case) -> None:
    """Compare what the store has in the end with the model; it knows of the rows that changed."""
    found = shell.execute("SELECT _cql_seq, _cql_enter, _cql_leave FROM cql_state.store").fetchall()
    stay = [(n, 0, FOREVER) for n in range(len(case.held))]
    ends = {n: leave for n, enter, leave in Model(case).lives if enter is None}
    wanted = [(n, enter, ends.get(n, leave)) for n, enter, leave in stay]
    wanted += [life for life in Model(case).lives if life[1] is not None]
    assert sorted(wanted) == sorted(found)


@given(case=cases(), few=st.booleans(), lead=st.integers(0, 7), copied=st.booleans())
@settings(deadline=None, max_examples=fewer_if_brief(60), suppress_health_check=QUIET)
def test_the_store_becomes_what_the_model_says(
    shell: duckdb.DuckDBPyConnection, case: Case, few: bool, lead: int, copied: bool
) -> None:
    of = given_as(shell, case, few, lead, copied)
    carry_out(shell, of, (primary_key if case.keyed else bags).outcome(of))
    check_store(shell, case)


@given(case=cases(), few=st.booleans())
@settings(deadline=None, max_examples=fewer_if_brief(120), suppress_health_check=QUIET)
def test_a_queue_comes_to_what_the_model_says(
    shell: duckdb.DuckDBPyConnection, case: Case, few: bool
) -> None:
    of = given_as(shell, case, few)
    law = primary_key if case.keyed else bags
    check(shell, case, law.outcome(of))
    if not of.matches_null:
        check(shell, case, law.outcome(replace(of, matches_null=True)))
    if case.keyed and {e.operation for e in case.elements} == {"u"}:
        check(shell, case, primary_key.latest(of))


@given(case=cases(keyed=True), few=st.booleans(), upserts=st.booleans())
@settings(deadline=None, max_examples=fewer_if_brief(60), suppress_health_check=QUIET)
def test_a_queue_of_one_instant_comes_to_what_the_model_says(
    shell: duckdb.DuckDBPyConnection, case: Case, few: bool, upserts: bool
) -> None:
    others = {} if upserts else {"u": "+"}
    elements = tuple(
        replace(e, instant=3, operation=others.get(e.operation, e.operation)) for e in case.elements
    )
    case = replace(case, elements=elements)
    of = given_as(shell, case, few)
    check(shell, case, primary_key_once.outcome(of), instant=3)
    if not upserts:
        check(shell, case, primary_key_once.without_upserts(of), instant=3)


def is_a_swap(case: Case) -> bool:
    """Return whether each key swaps its tuple at most, or is given what it gives up."""
    held = {row[0]: row for row in case.held}
    for key in {e.row[0] for e in case.elements}:
        mine = [(e.row == held.get(key), e.operation) for e in case.elements if e.row[0] == key]
        goes, comes = mine.count((True, "-")), mine.count((False, "+"))
        gives_up = len(mine) == 2 * goes and mine.count((True, "+")) == goes
        swaps = len(mine) == goes + comes and goes <= 1 and comes <= 1
        if not gives_up and not (swaps and (goes or key not in held)):
            return False
    return True


def of_one_instant(case: Case, *, least: bool) -> Case:
    """Return a case of one instant without upserts; with `least`, of swaps alone if it has any."""
    signs = {"u": "+"}
    elements = [
        replace(e, instant=3, operation=signs.get(e.operation, e.operation)) for e in case.elements
    ]
    swaps: list[Element] = []
    while least and elements:
        # most queues of many elements are of another kind; what a key gives up it may be given
        one = elements.pop(0)
        back = replace(one, operation="+" if one.operation == "-" else "-")
        more = ((one,), (one, back))
        swaps += next((m for m in more if is_a_swap(replace(case, elements=(*swaps, *m)))), ())
    return replace(case, elements=tuple(swaps or elements or (Element((0, 0), 3, "+"),)))


@given(case=cases(keyed=True), lead=st.integers(0, 7), copied=st.booleans(), least=st.booleans())
@settings(deadline=None, max_examples=fewer_if_brief(120), suppress_health_check=QUIET)
def test_tuples_in_the_place_of_others_are_what_the_model_says(
    shell: duckdb.DuckDBPyConnection, case: Case, lead: int, copied: bool, least: bool
) -> None:
    case = of_one_instant(case, least=least)
    of = given_as(shell, case, True, lead, copied)
    make(shell, "changed", primary_key_swap.changed(of), instant=3)
    found = shell.execute(primary_key_swap.exceptions(of).sql("duckdb")).fetchall()
    assert is_a_swap(case) == all(is_unchanged for (is_unchanged,) in found)
    if not is_a_swap(case):
        return
    before = shell.execute("FROM cql_state.store").fetchall()
    if found:
        shell.execute(primary_key_swap.unchanged(of).sql("duckdb"))
    shell.execute(outcome.ends(of).sql("duckdb"))
    shell.execute(outcome.begins(of).sql("duckdb"))
    check_store(shell, case)
    assert not Model(case).wrong
    check_changed(shell, before, "_cql_rowid, _cql_held, _cql_same")


@given(case=cases(keyed=True), lead=st.integers(0, 7), least=st.booleans())
@settings(deadline=None, max_examples=fewer_if_brief(120), suppress_health_check=QUIET)
def test_insertions_enter_as_they_are_where_their_keys_are_free(
    shell: duckdb.DuckDBPyConnection, case: Case, lead: int, least: bool
) -> None:
    elements = [replace(e, operation="+") for e in case.elements]
    if least:
        elements = list({e.row[0]: e for e in elements}.values())
        keys = {e.row[0] for e in elements}
        case = replace(case, held=tuple(row for row in case.held if row[0] not in keys))
    case = replace(case, elements=tuple(elements))
    of = given_as(shell, case, True, lead)
    make(shell, "changed", outcome.changed_by_insertions(of), until=4)
    found = shell.execute(primary_key_insertions.occupied(of).sql("duckdb")).fetchall()
    keys = Counter(row[0] for row in (*case.held, *(e.row for e in case.elements)))
    there = {row[0] for row in case.held}
    others = {e.row[0] for e in case.elements if keys[e.row[0]] > 1}
    assert len(others) == len(found)
    assert all(number < len(case.held) + len(elements) for (number,) in found)
    if not others:
        assert not there & {e.row[0] for e in case.elements}
        before = shell.execute("FROM cql_state.store").fetchall()
        shell.execute(outcome.begins(of).sql("duckdb"))
        check_store(shell, case)
        assert not Model(case).wrong
        check_changed(shell, before, "_cql_rowid")


@given(case=cases(keyed=True), least=st.booleans())
@settings(deadline=None, max_examples=fewer_if_brief(120), suppress_health_check=QUIET)
def test_of_many_insertions_it_is_asked_in_parts_whether_keys_are_free(
    shell: duckdb.DuckDBPyConnection, case: Case, least: bool
) -> None:
    elements = [replace(e, operation="+") for e in case.elements]
    if least:
        elements = list({e.row[0]: e for e in elements}.values())
    case = replace(case, elements=tuple(elements))
    of = given_as(shell, case, False)
    due = [e.row[0] for e in elements]

    def asked(law: Callable[[Relation], exp.Expr]) -> list[tuple[object, ...]]:
        return shell.execute(law(of).sql("duckdb"), {"until": 4}).fetchall()

    assert bool({row[0] for row in case.held} & set(due)) == bool(
        asked(primary_key_insertions.existing)
    )
    are_different = len(set(due)) == len(due)
    assert are_different == (not asked(primary_key_insertions.doubled))
    if set(of.primary_key) <= set(relation.plain(of.columns)):
        ((is_greater,),) = asked(primary_key_insertions.ascending)
        assert are_different or not is_greater


def test_what_is_loaded_first_becomes_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "MAX_SCRATCH_ELEMENTS", 3)
    texts: list[str] = []
    query = "CREATE CONTINUOUS QUERY q{0} AS SELECT k, v FROM r{0}"

    def shown(con: cqlduck.Connection) -> list[list[tuple[object, ...]]]:
        return [sorted(con.table(f"q{n}").fetchall()) for n in range(3)]

    with cqlduck.connect(tmp_path / "a.duckdb", trace=lambda sql, _: texts.append(sql)) as con:
        for number, key in enumerate(("", "PRIMARY KEY (k)", "PRIMARY KEY (k, v)")):
            con.execute(f"CREATE RELATION r{number} (k INTEGER, v VARCHAR) {key}")
            con.execute(query.format(number))
            con.append(f"r{number}", [(k, str(k)) for k in range(9)], at=1)
        con.advance(1)
        assert not any('INSERT INTO cql_state."relation_r' in text for text in texts)
        assert not any("GROUP BY" in text and "pending_r" in text for text in texts)
        assert [[(k, str(k)) for k in range(9)]] * 3 == shown(con)
        # what comes then goes into a store that is there
        for number in range(3):
            con.retract(f"r{number}", [(k, str(k)) for k in range(5)], at=2)
            con.append(f"r{number}", [(k, "new") for k in range(4)], at=2)
            con.append(f"r{number}", [(k, str(k)) for k in range(20, 26)], at=3)
            con.append(f"r{number}", [(30, "later")], at=9)
        con.advance(4)
    with cqlduck.connect(tmp_path / "a.duckdb") as con:
        left = [(k, str(k)) for k in (*range(5, 9), *range(20, 26))]
        assert [sorted([*left, *((k, "new") for k in range(4))])] * 3 == shown(con)
        assert [] == con.sql("FROM cql.late").fetchall()
        comments = con.sql(
            "SELECT DISTINCT comment FROM duckdb_tables() WHERE table_name LIKE 'relation_r%'"
        )
        assert [("The store of a relation: tuples from when until when.",)] == comments.fetchall()
        con.advance(9)
        assert all((30, "later") in rows for rows in shown(con))


def test_many_insertions_leave_what_is_for_later(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "MAX_SCRATCH_ELEMENTS", 3)
    con.execute("CREATE RELATION r (k INTEGER) PRIMARY KEY (k)")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM r")
    con.append("r", [(k,) for k in range(5)], at=1)
    con.append("r", [(k,) for k in range(5, 9)], at=4)
    for until, there in ((1, 5), (3, 5), (4, 9)):
        con.advance(until)
        assert [(k,) for k in range(there)] == sorted(con.table("q").fetchall())


@given(case=cases())
@settings(deadline=None, max_examples=25, suppress_health_check=QUIET)
def test_the_content_with_what_is_pending_is_what_the_store_will_hold(
    shell: duckdb.DuckDBPyConnection, case: Case
) -> None:
    fill(shell, case)
    of = described(case)
    law = primary_key if case.keyed else bags
    shell.execute(
        f"CREATE OR REPLACE TEMP TABLE outcome AS {law.outcome(of).sql('duckdb')}", {"until": 4}
    )
    shown = outcome.content(of, 4, judged=True).sql("duckdb")
    before = shell.execute(f"SELECT k::VARCHAR, v::VARCHAR FROM ({shown})").fetchall()
    for tree in (outcome.ends(of), outcome.begins(of)):
        shell.execute(tree.sql("duckdb"))
    shell.execute(outcome.resolved(of).sql("duckdb"), {"until": 4})
    after = shell.execute(
        f"SELECT k::VARCHAR, v::VARCHAR FROM cql_state.store WHERE _cql_leave = {FOREVER}"
    ).fetchall()
    assert Counter(before) == Counter(after)
    assert [(0,)] == shell.execute("SELECT count(*) FROM cql_state.queue").fetchall()


@pytest.mark.parametrize("type_name", sorted(VALUES))
def test_values_of_any_type_pass_through_a_relation_as_they_came(
    con: cqlduck.Connection, type_name: str
) -> None:
    one, other = (v if isinstance(v, str) else v[-1] for v in VALUES[type_name])
    con.execute(f"""
        CREATE RELATION r (k INTEGER, v {type_name}) PRIMARY KEY (k);
        CREATE RELATION w (k {type_name}, v INTEGER) PRIMARY KEY (k);
        CREATE CONTINUOUS QUERY q AS SELECT k, CAST(v AS VARCHAR) AS v FROM r;
        CREATE CONTINUOUS QUERY p AS SELECT CAST(k AS VARCHAR) AS k, v FROM w;
        INSERT INTO r VALUES (1, {one}), (2, {other});
        INSERT INTO w VALUES ({one}, 1), ({other}, 2);
    """)
    con.advance(1)
    con.execute(f"UPDATE r SET v = {other} WHERE k = 1; DELETE FROM w WHERE v = 2")
    con.advance(2)
    con.execute(f"DELETE FROM r WHERE k = 2; UPDATE w SET v = 3; INSERT INTO w VALUES ({one}, 4)")
    con.advance(3)
    texts = duckdb.sql(
        f"SELECT CAST(CAST({one} AS {type_name}) AS VARCHAR), "
        f"CAST(CAST({other} AS {type_name}) AS VARCHAR)"
    ).fetchall()[0]
    assert [(1, texts[1])] == con.table("q").fetchall()
    assert [(texts[0], 3)] == con.table("p").fetchall()
    assert [("w", "is a second row under its primary key", 1)] == (
        con.sql("SELECT input, reason, occurrences FROM cql.late").fetchall()
    )


def test_the_copy_that_enters_first_leaves_first(con: cqlduck.Connection) -> None:
    """Zeros are equal, and each is shown as it came."""
    con.execute("""
        CREATE RELATION r (a DOUBLE);
        CREATE CONTINUOUS QUERY q AS SELECT CAST(a AS VARCHAR) AS a FROM r;
    """)
    con.append("r", [(-0.0,), (0.0,)], at=[5, 3])
    con.advance(6)
    con.retract("r", [(0.0,)], at=9)
    con.advance(9)
    assert [("-0.0",)] == con.table("q").fetchall()
    assert [(3,)] == con.sql("SELECT elements FROM cql.relations").fetchall()


@pytest.mark.parametrize("kind", ["DOUBLE", "STRUCT(a DOUBLE)", "DOUBLE[1]", "DOUBLE[]"])
def test_a_row_that_ends_has_its_own_value(con: cqlduck.Connection, kind: str) -> None:
    """Zeros are equal, and what is deleted is shown as it was inserted."""
    zeros = {
        "DOUBLE": (-0.0, 0.0),
        "STRUCT(a DOUBLE)": ({"a": -0.0}, {"a": 0.0}),
        "DOUBLE[1]": ([-0.0], [0.0]),
        "DOUBLE[]": ([-0.0], [0.0]),
    }[kind]
    con.execute(f"""
        CREATE RELATION r (k INTEGER, v {kind}) PRIMARY KEY (k);
        CREATE CONTINUOUS QUERY q AS SELECT k, CAST(v AS VARCHAR) AS v FROM r;
    """)
    con.append("r", [(1, zeros[0]), (2, zeros[0]), (3, zeros[0])], at=1)
    con.advance(1)
    con.retract("r", [(1, zeros[1]), (2, zeros[1]), (3, zeros[1])], at=2)
    con.append("r", [(2, None), (3, zeros[1])], at=2)
    con.advance(2)
    found = [(k, v, weight) for k, v, _, weight in con.changes("q", since=1).fetchall()]
    assert {(1, -1), (2, -1), (2, 1)} == {(k, weight) for k, _, weight in found}
    assert all("-0.0" in v for _, v, weight in found if weight < 0)
    # the one that is given up and got again stays as it was
    assert [(2, None), (3, next(v for k, v, w in found if w < 0))] == sorted(
        con.table("q").fetchall()
    )


def test_a_key_may_change_at_thousands_of_instants_of_one_tick(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION r (k INTEGER, v INTEGER) PRIMARY KEY (k);
        CREATE CONTINUOUS QUERY q AS SELECT v FROM r;
    """)
    many = 3000
    con.append("r", [(1, n) for n in range(many)], at=list(range(many)))
    con.retract("r", [(1, n) for n in range(many - 1)], at=list(range(1, many)))
    con.append("r", [(1, -1) for _ in range(many)], at=list(range(many)))
    con.advance(many)
    assert [(many - 1,)] == con.table("q").fetchall()
    assert [(many,)] == con.sql("SELECT sum(occurrences)::INTEGER FROM cql.late").fetchall()


def test_few_changes_of_one_instant_run_no_more_than_they_need() -> None:
    texts: list[str] = []
    with cqlduck.connect(trace=lambda sql, _: texts.append(sql), threads=1) as con:
        con.execute("""
            CREATE RELATION r (k INTEGER, v INTEGER) PRIMARY KEY (k);
            CREATE CONTINUOUS QUERY q AS SELECT k, v FROM r;
        """)
        con.append("r", [(1, 1), (2, 2), (3, 3)], at=1)
        con.advance(1)

        def run(at: int, *statements: str) -> list[str]:
            con.execute(";".join(statements))
            texts.clear()
            con.advance(at)
            made = [text for text in texts if "_cql_few" in text or "_cql_changed" in text]
            assert not any("_cql_outcome" in text for text in texts)
            return [text for text in made if "MACRO" not in text]

        mixed = run(2, "UPDATE r SET v = 9 WHERE k = 1", "DELETE FROM r WHERE k = 2",
                    "INSERT INTO r VALUES (4, 4)")  # fmt: skip
        assert not any(
            "RECURSIVE" in text or '"k" IS NOT DISTINCT FROM s' in text for text in mixed
        )
        comes, goes = run(3, "INSERT INTO r VALUES (5, 5)"), run(4, "DELETE FROM r WHERE k = 5")
        # no row ends where one comes, none enters where one goes
        assert [4, 3, 3] == [len(mixed), len(comes), len(goes)]
        assert [(1, 9), (3, 3), (4, 4)] == sorted(con.table("q").fetchall())


@pytest.mark.parametrize("few", [0, 10_000])
def test_many_changes_come_to_the_same_as_few(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(pending, "MAX_SCRATCH_ELEMENTS", few)
    con.execute("""
        CREATE RELATION r (k INTEGER, v INTEGER) PRIMARY KEY (k);
        CREATE CONTINUOUS QUERY q AS SELECT k, v FROM r;
    """)
    con.append("r", [(k, k) for k in range(9)], at=1)
    con.append("r", [(2, 7), (None, 1), (None, 2)], at=2)
    con.retract("r", [(2, 2), (3, 3), (3, 4)], at=2)
    con.retract("r", [(5, 5)], at=3)
    con.advance(5)
    kept = [(k, k) for k in (0, 1, 4, 6, 7, 8)]
    assert sorted([*kept, (2, 7), (None, 1)], key=repr) == sorted(
        con.table("q").fetchall(), key=repr
    )
    assert [("{'k': 3, 'v': 4}", 1), ("{'k': NULL, 'v': 2}", 1)] == con.sql(
        "SELECT element, occurrences::INTEGER FROM cql.late ORDER BY ALL"
    ).fetchall()


EXAMPLE = Relation(
    (Column("k", "INTEGER"), Column("name", "VARCHAR")), ("k",), "relation_r", "pending_r"
)
SCRATCH = replace(
    EXAMPLE,
    primary_key=("k", "name"),
    matches_null=False,
    scratch=Scratch("few", "held", "ends", "k"),
)
STATEMENTS = {
    "few elements are set apart": relation.queued(EXAMPLE),
    "insertions into a bag need no judging": outcome.insert_pending(EXAMPLE),
    "nor do those of one instant": outcome.insert_at_once(EXAMPLE),
    "many insertions by an ascending key": primary_key_insertions.ascending(
        replace(SCRATCH, scratch=None)
    ),
    "many insertions of one key": primary_key_insertions.doubled(EXAMPLE),
    "many insertions of a key that is there": primary_key_insertions.existing(EXAMPLE),
    "rows end": outcome.ends(EXAMPLE),
    "rows enter": outcome.begins(EXAMPLE),
    "the queue is resolved": outcome.resolved(EXAMPLE),
    "what has no effect": outcome.without_effect(EXAMPLE),
    "rows of few elements": relation.candidates(SCRATCH),
    "what few elements change": outcome.changed_by_outcome(SCRATCH),
    "what few insertions into a bag change": outcome.changed_by_insertions(SCRATCH),
    "the same of insertions in memory": outcome.changed_by_buffer(SCRATCH),
    "keys that get what they give up": primary_key_swap.unchanged(SCRATCH),
    "rows end by what changes": outcome.ends(SCRATCH),
    "rows enter by what changes": outcome.begins(SCRATCH),
    "the content with what is pending": outcome.content(EXAMPLE, 7, judged=True),
}


def test_statements_are_the_golden_ones(request: pytest.FixtureRequest) -> None:
    """What a queue comes to is in `laws/`."""
    text = "\n".join(f"-- title: {t}\n{written(tree)};\n" for t, tree in STATEMENTS.items())
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("kind", ["INTEGER[2]", "STRUCT(a INTEGER[2])", "INTEGER[2][]"])
def test_arrays_under_a_primary_key_are_what_was_appended_last(kind: str) -> None:
    """DuckDB fails at a NULL that an array has on the right of a LEFT JOIN."""
    arrays = [[1, 2], [1, None], [2, 1]]
    known = {
        "INTEGER[2]": arrays,
        "STRUCT(a INTEGER[2])": [{"a": one} for one in arrays],
        "INTEGER[2][]": [[one, one] for one in arrays],
    }[kind]
    chance = random.Random(1)
    with cqlduck.connect() as con:
        con.execute(f"CREATE RELATION r (k INTEGER, v {kind}) PRIMARY KEY (k)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, v FROM r")
        there: dict[int, object] = {}
        for instant in range(1, 12):
            keys = chance.sample(range(6), chance.randrange(1, 4))
            went = {k: there.pop(k) for k in keys if k in there}
            if went:
                con.retract("r", list(went.items()), at=instant)
            come = {k: chance.choice([*known, None]) for k in keys}
            con.append("r", list(come.items()), at=instant)
            there.update(come)
            con.advance(instant)
            found = {k: v for k, v in con.table("q").fetchall()}
            shown = {k: _lists(v) for k, v in found.items()}
            assert there == shown


def _lists(value: object) -> object:
    """Return a value with a list in the place of each tuple, as which DuckDB gives an array."""
    if isinstance(value, dict):
        return {name: _lists(inner) for name, inner in value.items()}
    return [_lists(inner) for inner in value] if isinstance(value, (list, tuple)) else value
