"""cqlduck: continuous queries, written in CQL, embedded in DuckDB.

A query is rewritten once into plain DuckDB statements that maintain its answer over delta tables;
each time logical time advances, those statements run over just what is new.

    CQL text ─ rewrite/ ─> plan of operators ─ rewrite/ ─> delta statements
    drop zone ─┐                                                │
    append() ──┴─> arrivals, stores (state/) ── tick ───────────┴─> logs, answers (state/)

The rooms, each of which may import only what stands below it:

* `cqlduck` (this package): `connection` is the public face, `settings` are its keywords,
  `statements` runs what callers write, `reader` reads answers, `ingest` accepts rows, `inventory`
  describes what is registered, `registration` changes it, `compiler` has queries compiled,
  `engine` runs ticks, `progress` says how far they can go, `streamon` which options they run,
  `housekeeping` keeps what they leave small, `scheduler` calls the engine in the background,
  `sources` reads and writes the drop zone, `spark` is Spark's side of it, `cli` and `demo` are
  the program.
* `cqlduck.state` (folder `state/`): what is in DuckDB, and buffers of what is not there yet. The
  only room that runs SQL, through one function with a trace hook.
* `cqlduck.rewrite` (folder `rewrite/`): CQL text to plan to delta statements. Pure.
* `cqlduck.sql` (folder `sql/`): SQL that is the same for every query, and the examples.
* `cqlduck.errors` may be imported by every room.

Time is a discrete domain of instants. A tick covers the instants (t₀, t₁] and gives the exact
elements of each of them: `rewrite.operators` says how. A tick is one DuckDB transaction: what was
consumed, the state, the output and the frontier move together. `docs/architecture.md` follows a row
and a query on their way.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cqlduck.connection import Connection, connect
    from cqlduck.errors import (
        BindError,
        CatalogError,
        DatabaseError,
        DataError,
        DropZoneError,
        Error,
        LateError,
        NotSupportedError,
        ParseError,
        QueryError,
    )

__version__ = "0.1.0"

__all__ = [
    "BindError",
    "CatalogError",
    "Connection",
    "DataError",
    "DatabaseError",
    "DropZoneError",
    "Error",
    "LateError",
    "NotSupportedError",
    "ParseError",
    "QueryError",
    "connect",
]


def __getattr__(name: str) -> Any:
    """Import public names when they are asked for, so that the package stays light."""
    if name in ("Connection", "connect"):
        return getattr(import_module("cqlduck.connection"), name)
    if name in __all__:
        return getattr(import_module("cqlduck.errors"), name)
    raise AttributeError(f"module 'cqlduck' has no attribute {name!r}")
