"""Propagation: from the shardings that a few tensors have to those of all of them."""

from shardc.propagation.run import STRATEGIES, Options, PropagatedBody, Result, propagate

__all__ = ["STRATEGIES", "Options", "PropagatedBody", "Result", "propagate"]
