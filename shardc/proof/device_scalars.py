"""Scalars of per-device code that follow from the device's number: where own blocks begin."""

from __future__ import annotations

from typing import cast

import numpy as np
from msgspec.structs import replace

from shardc.graph import Graph, Node, is_float
from shardc.graph.attrs import Dense
from shardc.layout import Axis, Mesh
from shardc.layout.groups import position_over
from shardc.ops import Trait, has, hlo, meaning, op_of, spmd
from shardc.semantics.arrays import Array

Known = dict[int, Array]
"""An array with an element for every position of the mesh, for every such scalar."""


def only_mesh(graph: Graph) -> Mesh | None:
    """The mesh of a program: the first, where others differ in their names alone, as JAX writes them."""
    found = {replace(mesh, name="") for mesh in graph.meshes.values()}
    return next(iter(graph.meshes.values())) if len(found) == 1 else None


def on_devices(graph: Graph, mesh: Mesh, node: Node, known: Known) -> Array | None:
    """What a scalar is on every device; None if it follows from more than the device's number."""
    types = graph.types(node.results)
    if len(types) != 1 or types[0].shape or is_float(types[0].dtype):
        return None
    if node.name == hlo.partition_id.name:
        return np.arange(mesh.size, dtype=np.uint32)
    if node.name == spmd.axis_index.name:
        axes = cast("tuple[Axis, ...]", node.attrs["axes"])
        return position_over(mesh, axes).astype(types[0].numpy)
    if node.name == hlo.constant.name:
        return np.full(mesh.size, cast(Dense, node.attrs["value"]).array())
    op, computes = op_of(graph, node), meaning(node.name)
    known_all = all(operand in known for operand in node.operands)
    if computes is None or not known_all or not has(node.name, Trait.ELEMENTWISE):
        return None
    wide = replace(
        op,
        operands=tuple(type.with_shape((mesh.size,)) for type in op.operands),
        results=tuple(type.with_shape((mesh.size,)) for type in op.results),
    )
    with np.errstate(all="ignore"):
        return computes(wide, [known[operand] for operand in node.operands])[0]
