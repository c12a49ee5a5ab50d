"""Statements of CQL and of DuckDB, as callers write them.

script       all of a text, inside one change
refresh      REFRESH of relations
dml          INSERT, UPDATE and DELETE on streams and relations
assignments  which expression goes to which column
offsets      times that are texts with an offset
plain_sql    statements of DuckDB's own
meaning      settings and macros that would change what ticks mean
translated   DuckDB's errors as ones of the family
"""
