"""What per-device code may say of shardings: nothing of the axes that it is per device of.

sdy.manual_computation(…) manual_axes={"x"} (%b: tensor<4xf32>) {
  %1 = sdy.all_reduce {"x"} %b …        // wrong: a device has one block along x, and no other's
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from shardc.dialects.sdy_attributes import (
    AllToAllParamsAttr,
    AxesAttr,
    AxisListsAttr,
    ManualAxesAttr,
    ShardingAttr,
    ShardingPerValueAttr,
)
from shardc.dialects.sdy_refs import ShardingRef
from shardc.dialects.shardings import SHARDING
from shardc.ops import sdy

_PREFIX = sdy.mesh.dialect + "."


def check_manual(op: Operation) -> None:
    """Raise VerifyException if an operation shards or communicates over an axis manual around it."""
    if not (op.name.startswith(_PREFIX) or SHARDING in op.attributes):
        return
    around = _manual_around(op)
    named = around.intersection(_named(op)) if around else None
    if named:
        name = min(named)
        raise VerifyException(
            f'{op.name} names axis "{name}", which is manual here: this code is of one device along {name}'
        )


def _manual_around(op: Operation) -> frozenset[str]:
    """The axes that the manual computations around an operation are manual over."""
    names: frozenset[str] = frozenset()
    parent = op.parent_op()
    while parent is not None:
        if parent.name == sdy.manual_computation.name:
            attr = parent.properties.get("manual_axes")
            names |= frozenset(attr.data) if isinstance(attr, ManualAxesAttr) else frozenset()
        parent = parent.parent_op()
    return names


def _named(op: Operation) -> Iterator[str]:
    """The axes that the attributes of an operation split or reduce by."""
    for attr in (*op.properties.values(), op.attributes.get(SHARDING)):
        if isinstance(attr, ShardingAttr):
            yield from _in_sharding(attr.data)
        elif isinstance(attr, ShardingPerValueAttr):
            for ref in attr.data:
                yield from _in_sharding(ref)
        elif isinstance(attr, ManualAxesAttr):
            yield from attr.data
        elif isinstance(attr, AxesAttr):
            yield from (axis.name for axis in attr.data)
        elif isinstance(attr, AxisListsAttr):
            yield from (axis.name for axes in attr.data for axis in axes)
        elif isinstance(attr, AllToAllParamsAttr):
            yield from (axis.name for axes, _, _ in attr.data for axis in axes)


def _in_sharding(ref: ShardingRef) -> Iterator[str]:
    yield from (axis.name for dim in ref.dims for axis in dim.axes)
    yield from (axis.name for axis in ref.unreduced)
