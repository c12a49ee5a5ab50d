"""Bodies: the SQL of recomputed queries, rewritten so that its answer is exact."""
