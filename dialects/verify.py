"""Checks that an operation's operands, attributes and results fit, by its definition in ops/.

Equal operations are checked once: the answer is remembered by name, types and properties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from shardc.dialects.convert import python_attrs
from shardc.dialects.sdy_attributes import ManualAxesAttr, MeshAttr, ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import ShardingRef
from shardc.dialects.shardings import Meshes, mesh_of, sharding_of
from shardc.dialects.types import type_of
from shardc.graph.types import TensorType
from shardc.layout import LayoutError, Mesh, Sharding
from shardc.ops import ShapeError, hlo, infer, infers, sdy

Types = tuple[Attribute, ...]
Named = tuple[tuple[str, Attribute], ...]


_UNCACHED = (hlo.constant.name, sdy.constant.name)
"""Their values may be large, and a cache would keep them alive."""


_GROUPS = "replica_groups"
"""May be those of a mesh."""


def verify_types(op: IRDLOperation) -> None:
    """Raise VerifyException, with the text of ops/, unless the operation fits together."""
    if not infers(op.name):
        return
    names_mesh = op.name.startswith(("sdy.", "spmd.")) or _GROUPS in op.properties
    check = _check.__wrapped__ if op.name in _UNCACHED else _check
    try:
        check(
            op.name,
            tuple(op.operand_types),
            tuple(op.result_types),
            tuple(op.properties.items()),
            own_attributes(op),
            _region_results(op),
            tuple(meshes_of(op).values()) if names_mesh else (),
            enclosing_mesh(op) if names_mesh else None,
        )
    except (ShapeError, LayoutError) as error:
        raise VerifyException(str(error)) from None


@lru_cache(maxsize=1 << 14)
def _check(
    name: str,
    operands: Types,
    results: Types,
    properties: Named,
    attributes: Named,
    regions: tuple[Types, ...],
    meshes: tuple[Mesh, ...],
    mesh: Mesh | None,
) -> None:
    named = {mesh.name: mesh for mesh in meshes}
    own = frozenset(key for key, _ in attributes)
    attrs = python_attrs(dict(properties), dict(attributes), own, named, mesh)
    infer(
        name,
        tuple(map(type_of, operands)),
        attrs,
        results=tuple(map(type_of, results)),
        region_results=[tuple(map(type_of, types)) for types in regions],
    )


def verify_blocks(op: Operation, manual: frozenset[str]) -> None:
    """Raise VerifyException unless the body of a manual computation has the local blocks of its shardings.

    Only the `manual` axes split what the body sees; the other axes of a sharding are left to the compiler.
    """
    block = op.regions[0].block
    returned = block.last_op.operand_types if block.last_op is not None else ()
    meshes = meshes_of(op)
    seen = set[tuple[int, ...]]()  # most arguments are of a few kinds, which share parts
    _check_mesh({id(ref): ref for ref in sharding_refs(op)}.values(), meshes, manual)
    for what, types, locals_, attr in (
        ("operand", op.operand_types, block.arg_types, op.properties["in_shardings"]),
        ("result", op.result_types, returned, op.properties["out_shardings"]),
    ):
        refs = attr.data if isinstance(attr, ShardingPerValueAttr) else ()
        if len(types) != len(locals_):
            raise VerifyException(f"{op.name} has {len(types)} {what}s, but its body has {len(locals_)}")
        for index, (type, local, ref) in enumerate(zip(types, locals_, refs, strict=True)):
            if (look := (id(type), id(local), id(ref))) in seen:
                continue
            seen.add(look)
            _check_manual_first(sharding_of(ref, meshes), manual)
            expected = _block_type(type_of(type), sharding_of(ref, meshes), manual)
            if type_of(local) != expected:
                raise VerifyException(
                    f"the block of {what} {index} is {expected}, not {type_of(local)}: that is the part of "
                    f"{type_of(type)} sharded as {sharding_of(ref, meshes)} that a device has"
                )


def uneven_block(op: Operation) -> str:
    """The first tensor of which per-device code would have blocks of two sizes, and why; nothing if none.

    shardc writes such code, which masks what is beyond the end; Shardy and JAX have none.
    """
    meshes, axes = meshes_of(op), op.properties.get("manual_axes")
    manual = axes.data if isinstance(axes, ManualAxesAttr) else ()
    sides = (("in_shardings", op.operand_types), ("out_shardings", op.result_types))
    for key, types in sides:
        attr = op.properties[key]
        for ref, type in zip(attr.data if isinstance(attr, ShardingPerValueAttr) else (), types, strict=True):
            sharding, tensor = sharding_of(ref, meshes), type_of(type)
            dims = [[axis for axis in dim.axes if axis.name in manual] for dim in sharding.dims]
            for dim in sharding.with_dims(dims).uneven(tensor.shape):
                return f"dimension {dim} of {tensor} is not divided by the manual axes of {sharding}"
    return ""


def verify_flow(op: Operation) -> None:
    """Raise VerifyException unless what enters a body and leaves it has the operation's types."""
    block = op.regions[0].block
    returned = block.last_op.operand_types if block.last_op is not None else ()
    for what, types, inner in (
        ("operands", op.operand_types, block.arg_types),
        ("results", op.result_types, returned),
    ):
        if (*types,) != (*inner,):
            texts = [", ".join(map(str, side)) or "none" for side in (types, inner)]
            raise VerifyException(f"the {what} of {op.name} are {texts[0]}, those of its body {texts[1]}")


def _check_mesh(refs: Iterable[ShardingRef], meshes: Mapping[str, Mesh], manual: frozenset[str]) -> None:
    """All shardings of per-device code are of one mesh, which has the manual axes.

    A sharding on a mesh of no axes says no mesh, and code without operands and results has none to say.
    """
    every = list(dict.fromkeys(sharding_of(ref, meshes).mesh for ref in refs))
    used = [mesh for mesh in every if mesh.axes or mesh.device_ids] or every
    if len({(mesh.axes, mesh.device_ids) for mesh in used}) > 1:
        raise VerifyException(f"per-device code is of mesh {used[0].name} and of mesh {used[1].name}")
    for axis in sorted(manual if used else ()):
        used[0].axis(axis)


def _check_manual_first(sharding: Sharding, manual: frozenset[str]) -> None:
    """Blocks over the manual axes are cut first, so that each of them is one piece."""
    for number, dim in enumerate(sharding.dims):
        for before, axis in pairwise(dim.axes):
            if axis.name in manual and before.name not in manual:
                raise VerifyException(
                    f"in dimension {number} of {sharding}, {axis.name}, which is manual, stands behind "
                    f"{before.name}, which is left to the compiler; manual axes come first"
                )


def _block_type(type: TensorType, sharding: Sharding, manual: frozenset[str]) -> TensorType:
    _check_rank(type, sharding)
    dims = [[axis for axis in dim.axes if axis.name in manual] for dim in sharding.dims]
    return type.with_shape(sharding.with_dims(dims).local_shape(type.shape))


def _check_rank(type: TensorType, sharding: Sharding) -> None:
    if sharding.rank != type.rank:
        raise VerifyException(f"a sharding of {sharding.rank} dimensions, {sharding}, is given to {type}")


def own_attributes(op: IRDLOperation) -> Named:
    """The attributes (no properties) that the operation's definition names."""
    declared = op.get_irdl_definition().attributes
    return tuple((key, attr) for key, attr in op.attributes.items() if key in declared)


def _region_results(op: Operation) -> tuple[Types, ...]:
    """Per region, the types that its terminator returns."""
    types: list[Types] = []
    for region in op.regions:
        last = region.blocks[-1].last_op if region.blocks else None
        types.append(tuple(last.operand_types) if last is not None else ())
    return tuple(types)


def meshes_of(op: Operation) -> dict[str, Mesh]:
    """The meshes of the module that the operation is in, by name."""
    module = op
    while (parent := module.parent_op()) is not None:
        module = parent
    return module_meshes(module) if isinstance(module, ModuleOp) else {}


def module_meshes(module: ModuleOp) -> dict[str, Mesh]:
    """The meshes that a module defines, by name; LayoutError if one cannot be."""
    meshes: dict[str, Mesh] = {}
    for op in module.body.block.ops:
        if op.name == sdy.mesh.name:
            name, attr = op.properties["sym_name"], op.properties["mesh"]
            processes = op.attributes.get("shardc.processes")
            if isinstance(attr, MeshAttr):
                meshes[_text(name)] = mesh_of(_text(name), attr.data, _number(processes))
    return meshes


def _text(attr: Attribute) -> str:
    return attr.data if isinstance(attr, StringAttr) else str(attr)


def _number(attr: Attribute | None) -> int:
    return attr.value.data if isinstance(attr, IntegerAttr) else 1


def enclosing_mesh(op: Operation) -> Mesh | None:
    """The mesh that bare axis names in `op` belong to.

    That of its own sharding, else of the manual computation around it, else the module's only one.
    """
    meshes = meshes_of(op)
    current: Operation | None = op
    while current is not None:
        mesh = own_mesh(current, meshes)
        if mesh is not None:
            return mesh
        current = current.parent_op()
    return next(iter(meshes.values())) if len(meshes) == 1 else None


def own_mesh(op: Operation, meshes: Meshes) -> Mesh | None:
    """The mesh that the properties of an operation name; one with axes, where `<[]>` stands beside it."""
    first: Mesh | None = None
    for ref in sharding_refs(op):
        mesh = sharding_of(ref, meshes).mesh
        if mesh.axes:
            return mesh
        first = first or mesh
    return first


def sharding_refs(op: Operation) -> list[ShardingRef]:
    """The shardings among an operation's properties."""
    refs: list[ShardingRef] = []
    for attr in op.properties.values():
        if type(attr) is ShardingAttr:  # isinstance takes ten times as long
            refs.append(attr.data)
        elif type(attr) is ShardingPerValueAttr:
            refs += attr.data
    return refs
