"""Statements: from a logical plan to the statements of a tick."""
