"""fft: Fourier transforms over the last dimensions."""

from __future__ import annotations

from math import prod

from shardc.graph import Op
from shardc.graph.types import TensorType, is_complex
from shardc.ops.definition import COMPUTES, OpDef, Syntax, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, ints
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import linear_algebra as kernels

_WAVES = TensorType((8, 16), "c64")
_COMPLEX = {"f32": "c64", "f64": "c128"}
_REAL = {"c64": "f32", "c128": "f64"}


def _types(op: UntypedOp) -> Types:
    operand = op.one()
    kind, lengths = op.get("fft_type", str), op.integers("fft_length")
    if len(lengths) > operand.rank:
        raise op.error(f"has {len(lengths)} lengths for {operand}")
    kept, last = operand.shape[: operand.rank - len(lengths)], operand.shape[operand.rank - len(lengths) :]
    if kind in ("FFT", "IFFT"):
        expected, dtype, shape = lengths, operand.dtype if is_complex(operand.dtype) else None, lengths
    elif kind == "RFFT":
        expected, dtype, shape = lengths, _COMPLEX.get(operand.dtype), (*lengths[:-1], lengths[-1] // 2 + 1)
    elif kind == "IRFFT":
        expected, dtype, shape = (*lengths[:-1], lengths[-1] // 2 + 1), _REAL.get(operand.dtype), lengths
    else:
        raise op.error(f"has no type {kind}; it is FFT, IFFT, RFFT or IRFFT")
    if dtype is None or (prod(last) and last != expected):
        raise op.error(f"of type {kind} and length {list(lengths)} cannot take {operand}")
    return (TensorType((*kept, *shape), dtype),)


def _rule(op: Op) -> FactorRule:
    """Transformed dimensions (the last ones) must be whole; the last is blocked if its length changes."""
    shape, length = op.operands[0].shape, op.results[0].shape[-1]
    first = len(shape) - len(ints(op, "fft_length"))
    builder = RuleBuilder(op)
    for dim, size in enumerate(shape):
        changed = dim == len(shape) - 1 and size != length
        builder.along(dim, size, Kind.PASS if dim < first else Kind.REPLICATE, blocked=changed)
    return builder.build(linear=[[0]])


fft = define(
    OpDef(
        name="stablehlo.fft",
        doc="`stablehlo.fft %0, type = FFT, length = [4] : (…) -> …`: over the last dimensions.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.fft, "fft_type", "fft_length"),
        work=COMPUTES,
        syntax=Syntax(
            ("operand",),
            attrs={"fft_type": "fft_type", "fft_length": "ints"},
            format=f"$operand `,` `type` `=` $fft_type `,` `length` `=` $fft_length attr-dict {FUNCTIONAL}",
        ),
        example=of("stablehlo.fft", [_WAVES], _WAVES, fft_type="FFT", fft_length=(16,)),
    )
)
