"""Spark: a local session without noise, and a writer of the drop zone."""
