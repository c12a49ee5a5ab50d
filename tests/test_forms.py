"""The choice between forms of a tick: what it learns, and that nothing of it shows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pyarrow as pa
import pytest

import cqlduck
from cqlduck.forms import FEW, LITTLE, LOOK, MUCH, TIMES, Forms, stored
from cqlduck.rewrite.delta import WHOLE, Form
from cqlduck.state.learned import FIRST_LOOK, LAST_LOOK, TRIALS

JOIN = """\
CREATE STREAM a (k INTEGER, x INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE STREAM b (k INTEGER, y INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE CONTINUOUS QUERY q AS
    SELECT x, y FROM a [RANGE UNBOUNDED], b [RANGE 3] WHERE a.k = b.k;
"""
LEARNING = 2 * (TRIALS + 1)


def nothing() -> int:
    return 0


def run(
    forms: Forms,
    ticks: int,
    staged: float,
    whole: float,
    elements: int = 100,
    stored: Callable[[], int] = nothing,
) -> list[bool]:
    """Let ticks take as long as is said; return which of them had stages."""
    chosen = []
    for _ in range(ticks):
        has = forms.staged("q", True, elements, stored)
        chosen.append(has)
        seconds = staged if has else whole
        forms.took("q", True, elements, has, seconds, seconds / 2)
    return chosen


@pytest.mark.parametrize("faster", [False, True])
def test_both_are_tried_and_the_faster_is_kept(faster: bool) -> None:
    seconds = {"staged": 1.0, "whole": 1.25} if faster else {"staged": 1.25, "whole": 1.0}
    chosen = run(Forms(), LEARNING + FIRST_LOOK - 1, **seconds)
    assert chosen[:LEARNING].count(True) == chosen[:LEARNING].count(False) == TRIALS + 1
    assert {faster} == set(chosen[LEARNING:])


def test_what_is_clear_is_not_tried_more_often_than_it_must_be() -> None:
    chosen = run(Forms(), 1000, staged=1.0, whole=50.0)
    assert 1 == chosen.count(False)
    assert {True} == set(chosen[TRIALS + 2 :])
    later = run(Forms(), 20_000, staged=1.0, whole=50.0)
    assert later.count(False) <= 2 + len(later) // 4_900


def test_the_first_run_of_a_form_does_not_count() -> None:
    forms = Forms()
    assert forms.staged("q", True, 1, nothing)
    forms.took("q", True, 1, True, 100.0, 50.0)
    assert {True} == set(run(forms, LEARNING + 5, staged=1.0, whole=2.0, elements=1)[LEARNING:])


def test_the_other_form_is_tried_again_ever_less_often() -> None:
    chosen = run(Forms(), 10 * LAST_LOOK, staged=1.0, whole=1.25)
    looks = [i for i, has in enumerate(chosen) if not has and i >= LEARNING]
    gaps = [later - earlier for earlier, later in pairwise(looks)]
    assert gaps == sorted(gaps)
    assert looks[0] - LEARNING < FIRST_LOOK
    assert {LAST_LOOK} == set(gaps[6:])


def test_a_state_that_grows_changes_the_choice() -> None:
    forms = Forms()
    assert {False} == set(run(forms, LEARNING + 5, staged=2.0, whole=1.0)[LEARNING:])
    later = run(forms, 3 * FIRST_LOOK, staged=2.0, whole=9.0)
    assert later[-1]


def test_one_slow_tick_changes_nothing() -> None:
    forms = Forms()
    run(forms, LEARNING, staged=2.0, whole=1.0)
    forms.took("q", True, 100, False, 50.0, 0.0)
    assert not forms.staged("q", True, 100, nothing)


def test_stages_that_take_little_are_left_as_they_are() -> None:
    forms = Forms()
    chosen = []
    for tick in range(100):
        has = forms.staged("q", True, 100, nothing)
        chosen.append(has)
        # the first tick, and one of the later ones, are slow by chance
        stages = 0.9 if tick in (0, 50) else LITTLE - 0.01
        forms.took("q", True, 100, has, 1.0, stages)
    assert set(chosen) == {True}


def test_stages_that_take_much_are_compared_with_none() -> None:
    forms = Forms()
    chosen = []
    for _ in range(LEARNING):
        has = forms.staged("q", True, 100, nothing)
        chosen.append(has)
        forms.took("q", True, 100, has, 1.0, LITTLE + 0.01)
    assert chosen.count(False) == TRIALS + 1


@pytest.mark.parametrize(
    ("stored", "tried"), [(MUCH, True), (MUCH + 1, False), (TIMES * 600 + 1, False)]
)
def test_of_a_large_state_stages_are_never_left_out(stored: int, tried: bool) -> None:
    elements = 100 if stored <= MUCH + 1 else 600
    asked = []
    chosen = run(Forms(), 2 * LOOK, 1.0, 0.5, elements, lambda: asked.append(stored) or stored)
    assert (False in chosen) == tried
    assert 2 <= len(asked) <= 3, "it is seldom looked at"


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


def test_sizes_and_queries_learn_apart() -> None:
    forms = Forms()
    run(forms, LEARNING, staged=1.0, whole=2.0, elements=100)
    run(forms, LEARNING, staged=2.0, whole=1.0, elements=100_000)
    assert forms.staged("q", True, 100, nothing)
    assert not forms.staged("q", True, 100_000, nothing)
    forms.forget("q")
    assert forms.staged("q", True, 100_000, nothing), "it is tried anew"


@pytest.mark.parametrize("elements", [None, FEW + 1])
def test_many_or_unknown_elements_have_no_stages(elements: int | None) -> None:
    assert not Forms().may_stage(elements)
    assert Forms().may_stage(FEW)


def test_the_statements_of_the_first_ticks_are_written_when_a_query_is_registered(
    con: cqlduck.Connection,
) -> None:
    con.engine.forms = Forms(always=True)
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


def test_explain_shows_what_a_form_has_of_its_own(con: cqlduck.Connection) -> None:
    con.execute(JOIN)
    compiled = con.engine.compiled["q"]
    text = con.explain("q")
    other = Form(single=True, staged=True)
    for form in (WHOLE, other):
        for step in compiled.steps.of(form):
            assert 1 == text.count(f"{step.sql};")
    assert f"what begins or ends, in {other}\n" in text
    assert str(WHOLE) not in text


def test_forms_write_the_same_elements() -> None:
    changes = []
    for always in (False, True, None):
        with cqlduck.connect() as con:
            con.engine.forms = Forms(always)
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
        con.engine.forms = Forms(always)
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
    seen: list[int | None] = []

    class Asked(Forms):
        def may_stage(self, elements: int | None) -> bool:
            seen.append(elements)
            return super().may_stage(elements)

    with cqlduck.connect(max_tick=2) as con:
        con.engine.forms = Asked()
        con.execute(JOIN)
        for t in range(3):
            con.append("b", [(1, t, t)])
            con.advance(t)
        con.append("b", [(1, t, t) for t in range(3, 9)])
        con.advance(9)
        con.append("b", [(1, 10, 10)])
        con.advance(10)
    assert None in seen[3:-1]
    assert 0 not in seen


def test_a_tick_never_goes_without_a_stage_that_always_pays(con: cqlduck.Connection) -> None:
    con.engine.forms = Forms()
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
