"""The settings of a connection: what there is, what is missing then, and what is no value.

`connect` lists them with their types. `Settings` is what was chosen, checked before a file is
touched. Those in `LASTING` a database keeps for life; the others are the connection's own.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from cqlduck.engine import MAX_TICK
from cqlduck.errors import Error
from cqlduck.housekeeping import STANDING
from cqlduck.rewrite.spelling import suggestion
from cqlduck.rewrite.time import parse_duration
from cqlduck.state.records import KEPT

Trace = Callable[[str, Any], None]
"""Is called with each SQL statement and its parameters before it runs."""

WORDS = {"window_edge": ("closed", "half_open"), "recompute": ("allow", "refuse", "always")}
"""The settings that are one of several words."""

LASTING = ("granularity", "instant", "recompute", "window_edge")
"""The settings that a database keeps for life."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Settings:
    """What was chosen for a connection; `connect` says what each means."""

    drop_zone: str | os.PathLike[str] | None = None
    granularity: str | None = None
    history: str | None = None
    instant: str | None = None
    max_tick: int = MAX_TICK
    memory_limit: str | None = None
    progress: bool | None = None
    recompute: Literal["allow", "refuse", "always"] | None = None
    records: int = KEPT
    standing: str = STANDING
    strict: bool = False
    threads: int | None = None
    trace: Trace | None = None
    variables: bool = True
    window_edge: Literal["closed", "half_open"] | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a database.

        Raises:
            Error: A value that the setting cannot have; the hint says what it can.
        """
        for name, words in WORDS.items():
            value = getattr(self, name)
            if value is not None and value not in words:
                raise Error(f"{name} is {', '.join(words[:-1])} or {words[-1]}, not {value}")
        for name in ("granularity", "instant"):
            value = getattr(self, name)
            if value is not None and not _micros(value):
                raise Error(f"{name} is a duration with a unit", hint=f"as in {name}='1 second'")
        for name in ("max_tick", "records", "threads"):
            value = getattr(self, name)
            if value is not None and not _is_count(value):
                raise Error(f"{name} is a whole number from 1 on, not {value!r}")
        if self.history is not None:
            parse_duration(str(self.history))
        if self.standing != "unbounded" and not _micros(self.standing):
            raise Error(
                "standing is a duration with a unit", hint="as in standing='1 day', or 'unbounded'"
            )

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
    def zone(self) -> Path | None:
        """The folder of the drop zone."""
        return None if self.drop_zone is None else Path(self.drop_zone)


def _micros(written: object) -> int:
    """Return the microseconds of a duration, 0 if it has no unit or is shorter than one."""
    length = parse_duration(str(written)).microseconds
    return 0 if length is None else max(int(length), 0)


def _is_count(value: object) -> bool:
    """Return whether a value, or the text of one, is a whole number from 1 on."""
    text = str(value)
    return not isinstance(value, bool) and text.isascii() and text.isdigit() and int(text) > 0


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
