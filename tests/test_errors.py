"""The errors of the family: what they keep when they cross to another process."""

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator

import pytest

import cqlduck
from cqlduck import errors


def family(root: type[errors.Error] = errors.Error) -> Iterator[type[errors.Error]]:
    yield root
    for kind in root.__subclasses__():
        yield from family(kind)


PARTS = {
    "hint": "leave it out",
    "row": 7,
    "field": "a",
    "rows": [3, 5],
    "relation": "r",
    "number": 4,
}


def an_error(kind: type[errors.Error]) -> errors.Error:
    taken = inspect.signature(kind).parameters
    error = kind("it is wrong", **{name: part for name, part in PARTS.items() if name in taken})
    return error.at("SELECT\n  a", 9)


@pytest.mark.parametrize("kind", list(family()), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("carried", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
def test_an_error_is_the_same_elsewhere(
    kind: type[errors.Error], carried: Callable[[errors.Error], errors.Error]
) -> None:
    error = an_error(kind)
    other = carried(error)
    assert type(other) is kind
    assert str(other) == str(error)
    assert vars(other) == vars(error)
    assert (other.args, other.line, other.column) == (error.args, error.line, error.column)


@pytest.mark.parametrize(
    "call",
    [
        lambda con: con.execute("CREATE CONTINUOUS QUERY q AS SELECT b FROM s"),
        lambda con: con.execute("SELECT FROM WHERE"),
        lambda con: con.append("t", [(1,)], at=1),
        lambda con: con.append("s", [("x",)], at=1),
        lambda con: con.append("s", [(1,), (2,)], at=[3, 1]),
        lambda con: con.execute("CREATE STREAM s (a INTEGER)"),
    ],
)
def test_an_error_that_was_raised_is_the_same_elsewhere(
    con: cqlduck.Connection, call: Callable[[cqlduck.Connection], object]
) -> None:
    con.execute("CREATE STREAM s (a INTEGER)")
    with pytest.raises(cqlduck.Error) as caught:
        call(con)
    other = pickle.loads(pickle.dumps(caught.value))
    assert type(other) is type(caught.value)
    assert str(other) == str(caught.value)
    assert vars(other) == vars(caught.value)


def test_the_caret_is_below_what_is_behind_a_tab() -> None:
    shown = str(errors.Error("wrong", text="a\tb c", offset=4)).splitlines()
    assert ["wrong", "LINE 1: a\tb c", "         \t  ^"] == shown
