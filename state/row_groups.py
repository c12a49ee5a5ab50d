"""How many rows DuckDB stores together, in one row group."""

from __future__ import annotations

ROW_GROUP_ROWS = 122_880
"""How many rows DuckDB stores together by itself, as it does in memory."""

FILE_ROW_GROUP_ROWS = ROW_GROUP_ROWS // 4
"""How many rows DuckDB stores together in a file: a fourth of what it does by itself.

Rows that fill a group are compressed and written where they stay. Fewer go into the log first, and
are written again at a checkpoint: of 92,000 rows at a time that took twice as long. Each group has
its least and greatest values, by which a join skips it; so smaller ones skip more.
"""
