"""Dynamic slices at a place that follows from the device's number alone, as what they are: own blocks.

    start = lax.axis_index("x") * 16
    lax.dynamic_slice_in_dim(w, start, 16)        ->        spmd.all_slice over x

Where a slice begins is computed for every device; it is an own block where that is the device's position over
some axes times the block, and all blocks together are the dimension. Sizes of own blocks can be reduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from shardc.graph import Graph, Node, Region, walk
from shardc.layout import Axis, Mesh, size_of
from shardc.layout.groups import Numbers, axes_of_positions
from shardc.ops import Trait, has, hlo, sdy, spmd
from shardc.proof.device_scalars import Known, on_devices


def own_blocks(graph: Graph) -> Graph:
    """The program with such slices replaced, in place."""
    if len(graph.meshes) == 1:
        (mesh,) = graph.meshes.values()
        for function in graph.functions.values():
            for node in walk(function.body):
                if node.name == sdy.manual_computation.name and set(_manual(node)) == set(mesh.sizes):
                    _region(graph, mesh, node.regions[0], {})
    return graph


def _manual(node: Node) -> Sequence[str]:
    return cast("Sequence[str]", node.attrs["manual_axes"])


def _region(graph: Graph, mesh: Mesh, region: Region, around: Known) -> None:
    known = dict(around)
    for place, node in enumerate(region.nodes):
        if node.name == hlo.dynamic_slice.name:
            region.nodes[place] = _block(graph, mesh, node, known) or node
            continue
        if has(node.name, Trait.REGION):
            for inner in node.regions:
                _region(graph, mesh, inner, known)
            continue
        value = on_devices(graph, mesh, node, known)
        if value is not None:
            known[node.results[0]] = value


def _block(graph: Graph, mesh: Mesh, node: Node, known: Known) -> Node | None:
    """The slice as an own block, if it is one along one dimension and whole along all others."""
    operand, *starts = node.operands
    shape, sizes = graph.type(operand).shape, graph.type(node.results[0]).shape
    cut = [dim for dim, (whole, part) in enumerate(zip(shape, sizes, strict=True)) if whole != part]
    if len(cut) != 1 or starts[cut[0]] not in known:
        return None
    (dim,) = cut
    first = np.clip(known[starts[dim]].astype(np.int64), 0, shape[dim] - sizes[dim])
    axes = _axes(mesh, first, shape[dim], sizes[dim])
    if axes is None:
        return None
    return replace(node, name=spmd.all_slice.name, operands=(operand,), attrs={"axes": axes, "dim": dim})


def _axes(mesh: Mesh, first: Numbers, whole: int, part: int) -> tuple[Axis, ...] | None:
    if part == 0 or (first % part).any():
        return None
    axes = axes_of_positions(mesh, first // part)
    return axes if axes is not None and size_of(axes) * part == whole else None
