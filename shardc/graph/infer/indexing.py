"""Operations whose operands say where: dynamic slices, gather, scatter."""

from __future__ import annotations

from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.graph.infer.call import Call, Rule, Types, types_text
from shardc.graph.infer.elementwise import check_class
from shardc.graph.types import TensorType


def _check_starts(call: Call, starts: Types, rank: int) -> None:
    if len(starts) != rank:
        raise call.error(f"needs {rank} start indices, got {len(starts)}")
    for start in starts:
        check_class(call, start, "iu")
        if start.shape or start != starts[0]:
            raise call.error(f"needs scalar start indices of one dtype, got {types_text(starts)}")


def _dynamic_slice(call: Call) -> Types:
    if not call.operands:
        raise call.error("needs an operand")
    operand = call.operands[0]
    _check_starts(call, call.operands[1:], operand.rank)
    sizes = call.integers("slice_sizes")
    call.check_length("slice_sizes", sizes, operand.rank)
    for dim, size in enumerate(sizes):
        if not 0 <= size <= operand.shape[dim]:
            raise call.error(f"cannot take {size} of dimension {dim} of {operand}")
    return (operand.with_shape(sizes),)


def _dynamic_update_slice(call: Call) -> Types:
    if len(call.operands) < 2:
        raise call.error("needs an operand and an update")
    operand, update = call.operands[:2]
    _check_starts(call, call.operands[2:], operand.rank)
    if update.rank != operand.rank or update.dtype != operand.dtype:
        raise call.error(f"needs an update of the operand's rank and dtype, got {operand} and {update}")
    for dim, size in enumerate(update.shape):
        if size > operand.shape[dim]:
            raise call.error(f"cannot write {size} elements to dimension {dim} of {operand}")
    return (operand,)


def _batch_shape(call: Call, indices: TensorType, index_vector_dim: int, index_size: int) -> tuple[int, ...]:
    """The shape of the indices without the dimension that holds an index vector."""
    check_class(call, indices, "iu")
    if not 0 <= index_vector_dim <= indices.rank:
        raise call.error(f"has index_vector_dim {index_vector_dim} for indices {indices}")
    length = indices.shape[index_vector_dim] if index_vector_dim < indices.rank else 1
    if length != index_size:
        raise call.error(f"maps {index_size} indices, but index vectors of {indices} have {length}")
    return tuple(size for dim, size in enumerate(indices.shape) if dim != index_vector_dim)


def _gather(call: Call) -> Types:
    operand, indices = call.arity(2)
    dims = call.get("dimension_numbers", GatherDims)
    sizes = call.integers("slice_sizes")
    call.check_length("slice_sizes", sizes, operand.rank)
    for dim, size in enumerate(sizes):
        if not 0 <= size <= operand.shape[dim]:
            raise call.error(f"cannot take slices of {size} of dimension {dim} of {operand}")
    dropped = dims.collapsed_slice_dims + dims.operand_batching_dims
    call.check_dims("collapsed or batching dimension", dropped, operand.rank)
    call.check_dims("start_index_map", dims.start_index_map, operand.rank)
    for dim in dropped:
        if sizes[dim] > 1:
            raise call.error(f"drops dimension {dim} of {operand}, but takes slices of {sizes[dim]} of it")
    _check_batching(call, operand, indices, dims.operand_batching_dims, dims.start_indices_batching_dims)
    batch = list(_batch_shape(call, indices, dims.index_vector_dim, len(dims.start_index_map)))
    offsets = [size for dim, size in enumerate(sizes) if dim not in dropped]
    if len(offsets) != len(dims.offset_dims):
        raise call.error(f"has {len(dims.offset_dims)} offset_dims for slices of rank {len(offsets)}")
    call.check_dims("offset_dims", dims.offset_dims, len(batch) + len(offsets))
    rank = range(len(batch) + len(offsets))
    shape = tuple(offsets.pop(0) if dim in dims.offset_dims else batch.pop(0) for dim in rank)
    return (operand.with_shape(shape),)


def _check_batching(
    call: Call, operand: TensorType, indices: TensorType, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    call.check_length("batching dimensions of the indices", right, len(left))
    call.check_dims("batching dimension of the indices", right, indices.rank)
    for i, j in zip(left, right, strict=True):
        if operand.shape[i] != indices.shape[j]:
            raise call.error(
                f"cannot batch dimension {i} of {operand}, of size {operand.shape[i]}, "
                f"with dimension {j} of {indices}, of size {indices.shape[j]}"
            )


def _scatter(call: Call) -> Types:
    count = len(call.operands) // 2
    if not count or len(call.operands) != 2 * count + 1:
        raise call.error(f"takes inputs, indices and as many updates, got {len(call.operands)} operands")
    inputs, indices, updates = call.operands[:count], call.operands[count], call.operands[count + 1 :]
    dims = call.get("scatter_dimension_numbers", ScatterDims)
    operand, update = inputs[0], updates[0]
    dropped = dims.inserted_window_dims + dims.input_batching_dims
    call.check_dims("inserted or batching dimension", dropped, operand.rank)
    call.check_dims("scatter_dims_to_operand_dims", dims.scatter_dims_to_operand_dims, operand.rank)
    call.check_dims("update_window_dims", dims.update_window_dims, update.rank)
    _check_batching(call, operand, indices, dims.input_batching_dims, dims.scatter_indices_batching_dims)
    batch = _batch_shape(call, indices, dims.index_vector_dim, len(dims.scatter_dims_to_operand_dims))
    got = tuple(size for dim, size in enumerate(update.shape) if dim not in dims.update_window_dims)
    if got != batch:
        raise call.error(
            f"with indices {indices} needs updates for {list(batch)}, got {list(got)} in {update}"
        )
    kept = [size for dim, size in enumerate(operand.shape) if dim not in dropped]
    if len(kept) != len(dims.update_window_dims):
        raise call.error(
            f"has {len(dims.update_window_dims)} update_window_dims for windows of rank {len(kept)}"
        )
    for dim, size in zip(dims.update_window_dims, kept, strict=True):
        if update.shape[dim] > size:
            raise call.error(f"has windows of {update.shape[dim]} in dimension {dim} of {update}; {size} fit")
    for each, new in zip(inputs, updates, strict=True):
        if each.shape != operand.shape or new.shape != update.shape or each.dtype != new.dtype:
            raise call.error(f"needs inputs and updates that agree, got {each} and {new}")
    call.check_region(0, tuple(each.with_shape(()) for each in inputs))
    return inputs


INDEXING: dict[str, Rule] = {
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.gather": _gather,
    "stablehlo.scatter": _scatter,
}
