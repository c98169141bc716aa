"""What a module defines beside its functions' insides: names that stand once, and meshes that can be."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr

from shardc.diagnostics import ShardcError
from shardc.dialects.locations import location_of
from shardc.dialects.nested import nested
from shardc.dialects.sdy import MeshOp
from shardc.dialects.shardings import mesh_of
from shardc.layout import LayoutError
from shardc.layout.mesh import IN_NAMES, NAME


def check_names(module: ModuleOp) -> None:
    """ShardcError at the second of two meshes or functions with one name."""
    first: dict[str, int] = {}
    for op in module.body.block.ops:
        name = op.properties.get("sym_name", op.attributes.get("sym_name"))
        if isinstance(name, StringAttr):
            loc = location_of(op.location)
            if name.data in first:
                where = f"the first one is in line {first[name.data]}"
                raise ShardcError(f"there are two things called @{name.data}", loc, where)
            first[name.data] = loc.line


_TOP = "meshes stand in the module, beside its functions"


def check_meshes(module: ModuleOp) -> None:
    """ShardcError for a mesh that stands in a function, or that cannot be."""
    for op in nested([module]):
        if not isinstance(op, MeshOp):
            continue
        if op.parent_op() is not module:
            raise ShardcError(f"mesh {op.sym_name.data} stands in a function", location_of(op.location), _TOP)
        if not NAME.fullmatch(op.sym_name.data):
            message = f"{op.sym_name.data!a} is no name for a mesh"
            raise ShardcError(message, location_of(op.location), IN_NAMES)
        try:
            mesh_of(op.sym_name.data, op.mesh.data)
        except LayoutError as error:
            raise ShardcError(str(error), location_of(op.location)) from None
