"""A program as a sequence of operations, among which equal ones are found.

What can be made anywhere (constants, broadcasts) is none of them: each layer makes what it uses of that.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from itertools import accumulate, count

from shardc.graph import Node, Region, captured
from shardc.graph.program import own_attrs
from shardc.graph.types import is_inexact
from shardc.ops import Trait, has, hlo
from shardc.proof.flat import Copy, Stretch, broadcasts, constants, outlined

Key = tuple[Hashable, ...]

_SILENT = {d.name for d in (hlo.select, hlo.convert, hlo.optimization_barrier)}


def _computes(name: str) -> bool:
    """Whether operations of the name compute elements, and don't only choose or convert them."""
    computes = has(name, Trait.ELEMENTWISE, Trait.PRODUCT) or name == hlo.reduce.name
    return computes and name not in _SILENT


def _broadcast(anywhere: Mapping[int, Node], constants: Container[int]) -> dict[int, int]:
    """Of what is broadcast, and does not follow from constants, the value that is."""
    found: dict[int, int] = {}
    for value, node in anywhere.items():
        if value not in constants:
            (operand,) = node.operands
            found[value] = found.get(operand, operand)
    return found


class Steps:
    """One of the programs: its operations but for what can be made anywhere, and what they are like."""

    def __init__(self, copy: Copy, region: Region) -> None:
        self.copy, self.region = copy, region
        self.graph = copy.graph
        self.constants = constants(region)
        self.anywhere = {**broadcasts(region), **self.constants}
        self.broadcast = _broadcast(self.anywhere, self.constants)
        self.steps = [node for node in region.nodes[:-1] if not self.is_anywhere(node)]
        self.numbers: dict[Hashable, int] = {}
        self.known: dict[int, int] = {}
        self.seen: dict[Key, int] = {}
        """Kinds by the ids of attributes and types, which equal operations mostly share."""
        self.flows: dict[Key, int] = {}
        """Numbers of what can be made anywhere, by its kind and what it is made of, and of bodies."""
        self.bodies: dict[int, int] = {}
        self.last = self._last([*self.steps, region.nodes[-1]])
        self.place = {node.id: place for place, node in enumerate(self.steps)}

    def is_anywhere(self, node: Node) -> bool:
        return bool(node.results) and node.results[0] in self.anywhere

    def _last(self, nodes: Sequence[Node]) -> dict[int, int]:
        """Where each value is last used, by way of broadcasts, too."""
        last: dict[int, int] = {}
        broadcast = self.broadcast
        for place, node in enumerate(nodes):
            for value in self.copy.uses(node) if node.regions else node.operands:
                last[broadcast.get(value, value)] = place
        return last

    def kind(self, node: Node) -> int:
        """A number that equal operations have in common."""
        known = self.known.get(node.id)
        if known is None:
            first = self.copy.like.get(node.id, node.id)
            known = self.known.get(first)
            if known is None:
                known = self.known[first] = self._kind(node)
            self.known[node.id] = known
        return known

    def _kind(self, node: Node) -> int:
        values = self.graph.values
        operands = [values[value].type for value in node.operands]
        results = [values[value].type for value in node.results]
        inside = (
            tuple([self.kind(inner) for region in node.regions for inner in region.nodes])
            if node.regions
            else ()
        )
        same = (node.name, id(node.attrs), len(operands), *map(id, operands), *map(id, results), inside)
        known = self.seen.get(same)
        if known is None:
            key = (node.name, tuple(sorted(own_attrs(node).items())), *operands, None, *results, inside)
            known = self.seen[same] = self.numbers.setdefault(key, len(self.numbers))
        return known

    def sounds(self) -> tuple[list[str], list[int]]:
        """The names of operations that compute, in order, and how many there are before each step."""
        names, before, sound = list[str](), list[int](), dict[str, bool]()
        for node in self.steps:
            before.append(len(names))
            if node.name not in sound:
                sound[node.name] = _computes(node.name)
            if sound[node.name] and node.results and is_inexact(self.graph.type(node.results[0]).dtype):
                names.append(node.name)
        return names, [*before, len(names)]

    def passing(self, start: int, stop: int) -> list[int]:
        """How many values pass from before each of some steps to it or beyond: of those that are made among
        these and used there. What else uses them does not count: what a layer keeps for the way back passes
        all that follows.
        """
        last = self._last(self.steps[start:stop])
        change = [0] * (stop - start + 2)
        for place, node in enumerate(self.steps[start:stop]):
            for value in node.results:
                if value in last:
                    change[place + 1] += 1
                    change[last[value] + 1] -= 1
        return list(accumulate(change))

    def stretch(self, start: int, stop: int) -> Stretch:
        nodes, again = self.steps[start:stop], dict[int, Node]()
        used = [v for node in nodes for v in (self.copy.uses(node) if node.regions else node.operands)]
        used = list(dict.fromkeys(used))
        for value in used:
            if value in self.anywhere:
                self._use(value, again)
        return Stretch(nodes, used, again)

    def _use(self, value: int, again: dict[int, Node]) -> None:
        """Enter what can be made anywhere, after what of that it is made of."""
        if value in self.anywhere and value not in again:
            for operand in self.anywhere[value].operands:
                self._use(operand, again)
            again[value] = self.anywhere[value]

    def flow(self, stretch: Stretch) -> Key:
        """What two stretches have in common that do the same.

        Values are numbers: by their remainder of three those that a stretch makes, those from outside and
        what can be made anywhere. The kind of an operation says how many follow it.
        """
        names = dict(zip(stretch.values, count(0, 3), strict=False))
        names.update(zip(stretch.inputs, count(1, 3), strict=False))
        for value, node in stretch.again.items():
            key = (self.kind(node), *[names[v] for v in node.operands])
            names[value] = 3 * self.flows.setdefault(key, len(self.flows)) + 2
        found, known = list[Hashable](), self.known
        for node in stretch.nodes:
            if node.regions:
                found.append(self._body(node, names))
            else:
                found.append(known[node.id] if node.id in known else self.kind(node))
            found += [names[value] for value in node.operands]
        return tuple(found)

    def _body(self, node: Node, names: Mapping[int, Hashable]) -> Hashable:
        """What an operation with regions does; for copies of it that use nothing from around one number, that
        is no kind."""
        first = self.copy.like.get(node.id, node.id)
        if first not in self.copy.closed:
            return self._flow(node, names)
        if first not in self.bodies:
            key = ("body", self._flow(node, {}))
            self.bodies[first] = -1 - self.flows.setdefault(key, len(self.flows))
        return self.bodies[first]

    def _flow(self, node: Node, names: Mapping[int, Hashable]) -> Key:
        regions = list[Key]()
        for region in node.regions:
            inside: dict[int, Hashable] = {value: names[value] for value in captured(node)}
            inside.update((value, ("argument", n)) for n, value in enumerate(region.args))
            flows = list[Key]()
            for place, inner in enumerate(region.nodes):
                flows.append((*self._flow(inner, inside), *[inside[value] for value in inner.operands]))
                inside.update((value, ("inner", place, n)) for n, value in enumerate(inner.results))
            regions.append(tuple(flows))
        return (self.kind(node), *regions)

    def outline(self, name: str, stretches: Sequence[Stretch]) -> list[int]:
        """Calls in the place of stretches; they give whatever is used after one of them."""
        used: set[int] = set()
        for stretch in stretches:
            end = self.place[stretch.nodes[-1].id]
            made = enumerate(stretch.values)
            used.update(number for number, value in made if self.last.get(value, 0) > end)
        self.region, calls = outlined(self.copy, self.region, name, stretches, sorted(used))
        return calls
