"""The moves a reshard may consist of: from a layout, every layout that one collective leads to.

A layout says which atoms (by number) split each dimension and over which the value is partial. Moves keep
JAX's check of varying values content: a value is typed equal over an axis only after an all-gather or
all-reduce over it, so a permute rearranges the atoms that split the tensor and never swaps in another.

Blocks have the ceiling size. A suffix of a dimension's atoms can be gathered or sliced if the smaller blocks
tile the larger one exactly, or if nothing else splits the dimension: then the whole is padded before slicing
and the padding dropped after gathering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import prod
from typing import NamedTuple

from shardc.planning import cost

Atoms = tuple[int, ...]


class Layout(NamedTuple):
    """Atoms per dimension, major to minor; atoms over which the value is partial, ascending.

    `settled` is False while what is partial is of the source's kind and the target's is another.
    """

    dims: tuple[Atoms, ...]
    partial: Atoms = ()
    settled: bool = True


class Move(NamedTuple):
    """A collective, the layout after it, what it moves, and the bytes of the buffer that it fills."""

    kind: str
    layout: Layout
    bytes: int
    buffer: int


@dataclass(frozen=True, slots=True)
class Space:
    """A tensor and the atoms' sizes; `goal` is the layout to reach."""

    shape: tuple[int, ...]
    itemsize: int
    sizes: tuple[int, ...]
    start: Layout
    goal: Layout

    def parts(self, atoms: Atoms) -> int:
        """Into how many parts the atoms split something."""
        parts = 1
        for atom in atoms:
            parts *= self.sizes[atom]
        return parts

    def block(self, dim: int, atoms: Atoms) -> int:
        """The local size of a dimension."""
        return -(-self.shape[dim] // self.parts(atoms))

    def local(self, dims: Sequence[Atoms]) -> int:
        """Bytes of a device's block."""
        return self.itemsize * prod(self.block(d, atoms) for d, atoms in enumerate(dims))

    def nests(self, dim: int, outer: Atoms, inner: Atoms) -> bool:
        """Whether the blocks of outer + inner tile those of outer, so that `inner` may come or go."""
        return (
            not outer
            or not inner
            or self.block(dim, outer) == self.block(dim, outer + inner) * self.parts(inner)
        )

    def free(self, layout: Layout) -> Atoms:
        """The atoms over which devices hold copies."""
        used = {a for atoms in (*layout.dims, layout.partial) for a in atoms}
        return tuple(a for a in range(len(self.sizes)) if a not in used)


def with_dim(layout: Layout, dim: int, atoms: Atoms) -> Layout:
    """The layout with other atoms in one dimension."""
    return layout._replace(dims=(*layout.dims[:dim], atoms, *layout.dims[dim + 1 :]))


def _less_partial(layout: Layout, gone: Sequence[int]) -> Layout:
    left = tuple(a for a in layout.partial if a not in gone)
    return layout._replace(partial=left, settled=layout.settled or not left)


def _orders(atoms: Sequence[int]) -> Iterator[Atoms]:
    """Every non-empty ordered choice of atoms."""
    for count in range(1, len(atoms) + 1):
        yield from permutations(atoms, count)


def _suffixes(space: Space, layout: Layout) -> Iterator[tuple[int, Atoms, Atoms]]:
    """Every (dimension, atoms that stay, suffix that may go)."""
    for dim, atoms in enumerate(layout.dims):
        for keep in range(len(atoms)):
            if space.nests(dim, atoms[:keep], atoms[keep:]):
                yield dim, atoms[:keep], atoms[keep:]


def all_gathers(space: Space, layout: Layout) -> Iterator[Move]:
    """[(x, y)] -> [x]: collect a suffix of one dimension's atoms."""
    block = space.local(layout.dims)
    for dim, keep, gone in _suffixes(space, layout):
        n = space.parts(gone)
        yield Move("all_gather", with_dim(layout, dim, keep), cost.all_gather(block, n), block * n)


def all_slices(space: Space, layout: Layout) -> Iterator[Move]:
    """[x] -> [(x, y)]: keep a part of what every device has. One atom at a time unless padding forbids it."""
    free = space.free(layout)
    for dim, atoms in enumerate(layout.dims):
        even = space.shape[dim] % space.parts(atoms + free) == 0
        for more in ((a,) for a in free) if even else _orders(free):
            if space.nests(dim, atoms, more):
                after = with_dim(layout, dim, atoms + more)
                yield Move("all_slice", after, 0, space.local(after.dims))


def all_to_alls(space: Space, layout: Layout) -> Iterator[Move]:
    """[(x, y), -] -> [-, (y, x)]: suffixes of some dimensions go to the ends of others, in any order."""
    choices: list[list[Atoms]] = [[()] for _ in layout.dims]
    for dim, _, gone in _suffixes(space, layout):
        choices[dim].append(gone)
    blocks = [space.block(d, atoms) for d, atoms in enumerate(layout.dims)]
    for gone in product(*choices):
        moved = tuple(a for atoms in gone for a in atoms)
        receivers = [dim for dim, atoms in enumerate(gone) if not atoms]
        if not moved or not receivers:
            continue
        n = space.parts(moved)
        kept = [atoms[: len(atoms) - len(g)] for atoms, g in zip(layout.dims, gone, strict=True)]
        sent = space.itemsize * prod(size for size, g in zip(blocks, gone, strict=True) if g)
        for order in permutations(moved):
            for placed in _placements(order, len(receivers)):
                dims, chunk = list(kept), sent
                for dim, atoms in zip(receivers, placed, strict=True):
                    if not space.nests(dim, kept[dim], atoms):
                        break
                    dims[dim] += atoms
                    chunk *= space.block(dim, dims[dim]) if atoms else blocks[dim]
                else:
                    after = layout._replace(dims=tuple(dims))
                    yield Move("all_to_all", after, cost.all_to_all(chunk, n), chunk * n)


def _placements(order: Atoms, boxes: int) -> Iterator[tuple[Atoms, ...]]:
    """Every way to cut a sequence into that many runs, empty ones included."""
    if boxes == 1:
        yield (order,)
        return
    for cut in range(len(order) + 1):
        for rest in _placements(order[cut:], boxes - 1):
            yield (order[:cut], *rest)


def collective_permutes(space: Space, layout: Layout) -> Iterator[Move]:
    """[x, y] -> [y, x]: the same atoms in other places, each dimension in as many parts as before."""
    parts = [space.parts(atoms) for atoms in layout.dims]
    block = space.local(layout.dims)
    for dims in _fillings(space, tuple(a for atoms in layout.dims for a in atoms), parts):
        if dims != layout.dims:
            after = layout._replace(dims=dims)
            yield Move("collective_permute", after, cost.collective_permute(block), block)


def _fillings(space: Space, atoms: Atoms, parts: Sequence[int]) -> Iterator[tuple[Atoms, ...]]:
    """Every way to put all the atoms into dimensions that end up with these numbers of parts."""
    if not parts:
        if not atoms:
            yield ()
        return
    for first in ((), *_orders(atoms)):
        if space.parts(first) == parts[0]:
            left = tuple(a for a in atoms if a not in first)
            for rest in _fillings(space, left, parts[1:]):
                yield (first, *rest)


def all_reduces(space: Space, layout: Layout) -> Iterator[Move]:
    """partial(x, y) -> partial(y): combine over some atoms."""
    block = space.local(layout.dims)
    for count in range(1, len(layout.partial) + 1):
        for gone in combinations(layout.partial, count):
            after = _less_partial(layout, gone)
            yield Move("all_reduce", after, cost.all_reduce(block, space.parts(gone)), block)


def reduce_scatters(space: Space, layout: Layout) -> Iterator[Move]:
    """[-] partial(x) -> [x]: combine over some atoms, each device keeping one block."""
    for gone in _orders(layout.partial):
        for dim, atoms in enumerate(layout.dims):
            if space.nests(dim, atoms, gone):
                after = with_dim(_less_partial(layout, gone), dim, atoms + gone)
                block = space.local(after.dims)
                yield Move("reduce_scatter", after, cost.reduce_scatter(block, space.parts(gone)), block)


def replicated_to_unreduced(space: Space, layout: Layout) -> Iterator[Move]:
    """[-] -> [-] partial(x): the first device keeps the value, the others hold what changes nothing."""
    if layout.settled:
        for atom in space.free(layout):
            if atom in space.goal.partial:
                after = layout._replace(partial=tuple(sorted((*layout.partial, atom))))
                yield Move("replicated_to_unreduced", after, 0, space.local(layout.dims))


def sharded_to_unreduced(space: Space, layout: Layout) -> Iterator[Move]:
    """[x] -> [-] partial(x): each device's block at its place, the rest filled with what changes nothing."""
    if layout.settled:
        for dim, keep, gone in _suffixes(space, layout):
            if set(gone) <= set(space.goal.partial):
                after = with_dim(layout, dim, keep)._replace(partial=tuple(sorted((*layout.partial, *gone))))
                yield Move("sharded_to_unreduced", after, 0, space.local(after.dims))


Moves = tuple[Callable[[Space, Layout], Iterator[Move]], ...]

MOVES: Moves = (
    all_gathers,
    all_slices,
    all_to_alls,
    collective_permutes,
    all_reduces,
    reduce_scatters,
    replicated_to_unreduced,
    sharded_to_unreduced,
)
