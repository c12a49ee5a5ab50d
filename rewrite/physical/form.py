"""The form of a tick's statements.

All forms of a plan write the same elements and synopses; which one is fastest depends on the number
of elements, and on the size of the state that they meet.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """For which kind of tick statements are written.

    DuckDB (release 2.0) plans a statement before it has seen a row, and of a range of a table it
    expects a fifth of all rows. So where few elements meet a large state, it may read the state
    into a hash table. What is staged it knows: how many rows there are, and their least and
    greatest values, by which it skips parts of the state. With many elements, or a small state, a
    stage is a copy for nothing.

    Args:
        single: Whether the tick has one instant.
        staged: Whether what meets a state is kept in a temporary table first.
    """

    single: bool = False
    staged: bool = False

    def __str__(self) -> str:
        """Return it as people read it.

        >>> str(Form(single=True, staged=True))
        'a tick of one instant, in stages'
        """
        return f"a tick of {'one instant' if self.single else 'instants'}" + (
            ", in stages" if self.staged else ""
        )


UNSTAGED = Form()
"""Several instants, without stages."""

FIRST = Form(staged=True)
"""Several instants, in stages: what a query's first ticks run."""
