"""The instants of streams in a recomputed query: `_ts` names them, and `*` leaves them out."""

from __future__ import annotations

from sqlglot import exp

from cqlduck.errors import BindError
from cqlduck.rewrite.bind.bodies.inputs import Inputs, instant_name
from cqlduck.rewrite.bind.bodies.select_parts import from_items
from cqlduck.rewrite.plan import place_in
from cqlduck.rewrite.text.parsed import place_of


def show_instants(body: exp.Query, inputs: Inputs) -> None:
    """Let `_ts` mean the timestamps of an input, which are no part of `*`."""
    if not any(instant_name(place) in names for place, names in enumerate(inputs.names)):
        return
    for node in list(body.find_all(exp.Column)):
        if node.name.lower() == "_ts":
            _show_instant(inputs, node)
    for star in list(body.find_all(exp.Star)):
        around = star.find_ancestor(exp.Select)
        if around is None or isinstance(star.parent, exp.Count):
            continue
        alias = star.parent.table.lower() if isinstance(star.parent, exp.Column) else ""
        hidden = [name for item, name in _instants_in(inputs, around) if alias in ("", item)]
        if hidden:
            left_out = [*(star.args.get("except_") or []), *map(exp.to_identifier, hidden)]
            star.set("except_", left_out)


def _instants_in(inputs: Inputs, select: exp.Select) -> list[tuple[str, str]]:
    """Return alias and name of the instants that a FROM clause has."""
    found = []
    for item, _ in from_items(select):
        place = place_in(item)
        if place is not None and instant_name(place) in inputs.names[place]:
            found.append((item.alias.lower(), instant_name(place)))
    return found


def _show_instant(inputs: Inputs, node: exp.Column) -> None:
    select = node.find_ancestor(exp.Select)
    while select is not None:
        found = [
            (alias, name)
            for alias, name in _instants_in(inputs, select)
            if node.table.lower() in ("", alias)
        ]
        if len(found) > 1:
            choices = " or ".join(f"{alias}._ts" for alias, _ in found)
            raise BindError(
                "the column name _ts is ambiguous",
                hint=f"write {choices}",
                offset=place_of(node),
            )
        if found:
            ((alias, name),) = found
            shown: exp.Expr = exp.column(
                exp.to_identifier(name), table=exp.to_identifier(alias, quoted=True)
            )
            if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
                shown = exp.alias_(shown, "_ts")
            node.replace(shown)
            return
        select = select.find_ancestor(exp.Select)
