"""Loops that count their turns, as stablehlo.while in the form of JAX's scan.

The loop carries, in this order: the stacks and the other values the body reads (unchanged), the counter
(i32, from 0), the carried values, and the stacks that it collects. The body slices layer `counter` out of
each stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from shardc.frontend.text.builtins.elementwise import comparison
from shardc.frontend.text.carried import written
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.stacks import COUNTER, Source
from shardc.frontend.text.trees import rebuilt, tensors_of
from shardc.frontend.text.values import Tensor, Value
from shardc.ops import hlo

Turn: TypeAlias = Callable[
    [Sequence[Value], Sequence[Value], Sequence[Value]], tuple[Sequence[Value], Sequence[Value]]
]
"""What the columns of the source, what is read from outside and what is carried are in a turn ->
what is carried after it, and what it yields.
"""


class CountedLoop(Struct, frozen=True):
    """What a loop runs over, the values that its turns read, and what it carries from the first on.

    `names` is what the arguments of a turn are called, up to the carried ones, if they have names.
    """

    e: Emitter
    source: Source
    outside: Sequence[Value]
    carried: Sequence[Value]
    turn: Turn
    names: Sequence[str] = ()

    def run(self, collected: Sequence[Value] = (), names: Sequence[str] = ()) -> tuple[Value, ...]:
        """What it carries and collects, after the last turn; `names` is what the collected are called."""
        trees = (*self.carried, *collected)
        if not self.source.count and self.source.stacks:  # a stack without layers has none to slice
            return trees
        counter = self.e.splat(0, COUNTER)
        operands = [*self._fixed(), counter, *tensors_of(trees)]
        types = [operand.type for operand in operands]

        def body(*args: Tensor) -> list[Tensor]:
            if self.names:
                self.e.builder.name([arg.value for arg in args], [*self.names, *names])
            return self._body(args)

        regions = [(types, self._condition), (types, body)]
        results = self.e.ops(hlo.while_.name, *operands, results=types, regions=regions, weak=False)
        last = rebuilt(trees, results[self._at + 1 :])
        assert isinstance(last, tuple)
        return last

    def stacks(self) -> list[Value]:
        """The empty stacks that the loop fills; what one turn yields is found by building it for nothing."""
        e, made = self.e, list[Value]()
        types = [
            *(t.type for t in self._fixed()),
            COUNTER,
            *(t.type for t in tensors_of(tuple(self.carried))),
        ]

        def body(*args: Tensor) -> list[Tensor]:
            made.extend(self._turn(args)[1])
            return list(args)

        e.trial(types, body)
        shapes = [[t.type.with_shape((self.source.count, *t.shape)) for t in tensors_of(v)] for v in made]
        return [
            rebuilt(v, [e.splat(0, type) for type in types]) for v, types in zip(made, shapes, strict=True)
        ]

    def _fixed(self) -> list[Tensor]:
        """What is the same in all turns: the stacks, and what the body reads from outside."""
        return [*self.source.tensors(), *tensors_of(tuple(self.outside))]

    @property
    def _at(self) -> int:
        """Which argument is the counter."""
        return len(self._fixed())

    def _condition(self, *args: Tensor) -> list[Tensor]:
        return [comparison(self.e, args[self._at], self.e.splat(self.source.count, COUNTER), "LT")]

    def _body(self, args: Sequence[Tensor]) -> list[Tensor]:
        e, counter = self.e, args[self._at]
        carried, made = self._turn(args)
        results = tensors_of(tuple(carried))
        stacks = args[self._at + 1 + len(results) :]
        filled = [
            written(e, stack, self._place(counter), one)
            for stack, one in zip(stacks, tensors_of(tuple(made)), strict=True)
        ]
        step = e.op(hlo.add.name, counter, e.splat(1, COUNTER))
        return [*args[: self._at], step, *results, *filled]

    def _turn(self, args: Sequence[Tensor]) -> tuple[Sequence[Value], Sequence[Value]]:
        stacks = len(self.source.tensors())
        rest = list(args[stacks : self._at])
        outside: list[Value] = []
        for old in self.outside:
            tensors = [replace(rest.pop(0), weak=t.weak, sharding=t.sharding) for t in tensors_of(old)]
            outside.append(rebuilt(old, tensors))
        values = self.source.turn(self.e, args[self._at], args[:stacks])
        starts = rebuilt(tuple(self.carried), args[self._at + 1 :])
        assert isinstance(starts, tuple)
        return self.turn(values, outside, starts)

    def _place(self, counter: Tensor) -> Tensor:
        """Where what a turn yields is written: beside what it was made of, as JAX's scan does."""
        if not self.source.backwards:
            return counter
        return self.e.op(hlo.subtract.name, self.e.splat(self.source.count - 1, COUNTER), counter)
