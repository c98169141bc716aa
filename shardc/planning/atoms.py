"""The pieces of mesh axes that a reshard moves as a whole.

An axis is split where the source or the target splits it, and further so that the pieces of different axes
can take each other's place: 4 and 2 become 2, 2 and 2; 8 and 8 stay (all the primes of 8x8x8 would give
45 million shardings of a rank-3 tensor, the axes alone 106). An axis of which a dimension's size contains
only a factor is split there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from shardc.layout import Axis, Sharding
from shardc.layout.difference import pieces

FINEST = 6  # more atoms than this make the search too long; the axes are then split only where they must be


def atoms_of(source: Sharding, target: Sharding, shape: Sequence[int]) -> tuple[Axis, ...]:
    """The atoms of a reshard, in mesh order: those of axes in use, then axes that neither sharding names.

    Raises LayoutError if parts of one axis in the two shardings have no common refinement.
    """
    mesh = source.mesh
    used = [axis for sharding in (source.layout(), target.layout()) for axis in sharding.axes()]
    coarse = pieces(mesh, used)
    fine = _refine(coarse, shape)
    spare = [mesh.axis(name) for name, size in mesh.axes if size > 1 and all(name != a.name for a in used)]
    chosen = fine if len(fine) + len(spare) <= FINEST else coarse
    return (*chosen, *spare)


def _refine(coarse: Sequence[Axis], shape: Sequence[int]) -> list[Axis]:
    """The pieces, split into factors such that any two of different size have no factor in common."""
    sizes = [piece.size for piece in coarse]
    shared = [gcd(size, n) for size in shape for n in sizes if size % n]
    base = _coprime_base([n for n in (*sizes, *shared) if n > 1])
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
