"""What is in DuckDB: catalogue, queues, stores, synopses, answers, the tick."""
