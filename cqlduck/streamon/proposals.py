"""What policies propose: which option is to run at a point."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Proposal:
    """What is to run at a point.

    Attributes:
        option: The option.
        is_trial: Whether it runs once, to be measured, and what stands goes on standing.
        reason: Why, in words.
        now: Seconds of a tick with the option that stands, if they were measured.
        then: The same with this one.
        expected: Seconds that it is expected to save for an element, if that is known.
        returns: Whether the option before comes back, because the one that stands was no better.
    """

    option: str
    is_trial: bool = False
    reason: str = ""
    now: float | None = None
    then: float | None = None
    expected: float | None = None
    returns: bool = False
