"""What a collective of the global program may start from, where the text says how its operand is sharded.

%1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@pod, [{}, {}]>   // if %0 is stated, as [{"x"}, {}]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from shardc.analysis.manual import inside
from shardc.dialects.annotation_checks import check_axes, check_order
from shardc.dialects.arrays import is_array
from shardc.dialects.convert import python_attrs
from shardc.dialects.sdy_attributes import (
    AllToAllParamsAttr,
    AxesAttr,
    AxisListsAttr,
    ManualAxesAttr,
    ShardingAttr,
    ShardingPerValueAttr,
)
from shardc.dialects.sdy_refs import AllToAll, AxisRef
from shardc.dialects.shardings import PARTIAL, SHARDING, sharding_of
from shardc.layout import Axis, LayoutError, Mesh, Sharding
from shardc.layout.difference import exchanged, gained, lost, pieces, split, subtract
from shardc.ops import Trait, find, has, sdy
from shardc.ops.change_origins import origin, reduced_axes

Meshes = Mapping[str, Mesh]

_CHANGE_PARTIALS = (
    sdy.all_reduce.name,
    sdy.reduce_scatter.name,
    sdy.replicated_to_unreduced.name,
    sdy.sharded_to_unreduced.name,
)
"""The others leave partial results as they are, or are brought their operand without."""


def check_collective(op: Operation, meshes: Meshes) -> None:
    """Raise VerifyException if an operation is a collective that cannot start where its operand is."""
    definition = find(op.name)
    if definition is None or Trait.GLOBAL_COLLECTIVE not in definition.traits:
        return
    assert isinstance(op, IRDLOperation)
    given = op.properties["out_sharding"]
    assert isinstance(given, ShardingAttr)
    try:
        target = sharding_of(given, meshes, op.attributes.get(PARTIAL)).layout()
        _check_axes(op, target.mesh)
        attrs = {
            **python_attrs(op.properties, op.attributes, (), meshes, target.mesh),
            "out_sharding": target,
        }
        known = stated(op.operands[0], meshes)
        if known is not None and _is_exchange(op.name, attrs, known, target):
            return
        _check_moves(op)
        source = origin(op.name, attrs)
        if known is not None:
            _check_start(op.name, known, source or target, reduced_axes(op.name, attrs))
    except LayoutError as error:
        raise VerifyException(f"{op.name}: {error}") from None


def _check_axes(op: Operation, mesh: Mesh) -> None:
    for attr in op.properties.values():
        if isinstance(attr, AxesAttr):
            if not attr.data and op.name == sdy.replicated_to_unreduced.name:
                raise VerifyException(f"{op.name} names no axis")
            check_axes(attr.data, mesh)
            check_order("listed", attr.data, mesh)
        elif isinstance(attr, AxisListsAttr):
            _check_lists(op, attr.data, mesh)
        elif isinstance(attr, AllToAllParamsAttr):
            _check_lists(op, [axes for axes, _, _ in attr.data], mesh)


def _check_lists(op: Operation, lists: Sequence[Sequence[AxisRef]], mesh: Mesh) -> None:
    names = [axis for axes in lists for axis in axes]
    if len(set(names)) < len(names):
        raise VerifyException(f"{op.name} names an axis twice")
    for axes in lists:
        check_axes(axes, mesh)


def _is_exchange(name: str, attrs: Mapping[str, object], known: Sharding, target: Sharding) -> bool:
    """Whether an all_to_all lists all that moves between two shardings that are both stated.

    Between these, axes may take another order or come from and go to several dimensions, which Shardy's
    all_to_all cannot say: there the order of the axes and their list are one.
    """
    if name != sdy.all_to_all.name or known.mesh != target.mesh or known.rank != target.rank:
        return False
    gone, come = lost(known, target), gained(known, target)
    atoms = pieces(target.mesh, (*known.axes(), *target.axes()))
    left = [subtract(split(dim.axes, atoms), axes) for dim, axes in zip(known.dims, gone, strict=True)]
    kept = [subtract(split(dim.axes, atoms), axes) for dim, axes in zip(target.dims, come, strict=True)]
    sent, brought = (sorted(split((a for axes in lists for a in axes), atoms)) for lists in (gone, come))
    return left == kept and sent == brought != [] and exchanged(known, target) == attrs["params"]


def _check_moves(op: Operation) -> None:
    """Raise VerifyException for an all_to_all of which the attributes alone do not say what it changes."""
    for attr in op.properties.values():
        if isinstance(attr, AllToAllParamsAttr):
            _check_params(op, attr.data)


def _check_params(op: Operation, moves: Sequence[AllToAll]) -> None:
    if not moves or not all(axes for axes, _, _ in moves):
        raise VerifyException(f"{op.name} moves no axis")
    dims = [dim for _, source, target in moves for dim in (source, target)]
    if len(set(dims)) < len(dims):
        raise VerifyException(f"{op.name} names a dimension twice; these are two changes")
    if any(before[1] > after[1] for before, after in pairwise(moves)):
        raise VerifyException(f"{op.name} lists dimensions that axes leave out of order")


def _check_start(name: str, known: Sharding, source: Sharding, reduced: Sequence[Axis]) -> None:
    """Raise LayoutError unless the change can start from `known`, which is stated of its operand."""
    permutes = name == sdy.collective_permute.name
    if known.mesh.axes != source.mesh.axes or not (
        permutes or known.mesh.device_ids == source.mesh.device_ids
    ):
        raise LayoutError(f"its operand is on mesh {known.mesh.name}, its result on mesh {source.mesh.name}")
    held, needed = ([dim.axes for dim in sharding.dims] for sharding in (known, source))
    if permutes:
        held, needed = ([dim.parts for dim in sharding.dims] for sharding in (known, source))
    missing = subtract(source.unreduced, known.unreduced)
    wrong = subtract(known.unreduced, source.unreduced) or subtract(missing, reduced)
    if permutes and held != needed:
        raise LayoutError(f"the blocks of {known} are not those of {source} in other places")
    if held != needed or (wrong and name in _CHANGE_PARTIALS):
        raise LayoutError(f"its operand is {known}, and it changes {source}")
    for axis in reduced if name == sdy.all_reduce.name else ():
        if any(axis.overlaps(other) for other in known.replicated):
            raise LayoutError(f"its operand is said to be whole along {axis}, which it combines")


def stated(value: SSAValue, meshes: Meshes) -> Sharding | None:
    """How a text says that a value is sharded; None if it does not.

    What a loop carries is sharded as its results are, a block of per-device code as the operand is, without
    the axes that it is manual over.
    """
    owner = value.block.parent_op() if isinstance(value, BlockArgument) else None
    if owner is not None and has(owner.name, Trait.REGION):
        assert isinstance(value, BlockArgument)
        if owner.name != sdy.manual_computation.name:
            return stated(owner.results[value.index], meshes) if value.index < len(owner.results) else None
        shardings, manual = owner.properties["in_shardings"], owner.properties["manual_axes"]
        assert isinstance(shardings, ShardingPerValueAttr) and isinstance(manual, ManualAxesAttr)
        return inside(sharding_of(shardings.data[value.index], meshes), frozenset(manual.data))
    for attr, partial in _said(value):
        if attr is not None:
            return sharding_of(attr, meshes, partial)
    return None


def _said(value: SSAValue) -> Iterator[tuple[ShardingAttr | None, Attribute | None]]:
    if isinstance(value, BlockArgument):
        func = value.block.parent_op()
        attrs = func.arg_attrs if isinstance(func, FuncOp) else None
        entry = [*attrs][value.index] if is_array(attrs) else None
        if isinstance(entry, DictionaryAttr):
            attr = entry.data.get(SHARDING)
            yield attr if isinstance(attr, ShardingAttr) else None, entry.data.get(PARTIAL)
    elif isinstance(value, OpResult):
        op = value.op
        one = op.properties.get("out_sharding", op.properties.get("sharding"))
        yield one if isinstance(one, ShardingAttr) else None, op.attributes.get(PARTIAL)
        listed = op.attributes.get(SHARDING, op.properties.get("out_shardings"))
        if isinstance(listed, ShardingPerValueAttr) and len(listed.data) == len(op.results):
            partials = op.attributes.get(PARTIAL)
            partial = [*partials][value.index] if is_array(partials) else partials
            yield ShardingAttr(listed.data[value.index]), partial
