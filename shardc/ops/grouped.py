"""Exchanges between replica groups, as StableHLO writes per-device code, and the device's own number.

`replica_groups = dense<[[0, 1], [2, 3]]>`: the devices of a row communicate. With `use_global_device_ids` the
numbers are those of the whole mesh. shardc's own per-device code (ops/collective) names axes instead.
"""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from shardc.graph import Dense, Op, TensorType
from shardc.ops import result_types as types
from shardc.ops.collective.blocks import BLOCK, resizing
from shardc.ops.definition import Infer, OpDef, RuleFunction, Syntax, Trait, of
from shardc.ops.elementwise.rules import opaque
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import integer
from shardc.ops.untyped import Types, UntypedOp

_FOUR = ((0, 1, 2, 3),)
_GROUPS = {"replica_groups": "groups", "channel_handle": "channel?"}
_GLOBAL_GROUPS = {**_GROUPS, "use_global_device_ids": "unit?"}
_MANY = Syntax(("*blocks",), ("*outputs",))
_ONE = Syntax(("operand",))


def group_size(op: UntypedOp) -> int:
    """The number of devices in a replica group."""
    groups = op.attrs.get("replica_groups")
    if isinstance(groups, Dense) and len(groups.shape) == 2:
        return groups.shape[1]
    if isinstance(groups, tuple) and groups and isinstance(groups[0], tuple):
        return len(groups[0])  # pyright: ignore[reportUnknownArgumentType]
    raise op.error(f"needs replica_groups, got {groups!r}")


def _gathered(op: UntypedOp) -> Types:
    dims = [op.dimension("all_gather_dim", operand.rank) for operand in op.operands]
    count = group_size(op)
    return tuple(
        types.resized(op, operand, dim, times=count) for operand, dim in zip(op.operands, dims, strict=True)
    )


def _scattered(op: UntypedOp) -> Types:
    operand = op.one()
    dim = op.dimension("scatter_dimension", operand.rank)
    return (types.resized(op, operand, dim, parts=group_size(op)),)


def _exchanged(op: UntypedOp) -> Types:
    count = op.integer("split_count")
    results: list[TensorType] = []
    for operand in op.operands:
        split = op.dimension("split_dimension", operand.rank)
        concat = op.dimension("concat_dimension", operand.rank)
        part = types.resized(op, operand, split, parts=count)
        results.append(types.resized(op, part, concat, times=count))
    return tuple(results)


def _device_number(op: UntypedOp) -> Types:
    op.arity(0)
    return (TensorType((), "u32"),)


def _changes(*keys: str) -> RuleFunction:
    """The rule of an exchange that changes the sizes of the dimensions that attributes `keys` name."""

    def rule(op: Op) -> FactorRule:
        dims = dict.fromkeys(integer(op, key, 0) for key in keys)
        return resizing(op, tuple(dims), ordered=False, linear=False)

    return rule


def _paired(op: UntypedOp) -> Types:
    """The operand's type; each pair of devices is two."""
    pairs = op.tuple_of("source_target_pairs", cast("type[tuple[object, ...]]", tuple))
    if any(len(pair) != 2 for pair in pairs):
        raise op.error("has source_target_pairs that are not pairs")
    return types.same(op)


def _exchange(
    name: str, doc: str, infer: Infer, rule: RuleFunction, syntax: Syntax, result: TensorType, **attrs: object
) -> OpDef:
    return define(
        OpDef(
            name=name,
            doc=doc,
            infer=infer,
            rule=rule,
            traits=frozenset((Trait.GROUPED, Trait.EFFECT, Trait.KEPT)),
            syntax=syntax,
            example=Op(
                name,
                (BLOCK,),
                (result,),
                {**({"replica_groups": _FOUR} if "replica_groups" in syntax.attrs else {}), **attrs},
            ),
        )
    )


all_gather = _exchange(
    "stablehlo.all_gather",
    "Concatenates the group's blocks along a dimension.",
    _gathered,
    _changes("all_gather_dim"),
    replace(_MANY, attrs={"all_gather_dim": "int", **_GLOBAL_GROUPS}),
    BLOCK.with_shape((8, 16)),
    all_gather_dim=1,
)
all_reduce = _exchange(
    "stablehlo.all_reduce",
    "Combines the group's blocks by the body.",
    types.operands,
    opaque,
    replace(_MANY, attrs=_GLOBAL_GROUPS, regions=("computation",)),
    BLOCK,
)
all_to_all = _exchange(
    "stablehlo.all_to_all",
    "Sends part i of one dimension to device i of the group; concatenates along another.",
    _exchanged,
    _changes("split_dimension", "concat_dimension"),
    replace(
        _MANY,
        attrs={"split_dimension": "int", "concat_dimension": "int", "split_count": "int", **_GROUPS},
    ),
    BLOCK.with_shape((2, 16)),
    split_dimension=0,
    concat_dimension=1,
    split_count=4,
)
reduce_scatter = _exchange(
    "stablehlo.reduce_scatter",
    "Combines the group's blocks by the body; each device keeps its part of a dimension.",
    _scattered,
    _changes("scatter_dimension"),
    replace(_ONE, attrs={"scatter_dimension": "int", **_GLOBAL_GROUPS}, regions=("computation",)),
    BLOCK.with_shape((2, 4)),
    scatter_dimension=0,
)
collective_permute = _exchange(
    "stablehlo.collective_permute",
    "Sends blocks along pairs of devices; who gets nothing has zeros.",
    _paired,
    opaque,
    replace(_ONE, attrs={"source_target_pairs": "pairs", "channel_handle": "channel?"}),
    BLOCK,
    source_target_pairs=((0, 1), (1, 0)),
)
collective_broadcast = _exchange(
    "stablehlo.collective_broadcast",
    "Sends the block of the group's first device to all of it.",
    types.same,
    opaque,
    replace(_ONE, attrs=_GROUPS),
    BLOCK,
)
cross_replica_sum = define(
    OpDef(
        name="stablehlo.cross-replica-sum",
        doc="A sum over replicas, as old programs have it.",
        rule=opaque,
        example=of("stablehlo.cross-replica-sum", [BLOCK], BLOCK),
        traits=frozenset((Trait.KEPT,)),
    )
)
_NUMBER = Syntax(format="attr-dict `:` type(results)")
partition_id = define(
    OpDef(
        name="stablehlo.partition_id",
        doc="`stablehlo.partition_id : tensor<ui32>`: the number of the device among the partitions.",
        infer=_device_number,
        syntax=_NUMBER,
    )
)
replica_id = define(
    OpDef(
        name="stablehlo.replica_id",
        doc="`stablehlo.replica_id : tensor<ui32>`: the number of the device among the replicas.",
        infer=_device_number,
        syntax=_NUMBER,
    )
)
