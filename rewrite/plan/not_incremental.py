"""Constructs without a law."""

from __future__ import annotations

from cqlduck.errors import NotSupportedError


class NotIncremental(NotSupportedError):
    """A construct without a law: the query around it is recomputed instead."""


class NothingRead(NotIncremental):
    """A query that has constants alone: plain SQL inside another query, and none by itself."""
