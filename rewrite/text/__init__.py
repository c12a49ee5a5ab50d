"""Text: CQL to syntax trees, whose windows and operators hang on the nodes."""
