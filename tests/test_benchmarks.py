"""The benchmarks' own checks find what is wrong, and their data are what they say."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import shutil
import sys
import textwrap
from collections import Counter
from itertools import pairwise
from pathlib import Path

import duckdb
import endurance
import invariants
import nexmark
import peerrun
import pytest
import road
import steady
import steady_workloads
import topk
import windows
from check import difference
from data import dataset
from latency import ticks_of
from measure import beside
from workload import Workload

MEAN = next(work for work in windows.WORKLOADS if work.name == "a")


def parquet(path: Path, rows: str, columns: str) -> Path:
    with duckdb.connect() as con:
        con.execute(f"COPY (FROM (VALUES {rows}) AS t({columns})) TO '{path}' (FORMAT parquet)")
    return path


# --- comparing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        ("(1, 0, 1), (2, 0, 1)", "(2, 0, 1), (1, 0, 1)", True),
        ("(1, 0, 2)", "(1, 0, 1), (1, 0, 1)", True),
        ("(1, 0, 1)", "(1, 0, 1), (5, 0, 1), (5, 0, -1)", True),
        ("(1, 0, 1)", "(1, 1, 1)", False),
        ("(1, 0, 1)", "(1, 0, -1)", False),
        ("(1, 0, 2)", "(1, 0, 1)", False),
    ],
)
def test_changes_are_compared_as_weighted_bags(
    tmp_path: Path, expected: str, found: str, same: bool
) -> None:
    one = parquet(tmp_path / "one.parquet", expected, "k, _ts, _weight")
    other = parquet(tmp_path / "other.parquet", found, "k, _ts, _weight")
    assert same == (difference(one, other)[1] is None)


def test_answers_are_compared_as_bags(tmp_path: Path) -> None:
    one = parquet(tmp_path / "one.parquet", "(1, 0.1), (1, 0.1)", "k, x")
    twice = parquet(tmp_path / "twice.parquet", "(1, 0.10000000001), (1, 0.1)", "k, x")
    once = parquet(tmp_path / "once.parquet", "(1, 0.1)", "k, x")
    named = parquet(tmp_path / "named.parquet", "(1, 0.1), (1, 0.1)", "k, y")
    assert (2, None) == difference(one, twice)
    assert "1 rows missing" in str(difference(one, once)[1])
    assert "columns differ" in str(difference(one, named)[1])


def test_rows_of_ticks_are_compared_as_bags() -> None:
    assert endurance.same_rows([(1, 0.1), (2, None)], [(2, None), (1, 0.1 + 1e-12)]) is None
    assert "1 rows instead of 2" in str(endurance.same_rows([(1,), (1,)], [(1,)]))
    assert endurance.same_rows([(1,), (2,)], [(1,), (3,)]) is not None


# --- data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["windows", "nexmark"])
def test_cuts_do_not_change_the_rows(tmp_path: Path, family: str) -> None:
    whole = dataset(family, tmp_path, 500, rate=50, cuts=[500])
    parts = dataset(family, tmp_path, 500, rate=50, cuts=invariants.cuts(50, 500))
    assert parts.batches > 3
    with duckdb.connect() as con:
        for stream in whole.streams:
            rows = [
                con.execute(f"FROM {data.scan(stream.name)} ORDER BY ALL").fetchall()
                for data in (whole, parts)
            ]
            assert rows[0] == rows[1]
            assert rows[0]


def test_ticks_come_after_the_data_one_instant_each(tmp_path: Path) -> None:
    data = dataset("windows", tmp_path, 100, rate=10, cuts=[100])
    ticks = ticks_of(MEAN, data, 10, 3, skip=2)
    assert [12, 13, 14] == [heartbeat for _, heartbeat, _ in ticks]
    assert [[12] * 10, [13] * 10, [14] * 10] == [
        tables["trades"]["ts"].to_pylist() for tables, _, _ in ticks
    ]


# --- invariants -----------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariants, "RATES", {"windows": 10, "nexmark": 50})
    monkeypatch.setattr(invariants, "INSTANTS", {"windows": 66, "nexmark": 44})
    monkeypatch.setattr(invariants, "LENGTHS", (0.5, 30, 100))


@pytest.mark.usefixtures("small")
def test_invariants_hold(tmp_path: Path) -> None:
    assert [] == invariants.broken(MEAN, tmp_path)


@pytest.mark.usefixtures("small")
def test_an_answer_that_is_not_exact_is_found(tmp_path: Path) -> None:
    other = dataclasses.replace(MEAN, recompute=MEAN.recompute.replace("59", "58"))
    broken = invariants.broken(other, tmp_path)
    assert broken
    assert all("the answer at" in line for line in broken)


@pytest.mark.usefixtures("small")
def test_changes_that_depend_on_the_cuts_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = invariants._followed

    def shorter(work, data, limit, **others):  # type: ignore[no-untyped-def]
        if limit is not None:
            work = dataclasses.replace(work, cql=work.cql.replace("59", "58"))
        return followed(work, data, limit, **others)

    monkeypatch.setattr(invariants, "_followed", shorter)
    assert any("many lengths" in line for line in invariants.broken(MEAN, tmp_path))


# --- Linear Road ----------------------------------------------------------------------------------


def test_each_car_reports_every_thirty_seconds() -> None:
    rows = road.Traffic(2, cars=90, rare=3).reports(0, 120).to_pylist()
    assert 2 * 90 * 4 == len(rows)
    times: dict[int, list[int]] = {}
    for row in rows:
        times.setdefault(row["cid"], []).append(row["ts"])
    assert all(b - a == 30 for found in times.values() for a, b in pairwise(found))
    assert all(row["xpos"] // 5280 == row["seg"] for row in rows)


def test_cars_of_an_accident_stand_in_one_place() -> None:
    rows = road.Traffic(1, cars=900, rare=5).reports(0, 600).to_pylist()
    places: dict[int, set[int]] = {}
    for row in rows:
        if row["speed"] == 0:
            places.setdefault(row["cid"], set()).add(row["xpos"])
    assert len(places) > 20
    assert {1} == {len(found) for found in places.values()}
    beside = Counter(next(iter(found)) for found in places.values())
    assert all(beside[next(iter(places[cid]))] >= 2 for cid in places if cid + 1000 in places)


def report(ts: int, cid: int, speed: int, xpos: int) -> tuple[int, ...]:
    return (ts, cid, speed, 0, 0, xpos, xpos // 5280)


def test_a_car_that_stands_still_is_told_to_those_behind_it() -> None:
    standing = [report(30 * i, 1, 0, 10 * 5280) for i in range(4)]
    behind = [report(80, 2, 50, 7 * 5280), report(110, 2, 50, 8 * 5280)]
    far = [report(110, 3, 50, 5 * 5280)]
    ahead = [report(110, 4, 50, 11 * 5280)]
    tolls, alerts = road.by_hand(sorted([*standing, *behind, *far, *ahead]), 130)
    assert [] == tolls
    assert [(2, 0, 0, 8, 10, 110)] == alerts


def test_a_slow_and_full_segment_costs_a_toll() -> None:
    cars = [report(0, i, 20, 5280 + i) for i in range(60)]
    tolls, _ = road.by_hand([*cars, report(1, 99, 20, 5280)], 1)
    assert [(99, 0, 0, 1, 2 * 11 * 11, 1)] == [row for row in tolls if row[0] == 99]
    fast = [(*row[:2], 50, *row[3:]) for row in cars]
    assert ([], []) == road.by_hand(fast, 1)


def test_a_wait_is_too_long_by_the_time_of_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(road, "WARM_UP", 30)
    found = road.held(1, tmp_path, measured=3, cars=30)
    assert found.longest >= 1 + max(found.ticks[:1])
    monkeypatch.setattr(road, "LIMIT", 0.5)
    assert not found.holds


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 5, 8, 11, 16])
def test_the_largest_that_holds_is_found(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    def held(directions: int, folder: Path, measured: int) -> road.Held:
        return road.Held(directions / 2, 1.0 if directions <= limit else road.LIMIT + 1)

    monkeypatch.setattr(road, "held", held)
    tried = road.largest(most=16)
    assert limit / 2 == max((x.expressways for x in tried if x.holds), default=0)
    assert limit == 16 or (limit + 1) / 2 in {x.expressways for x in tried}


# --- peers ----------------------------------------------------------------------------------------

PASSES_THROUGH = """
    import pyarrow as pa
    import pyarrow.parquet as pq
    from protocol import Clock, Task, main

    QUERIES = {"q0": None}

    def run(task: Task) -> Clock:
        clock, read = Clock(), []
        for file in task.files["bid"]:
            clock.start()
            read.append(pq.ParquetFile(file).read())
            clock.stop()
        print("much else")
        pq.write_table(pa.concat_tables(read).slice(SKIPPED), task.output)
        return clock

    main(run)
"""


def pretend(monkeypatch: pytest.MonkeyPatch, folder: Path, program: str) -> None:
    """Have one peer, with this program and the Python of the tests."""
    file = folder / "on_pretended.py"
    file.write_text(textwrap.dedent(program))
    shutil.copy(Path(peerrun.__file__).parent / "peers" / "protocol.py", folder)
    (folder / "pretended" / "bin").mkdir(parents=True)
    python = folder / "pretended" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv(peerrun.FOLDER, str(folder))
    monkeypatch.setattr(peerrun, "_programs", lambda: {"pretended": file})
    monkeypatch.setattr(peerrun, "QUERIES", {"pretended": ("q0",)})


def test_every_peer_has_queries_of_the_benchmarks() -> None:
    known = {work.name for work in nexmark.WORKLOADS}
    assert {"chdb", "deephaven", "flink", "pathway"} == set(peerrun.QUERIES)
    for queries in peerrun.QUERIES.values():
        assert queries
        assert set(queries) <= known


@pytest.mark.parametrize(("skipped", "right"), [("0", True), ("1", False)])
def test_a_peer_is_timed_and_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, skipped: str, right: bool
) -> None:
    pretend(monkeypatch, tmp_path, PASSES_THROUGH.replace("SKIPPED", skipped))
    work = next(work for work in nexmark.WORKLOADS if work.name == "q0")
    data = dataset("nexmark", tmp_path / "data", 300, rate=100, cuts=[100, 200, 300])
    result = beside(work, data, ["pretended"], 60.0)
    assert right == ("pretended" in result.runs)
    if right:
        (ran,) = result.runs["pretended"]
        assert 3 == len(ran.ticks)
        assert sum(ran.ticks) == pytest.approx(ran.seconds)
    else:
        assert "differs" in result.wrong["pretended"]


@pytest.mark.parametrize("work", nexmark.WORKLOADS, ids=lambda work: work.name)
def test_what_a_peer_is_compared_with_has_no_instants_of_changes(
    tmp_path: Path, work: Workload
) -> None:
    data = dataset("nexmark", tmp_path / "data", 4_000, rate=100, cuts=[4_000])
    peerrun.write_final(work, data, tmp_path / "final.parquet")
    with duckdb.connect() as con:
        found = con.sql(f"FROM '{tmp_path / 'final.parquet'}'")
        assert not {"_ts", "_weight"} & set(found.columns)
        assert found.limit(1).fetchall()
        due = [name for name in found.columns if name == "due"]
        assert due == (["due"] if work.every_window else [])


def test_a_peer_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend(monkeypatch, tmp_path, "raise ValueError('no memory for this')")
    work = next(work for work in nexmark.WORKLOADS if work.name == "q0")
    data = dataset("nexmark", tmp_path / "data", 100, rate=100, cuts=[100])
    with pytest.raises(RuntimeError, match="no memory for this"):
        peerrun.run_peer("pretended", work, data, None)


def test_top_k_and_numbers_of_the_benchmark_are_those_of_duckdb() -> None:
    changes = topk.Changes(3000, 20)
    there = changes.all()
    kept = {text: topk.kept_up(text, there) for text in topk.QUERIES.values()}

    def wrong() -> list[str]:
        return [text for text, con in kept.items() if topk.differs(con, text, changes.con)]

    assert not wrong()
    for now in range(2, 5):
        old, new = changes.drawn()
        assert (old.num_rows, new.num_rows) == (10, 15)
        for con in kept.values():
            con.retract("r", old, at=now)
            con.append("r", new, at=now)
            con.advance(now)
        assert not wrong()
    changes.con.execute("UPDATE r SET v = v + 1")
    assert wrong() == [text for name, text in topk.QUERIES.items() if name != "numbers by key"]
    for con in kept.values():
        con.close()


@pytest.mark.parametrize("name", ["invariants", "tpch_report"])
def test_examples_in_docstrings_of_benchmarks_run(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried
    assert not failed


# --- adaptive beside the best plan that stays -----------------------------------------------------


def test_all_plans_of_a_workload_give_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(steady_workloads.FILLED, "nexmark", 2)
    row = steady.run("nexmark q5", settle=2, ticks=1, pairs=2)
    assert row.options >= 3
    assert row.low <= row.mean <= row.high


def test_rows_of_other_workloads_stay_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "there.md"
    rows = {name: (name, "1.0", "3", "the default", "0.98", "0.96 to 1", "0", "0")
            for name in ("w2 b", "nexmark q5", "tpch q1")}  # fmt: skip
    listed = [steady.HEAD, ("---:",) * len(steady.HEAD), rows["nexmark q5"], rows["w2 b"]]
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in listed)
    path.write_text(f"| other | table |\n\n{steady.BEGIN}# Text\n\n{text}\n{steady.END}")
    new = [(*rows["w2 b"][:4], "0.97", "0.95 to 0.99", "1", "1"), rows["tpch q1"]]
    assert steady.merged(new, path) == [new[0], rows["nexmark q5"], rows["tpch q1"]]
    assert steady.merged(new, tmp_path / "none.md") == new


def test_of_pairs_the_mean_and_its_interval_are_shown() -> None:
    mean, low, high = steady.interval([0.5, 2.0] * 30)
    assert mean == pytest.approx(1.0)
    assert 0.8 < low < 0.9
    assert 1.1 < high < 1.25
    assert steady.interval([0.9] * 60) == pytest.approx((0.9, 0.9, 0.9))
