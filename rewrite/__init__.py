"""CQL text to incremental DuckDB statements.

    text ─> syntax ─ bind ─> plan ─ rules ─> plan ─ choose ─> operators ─> statements

This room is pure: no database, no clock, no file, no randomness. For the types of expressions it
calls a `describe` that the caller passes in. All its results can be tested by comparing text.
`compile_query` compiles a query, `parse_script` parses a script.
"""

from __future__ import annotations

from cqlduck.rewrite.compile import compile_query
from cqlduck.rewrite.statements.compiled import Compiled
from cqlduck.rewrite.text.script import parse_script

__all__ = ["Compiled", "compile_query", "parse_script"]
