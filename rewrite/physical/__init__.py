"""The physical plan: the operators of a logical plan, with their synopses and statements."""

from cqlduck.rewrite.physical.identity import Identity, identity

__all__ = ["Identity", "identity"]
