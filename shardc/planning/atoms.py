"""The pieces of mesh axes that a reshard moves as a whole.

An axis is split where the source or the target splits it. Where sizes differ, a finer split lets the pieces
of different axes take each other's place: 4 and 2 become 2, 2 and 2; 8 and 8 stay (all the primes of 8x8x8
would give 45 million shardings of a rank-3 tensor, the axes alone 106). An axis of which a dimension's size
contains only a factor is split there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from shardc.layout import Axis, Sharding
from shardc.layout.difference import pieces

MOST = 4  # with more atoms than this, axes that neither sharding names stay out beyond three axes


def atoms_of(
    source: Sharding,
    target: Sharding,
    shape: Sequence[int],
    idle: bool = True,
    manual: frozenset[str] = frozenset(),
) -> tuple[tuple[Axis, ...], ...]:
    """The sets of atoms worth a search, coarse ones first: pieces as the shardings cut them, then finer ones.

    A set has the axes that the shardings name, in mesh order, then if `idle` those that they don't: devices
    that hold copies can share the work, but along `manual` axes they hold different things. LayoutError if
    parts of one axis have no common refinement.
    """
    mesh = source.mesh
    used = [axis for sharding in (source, target) for axis in (*_split(sharding), *sharding.unreduced)]
    coarse = pieces(mesh, used)
    taken = manual | {axis.name for axis in used}
    spare = [mesh.axis(name) for name, size in mesh.axes if size > 1 and name not in taken]
    if not idle or (len(mesh.axes) > 3 and len(coarse) + len(spare) > MOST):
        spare = []
    fine = tuple(refine(coarse, shape))
    return ((*coarse, *spare),) if fine == coarse else ((*coarse, *spare), (*fine, *spare))


def _split(sharding: Sharding) -> list[Axis]:
    return [axis for dim in sharding.dims for axis in dim.axes]


def refine(coarse: Sequence[Axis], shape: Sequence[int]) -> list[Axis]:
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
