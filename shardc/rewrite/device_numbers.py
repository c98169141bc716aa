"""What per-device code computes from the device's number, as positions along axes of the mesh.

    %1 = stablehlo.partition_id
    %2 = stablehlo.divide %1, 4
    %3 = stablehlo.remainder %2, 2
    %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i32>

becomes, on a mesh x=2, y=4,

    %4 = "spmd.axis_index"() {axes = ["x"]}

The numbers are computed for every position of the mesh, so any arithmetic that comes to a position is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.check.numbers import ARITHMETIC
from shardc.diagnostics import ShardcError
from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.sdy import ManualComputationOp
from shardc.dialects.sdy_attributes import ShardingPerValueAttr
from shardc.dialects.snapshot import Snapshot
from shardc.dialects.stablehlo.attributes import Channel
from shardc.forms.site import INDEX, scalar
from shardc.graph import Dense, Node, Region, is_integer
from shardc.layout import Mesh
from shardc.layout.groups import Numbers, axes_of_positions
from shardc.ops import Trait, has, hlo, sdy, spmd

NUMBER = hlo.partition_id.name
_LIMIT = 2**31
_OF_EITHER = (hlo.all_gather.name, hlo.all_reduce.name, hlo.reduce_scatter.name)
"""Collectives between replicas or devices, as their attributes say."""


def device_numbers(node: Node, key: str) -> Numbers:
    """The numbers of devices in an attribute of a collective, or in the options of a custom call."""
    value = _options(node)[key] if node.name == hlo.custom_call.name else node.attrs[key]
    return np.array(value.array() if isinstance(value, Dense) else value, np.int64)


def has_groups(node: Node) -> bool:
    """Whether the options of a custom call have groups of devices, all of one size."""
    try:
        return device_numbers(node, "replica_groups").ndim == 2
    except (KeyError, TypeError, ValueError):
        return False


def _options(node: Node) -> dict[str, object]:
    options = node.attrs.get("backend_config")
    return dict(cast("tuple[tuple[str, object], ...]", options)) if isinstance(options, tuple) else {}


def is_of_partitions_of_replicas(node: Node) -> bool:
    """Whether its groups are of replicas, each with all devices: a channel, and not use_global_device_ids."""
    return node.name in _OF_EITHER and _has_channel(node) and not node.attrs.get("use_global_device_ids")


def is_of_the_only_replica(node: Node, numbers: Numbers) -> bool:
    """Whether it is between replicas and names the one there is. Other numbers can be of devices only."""
    return not _has_channel(node) and not numbers.any() and len(numbers) == 1


def _has_channel(node: Node) -> bool:
    channel = node.attrs.get("channel_handle")
    return isinstance(channel, Channel) and channel.handle > 0


def name_positions(
    snap: Snapshot, builder: IRBuilder, node: Node, mesh: Mesh, manual: tuple[str, ...]
) -> None:
    """Replace what the body of a manual computation makes of the device's number; drop the arithmetic.

    `manual` names the axes that the body is written for. ShardcError where it asks for the position along
    another axis.
    """
    found = _Found(snap, mesh)
    for inner in _own(node.regions[0]):
        found.compute(inner)
    for value, made_by in reversed(found.derived.items()):
        if not snap.ssa[value].uses or _named(snap, builder, value, made_by, found, manual):
            Rewriter.erase_op(snap.ops[made_by.id])
    for op in found.constants:
        if not op.results[0].uses:
            Rewriter.erase_op(op)


class _Found:
    """Scalars whose value on every device is known, and those that follow from the device's number."""

    def __init__(self, snap: Snapshot, mesh: Mesh) -> None:
        self.snap, self.mesh = snap, mesh
        self.numbers: dict[int, Numbers] = {}
        self.derived: dict[int, Node] = {}
        self.constants: list[Operation] = []

    def compute(self, node: Node) -> None:
        """Find out what a node computes, if it computes such numbers."""
        if node.name == NUMBER:
            self.numbers[node.results[0]] = self.mesh.devices.reshape(-1)
            self.derived[node.results[0]] = node
        elif node.name == hlo.constant.name and self._is_index(node):
            value = cast(Dense, node.attrs["value"])
            self.numbers[node.results[0]] = np.full(self.mesh.size, int(value.array()), np.int64)
            self.constants.append(self.snap.ops[node.id])
        elif node.name in ARITHMETIC and self._is_index(node):
            known = [self.numbers[v] for v in node.operands if v in self.numbers]
            if len(known) == len(node.operands) and any(v in self.derived for v in node.operands):
                self._arithmetic(node, known)

    def _arithmetic(self, node: Node, known: list[Numbers]) -> None:
        with np.errstate(divide="ignore"):
            numbers = ARITHMETIC[node.name](*known)
        if 0 <= numbers.min() and numbers.max() < _LIMIT:
            self.numbers[node.results[0]] = numbers
            self.derived[node.results[0]] = node

    def _is_index(self, node: Node) -> bool:
        type = self.snap.graph.type(node.results[0])
        return not type.rank and is_integer(type.dtype)


def _named(
    snap: Snapshot, builder: IRBuilder, value: int, made_by: Node, found: _Found, manual: tuple[str, ...]
) -> bool:
    """Put the position along axes in the place of a value; False if it is none, as x + y is."""
    axes = axes_of_positions(found.mesh, found.numbers[value])
    if axes is None:
        return False
    for axis in axes:
        if axis.name not in manual:
            raise ShardcError(
                f"the device's position along {axis.name}, which this code is not written per device of",
                made_by.loc,
                f"it is written over {', '.join(manual)}",
            )
    builder.before(snap.ops[made_by.id])
    with builder.at(snap.graph.values[value].loc):
        made = builder.one(spmd.axis_index.name, axes=axes) if axes else scalar(builder, 0, INDEX)
        type = snap.graph.type(value)
        if type != INDEX:
            made = builder.one(hlo.convert.name, made, result=type)
    snap.ssa[value].replace_all_uses_with(made)
    return True


def _own(region: Region) -> Iterator[Node]:
    """The nodes of a region and of the regions in it, but not of manual computations."""
    for node in region.nodes:
        yield node
        if node.name != sdy.manual_computation.name:
            for inner in node.regions:
                yield from _own(inner)


def open_number(op: Operation) -> None:
    """Put the body of per-device code in its place, if it takes nothing and does nothing over its own axes.

    So JAX prints axis_index where some axes are not manual: manual over these too, to have the number.
    """
    assert isinstance(op, ManualComputationOp) and isinstance(op.out_shardings, ShardingPerValueAttr)
    own = set(op.manual_axes.data)
    split = any(dim.axes for ref in op.out_shardings.data for dim in ref.dims)
    if op.operands or split or any(_over(inner) & own for inner in op.body.walk()):
        return
    block, end = op.body.block, op.body.block.last_op
    assert end is not None
    Rewriter.inline_block(block, InsertPoint.before(op))
    results = list(end.operands)
    Rewriter.erase_op(end)
    Rewriter.replace_op(op, [], results)


def _over(op: Operation) -> set[str]:
    """The axes that an operation communicates along, or asks for the position along."""
    axes = op.attributes.get("axes")
    if axes is None or not has(op.name, Trait.ALONG_AXES):
        return set()
    return {text.partition(":")[0] for text in cast("tuple[str, ...]", python_of(axes))}
