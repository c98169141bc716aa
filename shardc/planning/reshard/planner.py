"""From one sharding of a tensor to another, moving the fewest bytes.

The search (search.py) is over layouts of numbered atoms (atoms.py), so a problem that
differs from another in the names of axes alone is solved once. It is run to the end where that takes a second
or two on meshes of up to three axes, and half a second beyond. Then finer pieces of axes are tried, a while
each, for fewer bytes than are known: those of one pair of axes that changes places, and those of several
together where two of them gain by themselves. A plan carries what has been proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from shardc.graph.types import TensorType
from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding, merge
from shardc.layout.difference import pieces, split
from shardc.planning.reshard.atoms import MANY, atoms_of
from shardc.planning.reshard.cost import ReshardCost
from shardc.planning.reshard.estimate import Estimate
from shardc.planning.reshard.moves import SearchState
from shardc.planning.reshard.search import Found, Taken, least_bytes, search
from shardc.planning.reshard.smaller import Smaller, smaller
from shardc.planning.reshard.space import AtomLayout, Space
from shardc.planning.reshard.steps import FREE, ReshardStep

EFFORT = 10_000  # moves tried before a search gives its best answer so far (an eighth of a second)
WHOLE_EFFORT = 200_000  # the same for whole axes of a mesh that has no more than MANY
FINER_EFFORT = 3_000  # the same where pieces are finer, and only ways of fewer bytes are looked for
UNEVEN_EFFORT = 1_000  # the same on meshes of more than MANY axes that do not divide the tensor
FEW = 4  # pieces, of which cuts are worth any byte that they save
WORTH_CUTTING = 64  # of more than FEW: cuts have to save more than this part of the bytes
HASTE = (0.3, 1, 4)  # how a search that finds something good soon is hurried, one after the other
HASTY_EFFORT = 4_000  # moves tried in such a search


class Reshard(Struct, frozen=True):
    """The steps from source to target and what they cost together.

    No plan has fewer bytes than `bound`, whatever pieces of axes it moves; `exact`: this one has no more.
    `tried`: so many moves were looked at to find it. `at_once`: it is one collective, whatever else there is.
    """

    steps: tuple[ReshardStep, ...]
    cost: ReshardCost
    bound: int
    exact: bool
    tried: int
    at_once: bool = False


class TooLittleMemory(LayoutError):
    """No way was found that stays within the bytes that a device may use."""


@lru_cache(maxsize=65536)
def plan(
    type: TensorType,
    source: Sharding,
    target: Sharding,
    memory_limit: int | None = None,
    idle_axes: bool = True,
    manual: frozenset[str] = frozenset(),
) -> Reshard:
    """The cheapest way from `source` to `target`, two shardings of a tensor of global type `type`.

    `memory_limit` is the most bytes a device may have for a step's operand and result together. With
    `idle_axes` devices that hold copies before and after may share the work: an all-reduce over x becomes a
    slice over y, an all-reduce of the smaller block, and an all-gather, where that is fewer bytes. Not along
    `manual` axes: a block of per-device code that is written for them is another on every device. Raises
    LayoutError if the shardings are on different meshes or parts of an axis in them have no common
    refinement, TooLittleMemory if nothing that stays within the limit was found.
    """
    if source.mesh != target.mesh:
        raise LayoutError(f"a tensor cannot move from mesh {source.mesh} to mesh {target.mesh}")
    source, target = source.layout(), target.layout()
    small = smaller(type, source, target, manual) if len(source.mesh.several) > MANY else None
    if small is not None:
        try:
            found = plan(small.type, small.source, small.target, memory_limit, idle_axes)
        except TooLittleMemory:
            raise _too_little(type, source, target, memory_limit) from None
        if all(small.tiles(type, step.result) for step in found.steps):
            return replace(found, steps=tuple(_back(small, found.steps, source, target)))
    sets = atoms_of(source, target, type.shape, idle_axes, manual)
    best: Reshard | None = None
    whole = gains = tried = 0
    finer = FINER_EFFORT
    for atoms in (*sets.some, sets.every):
        space = _space(type, source, target, atoms)
        if best is None:
            many = len(source.mesh.several) > MANY
            effort = EFFORT if many else WHOLE_EFFORT
            finer = UNEVEN_EFFORT if many and not space.even else FINER_EFFORT
            found = _bounded(space, memory_limit, effort)
            whole = found.way.cost.bytes if found.way else 0
        elif atoms is not sets.every:
            found = search(space, memory_limit, finer, below=_less_than(whole, atoms))
            gains += found.way is not None
        elif sets.joined and gains < 2:
            found = Found(None, least_bytes(space), False)
        else:
            below = _less_than(best.cost.bytes, atoms)
            found = search(space, memory_limit, finer, below=below)
        tried += found.tried
        if found.way is not None and (best is None or found.way.cost < best.cost):
            best = Reshard(_steps(found.way.path, source, target, atoms), found.way.cost, 0, False, 0)
        if best is not None:
            bound = min(best.cost.bytes, found.bound)
            best = replace(best, bound=bound, exact=bound == best.cost.bytes, tried=tried)
    if best is None:
        raise _too_little(type, source, target, memory_limit)
    return best


def _too_little(type: TensorType, source: Sharding, target: Sharding, limit: int | None) -> TooLittleMemory:
    return TooLittleMemory(f"no way from {source} to {target} of {type} stays within {limit} bytes")


def _back(
    small: Smaller, steps: Sequence[ReshardStep], source: Sharding, target: Sharding
) -> Iterator[ReshardStep]:
    """The steps on a smaller mesh as they are on the mesh of the source."""
    for step in steps[:-1]:
        yield replace(step, result=small.back(step.result, source))
    if steps:
        yield replace(steps[-1], result=target)


@lru_cache(maxsize=65536)
def preferred_plan(
    type: TensorType,
    source: Sharding,
    target: Sharding,
    manual: frozenset[str] = frozenset(),
    memory_limit: int | None = None,
) -> Reshard:
    """The plan that a compiled program uses: the cheapest, but people expect one all-reduce of a partial sum.

    One that copies share becomes a slice, an all-reduce and an all-gather; two more steps are worth it if
    they save a quarter of the bytes, or if nothing else stays within the limit.
    """
    least = plan(type, source, target, memory_limit, manual=manual)
    if not source.unreduced:
        return least
    try:
        simple = plan(type, source, target, memory_limit, idle_axes=False)
    except TooLittleMemory:
        return least
    chosen = least if 4 * least.cost.bytes <= 3 * simple.cost.bytes else simple
    return replace(chosen, tried=least.tried + simple.tried)


def least_memory(
    type: TensorType, source: Sharding, target: Sharding, manual: frozenset[str] = frozenset()
) -> int:
    """The bytes on a device with which a way was still found: those of a step's operand and result."""
    peak = plan(type, source, target, manual=manual).cost.peak
    while True:
        try:
            peak = plan(type, source, target, peak - 1, manual=manual).cost.peak
        except TooLittleMemory:
            return peak


@lru_cache(maxsize=65536)
def least(type: TensorType, source: Sharding, target: Sharding) -> tuple[int, int]:
    """Bytes and collectives that no way from `source` to `target` has fewer of, seen without a search; none
    where parts of axes have no common refinement."""
    used = [axis for each in (source, target) for dim in each.dims for axis in dim.axes]
    try:
        atoms = pieces(source.mesh, [*source.mesh.several, *used, *source.unreduced, *target.unreduced])
    except LayoutError:
        return 0, 0
    space = _space(type, source, target, atoms)
    left = Estimate(space).left(SearchState(space.start))
    return left.bytes, left.collectives


def _less_than(bytes: int, atoms: Sequence[Axis]) -> int:
    """The bytes that a way over finer pieces of axes must stay below, to replace one that sends so many."""
    return bytes if len(atoms) <= FEW else bytes - bytes // WORTH_CUTTING


def _bounded(space: Space, limit: int | None, effort: int) -> Found:
    """The better of what an exact search has after `effort` moves and what a hasty one has."""
    careful = search(space, limit, effort)
    if careful.exact:
        return careful
    tried = careful.tried
    for haste in HASTE:
        hasty = search(space, limit, HASTY_EFFORT, haste)
        tried += hasty.tried
        if hasty.way and (careful.way is None or hasty.way.cost < careful.way.cost):
            return replace(hasty, bound=careful.bound, tried=tried)
    return replace(careful, tried=tried)


def _space(type: TensorType, source: Sharding, target: Sharding, atoms: Sequence[Axis]) -> Space:
    """The problem in numbers."""
    start, goal = _layout(source, atoms, not kinds_differ(source, target)), _layout(target, atoms, True)
    return Space(type.shape, type.numpy.itemsize, tuple(atom.size for atom in atoms), start, goal)


def kinds_differ(source: Sharding, target: Sharding) -> bool:
    """Whether partial results of one kind are to become those of another."""
    return bool(source.unreduced and target.unreduced) and source.kind != target.kind


def from_atoms(mesh: Mesh, layout: AtomLayout, atoms: Sequence[Axis], kind: str) -> Sharding:
    """A layout of numbered atoms as a sharding, with partial results of a kind."""
    dims = tuple(Dim(merge(atoms[a] for a in dim)) for dim in layout.dims)
    return Sharding(mesh, dims, unreduced=merge(atoms[a] for a in layout.partial), kind=kind)


def _layout(sharding: Sharding, atoms: Sequence[Axis], settled: bool) -> AtomLayout:
    number = {atom: i for i, atom in enumerate(atoms)}
    dims = tuple(tuple(number[atom] for atom in split(dim.axes, atoms)) for dim in sharding.dims)
    partial = tuple(sorted(number[atom] for atom in split(sharding.unreduced, atoms)))
    return AtomLayout(dims, partial, settled)


def _steps(
    path: Sequence[Taken], source: Sharding, target: Sharding, atoms: Sequence[Axis]
) -> tuple[ReshardStep, ...]:
    """The moves as steps: neighbours of one kind joined, the last with the target as it is written."""
    steps: list[ReshardStep] = []
    for move in path:
        kind = target.kind if move.layout.settled and target.unreduced else source.kind
        step = ReshardStep(move.kind, from_atoms(source.mesh, move.layout, atoms, kind), move.bytes)
        if steps and steps[-1].kind == step.kind and step.kind in _JOINED:
            step = ReshardStep(step.kind, step.result, steps.pop().bytes + step.bytes)
        steps.append(step)
    if steps:
        steps[-1] = ReshardStep(steps[-1].kind, target, steps[-1].bytes)
    return tuple(steps)


_JOINED = ("all_gather", "reduce_scatter", *FREE)
