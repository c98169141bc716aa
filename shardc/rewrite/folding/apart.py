"""Layers that differ from the others in a part: an edit of one line of a model that is written out.

    %4 = stablehlo.tanh %3                 ->    %4 = stablehlo.tanh %3
    %5 = stablehlo.multiply %4, %c               %6 = stablehlo.dot_general %4, %w2
    %6 = stablehlo.dot_general %5, %w2

The sequence of operations repeats before such a part and after it. While layers are looked for, operations
like those of the others stand in its place (alignment.py); so the layer is as they are, and goes with them.
What it has instead is compiled by itself, between the layouts that its neighbours have, and put back with
the layer (parts.py).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from shardc.dialects.nested import ops_of
from shardc.ops import hlo
from shardc.rewrite.folding.alignment import MOST, Alignment, Expected
from shardc.rewrite.folding.parts import Part, part_of
from shardc.rewrite.folding.reads import copied


@contextmanager
def part_apart(function: FuncOp, wanted: bool = True) -> Generator[Part | None]:
    """Meanwhile layers are as others but for a part, if there is such, and it is `wanted`."""
    if not wanted:
        yield None
        return
    change = _Change(function.body.block)
    part = change.make()
    if part is None:
        change.undo()
    try:
        yield part
    finally:
        change.undo()


class _Change:
    """What is done to a block, and how it becomes what it was."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.stand: dict[int, Operation] = {}
        self.constants: list[Operation] = []
        self.read: list[tuple[Operation, int, SSAValue]] = []
        """Operations, and what they read as which operand before."""
        self.gone: list[tuple[Operation, Operation, list[SSAValue]]] = []
        """Operations, those that they stood before, and what they read."""
        self.made: dict[SSAValue, SSAValue] = {}

    def make(self) -> Part | None:
        """Let operations of others stand for those of layers that are apart; None where that cannot be, and
        only half is done."""
        *ops, _ = ops_of(self.block)
        self.steps = steps = Alignment(ops)
        if not steps.gaps:
            return None
        steps.compare()
        missing = [place for place, op in enumerate(steps.op) if op is None]
        if (not missing and not steps.apart) or len(missing) > MOST or len(steps.apart) > MOST:
            return None
        apart = [op for op in ops if op in steps.apart]
        if not all(self._stand(place, apart) for place in missing):
            return None
        if not all(self._read_others(op) for op in [*dict.fromkeys(steps.beside())]):
            return None
        readers = [(op, number, op.operands[number]) for op, number, _ in self.read]
        part = part_of(apart, [*self.stand.values()], self.made, readers)
        for op in reversed(apart):
            behind = op.next_op
            assert behind is not None
            op.detach()
            self.gone.append((op, behind, [*op.operands]))
            op.operands = []
        return part

    def _stand(self, place: int, apart: Sequence[Operation]) -> bool:
        """Make the operation of a place as others have it; whether all is known that it reads."""
        usual = self.steps.usual(place)
        if usual is None or len(usual.results) != 1 or usual.regions:
            return False
        before = next(op for op in self.steps.op[place + 1 :] if op is not None)
        values = list[SSAValue]()
        for number, value in enumerate(usual.operands):
            found = self._value(self.steps.expected(place, number), value, apart, before)
            if found is None:
                return False
            values.append(found)
        self.stand[place] = copied(usual, values)
        self.block.insert_op_before(self.stand[place], before)
        return True

    def _value(
        self, expected: Expected, usual: SSAValue, apart: Sequence[Operation], before: Operation
    ) -> SSAValue | None:
        """What an operation that stands for others reads, where another layer's reads a `usual` value."""
        if isinstance(expected, SSAValue):
            return expected
        if isinstance(expected, tuple):
            place, number = expected
            op = self.stand.get(place) or (self.steps.op[place] if place < len(self.steps.op) else None)
            return None if op is None else op.results[number]
        if isinstance(usual, OpResult) and usual.op.name == hlo.constant.name:
            constant = usual.op.clone()
            self.constants.append(constant)
            self.block.insert_op_before(constant, before)
            return constant.results[0]
        if isinstance(usual, BlockArgument):
            own = {
                v
                for op in apart
                for v in op.operands
                if isinstance(v, BlockArgument) and v.type == usual.type
            }
            return own.pop() if len(own) == 1 else None
        return None

    def _read_others(self, op: Operation) -> bool:
        """Let an operation read what stands for others, where it would if its layer were as they are."""
        if op in self.steps.apart:
            return True
        place = self.steps.place.get(op)
        for number, value in enumerate(op.operands):
            expected = None if place is None else self.steps.expected(place, number)
            stand = self.stand.get(expected[0]) if isinstance(expected, tuple) else None
            if stand is None:
                if isinstance(value, OpResult) and value.op in self.steps.apart:
                    return False
                continue
            instead = stand.results[0]
            if value is instead:
                continue
            if self.made.setdefault(instead, value) is not value:
                return False
            self.read.append((op, number, value))
            op.operands[number] = instead
        return True

    def undo(self) -> None:
        """Let the block be as it was."""
        for op, behind, operands in reversed(self.gone):
            self.block.insert_op_before(op, behind)
            op.operands = operands
        for op, number, value in reversed(self.read):
            op.operands[number] = value
        for op in [*reversed(self.stand.values()), *self.constants]:
            op.detach()
            op.drop_all_references()
        self.gone, self.read, self.stand, self.constants = [], [], {}, []
