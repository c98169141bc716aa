"""A few moves out of the many in planning/moves.py, for a search that is in haste."""

from __future__ import annotations

from collections.abc import Iterator

from shardc.planning import cost
from shardc.planning.moves import (
    Atoms,
    Layout,
    Move,
    Moves,
    Space,
    all_gathers,
    all_reduces,
    all_slices,
    reduce_scatters,
    replicated_to_unreduced,
    sharded_to_unreduced,
    with_dim,
)


def next_all_to_alls(space: Space, layout: Layout) -> Iterator[Move]:
    """[(x, y), -] -> [x, y]: a dimension's last atom, or as many as the goal wants in a row elsewhere."""
    for source, atoms in enumerate(layout.dims):
        for keep in range(len(atoms)):
            gone = atoms[keep:]
            if not space.nests(source, atoms[:keep], gone):
                continue
            for target, others in enumerate(layout.dims):
                wanted = (*others, *gone) == space.goal.dims[target][: len(others) + len(gone)]
                if target != source and (wanted or len(gone) == 1) and space.nests(target, others, gone):
                    after = with_dim(with_dim(layout, source, atoms[:keep]), target, (*others, *gone))
                    chunk, n = space.local(with_dim(after, source, atoms).dims), space.parts(gone)
                    yield Move("all_to_all", after, cost.all_to_all(chunk, n), chunk * n)


def aimed_permute(space: Space, layout: Layout) -> Iterator[Move]:
    """[x, y] -> [y, x]: every atom that is in use to where the goal has it, as far as sizes allow."""
    places = [(dim, i) for dim, atoms in enumerate(layout.dims) for i in range(len(atoms))]
    left = [layout.dims[dim][i] for dim, i in places]
    chosen: dict[tuple[int, int], int] = {}
    for dim, i in places:
        wanted = space.goal.dims[dim][i : i + 1]
        if wanted and wanted[0] in left and space.sizes[wanted[0]] == space.sizes[layout.dims[dim][i]]:
            chosen[dim, i] = wanted[0]
            left.remove(wanted[0])
    for dim, i in places:
        if (dim, i) not in chosen:
            size = space.sizes[layout.dims[dim][i]]
            chosen[dim, i] = next(a for a in left if space.sizes[a] == size)
            left.remove(chosen[dim, i])
    dims: list[Atoms] = [
        tuple(chosen[d, i] for i in range(len(atoms))) for d, atoms in enumerate(layout.dims)
    ]
    if tuple(dims) != layout.dims:
        block = space.local(layout.dims)
        after = layout._replace(dims=tuple(dims))
        yield Move("collective_permute", after, cost.collective_permute(block), block)


AIMED: Moves = (
    all_gathers,
    all_slices,
    next_all_to_alls,
    aimed_permute,
    all_reduces,
    reduce_scatters,
    replicated_to_unreduced,
    sharded_to_unreduced,
)
