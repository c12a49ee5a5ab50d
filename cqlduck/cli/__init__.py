"""The command line: `cqlduck run`, `demo`, `explain`, `serve` and others.

The commands only call the library. Errors of the family are printed with their place and hint, and
exit with 1; Ctrl-C exits with 130 and SIGTERM with 143, after the database was closed.
"""

from __future__ import annotations

from cqlduck.cli import check, demo, explain, files, profile, run, serve
from cqlduck.cli.app import add, app

__all__ = ["app", "main"]

add("run", run.run)
add("demo", demo.demo)
add("explain", explain.explain)
add("profile", profile.profile)
add("check", check.check)
add("shell", files.shell)
add("snapshot", files.snapshot)
add("serve", serve.serve)


def main() -> None:
    """Run the command line."""
    app()
