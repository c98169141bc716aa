"""Fourier transforms by the names that NumPy and jax.numpy share: jnp.fft.rfft(x)."""

from __future__ import annotations

from shardc.backend.python.expressions import Expr, call, integers
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints
from shardc.graph import Node


def fft(scope: Scope, node: Node) -> Expr:
    """Over the last dimension, or the last ones; a length stands where the operand doesn't tell it."""
    kind, lengths = str(node.attrs["fft_type"]).lower(), ints(node, "fft_length")
    told = 2 * (scope.type(node.operands[0]).shape[-1] - 1) if kind == "irfft" else lengths[-1]
    value, module = scope.expr(node.operands[0]), f"{scope.target.xp}.fft"
    if len(lengths) == 1:
        return call(f"{module}.{kind}", value, n=None if told == lengths[0] else str(lengths[0]))
    return call(
        f"{module}.{kind}n",
        value,
        s=None if told == lengths[-1] else integers(lengths),
        axes=integers(range(-len(lengths), 0)) if len(lengths) < scope.type(node.operands[0]).rank else None,
    )
