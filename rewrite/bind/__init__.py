"""Binding: names and types, from the syntax of a query to its logical plan."""
