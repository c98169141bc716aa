"""A run of nodes that is to be one function of jax.numpy, seen from its last node: what matchers ask."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import isclose
from typing import Protocol, cast

import numpy as np

from shardc.analysis.loops import Constants
from shardc.backend.python import idiom
from shardc.backend.python.names import source_name
from shardc.backend.python.ranges import Range
from shardc.graph import DTYPES, Graph, Node, is_float
from shardc.ops import OpDef, combiner, hlo

SHAPES = (hlo.broadcast_in_dim.name, hlo.reshape.name, idiom.same.name)
Dims = tuple[int, ...]


class Program(Protocol):
    """What makes each value, how often it is used, over what it varies, the element of a constant, the
    constants of loops and what they count, and which values are compared.
    """

    graph: Graph
    constants: Constants
    made: dict[int, Node]
    counters: dict[int, Range]
    compared: set[int]
    count: Mapping[int, int]
    varying: Mapping[int, frozenset[str]]

    def splat(self, value: int) -> object: ...


class Other(Exception):
    """The nodes are something else."""


class Run:
    """Nodes on the way from a last one back; `used` counts how often the run uses what it makes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.used: dict[int, int] = defaultdict(int)

    def node(self, value: int, *definitions: OpDef) -> Node:
        """What makes a value, if it is one of these; through changes of shape."""
        made = self._made(value)
        while made.name in SHAPES and made.name not in [d.name for d in definitions]:
            value = made.operands[0]
            made = self._made(value)
        if made.name not in [definition.name for definition in definitions]:
            raise Other
        return made

    def _made(self, value: int) -> Node:
        made = self.program.made.get(value)
        if made is None or source_name(self.program.graph.values[value].loc) is not None:
            raise Other
        self.used[value] += 1
        return made

    def through(self, value: int) -> int:
        """A value before changes of shape."""
        made = self.program.made.get(value)
        while made is not None and made.name in SHAPES:
            value = self._made(value).operands[0]
            made = self.program.made.get(value)
        return value

    def before_shapes(self, value: int) -> int:
        """The same, where the changes are not counted."""
        made = self.program.made.get(value)
        while made is not None and made.name in SHAPES:
            value = made.operands[0]
            made = self.program.made.get(value)
        return value

    def number(self, value: int) -> float:
        found = self._real(value)
        if found is None:
            raise Other
        return found

    def _real(self, value: int) -> float | None:
        """The one number that a value is everywhere; None if it is none, or a complex one."""
        found = self.program.splat(value)
        return None if found is None or isinstance(found, np.complexfloating) else float(cast(float, found))

    def other(self, node: Node, number: float) -> int:
        """The operand of a commutative operation beside one that is a number, as its floats have it."""
        dtype = self.program.graph.type(node.operands[0]).dtype
        rounded = np.asarray(number).astype(DTYPES[dtype][1]).item() if is_float(dtype) else number
        for one, other in (node.operands, node.operands[::-1]):
            found = self._real(one)
            if found is not None and isclose(found, rounded, rel_tol=1e-6):
                return other
        raise Other

    def reduced(self, value: int, kind: str) -> tuple[int, Dims]:
        """What a reduction that begins with its neutral element reduces, and over which dimensions."""
        made = self.node(value, hlo.reduce, idiom.keepdims, idiom.rounded)
        if made.name == idiom.rounded.name:
            self.same(made.attrs["function"], kind)
            return made.operands[0], cast(Dims, made.attrs["dimensions"])
        if len(made.operands) != 2 or combiner(made.regions[0], self.program.graph) != kind:
            raise Other
        if kind == "sum" and self.number(made.operands[1]) != 0:
            raise Other
        if kind == "max" and self.number(made.operands[1]) != -float("inf"):
            raise Other
        return made.operands[0], cast(Dims, made.attrs["dimensions"])

    def shape(self, value: int) -> Dims:
        return self.program.graph.type(value).shape

    def same(self, one: object, other: object) -> None:
        if one != other:
            raise Other

    @property
    def is_closed(self) -> bool:
        """Whether nothing else uses what is inside."""
        return all(self.program.count.get(value, 0) == uses for value, uses in self.used.items())


def kept(run: Run, x: int, dims: Dims, result: int) -> bool:
    """Whether the dimensions stay, of size 1; other shapes than that and without them are none of ours."""
    shape, found = run.shape(x), run.shape(result)
    if found == tuple(size for dim, size in enumerate(shape) if dim not in dims):
        return False
    run.same(found, tuple(1 if dim in dims else size for dim, size in enumerate(shape)))
    return True


Found = tuple[OpDef, Sequence[int], dict[str, object]]
Matcher = Callable[[Run, Node], Found]


def matching(matcher: Matcher) -> Callable[[Program, Node], Node | None]:
    def attempt(program: Program, node: Node) -> Node | None:
        run = Run(program)
        try:
            definition, operands, attrs = matcher(run, node)
        except Other:
            return None
        if not run.is_closed:
            return None
        return Node(node.id, definition.name, tuple(operands), node.results, attrs, (), node.loc)

    return attempt
