"""Joined, or flattened, dimensions that are scattered over devices and gathered again.

    %r = reduce_scatter %j over x        f32[4608] -> f32[288], x = 16: blocks that end within pieces
    %s = all_reduce %r over y
    %g = all_gather %s over x            f32[288] -> f32[4608]

Which device has an element does not matter where each is computed with by itself meanwhile, alike on all
devices along these axes. So elements that are left may lie in other blocks than those that they stand for.
The last block is padded, and what is padding is cut off when they are gathered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct, field

from shardc.graph import Graph, Node
from shardc.graph.attrs import Dense
from shardc.layout import Axis
from shardc.ops import Trait, has, hlo, sdy, spmd
from shardc.proof.classes import Classes, Key
from shardc.proof.joined import Stretch
from shardc.proof.products import Merge

_CONSTANTS = (hlo.constant.name, sdy.constant.name)


class Blocks(Struct, frozen=True):
    """A dimension is the blocks, along axes, of another: in which collective."""

    node: int
    whole: Key
    axes: tuple[Axis, ...]
    block: Key

    @property
    def place(self) -> tuple[int, int]:
        """Number of the program, and node."""
        return self.whole[0], self.node


class Uses(Struct):
    """What makes a program's values, and what takes them."""

    graph: Graph
    makers: dict[int, Node] = {}
    takers: defaultdict[int, list[Node]] = field(default_factory=lambda: defaultdict[int, list[Node]](list))

    def read(self, nodes: Iterable[Node]) -> Uses:
        """Itself, with these operations."""
        for node in nodes:
            self.makers.update(dict.fromkeys(node.results, node))
            for value in node.operands:
                self.takers[value].append(node)
            for region in node.regions:
                for value in region.results:
                    self.takers[value].append(node)
        return self

    def around(self, value: int) -> Iterator[Node | None]:
        """What makes it (None: it is an argument), and what takes it."""
        yield self.makers.get(value)
        yield from self.takers[value]

    def is_constant(self, value: int) -> bool:
        return value in self.makers and self.makers[value].name in _CONSTANTS

    def is_alone(self, node: Node | None, axes: tuple[Axis, ...]) -> bool:
        """Whether each element is computed of those in its place alone, alike on all devices along axes."""
        if node is None or len(node.results) != 1 or node.regions:
            return False
        if node.name == spmd.all_reduce.name:
            own = cast("tuple[Axis, ...]", node.attrs["axes"])
            return not any(one.overlaps(other) for one in own for other in axes)
        if node.name in _CONSTANTS:
            return cast(Dense, node.attrs["value"]).is_splat
        if node.name == hlo.broadcast_in_dim.name:
            return self.is_constant(node.operands[0])
        shape = self.graph.type(node.results[0]).shape
        return has(node.name, Trait.ELEMENTWISE) and all(
            self.graph.type(value).shape == shape or self.is_constant(value) for value in node.operands
        )


def scattered(
    programs: Sequence[Uses],
    classes: Classes,
    blocks: Sequence[Blocks],
    stretches: Sequence[Stretch],
    merges: Sequence[Merge],
) -> list[Blocks]:
    """Those blocks, of dimensions that are joined, flattened or such blocks, of which each element is only
    computed with by itself.
    """
    _same_wholes(classes, blocks)

    def root(key: Key) -> Key:
        return classes.find(key)[0]

    apart = (key for left, _, right in classes.splits for key in (left, right))
    parts = (key for keys, _, _ in merges for key in keys)
    stay = {root(key) for key in (*classes.pinned, *classes.whole, *parts, *apart)}
    sides = [(key, stretch.size) for stretch in stretches for key, _ in stretch.sides]
    flat = {root(one) for _, one, _ in merges}
    joined = {root(key) for key, size in sides if size < classes.sizes[key]} | flat
    joined -= stay
    stay |= {root(key) for key, _ in sides} | flat
    members: defaultdict[Key, list[Key]] = defaultdict(list)
    for key in classes.above:
        members[root(key)].append(key)
    groups: defaultdict[Key, list[Blocks]] = defaultdict(list)
    moves: defaultdict[Key, set[tuple[int, int]]] = defaultdict(set)
    for each in blocks:
        groups[root(each.block)].append(each)
        for end in (each.whole, each.block):
            moves[root(end)].add(each.place)
    fits: dict[Key, bool] = {}
    for first, group in groups.items():
        axes = group[0].axes
        fits[first] = (
            first not in stay
            and len({root(each.whole) for each in group}) == 1
            and all(each.axes == axes and root(each.whole) != first for each in group)
            and all(
                (node is not None and (number, node.id) in moves[first])
                or programs[number].is_alone(node, axes)
                for number, value, _ in members[first]
                for node in programs[number].around(value)
            )
        )
    above = {first: {root(each.whole) for each in group} for first, group in groups.items()}
    while True:
        good = _reached(fits, above, joined)
        # What is blocks elsewhere, too, is no row of elements.
        elsewhere = {whole for first in groups if first not in good for whole in above[first]}
        both = {first for first in good if not elsewhere.isdisjoint({first} | above[first])}
        if not both:
            return [each for first in good for each in groups[first]]
        fits.update(dict.fromkeys(both, False))


def _reached(fits: Mapping[Key, bool], above: Mapping[Key, set[Key]], joined: Collection[Key]) -> list[Key]:
    """Blocks of joined dimensions, then blocks of such blocks."""
    good: list[Key] = []
    while more := [k for k, fit in fits.items() if fit and k not in good and above[k] <= {*joined, *good}]:
        good += more
    return good


def _same_wholes(classes: Classes, blocks: Sequence[Blocks]) -> None:
    """What is gathered of the blocks of a dimension is that dimension again."""
    changed = True
    while changed:
        changed = False
        first: dict[Key, Key] = {}
        for each in blocks:
            whole = first.setdefault(classes.find(each.block)[0], each.whole)
            unlike = classes.find(whole)[0] != classes.find(each.whole)[0]
            if unlike and classes.sizes[whole] == classes.sizes[each.whole]:
                classes.link(whole, each.whole)
                changed = True


def block_sizes(
    classes: Classes,
    found: Sequence[Blocks],
    sizes: Mapping[Key, int],
    counts: Mapping[tuple[Axis, ...], int],
) -> dict[Key, int]:
    """The new sizes of blocks that are scattered. sizes: those of dimensions that change; counts: how many
    devices are left along axes.
    """
    made: dict[Key, int] = {}
    for each in found:
        root = classes.find(each.whole)[0]
        whole = made.get(root, sizes.get(each.whole, classes.sizes[each.whole]))
        made[classes.find(each.block)[0]] = -(-whole // counts[each.axes])
    roots = ((key, classes.find(key)[0]) for key in classes.above)
    return {key: made[root] for key, root in roots if root in made}
