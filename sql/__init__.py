"""SQL that is the same for every query, as files that a person can run in the shell.

The files `<name>.sql` in this folder are the schema, the macros and the inspection views; those
in `examples/`, `<name>.cql`, are programs in CQL. What depends on a plan is not here:
`cqlduck.rewrite` builds it as a tree.
"""

from __future__ import annotations

from importlib.resources import files

__all__ = ["example", "read"]


def read(name: str) -> str:
    """Return the text of `<name>.sql`.

    Args:
        name: The file's name without its ending, such as `schema`.

    Raises:
        FileNotFoundError: There is no such file.
    """
    return files(__name__).joinpath(f"{name}.sql").read_text(encoding="utf-8")


def example(name: str) -> str:
    """Return the text of `examples/<name>.cql`.

    Args:
        name: The file's name without its ending.

    Raises:
        FileNotFoundError: There is no such file.
    """
    return files(__name__).joinpath("examples", f"{name}.cql").read_text(encoding="utf-8")
