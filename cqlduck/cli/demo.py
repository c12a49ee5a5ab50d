"""`cqlduck demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    data: Annotated[
        Path, typer.Option(help="The folder for the drop zone and the database.")
    ] = Path("demo-data"),
    days: Annotated[
        int | None, typer.Option(min=1, max=366, help="Only so many days of the year.")
    ] = None,
    pause: Annotated[
        float, typer.Option(min=0, help="Seconds that Spark waits after each day, as if live.")
    ] = 0.0,
    keep: Annotated[
        bool | None,
        typer.Option(
            "--keep/--fresh",
            help="After a finished run: show it again, or start anew (as without either). "
            "--fresh throws an unfinished run away too.",
        ),
    ] = None,
) -> int:
    """Follow a year of flights while Spark writes them, and keep nine queries up to date.

    Needs the extra `demo`: `pip install '.[demo]'` in a checkout of cqlduck. The same command
    resumes an unfinished run; after a finished run it starts anew.

    For example:

    ```
    cqlduck demo
    cqlduck demo --days 30 --pause 0.5
    ```
    """
    from cqlduck.demo.run import run_demo

    return run_demo(data, days=days, pause=pause, keep=keep)
