"""ONNX's sharding formalism: which specifications of a node's inputs make sense, and what its output's is.

One function per group of operations, and the table of operations at the end. Some entries follow an
operation's meaning where the proposal's list does not: Max and Min broadcast, BitwiseNot has one input, and
the input of ConstantOfShape is a shape, which every device needs whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shardc.layout.mesh import LayoutError
from shardc.layout.onnx_contract import Inference, Label, Tensor, contract

Attributes = Mapping[str, Any]
Rule = Callable[[Sequence[Tensor], Attributes], Inference]


def infer(
    op_type: str,
    inputs: Sequence[Tensor],
    attributes: Attributes | None = None,
    num_devices: int | None = None,
) -> Inference:
    """The specification of a node's output, if those of its inputs make sense. Else LayoutError says why not.

    An input without a specification is whole, wherever it is needed; optional inputs that are left out are
    left out. A node may state another specification for its output: that is a redistribution.
    """
    if op_type in UNSUPPORTED:
        raise LayoutError(f"the formalism does not cover {op_type}")
    if op_type not in OPERATIONS:
        raise LayoutError(f"there is no sharding rule for {op_type}")
    for number, tensor in enumerate(inputs):
        if tensor.spec is not None:
            try:
                tensor.spec.check(tensor.rank, num_devices)
            except LayoutError as error:
                raise LayoutError(f"input {number} of {op_type}: {error}") from error
    try:
        return OPERATIONS[op_type](inputs, attributes or {})
    except LayoutError as error:
        raise LayoutError(f"{op_type}: {error}") from error


def unary(inputs: Sequence[Tensor], attributes: Attributes) -> Inference:
    """Any sharding of the first input, and the output has it; further inputs are settings and whole."""
    for number, tensor in enumerate(inputs[1:], 1):
        _whole(number, tensor)
    return _unchanged(inputs[0])


def broadcast(inputs: Sequence[Tensor], attributes: Attributes) -> Inference:
    """Axes of equal size are split alike; broadcast ones are whole; devices are intersected."""
    rank = max(tensor.rank for tensor in inputs)
    labels = [_aligned(tensor.shape, rank, inputs) for tensor in inputs]
    return contract(inputs, labels, range(rank))


def reduction(inputs: Sequence[Tensor], attributes: Attributes) -> Inference:
    """Kept axes inherit; over split reduced axes the devices combine, and all of them get the result."""
    tensor = inputs[0]
    axes = attributes.get("axes", attributes.get("axis"))
    if not axes and axes != 0:
        if attributes.get("noop_with_empty_axes"):
            return _unchanged(tensor)
        axes = range(tensor.rank)
    reduced = {_axis(axis, tensor.rank) for axis in ([axes] if isinstance(axes, int) else axes)}
    output: list[Label | None] = []
    for axis in range(tensor.rank):
        if axis not in reduced:
            output.append(axis)
        elif attributes.get("keepdims", 1):
            output.append(None)
    return contract(inputs[:1], [range(tensor.rank)], output)


def arg_reduction(inputs: Sequence[Tensor], attributes: Attributes) -> Inference:
    """As reduction, over axis 0 unless another is given."""
    return reduction(inputs, {"axis": 0, **attributes})


def matmul(inputs: Sequence[Tensor], attributes: Attributes) -> Inference:
    """[…, m, k] x […, k, n]: broadcast to […, m, k, n], then a sum over k."""
    x, w = inputs[:2]
    if not x.rank or not w.rank:
        raise LayoutError("a scalar has no matrix product")
    batch = max(x.rank, w.rank, 2) - 2
    lead = [Tensor(tensor.shape[:-2]) for tensor in (x, w)]
    left, right = (_aligned(tensor.shape, batch, lead) for tensor in lead)
    rows, columns = (["m"] if x.rank > 1 else []), (["n"] if w.rank > 1 else [])
    names: list[list[Label | None]] = [[*left, *rows, "k"], [*right, "k", *columns]]
    return contract([x, w], names, [*range(batch), *rows, *columns])


def gemm(inputs: Sequence[Tensor], attributes: Attributes) -> Inference:
    """transposed(a) x transposed(b) + c; c must go with the product as in a broadcast, and counts once."""
    a = ["k", "m"] if attributes.get("transA") else ["m", "k"]
    b = ["n", "k"] if attributes.get("transB") else ["k", "n"]
    result = contract(inputs[:2], [a, b], ["m", "n"])
    if len(inputs) < 3:
        return result
    m, n = (t.shape[names.index(x)] for t, names, x in zip(inputs, (a, b), "mn", strict=False))
    total = broadcast([Tensor((m, n), result.spec), inputs[2]], {})
    return replace(total, reductions=result.reductions)


def quantised_matmul(inputs: Sequence[Tensor], attributes: Attributes) -> Inference:
    """As matmul; scales and zero points are whole."""
    places = (0, 3) if len(inputs) > 4 else (0, 1)
    for number, tensor in enumerate(inputs):
        if number not in places:
            _whole(number, tensor)
    return matmul([inputs[place] for place in places], attributes)


def einsum(inputs: Sequence[Tensor], attributes: Attributes) -> Inference:
    """Equations without dots, in which no input has a letter twice."""
    equation = str(attributes.get("equation", "")).replace(" ", "")
    terms, arrow, output = equation.partition("->")
    names = terms.split(",")
    if "." in equation or any(len(set(term)) != len(term) for term in names):
        raise LayoutError(f"equation {equation!r} is none of the simple ones: letters, once per input")
    if [len(term) for term in names] != [tensor.rank for tensor in inputs]:
        raise LayoutError(f"equation {equation!r} does not fit the ranks of the inputs")
    if not arrow:
        output = "".join(sorted(letter for letter in set(terms) - {","} if terms.count(letter) == 1))
    return contract(inputs, names, output)


def constant_of_shape(inputs: Sequence[Tensor], attributes: Attributes) -> Inference:
    """The shape is whole on every device, and so is the output."""
    _whole(0, inputs[0])
    return Inference(inputs[0].spec and replace(inputs[0].spec, sharded_dim=(), tensor_name=""))


def _unchanged(tensor: Tensor) -> Inference:
    return Inference(tensor.spec and replace(tensor.spec, tensor_name=""))


def _whole(number: int, tensor: Tensor) -> None:
    for axis in tensor.split:
        raise LayoutError(f"axis {axis} of input {number} is split, but every device needs it whole")


def _aligned(shape: Sequence[int | str], rank: int, all_inputs: Sequence[Tensor]) -> list[Label | None]:
    """Labels counted over the broadcast shape; None where this input has size 1 and another has not."""
    start = rank - len(shape)
    sizes = [
        {t.shape[axis - rank + t.rank] for t in all_inputs if axis >= rank - t.rank} for axis in range(rank)
    ]
    for axis, found in enumerate(sizes):
        if len(found - {1}) > 1:
            raise LayoutError(f"axis {axis} has sizes {sorted(map(str, found))}, which do not broadcast")
    return [start + i if size != 1 or sizes[start + i] == {1} else None for i, size in enumerate(shape)]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise LayoutError(f"axis {axis} is outside a tensor of {rank} dimensions")
    return axis % rank


def _combining(rule: Rule, how: str) -> Rule:
    """A rule whose reductions are combined in a way worth saying."""

    def combined(inputs: Sequence[Tensor], attributes: Attributes) -> Inference:
        result = rule(inputs, attributes)
        return replace(result, combine=how) if result.reductions else result

    return combined


_UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast Ceil Celu Cos Cosh Dropout Elu Erf Exp Floor
Gelu HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink
Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu"""

_BROADCAST = """Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Clip Div Equal Greater GreaterOrEqual Less
LessOrEqual Max Mean Min Mod Mul Or PRelu Pow Sub Sum Where Xor"""

_REDUCTIONS = {
    "ReduceSum": "sum",
    "ReduceMean": "sum, then divide by the number of all elements",
    "ReduceProd": "product",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceL1": "sum",
    "ReduceL2": "sum of the squares, then the root",
    "ReduceSumSquare": "sum",
    "ReduceLogSum": "sum before the logarithm",
    "ReduceLogSumExp": "max, then sum of the exponentials relative to it, before the logarithm",
}

OPERATIONS: dict[str, Rule] = {
    **dict.fromkeys(_UNARY.split(), unary),
    **dict.fromkeys(_BROADCAST.split(), broadcast),
    **{name: _combining(reduction, how) for name, how in _REDUCTIONS.items()},
    "ArgMax": _combining(arg_reduction, "max of (value, index) pairs"),
    "ArgMin": _combining(arg_reduction, "min of (value, index) pairs"),
    "MatMul": _combining(matmul, "sum"),
    "Gemm": _combining(gemm, "sum of the products, to which c is added once"),
    "MatMulInteger": _combining(quantised_matmul, "sum"),
    "QLinearMatMul": _combining(quantised_matmul, "sum of the 32-bit products, then requantise"),
    "Einsum": _combining(einsum, "sum"),
    "ConstantOfShape": constant_of_shape,
}  # fmt: skip

UNSUPPORTED = frozenset(
    """If Loop Scan GRU LSTM RNN DFT STFT MelWeightMatrix TfIdfVectorizer AveragePool GlobalAveragePool
    GlobalLpPool GlobalMaxPool LpPool MaxPool MaxRoiPool Conv ConvInteger ConvTranspose DeformConv
    InstanceNormalization LpNormalization LayerNormalization SequenceAt SequenceConstruct SequenceEmpty
    SequenceErase SequenceInsert SequenceLength SequenceMap SplitToSequence ConcatFromSequence Optional
    OptionalGetElement OptionalHasElement""".split()
)
"""Operations that the formalism leaves out."""
