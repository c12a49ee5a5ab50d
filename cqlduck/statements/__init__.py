"""Statements of CQL and of DuckDB, as callers write them.

script       all statements of a text, inside one change
refresh      REFRESH of relations
dml          INSERT, UPDATE and DELETE on streams and relations
assignments  which expression goes to which column
offsets      times that are texts with an offset
plain_sql    statements of DuckDB
meaning      settings and macros that would change the meaning of ticks
translated   DuckDB's errors as errors of the family
"""
