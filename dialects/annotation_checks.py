"""What a text may say of shardings: each is of a value that there is, and nothing has two spellings.

These are the rules of Shardy's verifier. Without them an attribute of another kind would be dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from xdsl.dialects.builtin import DictionaryAttr, LocationAttr, NoneAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from shardc.diagnostics import ShardcError
from shardc.dialects.arrays import is_array
from shardc.dialects.locations import location_of
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr, ShardingRuleAttr
from shardc.dialects.sdy_refs import AxisRef, MeshRef, ShardingRef
from shardc.dialects.shardings import SHARDING, axis_of, sharding_of
from shardc.dialects.types import is_dynamic, type_of
from shardc.layout import LayoutError, Mesh
from shardc.ops import sdy

Types = Sequence[Attribute]
Meshes = Mapping[str, Mesh]
Stated = tuple[Attribute, ShardingRef, LocationAttr]
"""The type of a value, its sharding, and where that stands."""

_RULE = "sdy.sharding_rule"
_DIALECT = sdy.mesh.dialect + "."


def check_annotations(op: Operation, meshes: Meshes) -> None:
    """Raise for the first sharding of an operation that Shardy would refuse.

    VerifyException where an attribute is of another kind, ShardcError where it is a sharding that cannot be.
    """
    for type, ref, place in _stated(op):
        try:
            _check(type, ref, _mesh_of(ref, meshes))
        except (VerifyException, LayoutError) as error:
            raise ShardcError(str(error), location_of(place)) from None


def _stated(op: Operation) -> Iterator[Stated]:
    """The shardings on an operation."""
    if isinstance(op, FuncOp):
        if SHARDING in op.attributes:
            raise VerifyException(f"a function has no {SHARDING}; its arguments and results have")
        inputs, outputs = op.function_type.inputs.data, op.function_type.outputs.data
        places = [arg.location for block in op.body.blocks for arg in block.args] or [op.location] * len(
            inputs
        )
        yield from _of_side("argument", op.arg_attrs, inputs, places)
        yield from _of_side("result", op.res_attrs, outputs, [op.location] * len(outputs))
        return
    attr = op.attributes.get(SHARDING)
    if attr is not None:
        yield from _per_value(op, SHARDING, attr, op.result_types)
    if not isinstance(op.attributes.get(_RULE, None), ShardingRuleAttr | None):
        raise VerifyException(f"{_RULE} is a #sdy.op_sharding_rule<…>, not {op.attributes[_RULE]}")
    if op.name.startswith(_DIALECT):
        for key, types in (("in_shardings", op.operand_types), ("out_shardings", op.result_types)):
            if key in op.properties:
                yield from _per_value(op, key, op.properties[key], types)
        for key in ("sharding", "out_sharding"):
            one = op.properties.get(key)
            if isinstance(one, ShardingAttr):
                yield op.result_types[0], one.data, op.location


def _of_side(side: str, attrs: object, types: Types, places: Sequence[LocationAttr]) -> Iterator[Stated]:
    if not is_array(attrs):
        return
    for number, (entry, type, place) in enumerate(zip(attrs, types, places, strict=True)):
        attr = entry.data.get(SHARDING) if isinstance(entry, DictionaryAttr) else None
        if attr is None:
            continue
        if not isinstance(attr, ShardingAttr):
            raise VerifyException(f"the {SHARDING} of {side} {number} is a #sdy.sharding<…>, not {attr}")
        yield type, attr.data, place


def _per_value(op: Operation, key: str, attr: Attribute, types: Types) -> Iterator[Stated]:
    if not isinstance(attr, ShardingPerValueAttr):
        raise VerifyException(
            f"{key} of an operation is a #sdy.sharding_per_value<[<…>]>, one for each result, not {attr}"
        )
    if not types and len(attr.data) == 1:
        types = (NoneAttr(),)  # so JAX marks an effect
    if len(attr.data) != len(types):
        raise VerifyException(f"{key} has {len(attr.data)} shardings for {len(types)} values")
    for type, ref in zip(types, attr.data, strict=True):
        yield type, ref, op.location


def _mesh_of(ref: ShardingRef, meshes: Meshes) -> Mesh:
    return sharding_of(ShardingRef(ref.mesh, ()), meshes).mesh


@lru_cache(maxsize=1 << 14)
def _check(type: Attribute, ref: ShardingRef, mesh: Mesh) -> None:
    """Raise VerifyException or LayoutError unless a value of that type can be sharded so."""
    plain = not (ref.dims or ref.replicated or ref.unreduced)
    rank = _rank(type)
    if rank is None:
        if not plain:
            raise VerifyException(f"the sharding {ref} has dimensions or axes, and {type} has none")
        return
    if mesh.is_maximal:
        if not plain:
            raise VerifyException(
                f"mesh @{ref.mesh} is one device; a sharding on it is <@{ref.mesh}, []>, not {ref}"
            )
        return
    if len(ref.dims) != rank:
        sharding = sharding_of(ref, {} if isinstance(ref.mesh, MeshRef) else {ref.mesh: mesh})
        raise VerifyException(
            f"a sharding of {sharding.rank} dimensions, {sharding}, is given to {_title(type)}"
        )
    for axes in (*(dim.axes for dim in ref.dims), ref.replicated, ref.unreduced):
        check_axes(axes, mesh)
    for word, axes in (("replicated", ref.replicated), ("unreduced", ref.unreduced)):
        check_order(word, axes, mesh)
    sharding_of(ref, {} if isinstance(ref.mesh, MeshRef) else {ref.mesh: mesh})


def _rank(type: Attribute) -> int | None:
    return type.get_num_dims() if isinstance(type, TensorType) else None


def _title(type: Attribute) -> str:
    return str(type if is_dynamic(type) else type_of(type))


def check_axes(axes: Sequence[AxisRef], mesh: Mesh) -> None:
    """Raise VerifyException for a part of an axis that has another name, LayoutError for one that is none."""
    for ref in axes:
        full = mesh.axis(ref.name)
        if ref.size is None:
            continue
        if ref.pre < 1 or ref.size < 1 or full.size % (ref.pre * ref.size):
            raise LayoutError(f"{ref} is not a part of axis {full.name} of size {full.size}")
        if ref.size == 1:
            raise VerifyException(f"{ref} has one position; parts of axes have at least two")
        if ref.size == full.size:
            raise VerifyException(f'{ref} is all of the axis; it is written "{ref.name}"')
    for before, ref in pairwise(axes):
        first, second = axis_of(before, mesh), axis_of(ref, mesh)
        if before.size is not None and first.name == second.name and first.end == second.pre:
            raise VerifyException(f"{before} and {ref}, one after the other, are written as one part")


def check_order(word: str, axes: Sequence[AxisRef], mesh: Mesh) -> None:
    """Raise VerifyException unless axes without an order of their own stand in that of the mesh."""
    places = [mesh.order(axis_of(axis, mesh)) for axis in axes]
    if places != sorted(places):
        raise VerifyException(f"the {word} axes are not in the order of the mesh")
