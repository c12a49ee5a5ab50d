"""The programs that count a row's way, and time registrations, count and compare what they say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType

import pytest
import registration
import walk

import cqlduck


def test_a_walk_is_counted_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    walk.main(as_json=True, as_tree=True)
    found = json.loads(capsys.readouterr().out)
    row, text = found["row"], found["text"]
    for way in (row, text):
        assert 0 < way["files"] < way["functions"] < way["calls"]
        assert 0 < way["room_changes_first"] <= way["room_changes"] < way["calls"]
    assert row["statements"] > 0
    assert 0 == row["sqlglot"] < text["sqlglot"] <= text["others"]
    tree = found["tree"]["row"]
    assert len(tree) == row["functions"]
    assert tree[0].startswith("Connection.follow  cqlduck/connection.py:")
    assert any(line.startswith("Connection.table ") for line in tree)
    assert any(line.startswith("  ") and "state/" in line for line in tree)
    assert any("compile_query" in line for line in found["tree"]["text"])


def test_calls_and_statements_are_those_of_the_call() -> None:
    seen: list[str] = []
    with cqlduck.connect(trace=lambda sql, _: seen.append(sql), threads=1) as con:
        con.engine.database.value("SELECT 1")
        seen.clear()
        recorder = walk.Recorder().of(lambda: con.engine.database.value("SELECT 1"))
        assert len(seen) == recorder.statements == 1
        before = sys.getprofile()
        frontier = con.engine.frontier
        twice = walk.Recorder().of(lambda: [frontier(), frontier()])
    assert before is None is sys.getprofile()
    names = [visit.name for visit in twice.visits]
    assert 2 == names.count("Core.frontier")
    assert ["Core.frontier"] == [visit.name for visit in twice.first_visits()]
    assert 0 == walk.Walk.of(twice).room_changes


def test_rooms_change_where_calls_go_to_another_room() -> None:
    rooms = ["cqlduck", "cqlduck", "state", "rewrite", "state"]
    visits = [walk.Visit(room, f"{room}/a.py", n % 4, "f", 0) for n, room in enumerate(rooms)]
    recorder = walk.Recorder(visits, {"cqlduck": 5, "sqlglot": 2, "re": 1}, 7)
    assert walk.Walk(5, 3, 2, 5, 3, 3, 3, 7) == walk.Walk.of(recorder)
    again = walk.Recorder([*visits, visits[0], visits[2]])
    assert walk.Walk.of(again).room_changes == 5
    assert walk.Walk.of(again).room_changes_first == 3


def test_a_frame_of_nobody_is_no_call_of_the_project() -> None:
    frame: FrameType = sys._getframe()
    recorder = walk.Recorder()
    recorder(frame, "call", None)
    assert [] == recorder.visits
    assert 1 == sum(recorder.calls.values())


def pretended(path: Path, says: str) -> str:
    """Return a Python that says the same whatever it is to run."""
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return str(path)


def test_registrations_of_two_installations_are_compared_in_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fast, slow = (json.dumps(dict.fromkeys(registration.NAMES, seconds)) for seconds in (1.5, 6.0))
    monkeypatch.setattr(sys, "executable", pretended(tmp_path / "here", f"echo '{fast}'"))
    there = pretended(tmp_path / "there", f"echo '{slow}'")
    registration.main(as_json=True, against=there, times=3)
    found = json.loads(capsys.readouterr().out)
    assert 100 == found["queries"]
    assert [3, 3] == [len(found["here"]), len(found["there"])]
    assert dict.fromkeys(registration.NAMES, 0.25) == pytest.approx(found["ratios"])
    registration.main(against=there, times=1)
    lines = capsys.readouterr().out.splitlines()
    assert ["register", "1.500", "6.000", "0.250"] == lines[2].split()


def test_queries_of_each_shape_are_registered_and_opened_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert 100 == len(set(registration.queries()))
    registration.main(here=True, constants=1)
    found = json.loads(capsys.readouterr().out)
    assert list(registration.NAMES) == list(found)
    assert all(seconds > 0 for seconds in found.values())


def test_ratios_are_the_geometric_means_of_pairs() -> None:
    runs = [registration.Seconds(a, 1.0, 1.0, 1.0) for a in (2.0, 1.0, 8.0, 4.0)]
    found = registration.Compared(runs[:2], runs[2:])
    assert found.ratios()["register"] == pytest.approx(0.25)
    assert found.medians(runs)["register"] == 3.0


def test_an_installation_that_fails_says_why(tmp_path: Path) -> None:
    python = pretended(tmp_path / "python", "echo no duck here >&2\nexit 3")
    with pytest.raises(RuntimeError, match="no duck here"):
        registration.in_a_process(python, 1)
