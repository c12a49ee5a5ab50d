"""Which tests and cases a brief run leaves out, and which are a part of all."""

from __future__ import annotations

from pathlib import Path

import counts
import pytest

TESTS = Path(__file__).parent


@pytest.mark.parametrize("name", [*counts.EACH, *sorted(counts.OUT)])
def test_what_runs_less_often_is_a_test(name: str) -> None:
    file, *_, test = name.split("::")
    assert f"def {test}(" in (TESTS / file).read_text(encoding="utf-8")


def of_three() -> str:
    return next(name for name, each in counts.EACH.items() if each == 3)


def test_each_nth_case_of_a_costly_test_runs() -> None:
    cases = [(f"tests/{of_three()}[{n}]", frozenset({("n", str(n))})) for n in range(5)]
    others = [(f"tests/test_other.py::test_other[{n}]", counts.Values()) for n in range(2)]
    left_out = counts.is_left_out([*cases[:2], others[0], *cases[2:], others[1]])
    assert left_out == [False, True, False, True, False, True, False]


def test_each_value_that_several_cases_have_runs() -> None:
    pairs = [(a, b) for a in "xyzuvw" for b in "123"]
    cases = [(f"{of_three()}[{a}-{b}]", frozenset({("a", a), ("b", b)})) for a, b in pairs]
    run = [p for p, out in zip(pairs, counts.is_left_out(cases), strict=True) if not out]
    assert {a for a, _ in run} == set("xyzuvw")
    assert {b for _, b in run} == set("123")
    assert len(run) == 8


def test_of_a_very_costly_test_each_nth_case_runs_whatever_its_values() -> None:
    name = next(name for name, each in counts.EACH.items() if each == 6)
    cases = [(f"{name}[{a}-{b}]", frozenset({("a", a), ("b", b)})) for a in "xyzu" for b in "123"]
    assert [n % 6 > 0 for n in range(12)] == counts.is_left_out(cases)


def test_what_is_left_to_long_runs_is_out() -> None:
    names = [f"tests/{next(iter(counts.OUT))}", "tests/test_other.py::test_other"]
    assert [True, False] == counts.is_left_out([(name, counts.Values()) for name in names])


def test_of_a_costly_file_each_second_test_runs() -> None:
    file = f"tests/{min(counts.HALVED)}"
    names = [f"{file}::test_a[1]", f"{file}::test_a[2]", f"{file}::test_b", f"{file}::test_c"]
    left_out = counts.is_left_out([(name, counts.Values()) for name in names])
    assert left_out == [False, False, True, False]


def test_costly_files_are_there() -> None:
    assert all((TESTS / file).is_file() for file in counts.HALVED)


def test_each_test_is_in_one_of_the_parts() -> None:
    parts = [counts.outside(20, f"{number}/8") for number in range(1, 9)]
    assert all(list(of_test).count(False) == 1 for of_test in zip(*parts, strict=True))


@pytest.mark.parametrize("part", ["0/8", "9/8", "8", "/", "a/b", "-1/2"])
def test_a_part_that_there_is_not(part: str) -> None:
    with pytest.raises(ValueError, match=f"PART is {part}, which is none: .* is 2/8"):
        counts.outside(20, part)
