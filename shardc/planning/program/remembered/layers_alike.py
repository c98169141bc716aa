"""Two stacks of equal layers, whose layers are counted alike.

Each stack has stretches of operations that repeat, layer by layer, and what follows from them. One behind a
layer that differs begins with the operation after that which differs, so its layers begin elsewhere: the
operations of one stretch are those of the other from some place on, round and round.

    a b c a b c a b c      X      c a b c a b c a b
    0 0 0 1 1 1 2 2 2             2 3 3 3 4 4 4 5 5       layers that begin with a

What is then missing of a layer is what reads, or makes, the same as in other layers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct

from shardc.graph import Graph, Node
from shardc.graph.marks import TIMES
from shardc.ops import op_of
from shardc.planning.program.problem.canonical import likeness

NUMBERS = -1
"""The stretch of constants that layers have for themselves, which stay where they are read."""

Slot = tuple[int, int]
"""The number of a stretch, and the step in it."""

Place = tuple[Slot, int]
"""A slot, and the layer."""

Stretch = dict[int, list[Node]]
"""By layer the operations that repeat, in program order."""


class Layers(Struct):
    """A stack: its stretches, and where operations stand as far as that is known."""

    stretches: dict[int, Stretch] = {}
    nodes: dict[Place, Node] = {}

    def add(self, node: Node, stretch: int, layer: int) -> None:
        """Add an operation that stands after those before it."""
        if stretch != NUMBERS:
            self.stretches.setdefault(stretch, {}).setdefault(layer, []).append(node)

    @property
    def count(self) -> int:
        """How many layers there are."""
        return min((len(stretch) for stretch in self.stretches.values()), default=0)

    def has(self, count: int) -> bool:
        """Whether so many layers stay of it; where none were taken out, as many as stay before a cut."""
        return self.count == count or (self.times == 1 and self.count >= before_cut(count))

    @property
    def times(self) -> int:
        """How many layers the one before those that were taken out stands for."""
        every = (node for stretch in self.stretches.values() for nodes in stretch.values() for node in nodes)
        return max((cast("int", node.attrs.get(TIMES, 1)) for node in every), default=1)

    def put(self, number: int, stretch: Stretch, first: int) -> None:
        """Let a stretch have a number, and its layers begin with their operation `first`."""
        on = 1 if stretch[0][0].id < stretch[1][0].id else -1
        for layer, nodes in stretch.items():
            for step, node in enumerate(nodes):
                slot = number, (step - first) % len(nodes)
                self.nodes[slot, layer - on if step < first else layer] = node

    def move(self, layers: Mapping[int, int]) -> None:
        """Count the layers of stretches from so many on."""
        self.nodes = {(slot, layer + layers[slot[0]]): node for (slot, layer), node in self.nodes.items()}

    def move_all(self, layers: int) -> None:
        """Count all layers from so many on."""
        self.nodes = {(slot, layer + layers): node for (slot, layer), node in self.nodes.items()}

    def whole(self) -> list[tuple[int, int]]:
        """The first and the last layer of which each stretch has all operations."""
        steps: dict[int, dict[int, int]] = {}
        for (number, _), layer in self.nodes:
            counts = steps.setdefault(number, {})
            counts[layer] = counts.get(layer, 0) + 1
        found = [[layer for layer, n in each.items() if n == max(each.values())] for each in steps.values()]
        return [(min(layers), max(layers)) for layers in found]

    def first(self, layer: int) -> list[Node]:
        """The operations of a layer in the first stretch."""
        return [node for (slot, at), node in self.nodes.items() if slot[0] == 0 and at == layer]

    def turned(self) -> None:
        """Count the layers from the other end."""
        for number, stretch in self.stretches.items():
            last = len(stretch) - 1
            self.stretches[number] = {last - layer: nodes for layer, nodes in stretch.items()}

    def made(self) -> dict[int, tuple[Place, int]]:
        """Value -> where the operation stands that makes it, and which result it is."""
        return {v: (place, i) for place, node in self.nodes.items() for i, v in enumerate(node.results)}


def before_cut(count: int) -> int:
    """Of so many layers that stay of a stack those before the ones that were taken out."""
    return (count + 1) // 2


def together(graph: Graph, one: Layers, other: Layers, count: int) -> tuple[Layers, Layers] | None:
    """Of two stacks that of which the first layers are to stay and that of which the last are, `count` of
    both, in one count; None where their layers are not equal. The first stack begins before the other."""
    if count < 2 or not one.has(count) or not other.has(count):
        return None
    pairs = [*_pairs(graph, one, other)]
    if not pairs:
        return None
    if len({stretch[0][0].id < stretch[1][0].id for stretch in pairs[0][:2]}) > 1:
        other.turned()
        pairs = [*_pairs(graph, one, other)]
    for number, (a, b, first) in enumerate(pairs):
        later = a[0][0].id > b[0][0].id
        one.put(number, a, -first % len(a[0]) if later else 0)
        other.put(number, b, 0 if later else first)
    moved = _moved(one, other, min(one.count, other.count) // 2, len(pairs))
    if moved is None:
        return None
    other.move(moved)
    found = [a for a, _, _ in pairs]
    for number, stretch in enumerate((s for s in one.stretches.values() if s not in found), len(pairs)):
        one.put(number, stretch, 0)
    missing = _Missing(graph, one, one.count // 2)
    for stack in (one, other):
        missing.find(stack)
    a = found[0]
    low, high = (one, other) if a[0][0].id < a[1][0].id else (other, one)
    low.move_all(-max(least for least, _ in low.whole()))
    high.move_all(count - 1 - min(most for _, most in high.whole()))
    return low, high


def _pairs(graph: Graph, one: Layers, other: Layers) -> Iterator[tuple[Stretch, Stretch, int]]:
    """The stretches of two stacks that repeat the same, and with which step layers begin as in the first."""
    left = [(stretch, _kinds(graph, stretch)) for stretch in other.stretches.values()]
    for stretch in one.stretches.values():
        kinds = _kinds(graph, stretch)
        for index, (like, others) in enumerate(left):
            first = _beginning(kinds, others)
            if first is not None:
                del left[index]
                yield stretch, like, first
                break


def _kinds(graph: Graph, stretch: Stretch) -> list[Hashable]:
    return [likeness(op_of(graph, node)) for node in stretch[0]]


def _beginning(kinds: Sequence[Hashable], others: Sequence[Hashable]) -> int | None:
    """From where on the others are these, round and round."""
    if len(kinds) == len(others):
        for first in range(len(others)):
            if others[first] == kinds[0] and [*others[first:], *others[:first]] == kinds:
                return first
    return None


def _moved(one: Layers, other: Layers, layer: int, count: int) -> dict[int, int] | None:
    """From where on to count the layers of each stretch of the other stack, so that they read from as many
    layers before as those of the first; None where there is no such count."""
    makes, likes = one.made(), other.made()
    beside: dict[int, set[tuple[int, int]]] = {}
    for (slot, at), node in one.nodes.items():
        like = other.nodes.get((slot, at)) if at == layer else None
        if like is not None and like.name != node.name:
            return None
        for value, read in zip(node.operands, like.operands, strict=True) if like else ():
            if value in makes and read in likes:
                ((target, before), index), ((found, then), number) = makes[value], likes[read]
                if (target, index) != (found, number):
                    return None
                beside.setdefault(slot[0], set()).add((target[0], before - then))
                beside.setdefault(target[0], set()).add((slot[0], then - before))
    moved, waiting = {0: 0}, [0]
    while waiting:
        number = waiting.pop()
        for target, more in sorted(beside.get(number, ())):
            if target not in moved:
                waiting.append(target)
            if moved.setdefault(target, moved[number] + more) != moved[number] + more:
                return None
    return moved if len(moved) == count else None


class _Missing:
    """Operations that were not found in stretches: those at the ends, where the last layer is not whole, and
    those that follow from layers in another order.

    `one` is the stack of which all that is asked for is known in the layer `middle`.
    """

    def __init__(self, graph: Graph, one: Layers, middle: int) -> None:
        self.graph, self.one, self.middle = graph, one, middle
        nodes = graph.main.body.nodes
        self.made = one.made()
        self.like = {slot: node for (slot, layer), node in one.nodes.items() if layer == middle}
        self.kinds = {slot: likeness(op_of(graph, node)) for slot, node in self.like.items()}
        self.users: dict[int, list[tuple[Node, int]]] = {}
        self.makers = {value: node for node in nodes for value in node.results}
        for node in nodes:
            for index, value in enumerate(node.operands):
                self.users.setdefault(value, []).append((node, index))
        self.slots = {node.id: slot for slot, node in self.like.items()}

    def find(self, stack: Layers) -> None:
        """Find what a stack lacks: of each layer of which anything is known."""
        layers: dict[int, set[int]] = {}
        for (number, _), layer in stack.nodes:
            layers.setdefault(number, set()).add(layer)
        every = range(stack.count)
        missing = [
            (slot, layer)
            for slot in self.like
            for layer in sorted(layers.get(slot[0], every))
            if (slot, layer) not in stack.nodes
        ]
        taken = {node.id for node in stack.nodes.values()}
        while missing:
            left: list[Place] = []
            for slot, layer in missing:
                node = self._reading(stack, slot, layer) or self._read(stack, slot, layer)
                if node is None or node.id in taken or likeness(op_of(self.graph, node)) != self.kinds[slot]:
                    left.append((slot, layer))
                else:
                    stack.nodes[slot, layer] = node
                    taken.add(node.id)
            if len(left) == len(missing):
                return
            missing = left

    def _reading(self, stack: Layers, slot: Slot, layer: int) -> Node | None:
        """The operation that reads what one of this slot does."""
        wanted = [
            (index, self._value(stack, value, layer)) for index, value in enumerate(self.like[slot].operands)
        ]
        known = [(index, value) for index, value in wanted if value is not None]
        for node, at in self.users.get(known[0][1], ()) if known else ():
            if at == known[0][0] and node.name == self.like[slot].name:
                if all(node.operands[index] == value for index, value in known):
                    return node
        return None

    def _value(self, stack: Layers, like: int, layer: int) -> int | None:
        """What a value that the middle layer reads is for another one, if an operation of layers makes it."""
        if like not in self.made:
            return None
        (slot, at), index = self.made[like]
        node = stack.nodes.get((slot, at - self.middle + layer))
        return None if node is None else node.results[index]

    def _read(self, stack: Layers, slot: Slot, layer: int) -> Node | None:
        """The operation that makes what is read of one of this slot."""
        for result in self.like[slot].results:
            for user, index in self.users.get(result, ()):
                if user.id in self.slots:
                    node = stack.nodes.get((self.slots[user.id], layer))
                    if node is not None:
                        return self.makers.get(node.operands[index])
        return None
