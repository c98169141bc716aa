"""Names of what a backward pass computes: the derivative by `params['w1']` is d_w1, that by `h` is d_h.

h = x @ params["w1"]     # line 5 of model.py

    %1 = stablehlo.dot_general %x, %w1 … loc("jit(step)/jvp()/dot_general"("model.py":5:4))
    %7 = stablehlo.dot_general %6, %x … loc("jit(step)/transpose(jvp())/dot_general"("model.py":5:4))
    %8 = stablehlo.transpose %7 … loc("jit(step)/transpose(jvp())/transpose"("model.py":5:4))
->
    %6 … loc("d_h"("model.py":6:4))
    %8 = stablehlo.transpose %7 … loc("d_w1"("model.py":5:4))

JAX gives an operation of a backward pass the place of the one that it transposes. Of a product that is one
that reads the other operand; of a value that is repeated a sum, of rows that are taken a scatter: the last is
the first that was transposed. Where a value is used several times, its derivative is the sum of all parts. A
parameter is called by the end of its path that no other of its tree has.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, NameLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from shardc.dialects.locations import locate, location_of
from shardc.dialects.nested import ops_of
from shardc.dialects.types import type_of
from shardc.frontend.python_names import blocks_of, frames
from shardc.frontend.tree_paths import last_words
from shardc.graph import Location
from shardc.ops import hlo

Locations = Mapping[Operation, Attribute]
"""Of operations, as JAX gave them: a name of the user's Python takes the place of the calls."""

_PRODUCTS = (hlo.dot_general.name, hlo.convolution.name, hlo.multiply.name)
_TRANSPOSED = {name: name for name in _PRODUCTS} | {
    hlo.reduce.name: hlo.broadcast_in_dim.name,
    hlo.scatter.name: hlo.gather.name,
}
"""Of a backward pass -> of the forward pass."""
_FORWARD = frozenset(_TRANSPOSED.values())

_FORMS = frozenset(
    definition.name
    for definition in (hlo.broadcast_in_dim, hlo.convert, hlo.reduce, hlo.reshape, hlo.reverse, hlo.transpose)
)
"""What changes only the form of a value in one pass or the other."""

_ADDED = "add_any"
"""JAX's name for the sum of the parts of a derivative."""

_AROUND = re.compile(r"transpose\(|jvp\(|\)")
_Key = tuple[str, str, tuple[Location, ...]]


def name_derivatives(
    module: ModuleOp, backward: Collection[Operation], before: Locations, named: Mapping[SSAValue, str]
) -> None:
    """Give derivatives names, in place.

    `backward` are the operations of the backward pass, `before` the locations before values got the names
    `named` of the lines of Python.
    """
    if not backward:
        return
    for function in module.body.block.ops:
        if isinstance(function, FuncOp):
            words = {**_arguments(function), **named}
            for block in blocks_of(function):
                _Block(block, backward, before, words).name()


def _arguments(function: FuncOp) -> dict[SSAValue, str]:
    """Arguments with the names that they have beside others."""
    paths = {argument: location_of(argument.location).name or "" for argument in function.args}
    ends = last_words(list(paths.values()))
    return {argument: ends[path] for argument, path in paths.items() if path in ends}


class _Block:
    """The operations of one block, of both passes."""

    def __init__(
        self,
        block: Block,
        backward: Collection[Operation],
        before: Locations,
        words: Mapping[SSAValue, str],
    ) -> None:
        self._backward, self._before, self._words = backward, before, words
        self._groups: dict[_Key, tuple[list[Operation], list[Operation]]] = defaultdict(lambda: ([], []))
        ops = ops_of(block)
        places = {self._place(op) for op in ops if op in backward}
        for op in ops if places else ():
            is_backward = op in backward
            kind = _TRANSPOSED.get(op.name) if is_backward else op.name
            if kind in _FORWARD and self._place(op) in places:
                self._groups[(str(kind), self._scope(op), self._stack(op))][is_backward].append(op)

    def _place(self, op: Operation) -> Location:
        return location_of(self._before[op]).named(None)

    def _stack(self, op: Operation) -> tuple[Location, ...]:
        return tuple(place.named(None) for place in frames(self._before[op]))

    def _scope(self, op: Operation) -> str:
        """The names of modules and functions around an operation, in one pass as in the other."""
        loc = self._before[op]
        path = loc.desc.data if isinstance(loc, NameLoc) else ""
        return _AROUND.sub("", path.rpartition("/")[0])

    def name(self) -> None:
        for (kind, _, _), (forward, backward) in self._groups.items():
            if kind in _PRODUCTS:
                self._products(forward, backward)
            else:
                self._forms(forward, backward)

    def _products(self, forward: Sequence[Operation], backward: Sequence[Operation]) -> None:
        """A transposed product reads the operand by which it does not differentiate, and no other such one:
        that is the derivative of what makes this operand, as exp(x) is of exp(x).
        """
        found: dict[tuple[int, int], list[tuple[Operation, Operation]]] = defaultdict(list)
        sources = [[self._origin(value) for value in op.operands] for op in backward]
        readers: dict[SSAValue, list[int]] = defaultdict(list)
        for i, read in enumerate(sources):
            for source in read:
                readers[source].append(i)
        for product in forward:
            made: set[SSAValue] = set()
            others = [self._origin(value) for value in reversed(product.operands)]
            for i in sorted({i for other in others for i in readers[other]}):
                op = backward[i]
                for side, other in enumerate(others):
                    reads = sources[i].index(other) if other in sources[i] else None
                    if reads is not None and op.operands[1 - reads] not in made:
                        found[side, reads].append((product, op))
                        made.update(op.results)
        for (side, reads), pairs in found.items():
            for product, op in _one_to_one(pairs):
                self._name_by(product, product.operands[side], op.results[0])
                if product.name != hlo.multiply.name:
                    self._name_of_result(product, op.operands[1 - reads])

    def _forms(self, forward: Sequence[Operation], backward: Sequence[Operation]) -> None:
        """The last that was repeated or taken is the first whose derivative is summed or scattered."""
        firsts = [op for op in forward if self._word(op.operands[0]) is not None]
        places = {self._place(op) for op in firsts}
        lasts = {op: [value.type for value in self._chain(op.results[0], places)] for op in backward}
        for result_type in {op.operands[0].type for op in firsts}:
            fitting = [op for op in firsts if op.operands[0].type == result_type]
            found = [op for op, ends in lasts.items() if result_type in ends]
            if len(fitting) == len(found):
                for op, other in zip(fitting, reversed(found), strict=True):
                    self._name_by(op, op.operands[0], other.results[0])

    def _word(self, value: SSAValue) -> str | None:
        return self._words.get(self._origin(value))

    def _origin(self, value: SSAValue) -> SSAValue:
        """The value of which one is another form, as far back as to one that has a name."""
        owner = value.owner
        while value not in self._words and isinstance(owner, Operation) and owner.name in _FORMS:
            value = owner.operands[0]
            owner = value.owner
        return value

    def _name_by(self, op: Operation, operand: SSAValue, part: SSAValue) -> None:
        """Name the derivatives by the operand of an operation, of which `part` is one part, and by what that
        is another form of.
        """
        value, places = operand, {self._place(op)}
        while True:
            if value in self._words:
                self._name_in(list(self._chain(part, places)), value)
            owner = value.owner
            if not isinstance(owner, Operation) or owner.name not in _FORMS:
                return
            places.add(self._place(owner))
            value = owner.operands[0]

    def _name_in(self, chain: Sequence[SSAValue], value: SSAValue) -> None:
        """Name the derivative by a value, which is the last of its type."""
        fitting = [i for i, part in enumerate(chain) if part.type == value.type]
        if fitting:
            _name(_before_ones(chain[: fitting[-1] + 1]), self._words[value])

    def _name_of_result(self, op: Operation, derivative: SSAValue) -> None:
        """Name the derivative by what an operation gives, or by what only adds to that."""
        value = op.results[0]
        while value not in self._words:
            users = [use.operation for use in value.uses if use.operation not in self._backward]
            if len(users) != 1 or users[0].name != hlo.add.name or users[0].results[0].type != value.type:
                return
            value = users[0].results[0]
        owner = derivative.owner
        if derivative.type == value.type and isinstance(owner, Operation) and owner in self._backward:
            _name(derivative, self._words[value])

    def _chain(self, value: SSAValue, places: Collection[Location]) -> Iterator[SSAValue]:
        """A part of a derivative, its sum with others, and the forms that it takes at these places."""
        while True:
            yield value
            users = [use.operation for use in value.uses]
            if len(users) != 1 or users[0] not in self._backward or len(users[0].results) != 1:
                return
            path = location_of(self._before[users[0]]).name or ""
            is_form = users[0].name in _FORMS and self._place(users[0]) in places
            if not is_form and not path.endswith(_ADDED):
                return
            value = users[0].results[0]


def _before_ones(chain: Sequence[SSAValue]) -> SSAValue:
    """The last value, or the same before dimensions of size 1 came and went, which shardc leaves out."""
    first = last = chain[-1]
    for value, after in zip(reversed(chain[:-1]), reversed(chain), strict=False):
        owner = after.owner
        plain = isinstance(owner, Operation) and owner.name in (hlo.reshape.name, hlo.reduce.name)
        if not plain or _size(value) != _size(last):
            break
        first = value if value.type == last.type else first
    return first


def _size(value: SSAValue) -> int:
    return type_of(value.type).size


def _one_to_one(pairs: Sequence[tuple[Operation, Operation]]) -> Iterator[tuple[Operation, Operation]]:
    """The pairs whose operations are in no other one. Of several that go with the same ones, turns of a loop
    or products of one value, the last was transposed first."""
    beside: dict[Operation, list[Operation]] = defaultdict(list)
    for one, other in pairs:
        beside[one].append(other)
    alike: dict[tuple[Operation, ...], list[Operation]] = defaultdict(list)
    for one, others in beside.items():
        alike[tuple(others)].append(one)
    taken = Counter(other for others in alike for other in others)
    for others, ones in alike.items():
        if len(ones) == len(others) and all(taken[other] == 1 for other in others):
            yield from zip(ones, reversed(others), strict=True)


def _name(value: SSAValue, word: str) -> None:
    owner = value.owner
    if isinstance(value, BlockArgument) or not isinstance(owner, Operation) or len(owner.results) != 1:
        return
    locate(owner, location_of(owner.location).named(f"d_{word.strip('_')}"))
