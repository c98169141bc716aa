"""Collectives: which dimensions of blocks are those of the result, and which are blocks of many devices.

Those that treat all positions along their axes alike let these shrink; the others keep their axes.
"""

from __future__ import annotations

from typing import cast

from shardc.graph import Node
from shardc.layout import Axis
from shardc.ops import Trait, has, hlo, sdy, spmd
from shardc.proof.scattered import Blocks
from shardc.proof.uniform import Program, treats

_ALIKE = frozenset(
    definition.name
    for definition in (
        spmd.all_reduce,
        spmd.all_gather,
        spmd.reduce_scatter,
        spmd.all_slice,
        spmd.all_to_all,
        spmd.to_partial,
        spmd.as_partial,
        spmd.vary,
        spmd.assume_equal,
        spmd.axis_index,
    )
)
"""What treats all positions along its axes alike, but for the first (to_partial). What becomes of a position
that is a number is seen where it is used.
"""

_POSITIONS = (spmd.axis_index.name, hlo.partition_id.name)

FOLDS = frozenset((spmd.all_reduce.name, spmd.reduce_scatter.name))

_MORE = FOLDS | {spmd.to_partial.name}
"""These have one more index of their axes: that which is summed over, or the first."""


def axes_of(node: Node) -> tuple[Axis, ...]:
    """The axes that an operation of per-device code runs along."""
    return cast("tuple[Axis, ...]", node.attrs.get("axes", ()))


def read_axes(program: Program) -> None:
    """Axes that a program names, those that keep their sizes, and what has indices of them."""
    users: dict[int, list[tuple[Node, int]]] = {}
    for node in program.nodes():
        _note(program, node)
        for number, value in enumerate(node.operands):
            users.setdefault(value, []).append((node, number))
    for node in program.nodes():
        if node.name in _POSITIONS and not _only_places(program, node, users):
            is_index = node.name == spmd.axis_index.name
            names = [axis.name for axis in axes_of(node)] if is_index else program.axes.names
            program.axes.pin(_line(node), names)


def count_positions(program: Program) -> None:
    """The dimensions and the axes that operations have indices of: each is computed on all devices."""
    inside = any(node.name == sdy.manual_computation.name for node in program.nodes())
    names = program.axes.names if inside else ()
    for node in program.nodes():
        more = [axis.name for axis in axes_of(node)] if node.name in _MORE else []
        program.axes.counted.append((program.indices(node), (*names, *more)))


def _line(node: Node) -> str:
    return f"{node.name} in line {node.loc.line}"


def _note(program: Program, node: Node) -> None:
    if has(node.name, Trait.GROUPED, Trait.GLOBAL_COLLECTIVE):
        program.axes.pin(_line(node), program.axes.names)
    if not has(node.name, Trait.ALONG_AXES):
        return
    axes = axes_of(node)
    program.axes.parts.update(dict.fromkeys(axis for axis in axes if axis.size > 1))
    known_kind = node.attrs.get("kind", "sum") in ("sum", "max", "min")
    if node.name not in _ALIKE or not known_kind:
        program.axes.pin(_line(node), [axis.name for axis in axes])


def _only_places(program: Program, node: Node, users: dict[int, list[tuple[Node, int]]]) -> bool:
    """Whether a position says where own blocks begin, and nothing else."""
    for user, number in users.get(node.results[0], ()):
        is_place = number in program.places.get(user.id, {})
        follows = len(user.results) == 1 and user.results[0] in program.known
        if not is_place and not (follows and _only_places(program, user, users)):
            return False
    return True


@treats(spmd.all_reduce, spmd.collective_permute, spmd.to_partial, spmd.as_partial, spmd.vary)
def _same(program: Program, node: Node) -> None:
    for value in node.operands:
        program.alike(value, node.results[0])


@treats(spmd.all_gather)
def _all_gather(program: Program, node: Node) -> None:
    _blocks(program, node, node.results[0], node.operands[0], cast(int, node.attrs["dim"]))


@treats(spmd.reduce_scatter, spmd.all_slice)
def _all_slice(program: Program, node: Node) -> None:
    _blocks(program, node, node.operands[0], node.results[0], cast(int, node.attrs["dim"]))


def _blocks(program: Program, node: Node, whole: int, block: int, along: int) -> None:
    """A dimension is the blocks of all devices along the axes."""
    others = [dim for dim in range(len(program.shape(whole))) if dim != along]
    program.alike(whole, block, others)
    axes = tuple(axis for axis in axes_of(node) if axis.size > 1)
    program.blocks.append(Blocks(node.id, program.key(whole, along), axes, program.key(block, along)))


@treats(spmd.all_to_all)
def _all_to_all(program: Program, node: Node) -> None:
    (operand,), (result,) = node.operands, node.results
    cut, joined = (cast(int, node.attrs[key]) for key in ("split_dim", "concat_dim"))
    others = [dim for dim in range(len(program.shape(operand))) if dim not in (cut, joined)]
    program.alike(operand, result, others)
    if cut == joined:
        program.alike(operand, result, [cut])
        program.pin(operand, _line(node), cut)  # whose pieces change places within blocks
        program.axes.pin(_line(node), [axis.name for axis in axes_of(node)])
        return
    program.split((operand, cut), axes_of(node), (result, cut))
    program.split((result, joined), axes_of(node), (operand, joined))


@treats(
    hlo.all_reduce,
    hlo.all_gather,
    hlo.reduce_scatter,
    hlo.all_to_all,
    hlo.collective_permute,
    hlo.collective_broadcast,
)
def _grouped(program: Program, node: Node) -> None:
    for operand, result in zip(node.operands, node.results, strict=True):
        program.alike(operand, result)


@treats(spmd.axis_index, sdy.sharding_group)
def _scalar(program: Program, node: Node) -> None:
    pass
