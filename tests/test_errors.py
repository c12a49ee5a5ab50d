"""The errors of the family: what they keep when they cross to another process."""

import copy
import pickle
from collections.abc import Callable, Iterator

import pytest

import cqlduck
from cqlduck import errors


def family(root: type[errors.Error] = errors.Error) -> Iterator[type[errors.Error]]:
    yield root
    for kind in root.__subclasses__():
        yield from family(kind)


def an_error(kind: type[errors.Error]) -> errors.Error:
    if issubclass(kind, errors.LateError):
        return kind("two rows are late", rows=[3, 5], hint="send them in order")
    if issubclass(kind, errors.DataError):
        return kind("a row does not fit", hint="leave it out", row=7, field="a")
    return kind("it is wrong", hint="do something else").at("SELECT\n  a", 9)


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
