"""Both programs at reduced shapes.

A dimension whose elements are all treated alike is cut into units, the largest pieces that every layout of it
in both programs is made of. A unit of U elements becomes one of u: the last stands for U - u + 1 equal
elements, each other for one. So the reduced programs are the full ones on arguments whose elements repeat.
Sums count every element as often as it stands for others: an operand is multiplied by its weights first.

    %s = stablehlo.reduce(%x) across dimensions = [0] : tensor<4096xf32>
 -> %w = stablehlo.constant dense<[1.0, 1.0, 4094.0]>
    %y = stablehlo.multiply %x, %w
    %s = stablehlo.reduce(%y) across dimensions = [0] : tensor<3xf32>

Axes of the mesh whose positions are all treated alike shrink in the same way (digits.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shardc.graph import Graph, walk
from shardc.layout import Mesh, size_of
from shardc.ops import sdy, spmd
from shardc.proof import uniform_collectives, uniform_indexing, uniform_regions, uniform_sums
from shardc.proof.classes import Classes, Key, Shrunk, Sized, shrunk, sized
from shardc.proof.device_scalars import only_mesh
from shardc.proof.digits import SMALL, Axes, Digits
from shardc.proof.joined import Joined
from shardc.proof.products import Products
from shardc.proof.rewriter import Change, Rewriter
from shardc.proof.scattered import Uses, block_sizes, scattered
from shardc.proof.shorter import Shorter
from shardc.proof.thinned import Shortened, Thinner
from shardc.proof.uniform import Program
from shardc.proof.uniform_collectives import axes_of, count_positions, read_axes

TABLES = (uniform_collectives, uniform_indexing, uniform_regions, uniform_sums)
"""What must have been imported: how operations treat dimensions."""


class Reduced(Struct, frozen=True):
    """The two programs at reduced shapes, what was done to which sizes and axes, and what kept others."""

    whole: Graph
    local: Graph
    units: tuple[tuple[int, int], ...]
    kept: tuple[str, ...]
    axes: tuple[tuple[str, int, int], ...] = ()
    axes_kept: tuple[str, ...] = ()
    short: tuple[tuple[str, int, int], ...] = ()
    """The axes that are shorter, with both lengths; of `axes` those that are like others shrink further."""
    exact: bool = True
    """Whether what differs there differs at full length, too."""


def reduced(whole: Graph, local: Graph, short: bool = True) -> Reduced:
    """Shrink the dimensions and the axes that can be; `short`: also axes along which devices send to their
    neighbours. The graphs that are given stay as they are.
    """
    found = _shorter(whole, local) if short else None
    if found is None:
        return _alike(whole, local)
    made = _alike(found.whole, found.local, frozenset(name for name, _, _ in found.axes))
    sizes = {name: now for name, _, now in made.axes}
    axes = [(name, before, sizes.pop(name, now)) for name, before, now in found.axes]
    rest = [each for each in made.axes if each[0] in sizes]
    return replace(made, axes=(*axes, *rest), short=found.axes, exact=found.exact)


def _read(whole: Graph, local: Graph) -> tuple[Classes, dict[Key, int], list[Program]]:
    """Which dimensions of both programs go together."""
    classes, axes = Classes(), Axes(_mesh(whole, local))
    together: dict[Key, int] = {}
    programs = [
        Program(number, graph, classes, together, axes) for number, graph in enumerate((whole, local))
    ]
    for program in programs:
        program.read()
    first, second = whole.main.body, local.main.body
    for left, right in (
        *zip(first.args, second.args, strict=True),
        *zip(first.results, second.results, strict=True),
    ):
        for dim in range(len(whole.type(left).shape)):
            classes.link((0, left, dim), (1, right, dim))
    return classes, together, programs


def _shorter(whole: Graph, local: Graph) -> Reduced | None:
    """Both programs with shorter axes where devices send to their neighbours; None if there is none."""
    mesh = _mesh(whole, local)
    nodes = (node for function in local.functions.values() for node in walk(function.body))
    sends = {
        axis.name for node in nodes if node.name == spmd.collective_permute.name for axis in axes_of(node)
    }
    names = [name for name, size in (() if mesh is None else mesh.axes) if name in sends and size > SMALL]
    if mesh is None or not names:
        return None
    classes, _, programs = _read(whole, local)
    for program in programs:
        for each in program.blocks:
            classes.split(each.whole, each.axes, each.block)
    tried = [Shorter(name, mesh.sizes[name], programs, classes) for name in names]
    found = {each.name: left for each in tried if (left := each.find()) is not None}
    if not found:
        return None
    changes: dict[Key, Change] = {}
    shortened = Shortened(mesh, found=found)
    for each in tried:
        if each.name in found:
            changes.update(each.changes(found[each.name]))
            shortened.masks.update(each.new_masks(found[each.name]))
    new_whole, new_local = (Rewriter(program, changes, shortened, {}).graph() for program in programs)
    axes = tuple((name, mesh.sizes[name], left) for name, left in found.items())
    return Reduced(
        new_whole, new_local, (), (), axes, exact=not any(each.sums for each in tried if each.name in found)
    )


def _alike(whole: Graph, local: Graph, shorter: frozenset[str] = frozenset()) -> Reduced:
    """Shrink what is all alike."""
    classes, together, programs = _read(whole, local)
    axes = programs[0].axes
    axes.shorter = shorter
    merges = [merge for program in programs for merge in program.merges]
    stretches = [stretch for program in programs for stretch in program.stretches]
    uses = [Uses(program.graph).read(program.nodes()) for program in programs]
    every = [each for program in programs for each in program.blocks]
    spread = scattered(uses, classes, every, stretches, merges)
    for each in every:
        axes.parts.update(dict.fromkeys(each.axes))
        if each not in spread:
            classes.split(each.whole, each.axes, each.block)
    merged = {key for keys, one, _ in merges for key in (*keys, one)}
    joined = Joined(classes, stretches).find(merged, {key for p in programs for key in p.ordered})
    products = Products(classes)
    rest = products.find(merges)
    for program in programs:
        program.joined, program.products = joined, products
        program.merge([merge for merge in rest if merge[1][0] == program.number])
    for program in programs:
        program.count()
    sizes = sized(classes, together, {*joined.owners, *products.owners})
    digits = _digits(programs, sizes)
    found = shrunk(sizes, {} if digits is None else digits.blocks())
    thinner = Thinner(axes.mesh, digits=digits) if digits is not None and digits.thinned() else None
    flat = {**found, **products.changes(found)}
    changes: dict[Key, Change] = {**flat, **joined.rows(flat)}
    along = {each.axes: size_of(map(thinner.axis, each.axes) if thinner else each.axes) for each in spread}
    blocks = block_sizes(classes, spread, {key: change.size for key, change in changes.items()}, along)
    changes.update((key, Shrunk(((classes.sizes[key], size),), 1)) for key, size in blocks.items())
    moves = {each.place: along[each.axes] for each in spread}
    new_whole, new_local = (Rewriter(program, changes, thinner, moves).graph() for program in programs)
    units = {change.factors[-1] for change in found.values()}
    kept = {**classes.whole, **classes.pinned}
    return Reduced(
        new_whole,
        new_local,
        tuple(sorted((old, new) for old, new in units if old != new)),
        tuple(sorted(set(kept.values()))),
        () if digits is None else tuple(digits.thinned()),
        () if digits is None else tuple(digits.reasons()),
    )


def _mesh(whole: Graph, local: Graph) -> Mesh | None:
    """The mesh whose axes may shrink: the only one that per-device code is for."""
    mesh = only_mesh(local)
    if mesh is None:
        return None
    nodes = (node for function in whole.functions.values() for node in walk(function.body))
    inside = any(node.name == sdy.manual_computation.name for node in nodes)
    return mesh if not inside or [other.axes for other in whole.meshes.values()] == [mesh.axes] else None


def _digits(programs: Sequence[Program], sizes: Mapping[Key, Sized]) -> Digits | None:
    """What becomes of the axes; None where all are short."""
    axes, classes = programs[0].axes, programs[0].classes
    if not axes.may_shrink:
        return None
    for program in programs:
        read_axes(program)
    for program in programs if axes.may_shrink else ():
        count_positions(program)
    return Digits(axes, classes, sizes).find()
