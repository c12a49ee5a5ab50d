"""The Typer application: its commands, and how their errors are printed."""

from __future__ import annotations

import errno
import functools
import os
import signal
from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer

import cqlduck
from cqlduck.errors import Error

P = ParamSpec("P")

_OUTPUT_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)

app = typer.Typer(
    name="cqlduck",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Continuous queries in CQL, embedded in DuckDB.\n\n"
    "An application is a file of statements: streams, relations, and queries over them whose "
    "answers are kept up to date. `cqlduck demo` shows one at work; `cqlduck run` runs yours.",
)


def add(name: str, function: Callable[P, int | None]) -> None:
    """Make a command of a function that returns its exit code; print errors of the family."""

    @app.command(name)
    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = function(*args, **kwargs)
        except Error as error:
            _say(error)
            code = 1
        except KeyboardInterrupt:
            code = 128 + signal.SIGINT
        except OSError as error:
            if error.errno not in _OUTPUT_FAILS:
                raise
            # what was to be printed goes nowhere, or Python would print a traceback at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            _say(Error(f"the output cannot be written: {os.strerror(error.errno)}"))
            code = 1
        raise typer.Exit(code or 0)


def _say(error: Error) -> None:
    # as compilers do, so that an editor finds the place
    place = "" if error.file is None else f"{error.file}:{error.line}:{error.column}: "
    typer.echo(f"{place}{typer.style('error:', fg='red', bold=True)} {error}", err=True)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"cqlduck {cqlduck.__version__}")
        raise typer.Exit
