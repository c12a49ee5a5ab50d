"""Plans as JSON that a statement registers: `CREATE CONTINUOUS QUERY q FROM PLAN '…'`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from cqlduck.errors import ParseError

PLAN_VERSION = 1
"""The version of the JSON; another one is refused."""


@dataclass(frozen=True)
class WrittenPlan:
    """What a plan says of its query.

    Attributes:
        body: The text of the query.
        id: The id that its root has to have.
    """

    body: str
    id: str


def written_plan(text: str) -> WrittenPlan:
    """Read a plan as EXPLAIN … AS JSON writes it.

    Raises:
        ParseError: It is none, or of another version.
    """
    hint = "pass what EXPLAIN CONTINUOUS QUERY … AS JSON has returned"
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"the plan is no JSON: {error}", hint=hint) from error
    if not isinstance(found, dict):
        raise ParseError("the plan is no object of JSON", hint=hint)
    version = found.get("version")
    if version != PLAN_VERSION or isinstance(version, bool):
        raise ParseError(
            f"the plan has version {version!r}, and this cqlduck reads {PLAN_VERSION}", hint=hint
        )
    body, root = found.get("body"), found.get("id")
    for name, value in (("body", body), ("id", root)):
        if not isinstance(value, str) or not value.strip():
            raise ParseError(f"the plan has no {name}", hint=hint)
    assert isinstance(body, str)
    assert isinstance(root, str)
    return WrittenPlan(body, root)
