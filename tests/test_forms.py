"""The choice between forms of a tick: what it learns, and that nothing of it shows."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable
from itertools import pairwise

import choices
import pyarrow as pa
import pytest

import cqlduck
from cqlduck.rewrite.physical.form import Form
from cqlduck.streamon.budget import MEASURING_FRACTION, Budget
from cqlduck.streamon.option_trials import FIRST_LOOK, LAST_LOOK, TRIALS
from cqlduck.streamon.points import INTERVALS, REDUCED, STAGED, STEPWISE, UNSTAGED, Facts, sized
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.stages import (
    IDLE_FRACTION,
    LARGE_STATE_RATIO,
    LARGE_STATE_ROWS,
    MAX_STAGED_ELEMENTS,
    NEGLIGIBLE_FRACTION,
    SECONDS_A_ROW,
    STATE_SIZE_TICKS,
    TOO_SLOW,
    Stages,
)
from cqlduck.streamon.streamon import stored
from cqlduck.streamon.trials import Trials

JOIN = """\
CREATE STREAM a (k INTEGER, x INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE STREAM b (k INTEGER, y INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE CONTINUOUS QUERY q AS
    SELECT x, y FROM a [RANGE UNBOUNDED], b [RANGE 3] WHERE a.k = b.k;
"""
LEARNING = 8 * TRIALS
"""So many ticks at most until two options are known: when trials come is drawn."""

AFTER = 8
"""So many ticks come then before another trial does."""


class Ticks:
    """Ticks of a query, by what is said that they take."""

    def __init__(self) -> None:
        self.budget = Budget()
        self.known: dict[str, Statistics] = {}
        self.policies: dict[str, Stages] = {}
        self.now: dict[str, str] = {}
        self.stood: list[str] = []

    def run(
        self,
        ticks: int,
        staged: float,
        whole: float,
        elements: int = 100,
        stored: Callable[[], int] = int,
        stages: float | None = None,
    ) -> list[bool]:
        """Let ticks take as long as is said; return which of them had stages."""
        chosen = []
        for _ in range(ticks):
            facts = Facts(elements, stored=stored)
            size = sized(True, elements, MAX_STAGED_ELEMENTS)
            known = self.known.setdefault(size, Statistics())
            policy = self.policies.setdefault(size, Stages(self.budget))
            now = self.now.setdefault(size, policy.default(facts))
            proposal = policy.propose(now, known, facts)
            option = now if proposal is None else proposal.option
            if proposal is not None and not proposal.is_trial:
                self.now[size] = option
            seconds = staged if option == STAGED else whole
            share = seconds / 2 if stages is None else stages
            known.record(option, seconds, share if option == STAGED else None)
            self.budget.ticks += seconds
            chosen.append(option == STAGED)
            self.stood.append(self.now[size])
        return chosen

    @property
    def switches(self) -> int:
        """How often another option has been chosen."""
        return sum(a != b for a, b in pairwise(self.stood))


@pytest.mark.parametrize("faster", [False, True])
def test_both_are_tried_and_the_faster_is_kept(faster: bool) -> None:
    seconds = {"staged": 1.0, "whole": 1.25} if faster else {"staged": 1.25, "whole": 1.0}
    ticks = Ticks()
    chosen = ticks.run(LEARNING + AFTER, **seconds)
    assert {faster} == set(chosen[LEARNING:])
    # between any two trials there is a tick with what stands, but behind the first, which parses
    ran = "".join("ws"[has] for has in chosen[: ticks.stood.index("whole") if not faster else None])
    assert TRIALS + 1 == ran.count("w")
    assert ran.count("ww") <= 1
    assert "www" not in ran


def test_what_is_clear_is_not_tried_more_often_than_it_must_be() -> None:
    ticks = Ticks()
    chosen = ticks.run(1000, staged=1.0, whole=50.0)
    assert 1 == chosen.count(False)
    later = ticks.run(20_000, staged=1.0, whole=50.0)
    assert later.count(False) <= 2 + len(later) // 4_900


def test_the_budget_bounds_what_looking_again_costs() -> None:
    ticks = Ticks()
    ticks.run(LEARNING, staged=1.0, whole=1.5)
    chosen = ticks.run(5_000, staged=1.0, whole=1.5)
    assert 0 < chosen.count(False) * 0.5 <= MEASURING_FRACTION * (ticks.budget.ticks + 1)
    ticks.budget.counting += 1e9
    assert False not in ticks.run(5_000, staged=1.0, whole=1.5)


def test_after_a_restart_a_trial_is_not_read_from_what_is_stored() -> None:
    """The first tick with an option parses its statements, so it is not remembered."""
    known = Statistics()
    known.seconds = {STAGED: deque([0.03] * 3, maxlen=3), UNSTAGED: deque([0.02] * 3, maxlen=3)}
    trials = Trials((STAGED, UNSTAGED), Budget(ticks=100.0))
    before = None
    for _ in range(200):
        found = trials.propose(STAGED, known)
        noted = trials._by_option[UNSTAGED].ratios
        before = len(noted) if before is None else before
        option = STAGED if found is None else found.option
        known.record(option, 0.06 if option == UNSTAGED else 0.03)
    assert before == 1
    assert len(noted) > 2
    assert all(one[-1] > 0 for one in [*noted][before:])


def test_trials_are_paid_for_by_what_they_take() -> None:
    """One in ten takes fifty times as long, which the others do not say."""
    drawn, ticks = random.Random(0), Ticks()
    paid, spent = 0.0, 0.0
    for _ in range(4000):
        seconds = 50.0 if drawn.random() < 0.1 else 1.0
        if ticks.run(1, staged=1.0, whole=seconds) == [False]:
            spent += seconds - 1.0
    paid = ticks.budget.looking + ticks.budget.first
    assert paid == pytest.approx(spent, abs=51)
    assert spent < 2 * MEASURING_FRACTION * ticks.budget.ticks + 100


def test_the_other_form_is_tried_again_ever_less_often() -> None:
    ticks = Ticks()
    ticks.budget.ticks = 1e6
    chosen = ticks.run(10 * LAST_LOOK, staged=1.0, whole=1.25)
    looks = [i for i, has in enumerate(chosen) if not has and i >= LEARNING]
    gaps = [later - earlier for earlier, later in pairwise(looks)]
    assert looks[0] <= LEARNING + FIRST_LOOK
    for number, gap in enumerate(gaps, 1):
        assert 0.5 <= gap / min(FIRST_LOOK * 2**number, LAST_LOOK) <= 1.5
    assert len(set(gaps[6:])) > 1, "when they come is drawn"


def test_a_state_that_grows_changes_the_choice() -> None:
    ticks = Ticks()
    chosen = ticks.run(LEARNING + 5, staged=2.0, whole=1.0)
    assert {False} == set(chosen[LEARNING:])
    later = ticks.run(3 * FIRST_LOOK, staged=2.0, whole=9.0)
    assert later[-1]


def test_one_slow_tick_changes_nothing() -> None:
    ticks = Ticks()
    ticks.run(LEARNING + 5, staged=2.0, whole=1.0)
    ticks.run(1, staged=2.0, whole=50.0)
    assert [False] == ticks.run(1, staged=2.0, whole=1.0)


def test_what_was_tried_is_known_after_a_switch() -> None:
    ticks = Ticks()
    chosen = ticks.run(LEARNING, staged=1.5, whole=1.0)
    begun = ticks.stood.index("whole")
    chosen += ticks.run(AFTER, staged=1.5, whole=1.0)
    assert True not in chosen[begun:], "the old one is not tried anew"


def test_what_becomes_slower_is_left_soon() -> None:
    ticks = Ticks()
    ticks.run(LEARNING + 1000, staged=1.5, whole=1.0)
    assert ticks.run(LEARNING, staged=1.5, whole=3.0)[-1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("growth", [1.0, 1.002])
def test_of_what_takes_as_long_nothing_is_changed_again_and_again(seed: int, growth: float) -> None:
    """Ticks take by chance a tenth more or less, and all of them ever longer."""
    drawn, ticks = random.Random(seed), Ticks()
    for number in range(1500):
        takes = growth**number * math.exp(drawn.gauss(0, 0.1))
        ticks.run(1, staged=takes, whole=takes)
    assert ticks.switches <= 3


@pytest.mark.parametrize("ratio", [0.85, 1.15])
@pytest.mark.parametrize(
    "turns",
    [[1, 2], [1, 5], [3, 1, 1], [1, 1, 3, 3], [1, 2, 1, 4], [1] * 9 + [10], [1] * 8 + [4] * 8],
)
def test_ticks_that_take_less_and_more_in_turn_decide_nothing(
    turns: list[float], ratio: float
) -> None:
    """Windows slide, batches alternate: trials must not all meet the same ones."""
    ended = []
    for seed in range(4):
        drawn, ticks = random.Random(seed), Ticks()
        for number in range(2000):
            takes = turns[number % len(turns)] * math.exp(drawn.gauss(0, 0.05))
            ticks.run(1, staged=takes, whole=takes * ratio)
        assert ticks.switches <= 1
        ended.append(ticks.stood[-1])
    assert ended.count("staged" if ratio > 1 else "whole") >= 3


def test_what_becomes_better_while_all_grows_is_found() -> None:
    ticks = Ticks()
    for number in range(2000):
        takes, ratio = 1.002**number, 1.1 if number < 500 else 0.8
        chosen = ticks.run(1, staged=takes, whole=takes * ratio)
    assert [False] == chosen


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ratio", [0.85, 1.15])
def test_what_takes_a_little_less_is_found_in_spite_of_chance(seed: int, ratio: float) -> None:
    drawn, ticks = random.Random(seed), Ticks()
    chosen = []
    for _ in range(600):
        takes = math.exp(drawn.gauss(0, 0.1))
        chosen += ticks.run(1, staged=takes, whole=takes * ratio)
    assert chosen[-200:].count(ratio > 1) >= 190


def test_what_seems_to_save_much_is_tried_where_the_budget_is_spent() -> None:
    for seed in range(4):
        for ratio in (0.8, 1.02):
            drawn, ticks = random.Random(seed), Ticks()
            for _ in range(600):
                takes = math.exp(drawn.gauss(0, 0.2))
                ticks.run(1, staged=takes, whole=takes * ratio)
                ticks.budget.counting = 2 * MEASURING_FRACTION * ticks.budget.ticks
            assert ticks.stood[-1] == ("whole" if ratio < 1 else "staged")


@pytest.mark.parametrize(("more", "tried"), [(-0.01, 0), (0.01, TRIALS + 1)])
def test_stages_that_take_little_are_left_as_they_are(more: float, tried: int) -> None:
    chosen = Ticks().run(LEARNING, staged=1.0, whole=1.25, stages=NEGLIGIBLE_FRACTION + more)
    assert tried == chosen.count(False)


SCAN = SECONDS_A_ROW * LARGE_STATE_ROWS / TOO_SLOW
"""What a tick takes at least for a state to be scanned that is just large."""


@pytest.mark.parametrize(
    ("stored", "takes", "tried"),
    [
        (LARGE_STATE_ROWS, 0.5 * SCAN, True),
        (LARGE_STATE_ROWS + 1, 0.9 * SCAN, False),
        (LARGE_STATE_ROWS + 1, 1.1 * SCAN, True),
        (LARGE_STATE_RATIO * 600, 0.9 * SCAN, True),
        (LARGE_STATE_RATIO * 600 + 1, 0.9 * SCAN, False),
        (LARGE_STATE_RATIO * 600 + 1, 1.3 * SCAN, True),
    ],
)
def test_stages_are_not_left_out_where_a_large_state_would_be_scanned_for_long(
    stored: int, takes: float, tried: bool
) -> None:
    elements = 100 if stored <= LARGE_STATE_ROWS + 1 else 600
    asked: list[int] = []
    chosen = Ticks().run(
        2 * STATE_SIZE_TICKS, takes, takes / 2, elements, lambda: asked.append(stored) or stored
    )
    assert (False in chosen) == tried
    assert 1 <= len(asked) <= 3, "it is seldom looked at"


@pytest.mark.parametrize("best", [STAGED, INTERVALS])
def test_intervals_are_tried_and_stay_where_they_take_less(best: str) -> None:
    policy, known, ran = Stages(Budget()), Statistics(), list[str]()
    facts = Facts(100, stored=lambda: 0, has_intervals=True)
    seconds = {STAGED: 1.25, INTERVALS: 1.25, best: 1.0}
    now = policy.default(facts)
    for _ in range(LEARNING + AFTER):
        proposal = policy.propose(now, known, facts)
        option = now if proposal is None else proposal.option
        if proposal is not None and not proposal.is_trial:
            now = option
        known.record(option, seconds[option], None)
        policy.budget.ticks += seconds[option]
        ran.append(option)
    assert {STAGED, INTERVALS} == set(ran[:LEARNING])
    assert {best} == set(ran[LEARNING:])


def test_what_is_measured_is_not_left_because_of_an_estimate() -> None:
    """A state that is scanned grows: by what a scan is taken to cost it would be left."""
    ticks = Ticks()
    ticks.run(LEARNING, staged=0.02, whole=0.01)
    assert ticks.stood[-1] == "whole"
    ticks.run(500, staged=0.02, whole=0.01, stored=lambda: 100 * LARGE)
    assert ticks.switches == 1


LARGE = int(2 * TOO_SLOW / SECONDS_A_ROW)
"""So many rows of a state that none of the ticks below may scan them."""

LONG = 2 * LEARNING
"""Ticks in which three options are tried, and some more."""


def reducing(
    ticks: int,
    seconds: dict[str, float],
    stored: int = LARGE,
    idle: float | None = None,
    now: str = STAGED,
) -> list[str]:
    """Let ticks take so long with each option where a state may be reduced; return what ran.

    With `idle`, so much of the time of ticks in stages is that of pipelines that find nothing.
    """
    policy, known, ran = Stages(Budget()), Statistics(), []
    facts = Facts(100, stored=lambda: stored, is_reducible=True, has_steps=idle is not None)
    for _ in range(ticks):
        proposal = policy.propose(now, known, facts)
        option = now if proposal is None else proposal.option
        if proposal is not None and not proposal.is_trial:
            now = option
        share = None if idle is None or option == STEPWISE else idle * seconds[option]
        known.record(option, seconds[option], 0.5 if option == STAGED else None, share)
        policy.budget.ticks += seconds[option]
        ran.append(option)
    return ran


@pytest.mark.parametrize("best", [STAGED, REDUCED])
def test_a_large_state_is_reduced_where_that_takes_less(best: str) -> None:
    seconds = {STAGED: 1.25, REDUCED: 1.25, UNSTAGED: 0.1, best: 1.0}
    ran = reducing(LEARNING + AFTER, seconds)
    assert min(map(ran[:LEARNING].count, (STAGED, REDUCED))) >= TRIALS + 1
    assert {best} == set(ran[LEARNING:])


@pytest.mark.parametrize("best", [STAGED, REDUCED, STEPWISE])
@pytest.mark.parametrize("more", [-0.01, 0.01])
def test_pipelines_are_gone_through_by_input_where_they_find_nothing(
    best: str, more: float
) -> None:
    seconds = {STAGED: 1.25, REDUCED: 1.25, STEPWISE: 1.25, best: 1.0}
    ran = reducing(LONG, seconds, idle=IDLE_FRACTION + more)
    assert (STEPWISE in ran) == (more > 0)
    if more > 0:
        assert {best} == set(ran[-AFTER:])


def test_what_goes_input_by_input_goes_on_so() -> None:
    """After reopening nothing is known of what pipelines find otherwise."""
    seconds = {STAGED: 1.25, REDUCED: 1.25, STEPWISE: 1.0}
    ran = reducing(LONG, seconds, idle=0.0, now=STEPWISE)
    assert {STEPWISE} == {ran[0], *ran[-AFTER:]}


def test_a_small_state_is_not_reduced() -> None:
    ran = reducing(2 * LEARNING, {STAGED: 1.0, REDUCED: 0.1, UNSTAGED: 1.0}, LARGE_STATE_ROWS)
    assert REDUCED not in ran
    assert UNSTAGED in ran


def test_a_state_that_becomes_small_is_not_reduced_any_more() -> None:
    policy, facts = Stages(Budget()), Facts(100, stored=lambda: 0, is_reducible=True)
    known = Statistics()
    known.record(UNSTAGED, 1.0, None)
    proposal = policy.propose(REDUCED, known, facts)
    assert proposal is not None
    assert (proposal.option, proposal.is_trial) == (STAGED, False)


def test_what_is_stored_is_about_what_a_tick_may_meet() -> None:
    with cqlduck.connect() as con:
        con.execute(JOIN)
        con.append("a", pa.table({"k": range(900), "x": range(900), "t": [1] * 900}))
        con.append("b", pa.table({"k": [1], "y": [1], "t": [1]}))
        con.advance(1)
        query = con.engine.query("q")
        engine = con.engine
        found = stored(engine.database, engine.catalogue, query, engine.compiled["q"])
        assert 900 <= found <= 1000


def test_sizes_learn_apart() -> None:
    ticks = Ticks()
    ticks.run(2 * LEARNING, staged=1.0, whole=2.0, elements=100)
    ticks.run(2 * LEARNING, staged=2.0, whole=1.0, elements=100_000)
    sizes = [sized(True, elements, MAX_STAGED_ELEMENTS) for elements in (100, 100_000)]
    assert [STAGED, UNSTAGED] == [ticks.now[size] for size in sizes]


@pytest.mark.parametrize("elements", [None, MAX_STAGED_ELEMENTS + 1])
def test_many_or_unknown_elements_have_no_stages(elements: int | None) -> None:
    policy = Stages(Budget())
    assert policy.default(Facts(elements)) == UNSTAGED
    assert policy.propose(UNSTAGED, Statistics(), Facts(elements)) is None
    assert policy.default(Facts(MAX_STAGED_ELEMENTS)) == STAGED


def test_the_statements_of_the_first_ticks_are_written_when_a_query_is_registered(
    con: cqlduck.Connection,
) -> None:
    choices.force_stages(con, True)
    con.execute(JOIN.replace("INTEGER", "BIGINT"))
    written = dict(con.engine.compiled["q"].steps.written)
    for at in (1, 4):
        a, b = (pa.table({"k": [1, 1], v: [at, at], "t": [at, at + 1]}) for v in "xy")
        con.tick({"a": a, "b": b}, to=at + 2)
    assert con.table("q").fetchall()
    assert written == con.engine.compiled["q"].steps.written


def test_a_plan_that_stages_nothing_has_one_form(con: cqlduck.Connection) -> None:
    con.execute(
        "CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t;"
        "CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k"
    )
    steps = con.engine.compiled["q"].steps
    assert not steps.has_stages(Form(single=True))
    assert not steps.has_stages(Form())


def test_explain_and_the_operators_show_the_statements_that_run(con: cqlduck.Connection) -> None:
    con.execute(JOIN)
    steps = con.engine.compiled["q"].steps
    for at, staged in enumerate((True, False)):
        choices.force_stages(con, staged)
        # one instant, and several
        con.tick({"a": [(1, 1, 3 * at)], "b": [(1, 1, 3 * at)]}, to=3 * at)
        con.tick({"a": [(1, 1, 3 * at + 1)], "b": [(1, 1, 3 * at + 2)]}, to=3 * at + 2)
        text = con.explain("q")
        shown = "".join(sql for (sql,) in con.sql("SELECT sql FROM cql.operators").fetchall())
        one = Form(single=True, staged=staged)
        for form in (Form(single=False, staged=staged), one):
            for step in steps.of(form):
                assert 1 == text.count(f"{step.sql};")
                assert step.sql in shown
        others = [s for s in steps.of(Form(staged=not staged)) if s not in steps.of(one)]
        others = [s for s in others if s not in steps.of(Form(staged=staged))]
        assert others
        assert not [s for s in others if f"{s.sql};" in text]


def test_forms_write_the_same_elements() -> None:
    changes = []
    for always in (False, True, None):
        with cqlduck.connect() as con:
            choices.force_stages(con, always)
            con.execute(JOIN)
            for t in range(0, 60, 2):
                con.append("a", [(t % 5, t, t)])
                con.append("b", [(k, t + k, t) for k in range(4)])
                con.advance(t + t // 10 % 2)
            changes.append(sorted(con.changes("q").fetchall()))
    assert changes[0]
    assert changes[0] == changes[1] == changes[2]


@pytest.mark.parametrize("always", [False, True])
def test_a_form_works_out_nothing_that_no_tuple_asks_for(always: bool) -> None:
    with cqlduck.connect() as con:
        choices.force_stages(con, always)
        con.execute(
            "CREATE STREAM s (k INTEGER, c VARCHAR, t INTEGER) TIMESTAMP BY t;"
            "CREATE RELATION r (k INTEGER);"
            "CREATE CONTINUOUS QUERY q AS SELECT x.n FROM "
            "(SELECT k, CAST(c AS INTEGER) AS n FROM s) x JOIN r ON x.k = r.k"
        )
        con.append("r", [(1,)], at=0)
        for t in range(8):
            con.append("s", [(2, "n/a", t) if t % 3 == 0 else (1, str(t), t)])
            con.advance()
        con.advance(8)
        assert "active" == con.engine.query("q").state
        assert [(n,) for n in (1, 2, 4, 5, 7)] == sorted(con.sql("SELECT n FROM q").fetchall())


def test_ticks_that_do_not_go_as_far_as_they_could_are_not_learned_from() -> None:
    with cqlduck.connect(max_tick=2) as con:
        con.execute(JOIN)
        for t in range(3):
            con.append("b", [(1, t, t)])
            con.advance(t)
        con.append("b", [(1, t, t) for t in range(3, 9)])
        con.advance(9)
        con.append("b", [(1, 10, 10)])
        con.advance(10)
        points = con.engine.streamon.executor.kept.choices
        sizes = {p.ticks: con.engine.streamon.profiler.statistics(p) for p in points if p.ticks}
    (unknown,) = (known for ticks, known in sizes.items() if ticks.endswith("unknown size"))
    assert not unknown.warm
    assert any(known.warm for known in sizes.values())


def test_a_tick_never_goes_without_a_stage_that_always_pays(con: cqlduck.Connection) -> None:
    choices.measure(con)
    con.execute("""
        CREATE STREAM s (k BIGINT, t BIGINT) TIMESTAMP BY t;
        CREATE CONTINUOUS QUERY q AS SELECT DISTINCT k FROM s;
    """)
    seen: list[str] = []
    con.engine.database.trace = lambda sql, _: seen.append(sql)
    for at in range(2 * LEARNING):
        con.tick({"s": [(at % 5, at)]}, to=at)
    made = [sql for sql in seen if sql.startswith("CREATE OR REPLACE TEMPORARY TABLE")]
    # it is not known of the first tick how many elements come
    assert len(made) >= 2 * LEARNING - 1
