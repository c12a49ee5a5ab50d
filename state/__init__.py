"""The database: catalogue, arrivals, stores, synopses, logs, answers, the tick."""
