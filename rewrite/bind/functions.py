"""Users' functions: those of Python that expressions may call.

To DuckDB such a function is like one of its own, so its calls stay as they are written. A function
whose errors give NULL, and any in a TRY that somebody wrote around it, is called as

    TRY(f(x)::T)

which says so, and of which type it is, to all that ask whether an expression may raise an error:
with its calls as filters, their order can be chosen (`plan.filters`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.bind.macros import note, noted
from cqlduck.rewrite.text.parsed import function_name


@dataclass(frozen=True)
class UserFunction:
    """What binding has to know of a function.

    Attributes:
        name: Its name, as it was written.
        return_type: The DuckDB type of its values.
        raises: Whether its errors are those of the query; else they give NULL.
    """

    name: str
    return_type: str
    raises: bool = True


UserFunctions = Mapping[str, UserFunction]
"""By lower-case name."""


def calls(tree: exp.Expr, known: UserFunctions) -> Iterator[exp.Func]:
    """Yield the calls of users' functions in a tree."""
    if known:
        for node in tree.find_all(exp.Func):
            if function_name(node) in known:
                yield node


def written(tree: exp.Expr, known: UserFunctions) -> list[str]:
    """Write the calls of a query as they run, in place; return the names of the functions."""
    found = list(calls(tree, known))
    # from the innermost: it stands in the others
    for call in reversed(found):
        function = known[function_name(call)]
        is_tried = isinstance(call.parent, exp.Anonymous) and call.parent.name.lower() == "try"
        if function.raises and not is_tried:
            continue
        note(call)
        typed = exp.cast(call.copy(), function.return_type, dialect="duckdb")
        guarded = typed if is_tried else exp.Try(this=typed)
        guarded.meta.update(noted(call))
        call.replace(guarded)
    return sorted({known[function_name(call)].name for call in found})
