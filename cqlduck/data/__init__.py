"""Data that callers pass to `append`, `retract` and `refresh`, or that SQL reads by name.

    tables      dispatch by the kind of data: frames, Arrow, DuckDB relations, datasets, files, rows
    target      what the data is for: an input, or a frame's name
    files       Parquet, CSV and JSON files
    values      Python values, column by column, as values of a DuckDB type
    plain       values of numpy's and pandas' as Python's own
    parameters  values as parameters of a DuckDB type
    inferred    the common type of Python values
    sound       Arrow values that DuckDB cannot store, or would misread
    texts       times that are texts
    place       the row and column that does not fit

The result preserves every value. If that is not possible, the data is refused, with the column and
the row.
"""
