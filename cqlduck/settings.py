"""The settings of a connection: their types, defaults and checks.

`connect` lists them with their types. `Settings` has the chosen values, checked before a file is
opened. A database stores those in `LASTING` for life; the others belong to the connection.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

from cqlduck.data.plain import shown
from cqlduck.engine import MAX_TICK
from cqlduck.errors import Error
from cqlduck.housekeeping import STANDING
from cqlduck.rewrite.text.spelling import suggestion
from cqlduck.rewrite.text.time import MAX_DURATION, parse_duration
from cqlduck.state.paths import written
from cqlduck.state.records import MAX_RECORDS
from cqlduck.state.running import TraceHook

WORDS = {
    "window_edge": ("closed", "half_open"),
    "recompute": ("allow", "refuse", "always"),
    "unbounded": ("allow", "refuse"),
}
"""The settings that are one of several words."""

LASTING = ("granularity", "instant", "recompute", "window_edge")
"""The settings that a database keeps for life."""

AT_ANY_TIME = (
    "adaptive",
    "history",
    "max_tick",
    "records",
    "sharing",
    "standing",
    "strict",
    "unbounded",
)
"""The settings that can be other ones while the connection is open."""

MAX_COUNT = 2**63 - 1
"""The greatest number."""

MOST_THREADS = 4096
"""More would be asked of the machine for nothing."""

UNBOUNDED = "unbounded"
_WITHOUT_BOUND = "; without the setting all changes are kept"

_MEMORY = re.compile(r"[0-9]+(\.[0-9]+)? ?([KMGT]i?B|B)", re.IGNORECASE)

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Settings:
    """What was chosen for a connection; `connect` says what each means."""

    adaptive: bool = True
    drop_zone: str | os.PathLike[str] | None = None
    granularity: str | None = None
    history: str | None = None
    instant: str | None = None
    max_tick: int = MAX_TICK
    memory_limit: str | None = None
    progress: bool | None = None
    recompute: Literal["allow", "refuse", "always"] | None = None
    records: int = MAX_RECORDS
    sharing: bool = True
    standing: str = STANDING
    strict: bool = False
    threads: int | None = None
    trace: TraceHook | None = None
    unbounded: Literal["allow", "refuse"] = "allow"
    variables: bool = True
    window_edge: Literal["closed", "half_open"] | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a database.

        Raises:
            Error: A value that the setting cannot have; the hint says what it can.
        """
        for name, words in WORDS.items():
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value in words):
                hint = suggestion(str(value), words, f"as in {name}='{words[0]}'", every=False)
                raise _refused(name, f"{', '.join(words[:-1])} or {words[-1]}", value, hint)
        for name in ("granularity", "instant"):
            if getattr(self, name) is not None:
                _check_length(name, getattr(self, name), "1 second")
        if self.history is not None:
            _check_length("history", self.history, "7 days", bare=True, without=_WITHOUT_BOUND)
        if self.standing != UNBOUNDED:
            _check_length("standing", self.standing, "1 day", word=UNBOUNDED)
        for name, most in (
            ("max_tick", MAX_COUNT),
            ("records", MAX_COUNT),
            ("threads", MOST_THREADS),
        ):
            value = getattr(self, name)
            if not (_is_count(value, most) or (value is None and name == "threads")):
                raise _refused(name, f"a whole number from 1 to {most}", value)
        for name in ("adaptive", "sharing", "strict", "variables", "progress"):
            value = getattr(self, name)
            if not (isinstance(value, bool) or (value is None and name == "progress")):
                raise _refused(name, "True or False", value)
        if not (self.trace is None or _takes_two(self.trace)):
            raise _refused("trace", "a function of a statement and its parameters", self.trace)
        limit = self.memory_limit
        if not (limit is None or (isinstance(limit, str) and _MEMORY.fullmatch(limit))):
            raise _refused("memory_limit", "a text such as '2GB' or '512MiB'", limit)
        if self.drop_zone is not None and written(self.drop_zone) is None:
            raise _refused("drop_zone", "the path of a folder", self.drop_zone)

    @property
    def lasting(self) -> dict[str, str]:
        """What the database keeps for life, as texts; of durations their microseconds."""
        chosen = {name: getattr(self, name) for name in LASTING}
        return {
            name: str(value if name in WORDS else _micros(value))
            for name, value in chosen.items()
            if value is not None
        }

    @property
    def of_connection(self) -> dict[str, object]:
        """What belongs to the connection, by name."""
        names = [one.name for one in fields(self) if one.name not in LASTING]
        return {name: getattr(self, name) for name in names}

    @property
    def zone(self) -> Path | None:
        """The folder of the drop zone."""
        return None if self.drop_zone is None else Path(self.drop_zone)


def of_text(name: str, text: str) -> bool | str:
    """Return the value of a setting that is written as text: its words in capitals or not.

    Args:
        name: The setting.
        text: Its value; true and false are those of Python.
    """
    word = text.strip().lower()
    if word in WORDS.get(name, ()) or (name == "standing" and word == UNBOUNDED):
        return word
    return _BOOLEANS.get(word, text)


def changed(now: Mapping[str, object], texts: Mapping[str, str | None]) -> dict[str, object]:
    """Return the settings of a connection with other values, which are checked together.

    Args:
        now: Its settings by name.
        texts: The other values as texts; None stands for the default.

    Raises:
        Error: A value that the setting cannot have; the hint says what it can.
    """
    given = {
        name: _DEFAULTS[name] if text is None else of_text(name, text)
        for name, text in texts.items()
    }
    return Settings(**{**now, **given}).of_connection  # type: ignore[arg-type]


def _micros(given: object) -> int:
    """Return the microseconds of a duration that was checked."""
    return int(parse_duration(str(given)).microseconds or 0)


def _check_length(
    name: str,
    value: object,
    example: str,
    *,
    word: str = "",
    bare: bool = False,
    without: str = "",
) -> None:
    """Refuse what is no duration that can be counted.

    Args:
        name: The setting.
        value: Its value.
        example: What it could be.
        word: A word that it may be instead.
        bare: Whether it may be a number without a unit.
        without: What happens without the setting.

    Raises:
        Error: It is none.
    """
    hint = f"as in {name}='{example}'" + (f", or '{word}'" if word else without)
    what = "a duration" if bare else "a duration with a unit"
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise _refused(name, what, value, hint)
    try:
        length = parse_duration(str(value))
    except Error as error:
        hint = suggestion(str(value), [word], hint, every=False) if word else hint
        is_near = error.hint is not None and "did you mean" in error.hint
        raise _refused(name, what, value, error.hint if is_near else hint) from error
    units = length.instants if bare and length.microseconds is None else length.microseconds
    if units is None or not (bare or units >= 1):
        raise _refused(name, what, value, hint)
    if not bare and units.denominator != 1:
        raise _refused(name, "a whole number of microseconds", value, hint)
    if units > MAX_DURATION:
        raise _refused(name, f"at most {MAX_DURATION} microseconds", value, hint)


def _is_count(value: object, most: int) -> bool:
    """Return whether a value, or the text of one, is a whole number from 1 on."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return False
    text = str(value)
    return text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= most


def _takes_two(function: object) -> bool:
    """Return whether something can be called with two arguments, as far as it says."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind("", None)
    except TypeError:
        return False
    except ValueError:
        # it does not say
        return True
    return True


def _refused(name: str, what: str, value: object, hint: str | None = None) -> Error:
    """Return the error of a setting that cannot have a value."""
    return Error(f"{name} is {what}, not {shown(value)}", hint=hint)


IN_WORDS = tuple(
    one.name for one in fields(Settings) if one.name not in ("drop_zone", "progress", "trace")
)
"""The settings whose values can be written as text on a command line."""

_DEFAULTS = Settings().of_connection
"""The settings of a connection that says nothing."""

_BOOLEANS: Mapping[str, bool] = {"true": True, "false": False}


def keywords_of_settings(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function whose keywords are settings: one that there is not is an `Error`."""
    known = [p.name for p in inspect.signature(function).parameters.values()
             if p.kind is p.KEYWORD_ONLY]  # fmt: skip
    places = {*inspect.signature(function).parameters} - {*known}

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known and name not in places:
                raise Error(
                    f"there is no setting {name}", hint=suggestion(name, known, "the settings are")
                )
        return function(*args, **kwargs)

    return called
