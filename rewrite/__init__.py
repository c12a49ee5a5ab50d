"""CQL text to incremental DuckDB statements.

    text ─ syntax ─> statements ─ bind ─> plan ─ rules ─> plan ─ delta, program ─> statements

This room guarantees that it is pure: no database, no clock, no file, no randomness. What type an
expression has it asks of a `describe` that the caller passes in. Everything it makes can be tested
by comparing text. `compile_query` is all that others need for a query, `parse_script` for a script.
"""

from __future__ import annotations

from cqlduck.rewrite.compile import Compiled, compile_query
from cqlduck.rewrite.text.syntax import parse_script

__all__ = ["Compiled", "compile_query", "parse_script"]
