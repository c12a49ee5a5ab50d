"""Bodies: what makes the answer of a query that is worked out again exact, said in its SQL."""
