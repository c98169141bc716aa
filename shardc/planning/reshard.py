"""From one sharding of a tensor to another, moving the fewest bytes.

The search (planning/search.py) is over layouts of numbered atoms (planning/atoms.py), so a problem that
differs from another in the names of axes alone is solved once. On meshes of up to three axes it is run to the
end; beyond, it stops after a number of layouts and says what it has proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from shardc.graph.types import TensorType
from shardc.layout import Axis, Dim, LayoutError, Sharding, merge
from shardc.layout.difference import split
from shardc.planning.atoms import atoms_of
from shardc.planning.cost import Cost
from shardc.planning.moves import Layout, Move, Space
from shardc.planning.search import search
from shardc.planning.steps import FREE, Step

BUDGET = 2000  # layouts looked at before a search over more than three axes gives its best answer so far


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps from source to target and what they cost together.

    `bound` is the number of bytes below which no plan exists; `exact` says that none is cheaper.
    """

    steps: tuple[Step, ...]
    cost: Cost
    bound: int
    exact: bool


@lru_cache(maxsize=65536)
def plan(type: TensorType, source: Sharding, target: Sharding, memory_limit: int | None = None) -> Plan:
    """The cheapest way from `source` to `target`, two shardings of a tensor of global type `type`.

    `memory_limit` is the most bytes a device may have for a step's operand and result together. Raises
    LayoutError if the shardings are on different meshes, if parts of an axis in them have no common
    refinement, or if nothing that stays within the limit was found.
    """
    if source.mesh != target.mesh:
        raise LayoutError(f"a tensor cannot move from mesh {source.mesh} to mesh {target.mesh}")
    source, target = source.layout(), target.layout()
    atoms = atoms_of(source, target, type.shape)
    space = _space(type, source, target, atoms)
    found = search(space, memory_limit, None if len(source.mesh.axes) <= 3 else BUDGET)
    if found is None:
        raise LayoutError(f"no way from {source} to {target} of {type} stays within {memory_limit} bytes")
    return Plan(_steps(found.path, source, target, atoms), found.cost, found.bound, found.exact)


def _space(type: TensorType, source: Sharding, target: Sharding, atoms: Sequence[Axis]) -> Space:
    """The problem in numbers."""
    differ = bool(source.unreduced and target.unreduced) and source.kind != target.kind
    start, goal = _layout(source, atoms, not differ), _layout(target, atoms, True)
    return Space(type.shape, type.numpy.itemsize, tuple(atom.size for atom in atoms), start, goal)


def _layout(sharding: Sharding, atoms: Sequence[Axis], settled: bool) -> Layout:
    number = {atom: i for i, atom in enumerate(atoms)}
    dims = tuple(tuple(number[atom] for atom in split(dim.axes, atoms)) for dim in sharding.dims)
    partial = tuple(sorted(number[atom] for atom in split(sharding.unreduced, atoms)))
    return Layout(dims, partial, settled)


def _steps(
    path: Sequence[Move], source: Sharding, target: Sharding, atoms: Sequence[Axis]
) -> tuple[Step, ...]:
    """The moves as steps: neighbours of one kind joined, the last with the target as it is written."""
    steps: list[Step] = []
    for move in path:
        dims = tuple(Dim(merge(atoms[a] for a in dim)) for dim in move.layout.dims)
        unreduced = merge(atoms[a] for a in move.layout.partial)
        kind = target.kind if move.layout.settled and target.unreduced else source.kind
        step = Step(move.kind, Sharding(source.mesh, dims, unreduced=unreduced, kind=kind), move.bytes)
        if steps and steps[-1].kind == step.kind and step.kind in _JOINED:
            step = Step(step.kind, step.result, steps.pop().bytes + step.bytes)
        steps.append(step)
    if steps:
        steps[-1] = Step(steps[-1].kind, target, steps[-1].bytes)
    return tuple(steps)


_JOINED = ("all_gather", "reduce_scatter", *FREE)
