"""Families: what their members share with them, in memory.

What ticks move of a family moves of each member that is active, too. It is stored with the family
alone (`catalog_rows`): a tick costs the same however many members there are.
"""

from __future__ import annotations

from cqlduck.rewrite.text.time import Instant
from cqlduck.state.catalog import Catalogue
from cqlduck.state.registered import Query


def level(catalogue: Catalogue, family: Query) -> None:
    """Bring the active members of a family to where it is."""
    for member in catalogue.members_of(family):
        if member.state == "active":
            follow(family, member)


def follow(family: Query, member: Query) -> None:
    """Bring a member to where its family is; it begins behind its own `since`."""
    since = member.since
    begin, frontier = family.begin_instant, family.frontier
    if member.merged_at is not None:
        begin = member.begin_instant
    elif since is not None:
        has_begun = begin is not None and frontier is not None and frontier > since
        begin = max(begin, Instant(since + 1)) if begin is not None and has_begun else None
        frontier = since if frontier is None else max(frontier, since)
    member.begin_instant, member.frontier = begin, frontier
    bound_history(family, member)


def bound_history(family: Query, member: Query) -> None:
    """Let the history of a member begin where that of its family does, or behind its own `since`.

    Also of one that stands still: its log is that of the family, behind the one that it had.
    """
    history, since = family.history_from, member.since
    if member.merged_at is not None and (history is None or history <= member.merged_at):
        return
    is_before = history is not None and since is not None and history <= since
    member.history_from = None if is_before else history


def said(catalogue: Catalogue, member: Query) -> str:
    """Return in comments which family computes a query, and with whom."""
    family = catalogue.family_of(member)
    assert family is not None
    others = [one for one in catalogue.members_of(family) if one is not member]
    names = ", ".join(one.name for one in others[:MAX_NAMED])
    more = f" and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
    differ = "which say the same"
    if member.member is not None:
        differ = f"which differ in constants alone; it is number {member.member}"
        if member.projection:
            differ = (
                f"which differ in constants and in what they show; it is number {member.member} "
            )
            differ += f"and shows {_shown(member)}"
    elif member.projection:
        differ = f"which show something of the same; it shows {_shown(member)}"
    if not others:
        shown = f"; it shows {_shown(member)}" if member.projection else ""
        return f"-- {member.name} is computed by {family.name}, whose only member it is{shown}"
    return (
        f"-- {member.name} is computed by {family.name}, one plan for {len(others) + 1} queries, "
        f"{differ}\n--   the others: {names}{more}"
    )


def _shown(member: Query) -> str:
    """Return in words which columns of its family a member shows."""
    conditions = f" where {' and '.join(member.selection)}" if member.selection else ""
    return f"{', '.join(member.projected)}{conditions}"


MAX_NAMED = 10
"""How many of the other members are named."""
