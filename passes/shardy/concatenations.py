"""Concatenations whose tensors are sharded differently: Shardy reshards them to what all agree on.

    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 {… [{"a"}, {"b"}]}      (%arg0: [{"a"}, {}])
->  %0 = sdy.reshard %arg0 <@m, [{}, {"b", "a"}]>
    %1 = sdy.reshard %arg1 <@m, [{}, {"b", "a"}]>
    %2 = stablehlo.concatenate %0, %1, dim = 0 {… [{}, {"b", "a"}]}
    %3 = sdy.reshard %2 <@m, [{"a"}, {"b"}]>
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardc.dialects.convert import python_of
from shardc.dialects.makers import made_by
from shardc.dialects.sdy_attributes import ShardingAttr
from shardc.dialects.shardings import SHARDING, per_value, sharding_of
from shardc.dialects.types import type_of
from shardc.dialects.verify import module_meshes
from shardc.layout import Axis, Sharding, replicated
from shardc.layout.axes import cut
from shardc.ops import hlo
from shardc.passes.shardy.reshards import reshard_operand, reshard_result
from shardc.passes.shardy.values import ref_of_value
from shardc.propagation.lists import extends, starts

Axes = tuple[Axis, ...]


def reshard_concatenations(module: ModuleOp) -> None:
    """Reshard the operands and results of concatenations."""
    meshes = module_meshes(module)
    for op in [op for op in module.walk() if op.name == hlo.concatenate.name]:
        values = (*op.operands, *op.results)
        refs = [ref_of_value(value) for value in values]
        given = [None if ref is None else sharding_of(ShardingAttr(ref), meshes) for ref in refs]
        known = [sharding for sharding in given if sharding is not None and not sharding.mesh.is_maximal]
        if not known or any(sharding.mesh != known[0].mesh for sharding in known):
            continue
        types = [type_of(value.type) for value in values]
        mesh = known[0].mesh
        shardings = [s or replicated(mesh, type.rank) for s, type in zip(given, types, strict=True)]
        joined = cast(int, python_of(op.properties["dimension"]))
        whole = not all(made_by(operand, hlo.slice_.name) for operand in op.operands)
        common = _common([t.shape for t in types], shardings, joined, whole)
        if common is not None:
            _reshard(op, shardings, replicated(mesh, types[-1].rank).with_dims(common))


def _common(
    shapes: Sequence[Sequence[int]], shardings: Sequence[Sharding], joined: int, whole: bool
) -> list[Axes] | None:
    """The axes that all tensors are to have for each dimension; None if nothing has to change."""
    lists = [[dim.axes for dim in sharding.dims] for sharding in shardings]
    if all(axes == lists[0] for axes in lists):
        return None
    sizes = shapes[-1]
    places = {name: place for place, (name, _) in enumerate(shardings[0].mesh.axes)}
    chosen = _choose([prod(shape) for shape in shapes], lists, joined, places)
    if whole:
        dropped, chosen[joined] = chosen[joined], ()
        _use_elsewhere(dropped, sizes, chosen, joined)
    return chosen


def _use_elsewhere(axes: Axes, sizes: Sequence[int], chosen: list[Axes], joined: int) -> None:
    """Give axes to the first other dimension that they divide, up to one that none has room for."""
    for axis in axes:
        room = (
            dim
            for dim, size in enumerate(sizes)
            if dim != joined and size % (axis.size * prod(a.size for a in chosen[dim])) == 0
        )
        dim = next(room, None)
        if dim is None:
            return
        chosen[dim] += (axis,)


class _Candidate(Struct, frozen=True):
    dim: int
    axes: Axes


def _choose(
    weights: Sequence[int], lists: Sequence[Sequence[Axes]], joined: int, places: Mapping[str, int]
) -> list[Axes]:
    """Greedily what most elements have already, of the same the joined dimension last.

    Then counts how much more a candidate splits, how many axes it has, and their order in the mesh.
    """
    chosen: list[Axes] = [()] * len(lists[0])
    left = {c: None for axes in lists for c in _prefixes(axes)}

    def score(candidate: _Candidate) -> tuple[object, ...]:
        held = (
            weight
            for weight, axes in zip(weights, lists, strict=True)
            if starts(candidate.axes, axes[candidate.dim])
        )
        added = prod(a.size for a in candidate.axes) // prod(a.size for a in chosen[candidate.dim])
        order = [(places[axis.name], axis.pre, axis.size) for axis in candidate.axes]
        return sum(held), candidate.dim != joined, added, len(order), order

    while left:
        best = max(left, key=score)
        chosen[best.dim] = best.axes
        left = {kept: None for candidate in left if (kept := _still(candidate, best)) is not None}
    return chosen


def _prefixes(axes: Sequence[Axes]) -> Iterator[_Candidate]:
    for dim, own in enumerate(axes):
        for count in range(1, len(own) + 1):
            yield _Candidate(dim, own[:count])


def _still(candidate: _Candidate, best: _Candidate) -> _Candidate | None:
    """What is left of a candidate after another was chosen."""
    if candidate.dim == best.dim:
        return candidate if extends(candidate.axes, best.axes) else None
    kept: list[Axis] = []
    for axis in candidate.axes:
        part = cut(axis, best.axes)
        if part is not None:
            kept.append(part)
        if part != axis:
            break
    return _Candidate(candidate.dim, tuple(kept)) if kept else None


def _reshard(op: Operation, shardings: Sequence[Sharding], common: Sharding) -> None:
    for number, sharding in enumerate(shardings[:-1]):
        if sharding.dims != common.dims:
            reshard_operand(op, number, common)
    if shardings[-1].dims != common.dims:
        op.attributes[SHARDING] = per_value([common])
        reshard_result(op, 0, shardings[-1])
