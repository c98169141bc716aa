"""ONNX's operations and their rules, and `infer`, which checks a node and says what its output has.

Some entries follow an operation's meaning where the document's list does not: Max and Min broadcast,
BitwiseNot has one input, and the input of ConstantOfShape is a shape, which every device needs whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec.structs import replace

from shardc.layout.mesh import LayoutError
from shardc.layout.notations.onnx_spec import ShardedDim
from shardc.layout.onnx import rules, schema
from shardc.layout.onnx.contract import Inference, Tensor
from shardc.layout.onnx.rules import Attributes, Operands, Rule
from shardc.layout.onnx.symbols import Size, Symbols
from shardc.layout.onnx.verdicts import NotCovered, Unsupported


def infer(
    op_type: str,
    inputs: Sequence[Tensor | None],
    attributes: Attributes | None = None,
    num_devices: int | None = None,
    opset: int | None = None,
    symbols: Symbols | None = None,
) -> Inference:
    """The specification of a node's output, if those of its inputs make sense. Else LayoutError says why not.

    An input without a specification is whole, wherever it is needed; optional inputs that are left out are
    left out, or None. Attributes are those of operator set `opset`; without one, those of any. `symbols`
    keeps what is learnt of symbolic sizes. A node may state another specification for its output: that is a
    redistribution. The error is `Unsupported` or `NotCovered` where the document leaves something out.
    """
    name = schema.OPERATION_SPELLINGS.get(op_type, op_type)
    if name in UNSUPPORTED:
        raise Unsupported(f"the document lists {name} as unsupported")
    if name not in OPERATIONS:
        raise NotCovered(f"the document does not mention {name}")
    known = symbols or Symbols()
    try:
        schema.check_inputs(name, len(inputs))
        given = schema.checked_attributes(name, attributes or {}, opset)
        for number, tensor in enumerate(inputs):
            if tensor is not None and tensor.spec is not None:
                _check_spec(number, tensor, num_devices, known)
        return OPERATIONS[name](Operands(name, tuple(inputs), given, opset, known))
    except LayoutError as error:
        raise type(error)(f"{name}: {error}") from error


def _check_spec(number: int, tensor: Tensor, num_devices: int | None, symbols: Symbols) -> None:
    assert tensor.spec is not None
    try:
        tensor.spec.check(tensor.rank, num_devices)
        for axis, dim in zip(tensor.spec.axes(tensor.rank), tensor.spec.sharded_dim, strict=True):
            _check_shards(axis, dim, symbols.resolve(tensor.shape[axis]), symbols)
    except LayoutError as error:
        raise LayoutError(f"input {number}: {error}") from error


def _check_shards(axis: int, dim: ShardedDim, size: Size, symbols: Symbols) -> None:
    """The shards of an axis against its size, where that is known. Uneven shards are the backend's affair."""
    factors = [size if f.dim is None else symbols.resolve(f.dim) for f in dim.simple_sharding]
    for factor, shard in zip(factors, dim.simple_sharding, strict=True):
        if isinstance(factor, int) and shard.num_shards > max(factor, 1):
            raise LayoutError(f"axis {axis} has {factor} elements, too few for {shard.num_shards} shards")
    if isinstance(size, int) and len(factors) > 1 and any(f.dim is None for f in dim.simple_sharding):
        raise LayoutError(f"axis {axis} is fused of {len(factors)} dimensions, whose sizes must be given")
    numbers = [factor for factor in factors if isinstance(factor, int)]
    if isinstance(size, int) and len(numbers) == len(factors) and prod(numbers) != size:
        raise LayoutError(f"axis {axis} has {size} elements, its factors {numbers} are {prod(numbers)}")


def _combining(rule: Rule, how: str) -> Rule:
    """A rule whose reductions are combined in a way worth saying."""

    def combined(op: Operands) -> Inference:
        result = rule(op)
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
    **dict.fromkeys(_UNARY.split(), rules.unary),
    **dict.fromkeys(_BROADCAST.split(), rules.broadcast),
    **{name: _combining(rules.reduction, how) for name, how in _REDUCTIONS.items()},
    "ArgMax": _combining(rules.arg_reduction, "max of (value, index) pairs"),
    "ArgMin": _combining(rules.arg_reduction, "min of (value, index) pairs"),
    "MatMul": _combining(rules.matmul, "sum"),
    "Gemm": _combining(rules.gemm, "sum of the products, to which c is added once"),
    "MatMulInteger": _combining(rules.integer_matmul, "sum"),
    "QLinearMatMul": _combining(rules.quantised_matmul, "sum of the 32-bit products, then requantise"),
    "Einsum": _combining(rules.einsum, "sum"),
    "ConstantOfShape": rules.constant_of_shape,
}  # fmt: skip

UNSUPPORTED = frozenset(
    """If Loop Scan GRU LSTM RNN DFT STFT MelWeightMatrix TfIdfVectorizer AveragePool GlobalAveragePool
    GlobalLpPool GlobalMaxPool LpPool MaxPool MaxRoiPool Conv ConvInteger ConvTranspose DeformConv
    InstanceNormalization LpNormalization LayerNormalization SequenceAt SequenceConstruct SequenceEmpty
    SequenceErase SequenceInsert SequenceLength SequenceMap SplitToSequence ConcatFromSequence Optional
    OptionalGetElement OptionalHasElement""".split()
)
"""Operations that the formalism leaves out."""

LISTED = frozenset(
    """Abs Acos Acosh Asin Asinh Atan Atanh Cast Ceil Cos Cosh Dropout Erf Exp Floor Identity IsInf IsNaN Log
    Max Min Neg Not Reciprocal Round Sigmoid Sign Sin Sinh Tan Tanh ConstantOfShape Add And BitShift
    BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Equal Greater Less Mod Mul Or Pow Sub Sum Where Xor MatMul Gemm
    MatMulInteger QLinearMatMul Einsum""".split()
) | frozenset(_REDUCTIONS)
"""Operations with a rule that the document lists; the rule of the others is that of their group."""
