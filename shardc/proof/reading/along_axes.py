"""What StableHLO says with numbers of devices, as what it is along axes of the mesh, where it is that.

    %1 = stablehlo.partition_id, divided by 4 as i32             ->  spmd.axis_index over x
    %2 = stablehlo.dynamic_slice %w at %1 * 16, 16 of 64         ->  spmd.all_slice over x
    %3 = stablehlo.all_reduce %2 in groups [[0, 4], [1, 5], …]   ->  spmd.all_reduce over x

Numbers are computed for every device, and groups are compared with those along the axes. Then the sizes of
blocks, and of axes, can be reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from msgspec.structs import replace

from shardc.graph import Dense, Graph, Node, Region, walk
from shardc.layout import Axis, Mesh, size_of
from shardc.layout.groups import Numbers, axes_of_pairs, axes_of_positions, axes_of_rows
from shardc.ops import Trait, has, hlo, op_of, sdy, spmd
from shardc.proof.device_scalars import Known, on_devices, only_mesh


def along_axes(graph: Graph) -> Graph:
    """The program with such operations replaced, in place."""
    mesh = only_mesh(graph)
    if mesh is not None:
        for function in graph.functions.values():
            for node in walk(function.body):
                if node.name == sdy.manual_computation.name and set(_manual(node)) == set(mesh.sizes):
                    inside = node.regions[0]
                    for region in (inside, *(called.body for called in graph.called(inside))):
                        _region(graph, mesh, region, {})
    return graph


def _manual(node: Node) -> Sequence[str]:
    return cast("Sequence[str]", node.attrs["manual_axes"])


def _region(graph: Graph, mesh: Mesh, region: Region, around: Known) -> None:
    known = dict(around)
    for place, node in enumerate(region.nodes):
        if node.name == hlo.dynamic_slice.name:
            region.nodes[place] = _block(graph, mesh, node, known) or node
        elif node.name in _GROUPED and mesh.device_ids is None:
            region.nodes[place] = _GROUPED[node.name](graph, mesh, node) or node
        elif has(node.name, Trait.REGION):
            for inner in node.regions:
                _region(graph, mesh, inner, known)
        else:
            value = on_devices(graph, mesh, node, known)
            if value is not None:
                known[node.results[0]] = value
                region.nodes[place] = _position(graph, mesh, node, value) or node


def _position(graph: Graph, mesh: Mesh, node: Node, value: Numbers) -> Node | None:
    """The number as a position, if it is one."""
    if node.name == hlo.constant.name or graph.type(node.results[0]).dtype != "i32":
        return None
    axes = axes_of_positions(mesh, value.astype(np.int64))
    return _on(replace(node, operands=()), spmd.axis_index.name, axes)


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


def _rows(node: Node, key: str) -> Numbers:
    value = node.attrs[key]
    return np.array(value.array() if isinstance(value, Dense) else value, np.int64)


def _on(node: Node, name: str, axes: tuple[Axis, ...] | None, **attrs: object) -> Node | None:
    """One operation of per-device code in the place of another."""
    return replace(node, name=name, attrs={"axes": axes, **attrs}, regions=()) if axes else None


def _reduction(graph: Graph, mesh: Mesh, node: Node) -> Node | None:
    kind = op_of(graph, node).combiner
    if kind not in ("sum", "max", "min") or len(node.operands) != 1:
        return None
    rows = _rows(node, "replica_groups")
    if node.name == hlo.all_reduce.name:
        rows = np.sort(rows, axis=-1)
        return _on(node, spmd.all_reduce.name, axes_of_rows(mesh, rows), kind=kind)
    dim = node.attrs["scatter_dimension"]
    return _on(node, spmd.reduce_scatter.name, axes_of_rows(mesh, rows), dim=dim, kind=kind)


def _exchange(graph: Graph, mesh: Mesh, node: Node) -> Node | None:
    axes = axes_of_rows(mesh, _rows(node, "replica_groups")) if len(node.operands) == 1 else None
    if node.name == hlo.all_gather.name:
        return _on(node, spmd.all_gather.name, axes, dim=node.attrs["all_gather_dim"])
    split, concat = node.attrs["split_dimension"], node.attrs["concat_dimension"]
    return _on(node, spmd.all_to_all.name, axes, split_dim=split, concat_dim=concat)


def _permute(graph: Graph, mesh: Mesh, node: Node) -> Node | None:
    pairs = tuple((int(source), int(target)) for source, target in _rows(node, "source_target_pairs"))
    axes, sent = axes_of_pairs(mesh, pairs, tuple(mesh.sizes)) or (None, ())
    return _on(node, spmd.collective_permute.name, axes, pairs=sent)


_GROUPED: dict[str, Callable[[Graph, Mesh, Node], Node | None]] = {
    hlo.all_reduce.name: _reduction,
    hlo.reduce_scatter.name: _reduction,
    hlo.all_gather.name: _exchange,
    hlo.all_to_all.name: _exchange,
    hlo.collective_permute.name: _permute,
}
