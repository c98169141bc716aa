"""The strategies of MindSpore's `.shard`: into how many parts each dimension of each input is cut.

    Add().shard(((2, 1, 1, 2, 1), …))       device matrix (2, 1, 1, 2, 1), tensor map (4, 3, 2, 1, 0)
    MatMul().shard(((a, b), (b, c)))        device matrix (a, b, c), maps (2, 1), (1, 0) -> (2, 0)

If a strategy uses fewer devices than there are, several devices compute the same: *repeated calculation*.
MindSpore appends the number of repetitions as the last axis of the device matrix, "right", which is the
default here: neighbouring devices repeat each other. Read literally, the textbook derivation wraps around:
the repetition is the first axis, "left", as in MindSpore of 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal

from msgspec import Struct

from shardc.layout.mesh import LayoutError
from shardc.layout.notations.mindspore_layout import NONE, Entry, Layout
from shardc.layout.sharding import Dim, Sharding
from shardc.layout.slices import replica_groups

Side = Literal["right", "left"]
REPEATED = "repeated"


class MatMulLayouts(Struct, frozen=True):
    """The layouts of both inputs and the output, and the groups that must all-reduce the output."""

    x: Layout
    w: Layout
    out: Layout
    allreduce_groups: tuple[tuple[int, ...], ...]


def strategy_layout(strategy: Sequence[int], devices: int, repeated: Side = "right") -> Layout:
    """The layout of one tensor, whose dimension i is cut into strategy[i] parts."""
    return strategy_layouts([strategy], devices, repeated)[0]


def strategy_layouts(
    strategies: Sequence[Sequence[int]], devices: int, repeated: Side = "right"
) -> tuple[Layout, ...]:
    """The layouts of the inputs of an elementwise operation, whose last dimensions correspond.

    An input has 1 where it is not cut, as it must where it is broadcast. Aliases are the places from the
    right by which `to_dict` and MindSpore number axes. LayoutError if the cuts disagree or don't divide the
    devices.
    """
    rank = max(map(len, strategies), default=0)
    if not rank:
        raise LayoutError("a strategy has one number per dimension; there is none")
    aligned = [(1,) * (rank - len(strategy)) + tuple(strategy) for strategy in strategies]
    matrix = tuple(max(cuts) for cuts in zip(*aligned, strict=True))
    for strategy in aligned:
        for i, (cut, size) in enumerate(zip(strategy, matrix, strict=True)):
            if cut not in (1, size):
                raise LayoutError(f"dimension {i} is cut into {cut} parts by one input and {size} by another")
    devices_layout, names = _with_repetition(matrix, devices, repeated)
    starts = [rank - len(strategy) for strategy in strategies]
    return tuple(
        devices_layout(*_map(strategy, matrix[start:], names[start:]))
        for strategy, start in zip(strategies, starts, strict=True)
    )


def matmul_layouts(
    x: tuple[int, int], w: tuple[int, int], devices: int, repeated: Side = "right"
) -> MatMulLayouts:
    """The layouts of MatMul for cuts ((a, b), (b, c)). LayoutError if the contracted cuts differ."""
    if x[1] != w[0]:
        raise LayoutError(f"the contracted dimension is cut into {x[1]} parts by x and {w[0]} by w")
    layout, (a, b, c) = _with_repetition((x[0], x[1], w[1]), devices, repeated)
    mesh = layout(a, b, c).sharding().mesh
    others = Sharding(mesh, tuple(Dim((mesh.axis(name),)) for name, _ in mesh.axes if name != b))
    groups = [tuple(int(d) for d in group) for group in replica_groups(others)] if x[1] > 1 else []
    return MatMulLayouts(layout(a, b), layout(b, c), layout(a, c), tuple(groups))


def _with_repetition(matrix: tuple[int, ...], devices: int, side: Side) -> tuple[Layout, list[str]]:
    """The layout of all devices, and the aliases of the matrix's axes in it: their places from the right."""
    for size in matrix:
        if size < 1:
            raise LayoutError(f"a dimension cannot be cut into {size} parts")
    used = prod(matrix)
    if devices % used:
        raise LayoutError(f"device number {devices} can not be divided by the strategy's {used}")
    times = devices // used
    right = times > 1 and side == "right"
    names = [str(len(matrix) - 1 - i + right) for i in range(len(matrix))]
    if times == 1:
        return Layout(matrix, tuple(names)), names
    if side == "left":
        return Layout((times, *matrix), (REPEATED, *names)), names
    return Layout((*matrix, times), (*names, REPEATED)), names


def _map(strategy: Sequence[int], matrix: Sequence[int], names: Sequence[str]) -> list[Entry]:
    """The axis of each dimension; "None" where this input is broadcast."""
    return [n if cut == size else NONE for cut, size, n in zip(strategy, matrix, names, strict=True)]
