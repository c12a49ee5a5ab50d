"""Weights: whose ticks are measured, where the budget does not afford all."""

from __future__ import annotations

import itertools
from collections import Counter
from types import SimpleNamespace

import pytest

import cqlduck
from cqlduck.streamon.budget import Budget
from cqlduck.streamon.profiler import Profiler
from cqlduck.streamon.turns import Turns


def turns(weights: dict[str, float], ticks: int, idle: dict[str, range] | None = None) -> Counter:
    """Return how often each query is counted, if each tick affords one."""
    known, counted = Turns(), Counter[str]()
    for tick in range(ticks):
        afforded = True
        for query, weight in weights.items():
            if idle is not None and tick in idle.get(query, ()):
                continue
            if known.is_due(query) and afforded:
                known.spend(query, weight, 1.0)
                counted[query] += 1
                afforded = False
        known.ended()
    return counted


@pytest.mark.parametrize("weights", [(1, 1, 1), (1, 2, 3), (5, 1, 4), (0.5, 0.25, 0.25), (100, 1)])
def test_each_has_its_part_of_the_turns(weights: tuple[float, ...]) -> None:
    names = dict(zip("abc", weights, strict=False))
    counted = turns(names, 1000)
    for name, weight in names.items():
        assert abs(counted[name] - 1000 * weight / sum(weights)) <= 2


def test_who_was_away_has_nothing_to_catch_up_with() -> None:
    counted = turns({"a": 1, "b": 1}, 300, {"b": range(200)})
    assert 248 <= counted["a"] <= 252
    assert 50 == pytest.approx(counted["b"], abs=2)


def test_all_are_measured_where_the_budget_affords_all() -> None:
    budget = Budget(0.01, ticks=100.0, counting=0.39)
    assert budget.affords_counting()
    budget.counted(0.01)
    assert budget.affords_counting(10)
    assert not budget.affords_counting(11)


SCRIPT = """
    CREATE STREAM s (k INTEGER, v INTEGER);
    CREATE CONTINUOUS QUERY light AS SELECT k, sum(v) AS v FROM s [RANGE 5] GROUP BY k;
    CREATE CONTINUOUS QUERY heavy WITH (weight = 4, sharing = false) AS
        SELECT k, min(v) AS v FROM s [RANGE 5] WHERE k IS NOT NULL GROUP BY k;
"""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Count which queries are measured, if a tick affords those whose turn it is."""
    counted = Counter[str]()
    clock = itertools.count()
    plain = Profiler.saw

    def saw(self: Profiler, query: str, *rest: object) -> None:
        counted[query] += 1
        plain(self, query, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Profiler, "saw", saw)
    monkeypatch.setattr(Budget, "affords_counting", lambda _, others=0: others == 0)
    monkeypatch.setattr(Budget, "affords_waiting", property(lambda _: False))
    fair = SimpleNamespace(perf_counter=lambda: float(next(clock)), monotonic=lambda: 0.0)
    monkeypatch.setattr("cqlduck.streamon.streamon.time", fair)
    return counted


def run(con: cqlduck.Connection, ticks: range) -> None:
    for t in ticks:
        con.append("s", [(t % 2, t), (1, t)], at=t)
        con.advance(t)


def test_a_query_of_more_weight_is_measured_more_often(measured: Counter) -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        run(con, range(100))
        assert 3 <= measured["heavy"] / measured["light"] <= 5
        con.execute("ALTER CONTINUOUS QUERY light SET (weight = 16)")
        measured.clear()
        run(con, range(100, 200))
        assert 3 <= measured["light"] / measured["heavy"] <= 5


def test_a_family_counts_as_its_members(measured: Counter) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        for at in range(3):
            con.execute(f"CREATE CONTINUOUS QUERY m{at} WITH (weight = {at + 1}) AS "
                        f"SELECT v FROM s [RANGE 4] WHERE k = {at}")  # fmt: skip
        con.execute("CREATE CONTINUOUS QUERY one WITH (weight = 2) AS "
                    "SELECT k, min(v) AS v FROM s [RANGE 5] GROUP BY k")  # fmt: skip
        (family,) = con.engine.catalogue.families.values()
        assert 6 == family.weight
        run(con, range(100))
        assert 2 <= measured[family.name] / measured["one"] <= 4
        con.execute("DROP CONTINUOUS QUERY m2; ALTER CONTINUOUS QUERY m0 SET (weight = 0.5)")
        assert 2.5 == family.weight


def test_weights_are_shown_and_stay(tmp_path) -> None:
    path = tmp_path / "a.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(SCRIPT)
        con.execute("ALTER CONTINUOUS QUERY light SET (weight = 0.5)")
    with cqlduck.connect(path) as con:
        rows = con.sql("SELECT name, weight FROM cql.queries ORDER BY name").fetchall()
        assert [("heavy", 4.0), ("light", 0.5)] == rows
        assert 4.0 == con.queries["heavy"].weight
        assert "-- weight 0.5: " in con.explain("light")


def test_no_answer_depends_on_weights() -> None:
    found = []
    for weight in ("1", "1000"):
        with cqlduck.connect() as con:
            con.execute(SCRIPT.replace("weight = 4", f"weight = {weight}"))
            run(con, range(30))
            found.append([sorted(con.changes(name).fetchall()) for name in ("light", "heavy")])
    assert found[0] == found[1]
