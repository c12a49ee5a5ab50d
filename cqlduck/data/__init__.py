"""What people pass to `append`, `retract` and `refresh`, as Arrow tables.

    tables    which kind of data it is: frames, Arrow, DuckDB relations, datasets, files, rows
    files     Parquet, CSV and JSON files
    values    Python's values, column by column, as those of a DuckDB type
    sound     what Arrow can hold and DuckDB cannot, or would take for something else
    texts     times that come as texts
    place     which row and column does not fit

What comes out holds what came in. Where that cannot be, it is refused, with the column and the row.
"""
