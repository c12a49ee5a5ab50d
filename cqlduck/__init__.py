"""cqlduck: continuous queries, written in CQL, embedded in DuckDB.

A query is compiled once into plain DuckDB statements that maintain its answer; each time logical
time advances, those statements run over the new elements.

    CQL text ─ text, bind ─> plan ─ rules ─> plan ─ choose ─> operators ─> statements
    drop zone ─┐                                                               │
    append() ──┴─> arrivals, stores ── tick: operators in order ───────────────┴─> logs, answers
                             ▲ scheduler      │ rows and seconds of every statement
                             └── StreaMon: profiler ─ re-optimizer ─ executor

The rooms, each of which imports only those below it; import-linter checks them and their floors:

* `cqlduck` (this package) is the program. `connection` is the public face, `statements` runs what
  callers write, `reader` and `selects` read answers, `queryplan` shows plans, `registration`
  changes the catalogue, `compiler` compiles queries, `engine` runs ticks, `progress` bounds them,
  `streamon` chooses their options, `housekeeping` keeps stores and logs small, `scheduler` calls
  the engine in the background, and `subscription` hands out elements as ticks close. `data` and
  `ingest` read what callers append, `sources` reads and writes the drop zone, `spark` writes it
  from Spark. `inventory` describes streams, relations and queries, `checks` compares synopses with
  their content, `failures` finds the row that fails a query. `application` runs a script and its
  loop, `server` shows a connection in a browser, `cli` and `demo` are programs; `display` and
  `meter` print for them. `settings`, `arguments`, `moments`, `variables` and `matching` check what
  callers pass.
* `cqlduck.state` (folder `state/`) is the database: catalogue, arrivals, stores, synopses, logs,
  answers, choices, the tick's transaction, and buffers of rows that are not in it yet. All SQL on
  the database runs there, most of it through one class with a trace hook (`state.running`).
* `cqlduck.rewrite` (folder `rewrite/`) compiles CQL to statements. It is pure: no database, no
  clock, no files. Its floors, from below: `text`, `plan`, `relalg`, `physical`, `operators` and
  `rules`, `statements` and `bind`. An operator's law, SQL and synopses are in one file.
* `cqlduck.sql` (folder `sql/`) has SQL that is the same for every query, and the examples.
* `cqlduck.errors` may be imported by every room.

Time is a discrete domain of instants. A tick covers the instants (t₀, t₁] and computes the exact
elements of each of them, because the instant is a column of every statement. A tick is one DuckDB
transaction: what was consumed, the synopses, the logs and the frontiers move together.
`docs/architecture.md` follows a query and a row through the rooms, `docs/glossary.md` defines the
words.
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


def __dir__() -> list[str]:
    """List public names, whether they are imported yet or not."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import public names when they are asked for, so that the package stays light."""
    if name in ("Connection", "connect"):
        return getattr(import_module("cqlduck.connection"), name)
    if name in __all__:
        return getattr(import_module("cqlduck.errors"), name)
    raise AttributeError(f"module 'cqlduck' has no attribute {name!r}")
