"""The strategies reach every construct, and what they draw is well formed."""

import re
from collections import Counter

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from kinds import KINDS
from reference import (
    Hop,
    Now,
    PartitionRows,
    Query,
    Range,
    Relation,
    Rows,
    Sampled,
    Stream,
    Tumble,
    Unbounded,
    net_elements,
    yields_stream,
)
from strategies import (
    Advance,
    Append,
    Case,
    FromItem,
    Register,
    Restart,
    Select,
    cases,
    declaration,
    registration,
    render_cql,
    render_sql,
    render_window,
)

AGGREGATE = r"\b(count|sum|avg|min|max)\("
EVERYTHING = {"wide": True, "extremes": True, "disorder": True, "timestamp_by": True}


@pytest.mark.parametrize("name", KINDS)
def test_forms_are_of_the_kind_that_they_say(name):
    kind = KINDS[name]
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t (x {kind.type})")
    con.executemany("INSERT INTO t VALUES (?)", [(value,) for value in kind.values])
    forms = [*kind.forms, *((f"{{}} = {literal}", "bool") for literal in kind.literals)]
    for form, becomes in [*forms, (kind.literal, name)]:
        text = form.replace("{other}", "x").replace("{}", "x")
        (found,) = con.sql(f"SELECT {text} FROM t").types
        # sums of decimals have more digits
        assert KINDS[becomes].type == re.sub(r"\(1\d,2\)", "(9,2)", str(found)), text
    assert any(becomes == name for _, becomes in kind.forms)


def drawn(check, n, **options):
    """Run `check` on n cases, the same ones each time."""
    quick = settings(
        max_examples=n,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(1)(quick(given(cases(**options))(check)))()


def all_legs(query):
    """Yield each leg of a query and its subqueries, as (query, source, window)."""
    for source, spec in query.legs:
        yield query, source, spec
        if isinstance(source, Query) and source.inline:
            yield from all_legs(source)


def window_names(spec):
    """Return what the window is called, and its options; a sample is one more name."""
    if isinstance(spec, Sampled):
        return {"Sampled"} | window_names(spec.window)
    names = {type(spec).__name__}
    if isinstance(spec, Range | Rows) and spec.slide is not None:
        names.add(type(spec).__name__ + " slide")
    if isinstance(spec, PartitionRows) and spec.range is not None:
        names.add("PartitionRows range")
    if spec is not None and spec.where is not None:
        names.add("window where")
    return names


def constructs(case):
    """Return what the case has in it, found in its structure and its text."""
    found = set()
    for query in case.queries:
        text = query.cql
        stream_to = re.search(r"\b(istream|dstream|rstream)\(", text[:20], re.IGNORECASE)
        around = stream_to and text.lower().startswith(stream_to[1].lower())
        found.add(f"{query.r2s or 'relation'} {'named' if stream_to else 'by default'}")
        found.add("operator around" if around else "operator in the list" if stream_to else "")
        found.add("later" if query.registered_at is not None else "from the beginning")
        found.add(f"{len(query.legs)} legs")
        for pattern in (
            *(r"\bUSING \(", r"\bON \w+\.k = \w+\.k", r"\bON\b[^()]*? (<|<=|<>|>) \w+\.\w+"),
            *(r"\bWHERE\b", r"\bGROUP BY\b", r"\bGROUP BY ALL\b", r"\bHAVING\b", r"\bUNION ALL\b"),
            *(r"\bSELECT DISTINCT\b", r"(?i)stream\(DISTINCT\b", r"SELECT \*", r"(?i)stream\(\*\)"),
            *(r"\bcount\(\*\)", r"\bcount\(\w", r"\bsum\(", r"\bavg\(", r"\bmin\(", r"\bmax\("),
            *(r"\bAND\b", r"\bOR\b", r"\bCASE\b", r"\bIS NOT DISTINCT FROM\b", r"\bINNER JOIN\b"),
            *(r"\bs\d \[[^]]*\] AS x", r"\bs\d \[[^]]*\] x", r"\bs\d AS x\d+ \[", r"\bs\d x\d+ \["),
            *(r"\)( AS)? x\d+ \[|\) \[", r"(?i)\[rows unbounded", r"(?i)\[rows \d"),
            *(r"(?i)\[rows \d+ preceding", r"(?i)\[range \d+ seconds", r", (s|r|q)\d"),
        ):
            if re.search(pattern, text):
                found.add(pattern)
        aggregated = re.search(AGGREGATE, query.sql) is not None
        if aggregated and "GROUP BY" not in query.sql:
            found.add("global aggregate")
        for reader, source, spec in all_legs(query):
            if yields_stream(source):
                found |= window_names(spec)
            if isinstance(source, Relation):
                found.add("relation in FROM")
            if isinstance(source, Query):
                kind = "stream" if source.r2s else "relation"
                found.add(f"{'subquery' if source.inline else 'named'} {kind} in FROM")
                if kind == "stream" and not source.inline:
                    found.add(f"{type(spec).__name__} on a named stream")
                inner = re.search(AGGREGATE, source.sql) is not None
                if source.inline and inner:
                    found.add("aggregate in a subquery")
                    if re.search(AGGREGATE, reader.sql):
                        found.add("aggregate of an aggregate")
                    if len(reader.legs) > 1 and "UNION" not in reader.sql:
                        found.add("join with an aggregated subquery")
    for source in case.inputs:
        arrivals = source.elements if isinstance(source, Stream) else source.changes
        stamps = [arrival[0] for arrival in arrivals]
        form = type(source).__name__
        found.add(f"{form} of {'some' if stamps else 'no'} elements")
        if len(set(stamps)) < len(stamps):
            found.add(f"ties in a {form}")
        if any(ts < 0 for ts in stamps):
            found.add("negative time")
        if len(set(map(repr, arrivals))) < len(arrivals):
            found.add("duplicates")
        if any(None in arrival[-1] for arrival in arrivals):
            found.add("NULLs")
        found |= {kind for _, kind in source.columns}
        if isinstance(source, Relation):
            signs = {}
            for ts, weight, row in source.changes:
                signs.setdefault((ts, row), set()).add(weight)
                if weight < 0:
                    found.add("deletion")
            if {1, -1} in signs.values():
                found.add("changes that cancel in an instant")
        elif stamps != sorted(stamps):
            found.add("out of order")
        if isinstance(source, Stream) and source.timestamp_by:
            found.add("timestamp in a column")
    return found | script_constructs(case)


def script_constructs(case):
    """Return what the script of the case has in it."""
    found = {type(step).__name__ for step in case.script}
    ahead = Counter()
    for before, step in zip([None, *case.script], case.script, strict=False):
        if isinstance(step, Append) and isinstance(before, Append) and before.input is step.input:
            found.add("split batch")
        if isinstance(step, Append):
            ahead.update(arrival[0] for arrival in step.elements)
        if isinstance(step, Advance) and any(ts > step.to for ts in ahead):
            found.add("data ahead of an advance")
        if isinstance(step, Advance) and isinstance(before, Advance):
            found.add("advance over nothing")
    if len(case.cuts) == 1:
        found.add("one tick")
    if len(case.cuts) > 3 and len(case.cuts) >= case.t_end - case.t_begin:
        found.add("tick by tick")
    return found


BASE = {
    *("Range", "Rows", "Now", "Unbounded", "PartitionRows", "NoneType"),
    *("istream named", "dstream named", "rstream named", "istream by default"),
    *("relation by default", "operator around", "operator in the list"),
    *("1 legs", "2 legs", "3 legs", "from the beginning", "later", "relation in FROM"),
    *(r"\bUSING \(", r"\bON \w+\.k = \w+\.k", r"\bON\b[^()]*? (<|<=|<>|>) \w+\.\w+"),
    *(r"\bWHERE\b", r"\bGROUP BY\b", r"\bGROUP BY ALL\b", r"\bHAVING\b", r"\bUNION ALL\b"),
    *(r"\bSELECT DISTINCT\b", r"(?i)stream\(DISTINCT\b", r"SELECT \*", r"(?i)stream\(\*\)"),
    *(r"\bcount\(\*\)", r"\bcount\(\w", r"\bsum\(", r"\bavg\(", r"\bmin\(", r"\bmax\("),
    *(r"\bAND\b", r"\bOR\b", r"\bCASE\b", r"\bIS NOT DISTINCT FROM\b", r"\bINNER JOIN\b"),
    *(r"\bs\d \[[^]]*\] AS x", r"\bs\d \[[^]]*\] x", r"\bs\d AS x\d+ \[", r"\bs\d x\d+ \["),
    *(r"\)( AS)? x\d+ \[|\) \[", r"(?i)\[rows unbounded", r"(?i)\[rows \d", r", (s|r|q)\d"),
    *("global aggregate", "aggregate in a subquery", "aggregate of an aggregate"),
    *("join with an aggregated subquery", "subquery relation in FROM", "subquery stream in FROM"),
    *("named relation in FROM", "named stream in FROM", "Rows on a named stream"),
    *("Range on a named stream", "PartitionRows on a named stream", "NoneType on a named stream"),
    *("Now on a named stream", "Unbounded on a named stream"),
    *("Stream of some elements", "Stream of no elements", "Relation of some elements"),
    *("ties in a Stream", "ties in a Relation", "duplicates", "NULLs", "negative time"),
    *("deletion", "changes that cancel in an instant"),
    *("BIGINT", "VARCHAR", "DOUBLE", "DECIMAL(9,2)"),
    *("Register", "Append", "Advance", "Restart", "split batch", "data ahead of an advance"),
    *("advance over nothing", "one tick", "tick by tick"),
}
WIDE = {
    *("Range slide", "Rows slide", "PartitionRows range", "Hop", "Tumble", "window where"),
    "Sampled",
    *(r"(?i)\[rows \d+ preceding", r"(?i)\[range \d+ seconds"),
}


def counted(n, **options):
    counts = Counter()
    drawn(lambda case: counts.update(constructs(case)), n, **options)
    return counts


def test_every_construct_of_the_subset_is_reached():
    counts = counted(400)
    assert {} == {what: counts[what] for what in BASE if counts[what] < 3}
    assert [] == [what for what in WIDE if counts[what]]
    assert counts["out of order"] == counts["timestamp in a column"] == 0


def test_every_wide_construct_is_reached():
    counts = counted(200, **EVERYTHING)
    wide = WIDE | {"out of order", "timestamp in a column"}
    assert {} == {what: counts[what] for what in wide if counts[what] < 3}


@pytest.mark.parametrize("options", [{}, EVERYTHING], ids=["base", "everything"])
def test_the_oracle_evaluates_what_is_drawn_and_often_there_is_something(options):
    outcomes = Counter()

    def check(case):
        for result in case.expected():
            elements = net_elements(result)
            outcomes[bool(elements)] += 1
            outcomes["changes at many instants"] += len(elements) > 2
            if result.stream is None and result.end >= result.begin:
                total = Counter()
                for bag in elements.values():
                    total.update(bag)
                assert result.relation[result.end] == +total
                assert min(total.values(), default=0) >= 0

    drawn(check, 150, **options)
    assert outcomes[True] > outcomes[False]
    assert outcomes["changes at many instants"] > 50


@pytest.mark.parametrize("options", [{}, EVERYTHING], ids=["base", "everything"])
def test_scripts_append_all_in_order_and_in_time(options):
    def check(case):
        arrived = {source.name: [] for source in case.inputs}
        registered = []
        closed = None
        for step in case.script:
            match step:
                case Append(source, elements):
                    assert elements
                    assert all(closed is None or element[0] > closed for element in elements)
                    arrived[source.name] += elements
                case Advance(to):
                    assert closed is None or to > closed
                    closed = to
                case Register(query):
                    assert query.registered_at == closed
                    assert closed is None or case.t_begin <= closed
                    pending = [e for elements in arrived.values() for e in elements]
                    assert all(closed is not None and e[0] <= closed for e in pending)
                    registered.append(query)
        assert closed == case.t_end
        assert registered == list(case.queries)
        assert all(case.t_begin <= e[0] <= case.t_end for es in arrived.values() for e in es)
        for source in case.inputs:
            arrivals = source.elements if isinstance(source, Stream) else source.changes
            assert list(arrivals) == arrived[source.name]
            if isinstance(source, Stream):
                newest = [max(ts for ts, _ in arrivals[: i + 1]) for i in range(len(arrivals))]
                late = [m - ts for m, (ts, _) in zip(newest, arrivals, strict=True)]
                assert max(late, default=0) <= source.out_of_order
            else:
                for tau in range(case.t_begin, case.t_end + 1):
                    source.at(tau)

    drawn(check, 150, **options)


def test_flags_leave_out_what_they_say():
    def check(case):
        assert len(case.queries) == 1
        assert case.t_begin == 0
        assert case.queries[0].registered_at is None
        assert not any(isinstance(step, Restart) for step in case.script)

    drawn(check, 50, negative=False, later=False, restarts=False, most_queries=1)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (None, ""),
        (Now(), "[NOW]"),
        (Unbounded(), "[RANGE UNBOUNDED]"),
        (Range(5), "[RANGE 5]"),
        (Range(5, slide=2), "[RANGE 5 SLIDE 2]"),
        (Rows(3), "[ROWS 3]"),
        (Rows(3, slide=2, where="a > 1"), "[ROWS 3 SLIDE 2 WHERE a > 1]"),
        (PartitionRows(("k",), 2), "[PARTITION BY k ROWS 2]"),
        (PartitionRows(("k", "b"), 2, range=4), "[PARTITION BY k, b ROWS 2 RANGE 4]"),
        (Hop(4, 2), "[HOP 4 EVERY 2]"),
        (Tumble(3, where="k = 'x'"), "[TUMBLE 3 WHERE k = 'x']"),
    ],
    ids=str,
)
def test_windows_read_as_cql(spec, text):
    assert text == render_window(spec)


def test_windows_keep_the_case_of_names_whatever_that_of_keywords():
    assert "[Partition By k Rows 2]" == render_window(PartitionRows(("k",), 2), str.title)
    assert "[range 2 where B = 'X']" == render_window(Range(2, where="B = 'X'"), str.lower)


def test_one_structure_is_rendered_as_cql_and_as_sql():
    left = FromItem(0, "x1", "{source} {window} AS x1")
    right = FromItem(1, "r0", "{source} {window}", connector=" JOIN ", condition=" USING (k)")
    grouped = Select(("x1.k", "count(*) AS c1"), (left, right), "x1.a > 1", "x1.k", "count(*) > 1")
    legs = [("s0", "[RANGE 5]"), ("r0", "")]
    tail = "FROM s0 [RANGE 5] AS x1 JOIN r0 USING (k) WHERE x1.a > 1 GROUP BY x1.k "
    tail += "HAVING count(*) > 1"
    assert "SELECT x1.k, count(*) AS c1 " + tail == render_cql([grouped], legs)
    assert "SELECT Istream(x1.k, count(*) AS c1) " + tail == render_cql([grouped], legs, "Istream")
    assert f"Istream(SELECT x1.k, count(*) AS c1 {tail})" == render_cql(
        [grouped], legs, "Istream", around=True
    )
    assert (
        "SELECT x1.k, count(*) AS c1 FROM {0} AS x1 JOIN {1} AS r0 USING (k) "
        "WHERE x1.a > 1 GROUP BY x1.k HAVING count(*) > 1"
    ) == render_sql([grouped])


def test_unions_and_distinct_and_aliases_before_the_window():
    one = Select(("*",), (FromItem(0, "x1", "{source} x1 {window}"),), distinct=True)
    two = Select(("a",), (FromItem(1, "x2", "{source} AS x2 {window}"),))
    legs = [("s0", "[ROWS 3]"), ("(SELECT Istream(a) FROM s0 [NOW])", "[ROWS 2]")]
    assert "SELECT Rstream(DISTINCT *) FROM s0 x1 [ROWS 3]" == render_cql([one], legs, "Rstream")
    assert (
        "Rstream(SELECT DISTINCT * FROM s0 x1 [ROWS 3] UNION ALL "
        "SELECT a FROM (SELECT Istream(a) FROM s0 [NOW]) AS x2 [ROWS 2])"
    ) == render_cql([one, two], legs, "Rstream")
    assert "SELECT DISTINCT * FROM {0} AS x1 UNION ALL SELECT a FROM {1} AS x2" == render_sql(
        [one, two]
    )


def test_a_case_reads_as_a_script():
    s = Stream("s0", [("k", "BIGINT"), ("t0", "BIGINT")], [(1, (5, 1))], "t0", 2)
    r = Relation("r1", [("k", "BIGINT")], [(0, 1, (5,))])
    assert "CREATE RELATION r1 (k BIGINT)" == declaration(r)
    query = Query("q0", "SELECT * FROM {0}", [(s, Now())], cql="SELECT * FROM s0 [NOW]")
    assert "CREATE CONTINUOUS QUERY q0 AS SELECT * FROM s0 [NOW]" == registration(query)
    script = [Register(query), Append(s, s.elements), Restart(), Advance(3)]
    assert [
        "CREATE STREAM s0 (k BIGINT, t0 BIGINT) TIMESTAMP BY t0 OUT OF ORDER WITHIN 2;",
        "CREATE CONTINUOUS QUERY q0 AS SELECT * FROM s0 [NOW];",
        "-- append s0: [(1, (5, 1))]",
        "-- restart",
        "-- advance 3",
    ] == str(Case([s], [query], 0, 3, script)).splitlines()
