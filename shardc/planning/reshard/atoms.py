"""The pieces of mesh axes that a reshard moves as a whole.

An axis is cut where the source or the target cuts it, and where a part of it could take the place of another
axis: where 4 leaves a dimension and 2 comes to it, 4 is cut into 2 and 2. Their number follows from how many
axes change places and not from how large they are: 8x8x8 devices are three pieces, as 2x2x2 are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, product
from math import gcd, prod
from operator import mul
from typing import NamedTuple

from shardc.layout import Axis, Sharding
from shardc.layout.difference import pieces, split

Atoms = tuple[Axis, ...]

MANY = 3  # axes of a mesh; with more, those that stay or go together are seen first, and searches are shorter
MOST = 4  # atoms; with more on a mesh of more than MANY axes, axes that neither sharding names stay out


class AtomSets(NamedTuple):
    """The sets of atoms worth a search: `some`, which are pieces as the shardings cut them, and these with
    the cuts of one pair that changes places, of each such pair; then pieces with `every` cut.

    `joined`: these cuts are those of several pairs together and no more.
    """

    some: tuple[Atoms, ...]
    every: Atoms
    joined: bool


class AtomPlaces:
    """A layout by atoms: those of each dimension, and those that are partial."""

    def __init__(self, layout: Sharding, atoms: Atoms) -> None:
        self.dims = tuple(split(dim.axes, atoms) for dim in layout.dims)
        self.partial = split(layout.unreduced, atoms)
        self._next = {pair for dim in self.dims for pair in pairwise(dim)}
        self._split = {atom for dim in self.dims for atom in dim}

    def together(self, one: Axis, other: Axis) -> bool:
        """Whether one comes right after the other, or both are partial, or both hold copies."""
        if one in self._split or other in self._split:
            return (one, other) in self._next
        return (one in self.partial) == (other in self.partial)


def atoms_of(
    source: Sharding,
    target: Sharding,
    shape: Sequence[int],
    idle: bool = True,
    manual: frozenset[str] = frozenset(),
) -> AtomSets:
    """The sets of atoms for a change of layout of a tensor of that shape.

    A set has the axes that the shardings name, in mesh order, then if `idle` those that they don't: devices
    that hold copies can share the work, but along `manual` axes they hold different things. LayoutError if
    parts of one axis have no common refinement.
    """
    mesh = source.mesh
    used = [axis for sharding in (source, target) for axis in (*_split(sharding), *sharding.unreduced)]
    coarse = pieces(mesh, used)
    taken = manual | {axis.name for axis in used}
    spare = [axis for axis in mesh.several if axis.name not in taken]
    if not idle or (len(mesh.several) > MANY and len(coarse) + len(spare) > MOST):
        spare = []
    coarser = dict.fromkeys((*atoms, *spare) for atoms in (coarse, *_cut_once(coarse, source, target)))
    every = (*cut_to_fit(coarse, shape, source, target), *spare)
    cuts = {(atom.name, atom.pre) for atoms in coarser for atom in atoms}
    joined = every not in coarser and all((atom.name, atom.pre) in cuts for atom in every)
    return AtomSets(tuple(atoms for atoms in coarser if atoms != every), every, joined)


def _split(sharding: Sharding) -> list[Axis]:
    return [axis for dim in sharding.dims for axis in dim.axes]


def cut_to_fit(
    coarse: Sequence[Axis], shape: Sequence[int], source: Sharding, target: Sharding
) -> list[Axis]:
    """The pieces, cut so that those which leave a dimension can make room for those which come to one.

    Where 8 leaves and 4 comes, 8 is cut into 2, 2 and 2: its first or last part of 4 can take the other's
    place. A piece is also cut where it no longer divides the dimension. There are as many cuts as pairs of
    pieces that change places, however large the axes are. A piece that others push along its dimension is
    cut once; one that stays in its place stays whole.
    """
    before, after = (_places(sharding, coarse) for sharding in (source, target))
    leaving, coming = _changing(before, after), _changing(after, before)
    shifted = [
        piece for piece in before if piece in after and piece not in leaving and before[piece] != after[piece]
    ]
    cuts: dict[Axis, set[int]] = {piece: set() for piece in coarse}
    for one, other in product(leaving, coming):
        for piece, parts in _exchanged(one, other).items():
            cuts[piece].update(parts)
    for piece, other in product(shifted, (*leaving, *coming)):
        common = gcd(piece.size, other.size)
        cuts[piece].add(common)
        cuts[other].add(common)
    for places in (before, after):
        for piece, (dim, start) in places.items():
            cuts[piece].add(gcd(shape[dim] // gcd(shape[dim], start), piece.size))
    return [part for piece in coarse for part in _parts(piece, sorted(cuts[piece]))]


def _cut_once(coarse: Sequence[Axis], source: Sharding, target: Sharding) -> Iterator[list[Axis]]:
    """The pieces with the cuts of one that leaves a dimension and one that comes, for every such pair."""
    before, after = (_places(sharding, coarse) for sharding in (source, target))
    for one, other in product(_changing(before, after), _changing(after, before)):
        cuts = _exchanged(one, other)
        yield [part for piece in coarse for part in _parts(piece, sorted(cuts.get(piece, ())))]


_Places = dict[Axis, tuple[int, int]]


def _changing(before: _Places, after: _Places) -> list[Axis]:
    """The pieces that are in another dimension afterwards, or in none."""
    return [piece for piece, place in before.items() if after.get(piece, (-1,))[0] != place[0]]


def _exchanged(one: Axis, other: Axis) -> dict[Axis, set[int]]:
    """Where both are cut so that a part of one can take the place of a part of the other, at either end."""
    common = gcd(one.size, other.size)
    return {piece: {common, piece.size // common} for piece in (one, other)}


def _places(sharding: Sharding, coarse: Sequence[Axis]) -> _Places:
    """For each piece in use its dimension, and the number of parts that the pieces before it make there."""
    places = _Places()
    for number, dim in enumerate(sharding.dims):
        placed = split(dim.axes, coarse)
        starts = accumulate((piece.size for piece in placed), mul, initial=1)
        places.update((piece, (number, start)) for piece, start in zip(placed, starts, strict=False))
    return places


def _parts(piece: Axis, cuts: Sequence[int]) -> list[Axis]:
    """A piece cut at numbers of parts; those that no longer divide what is left are passed over."""
    parts, done = list[Axis](), 1
    for cut in (*cuts, piece.size):
        if cut % done == 0 and cut > done:
            parts.append(Axis(piece.name, cut // done, piece.pre * done))
            done = cut
    return parts or [piece]


def refine(coarse: Sequence[Axis]) -> list[Axis]:
    """The pieces, split into factors such that any two of different size have no factor in common."""
    sizes = [piece.size for piece in coarse]
    base = _coprime_base([n for n in sizes if n > 1])
    fine: list[Axis] = []
    for piece in coarse:
        factors = [f for f in base for _ in range(_multiplicity(piece.size, f))] or [1]
        for i, factor in enumerate(factors):
            fine.append(Axis(piece.name, factor, piece.pre * prod(factors[:i])))
    return fine


def _coprime_base(numbers: Sequence[int]) -> list[int]:
    """Pairwise coprime numbers whose powers make up all the given ones, ascending."""
    base: list[int] = []
    left = sorted(set(numbers), reverse=True)
    while left:
        n = left.pop()
        other = next((b for b in base if gcd(b, n) > 1), None)
        if n == 1 or n in base:
            continue
        if other is None:
            base.append(n)
            continue
        common = gcd(n, other)
        base.remove(other)
        left += [common, other // common, n // common]
    return sorted(base)


def _multiplicity(n: int, factor: int) -> int:
    count = 0
    while n % factor == 0:
        n //= factor
        count += 1
    return count
