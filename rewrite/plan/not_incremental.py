"""Constructs without a law."""

from __future__ import annotations

from cqlduck.errors import NotSupportedError


class NotIncremental(NotSupportedError):
    """A construct without a delta rule: the query around it is worked out again instead."""


class NothingRead(NotIncremental):
    """A query that has constants alone: plain SQL inside another query, and none by itself."""
