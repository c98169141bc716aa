"""Complex numbers and Fourier transforms in the .shard language."""

from __future__ import annotations

from shardc.backend.python.expressions import call
from shardc.backend.python.printers import Printed
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints
from shardc.backend.shard.raw import operation
from shardc.backend.shard.spelling import function
from shardc.backend.shard.target import SHARD
from shardc.graph import Node, is_complex
from shardc.ops import chlo, hlo

SHARD.prints(hlo.complex_)(function("complex"))
SHARD.prints(hlo.real)(function("real", is_complex))
SHARD.prints(hlo.imag)(function("imag", is_complex))
SHARD.prints(chlo.conj)(function("conj", is_complex))


@SHARD.prints(hlo.fft)
def fft(scope: Scope, node: Node) -> Printed:
    """rfft(x), and irfft(x, n=8) where the result's length does not follow."""
    *others, length = ints(node, "fft_length")
    kind = str(node.attrs["fft_type"]).lower()
    if others:
        return operation(scope, node)
    waves = scope.type(node.operands[0]).shape[-1]
    told = kind != "irfft" or length == 2 * (waves - 1)
    return call(kind, scope.expr(node.operands[0]), n=None if told else str(length))
