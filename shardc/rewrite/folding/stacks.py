"""The stacks of equal layers in a block.

Where one layer differs from the others there are two, and where layers of two kinds follow each other.
Stretches of operations that repeat are found by hash (graph/repeats.py); stack.py says what of them are
layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from xdsl.ir import Block, Operation, OpResult

from shardc.dialects.nested import ops_of
from shardc.graph.repeats import Repeat, repeats
from shardc.ops import hlo
from shardc.rewrite.folding.given import Given
from shardc.rewrite.folding.kinds import Kinds
from shardc.rewrite.folding.reads import reads
from shardc.rewrite.folding.stack import Finder, Stack
from shardc.rewrite.folding.stretches import PARTS, Stretches

LEAST = 8
"""Operations that repeat, at least."""


def stacks_of(block: Block, least: int, kinds: Kinds, functions: bool = False) -> Iterator[Stack]:
    """The stacks of equal layers of a block, those with most operations first, while so many operations are
    of none. Each operation is of one. Layers may differ in `functions` of a kind."""
    *ops, _ = ops_of(block)
    kind = {op: kinds(op) for op in ops}
    like = kinds.but_for_functions() if functions else [*range(len(kinds.numbers))]
    steps = [op for op in ops if op.name != hlo.constant.name]
    words, taken, asked = [like[kind[op]] for op in steps], set[Operation](), set[Operation]()

    def given(layered: AbstractSet[Operation]) -> Given:
        return Given(kinds.alike, layered, kind.__getitem__, asked)

    while sum(op not in taken for op in steps) >= least:
        stack = _stack(steps, words, given, taken)
        if stack is None:
            return
        yield stack
        taken.update(stack.ops)
        words = [-number if op in taken else like[kind[op]] for number, op in enumerate(steps, 1)]


def _stack(
    steps: Sequence[Operation],
    kinds: Sequence[int],
    made: Callable[[AbstractSet[Operation]], Given],
    taken: AbstractSet[Operation],
) -> Stack | None:
    """The stack with most operations; none of those `taken`."""
    found = _reading(steps, repeats(kinds, LEAST))
    most, stretches = max(found, key=lambda repeat: repeat.saved).count if found else 0, None
    while some := [repeat for repeat in found if PARTS * repeat.count >= most]:
        stretches = Stretches(steps, some, made, taken, stretches)
        parts = stretches.doubtful
        if not parts:
            return Finder(kinds, stretches).stack()
        # what reads all layers reads those before one that differs otherwise than those after it
        found = [part for repeat in found for part in parts.get(repeat, [repeat])]
        most = min([most, *(max(part.count for part in some) for some in parts.values() if some)])
    return None


def _reading(steps: Sequence[Operation], found: Sequence[Repeat]) -> list[Repeat]:
    """The stretches of which a turn reads what another one makes; all where none does.

    The others make something of arguments and constants alone, one operation as good as the other: a row of
    casts repeats every so many, and not layer by layer.
    """
    inside = {op for repeat in found for op in steps[repeat.start : repeat.stop]}

    def reading(repeat: Repeat) -> bool:
        middle = repeat.start + repeat.count // 2 * repeat.period
        own = steps[middle : middle + repeat.period]
        others = inside.difference(own)
        return any(isinstance(value, OpResult) and value.op in others for op in own for value in reads(op))

    return [repeat for repeat in found if reading(repeat)] or [*found]
