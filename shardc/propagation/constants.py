"""Every use of a constant gets a copy of its own, so that one use's sharding says nothing about another's.

    %c = stablehlo.constant dense<1.0>         %c = …; %0 = stablehlo.add %x, %c
    %0 = stablehlo.add %x, %c             ->   %c_1 = …; %1 = stablehlo.add %y, %c_1
    %1 = stablehlo.add %y, %c

What is computed from constants alone (elementwise, broadcasts, reshapes, slices, iota, and calls of functions
that do nothing else) is copied as a whole, and so is a scalar's broadcast. Scalars themselves cannot be
sharded and stay. So far this is Shardy's. `moved` constants are concatenated, transposed, reversed and padded
as well, and have copies for each way that one use lays them out: k[:, None] + k[None, :] is of two.
"""

from __future__ import annotations

from msgspec import Struct

from shardc.graph import Function, Node, Region, walk
from shardc.ops import Trait, func, has, hlo, sdy
from shardc.propagation.editing import Editor
from shardc.propagation.priorities import is_elementwise

_SHAPING = frozenset({hlo.broadcast_in_dim.name, hlo.reshape.name, hlo.slice_.name})

_MOVING = frozenset({hlo.concatenate.name, hlo.transpose.name, hlo.reverse.name, hlo.pad.name})
"""As cheap as a slice."""

_LAYING_OUT = frozenset({hlo.broadcast_in_dim.name, hlo.reshape.name, hlo.transpose.name})

_LITTLE = 16  # operations that are copied for each way in which one use lays out what they make


def split_constants(editor: Editor, moved: bool = False) -> Constants:
    """Give every use its copy; the last use in program order keeps the original."""
    found = Constants()
    for function in editor.graph.functions.values():
        splitter = _Splitter(editor, function, moved)
        splitter.run()
        found.nodes += splitter.constants
        found.calls += reversed(splitter.calls)
    return found


class Constants(Struct):
    """What was found to be constant.

    `nodes` are the original ones, in program order; `calls` those of functions, originals and copies, that
    have a use of their own, in the order of the uses.
    """

    nodes: list[Node] = []
    calls: list[Node] = []


class _Splitter:
    def __init__(self, editor: Editor, function: Function, moved: bool) -> None:
        self._editor = editor
        self._shaping = _SHAPING | _MOVING if moved else _SHAPING
        self._laying_out = _LAYING_OUT if moved else frozenset[str]()
        self._body = function.body
        self._constant: dict[int, Node] = {}
        self.constants: list[Node] = []
        self.calls: list[Node] = []  # that keep a use of their own, last one first
        self._groups: dict[int, list[Node]] = {}
        self._keeping: dict[str, bool] = {}
        self._taken: set[int] = set()
        self._operands: dict[int, tuple[int, ...]] = {}  # of constants, as they were
        self._before: dict[int, list[Node]] = {}  # copies to stand before a node, last one first

    def run(self) -> None:
        uses = [(node, number) for node in walk(self._body) for number in self._constant_operands(node)]
        for node, number in reversed(uses):
            copy = self._copy(node.operands[number], {})
            node.operands = (*node.operands[:number], copy, *node.operands[number + 1 :])
        for value in reversed(self._constant):  # unused ones must not share either
            if self._constant[value].id not in self._taken:
                self._copy(value, {})
        if self._before:
            self._insert(self._body)

    def _constant_operands(self, node: Node) -> list[int]:
        """Take note of a node if it is a constant; else the numbers of its operands that need copies."""
        if node.name == sdy.sharding_group.name:
            self._groups.setdefault(node.operands[0], []).append(node)
            return []
        if self._is_constant(node):
            self.constants.append(node)
            self._constant.update((result, node) for result in node.results)
            return []
        return [
            number
            for number, operand in enumerate(node.operands)
            if operand in self._constant and self._editor.graph.type(operand).rank
        ]

    def _is_constant(self, node: Node) -> bool:
        if has(node.name, Trait.SOURCE):
            return True
        if node.name == hlo.broadcast_in_dim.name and not self._editor.graph.type(node.operands[0]).rank:
            return True
        return self._keeps(node) and all(operand in self._constant for operand in node.operands)

    def _keeps(self, node: Node) -> bool:
        """Whether the results are constants if the operands are."""
        if node.name == func.call.name:
            return self._function_keeps(str(node.attrs["callee"]))
        elementwise = is_elementwise(node.name) and node.name != sdy.sharding_constraint.name
        return elementwise or node.name in self._shaping

    def _function_keeps(self, name: str) -> bool:
        if name not in self._keeping:
            self._keeping[name] = False  # what calls itself is an error elsewhere
            nodes = self._editor.graph.functions[name].body.nodes[:-1]
            self._keeping[name] = all(has(node.name, Trait.SOURCE) or self._keeps(node) for node in nodes)
        return self._keeping[name]

    def _copy(self, value: int, done: dict[int, int]) -> int:
        """A copy of a constant and of what it is made of; the original, the first time."""
        node = self._constant.get(value)
        if node is None or not self._editor.graph.type(value).rank:
            return value
        if value in done:
            return done[value]
        given = self._operands.setdefault(node.id, node.operands)
        inner = {} if node.name in self._laying_out and self._is_little(value) else done
        operands = tuple(reversed([self._copy(operand, inner) for operand in reversed(given)]))
        made = node
        if node.id in self._taken:
            made = self._editor.copy(node, operands)
            groups = [self._editor.copy(group, made.results) for group in self._groups.get(value, ())]
            self._before.setdefault(node.id, []).extend([*reversed(groups), made])
        self._taken.add(node.id)
        if node.name == func.call.name:
            self.calls.append(made)
        made.operands = operands
        done.update(zip(node.results, made.results, strict=True))
        return done[value]

    def _is_little(self, value: int) -> bool:
        """Whether few operations make a constant."""
        found, ahead = set[int](), [value]
        while ahead and len(found) <= _LITTLE:
            node = self._constant.get(ahead.pop())
            if node is not None and node.id not in found:
                found.add(node.id)
                ahead += self._operands.get(node.id, node.operands)
        return len(found) <= _LITTLE

    def _insert(self, region: Region) -> None:
        nodes: list[Node] = []
        for node in region.nodes:
            nodes.extend(reversed(self._before.get(node.id, ())))
            nodes.append(node)
            for inner in node.regions:
                self._insert(inner)
        region.nodes[:] = nodes
