"""Sources of elements: the drop zone, a folder of Parquet batches."""
