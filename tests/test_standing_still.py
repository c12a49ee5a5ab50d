"""Queries over queries of which some stand still: failed, or deactivated for a while.

Nobody runs past a query below it that stands still, however far below: up to its frontier each
answer is the reference evaluator's, and once all go on, nothing is missing.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import reference
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cqlduck

COLUMNS = [("k", "BIGINT"), ("v", "BIGINT")]
FRAGILE = "CAST(CASE WHEN v = 3 THEN 'three' ELSE CAST(v AS VARCHAR) END AS BIGINT)"

CHAIN = """
    CREATE STREAM s (k BIGINT, v BIGINT);
    CREATE CONTINUOUS QUERY first AS {first};
    CREATE CONTINUOUS QUERY second AS {second};
    CREATE CONTINUOUS QUERY third AS {third};
    CREATE CONTINUOUS QUERY fourth AS SELECT count(*) AS n FROM third {window};
    CREATE CONTINUOUS QUERY beside AS SELECT k, v FROM s;
"""
STREAMS = {
    "first": f"SELECT k, {FRAGILE} AS v FROM s",
    "second": "SELECT k, v FROM first",
    "third": "SELECT k, v FROM second WHERE v > 0",
    "window": "[RANGE UNBOUNDED]",
}
RELATIONS = {
    "first": f"SELECT k, {FRAGILE} AS v FROM s [RANGE 50]",
    "second": "SELECT k, v FROM first",
    "third": "SELECT k, count(*) AS v FROM second GROUP BY k",
    "window": "",
}


def frontiers(con: cqlduck.Connection) -> dict[str, int | None]:
    return {q.name: q.frontier for q in con.engine.catalogue.queries.values()}


@pytest.mark.parametrize("texts", [STREAMS, RELATIONS], ids=["streams", "relations"])
@pytest.mark.parametrize("reopened", [False, True], ids=["at once", "reopened"])
def test_who_is_above_one_that_was_deactivated_waits_and_misses_nothing(
    tmp_path: Path, texts: dict[str, str], reopened: bool
) -> None:
    path = tmp_path / "some.duckdb"
    con = cqlduck.connect(path)
    con.execute(CHAIN.format(**texts))
    con.append("s", [(1, 1), (2, 2)], at=[1, 2])
    con.advance(3)
    con.execute("ALTER CONTINUOUS QUERY first DEACTIVATE")
    con.append("s", [(3, 5), (4, 6)], at=[5, 6])
    con.advance(10)
    assert {"first": 3, "second": 3, "third": 3, "fourth": 3, "beside": 10} == frontiers(con)
    if reopened:
        con.close()
        con = cqlduck.connect(path)
    con.execute("ALTER CONTINUOUS QUERY first ACTIVATE")
    con.advance(12)
    assert {12} == set(frontiers(con).values())
    assert [(4,)] == con.table("fourth").fetchall()
    con.close()


@pytest.mark.parametrize("texts", [STREAMS, RELATIONS], ids=["streams", "relations"])
def test_who_is_above_one_that_failed_waits_at_its_frontier(
    con: cqlduck.Connection, texts: dict[str, str]
) -> None:
    con.execute(CHAIN.format(**texts))
    con.append("s", [(1, 1), (2, 3), (4, 4)], at=[1, 5, 6])
    con.advance(10)
    assert {"first": 4, "second": 4, "third": 4, "fourth": 4, "beside": 10} == frontiers(con)
    assert [(1,)] == con.table("beside").aggregate("min(k)").fetchall()


def test_a_query_that_fails_has_first_read_all_that_those_below_it_said(
    con: cqlduck.Connection,
) -> None:
    """Set apart, it once looked for its failure in a log that had not been written yet."""
    con.execute(f"""
        CREATE STREAM s (k BIGINT, v BIGINT);
        CREATE CONTINUOUS QUERY below AS SELECT k, v FROM s;
        CREATE CONTINUOUS QUERY fragile AS SELECT k, {FRAGILE} AS v FROM below;
        CREATE CONTINUOUS QUERY above AS SELECT count(*) AS n FROM fragile [RANGE UNBOUNDED];
    """)
    con.append("s", [(1, 1), (2, 2), (3, 3), (4, 4)], at=[1, 4, 6, 8])
    con.advance(10)
    assert {"below": 10, "fragile": 5, "above": 5} == frontiers(con)
    assert [(1, 1, 1, 1), (2, 2, 4, 1)] == con.changes("fragile").fetchall()
    assert [(2,)] == con.as_of("above", 5).fetchall()


def test_who_is_above_one_that_never_ran_begins_after_what_its_streams_have_forgotten(
    con: cqlduck.Connection,
) -> None:
    """It once said that it began with time itself, over a stream whose first elements were cut."""
    con.execute("""
        CREATE STREAM s (k BIGINT, v BIGINT);
        CREATE STREAM u (k BIGINT, v BIGINT);
        CREATE CONTINUOUS QUERY looks_back AS SELECT count(*) AS n FROM u [RANGE 4];
        CREATE CONTINUOUS QUERY never AS SELECT k, v FROM s;
        ALTER CONTINUOUS QUERY never DEACTIVATE;
    """)
    con.append("u", [(0, 3), (1, 0), (1, 2)], at=[2, 4, 5])
    con.advance(8)
    con.append("u", [(0, 1)], at=10)
    con.advance(10)
    con.execute("""
        CREATE CONTINUOUS QUERY above AS
            Dstream(SELECT k, v FROM u [NOW] UNION ALL SELECT k, v FROM never [RANGE UNBOUNDED]);
        ALTER CONTINUOUS QUERY never ACTIVATE;
    """)
    assert 4 == con.engine.query("above").since
    con.advance(12)
    assert [(1, 2, 6, 1), (0, 1, 11, 1)] == con.changes("above").fetchall()


# ------------------------------------------------------------------------------- random graphs


@dataclass
class Node:
    """A query of a random graph: its text, and what the reference evaluator makes of it."""

    name: str
    text: str
    query: reference.Query
    below: list[Node]
    is_fragile: bool
    active: bool = True


@dataclass
class Script:
    """What happens, in order: ("register", i), ("append", rows), ("advance", t), …"""

    steps: list[tuple] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    elements: dict[str, list] = field(default_factory=dict)


def render(window: reference.Window | None) -> str:
    match window:
        case reference.Range(w):
            return f"[RANGE {w}]"
        case reference.Rows(n):
            return f"[ROWS {n}]"
        case reference.Now():
            return "[NOW]"
        case reference.Unbounded():
            return "[RANGE UNBOUNDED]"
    return ""


WINDOWS = [
    reference.Range(1),
    reference.Range(4),
    reference.Rows(2),
    reference.Now(),
    reference.Unbounded(),
]

SHAPES = {
    "filter": "SELECT k, v FROM {0} WHERE v <> 1",
    "count": "SELECT k, count(*) AS v FROM {0} GROUP BY k",
    "join": "SELECT a.k, b.v FROM {0} AS a JOIN {1} AS b ON a.k = b.k",
    "union": "SELECT k, v FROM {0} UNION ALL SELECT k + 1, v FROM {1}",
    "fragile": "SELECT k, v FROM {0}",
}


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Random graphs of queries, and what happens to them."""
    script = Script()
    inputs = [reference.Stream("s", COLUMNS, []), reference.Stream("u", COLUMNS, [])]
    inputs.append(reference.Relation("r", COLUMNS, []))
    sources: list[reference.Source] = list(inputs)
    for number in range(draw(st.integers(2, 6))):
        node = _node(draw, f"q{number}", sources, script.nodes)
        script.nodes.append(node)
        sources.append(node.query)
    waiting, time = list(range(len(script.nodes))), -1
    first = draw(st.integers(1, len(waiting)))
    for _ in range(first):
        script.steps.append(("register", waiting.pop(0)))
    for _ in range(draw(st.integers(3, 9))):
        kind = draw(st.sampled_from(["advance"] * 3 + ["stop"] * 2 + ["go", "restart", "register"]))
        there = [n for n in range(len(script.nodes)) if n not in waiting]
        if kind == "advance":
            for source in inputs:
                _arrive(draw, script, source, time)
            time += draw(st.integers(1, 5))
            script.steps.append(("advance", time))
        elif kind in ("stop", "go"):
            script.steps.append((kind, draw(st.sampled_from(there))))
        elif kind == "restart" or not waiting:
            script.steps.append(("restart", None))
        else:
            script.steps.append(("register", waiting.pop(0)))
    for number in waiting:
        script.steps.append(("register", number))
    script.steps += [("go", n) for n in range(len(script.nodes))]
    script.steps += [("restart", None)] * draw(st.booleans())
    script.steps.append(("advance", time + draw(st.integers(1, 4))))
    return script


def _node(draw: st.DrawFn, name: str, sources: list[reference.Source], nodes: list[Node]) -> Node:
    shape = draw(st.sampled_from(list(SHAPES)))
    count = SHAPES[shape].count("{")
    # the youngest first: chains are what this is about
    legs = [draw(st.sampled_from(sources[::-1])) for _ in range(count)]
    streams = [reference.yields_stream(leg) for leg in legs]
    windows = [draw(st.sampled_from(WINDOWS)) if is_stream else None for is_stream in streams]
    operator = draw(st.sampled_from([None, "istream", "dstream"]))
    body = SHAPES[shape]
    if shape == "fragile":
        body = f"SELECT k, {FRAGILE} AS v FROM {{0}}"
    marks = [f"{leg.name} {render(w)}".rstrip() for leg, w in zip(legs, windows, strict=True)]
    text = body.format(*marks)
    query = reference.Query(name, SHAPES[shape], list(zip(legs, windows, strict=True)), operator)
    is_monotonic = reference.is_monotonic(query.legs, shape in ("count", "union"))
    if operator is None and is_monotonic:
        query = replace(query, r2s="istream")
    elif operator is not None:
        text = f"{operator}({text})"
    below = [node for node in nodes if node.query in legs]
    return Node(name, text, query, below, shape == "fragile")


def _arrive(draw: st.DrawFn, script: Script, source: reference.Source, time: int) -> None:
    """Append some elements to an input, after all that came before."""
    is_relation = isinstance(source, reference.Relation)
    known = source.changes if is_relation else source.elements
    instant = max([time + 1, *(element[0] for element in known)])
    for _ in range(draw(st.integers(0, 2))):
        values = draw(st.tuples(st.integers(0, 1), st.integers(0, 3)))
        instant, sign = instant + draw(st.integers(0, 2)), 1
        if is_relation:
            there = list(source.at(instant).elements())
            if there and draw(st.booleans()):
                values, sign = draw(st.sampled_from(there)), -1
            known.append((instant, sign, values))
        else:
            known.append((instant, values))
        script.steps.append(("append", (source.name, values, instant, sign)))


@dataclass
class Player:
    """Runs a script on the engine, and keeps what each query's frontier has to be."""

    script: Script
    path: str
    max_tick: int
    reached: dict[str, int | None] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    results: dict[str, reference.Result] = field(default_factory=dict)
    fails_at: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.con = self.connect()
        self.con.execute(
            "CREATE STREAM s (k BIGINT, v BIGINT); CREATE STREAM u (k BIGINT, v BIGINT);"
            "CREATE RELATION r (k BIGINT, v BIGINT);"
        )

    def connect(self) -> cqlduck.Connection:
        return cqlduck.connect(self.path, max_tick=self.max_tick)

    def play(self, kind: str, what) -> None:
        con, nodes = self.con, self.script.nodes
        match kind:
            case "register":
                node = nodes[what]
                con.execute(f"CREATE CONTINUOUS QUERY {node.name} AS {node.text}")
                self._registered(node, con.engine.query(node.name).since)
            case "append":
                name, values, instant, sign = what
                (con.append if sign > 0 else con.retract)(name, [values], at=instant)
            case "stop" | "go":
                word = "DEACTIVATE" if kind == "stop" else "ACTIVATE"
                con.execute(f"ALTER CONTINUOUS QUERY {nodes[what].name} {word}")
                nodes[what].active = kind == "go"
            case "restart":
                con.close()
                self.con = self.connect()
            case "advance":
                con.advance(what)
                self._expect(what)
                assert self.reached == frontiers(self.con)

    def _expect(self, time: int) -> None:
        for node in self.script.nodes:
            if node.name not in self.reached or not node.active:
                continue
            goals = [time, *(self.reached[inner.name] for inner in node.below)]
            if node.name in self.fails_at:
                goals.append(self.fails_at[node.name] - 1)
            before = self.reached[node.name]
            if None not in goals and (before is None or min(goals) > before):
                self.reached[node.name] = min(goals)

    def _registered(self, node: Node, since: int | None) -> None:
        self.reached[node.name] = since
        if since is not None:
            self.since[node.name] = since
        legs = [(self._as_it_began(leg), spec) for leg, spec in node.query.legs]
        query = replace(node.query, legs=legs, registered_at=since)
        result = reference.evaluate(query, None, self.script.steps[-1][1])
        self.results[node.name] = result
        if node.is_fragile:
            threes = [t for t, bag in result.relation.items() if any(v == 3 for _, v in bag)]
            if threes:
                self.fails_at[node.name] = threes[0]

    def _as_it_began(self, leg: reference.Source) -> reference.Source:
        return self.results[leg.name].query if leg.name in self.results else leg

    def check(self) -> None:
        """Compare what is there with the reference evaluator, up to each frontier."""
        for name, result in self.results.items():
            found = reference.from_changes(self.con.changes(name).fetchall())
            reached = self.reached[name]
            if reached is None:
                assert {} == found
                continue
            assert [] == [instant for instant in found if instant > reached]
            problems = reference.differences(result, found, until=reached)
            assert not problems, f"{name}: {problems[:5]}"
        last = self.script.steps[-1][1]
        for name in self.results if not self.fails_at else ():
            # one that begins later, after what its stream has forgotten, has yet to run
            assert max(last, self.since.get(name, last)) == self.reached[name]


GRAPHS = {"script": scripts(), "max_tick": st.sampled_from([1, 3, 2_000_000])}


@given(**GRAPHS)
@settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    max_examples=fewer_if_brief(8),
)
def test_random_graphs_of_queries_say_what_the_reference_says_up_to_their_frontiers(
    script: Script, max_tick: int
) -> None:
    restarts = any(kind == "restart" for kind, _ in script.steps)
    with tempfile.TemporaryDirectory() as folder:
        player = Player(script, str(Path(folder) / "a.db") if restarts else ":memory:", max_tick)
        try:
            for step in script.steps:
                player.play(*step)
            player.check()
        finally:
            player.con.close()
