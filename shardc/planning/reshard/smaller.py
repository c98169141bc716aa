"""A change of layout with what stays taken out, and with axes that go together as one.

    f32[64, 32]  [(x, y, z), m] -> [x, (y, z, m)]       on x=2, y=2, z=2, m=4
    f32[32, 32]  [a, b]         -> [-, (a, b)]          on a=4, b=4

x splits the same dimension before and after, with nothing before it that changes: each of its blocks is a
tensor of its own, which lies on the other axes. y and z follow each other in both layouts. So a program has
the same reshards, found as quickly, whether its devices are named by two axes or by five.

    f32[12]  [(x, y, z)] -> [(x, y)]                    on x=2, y=2, z=2

No block of (x, y) is a tensor of its own here: its 3 elements are not those of two blocks of (x, y, z), which
has 2 on each device and none on the last two.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile

from msgspec import Struct

from shardc.graph.types import TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding, merge, size_of
from shardc.layout.difference import pieces
from shardc.planning.reshard.atoms import MOST, AtomPlaces

Axes = tuple[Axis, ...]


class Smaller(Struct, frozen=True):
    """The tensor and its layouts on the smaller mesh; of that mesh's axes what each stands for; and what
    stays: in each dimension the first axes, and those over which results are partial all along."""

    type: TensorType
    source: Sharding
    target: Sharding
    runs: dict[str, Axes]
    held: tuple[Axes, ...]
    partial: Axes

    def back(self, found: Sharding, like: Sharding) -> Sharding:
        """A layout on the smaller mesh as it is on the mesh of `like`, which has its kind of sums."""
        dims = (
            Dim(merge((*held, *self._axes(dim.axes))))
            for held, dim in zip(self.held, found.dims, strict=True)
        )
        partial = merge((*self.partial, *self._axes(found.unreduced)))
        return Sharding(
            like.mesh, tuple(dims), unreduced=partial, kind=found.kind if found.unreduced else like.kind
        )

    def tiles(self, whole: TensorType, found: Sharding) -> bool:
        """Whether the blocks of a layout on the smaller mesh tile those of what stays of the tensor."""
        dims = zip(whole.shape, self.held, found.dims, strict=True)
        return all(
            not held or not dim.axes or size % size_of((*held, *dim.axes)) == 0 for size, held, dim in dims
        )

    def _axes(self, axes: Axes) -> Axes:
        """What axes of the smaller mesh, or parts of them, stand for."""
        return tuple(each for axis in axes for each in _part(self.runs[axis.name], axis))


def smaller(type: TensorType, source: Sharding, target: Sharding, manual: frozenset[str]) -> Smaller | None:
    """The same change in fewer axes, without those that code is written for per device, and where there are
    many without those that neither layout names; None where there are no fewer, or axes of one device, which
    collectives are over for JAX's check alone.

    LayoutError if parts of an axis in the layouts have no common refinement.
    """
    mesh = source.mesh
    used = [axis for layout in (source, target) for axis in layout.axes()]
    if any(axis.size == 1 for axis in used):
        return None
    atoms = pieces(mesh, used)
    before, after = (AtomPlaces(layout, atoms) for layout in (source, target))
    held = tuple(map(_held, type.shape, before.dims, after.dims))
    partial = tuple(a for a in before.partial if a in after.partial) if source.kind == target.kind else ()
    stay = {*partial, *(atom for axes in held for atom in axes)}
    moving = [atom for atom in atoms if atom not in stay]
    runs = [moving[:1]] if moving else []
    for one, other in pairwise(moving):
        if before.together(one, other) and after.together(one, other) and _alike(one.size, other.size):
            runs[-1].append(other)
        else:
            runs.append([other])
    if len(runs) == len(atoms):
        return None
    names = {axis.name for axis in used}
    idle = [axis for axis in mesh.several if axis.name not in names | manual]
    if len(atoms) + len(idle) > MOST:
        idle = []
    named = {f"a{number}": tuple(run) for number, run in enumerate([*runs, *([axis] for axis in idle)])}
    small = Mesh("smaller", tuple((name, size_of(run)) for name, run in named.items()))
    stands = {run[0]: (small.axis(name), len(run)) for name, run in named.items()}
    shape = tuple(-(-size // size_of(axes)) for size, axes in zip(type.shape, held, strict=True))

    def on_small(layout: Sharding, places: AtomPlaces) -> Sharding:
        dims = tuple(Dim(_as_runs(a[len(h) :], stands)) for a, h in zip(places.dims, held, strict=True))
        left = [atom for atom in places.partial if atom not in stay]
        return Sharding(small, dims, unreduced=_as_runs(left, stands), kind=layout.kind)

    return Smaller(
        type.with_shape(shape), on_small(source, before), on_small(target, after), named, held, partial
    )


def _held(size: int, before: Axes, after: Axes) -> Axes:
    """The first axes of a dimension that stay; all or none of them where it has padding, before or after."""
    if before != after and (size % size_of(before) or size % size_of(after)):
        return ()
    return tuple(one for one, _ in takewhile(_equal, zip(before, after, strict=False)))


def _equal(pair: tuple[Axis, Axis]) -> bool:
    return pair[0] == pair[1]


def _alike(one: int, other: int) -> bool:
    """Whether parts of an axis of both sizes together are parts of the two: both are powers of one prime."""
    least = next(n for n in range(2, one + 1) if one % n == 0)
    for size in (one, other):
        while size % least == 0:
            size //= least
        if size > 1:
            return False
    return True


def _as_runs(atoms: Sequence[Axis], stands: dict[Axis, tuple[Axis, int]]) -> Axes:
    """Atoms that begin with a run and go on with the next."""
    found: list[Axis] = []
    at = 0
    while at < len(atoms):
        axis, length = stands[atoms[at]]
        found.append(axis)
        at += length
    return tuple(found)


def _part(run: Axes, axis: Axis) -> Axes:
    """The part of a run that a part of the axis stands for, which has as many positions."""
    found: list[Axis] = []
    start = 1
    for each in run:
        low, high = max(start, axis.pre), min(start * each.size, axis.end)
        if low < high:
            found.append(Axis(each.name, high // low, each.pre * (low // start)))
        start *= each.size
    return tuple(found)
