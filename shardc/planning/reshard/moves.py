"""The moves a reshard may consist of: from a layout, every layout that one collective leads to.

Moves keep JAX's check of varying values content: a value is typed equal over an axis only after an
all-gather or all-reduce over it, so a permute rearranges the atoms that split the tensor and never swaps in
another.

All-to-alls and permutes have as many results as there are orders of atoms. So they are made in small steps:
atoms are taken up together, for the whole price, and put down one by one; layouts from which the same atoms
were taken share what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations, product
from math import prod
from typing import NamedTuple

from shardc.planning.reshard import cost
from shardc.planning.reshard.space import AtomLayout, Atoms, Space


class Hand(NamedTuple):
    """A collective under way: the atoms that it still has to put down, from dimension `dim` on.

    The first `keep` atoms of that dimension were there before. `dims` are the receivers of an all-to-all, or
    each dimension's number of parts in a permute. Bytes: `alive` is the block before, and an all-to-all
    sends to its `n` devices chunks of `sent` times the receivers' blocks.
    """

    kind: str
    atoms: Atoms
    dim: int
    keep: int
    dims: tuple[int, ...]
    alive: int
    sent: int = 0
    n: int = 1


class SearchState(NamedTuple):
    """A layout, or what there is of one while a collective is under way."""

    layout: AtomLayout
    hand: Hand | tuple[()] = ()


class Move(NamedTuple):
    """A collective or a step of one: what follows, the bytes it adds, and those alive at once.

    `begins`: it is a new collective, not the next step of one. `peak` is 0 until the collective is complete.
    """

    kind: str
    state: SearchState
    bytes: int
    peak: int
    begins: bool = True


def moves(space: Space, state: SearchState) -> Iterator[Move]:
    """Everything that may come next."""
    if state.hand:
        yield from PUT[state.hand.kind](space, state.layout, state.hand)
        return
    for begin in MOVES:
        yield from begin(space, state.layout)


def ends(space: Space, state: SearchState) -> dict[AtomLayout, int]:
    """The layouts that a collective under way may end in, and the bytes that this adds."""
    found: dict[AtomLayout, int] = {}
    after = [(state, 0)]
    while after:
        at, bytes = after.pop()
        if at.hand:
            after += [(move.state, bytes + move.bytes) for move in moves(space, at)]
        else:
            found[at.layout] = min(bytes, found.get(at.layout, bytes))
    return found


def _orders(space: Space, atoms: Sequence[int]) -> Iterator[Atoms]:
    """Every non-empty ordered choice of atoms, those that are alike in ascending order."""
    for count in range(1, len(atoms) + 1):
        for order in permutations(atoms, count):
            if space.in_order(order, atoms):
                yield order


def _suffixes(space: Space, layout: AtomLayout) -> Iterator[tuple[int, Atoms, Atoms]]:
    """Every (dimension, atoms that stay, suffix that may go)."""
    for dim, atoms in enumerate(layout.dims):
        for keep in range(len(atoms)):
            if space.nests(dim, atoms[:keep], atoms[keep:]):
                yield dim, atoms[:keep], atoms[keep:]


def all_gathers(space: Space, layout: AtomLayout) -> Iterator[Move]:
    """[(x, y)] -> [x]: collect a suffix of one dimension's atoms."""
    block = space.local(layout.dims)
    for dim, keep, gone in _suffixes(space, layout):
        n = space.parts(gone)
        after = SearchState(layout.with_dim(dim, keep))
        yield Move("all_gather", after, cost.all_gather(block, n), block + block * n)


def all_slices(space: Space, layout: AtomLayout) -> Iterator[Move]:
    """[x] -> [(x, y)]: keep a part of what every device has, one atom at a time unless padding forbids it."""
    alive, free = space.local(layout.dims), space.free(layout)
    for dim, atoms in enumerate(layout.dims):
        for more in space.first_alike(free):
            if space.nests(dim, atoms, (more,)):
                after = layout.with_dim(dim, (*atoms, more))
                yield Move("all_slice", SearchState(after), 0, alive + space.local(after.dims))
        if not atoms and len(free) > 1 and space.shape[dim] % space.parts(free):
            yield Move("all_slice", SearchState(layout, Hand("all_slice", free, dim, 0, (), alive)), 0, 0)


def _slice_more(space: Space, layout: AtomLayout, hand: Hand) -> Iterator[Move]:
    """[-] -> [(x, y)] where [x] would not be tiled by that."""
    atoms = layout.dims[hand.dim]
    for more in space.first_alike(hand.atoms):
        after = layout.with_dim(hand.dim, (*atoms, more))
        left = tuple(a for a in hand.atoms if a != more)
        if not space.nests(hand.dim, atoms, (more,)):
            peak = hand.alive + space.local(after.dims)
            yield Move("all_slice", SearchState(after), 0, peak, begins=False)
        if left:
            yield Move("all_slice", SearchState(after, hand._replace(atoms=left)), 0, 0, begins=False)


def all_to_alls(space: Space, layout: AtomLayout) -> Iterator[Move]:
    """[(x, y), -] -> [-, (y, x)]: suffixes of some dimensions go to the ends of others, in any order."""
    choices: list[list[Atoms]] = [[()] for _ in layout.dims]
    for dim, _, gone in _suffixes(space, layout):
        choices[dim].append(gone)
    blocks = [space.block(d, atoms) for d, atoms in enumerate(layout.dims)]
    alive = space.itemsize * prod(blocks)
    for gone in product(*choices):
        moved = tuple(sorted(a for atoms in gone for a in atoms))
        receivers = tuple(dim for dim, atoms in enumerate(gone) if not atoms)
        if not moved or not receivers:
            continue
        n = space.parts(moved)
        kept = tuple(atoms[: len(atoms) - len(g)] for atoms, g in zip(layout.dims, gone, strict=True))
        sent = space.itemsize * prod(size for size, g in zip(blocks, gone, strict=True) if g)
        first = receivers[0]
        hand = Hand("all_to_all", moved, first, len(kept[first]), receivers, alive, sent, n)
        yield Move("all_to_all", SearchState(layout._replace(dims=kept), hand), _least(hand), 0)


def _least(hand: Hand) -> int:
    """What an all-to-all sends at least; more where its chunks need padding."""
    return cost.all_to_all(-(-hand.alive // hand.n), hand.n)


def _put_exchanged(space: Space, layout: AtomLayout, hand: Hand) -> Iterator[Move]:
    """The next atom of an all-to-all goes to the end of this receiver or of a later one."""
    now = layout.dims[hand.dim]
    nested = space.nests(hand.dim, now[: hand.keep], now[hand.keep :])
    for dim in hand.dims:
        if dim < hand.dim or (dim > hand.dim and not nested):
            continue
        atoms = layout.dims[dim]
        keep = hand.keep if dim == hand.dim else len(atoms)
        for atom in hand.atoms:
            after = layout.with_dim(dim, (*atoms, atom))
            left = tuple(a for a in hand.atoms if a != atom)
            if left:
                state = SearchState(after, hand._replace(atoms=left, dim=dim, keep=keep))
                yield Move("all_to_all", state, 0, 0, begins=False)
            elif space.nests(dim, atoms[:keep], (*atoms[keep:], atom)):
                chunk = hand.sent * prod(space.block(d, after.dims[d]) for d in hand.dims)
                more = cost.all_to_all(chunk, hand.n) - _least(hand)
                yield Move("all_to_all", SearchState(after), more, hand.alive + chunk * hand.n, begins=False)


def collective_permutes(space: Space, layout: AtomLayout) -> Iterator[Move]:
    """[x, y] -> [y, x]: the same atoms in other places, each dimension in as many parts as before."""
    atoms = tuple(sorted(a for dim in layout.dims for a in dim))
    if len(atoms) > 1:
        parts, block = tuple(map(space.parts, layout.dims)), space.local(layout.dims)
        taken = layout._replace(dims=((),) * len(parts))
        hand = Hand("collective_permute", atoms, 0, 0, parts, block)
        yield Move("collective_permute", SearchState(taken, hand), cost.collective_permute(block), 0)


def _put_permuted(space: Space, layout: AtomLayout, hand: Hand) -> Iterator[Move]:
    """The next atom of a permute goes to the first dimension that lacks parts."""
    for dim in range(hand.dim, len(layout.dims)):
        atoms = layout.dims[dim]
        for atom in hand.atoms:
            if hand.dims[dim] % space.parts((*atoms, atom)) == 0:
                after = layout.with_dim(dim, (*atoms, atom))
                left = tuple(a for a in hand.atoms if a != atom)
                state = SearchState(after, hand._replace(atoms=left, dim=dim) if left else ())
                yield Move("collective_permute", state, 0, 0 if left else 2 * hand.alive, begins=False)
        if space.parts(atoms) < hand.dims[dim]:
            return


def all_reduces(space: Space, layout: AtomLayout) -> Iterator[Move]:
    """partial(x, y) -> partial(y): combine over some atoms."""
    block = space.local(layout.dims)
    for count in range(1, len(layout.partial) + 1):
        for gone in combinations(layout.partial, count):
            if space.in_order(gone, layout.partial):
                moved = cost.all_reduce(block, space.parts(gone))
                yield Move("all_reduce", SearchState(layout.less_partial(gone)), moved, 2 * block)


def reduce_scatters(space: Space, layout: AtomLayout) -> Iterator[Move]:
    """[-] partial(x) -> [x]: combine over some atoms, each device keeping one block."""
    alive = space.local(layout.dims)
    for gone in _orders(space, layout.partial):
        for dim, atoms in enumerate(layout.dims):
            if space.nests(dim, atoms, gone):
                after = layout.less_partial(gone).with_dim(dim, atoms + gone)
                block = space.local(after.dims)
                moved = cost.reduce_scatter(block, space.parts(gone))
                yield Move("reduce_scatter", SearchState(after), moved, alive + block)


def replicated_to_unreduced(space: Space, layout: AtomLayout) -> Iterator[Move]:
    """[-] -> [-] partial(x): the first device keeps the value, the others hold what changes nothing."""
    if layout.settled:
        wanted = [a for a in space.free(layout) if a in space.goal.partial]
        for atom in space.first_alike(wanted):
            after = AtomLayout(layout.dims, tuple(sorted((*layout.partial, atom))), layout.settled)
            yield Move("replicated_to_unreduced", SearchState(after), 0, 2 * space.local(layout.dims))


def sharded_to_unreduced(space: Space, layout: AtomLayout) -> Iterator[Move]:
    """[x] -> [-] partial(x): each device's block at its place, the rest filled with what changes nothing."""
    if layout.settled and space.goal.partial:
        alive = space.local(layout.dims)
        for dim, keep, gone in _suffixes(space, layout):
            if set(gone) <= set(space.goal.partial):
                partial = tuple(sorted((*layout.partial, *gone)))
                after = AtomLayout(layout.with_dim(dim, keep).dims, partial, layout.settled)
                yield Move("sharded_to_unreduced", SearchState(after), 0, alive + space.local(after.dims))


MOVES: tuple[Callable[[Space, AtomLayout], Iterator[Move]], ...] = (
    all_gathers,
    all_slices,
    all_to_alls,
    collective_permutes,
    all_reduces,
    reduce_scatters,
    replicated_to_unreduced,
    sharded_to_unreduced,
)

PUT: dict[str, Callable[[Space, AtomLayout, Hand], Iterator[Move]]] = {
    "all_slice": _slice_more,
    "all_to_all": _put_exchanged,
    "collective_permute": _put_permuted,
}
