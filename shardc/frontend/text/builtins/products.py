"""Contractions: matmul, dot, outer, einsum."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.frontend.text.builtins.equation import label, parse_equation
from shardc.frontend.text.builtins.reductions import reduce
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dtype, Operand, Tensor, shape_text
from shardc.graph.attrs import LETTERS, DotDims
from shardc.graph.types import TensorType
from shardc.ops import hlo


def matmul(e: Emitter, x: Operand, y: Operand, preferred_element_type: Dtype | None = None) -> Tensor:
    """NumPy's matmul: the last dimension of x with the last but one of y, leading dimensions broadcast."""
    left, right, dtype = _factors(e, x, y, preferred_element_type)
    if left.rank == 0 or right.rank == 0:
        raise e.error("@ takes tensors with at least one dimension", "* multiplies by a number")
    rows = left.shape[-1]
    inner = right.shape[-2] if right.rank > 1 else right.shape[0]
    if rows != inner:
        raise e.error(f"{left.type} @ {right.type}: the contracted dimensions have sizes {rows} and {inner}")
    batch_left, batch_right = left.shape[:-2], right.shape[:-2]
    if not batch_right or not batch_left:
        return dot_general(
            e, left, right, DotDims((), (), (left.rank - 1,), (max(right.rank - 2, 0),)), dtype, batch_right
        )
    batch = e.broadcast_shape(batch_left, batch_right)
    if batch_left != batch_right:
        return _matmul_broadcast(e, left, right, batch, dtype)
    dims = tuple(range(len(batch)))
    return dot_general(e, left, right, DotDims(dims, dims, (left.rank - 1,), (right.rank - 2,)), dtype)


def _matmul_broadcast(e: Emitter, left: Tensor, right: Tensor, batch: tuple[int, ...], dtype: str) -> Tensor:
    """matmul whose leading dimensions differ: dimensions that only one side has are no batch dimensions."""
    letters = "abcdefghijklmnopqrstuvw"[: len(batch)]
    sides: list[tuple[Tensor, str]] = []
    for tensor, ends in ((left, "xy"), (right, "yz")):
        offset = len(batch) - (tensor.rank - 2)
        kept = [i for i, size in enumerate(tensor.shape[:-2]) if size == batch[i + offset]]
        shape = tuple(tensor.shape[i] for i in kept) + tensor.shape[-2:]
        sides.append((e.reshape(tensor, shape), "".join(letters[i + offset] for i in kept) + ends))
    (left, left_names), (right, right_names) = sides
    return contract(e, left, left_names, right, right_names, letters + "xz", dtype)


def dot(e: Emitter, x: Operand, y: Operand, preferred_element_type: Dtype | None = None) -> Tensor:
    """NumPy's dot: matmul up to two dimensions; otherwise the last of x with the last but one of y."""
    left, right, dtype = _factors(e, x, y, preferred_element_type)
    if left.rank == 0 or right.rank == 0:
        return e.op(hlo.multiply.name, *e.together(e.cast(left, dtype), e.cast(right, dtype)))
    if left.shape[-1] != right.shape[max(right.rank - 2, 0)]:
        return matmul(e, left, right, Dtype(dtype))  # reports the sizes
    return dot_general(e, left, right, DotDims((), (), (left.rank - 1,), (max(right.rank - 2, 0),)), dtype)


def outer(e: Emitter, x: Operand, y: Operand) -> Tensor:
    """x[:, None] * y[None, :] of the flattened operands."""
    left, right = (e.reshape(tensor, (tensor.type.size,)) for tensor in same_dtype(e, x, y))
    shape = (left.shape[0], right.shape[0])
    return e.op(
        hlo.multiply.name,
        e.broadcast_in_dim(left, shape, (0,)),
        e.broadcast_in_dim(right, shape, (1,)),
    )


def einsum(
    e: Emitter, equation: str, *operands: Operand, preferred_element_type: Dtype | None = None
) -> Tensor:
    """NumPy's einsum. Operands are contracted from left to right; no letter twice in one operand."""
    ranks = [operand.rank if isinstance(operand, Tensor) else 0 for operand in operands]
    inputs, output = parse_equation(e, equation, ranks)
    tensors = [e.tensor(operand) for operand in operands]
    if preferred_element_type is None:
        dtype, weak = e.common(*tensors)
        tensors = [e.cast(tensor, dtype, weak) for tensor in tensors]
    else:
        dtype = preferred_element_type.name
    _check_sizes(e, inputs, tensors)
    names, result = inputs[0], tensors[0]
    for index in range(1, len(tensors)):
        later = set(output).union(*inputs[index + 1 :])
        names, result = _sum_out(e, result, names, later | set(inputs[index]), dtype)
        other_names, other = _sum_out(e, tensors[index], inputs[index], later | set(names), dtype)
        kept = [n for n in dict.fromkeys(names + other_names) if n in later]
        both = "".join(n for n in kept if n in names and n in other_names)
        order = both + "".join(n for n in kept if n not in both)
        if index == len(tensors) - 1:
            order = output
        result = contract(e, result, names, other, other_names, order, dtype, are_letters=True)
        names = order
    names, result = _sum_out(e, result, names, set(output), dtype)
    return e.cast(transposed(e, result, names, output), dtype, result.weak)


def _sum_out(e: Emitter, tensor: Tensor, names: str, kept: set[str], dtype: str) -> tuple[str, Tensor]:
    """Sum over the dimensions that nobody else has, in a dtype."""
    alone = tuple(i for i, name in enumerate(names) if name not in kept)
    if not alone:
        return names, tensor
    return "".join(n for n in names if n in kept), reduce(e, "sum", e.cast(tensor, dtype, tensor.weak), alone)


def contract(
    e: Emitter,
    left: Tensor,
    left_names: str,
    right: Tensor,
    right_names: str,
    output: str,
    dtype: str | None = None,
    are_letters: bool = False,
) -> Tensor:
    """Multiply, summing over the names that `output` lacks; both operands have those.

    `dtype` is the result's, the left operand's if None. `are_letters` says that the names are the source's,
    but for the digits that `...` stands for.
    """
    shared = [name for name in left_names if name in right_names]
    batch = [name for name in shared if name in output]
    summed = [name for name in shared if name not in output]
    dims = DotDims(
        tuple(left_names.index(n) for n in batch),
        tuple(right_names.index(n) for n in batch),
        tuple(left_names.index(n) for n in summed),
        tuple(right_names.index(n) for n in summed),
    )
    names = (
        "".join(batch)
        + "".join(n for n in left_names if n not in shared)
        + "".join(n for n in right_names if n not in shared)
    )
    with e.tagged({LETTERS: f"{left_names},{right_names}"} if are_letters and names.isalpha() else {}):
        product = dot_general(e, left, right, dims, dtype)
    return transposed(e, product, names, output)


def transposed(e: Emitter, tensor: Tensor, names: str, output: str) -> Tensor:
    """The tensor with its dimensions in the order of `output`."""
    if names == output:
        return tensor
    return e.op(hlo.transpose.name, tensor, permutation=tuple(names.index(n) for n in output))


def dot_general(
    e: Emitter,
    left: Tensor,
    right: Tensor,
    dims: DotDims,
    dtype: str | None = None,
    batch_first: Sequence[int] = (),
) -> Tensor:
    """One dot_general; `dtype` is the result's, the left operand's if None.

    With `batch_first` the free leading dimensions of the right move to the front.
    """
    result = e.op(
        hlo.dot_general.name,
        left,
        right,
        dot_dimension_numbers=dims,
        precision_config=("DEFAULT", "DEFAULT"),
        result=TensorType(_dot_shape(left, right, dims), dtype or left.dtype),
    )
    if not batch_first or left.rank < 2:
        return result
    rows, count = left.rank - 1, len(batch_first)
    order = (*range(rows, rows + count), *range(rows), *range(rows + count, result.rank))
    return e.op(hlo.transpose.name, result, permutation=order)


def _dot_shape(left: Tensor, right: Tensor, dims: DotDims) -> tuple[int, ...]:
    batch = tuple(left.shape[i] for i in dims.lhs_batching)
    used_left, used_right = dims.lhs_batching + dims.lhs_contracting, dims.rhs_batching + dims.rhs_contracting
    return (
        batch
        + tuple(size for i, size in enumerate(left.shape) if i not in used_left)
        + tuple(size for i, size in enumerate(right.shape) if i not in used_right)
    )


def _factors(
    e: Emitter, x: Operand, y: Operand, preferred_element_type: Dtype | None
) -> tuple[Tensor, Tensor, str]:
    """Operands of a product, and its dtype: as they are where the program says it, else the common one."""
    if preferred_element_type is not None:
        return e.tensor(x), e.tensor(y), preferred_element_type.name
    left, right = same_dtype(e, x, y)
    return left, right, left.dtype


def same_dtype(e: Emitter, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    """Both operands in their common dtype, shapes as they are."""
    left, right = e.tensor(x), e.tensor(y)
    dtype, weak = e.common(left, right)
    if dtype == "bool":
        raise e.error("bools cannot be multiplied and summed", "astype(x, i32) counts them")
    return e.cast(left, dtype, weak), e.cast(right, dtype, weak)


def _check_sizes(e: Emitter, inputs: list[str], tensors: list[Tensor]) -> None:
    sizes: dict[str, int] = {}
    for names, tensor in zip(inputs, tensors, strict=True):
        for name, size in zip(names, tensor.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                shapes = ", ".join(shape_text(t.shape) for t in tensors)
                raise e.error(
                    f'"{label(name)}" has sizes {sizes[name]} and {size} in operands of shapes {shapes}'
                )
