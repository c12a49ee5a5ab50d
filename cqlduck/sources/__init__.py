"""Where elements come from: the drop zone, a folder of Parquet batches."""
