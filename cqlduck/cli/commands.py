"""The commands, each added to the application."""

from __future__ import annotations

from cqlduck.cli import check, demo, explain, files, profile, run, serve
from cqlduck.cli.typer_app import add, app

__all__ = ["app"]

add("run", run.run)
add("demo", demo.demo)
add("explain", explain.explain)
add("profile", profile.profile)
add("check", check.check)
add("shell", files.shell)
add("snapshot", files.snapshot)
add("serve", serve.serve)
