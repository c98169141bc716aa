"""The attributes and inputs that ONNX's operations take, by operator set, and the document's spellings.

Only operations that have a sharding rule are here. Numbers are from the operators' published schemas, whose
versions before 7 broadcast in another way and are not supported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardc.diagnostics import listed
from shardc.layout.mesh import LayoutError
from shardc.layout.onnx.verdicts import Unsupported

OLDEST = 7

OPERATION_SPELLINGS = {
    "EinSum": "Einsum",
    "TfidVectorizer": "TfIdfVectorizer",
    "InstanceNorm": "InstanceNormalization",
}
"""Names that the document writes in its own way -> names of ONNX's operations."""

ATTRIBUTE_SPELLINGS = {"keep_dims": "keepdims"}

_ATTRIBUTES: dict[str, str] = {
    "Cast": "to saturate:19- round_mode:24-",
    "Celu Elu LeakyRelu Swish ThresholdedRelu": "alpha",
    "HardSigmoid": "alpha beta",
    "Selu": "alpha gamma",
    "Dropout": "ratio:-11 seed:12-",
    "Gelu": "approximate",
    "IsInf": "detect_negative detect_positive",
    "Shrink": "bias lambd",
    "BitShift": "direction",
    "Clip": "min:-10 max:-10",
    "Mod": "fmod",
    "ReduceSum": "keepdims axes:-12 noop_with_empty_axes:13-",
    "ReduceMean ReduceProd ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum "
    "ReduceLogSumExp": "keepdims axes:-17 noop_with_empty_axes:18-",
    "ArgMax ArgMin": "axis keepdims select_last_index:12-",
    "Gemm": "alpha beta transA transB",
    "Einsum": "equation",
    "ConstantOfShape": "value",
}
"""Operations -> their attributes, with the first and the last operator set that has them."""

_INPUTS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys("Max Mean Min Sum Einsum".split(), (1, None)),
    **dict.fromkeys(
        """Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual
        Mod Mul Or PRelu Pow Sub Xor MatMul""".split(),
        (2, 2),
    ),
    **dict.fromkeys("Clip Dropout".split(), (1, 3)),
    **{name: (1, 2) for names in _ATTRIBUTES if "Reduce" in names for name in names.split()},
    "Where": (3, 3),
    "Gemm": (2, 3),
    "MatMulInteger": (2, 4),
    "QLinearMatMul": (8, 8),
}
"""Operation -> the least and the greatest number of inputs (None: any); 1 and 1 if it is not here."""


def _spans(text: str) -> dict[str, tuple[int, int | None]]:
    found: dict[str, tuple[int, int | None]] = {}
    for word in text.split():
        name, _, span = word.partition(":")
        first, _, last = span.partition("-")
        found[name] = (int(first or 1), int(last) if last else None)
    return found


ATTRIBUTES = {name: _spans(text) for names, text in _ATTRIBUTES.items() for name in names.split()}
"""Operation -> attribute -> the operator sets that have it."""


def checked_attributes(op_type: str, attributes: Mapping[str, Any], opset: int | None) -> dict[str, Any]:
    """The attributes under ONNX's names. LayoutError for one that the operation has not (in this opset)."""
    if opset is not None and opset < OLDEST:
        raise Unsupported(f"operator set {opset}: before {OLDEST}, operations broadcast in another way")
    known = ATTRIBUTES.get(op_type, {})
    found: dict[str, Any] = {}
    for written, value in attributes.items():
        name = ATTRIBUTE_SPELLINGS.get(written, written)
        if name not in known:
            has = listed(written, known, f"{op_type} has") if known else f"{op_type} has none"
            raise LayoutError(f"there is no attribute {written}: {has}")
        _check_opset(name, known[name], opset)
        if name in found and found[name] != value:
            raise LayoutError(f"attribute {name} is given twice, as {found[name]} and as {value}")
        found[name] = value
    return found


def check_inputs(op_type: str, count: int) -> None:
    """LayoutError unless the operation may have so many inputs."""
    least, most = _INPUTS.get(op_type, (1, 1))
    if count < least or (most is not None and count > most):
        may = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
        raise LayoutError(f"{count} inputs are given, it has {may}")


def _check_opset(name: str, span: tuple[int, int | None], opset: int | None) -> None:
    first, last = span
    if opset is None:
        return
    if last is not None and opset > last:
        raise LayoutError(f"attribute {name} is an input since operator set {last + 1}; this is {opset}")
    if opset < first:
        raise LayoutError(f"attribute {name} is new in operator set {first}; this is {opset}")


def axes_are_an_input(op_type: str, opset: int | None) -> bool:
    """Whether a reduction may have its axes as an input: without an operator set, yes."""
    last = ATTRIBUTES[op_type].get("axes", (1, None))[1]
    return opset is None or (last is not None and opset > last)
