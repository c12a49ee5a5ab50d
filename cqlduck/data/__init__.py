"""What people pass to `append`, `retract` and `refresh`, or let SQL read by name, as Arrow tables.

    tables    which kind of data it is: frames, Arrow, DuckDB relations, datasets, files, rows
    target    what it is for: an input, or a frame's name
    files     Parquet, CSV and JSON files
    values    Python's values, column by column, as those of a DuckDB type
    inferred  the one type that Python's values have together
    sound     what Arrow can hold and DuckDB cannot, or would take for something else
    texts     times that come as texts
    place     which row and column does not fit

What comes out holds what came in. Where that cannot be, it is refused, with the column and the row.
"""
