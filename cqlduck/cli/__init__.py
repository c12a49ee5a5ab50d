"""The command line: `cqlduck run`, `demo`, `explain`, `serve` and others.

The commands only call the library. Errors of the family are printed with their place and hint, and
exit with 1; Ctrl-C exits with 130 and SIGTERM with 143, after the database was closed.

Importing this imports no command, which takes a second or two: Ctrl-C ends `main` quietly then too.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    try:
        from cqlduck.cli.commands import app

        app()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def __getattr__(name: str) -> object:
    """Return the Typer application, for who runs commands without a process."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cqlduck.cli.commands import app

    return app
