"""The composites that arrive as a group of nodes, as operations that only a backend's programs have.

`grouping` makes them from nodes with a tag, and printers are attached to them.
"""

from __future__ import annotations

from shardc.ops import OpDef


def _group(name: str, doc: str) -> OpDef:
    return OpDef(name=f"group.{name}", doc=doc)


gelu = _group("gelu", "x times the normal distribution's function of x; `variant` 0 is by tanh, 1 by erf.")
log_softmax = _group("log_softmax", "The logarithm of softmax along `dimensions`.")
mean = _group("mean", "The mean along `dimensions`, which stay of size 1 with `keepdims`.")
relu = _group("relu", "max(x, 0).")
silu = _group("silu", "x times logistic(x).")
softmax = _group("softmax", "exp(x) over its sum along `dimensions`.")
softplus = _group("softplus", "log(1 + exp(x)).")

GROUPS = {
    definition.short: definition for definition in (gelu, log_softmax, mean, relu, silu, softmax, softplus)
}
"""By the name that a group's tag gives."""
