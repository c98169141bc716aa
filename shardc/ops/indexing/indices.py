"""What operations that take index vectors, or start indices, have in common."""

from __future__ import annotations

from collections.abc import Iterator

from shardc.graph import Op, TensorType
from shardc.ops.elementwise.types import check_class
from shardc.ops.rule import Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp, types_text

ROWS = TensorType((8, 4), "f32")
PLACE = TensorType((), "i32")
PLACES = TensorType((6, 1), "i32")
"""Of the examples: eight rows, the place of one, and of six."""


def check_starts(op: UntypedOp, starts: Types, rank: int) -> None:
    """Raise ShapeError unless there is one scalar start index for each of `rank` dimensions."""
    if len(starts) != rank:
        raise op.error(f"needs {rank} start indices, got {len(starts)}")
    for start in starts:
        check_class(op, start, "iu")
        if start.shape or start != starts[0]:
            raise op.error(f"needs scalar start indices of one dtype, got {types_text(starts)}")


def batch_shape(
    op: UntypedOp, indices: TensorType, index_vector_dim: int, index_size: int
) -> tuple[int, ...]:
    """The shape of the indices without the dimension that holds an index vector."""
    check_class(op, indices, "iu")
    if not 0 <= index_vector_dim <= indices.rank:
        raise op.error(f"has index_vector_dim {index_vector_dim} for indices {indices}")
    length = indices.shape[index_vector_dim] if index_vector_dim < indices.rank else 1
    if length != index_size:
        raise op.error(f"maps {index_size} indices, but index vectors of {indices} have {length}")
    return tuple(size for dim, size in enumerate(indices.shape) if dim != index_vector_dim)


def check_batching(
    op: UntypedOp, operand: TensorType, indices: TensorType, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    """Raise ShapeError unless the batching dimensions of operand and indices have equal sizes."""
    op.check_length("batching dimensions of the indices", right, len(left))
    op.check_dims("batching dimension of the indices", right, indices.rank)
    for i, j in zip(left, right, strict=True):
        if operand.shape[i] != indices.shape[j]:
            raise op.error(
                f"cannot batch dimension {i} of {operand}, of size {operand.shape[i]}, "
                f"with dimension {j} of {indices}, of size {indices.shape[j]}"
            )


def batch_dims(rank: int, index_vector_dim: int) -> Iterator[int]:
    """The dimensions of the indices that are not the index vector's."""
    return (dim for dim in range(rank) if dim != index_vector_dim)


def index_vector(builder: RuleBuilder, op: Op, operand: int, dim: int) -> None:
    """Add a factor for the dimension that holds the coordinates of one index; none if `dim` is the rank."""
    indices = op.operands[operand]
    if dim < indices.rank:
        builder.factor(indices.shape[dim], {operand: dim}, kind=Kind.REPLICATE)
