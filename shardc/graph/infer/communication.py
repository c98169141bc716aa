"""Collectives: spmd over named axes (types of blocks), sdy (global types), StableHLO over replica groups."""

from __future__ import annotations

from shardc.graph.attrs import Dense
from shardc.graph.infer.call import Call, Rule, Types
from shardc.graph.types import TensorType
from shardc.layout import LayoutError, Sharding
from shardc.layout.axes import size_of
from shardc.layout.sharding import KINDS


def _check_kind(call: Call) -> None:
    kind = call.get("kind", str)
    if kind not in KINDS:
        raise call.error(f"has no kind {kind}; the kinds are {', '.join(KINDS)}")


def _resized(call: Call, type: TensorType, dim: int, times: int = 1, parts: int = 1) -> TensorType:
    size = type.shape[dim] * times
    if size % parts:
        raise call.error(f"cannot split dimension {dim} of {type}, of size {size}, in {parts} equal parts")
    return type.with_shape((*type.shape[:dim], size // parts, *type.shape[dim + 1 :]))


def _spmd_reduce(call: Call) -> Types:
    call.axes("axes")
    _check_kind(call)
    return (call.one(),)


def _spmd_all_gather(call: Call) -> Types:
    operand = call.one()
    dim = call.dimension("dim", operand.rank)
    return (_resized(call, operand, dim, times=size_of(call.axes("axes"))),)


def _spmd_reduce_scatter(call: Call) -> Types:
    _check_kind(call)
    return _spmd_all_slice(call)


def _spmd_all_slice(call: Call) -> Types:
    operand = call.one()
    dim = call.dimension("dim", operand.rank)
    return (_resized(call, operand, dim, parts=size_of(call.axes("axes"))),)


def _spmd_all_to_all(call: Call) -> Types:
    operand, count = call.one(), size_of(call.axes("axes"))
    split = call.dimension("split_dim", operand.rank)
    concat = call.dimension("concat_dim", operand.rank)
    return (_resized(call, _resized(call, operand, split, parts=count), concat, times=count),)


def _spmd_collective_permute(call: Call) -> Types:
    count = size_of(call.axes("axes"))
    pairs = call.pairs("pairs")
    for what, ends in (("source", [pair[0] for pair in pairs]), ("target", [pair[1] for pair in pairs])):
        if len(set(ends)) != len(ends):
            raise call.error(f"has a {what} twice in {list(pairs)}")
        if any(not 0 <= end < count for end in ends):
            raise call.error(f"has a {what} outside the {count} positions in {list(pairs)}")
    return (call.one(),)


def _spmd_axis_index(call: Call) -> Types:
    call.arity(0)
    call.axes("axes")
    return (TensorType((), "i32"),)


def _spmd_vary(call: Call) -> Types:
    call.axes("axes")
    return (call.one(),)


def _sdy_global(call: Call) -> Types:
    """sdy operations keep the global type; their sharding must have its rank."""
    operand = call.one()
    key = "sharding" if "sharding" in call.attrs else "out_sharding"
    sharding = call.get(key, Sharding)
    if sharding.rank != operand.rank:
        raise call.error(f"has a sharding of rank {sharding.rank} for {operand}")
    try:
        sharding.check()
    except LayoutError as error:
        raise call.error(f"has a sharding that cannot be: {error}") from error
    return (operand,)


def group_size(call: Call) -> int:
    """The number of devices in a replica group."""
    groups = call.attrs.get("replica_groups")
    if isinstance(groups, Dense) and len(groups.shape) == 2:
        return groups.shape[1]
    if isinstance(groups, tuple) and groups and isinstance(groups[0], tuple):
        return len(groups[0])  # pyright: ignore[reportUnknownArgumentType]
    raise call.error(f"needs replica_groups, got {groups!r}")


def _all_reduce(call: Call) -> Types:
    return call.operands


def _all_gather(call: Call) -> Types:
    dims = [call.dimension("all_gather_dim", operand.rank) for operand in call.operands]
    count = group_size(call)
    return tuple(
        _resized(call, operand, dim, times=count) for operand, dim in zip(call.operands, dims, strict=True)
    )


def _reduce_scatter(call: Call) -> Types:
    operand = call.one()
    return (
        _resized(call, operand, call.dimension("scatter_dimension", operand.rank), parts=group_size(call)),
    )


def _all_to_all(call: Call) -> Types:
    count = call.integer("split_count")
    results: list[TensorType] = []
    for operand in call.operands:
        split = call.dimension("split_dimension", operand.rank)
        concat = call.dimension("concat_dimension", operand.rank)
        results.append(_resized(call, _resized(call, operand, split, parts=count), concat, times=count))
    return tuple(results)


def _same(call: Call) -> Types:
    return (call.one(),)


def _no_result(call: Call) -> Types:
    call.one()
    return ()


def _device_number(call: Call) -> Types:
    call.arity(0)
    return (TensorType((), "u32"),)


COMMUNICATION: dict[str, Rule] = {
    "spmd.all_reduce": _spmd_reduce,
    "spmd.all_gather": _spmd_all_gather,
    "spmd.reduce_scatter": _spmd_reduce_scatter,
    "spmd.all_to_all": _spmd_all_to_all,
    "spmd.collective_permute": _spmd_collective_permute,
    "spmd.all_slice": _spmd_all_slice,
    "spmd.to_partial": _spmd_reduce,
    "spmd.as_partial": _spmd_reduce,
    "spmd.axis_index": _spmd_axis_index,
    "spmd.vary": _spmd_vary,
    "sdy.sharding_constraint": _sdy_global,
    "sdy.reshard": _sdy_global,
    "sdy.all_gather": _sdy_global,
    "sdy.all_slice": _sdy_global,
    "sdy.all_to_all": _sdy_global,
    "sdy.collective_permute": _sdy_global,
    "sdy.all_reduce": _sdy_global,
    "sdy.reduce_scatter": _sdy_global,
    "sdy.sharded_to_unreduced": _sdy_global,
    "sdy.replicated_to_unreduced": _sdy_global,
    "sdy.propagation_barrier": _same,
    "sdy.sharding_group": _no_result,
    "stablehlo.all_reduce": _all_reduce,
    "stablehlo.all_gather": _all_gather,
    "stablehlo.reduce_scatter": _reduce_scatter,
    "stablehlo.all_to_all": _all_to_all,
    "stablehlo.collective_permute": _same,
    "stablehlo.collective_broadcast": _same,
    "stablehlo.partition_id": _device_number,
    "stablehlo.replica_id": _device_number,
}
