"""Orders of the pipelines of joins: which are legal, the thesis's examples, and what runs."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import choices
import pyarrow as pa
import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck
from cqlduck.rewrite.physical.form import FIRST, Form
from cqlduck.rewrite.plan.join_graph import JoinGraph, SpanningTree, mask_of
from cqlduck.rewrite.plan.orders import ORDER, Order, Site
from cqlduck.rewrite.plan.segments import CACHES
from cqlduck.rewrite.statements.ordered import JoinPipeline
from cqlduck.rewrite.statements.probes import PipelineProbe, Query
from cqlduck.rewrite.statements.steps import Steps
from cqlduck.state import plans
from cqlduck.state.choices import Point
from cqlduck.state.probing import Found, JoinProfiled, Wanted
from cqlduck.streamon import confirming, join_orders, joins
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.confirming import CONFIRMING_TICKS
from cqlduck.streamon.join_orders import Matches
from cqlduck.streamon.joins import JoinOrder
from cqlduck.streamon.points import A_GREEDY, INDEPENDENT, OPTIMUM, PLANNED, SWEEP, Facts
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal


def graph(count: int, *edges: tuple[int, int]) -> JoinGraph:
    """A join graph of equalities; inputs are counted from 1, as in the thesis."""
    return JoinGraph(count, tuple((1 << a - 1, 1 << b - 1) for a, b in edges))


def tree(known: JoinGraph, root: int) -> SpanningTree:
    found = known.tree(root - 1)
    assert found is not None
    return found


def legal(known: JoinGraph, root: int) -> list[str]:
    every = itertools.permutations(range(known.count))
    orders = (order for order in every if order[0] == root - 1 and known.allows(order))
    return ["".join(str(at + 1) for at in order) for order in orders]


FIGURE_5_3_A = graph(6, (1, 2), (1, 3), (3, 4), (3, 5), (5, 6))


def from_one(numbers: str) -> Order:
    return tuple(int(number) - 1 for number in numbers)


def test_example_5_2_3() -> None:
    found = tree(FIGURE_5_3_A, 1)
    paths = [found.paths[place] for place in found.others]
    assert [from_one(path) for path in ("2", "3", "34", "35", "356")] == paths
    assert from_one("134256") == found.pipeline(from_one("32145"))
    assert FIGURE_5_3_A.allows(from_one("123456"))
    assert not FIGURE_5_3_A.allows(from_one("124356"))


def test_a_star_begins_anywhere_but_meets_its_root_first() -> None:
    star = graph(4, (1, 2), (1, 3), (1, 4))
    assert ["1234", "1243", "1324", "1342", "1423", "1432"] == legal(star, 1)
    assert ["2134", "2143"] == legal(star, 2)
    assert (from_one("1"), from_one("13")) == tree(star, 2).paths[0:3:2]


def test_a_chain_leaves_a_choice_in_the_middle_only() -> None:
    chain = graph(3, (1, 2), (2, 3))
    assert [["123"], ["213", "231"], ["321"]] == [legal(chain, root) for root in (1, 2, 3)]
    assert [False, True, False] == [
        chain.has_choice(from_one(order)) for order in ("123", "213", "321")
    ]


def test_a_cyclic_join_is_ordered_by_its_shortest_paths() -> None:
    ring = graph(4, (1, 2), (2, 3), (3, 4), (4, 1))
    assert (from_one("2"), from_one("23"), from_one("4")) == tree(ring, 1).paths[1:]
    # the ring may be met from both sides
    assert ["1234", "1243", "1423", "1432"] == legal(ring, 1)


def test_what_needs_several_inputs_comes_after_all_of_them() -> None:
    """A condition a.x + b.x = c.x, with a and b linked."""
    known = JoinGraph(3, ((0b001, 0b010), (0b011, 0b100)))
    assert ["123"] == legal(known, 1)
    assert from_one("23") == tree(known, 1).paths[2]


def test_a_weaker_link_comes_later_and_none_at_all_last() -> None:
    known = JoinGraph(4, ((0b0001, 0b0010),), (0b0101,))
    assert ["1234"] == legal(known, 1)
    assert known.tree(0) is None
    alone = JoinGraph(3, ())
    assert ["123", "132"] == legal(alone, 1)


GRAPHS = st.integers(3, 6).flatmap(
    lambda n: st.builds(
        lambda parents, more: graph(n, *((p + 1, k) for k, p in enumerate(parents, 2)), *more),
        st.tuples(*(st.integers(0, k) for k in range(n - 1))),
        st.lists(
            st.tuples(st.integers(1, n), st.integers(1, n)).filter(lambda edge: edge[0] != edge[1]),
            max_size=3,
        ),
    )
)
"""Connected join graphs: for each input but the first one that came before, and some edges more."""


@given(known=GRAPHS, data=st.data())
def test_orders_of_logical_filters_give_legal_pipelines(known: JoinGraph, data) -> None:
    """Each filter's path is joined before what the filters behind it add; and back again."""
    root = data.draw(st.integers(0, known.count - 1))
    found = known.tree(root)
    assert found is not None
    filters = tuple(data.draw(st.permutations(range(known.count - 1))))
    pipeline = found.pipeline(filters)
    assert known.allows(pipeline)
    assert pipeline[0] == root
    assert found.pipeline(found.filters(pipeline)) == pipeline
    first = found.paths[found.others[filters[0]]]
    assert pipeline[1 : 1 + len(first)] == first
    for place in found.others:
        before = mask_of(pipeline[: pipeline.index(place)])
        assert found.before(place) & ~before == 0


@given(known=GRAPHS, data=st.data())
def test_what_follows_is_linked_to_what_was_met(known: JoinGraph, data) -> None:
    met = [data.draw(st.integers(0, known.count - 1))]
    edges = [{a.bit_length() - 1, b.bit_length() - 1} for a, b in known.equalities]
    while len(met) < known.count:
        following = known.following(mask_of(met))
        linked = {b for edge in edges for a in met for b in edge - {a} if a in edge} - set(met)
        assert set(following) == linked
        met.append(data.draw(st.sampled_from(following)))
    assert known.allows(tuple(met))


# -- in the engine ------------------------------------------------------------------------------

STREAMS = "".join(
    f"CREATE STREAM {name} (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t;" for name in "rsuv"
)
STAR = """CREATE CONTINUOUS QUERY q AS SELECT r.a, s.b AS sb, u.b AS ub, v.b AS vb
    FROM r [RANGE 5], s [RANGE 7], u [ROWS 9], v [RANGE 3]
    WHERE r.a = s.a AND r.b = u.b AND r.a = v.a;"""


def play(con: cqlduck.Connection, ticks: range) -> None:
    for t in ticks:
        batches = {
            name: pa.table(
                {
                    "a": pa.array([(t + n * number) % 3 for n in range(4)], pa.int32()),
                    "b": pa.array([(t * number + n) % 4 for n in range(4)], pa.int32()),
                    "t": pa.array([t] * 4, pa.int32()),
                }
            )
            for number, name in enumerate("rsuv", 1)
        }
        con.tick(batches, to=t)


def answers(con: cqlduck.Connection) -> list[tuple[object, ...]]:
    return sorted(con.changes("q").fetchall())


def standing(con: cqlduck.Connection) -> dict[int, tuple[str, str]]:
    rows = con.sql(
        "SELECT input, option, chosen_by FROM cql.points WHERE point = 'order' AND input > 0"
    )
    return {number: (option, chosen_by) for number, option, chosen_by in rows.fetchall()}


def orders(con: cqlduck.Connection) -> list[JoinPipeline]:
    ordered = con.engine.compiled["q"].ordered
    return [about for about in ordered if isinstance(about, JoinPipeline)]


def test_each_pipeline_with_a_choice_is_a_point(con: cqlduck.Connection) -> None:
    con.execute(STREAMS + STAR)
    play(con, range(1))
    default = (PLANNED, "default")
    assert {1: default, 2: default, 3: default, 4: default} == standing(con)
    con.execute("DROP CONTINUOUS QUERY q")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT r.a FROM r [RANGE 5], s [RANGE 7], u [RANGE 3]"
                " WHERE r.a = s.a AND s.b = u.b")  # fmt: skip
    play(con, range(1, 2))
    assert {2: default} == standing(con)
    con.execute("DROP CONTINUOUS QUERY q")
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT r.a FROM r [RANGE 5], s [RANGE 7] "
                "WHERE r.a = s.a")  # fmt: skip
    play(con, range(2, 3))
    assert {} == standing(con)


def test_example_5_1_1(con: cqlduck.Connection) -> None:
    """⟨1⟩ meets (1,2) and (1,3) of R₂, and of R₃ 2 alone."""
    con.execute("""
        CREATE RELATION r1 (a INTEGER); CREATE RELATION r2 (a INTEGER, b INTEGER);
        CREATE RELATION r3 (b INTEGER);
        CREATE CONTINUOUS QUERY q AS SELECT r1.a, r2.a AS a2, r2.b, r3.b AS b3
            FROM r1, r2, r3 WHERE r1.a = r2.a AND r2.b = r3.b
    """)
    con.append("r2", [(1, 2), (1, 3), (2, 3)], at=1)
    con.append("r3", [(2,)], at=1)
    for name in ("r1", "r2", "r3"):
        con.heartbeat(name, 1)
    con.append("r1", [(1,)], at=2)
    for name in ("r1", "r2", "r3"):
        con.heartbeat(name, 2)
    con.advance(2)
    assert [(1, 1, 2, 2, 2, 1)] == con.changes("q").fetchall()
    assert {2} == standing(con).keys()


def test_an_order_is_written_into_its_pipeline_alone(con: cqlduck.Connection) -> None:
    con.execute(STREAMS + STAR)
    compiled = con.engine.compiled["q"]
    sites = [about.site for about in compiled.ordered if isinstance(about, JoinPipeline)]
    assert [0, 1, 2, 3] == [site.input for site in sites]
    default = {site: [s for s in compiled.steps.of(FIRST) if site in s.sites] for site in sites}
    assert all(len(steps) == 1 for steps in default.values())
    form = Form(staged=True, orders=((sites[0], from_one("1423")),))
    for site in sites:
        (step,) = (s for s in compiled.steps.of(form) if site in s.sites)
        assert (step in default[site]) == (site != sites[0])
    (step,) = (s for s in compiled.steps.of(form) if sites[0] in s.sites)
    inputs = sorted(("i1", "i2", "i3"), key=lambda name: step.sql.index(f"AS {name}\n"))
    assert ["i3", "i1", "i2"] == inputs
    # without stages one statement has all pipelines
    unstaged = Form(orders=form.orders)
    (step,) = (s for s in compiled.steps.of(unstaged) if s.sites)
    assert {*sites, Site(CACHES, sites[0].operator)} == step.sites


SECOND = ["2 1 3 4, 3 1 2 4, 4 1 2 3", "2 1 4 3, 3 1 4 2, 4 1 3 2"]
EVERY = [
    f"1 {' '.join(order)}, {SECOND[number % 2]}, {('1 2 3', '1 3 2')[number % 2]}"
    for number, order in enumerate(itertools.permutations("234"))
]
"""Orders of a star of four inputs, and of three."""


@pytest.mark.parametrize("kind", ["", "LEFT", "ANTI", "raising"])
def test_orders_change_no_answer(kind: str) -> None:
    found = []
    for wish in (None, *(EVERY if not kind else EVERY[::2])):
        with cqlduck.connect() as con:
            con.execute(STREAMS)
            if kind == "raising":
                con.execute(STAR.replace("r.a = v.a", "(r.a || v.a)::INTEGER % 11 = 0"))
            elif kind:
                con.execute("CREATE CONTINUOUS QUERY q AS SELECT x.* FROM (SELECT r.a, s.b "
                            "FROM r [RANGE 5], s [RANGE 7], u [ROWS 9] WHERE r.a = s.a AND "
                            f"r.b = u.b) x {kind} JOIN v [RANGE 1] ON x.b = v.b "
                            "AND x.a < v.a")  # fmt: skip
            else:
                con.execute(STAR)
            if wish is not None:
                con.pin(ORDER, wish)
            play(con, range(9))
            if wish is not None:
                assert {"user"} <= {who for _, who in standing(con).values()}
            found.append(answers(con))
    assert found[0]
    assert all(found[0] == other for other in found)


def test_a_pin_says_orders_of_several_pipelines(con: cqlduck.Connection) -> None:
    con.execute(STREAMS + STAR)
    # the second one has a Cartesian product, the last one another number of inputs
    con.pin(ORDER, "1 4 2 3, 3 4 1 2, 2 1 4 3, 3 1 2", "q")
    play(con, range(2))
    assert {
        1: ("1 4 2 3", "user"), 2: ("2 1 4 3", "user"),
        3: (PLANNED, "default"), 4: (PLANNED, "default"),
    } == standing(con)  # fmt: skip
    shown = con.explain("q")
    assert "order of operator 1, input 1: 1 4 2 3, chosen by user" in shown
    assert "--   3: u [ROWS 9]" in shown
    con.pin(ORDER, None, "q")
    play(con, range(2, 4))
    assert {(PLANNED, "default")} == set(standing(con).values())


def test_a_pin_of_what_is_not_there_names_the_queries_too(con: cqlduck.Connection) -> None:
    con.execute(STREAMS + STAR.replace("QUERY q", "QUERY star"))
    with pytest.raises(cqlduck.CatalogError) as caught:
        con.pin(ORDER, "1 3 2 4", "stars")
    assert caught.value.message == "there is no stream, relation or query stars"
    assert caught.value.hint == "did you mean star?"
    con.pin(ORDER, "1 3 2 4", "STAR")


def test_orders_are_rows_that_stay(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect() as con:
        con.execute(STREAMS + STAR)
        play(con, range(9))
        expected = answers(con)
    for first, wish in ((0, "1 4 2 3"), (3, "1 3 4 2, 2 1 4 3"), (6, None)):
        with cqlduck.connect(path) as con:
            if first == 0:
                con.execute(STREAMS + STAR)
            else:
                assert standing(con)[1][1] == "user"
            con.pin(ORDER, wish)
            play(con, range(first, first + 3))
            con.check()
    with cqlduck.connect(path) as con:
        assert expected == answers(con)
        (about, *_) = orders(con)
        assert about.site == Site(ORDER, about.site.operator, 0)
        assert about.allows(from_one("1423"))
        assert not about.allows(from_one("2134"))
        logged = con.sql("SELECT DISTINCT input FROM cql.plan_log WHERE point = 'order' ORDER BY 1")
        assert [(1,), (2,)] == logged.fetchall()


@settings(max_examples=fewer_if_brief(10), deadline=None)
@given(seed=st.integers())
def test_random_orders_change_no_answer(seed: int) -> None:
    if not EXPECTED:
        with cqlduck.connect() as con:
            con.execute(STREAMS + STAR)
            play(con, range(7))
            EXPECTED.extend(answers(con))
    with cqlduck.connect() as con:
        choices.draw(con, seed, everywhere=True)
        con.execute(STREAMS + STAR)
        play(con, range(7))
        assert answers(con) == EXPECTED


EXPECTED: list[tuple[object, ...]] = []


# -- what is profiled, and what follows ---------------------------------------------------------


class Probing(choices.Drawn):
    """Runs all probes in each tick, and keeps what they found."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self.found: list[JoinProfiled] = []

    def wants(self, point: Point, facts: Facts, now: str) -> Wanted | None:
        about = facts.about
        return Wanted(about) if isinstance(about, JoinPipeline) and about.tree else None

    def saw(
        self, point: Point, facts: Facts, option: str, seconds: float | None, found: Found | None
    ) -> None:
        if point.name == ORDER and isinstance(found, JoinProfiled):
            self.found.append(found)


def probing(con: cqlduck.Connection) -> list[JoinProfiled]:
    streamon = con.engine.streamon
    made = streamon.executor.reoptimizer = Probing(streamon.budget)
    return made.found


def rows(con: cqlduck.Connection, name: str, values: list[tuple[int, int]], at: int) -> None:
    con.append(name, [(a, b, at) for a, b in values])


@pytest.mark.parametrize("single", [True, False])
def test_a_probe_counts_what_tuples_match_on_each_path(
    con: cqlduck.Connection, single: bool
) -> None:
    """Windows as in example 5.1.1."""
    con.execute(STREAMS)
    found = probing(con)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT r.a FROM r [RANGE 9], s [RANGE 9], "
                "u [RANGE 9], v [NOW] WHERE r.a = s.a AND v.b = u.b AND r.a = v.a")  # fmt: skip
    rows(con, "s", [(1, 2), (1, 3), (2, 3), (4, 9)], 1)
    rows(con, "u", [(0, 2)], 1)
    rows(con, "r", [(1, 0), (2, 0), (3, 0), (1, 0)], 1)
    con.advance(1)
    found.clear()
    rows(con, "v", [(1, 2), (2, 2), (3, 0), (4, 0), (1, 2)], 2)
    con.advance(2 if single else 3)
    # v alone has a pipeline: it is of an instant; paths to r, to s over r, to u
    (one,) = found
    assert one.site.input == 3
    expected = {(2, 4, 1): 2, (1, 1, 1): 1, (1, 0, 0): 1, (0, 0, 0): 1}
    assert expected == dict(one.counts)
    # what has left a window matches no more
    found.clear()
    rows(con, "v", [(1, 0), (2, 0)], 11)
    con.advance(11)
    # what ends in the tick meets others as well
    ended = expected if single else {}
    assert {**ended, (0, 0, 0): 2 + ended.get((0, 0, 0), 0)} == dict(found[-1].counts)


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("staged", [True, False])
def test_a_probe_meets_windows_in_rows_as_they_were_before_the_tick(
    con: cqlduck.Connection, single: bool, staged: bool
) -> None:
    con.execute(STREAMS)
    found = probing(con)
    choices.force_stages(con, staged)
    con.execute(
        "CREATE CONTINUOUS QUERY q AS SELECT r.a FROM r [RANGE 9], s [ROWS 3], "
        "u [PARTITION BY b ROWS 1], v [NOW] WHERE r.a = s.a AND v.b = u.b AND r.a = v.a"
    )
    rows(con, "s", [(1, 2), (1, 3), (2, 3)], 1)
    rows(con, "u", [(0, 2), (0, 5)], 1)
    rows(con, "r", [(1, 0), (2, 0), (3, 0), (1, 0)], 1)
    con.advance(1)
    found.clear()
    # this one pushes out s(1, 2), and the next one u(0, 2)
    rows(con, "s", [(2, 9)], 2)
    rows(con, "u", [(7, 2)], 2)
    rows(con, "v", [(1, 2), (2, 2), (3, 0)], 2)
    con.advance(2 if single else 3)
    (one,) = found
    assert one.site.input == 3
    # paths to r, to s over r, to u
    assert {(2, 2, 1): 1, (1, 2, 1): 1, (1, 0, 0): 1} == dict(one.counts)
    # a tick of the other kind has other columns in its temporary tables
    con.advance(3 if single else 4)
    # nothing comes of the windows in rows
    found.clear()
    rows(con, "v", [(1, 5)], 6)
    con.advance(5 if single else 6)
    con.advance(6)
    assert {(2, 2, 1): 1} == dict(found[-1].counts)


def test_a_probe_that_fails_fails_no_query(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    con.execute(STREAMS)
    probing(con)
    text = "SELECT r.a FROM r [RANGE 9], s [RANGE 9], u [RANGE 9] WHERE r.a = s.a AND r.a = u.a"
    con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")
    failing = Query("SELECT 1 // 'none'", frozenset())
    monkeypatch.setattr(Steps, "probe", lambda *_, **__: PipelineProbe(failing, failing))
    for name in "rsu":
        rows(con, name, [(1, 0)], 1)
    con.advance(1)
    con.advance(2)
    assert [(1,)] == con.table("q").fetchall()
    assert "active" == con.queries["q"].state
    # of r's pipeline alone there is a choice
    (message,) = caplog.messages
    assert "a probe of q has failed: Conversion Error: Could not convert" in message


@pytest.mark.parametrize(
    ("items", "where"),
    [
        # no equality links all
        ("r [RANGE 9], s [RANGE 9], u [RANGE 9]", "r.a = s.a AND r.b < u.b"),
        # what has a state of its own
        ("r [RANGE 9], (SELECT a, count(*) AS n FROM s [RANGE 9] GROUP BY a) s, u [RANGE 9]",
         "r.a = s.a AND r.a = u.a"),
        # what may raise
        ("r [RANGE 9], s [RANGE 9], u [RANGE 9]",
         "r.a = s.a AND r.a = u.a AND (r.b || s.b)::INTEGER < 10"),
    ],
)  # fmt: skip
def test_what_is_not_at_hand_is_not_probed(con: cqlduck.Connection, items: str, where: str) -> None:
    con.execute(STREAMS)
    found = probing(con)
    con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT r.a FROM {items} WHERE {where}")
    play(con, range(2))
    assert [] == found
    assert [None] == list({about.tree for about in orders(con)} or {None})


def test_what_cannot_be_compiled_any_more_is_not_profiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements that are stored run without the plan."""
    where = "r [RANGE 9], s [RANGE 9], u [RANGE 9] WHERE r.a = s.a AND r.a = u.a"
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path) as con:
        choices.force_stages(con, True)
        con.execute(STREAMS)
        con.execute(f"CREATE CONTINUOUS QUERY q AS SELECT r.a FROM {where}")
        play(con, range(4))

    def gone(*_: object) -> None:
        raise cqlduck.DatabaseError("it means something else")

    monkeypatch.setattr(plans, "_plan", gone)
    with cqlduck.connect(path) as con:
        found = probing(con)
        play(con, range(4, 6))
        assert [] == found
        assert 5 == con.queries["q"].frontier


STAR_TREE = tree(graph(4, (1, 2), (1, 3), (1, 4)), 1)


def brute(known: Matches, order: Order) -> float:
    """Rows in and out of all steps, tuple by tuple."""
    total = 0.0
    for counts, tuples in known.counts.items():
        size = 1.0
        for place in order[1:]:
            after = size * counts[known.tree.others.index(place)]
            total += tuples * (size + after)
            size = after
    return total / known.tuples


@given(
    counts=st.dictionaries(
        st.tuples(*[st.integers(0, 4)] * 3), st.integers(1, 20), min_size=1, max_size=6
    ),
    start=st.permutations((1, 2, 3)),
)
def test_the_optimum_of_a_star_has_the_fewest_rows(counts, start) -> None:
    known = Matches(STAR_TREE, counts)
    every = [(0, *rest) for rest in itertools.permutations((1, 2, 3))]
    for order in every:
        assert known.cost(order) == pytest.approx(brute(known, order))
    found = join_orders.optimum(known, (0, *start), 1.0)
    assert known.cost(found) == pytest.approx(min(map(known.cost, every)))
    least = min(map(known.cost, every))
    if least >= 0.9 * known.cost((0, *start)):
        assert join_orders.optimum(known, (0, *start)) == (0, *start)


@given(known=GRAPHS, data=st.data())
def test_the_optimum_is_legal_and_none_that_is_costs_less(known: JoinGraph, data) -> None:
    root = data.draw(st.integers(0, known.count - 1))
    paths = tree(known, root + 1)
    kinds = st.tuples(*[st.integers(0, 3)] * (known.count - 1))
    matches = Matches(paths, data.draw(st.dictionaries(kinds, st.integers(1, 9), min_size=1,
                                                       max_size=4)))  # fmt: skip
    pipelines = {
        paths.pipeline(filters) for filters in itertools.permutations(range(known.count - 1))
    }
    found = join_orders.optimum(matches, min(pipelines), 1.0)
    assert known.allows(found)
    # all orders that respect the paths: each is the pipeline of its own filters
    assert matches.cost(found) == pytest.approx(min(map(matches.cost, pipelines)))


ABOUT = JoinPipeline(
    Site(ORDER, 1, 0), ("r", "s", "u"), (0, 1, 2), graph(3, (1, 2), (1, 3)),
    tree(graph(3, (1, 2), (1, 3)), 1),
)  # fmt: skip


class Ticks:
    """Ticks of a query with a pipeline, by what is said of them."""

    def __init__(self, algorithm: str = OPTIMUM) -> None:
        self.policy = JoinOrder(Budget())
        self.now = PLANNED
        self.facts = Facts(1000, about=ABOUT, algorithm=lambda: algorithm)
        self.proposals: list[Proposal] = []

    def probed(self, counts: dict[tuple[int, ...], int], fixed: float = 1e-3) -> None:
        found = JoinProfiled(ABOUT.site, counts, fixed, 0.002)
        self.policy.saw(self.facts, self.now, None, found)

    def run(self, ticks: int, seconds: float) -> str:
        """Let an element take so long; return what the last tick ran."""
        for _ in range(ticks):
            found = self.policy.propose(self.now, Statistics(), self.facts)
            if found is not None:
                self.proposals.append(found)
                self.now = found.option
            self.policy.saw(self.facts, self.now, seconds * 1000, None)
        return self.now


DROPPED_BY_THIRD = {(10, 0): 95, (10, 1): 5}


@pytest.mark.parametrize("algorithm", [OPTIMUM, A_GREEDY, INDEPENDENT, SWEEP])
def test_what_drops_most_is_met_first(algorithm: str) -> None:
    ticks = Ticks(algorithm)
    ticks.run(5, 30e-6)
    assert ticks.proposals == []
    ticks.probed(DROPPED_BY_THIRD)
    assert ticks.run(1, 10e-6) == "1 3 2"
    assert "s drops 0 % (fan-out 10.0), u drops 95 % (fan-out 1.0)" in ticks.proposals[0].reason
    assert "one takes 1.6 rows in this order, 21.5 before" in ticks.proposals[0].reason
    assert ticks.run(10, 10e-6) == "1 3 2"
    assert len(ticks.proposals) == 1


def test_nothing_is_known_before_it_is_known_what_an_element_takes() -> None:
    ticks = Ticks()
    ticks.probed(DROPPED_BY_THIRD)
    assert ticks.run(1, 30e-6) == PLANNED
    assert ticks.run(5, 30e-6) == "1 3 2"


def test_a_tick_without_elements_asks_for_nothing_that_is_of_one_element() -> None:
    """Ticks of none and of one are of one size, and what an element takes is known of them."""
    ticks = Ticks()
    for _ in range(5):
        ticks.policy.saw(replace(ticks.facts, elements=1), ticks.now, 1e-3, None)
    ticks.probed(DROPPED_BY_THIRD)
    nothing = replace(ticks.facts, elements=0)
    assert ticks.policy.propose(ticks.now, Statistics(), nothing) is None
    assert ticks.run(5, 30e-6) == "1 3 2"


def test_of_no_tuple_it_is_not_known_what_is_dropped() -> None:
    ticks = Ticks()
    assert ticks.policy.drops() == []
    ticks.policy.refuse("1 3 2")
    ticks.run(5, 30e-6)
    ticks.probed(DROPPED_BY_THIRD)
    assert ticks.run(3, 10e-6) == PLANNED


def test_what_is_fixed_cannot_be_saved() -> None:
    ticks = Ticks()
    ticks.run(5, 30e-6)
    ticks.probed(DROPPED_BY_THIRD, fixed=29e-3)
    assert ticks.run(3, 30e-6) == PLANNED
    ticks.probed(DROPPED_BY_THIRD, fixed=20e-3)
    assert ticks.run(3, 30e-6) == "1 3 2"


def test_a_pipeline_that_turns_out_slower_is_taken_back() -> None:
    ticks = Ticks()
    ticks.run(5, 30e-6)
    ticks.probed(DROPPED_BY_THIRD)
    assert ticks.run(CONFIRMING_TICKS + 1, 40e-6) == "1 3 2"
    assert ticks.run(1, 30e-6) == PLANNED
    assert "the model erred" in ticks.proposals[-1].reason
    ticks.probed(DROPPED_BY_THIRD)
    assert ticks.run(3, 30e-6) == PLANNED


def test_what_is_measured_is_put_into_force_and_shown(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tuple matches hundreds of s, and none of u; what that takes does not matter here."""
    monkeypatch.setattr(joins, "LEAST_GAIN", -1.0)
    monkeypatch.setattr(confirming, "TOLERANCE", 1e9)
    con.engine.streamon.budget.fraction = 1.0
    choices.measure(con)
    con.execute(STREAMS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM r [NOW], s [RANGE 90], "
                "u [RANGE 90] WHERE r.a = s.a AND r.b = u.b"
                )  # fmt: skip
    for t in range(9):
        for name, count, odd in (("r", 2000, 0), ("s", 200, 0), ("u", 2000, 1)):
            numbers = pa.array([2 * n + odd for n in range(count)], pa.int32())
            ones, at = pa.array([1] * count, pa.int32()), pa.array([t] * count, pa.int32())
            con.append(name, pa.table({"a": ones, "b": numbers, "t": at}))
        con.advance(t)
    assert {1: ("1 3 2", "measured")} == standing(con)
    shown = con.explain("q")
    assert "input 1: 1 3 2, chosen by measured" in shown
    assert "u [RANGE 90] drops 100 %" in shown
