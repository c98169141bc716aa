"""Which specifications of a node's inputs make sense, and what its output's is: one rule per group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from shardc.layout.mesh import LayoutError
from shardc.layout.onnx import schema
from shardc.layout.onnx.contract import Inference, Label, Tensor, contract
from shardc.layout.onnx.symbols import Size, Symbols
from shardc.layout.onnx.verdicts import Unsupported

Attributes = Mapping[str, Any]


class Operands(Struct, frozen=True):
    """What a rule is given: inputs (None: left out), attributes under ONNX's names, and known sizes."""

    op_type: str
    inputs: tuple[Tensor | None, ...]
    attributes: Attributes = {}
    opset: int | None = None
    symbols: Symbols = field(default_factory=Symbols)

    def present(self) -> tuple[list[Tensor], list[str]]:
        """The inputs that are there, and what errors call them: their numbers count those left out."""
        found = [(tensor, f"input {i}") for i, tensor in enumerate(self.inputs) if tensor is not None]
        return [tensor for tensor, _ in found], [name for _, name in found]

    def needed(self, number: int) -> Tensor:
        """An input that may not be left out."""
        tensor = self.inputs[number] if number < len(self.inputs) else None
        if tensor is None:
            raise LayoutError(f"input {number} may not be left out")
        return tensor


Rule = Callable[[Operands], Inference]


def unary(op: Operands) -> Inference:
    """Any sharding of the first input, and the output has it; further inputs are settings and whole."""
    for number, tensor in enumerate(op.inputs[1:], 1):
        _whole(number, tensor)
    return _unchanged(op.needed(0), op)


def broadcast(op: Operands) -> Inference:
    """Axes of equal size are split alike; broadcast ones are whole; devices are intersected."""
    return _broadcast(*op.present(), op.symbols)


def _broadcast(tensors: Sequence[Tensor], names: Sequence[str], symbols: Symbols) -> Inference:
    if not tensors:
        raise LayoutError("all inputs are left out")
    rank = max(tensor.rank for tensor in tensors)
    shapes = [tensor.shape for tensor in tensors]
    labels = [_aligned(shape, rank, shapes, symbols) for shape in shapes]
    return contract(tensors, labels, range(rank), names, symbols)


def reduction(op: Operands) -> Inference:
    """Kept axes inherit; over split reduced axes the devices combine, and all of them get the result."""
    tensor = op.needed(0)
    axes = _axes_of(op)
    if not axes and op.attributes.get("noop_with_empty_axes"):
        return _unchanged(tensor, op)
    return _reduced(tensor, axes or range(tensor.rank), op)


def arg_reduction(op: Operands) -> Inference:
    """As reduction, over axis 0 unless another is given."""
    return _reduced(op.needed(0), _numbers(op.attributes.get("axis", 0), "axis"), op)


def _reduced(tensor: Tensor, axes: Sequence[int], op: Operands) -> Inference:
    reduced = {_axis(axis, tensor.rank) for axis in axes}
    keep = op.attributes.get("keepdims", 1)
    output: list[Label | None] = []
    for axis in range(tensor.rank):
        if axis not in reduced:
            output.append(axis)
        elif keep:
            output.append(None)
    return contract([tensor], [range(tensor.rank)], output, None, op.symbols)


def _axes_of(op: Operands) -> Sequence[int]:
    """The axes of a reduction, an attribute or, in newer operator sets, an input; () where none are given."""
    given = op.inputs[1] if len(op.inputs) > 1 else None
    if given is None:
        return _numbers(op.attributes.get("axes", ()), "axes")
    if not schema.axes_are_an_input(op.op_type, op.opset):
        raise LayoutError(f"in operator set {op.opset} axes are an attribute, not an input")
    if "axes" in op.attributes:
        raise LayoutError("axes are given twice, as an attribute and as an input")
    _whole(1, given)
    if given.value is None:
        raise Unsupported("the axes are an input whose value is not known; only constants can be checked")
    return given.value


def _numbers(given: object, name: str) -> Sequence[int]:
    items = cast("list[object]", list(given) if isinstance(given, list | tuple) else [given])  # pyright: ignore[reportUnknownArgumentType]
    if not all(isinstance(item, int) for item in items):
        raise LayoutError(f"{name} must be whole numbers, not {given}")
    return cast("list[int]", items)


def matmul(op: Operands) -> Inference:
    """[…, m, k] x […, k, n]: broadcast to […, m, k, n], then a sum over k."""
    x, w = op.needed(0), op.needed(1)
    labels, output = _product(x, w, op.symbols)
    return contract([x, w], labels, output, None, op.symbols)


Labels = list[Label | None]


def _product(x: Tensor, w: Tensor, symbols: Symbols) -> tuple[list[Labels], Labels]:
    """The labels of both factors, and those of their matrix product."""
    if not x.rank or not w.rank:
        raise LayoutError("a scalar has no matrix product")
    batch = max(x.rank, w.rank, 2) - 2
    lead = [tensor.shape[:-2] for tensor in (x, w)]
    left, right = (_aligned(shape, batch, lead, symbols) for shape in lead)
    rows: Labels = ["m"] if x.rank > 1 else []
    columns: Labels = ["n"] if w.rank > 1 else []
    return [[*left, *rows, "k"], [*right, "k", *columns]], [*range(batch), *rows, *columns]


def gemm(op: Operands) -> Inference:
    """transposed(a) x transposed(b) + c; c must go with the product as in a broadcast, and counts once."""
    pair = [op.needed(0), op.needed(1)]
    if [tensor.rank for tensor in pair] != [2, 2]:
        raise LayoutError("inputs 0 and 1 must be matrices")
    a = ["k", "m"] if op.attributes.get("transA") else ["m", "k"]
    b = ["n", "k"] if op.attributes.get("transB") else ["k", "n"]
    result = contract(pair, [a, b], ["m", "n"], None, op.symbols)
    bias = op.inputs[2] if len(op.inputs) > 2 else None
    if bias is None:
        return result
    total = _broadcast([Tensor(result.shape, result.spec), bias], ["the product", "input 2"], op.symbols)
    if tuple(map(op.symbols.resolve, total.shape)) != tuple(map(op.symbols.resolve, result.shape)):
        raise LayoutError(f"input 2 of shape {list(bias.shape)} does not broadcast to {list(result.shape)}")
    return replace(total, reductions=result.reductions)


def integer_matmul(op: Operands) -> Inference:
    """As matmul; a zero point per row is split as the rows are, one per column as the columns."""
    return _quantised(op, (0, 1), {2: "m", 3: "n"})


def quantised_matmul(op: Operands) -> Inference:
    """As matmul; scales and zero points per row are split as the rows are, per column as the columns."""
    return _quantised(op, (0, 3), {1: "m", 2: "m", 4: "n", 5: "n", 6: "m", 7: "m"})


def _quantised(op: Operands, places: tuple[int, int], settings: Mapping[int, Label]) -> Inference:
    x, w = (op.needed(place) for place in places)
    labels, output = _product(x, w, op.symbols)
    tensors, names = [x, w], [f"input {place}" for place in places]
    for number, along in settings.items():
        tensor = op.inputs[number] if number < len(op.inputs) else None
        if tensor is not None:
            tensors.append(tensor)
            names.append(f"input {number}")
            labels.append(_setting_labels(tensor, along, output, op.symbols))
    return contract(tensors, labels, output, names, op.symbols)


def _setting_labels(tensor: Tensor, along: Label, output: Labels, symbols: Symbols) -> Labels:
    """A scalar, a vector along the rows or columns, or one of the rank of the result with a 1 in it."""
    if tensor.rank <= 1:
        return [None if symbols.resolve(size) == 1 else along for size in tensor.shape]
    aligned = output[len(output) - tensor.rank :] if tensor.rank <= len(output) else []
    if len(aligned) != tensor.rank:
        raise LayoutError(f"a setting of shape {list(tensor.shape)} has more dimensions than the result")
    return [
        None if symbols.resolve(size) == 1 else label
        for size, label in zip(tensor.shape, aligned, strict=True)
    ]


def einsum(op: Operands) -> Inference:
    """Equations without dots, in which no input has a letter twice."""
    inputs = [op.needed(number) for number in range(len(op.inputs))]
    equation = str(op.attributes.get("equation", "")).replace(" ", "")
    terms, arrow, output = equation.partition("->")
    names = terms.split(",")
    if "." in equation or any(len(set(term)) != len(term) for term in names):
        raise Unsupported(f"equation {equation!r} is none of the simple ones: letters, once per input")
    if [len(term) for term in names] != [tensor.rank for tensor in inputs]:
        raise LayoutError(f"equation {equation!r} does not fit the ranks of the inputs")
    if not arrow:
        output = "".join(sorted(letter for letter in set(terms) - {","} if terms.count(letter) == 1))
    if len(set(output)) != len(output) or not set(output) <= set(terms):
        raise LayoutError(f"the output of equation {equation!r} has a letter twice, or one no input has")
    return contract(inputs, names, output, None, op.symbols)


def constant_of_shape(op: Operands) -> Inference:
    """The shape is whole on every device, and so is the output."""
    tensor = op.needed(0)
    _whole(0, tensor)
    rank = tensor.shape[0] if tensor.shape and isinstance(tensor.shape[0], int) else 0
    shape: tuple[Size, ...] = tensor.value or tuple(f"unknown {i}" for i in range(rank))
    return Inference(tensor.spec and replace(tensor.spec, sharded_dim=(), tensor_name=""), shape=shape)


def _unchanged(tensor: Tensor, op: Operands) -> Inference:
    shape = tuple(op.symbols.resolve(size) for size in tensor.shape)
    return Inference(tensor.spec and replace(tensor.spec, tensor_name=""), shape=shape)


def _whole(number: int, tensor: Tensor | None) -> None:
    for axis in tensor.split if tensor else ():
        raise LayoutError(f"axis {axis} of input {number} is split, but every device needs it whole")


def _aligned(
    shape: Sequence[Size], rank: int, shapes: Sequence[Sequence[Size]], symbols: Symbols
) -> list[Label | None]:
    """Labels counted over the broadcast shape; None where this input has size 1 and another has not.

    A symbol beside another size than 1 is taken to be equal to it. (It could be 1, too.)
    """
    start = rank - len(shape)
    return [
        start + i if symbols.resolve(size) != 1 or _all_are_1(start + i, rank, shapes, symbols) else None
        for i, size in enumerate(shape)
    ]


def _all_are_1(axis: int, rank: int, shapes: Sequence[Sequence[Size]], symbols: Symbols) -> bool:
    own = [shape[axis - rank + len(shape)] for shape in shapes if axis >= rank - len(shape)]
    return all(symbols.resolve(size) == 1 for size in own)


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise LayoutError(f"axis {axis} is outside a tensor of {rank} dimensions")
    return axis % rank
