"""Stages are taken exactly where they are quicker: against all ways, priced by formulas written out here."""

from __future__ import annotations

from itertools import permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.layout import Axis, Mesh
from shardc.ops import spmd
from shardc.ops.definition import OpDef
from shardc.planning.machines import Stages, Wanted, devices_of, read

NODE, FAST, NEAR, SLOW, FAR, MEMORY = 4, 1e11, 1e-6, 1e10, 5e-6, 1e12
MACHINE = read(
    f"""
name = "nodes"
source = "made up"
[device]
memory = 1e9
bandwidth = {MEMORY}
[device.flops]
other = 1e12
[[links]]
name = "inside"
kind = "ring"
devices = {NODE}
bandwidth = {FAST}
latency = {NEAR}
[[links]]
name = "across"
kind = "ring"
bandwidth = {SLOW}
latency = {FAR}
""",
    "nodes.toml",
)
OPS = (spmd.all_reduce, spmd.all_gather, spmd.reduce_scatter)


def is_inside(mesh: Mesh, axes: tuple[Axis, ...]) -> bool:
    """Whether each group is in one node."""
    groups = devices_of(mesh, axes)
    return bool(np.all(groups // NODE == groups[:, :1] // NODE))


def ring(op: OpDef, mesh: Mesh, over: tuple[Axis, ...], held: float) -> float:
    """Seconds of a ring: nccl-tests' formulas, with the devices of a node side by side."""
    groups = devices_of(mesh, over)
    n = groups.shape[1]
    side_by_side = n // len(np.unique(groups[0] // NODE))
    rate, latency = (FAST, NEAR) if is_inside(mesh, over) else (min(FAST, SLOW * max(1, side_by_side)), FAR)
    whole = held * n if op is spmd.all_gather else held
    turns = 2 if op is spmd.all_reduce else 1
    return turns * (n - 1) * latency + -(-turns * whole * (n - 1) // n) / rate


def cuts(mesh: Mesh, over: tuple[Axis, ...]) -> list[tuple[tuple[Axis, ...], tuple[Axis, ...]]]:
    """The largest parts of axes inside a node, and the rest, if there are both; each axis, and the others."""
    inner: list[Axis] = []
    for axis in over:
        parts = [Axis(axis.name, n, axis.end // n) for n in range(1, axis.size + 1) if axis.size % n == 0]
        inner.append(max((part for part in parts if is_inside(mesh, (part,))), key=lambda part: part.size))
    outer = [Axis(a.name, a.size // i.size, a.pre) for a, i in zip(over, inner, strict=True)]
    both = [tuple(axis for axis in axes if axis.size > 1) for axes in (inner, outer)]
    found = [(both[0], both[1])] if all(both) and is_inside(mesh, both[0]) else []
    others = [((axis,), tuple(other for other in over if other != axis)) for axis in over]
    return [*found, *(cut for cut in others if cut[1])]


def size(axes: tuple[Axis, ...]) -> int:
    return prod(axis.size for axis in axes)


def in_order(over: tuple[Axis, ...], major: tuple[Axis, ...], minor: tuple[Axis, ...]) -> bool:
    order = [(axis.name, axis.pre) for axis in (*major, *minor)]
    names = [axis.name for axis in over]
    return order == sorted(order, key=lambda part: (names.index(part[0]), part[1]))


def quickest(op: OpDef, mesh: Mesh, over: tuple[Axis, ...], shape: tuple[int, ...], kind: str) -> float:
    """Seconds at once, or in stages, each as quick as it can be."""
    return min([ring(op, mesh, over, 4 * prod(shape)), *staged(op, mesh, over, shape, kind)])


def staged(op: OpDef, mesh: Mesh, over: tuple[Axis, ...], shape: tuple[int, ...], kind: str) -> list[float]:
    """Seconds of all ways in stages; gathered and scattered is one dimension."""
    found: list[float] = []
    for inner, outer in cuts(mesh, over):
        n, (rows, *rest) = size(inner), shape
        if op is spmd.all_reduce:
            found.append(quickest(op, mesh, inner, shape, kind) + quickest(op, mesh, outer, shape, kind))
            even = [dim for dim, length in enumerate(shape) if length % n == 0]
            if kind == "sum" and even:
                others = [length for dim, length in enumerate(shape) if dim != even[0]]
                turned = (shape[even[0]], *others)  # what is scattered first
                part = (shape[even[0]] // n, *others)
                found.append(
                    quickest(spmd.reduce_scatter, mesh, inner, turned, kind)
                    + quickest(op, mesh, outer, part, kind)
                    + quickest(spmd.all_gather, mesh, inner, part, kind)
                )
            continue
        for first, then in ((inner, outer), (outer, inner)):
            if op is spmd.all_gather:
                between, whole = rows * size(first), rows * size(over)
                right = in_order(over, then, first)
            else:
                between, whole = rows // size(first), rows
                right = in_order(over, first, then)
            copy = 0.0 if right else 2 * 4 * whole * prod(rest) / MEMORY
            one = quickest(op, mesh, first, shape, kind)
            found.append(one + quickest(op, mesh, then, (between, *rest), kind) + copy)
    return found


MESHES = [
    Mesh("m", (("a", 16),)),
    Mesh("m", (("a", 2), ("b", 4))),
    Mesh("m", (("a", 4), ("b", 2))),
    Mesh("m", (("a", 2), ("b", 6))),
    Mesh("m", (("a", 2), ("b", 2), ("c", 4))),
    Mesh("m", (("a", 2), ("b", 4)), tuple(np.arange(8).reshape(4, 2).T.reshape(-1).tolist())),
]


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.short)
@given(
    sizes=st.tuples(st.integers(1, 5), st.sampled_from([1, 10, 1000, 100_000])),
    kind=st.sampled_from(["sum", "max"]),
    number=st.integers(0, 1000),
)
def test_stages_are_taken_where_they_are_quicker(
    mesh: Mesh, op: OpDef, sizes: tuple[int, int], kind: str, number: int
) -> None:
    names = [some for n in range(1, len(mesh.axes) + 1) for some in permutations(mesh.sizes, n)]
    over = tuple(mesh.axis(name) for name in names[number % len(names)])
    scattered = size(over) if op is spmd.reduce_scatter else 1
    shape = (sizes[0] * scattered, sizes[1])
    dim = None if op is spmd.all_reduce else 0
    took, found = Stages(MACHINE, mesh).best(
        Wanted(op, over, shape, 4, dim, None if op is spmd.all_gather else kind)
    )
    once = ring(op, mesh, over, 4 * prod(shape))
    least = min([once, *staged(op, mesh, over, shape, kind)])
    assert took == pytest.approx(least, rel=1e-9)
    assert (found is not None) == (least < once * (1 - 1e-12))
