"""Statements: from a logical plan to what runs in a tick."""
