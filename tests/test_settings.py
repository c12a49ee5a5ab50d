"""The keywords of `connect`: what they are, and what is no setting or no value of one."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
from typing import Any, get_type_hints

import pytest

import cqlduck
from cqlduck import cli
from cqlduck.settings import Settings

KEYWORDS = {
    name: parameter
    for name, parameter in inspect.signature(cqlduck.connect).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}


def test_the_signature_has_each_setting_with_its_type_and_default() -> None:
    fields = {field.name: field for field in dataclasses.fields(Settings)}
    assert list(KEYWORDS) == list(fields) == sorted(fields)
    assert {n: p.default for n, p in KEYWORDS.items()} == {n: f.default for n, f in fields.items()}
    hints = get_type_hints(cqlduck.connect)
    assert get_type_hints(Settings) == {name: hints[name] for name in fields}
    assert cqlduck.Connection is hints["return"]
    assert set(cli.SETTINGS) <= set(fields)


def test_help_says_what_each_setting_is() -> None:
    text = pydoc.plain(pydoc.render_doc(cqlduck.connect))
    for name in KEYWORDS:
        assert f"        {name}: " in text
    assert "kwargs" not in text


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        ({"max_tik": 3}, "there is no setting max_tik", "did you mean max_tick?"),
        ({"Granularity": "1 second"}, "no setting Granularity", "did you mean granularity?"),
        ({"colour": "red"}, "there is no setting colour", "window_edge"),
        ({"window_edge": "open"}, "closed or half_open", ""),
        ({"recompute": True}, "allow, refuse or always", ""),
        ({"granularity": "1"}, "granularity is a duration", "1 second"),
        ({"instant": "0 seconds"}, "instant is a duration", "1 second"),
        ({"history": "long"}, "long", ""),
        ({"max_tick": 0}, "max_tick is a whole number", ""),
        ({"max_tick": True}, "max_tick is a whole number", ""),
        ({"standing": "100"}, "standing is a duration", "unbounded"),
        ({"records": 0}, "records is a whole number", ""),
        ({"threads": "many"}, "threads is a whole number", ""),
    ],
)
def test_what_is_no_setting_is_an_error(settings: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(cqlduck.Error, match=message) as caught:
        cqlduck.connect(**settings)
    assert hint in (caught.value.hint or "")


def test_none_is_as_if_it_were_left_out() -> None:
    nothing: dict[str, Any] = {n: None for n, p in KEYWORDS.items() if p.default is None}
    with cqlduck.connect(":memory:", **nothing) as con:
        assert "closed" == con.engine.catalogue.settings["window_edge"]
    with cqlduck.connect(max_tick=7, window_edge="half_open") as con:
        assert 7 == con.engine.max_tick
        assert "half_open" == con.engine.catalogue.settings["window_edge"]
