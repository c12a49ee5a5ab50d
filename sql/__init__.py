"""SQL that is the same for every query, as files that a person can run in the shell.

The files `<name>.sql` in this folder are the schema, the macros and the inspection views; those in
`migrations/` bring a database that was written by another version to this one's schema, step by
step; those in `examples/`, `<name>.cql`, are programs in CQL. What depends on a plan is not here:
`cqlduck.rewrite` builds it as a tree.
"""

from __future__ import annotations

from importlib.resources import files

__all__ = ["example", "migrations", "read"]


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


def migrations() -> list[str]:
    """Return the texts of `migrations/<n>.sql` from n = 1 on; text n leads to schema version n."""
    folder = files(__name__).joinpath("migrations")
    count = sum(1 for file in folder.iterdir() if file.name.endswith(".sql"))
    names = [f"{number}.sql" for number in range(1, count + 1)]
    return [folder.joinpath(name).read_text(encoding="utf-8") for name in names]
