"""The physical plan: what is kept and what runs, for each operator of a logical plan."""

from cqlduck.rewrite.physical.identity import Identity, identity

__all__ = ["Identity", "identity"]
