"""unmerge-dimensions: reshapes that merge sharded dimensions, and those that split them again -> neither.

    %0 = stablehlo.reshape %x : (tensor<8x8x64xf32>) -> tensor<64x64xf32>        // %x is [x, y, -]
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : …
    %2 = stablehlo.reshape %1 : (tensor<64x32xf32>) -> tensor<8x8x32xf32>

becomes

    %2 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : …

The rows of %x that a device holds are not one block of the rows of %0, so the reshape would exchange rows
between devices. The pass keeps the dimensions separate in every operation between the two reshapes. A reshape
whose result reaches an operation that needs merged dimensions stays. After a change, shardings are propagated
once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.build import IRBuilder
from shardc.dialects.shardings import SHARDING
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.forms.localize import replay
from shardc.graph import Dense, Graph, Node, Region, walk
from shardc.graph.program import own_attrs
from shardc.ops import hlo, op_of
from shardc.passes.graph_pass import GraphPass
from shardc.passes.propagate import Propagate
from shardc.rules.unmerge import DimGroups, Unmerged, flat, merged, single_groups, unmerge, unmerge_result


class UnmergeDimensions(GraphPass):
    """Keep dimensions separate in every region, up to a reshape that splits them or a reduction over them."""

    name = "unmerge-dimensions"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap, changed = shared.snapshot(), False
        for function in snap.graph.functions.values():
            for region in _regions(function.body):
                found = _find(snap.graph, region)
                if found.starts:
                    _rewrite(snap, IRBuilder(shared.module), region, found)
                    changed = True
        if changed:
            shared.drop()
            Propagate().rewrite(shared)
        return changed


def _regions(region: Region) -> Iterable[Region]:
    yield region
    for node in region.nodes:
        for inner in node.regions:
            yield from _regions(inner)


class _Found(Struct):
    """The reshapes that merge, what changes in the operations after them, and how values are taken apart."""

    starts: dict[int, DimGroups]
    changes: dict[int, Unmerged] = {}
    groups: dict[int, DimGroups] = {}
    remade: dict[tuple[int, int], Unmerged] = {}


def _find(graph: Graph, region: Region) -> _Found:
    """All merging reshapes of a region that need not be: those left after dropping what fails."""
    starts = {node.id: groups for node in region.nodes if (groups := _merges_split(graph, node))}
    while True:
        found = _follow(graph, region, starts)
        if isinstance(found, _Found):
            return found
        starts = {start: groups for start, groups in starts.items() if start not in found}


def _merges_split(graph: Graph, node: Node) -> DimGroups | None:
    """The groups of a reshape that merges a split dimension with one before it that is not fully split."""
    if node.name != hlo.reshape.name:
        return None
    (value,), (result,) = node.operands, node.results
    sharding = graph.values[value].sharding
    groups = merged(graph.type(value).shape, graph.type(result).shape)
    if sharding is None or groups is None:
        return None
    dims = iter(sharding.dims)
    for group in groups:
        parts = [next(dims).parts for _ in group]
        if any(n > 1 and parts[:i] != list(group[:i]) for i, n in enumerate(parts)):
            return groups
    return None


def _follow(graph: Graph, region: Region, starts: dict[int, DimGroups]) -> _Found | set[int]:
    """What the starts lead to, or those of them that lead to an operation that needs merged dimensions."""
    found, failed = _Found(starts), set[int]()
    made = {value: node for node in region.nodes for value in node.results}
    roots: dict[int, set[int]] = {}
    for node in region.nodes:
        inside = [value for inner in node.regions for n in walk(inner) for value in n.operands]
        touched = [value for value in (*node.operands, *inside) if value in found.groups]
        before = set[int]().union(*(roots[value] for value in touched))
        if node.id in starts:
            found.groups[node.results[0]], roots[node.results[0]] = starts[node.id], {node.id}
            failed |= before
        elif touched:
            free = found.groups.keys().isdisjoint(inside)
            change = _change(graph, node, found, made) if free else None
            if change is None:
                failed |= before
                continue
            found.changes[node.id] = change
            for result in node.results:
                if change.groups != single_groups(graph.type(result).shape):
                    found.groups[result], roots[result] = change.groups, before
    return failed or found


def _change(graph: Graph, node: Node, found: _Found, made: dict[int, Node]) -> Unmerged | None:
    """What changes in an operation, whose other operands may have to be made apart for it."""
    op = op_of(graph, node)
    groups = [found.groups.get(v, single_groups(graph.type(v).shape)) for v in node.operands]
    change = unmerge(op, groups)
    if change is not None or not node.results:
        return change
    (first, *others) = dict.fromkeys(found.groups[v] for v in node.operands if v in found.groups)
    for index, value in enumerate(node.operands):
        if (
            not others
            and value not in found.groups
            and graph.type(value).shape == graph.type(node.results[0]).shape
        ):
            again = _remake(graph, made.get(value), first)
            if again is None:
                return None
            found.remade[node.id, index] = again
            groups[index] = first
    return unmerge(op, groups)


def _remake(graph: Graph, node: Node | None, groups: DimGroups) -> Unmerged | None:
    """What changes in a constant or a broadcast whose result is to be taken apart."""
    if node is None:
        return None
    if node.name == hlo.constant.name:
        value = node.attrs["value"]
        assert isinstance(value, Dense)
        return Unmerged(groups, {"value": Dense(value.data, flat(groups))}) if value.is_splat else None
    return unmerge_result(op_of(graph, node), groups) if node.name == hlo.broadcast_in_dim.name else None


def _rewrite(snap: Snapshot, builder: IRBuilder, region: Region, found: _Found) -> None:
    made = {value: node for node in region.nodes for value in node.results}
    values: dict[int, SSAValue] = {}
    for node in region.nodes:
        if node.id in found.starts:
            values[node.results[0]] = snap.ops[node.id].operands[0]
        if node.id not in found.changes:
            continue
        builder.before(snap.ops[node.id])
        operands = [values.get(value, snap.ssa[value]) for value in node.operands]
        for index, value in enumerate(node.operands):
            again = found.remade.get((node.id, index))
            if again:
                source = made[value]
                operands[index] = _build(
                    snap, builder, source, again, [snap.ssa[v] for v in source.operands]
                )[0]
        built = _build(snap, builder, node, found.changes[node.id], operands)
        for value, result in zip(node.results, built, strict=True):
            if value in found.groups:
                values[value] = result
            else:
                _replace(snap, value, result)
    for node in reversed(region.nodes):
        if node.id in found.starts or node.id in found.changes:
            Rewriter.erase_op(snap.ops[node.id])


def _replace(snap: Snapshot, value: int, result: SSAValue) -> None:
    """Put a value in the place of one of the same type; where it is made, it gets that one's sharding."""
    old = snap.ssa[value]
    assert isinstance(old.owner, Operation)
    if isinstance(result.owner, Operation) and SHARDING in old.owner.attributes:
        result.owner.attributes.setdefault(SHARDING, old.owner.attributes[SHARDING])
    if result.name_hint is None:
        result.name_hint = old.name_hint
    old.replace_all_uses_with(result)
    snap.ssa[value] = result


def _build(
    snap: Snapshot, builder: IRBuilder, node: Node, change: Unmerged, operands: Sequence[SSAValue]
) -> list[SSAValue]:
    """The operation on tensors taken apart, with the place and the notes of the one before."""
    results = [snap.graph.type(value).with_shape(flat(change.groups)) for value in node.results]
    if node.name == hlo.reshape.name and builder.type_of(operands[0]) == results[0]:
        return [operands[0]]
    notes = {key: value for key, value in node.attrs.items() if key.startswith("shardc.")}
    regions = [replay(snap.graph, region) for region in node.regions]
    with builder.at(node.loc), builder.tagged(notes):
        return builder.op(
            node.name, *operands, results=results, regions=regions, **{**own_attrs(node), **change.attrs}
        )
