"""Plans as values, JSON, pictures and SQL, and what EXPLAIN ANALYZE says was measured."""

import dataclasses
import json
import re
from collections.abc import Iterator

import pytest
import test_golden

import cqlduck
from cqlduck.queryplan import QueryPlan, model
from cqlduck.queryplan.model import PlanOperator
from cqlduck.streamon.measures import Measures

STREAMS = """
    CREATE STREAM s (k INTEGER, v INTEGER);
    CREATE RELATION r (k INTEGER, name VARCHAR, PRIMARY KEY (k));
"""
JOIN = (
    "SELECT name, sum(v) AS total FROM s [RANGE 10 SECONDS], r "
    "WHERE s.k = r.k AND v > 0 GROUP BY name"
)


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    with cqlduck.connect() as connection:
        connection.execute(STREAMS)
        connection.execute(f"CREATE CONTINUOUS QUERY q AS {JOIN}")
        yield connection


def measured(con: cqlduck.Connection) -> None:
    """Have all ticks be measured from now on."""
    con.engine.streamon.budget.fraction = 1e9


def by_kind(plan: QueryPlan, kind: str) -> PlanOperator:
    (found,) = (operator for operator in plan.operators if operator.kind == kind)
    return found


# -- values ---------------------------------------------------------------------------------------


def test_a_plan_is_a_graph_of_operators_with_what_they_keep_and_run(
    con: cqlduck.Connection,
) -> None:
    con.execute("CREATE CONTINUOUS QUERY other AS SELECT k FROM s [RANGE 3 SECONDS]")
    con.execute("CREATE CONTINUOUS QUERY top AS SELECT * FROM q ORDER BY total LIMIT 1")
    plan = con.plan("q")
    shown = con.sql(
        "SELECT number, id, kind, description FROM cql.operators WHERE query = 'q' ORDER BY number"
    )
    facts = [(o.number, o.id, o.kind, o.description) for o in plan.operators]
    assert facts == shown.fetchall()
    # a tree here: all but the root are an input once
    assert [*range(1, len(plan.operators))] == sorted(i for o in plan.operators for i in o.inputs)
    assert ("q", "relation", JOIN, plan.operators[0].id) == (
        plan.query, plan.kind, plan.body, plan.id
    )  # fmt: skip
    assert (("top",), "linear") == (plan.operators[0].readers, plan.operators[0].linearity)
    join, total = by_kind(plan, "binary-join"), by_kind(plan, "aggregate")
    assert ("multilinear", "non-linear") == (join.linearity, total.linearity)
    stream, relation = by_kind(plan, "stream"), by_kind(plan, "relation")
    assert [("other",), ()] == [stream.readers, relation.readers]
    (groups,), (store,) = total.synopses, stream.synopses
    assert ("groups", ("q",)) == (groups.kind, groups.readers)
    assert ("store", 'cql_state."stream_s"', ("q", "other")) == (
        store.kind, store.table, store.readers
    )  # fmt: skip
    assert "last" in (store.bound or "")
    # nothing is counted that nobody has asked for
    assert all(one.rows is None for o in plan.operators for one in o.synopses)
    assert None is plan.measured_ticks
    sql = dict(con.sql("SELECT number, sql FROM cql.operators WHERE query = 'q'").fetchall())
    for operator in plan.operators:
        texts = [f"-- in {one.ticks}\n{one.sql}" if one.ticks else one.sql
                 for one in operator.statements]  # fmt: skip
        assert ";\n\n".join(texts) == sql[operator.number]


def test_the_members_of_a_family_have_one_plan_each_under_its_own_name() -> None:
    with cqlduck.connect() as con:
        con.execute(STREAMS)
        text = "SELECT k, sum(v) AS total FROM s [RANGE 9 SECONDS] WHERE v > {} GROUP BY k"
        for number in range(3):
            con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {text.format(number)}")
        plans = [con.plan(f"q{number}") for number in range(3)]
        assert [("q0", "q1", "q2")] * 3 == [plan.family for plan in plans]
        assert [f"q{number}" for number in range(3)] == [plan.query for plan in plans]
        assert 3 == len({plan.id for plan in plans})
        assert plans[0].operators == plans[1].operators
        (groups,) = by_kind(plans[1], "aggregate").synopses
        assert ("q0", "q1", "q2") == groups.readers
        for plan in plans:
            assert con.sql(plan.sql()).fetchall()
            assert "q0, q1, q2" in plan.text or "q0" in plan.text


BLOCKS = [
    pytest.param(block.cql, id=f"{name}: {block.title}")
    for name in test_golden.FILES
    for block in test_golden.read(name)[:4]
]


@pytest.mark.parametrize("cql", BLOCKS)
def test_each_plan_can_be_shown_in_each_form(cql: str) -> None:
    with cqlduck.connect() as con:
        con.execute(test_golden.CATALOG)
        test_golden.register(con, cql)
        plan = con.plan("q", analyze=True)
        for operator in plan.operators:
            if operator.linearity != "non-linear":
                kinds = {one.kind for one in operator.synopses}
                # of these the log of what is read more than once, its base, and caches
                known = {"store", "log", "base", "trace", "cache", "content", "panes"}
                assert kinds <= known, operator
        assert con.sql(plan.sql()).fetchall()
        drawn(plan)
        assert json.loads(plan.json())["id"] == plan.id


# -- JSON, and back -------------------------------------------------------------------------------


def test_json_has_all_that_the_values_have(con: cqlduck.Connection) -> None:
    plan = con.plan("q")
    found = json.loads(plan.json())
    values = json.loads(json.dumps(dataclasses.asdict(plan)))
    del values["text"]
    assert {"version": 1, **values} == found


def test_a_query_is_registered_from_its_plan_to_the_same_ids(con: cqlduck.Connection) -> None:
    plan = con.plan("q")
    written = plan.json().replace("'", "''")
    con.execute("DROP CONTINUOUS QUERY q")
    con.execute(f"CREATE CONTINUOUS QUERY p WITH (keep = '7 days') FROM PLAN '{written}'")
    assert [o.id for o in plan.operators] == [o.id for o in con.plan("p").operators]
    con.append("r", [(1, "a")], at=0)
    con.append("s", [(1, 5)], at=1)
    con.advance(1)
    assert [("a", 5)] == con.table("p").fetchall()
    assert (
        "nothing"
        not in con.execute(
            f"EXPLAIN CREATE OR REPLACE CONTINUOUS QUERY p FROM PLAN '{written}'"
        ).fetchall()[0]
    )
    con.execute(f"CREATE CONTINUOUS QUERY IF NOT EXISTS p FROM PLAN '{written}'")


def test_a_plan_can_be_registered_again_however_its_answer_is_kept(con: cqlduck.Connection) -> None:
    """What a query computes is not how."""
    before = con.plan("q").id
    con.append("s", [(1, 5)], at=1)
    con.advance(1)
    con.pin("answer", "recomputed", "q")
    con.advance(2)
    plan = con.plan("q")
    assert "recomputed" in con.explain("q")
    assert plan.id == before
    written = plan.json().replace("'", "''")
    con.execute(f"CREATE CONTINUOUS QUERY p FROM PLAN '{written}'")
    assert con.plan("p").id == before


def test_a_plan_of_something_else_is_refused(con: cqlduck.Connection) -> None:
    written = con.plan("q").json().replace("'", "''")
    with cqlduck.connect() as other:
        # the ids of leaves are the numbers of inputs
        other.execute("CREATE STREAM first (k INTEGER)")
        other.execute(STREAMS)
        with pytest.raises(cqlduck.BindError, match="computes something else here") as caught:
            other.execute(f"CREATE CONTINUOUS QUERY q FROM PLAN '{written}'")
        assert 1 == caught.value.line
        assert [] == [*other.queries]


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "no object"),
        ("{}", "version None"),
        ('{"version": 2}', "version 2"),
        ('{"version": true}', "version True"),
        ('{"version": 1}', "no body"),
        ('{"version": 1, "body": 7, "id": "a"}', "no body"),
        ('{"version": 1, "body": "SELECT k FROM s"}', "no id"),
        ('{"version": 1, "body": "SELECT k FROM nowhere", "id": "a"}', "nowhere"),
    ],
)
def test_what_is_no_plan_is_refused(con: cqlduck.Connection, plan: str, said: str) -> None:
    text = f"CREATE CONTINUOUS QUERY p\nFROM PLAN '{plan}'"
    with pytest.raises(cqlduck.Error, match=said) as caught:
        con.execute(text)
    assert caught.value.hint or "nowhere" in said
    assert ["q"] == [*con.queries]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE CONTINUOUS QUERY p FROM 'x'",
        "CREATE CONTINUOUS QUERY p FROM PLAN",
        "CREATE CONTINUOUS QUERY p FROM PLAN x",
        "CREATE CONTINUOUS QUERY p FROM PLAN '{}' AS SELECT k FROM s",
        "EXPLAIN CONTINUOUS QUERY q AS",
        "EXPLAIN CONTINUOUS QUERY q AS PICTURE",
        "EXPLAIN ANALYZE CONTINUOUS QUERY q FROM",
        "EXPLAIN ANALYZE CONTINUOUS q",
        "EXPLAIN ANALYZE ANALYZE CONTINUOUS QUERY q",
    ],
)
def test_what_cannot_stand_there_is_refused(con: cqlduck.Connection, text: str) -> None:
    with pytest.raises(cqlduck.Error):
        con.execute(text)


def test_a_form_that_there_is_not_is_refused_at_its_place(con: cqlduck.Connection) -> None:
    with pytest.raises(cqlduck.ParseError, match="not shown as PICTURE") as caught:
        con.execute("EXPLAIN CONTINUOUS QUERY q\nAS picture")
    assert (2, 4) == (caught.value.line, caught.value.column)
    assert "AS MERMAID" in (caught.value.hint or "")


# -- pictures -------------------------------------------------------------------------------------

LABEL = r'"[^"]*"'
VERTEX = rf"(\w+)(?:\[\({LABEL}\)\]|\(\[{LABEL}\]\)|\[{LABEL}\])?"
LINK = rf"(?: (?:-->|-\.->|-\.-)(?:\|{LABEL}\|)? {VERTEX})?"
LINE = re.compile(rf"    {VERTEX}{LINK}")


def drawn(plan: QueryPlan) -> tuple[set[str], set[tuple[str, str]]]:
    """Return the vertices that have labels, and the links, of the picture of a plan."""
    first, *lines = plan.mermaid().rstrip("\n").splitlines()
    assert "flowchart BT" == first
    labelled, links = set(), set()
    for line in lines:
        found = LINE.fullmatch(line)
        assert found is not None, line
        begin, end = found[1], found[2]
        labelled |= {name for name in (begin, end) if name and re.search(rf"{name}[\[(]", line)}
        links |= {(begin, end)} if end else set()
    assert {name for link in links for name in link} <= labelled
    operators = {f"op{operator.number}" for operator in plan.operators}
    assert operators <= labelled
    below = {(f"op{i}", f"op{o.number}") for o in plan.operators for i in o.inputs}
    assert below | {("op0", "answer")} <= links
    return labelled, links


@pytest.mark.parametrize(
    "sign", ["\n", "\r\n", "\t", "\x01", "\x0b", "\x85", "\u2028", '"', "]", "'", "|", "<br/>", "é"]
)
def test_each_form_has_names_of_any_signs(sign: str) -> None:
    """Also as rows of EXPLAIN, which are the lines of the text."""
    s, k, q, r = (f'"{name}{sign.replace(chr(34), chr(34) * 2)}z"' for name in "skqr")
    with cqlduck.connect() as con:
        con.execute(f"CREATE STREAM {s} ({k} INTEGER, v INTEGER)")
        con.execute(f"CREATE CONTINUOUS QUERY {q} AS SELECT {k}, sum(v) AS t FROM {s} [RANGE 9] "
                    f"GROUP BY {k}")  # fmt: skip
        con.execute(f"CREATE CONTINUOUS QUERY {r} AS SELECT max(t) AS m FROM {q}")
        name = f"q{sign}z"
        plan = con.plan(name)
        drawn(plan)
        for form, text in (
            ("JSON", plan.json()), ("MERMAID", plan.mermaid()), ("SQL", plan.sql())
        ):  # fmt: skip
            shown = con.execute(f"EXPLAIN CONTINUOUS QUERY {q} AS {form}").fetchall()
            assert text.rstrip("\n") == "\n".join(line for (line,) in shown).rstrip("\n")
        assert name == json.loads(plan.json())["query"]
        assert len(con.sql(plan.sql()).fetchall()) >= len(plan.operators)
        written = plan.json().replace("'", "''")
        con.execute(f"CREATE CONTINUOUS QUERY p FROM PLAN '{written}'")
        assert plan.id == con.plan("p").id


def test_a_picture_has_operators_tables_and_readers(con: cqlduck.Connection) -> None:
    con.execute("CREATE CONTINUOUS QUERY top AS SELECT * FROM q ORDER BY total LIMIT 1")
    con.execute("CREATE CONTINUOUS QUERY other AS SELECT k FROM s [RANGE 3 SECONDS]")
    plan = con.plan("q")
    _, links = drawn(plan)
    stream, total = by_kind(plan, "stream").number, by_kind(plan, "aggregate").number
    assert {(f"op{stream}_s1", f"op{stream}"), (f"op{total}_s1", f"op{total}")} <= links
    readers = {end for begin, end in links if begin in ("answer", f"op{stream}")} - {
        f"op{o.number}" for o in plan.operators
    }
    assert 2 == len(readers)
    text = plan.mermaid()
    assert '(["top"])' in text
    assert '(["other"])' in text
    assert '(["q<br/>relation"])' in text
    assert "2 readers" in text
    bundle = plan._repr_mimebundle_()
    assert {"text/vnd.mermaid": text, "text/plain": plan.text} == bundle


SIGNS = """!"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\n\té"""


@pytest.mark.parametrize("sign", SIGNS)
def test_no_sign_of_a_query_is_one_of_the_picture(sign: str) -> None:
    quoted = sign.replace("'", "''")
    name = sign.replace('"', '""') if sign not in ".\n\t" else "x"
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v VARCHAR)")
        con.execute(
            f'CREATE CONTINUOUS QUERY "a{name}b" AS SELECT v AS "end{name}" FROM s [NOW] '
            f"WHERE v <> '{quoted}end{quoted} 1. --> {quoted};'"
        )
        (query,) = con.queries
        drawn(con.plan(query))


# -- what was measured ----------------------------------------------------------------------------


def test_analyze_counts_the_rows_of_the_last_ticks_and_what_is_kept(
    con: cqlduck.Connection,
) -> None:
    measured(con)
    con.pin("stages", "staged", "q")
    con.append("r", [(k, f"n{k}") for k in range(4)], at=0)
    con.advance(0)
    for at in range(1, 31):
        # of ten elements six have a partner, and three of these v > 0
        rows = [(k, v) for k in (0, 1, 2) for v in (0, 1)] + [(9, 1)] * 4
        con.append("s", rows if at > 10 else rows[:1], at=at)
        con.advance(at)
    plan = con.plan("q", analyze=True)
    assert 16 == plan.measured_ticks
    window = by_kind(plan, "seq-window").measures
    join, total = by_kind(plan, "binary-join"), by_kind(plan, "aggregate")
    assert window is not None
    assert join.measures is not None
    # ticks 15 to 30: 7 elements begin that have v > 0, in nine of them 7 others end
    assert 7 + 9 / 16 * 7 == window.rows_out == join.measures.rows_in
    assert 3 + 9 / 16 * 3 == join.measures.rows_out
    assert join.measures.selectivity == pytest.approx(3 / 7)
    assert min(one.measures.seconds for one in (join, total) if one.measures is not None) > 0
    (groups,), (store,) = total.synopses, by_kind(plan, "stream").synopses
    assert 3 == groups.rows
    assert con.sql("SELECT count(*) FROM cql_state.stream_s").fetchall() == [(store.rows,)]
    assert store.bytes is not None
    assert store.rows is not None
    assert store.rows * 4 <= store.bytes <= store.rows * 100
    assert re.search(r"operator \d, binary-join: .* rows in, .* rows out, selectivity", plan.text)
    assert "average of the last 16 that were measured" in plan.text
    assert con.explain("q", analyze=True).split("-- in a tick")[0] in plan.text
    assert "rows out" not in con.explain("q")
    listed = con.sql(plan.sql())
    numbers = listed.select("number, rows_in, rows_out, selectivity, seconds").fetchall()
    for number, *found in numbers:
        one = plan.operators[number].measures
        expected = [None] * 4 if one is None else [*dataclasses.astuple(one)]
        assert expected == found
    facts = listed.select("number, linearity, readers, synopsis, table_name, row_count, bytes")
    wanted = [
        (one.number, one.linearity, [*one.readers], kept.kind, kept.table, kept.rows, kept.bytes)
        for one in plan.operators
        for kept in one.synopses
    ]
    assert wanted == [row for row in facts.fetchall() if row[3] is not None]
    assert {one.number for one in plan.operators} == {row[0] for row in facts.fetchall()}
    drawn(plan)


def test_analyze_says_that_nothing_was_measured() -> None:
    with cqlduck.connect(adaptive=False) as con:
        con.execute("CREATE STREAM s (k INTEGER)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s [RANGE 3 SECONDS]")
        con.append("s", [(1,)], at=1)
        con.advance(1)
        plan = con.plan("q", analyze=True)
        assert (0, {None}) == (plan.measured_ticks, {o.measures for o in plan.operators})
        assert "no tick was measured yet" in plan.text
        assert len(plan.operators) == len(con.sql(plan.sql()).fetchall())


def test_changes_of_choices_are_told_with_their_reasons(con: cqlduck.Connection) -> None:
    con.append("r", [(1, "a")], at=0)
    con.append("s", [(1, 5)], at=1)
    con.advance(1)
    con.pin("stages", "whole", "q")
    con.append("s", [(1, 5)], at=2)
    con.advance(2)
    plan = con.plan("q", analyze=True)
    assert plan.changes
    change = plan.changes[0]
    assert ("stages", "staged", "whole", "user") == (
        change.point, change.before, change.after, change.chosen_by
    )  # fmt: skip
    assert f"tick {change.tick}: stages, staged → whole, user" in plan.text
    assert "stages: whole" in plan.mermaid()
    pinned = [one for one in plan.operators[0].choices if one.chosen_by == "user"]
    assert "whole" in {one.option for one in pinned}


@pytest.mark.parametrize("form", ["", " AS TEXT", " AS JSON", " AS MERMAID", " AS SQL"])
@pytest.mark.parametrize("analyze", [False, True])
def test_explain_shows_what_the_plan_says(
    con: cqlduck.Connection, form: str, analyze: bool
) -> None:
    word = "ANALYZE " if analyze else ""
    rows = con.execute(f"EXPLAIN {word}CONTINUOUS QUERY q{form}").fetchall()
    plan = con.plan("q", analyze=analyze)
    made = {"": plan.text, " AS TEXT": plan.text, " AS JSON": plan.json(),
            " AS MERMAID": plan.mermaid(), " AS SQL": plan.sql()}  # fmt: skip
    assert made[form].splitlines() == [line for (line,) in rows]


def test_a_plan_can_be_read_in_a_listener_and_of_what_has_failed(con: cqlduck.Connection) -> None:
    seen = []
    con.engine.on_tick.append(lambda _: seen.append(con.plan("q").id))
    con.append("r", [(1, "a")], at=0)
    con.append("s", [(1, 5)], at=1)
    con.advance(1)
    assert {con.plan("q").id} == set(seen)
    con.execute(
        "CREATE CONTINUOUS QUERY bad AS SELECT 1 // (v - v) + 'x'::INTEGER AS b FROM s [NOW]"
    )
    with pytest.raises(cqlduck.Error):
        con.plan("nothing")


# -- the documentation ----------------------------------------------------------------------------

PAGE = (test_golden.FOLDER.parent.parent / "docs" / "plans.md").read_text(encoding="utf-8")


def test_the_picture_of_the_documentation_is_that_of_its_query() -> None:
    statements = PAGE.split("## A picture")[1].split("```sql\n")[1].split("```")[0]
    picture = PAGE.split("```mermaid\n")[1].split("```")[0]
    with cqlduck.connect() as con:
        lines = con.execute(statements).fetchall()
    assert picture.splitlines() == [line for (line,) in lines]


def test_the_documentation_names_all_keys(con: cqlduck.Connection) -> None:
    found = json.loads(con.plan("q", analyze=True).json())
    listed = set(re.findall(r"`(\w+)`", PAGE.split("## Data")[1].split("## A query")[0]))
    operator = found["operators"][1]
    nested = {name for part in ("synopses", "statements") for name in operator[part][0]}
    fields = {f.name for kind in (model.PlanChoice, model.PlanChange, Measures)
              for f in dataclasses.fields(kind)}  # fmt: skip
    assert {*found} - {"version"} | {*operator} | nested | fields <= listed
