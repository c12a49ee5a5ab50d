"""Text: CQL to syntax trees, whose windows and operators are attached to the nodes."""
