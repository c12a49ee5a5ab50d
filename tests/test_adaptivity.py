"""What was measured at points of choice: stored, charged and credited, and what follows from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import choices
import duckdb
import pytest

import cqlduck
from cqlduck.rewrite.plan.orders import FILTERS, Site
from cqlduck.rewrite.statements.ordered import OrderedFilters
from cqlduck.rewrite.statements.probes import MASKED_TUPLES
from cqlduck.state.choices import Point
from cqlduck.state.connection import Database
from cqlduck.state.observations import (
    CONFIRMED,
    MAX_OBSERVATIONS,
    RETURNED,
    STAYS,
    Noted,
    Observation,
    load,
    write,
)
from cqlduck.state.probing import Profiled
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.filters import FilterOrder
from cqlduck.streamon.ledger import Ledger
from cqlduck.streamon.points import WRITTEN, Facts
from cqlduck.streamon.profiler import Statistics
from cqlduck.streamon.proposals import Proposal
from cqlduck.streamon.regions import (
    LEAST_WINS,
    MAX_RARITY,
    STEADY_DECISIONS,
    TRANSIENT_TICKS,
    Regions,
)

SCHEMA = "CREATE STREAM s (k INTEGER, x VARCHAR, t INTEGER) TIMESTAMP BY t;"
QUERY = (
    "CREATE CONTINUOUS QUERY q AS SELECT k FROM s "
    "WHERE x ~ '^(a|b|c|ab|abc)*.*(b|c).*[a-z]{3,9}$' AND x ~ '^y'"
)
SITE = Site(FILTERS, 2)
POINT = Point(FILTERS, "q", 2)


def play(con: cqlduck.Connection, ticks: range) -> None:
    """The first filter takes long and passes all, the second one drops all."""
    for t in ticks:
        con.append("s", [(n, f"{'abc' * 30}{n}xyz", t) for n in range(4000)])
        con.advance(t)


def measuring(con: cqlduck.Connection, fraction: float = 100.0) -> None:
    streamon = con.engine.streamon
    streamon.budget.fraction = fraction
    choices.measure(con)
    streamon.executor.recall()


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine decide nothing: any gain is enough, and no switch is taken back."""
    monkeypatch.setattr("cqlduck.streamon.filters.LEAST_GAIN", 0.0)
    monkeypatch.setattr("cqlduck.streamon.confirming.TOLERANCE", 1000.0)


def policy(con: cqlduck.Connection) -> FilterOrder:
    found = con.engine.streamon.reoptimizer.policy(POINT)
    assert isinstance(found, FilterOrder)
    return found


def rows(con: cqlduck.Connection, columns: str, view: str = "cql.adaptivity") -> list[Any]:
    return con.sql(f"SELECT {columns} FROM {view} WHERE point = 'filters'").fetchall()


# -- what is stored -------------------------------------------------------------------------------


def test_a_database_that_is_opened_again_goes_on_with_what_was_profiled(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        measuring(con)
        con.execute(SCHEMA + QUERY)
        play(con, range(10))
        before = policy(con)
        assert len(before.window) >= MASKED_TUPLES
        observed = con.sql("FROM cql.observations").fetchall()
        accounts = con.sql("FROM cql.adaptivity").fetchall()
        assert observed
        assert accounts
        expected = before.state()
    with cqlduck.connect(path) as con:
        assert observed == con.sql("FROM cql.observations").fetchall()
        assert accounts == con.sql("FROM cql.adaptivity").fetchall()
        measuring(con)
        # JSON has lists where the state has tuples
        assert json.loads(json.dumps(expected)) == json.loads(json.dumps(policy(con).state()))
        assert before.regions.seen == policy(con).regions.seen
        assert before.profile == policy(con).profile
        # the budget for what is not known yet is larger: it is not spent again
        con.engine.streamon.budget.fraction = 0.0
        play(con, range(10, 14))
        assert [(policy(con).probes,)] == rows(con, "probes")
        assert before.probes == policy(con).probes


def test_what_was_found_is_written_with_the_tick_that_decides(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        measuring(con)
        con.execute(SCHEMA + QUERY)
        written: list[str] = []
        con.engine.database.trace = lambda text, _: written.append(text)
        play(con, range(5))
        tables = ("profiles", "accounts", "plan_log")
        assert all(any(f"INSERT INTO cql_state.{t} " in text for text in written) for t in tables)


def test_a_tick_that_is_undone_undoes_what_was_charged_and_noted() -> None:
    with cqlduck.connect() as con:
        measuring(con)
        con.execute(SCHEMA + QUERY)
        play(con, range(6))
        executor = con.engine.streamon.executor
        before, noted = executor.ledger.kept, rows(con, "*", "cql.observations")

        def undone() -> None:
            with con.engine.changing():
                executor.ledger.probed(POINT, 1.0)
                executor.ledger.note(POINT, Observation((0.5,), "1 2", STAYS), None)
                con.engine.streamon.flush()
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            undone()
        assert before.accounts == executor.ledger.kept.accounts
        assert noted == rows(con, "*", "cql.observations")


def test_of_a_query_that_is_dropped_nothing_is_known() -> None:
    with cqlduck.connect() as con:
        measuring(con)
        con.execute(SCHEMA + QUERY)
        play(con, range(6))
        assert rows(con, "*")
        con.execute("DROP CONTINUOUS QUERY q")
        for table in ("observations", "profiles", "accounts"):
            assert [(0,)] == con.sql(f"SELECT count(*) FROM cql_state.{table}").fetchall()
        con.execute(QUERY)
        assert policy(con).probes == 0


def test_a_profile_that_somebody_has_changed_is_refused(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        measuring(con)
        con.execute(SCHEMA + QUERY)
        play(con, range(6))
    with duckdb.connect(path) as other:
        other.execute("UPDATE cql_state.profiles SET known = '{}'")
    with cqlduck.connect(path) as con:
        measuring(con)
        with pytest.raises(cqlduck.DatabaseError, match=r"cql_state\.profiles .* filters of q"):
            play(con, range(6, 7))


@pytest.mark.parametrize("change", ["costs = [1.0]", "statistics = [NULL]", "options = []"])
def test_an_observation_that_somebody_has_changed_is_refused(change: str, tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "some.duckdb"
    seen = Observation((0.0, 1.0), "2 1", CONFIRMED, 2.0, 1.0, 1.5, {"2 1": 1.0, "1 2": 2.0})
    with cqlduck.connect(path) as con:
        con.execute(SCHEMA + QUERY)
        write(con.engine.database, [Noted(1, None, POINT, seen)])
    with duckdb.connect(path) as other:
        other.execute(f"UPDATE cql_state.observations SET {change}")
    with pytest.raises(cqlduck.DatabaseError, match=r"cql_state\.observations .* is not what"):
        cqlduck.connect(path)


def test_the_log_of_observations_is_thinned(tmp_path: Path) -> None:
    with cqlduck.connect(tmp_path / "some.duckdb") as con:
        base: Database = con.engine.database
        seen = Observation((0.0, 1.0), "2 1", CONFIRMED, 2.0, 1.0, 1.5, {"2 1": 1.0, "1 2": 2.0})
        for number in range(1000):
            one = replace(seen, statistics=(number / 1000, 1.0))
            write(base, [Noted(number, None, POINT, one)])
        other = POINT._replace(operator=3)
        write(base, [Noted(1000, None, other, seen)])
        ((count, first, last),) = base.rows(
            "SELECT count(*), min(number), max(number) FROM cql_state.observations "
            "WHERE operator = 2"
        )
        assert MAX_OBSERVATIONS // 2 < count < MAX_OBSERVATIONS + 64
        assert first < 100
        assert last == 1000
    with cqlduck.connect(tmp_path / "some.duckdb") as con:
        # of the last ones there are all, in their order
        found = load(con.engine.database, 100)
        assert [one.statistics[0] for one in found[POINT]] == [n / 1000 for n in range(900, 1000)]
        assert [seen] == found[other]


# -- what it costs and brings ---------------------------------------------------------------------


def test_a_switch_is_credited_with_what_was_measured_when_it_was_confirmed() -> None:
    with cqlduck.connect() as con:
        ledger = Ledger(con.engine.database)
        ledger.switched(POINT, 3.0, None, returns=False)
        ledger.ran(POINT, 10)
        ledger.ran(POINT, 10)
        assert (60.0, None) == (of(ledger).expected, of(ledger).measured)
        ledger.note(POINT, Observation((), "2 1", CONFIRMED, 5.0, 2.0, 4.0), None)
        assert (60.0, 20.0) == (of(ledger).expected, of(ledger).measured)
        ledger.ran(POINT, 5)
        assert (75.0, 25.0) == (of(ledger).expected, of(ledger).measured)
        # what is no better costs time for as long as it ran, and the one before goes on saving
        ledger.switched(POINT, 4.0, None, returns=False)
        ledger.ran(POINT, 10)
        ledger.note(POINT, Observation((), "1 2", RETURNED, 4.0, 0.0, 6.0), None)
        assert 5.0 == of(ledger).measured
        ledger.switched(POINT, None, None, returns=True)
        ledger.ran(POINT, 1)
        assert 6.0 == of(ledger).measured
        assert (2, 1) == (of(ledger).switches, of(ledger).returned)
        # so it is if it comes back before it is said what it was worse by
        ledger.switched(POINT, 4.0, None, returns=False)
        ledger.ran(POINT, 10)
        ledger.switched(POINT, None, None, returns=True)
        ledger.note(POINT, Observation((), "1 2", RETURNED, 4.0, 0.0, 6.0), None)
        assert -14.0 == of(ledger).measured
        ledger.ran(POINT, 1)
        assert -13.0 == of(ledger).measured
        assert (3, 2) == (of(ledger).switches, of(ledger).returned)
        # what a user has chosen is credited with nothing
        ledger.ended(POINT)
        ledger.ran(POINT, 1000)
        assert -13.0 == of(ledger).measured


def of(ledger: Ledger) -> Any:
    return ledger.kept.accounts[POINT]


def test_what_was_not_measured_is_not_known() -> None:
    with cqlduck.connect() as con:
        ledger = Ledger(con.engine.database)
        ledger.switched(POINT, None, None, returns=False)
        ledger.ran(POINT, 10)
        ledger.note(POINT, Observation((), "2 1", CONFIRMED, None, None, 4.0), None)
        ledger.ran(POINT, 10)
        assert (None, None) == (of(ledger).expected, of(ledger).measured)


def test_the_view_says_what_adapting_cost_and_brought() -> None:
    with cqlduck.connect() as con:
        measuring(con)
        con.execute(SCHEMA + QUERY)
        play(con, range(6))
        ledger = con.engine.streamon.executor.ledger
        columns = "probes, probe_seconds, last_seconds, switches, taken_back, fills, fill_seconds"
        ((probes, seconds, last, switches, back, fills, fill_seconds, option),) = rows(
            con, f"{columns}, option"
        )
        assert (policy(con).probes, 1, 0, 0, 0.0, "2 1") == (
            probes, switches, back, fills, fill_seconds, option
        )  # fmt: skip
        assert seconds == pytest.approx(last)
        assert seconds > 0
        # the same in another block of ticks, and two blocks later
        with con.engine.changing():
            pass_ticks(con, 128)
            ledger.probed(POINT, 7.0)
        assert [(seconds + 7.0,)] == rows(con, "last_seconds")
        with con.engine.changing():
            pass_ticks(con, 256)
            ledger.probed(POINT, 1.0)
        assert [(1.0, seconds + 8.0)] == rows(con, "last_seconds, probe_seconds")


def pass_ticks(con: cqlduck.Connection, ticks: int) -> None:
    con.engine.streamon.executor.number += ticks
    con.engine.database.execute(f"UPDATE cql_state.ticks SET number = number + {ticks}")


def test_the_best_single_option_is_compared_with_what_was_picked_there() -> None:
    with cqlduck.connect() as con:
        ledger = Ledger(con.engine.database)
        day, night = {WRITTEN: 1.0, "2 1": 4.0, "x": 9.0}, {WRITTEN: 8.0, "2 1": 2.0}
        with con.engine.changing():
            ledger.probed(POINT, 0.5)
            for _ in range(2):
                ledger.note(POINT, Observation((0.0,), WRITTEN, STAYS, costs=day), None)
            # one that was compared once says nothing
            few = {"2 1": 2.0, WRITTEN: 8.0, "1 2": 0.0}
            ledger.note(POINT, Observation((1.0,), "2 1", STAYS, costs=few), None)
            ledger.note(POINT, Observation((1.0,), "2 1", STAYS, costs=night), None)
            ledger.flush()
        found = rows(con, "best_option, best_cost, picked_cost")
    # written 18, 2 1 12, and what was picked 6 in all; x was compared by day only
    assert [("2 1", 3.0, 1.5)] == found


@pytest.mark.parametrize(
    "damage",
    [
        "seconds = [1.0]",
        "seconds = seconds || [1.0]",
        "seconds = list_transform(seconds, lambda s: 'NaN'::DOUBLE)",
        "seconds = list_transform(seconds, lambda s: -1.0)",
        "seconds = list_transform(seconds, lambda s: 'inf'::DOUBLE)",
        "option = 'three'",
    ],
)
def test_a_choice_that_nobody_has_written_so_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(SCHEMA + QUERY)
        con.pin("filters", "2 1", "q")
    with duckdb.connect(str(path)) as plain:
        plain.execute(f"UPDATE cql_state.choices SET {damage} WHERE point = 'filters'")
    with pytest.raises(cqlduck.DatabaseError, match="of the point filters of q is not what was"):
        cqlduck.connect(path)


def test_trials_are_charged_with_the_seconds_by_which_they_took_longer() -> None:
    with cqlduck.connect() as con:
        choices.measure(con)
        executor, point = con.engine.streamon.executor, Point("stages", "q", None, "")
        assert executor.choose(point, Facts(100)) == "staged"
        for seconds in (1.0, 1.0, 1.0):
            executor.measured(point, "staged", seconds)
        executor.measured(point, "whole", 4.0)
        executor.measured(point, "whole", 0.5)
        account = executor.ledger.kept.accounts[point]
        assert (2, 2.5) == (account.trials, account.trial_seconds)
        executor._switch(point, Proposal("whole", now=1.0, then=0.5), "measured", None)
        # the choice says what the log says of it
        choice = executor.kept.choices[point]
        by_option = dict(zip(choice.options, choice.seconds, strict=True))
        assert (1.0, 0.5) == (by_option["staged"], by_option["whole"])
        executor.measured(point, "whole", 0.5)
        executor.measured(point, "whole", 0.5)
        account = executor.ledger.kept.accounts[point]
        assert (1, 1.0, None) == (account.switches, account.measured, account.expected)


# -- plan logging ---------------------------------------------------------------------------------


def regions(*seen: tuple[tuple[float, ...], str, str]) -> Regions:
    found = Regions()
    found.seen.extend(Observation(*one) for one in seen)
    return found


def test_an_option_that_has_won_several_times_near_is_known() -> None:
    day, night = ((0.1, 0.9), WRITTEN, STAYS), ((0.9, 0.1), "2 1", CONFIRMED)
    known = regions(*[day] * LEAST_WINS, *[night] * (LEAST_WINS - 1))
    assert (WRITTEN, LEAST_WINS) == known.known((0.15, 0.85))
    assert known.known((0.9, 0.1)) is None
    known.seen.append(Observation(*night))
    assert ("2 1", LEAST_WINS) == known.known((0.9, 0.1))
    assert known.known((0.5, 0.5)) is None
    # where it was taken back once it is not known any more
    known.seen.append(Observation((0.88, 0.1), "2 1", RETURNED))
    assert known.known((0.9, 0.1)) is None


def test_what_only_flickers_does_not_matter() -> None:
    flickering = [0.0, 0.9, 0.4, 0.7]
    day = [((0.1, some), WRITTEN, STAYS) for some in flickering]
    night = [((0.9, some), "2 1", CONFIRMED) for some in flickering]
    known = regions(*day, *night)
    assert [True, False] == known.matter()
    assert ("2 1", 4) == known.known((0.9, 0.2))
    # all count as long as nothing is told apart
    assert [True, True] == regions(*day).matter()
    assert regions(*day).known((0.1, 0.2)) is None


def test_options_that_came_and_went_have_to_be_found_several_times() -> None:
    found = Regions()
    assert found.repeated == 1
    found.stays.extend([3, 200, 400])
    assert found.repeated == 1
    found.stays.extend([TRANSIENT_TICKS - 1, 5])
    assert found.repeated == 3


def test_what_never_led_to_another_option_is_probed_less() -> None:
    stays = Observation((0.5,), WRITTEN, STAYS)
    found = Regions()
    rarities = []
    for _ in range(5):
        rarities.append(found.rarity)
        found.seen.extend([stays] * STEADY_DECISIONS)
    assert [1, 2, 4, 8, MAX_RARITY] == rarities
    found.seen.append(replace(stays, option="2 1", outcome=CONFIRMED))
    assert found.rarity == 1


class Replay:
    """Days and nights of a query with filters: another one drops all tuples in each."""

    def __init__(self, filters: int = 3) -> None:
        self.policy = FilterOrder(Budget())
        self.now = WRITTEN
        about = OrderedFilters(SITE, tuple("abcdefghij"[:filters]))
        self.facts = Facts(1000, about=about)
        self.times = tuple([1e-6] * filters)
        self.reasons: list[str] = []

    def phase(self, dropping: int, probes: int = 4) -> list[tuple[str, int]]:
        """Run a phase; return what each probe's tick ran then, and how many searches there were."""
        found = []
        for _ in range(probes):
            for _ in range(20):
                self.tick(dropping)
            self.policy.forget()
            masks = {0: 2, 1 << dropping: 510}
            self.policy.saw(self.facts, self.now, None, Profiled(SITE, masks, self.times, 0.002))
            before = self.policy.searched
            self.tick(dropping)
            found.append((self.now, self.policy.searched - before))
        return found

    def tick(self, dropping: int) -> None:
        proposal = self.policy.propose(self.now, Statistics(), self.facts)
        if proposal is not None:
            self.now = proposal.option
            self.reasons.append(proposal.reason)
        first = 0 if self.now == WRITTEN else int(self.now.split()[0]) - 1
        self.policy.saw(self.facts, self.now, 1e-3 if first == dropping else 3e-3, None)
        assert self.policy.decided() is not None


def test_the_second_night_picks_without_a_search() -> None:
    replay = Replay()
    day, night = replay.phase(0), replay.phase(2)
    assert {WRITTEN} == {option for option, _ in day}
    assert {"3 1 2"} == {option for option, _ in night}
    # as long as too little is known each probe is followed by a search
    assert [1, 1, 1] == [searches for _, searches in night[:3]]
    assert "optimum: of 512 tuples" in replay.reasons[-1]
    again, second = replay.phase(0), replay.phase(2)
    assert [(WRITTEN, 0)] * 4 == again
    assert [("3 1 2", 0)] * 4 == second
    assert "it has won 4 times, without a search" in replay.reasons[-1]


def test_a_region_that_the_model_denies_is_searched_again() -> None:
    """Drop rates do not say which filters drop the same tuples, so what has won may not win."""
    replay = Replay()
    replay.phase(0, probes=1)
    won = Observation(tuple(replay.policy.statistics()), "3 2 1", CONFIRMED)
    replay.policy.regions.seen.clear()
    replay.policy.regions.seen.extend([won] * LEAST_WINS)
    assert replay.policy.regions.known(won.statistics) == ("3 2 1", LEAST_WINS)
    ((option, searches), *_) = replay.phase(0, probes=1)
    assert (WRITTEN, 1) == (option, searches)


def test_what_saves_too_little_has_not_won(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine an order may save a small part of what statements take; later it counts."""
    replay = Replay()
    monkeypatch.setattr("cqlduck.streamon.filters.LEAST_GAIN", 10.0)
    assert {WRITTEN} == {option for option, _ in replay.phase(2, probes=LEAST_WINS + 1)}
    monkeypatch.setattr("cqlduck.streamon.filters.LEAST_GAIN", 0.0)
    assert ("3 1 2", 1) == replay.phase(2)[0]


def test_a_mix_that_flickers_is_damped() -> None:
    replay = Replay()
    replay.phase(0)

    def flicker() -> None:
        for dropping in (2, 0):
            masks = {0: 2, 1 << dropping: 510}
            replay.policy.forget()
            replay.policy.saw(
                replay.facts, replay.now, None, Profiled(SITE, masks, replay.times, 0)
            )
            for _ in range(5):
                replay.tick(dropping)

    for _ in range(3):
        flicker()
    switches = len(replay.reasons)
    assert switches > 2
    assert replay.policy.regions.repeated > 1
    for _ in range(10):
        flicker()
    assert len(replay.reasons) == switches
    # a change that lasts still comes through
    assert replay.phase(2)[-1][0] == "3 1 2"
