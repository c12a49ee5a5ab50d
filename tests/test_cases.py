"""The conformance cases recorded by other engines: the folder `cases` says where they are from."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cqlduck

FOLDER = Path(__file__).parent / "cases"
# How many cases each source has: a file that is cut short is no success.
SOURCES = {"feldera": 11, "risingwave": 95, "sensorbee": 25, "stream_prototype": 10}
# Cases with more instants are cut beside those at which something happens.
MANY = 40

Bags = dict[int, Counter[tuple[Any, ...]]]


@cache
def all_cases() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for source in SOURCES:
        text = (FOLDER / f"{source}.json").read_text(encoding="utf-8")
        for case in json.loads(text)["cases"]:
            found[case["id"]] = case
    return found


# ------------------------------------------------------------------------------------ comparison


def canonical(value: Any) -> Any:
    """A value such that those are equal which count as equal: doubles to nine digits."""
    if isinstance(value, bool):
        return ("a truth value", value)
    if isinstance(value, float):
        value = float(f"{value:.9g}")
        return int(value) if value.is_integer() else value
    return value


def bags(kind: str, output: Sequence[Sequence[Any]]) -> Bags:
    """By instant what a stream emits, or the net change of a relation."""
    found: Bags = {}
    for entry in output:
        tau, sign, values = (entry[0], "+", entry[1]) if kind == "stream" else entry
        bag = found.setdefault(tau, Counter())
        bag[tuple(canonical(value) for value in values)] += 1 if sign == "+" else -1
    return found


def differences(case: dict[str, Any], output: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Each instant up to `t_end` at which the output is another one: (instant, wanted, given)."""
    wanted, given = bags(case["result"], case["expected"]), bags(case["result"], output)
    return [
        (tau, want, got)
        for tau in sorted(wanted.keys() | given.keys())
        # a tuple whose weights sum up to 0 is not there: Counter's == has it so
        if tau <= case["t_end"]
        and (want := wanted.get(tau, Counter())) != (got := given.get(tau, Counter()))
    ]


def test_a_difference_is_seen() -> None:
    case = {"result": "relation", "t_end": 2, "expected": [[0, "+", [1.0, True]]]}
    assert [] == differences(
        case, [[0, "+", [1, True]], [1, "+", [2]], [1, "-", [2]], [3, "+", [5]]]
    )
    for wrong in ([], [[0, "+", [1, 1]]], [[1, "+", [1, True]]], [[0, "-", [1, True]]]):
        assert [] != differences(case, wrong)
    for wrong in ([[0, "+", [1, True]]] * 2, [[0, "+", [1, True]], [2, "-", [7]]]):
        assert [] != differences(case, wrong)


# --------------------------------------------------------------------------------------- adapter


def events(case: dict[str, Any]) -> list[tuple[int, str, str, list[Any]]]:
    """All elements as (instant, input, sign, values), by instant, then arrival."""
    found = []
    for name, source in case["inputs"].items():
        if source["kind"] == "stream":
            found += [(tau, name, "+", values) for tau, values in source["elements"]]
        else:
            found += [(tau, name, sign, values) for tau, sign, values in source["changes"]]
    return sorted(found, key=lambda event: event[0])


def cuts(case: dict[str, Any]) -> list[int]:
    """The instants to advance to, `t_end` last: some at random, of a third of the cases none."""
    end = case["t_end"]
    known = sorted({tau + d for tau, *_ in events(case) for d in (-1, 0, 1)} | {0})
    inside = list(range(end)) if end <= MANY else [tau for tau in known if 0 <= tau < end]
    # the id is the seed, so that the cuts of a case are the same in every run
    chance = random.Random(case["id"])
    count = chance.choice((0, chance.randint(1, 2), chance.randint(3, 4)))
    return [*sorted(chance.sample(inside, min(len(inside), count))), end]


def runs(
    batch: Sequence[tuple[int, str, str, list[Any]]],
) -> Iterator[tuple[str, str, list[tuple[Any, ...]], list[int]]]:
    """What one tick takes, by input and sign: (input, sign, rows in arrival order, instants)."""
    for name, sign in dict.fromkeys(event[1:3] for event in batch):
        mine = [event for event in batch if event[1:3] == (name, sign)]
        yield name, sign, [tuple(values) for *_, values in mine], [tau for tau, *_ in mine]


def register(con: cqlduck.Connection, case: dict[str, Any]) -> None:
    for name, source in case["inputs"].items():
        columns = ", ".join(f'"{column}" {kind}' for column, kind in source["columns"])
        con.execute(f"CREATE {source['kind'].upper()} {name} ({columns})")
    for view in case["views"]:
        con.execute(f"CREATE CONTINUOUS QUERY {view['name']} AS {view['cql']}")
    con.execute(f"CREATE CONTINUOUS QUERY the_case AS {case['cql']}")


def plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return float(value) if hasattr(value, "as_integer_ratio") else str(value)


def produced(con: cqlduck.Connection, case: dict[str, Any]) -> list[list[Any]]:
    """Feed a registered case; return its output in the shape of `expected`."""
    left = events(case)
    for until in cuts(case):
        taken = [event for event in left if event[0] <= until]
        left = left[len(taken) :]
        for name, sign, rows, instants in runs(taken):
            put = con.append if sign == "+" else con.retract
            put(name, rows, at=instants)
        con.advance(until)
    output: list[list[Any]] = []
    for *values, tau, weight in con.changes("the_case").fetchall():
        shown = [plain(value) for value in values]
        if case["result"] == "stream":
            assert weight > 0
            output += [[tau, shown]] * weight
        else:
            output += [[tau, "+" if weight > 0 else "-", shown]] * abs(weight)
    return output


# ----------------------------------------------------------------------------------------- tests


@pytest.mark.parametrize("name", sorted(all_cases()))
def test_a_case_agrees_with_what_was_recorded(name: str) -> None:
    case = all_cases()[name]
    with cqlduck.connect() as con:
        register(con, case)
        output = produced(con, case)
        failed = con.sql("SELECT error FROM cql.queries WHERE state <> 'active'").fetchall()
    assert [] == failed
    assert [] == differences(case, output)


def test_all_cases_are_there() -> None:
    assert sum(SOURCES.values()) == len(all_cases())
    for source, count in SOURCES.items():
        cases = json.loads((FOLDER / f"{source}.json").read_text(encoding="utf-8"))["cases"]
        assert count == len(cases)
        assert (FOLDER / "licences" / f"{source}.txt").is_file()
