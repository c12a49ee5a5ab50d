"""Which cases of costly tests CI leaves out."""

from __future__ import annotations

from pathlib import Path

import counts
import pytest

TESTS = Path(__file__).parent


@pytest.mark.parametrize("name", counts.EACH)
def test_what_runs_less_often_is_a_test(name: str) -> None:
    file, test = name.split("::")
    assert f"\ndef {test}(" in (TESTS / file).read_text(encoding="utf-8")


def test_each_nth_case_of_a_costly_test_runs() -> None:
    name = next(name for name, each in counts.EACH.items() if each == 3)
    cases = [f"tests/{name}[{number}]" for number in range(5)]
    others = [f"tests/test_other.py::test_other[{number}]" for number in range(2)]
    left_out = counts.is_left_out([*cases[:2], others[0], *cases[2:], others[1]])
    assert left_out == [False, True, False, True, False, True, False]
