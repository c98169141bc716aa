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
from shardc.ops import Trait, has, hlo
from shardc.rewrite.folding.alignment import MOST, Alignment, Expected
from shardc.rewrite.folding.kinds import Kinds
from shardc.rewrite.folding.parts import Part, part_of
from shardc.rewrite.folding.reads import copied, reads


@contextmanager
def part_apart(function: FuncOp, kinds: Kinds, wanted: bool = True) -> Generator[Part | None]:
    """Meanwhile layers are as others but for a part, if there is such, and it is `wanted`."""
    if not wanted:
        yield None
        return
    change = _Change(function.body.block, kinds)
    part = change.make()
    if part is None:
        change.undo()
    try:
        yield part
    finally:
        change.undo()


class _Change:
    """What is done to a block, and how it becomes what it was."""

    def __init__(self, block: Block, kinds: Kinds) -> None:
        self.block, self.kinds = block, kinds
        self.stand: dict[int, Operation] = {}
        self.constants: dict[tuple[int, int], Operation] = {}
        self.read: list[tuple[Operation, int, SSAValue]] = []
        """Operations, and what they read as which operand before."""
        self.gone: list[tuple[Operation, Operation, list[SSAValue]]] = []
        """Operations, those that they stood before, and what they read."""
        self.made: dict[SSAValue, SSAValue] = {}

    def make(self) -> Part | None:
        """Let operations of others stand for those of layers that are apart; None where that cannot be, and
        only half is done."""
        *ops, _ = ops_of(self.block)
        self.steps = steps = Alignment(ops, self.kinds)
        if not steps.gaps:
            return None
        steps.compare()
        missing = [place for place, op in enumerate(steps.op) if op is None]
        if (not missing and not steps.apart) or len(missing) > MOST or len(steps.apart) > MOST:
            return None
        apart = [op for op in ops if op in steps.apart]
        if any(has(op.name, Trait.ANNOTATION) for op in apart):
            return None  # it says something of other layers, too
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
        if usual is None or len(usual.results) != 1 or len(reads(usual)) > len(usual.operands):
            return False
        behind = (op for op in self.steps.op[place + 1 :] if op is not None)
        before = next(behind, self.block.last_op)
        assert before is not None
        values = list[SSAValue]()
        for number, value in enumerate(usual.operands):
            expected = self.steps.expected(place, number)
            if expected is None and isinstance(value, OpResult) and value.op.name == hlo.constant.name:
                found = self._constant(place, number, value, before)
            else:
                found = self._value(expected, value, apart)
            if found is None:
                return False
            values.append(found)
        self.stand[place] = copied(usual, values)
        self.block.insert_op_before(self.stand[place], before)
        return True

    def _value(self, expected: Expected, usual: SSAValue, apart: Sequence[Operation]) -> SSAValue | None:
        """What an operation that stands for others reads, where another layer's reads a `usual` value."""
        if isinstance(expected, tuple):
            place, number = expected
            op = self.stand.get(place) or self.steps.op[place]
            return None if op is None else op.results[number]
        if isinstance(usual, BlockArgument) and expected is not usual:
            read = dict.fromkeys(value for op in apart for value in op.operands)
            own = [v for v in read if isinstance(v, BlockArgument) and v.type == usual.type]
            return own[0] if len(own) == 1 else expected
        return expected

    def _constant(self, place: int, operand: int, usual: OpResult, before: Operation) -> SSAValue:
        """A constant of its own, of which other layers have one each: what the first operation of the layer
        that reads it reads, too."""
        first = self.steps.first_reader(place, operand) or (place, operand)
        op = self.steps.op[first[0]]
        if op is not None:
            return op.operands[first[1]]
        if first not in self.constants:
            constant = self.constants[first] = usual.op.clone()
            self.block.insert_op_before(constant, before)
        return self.constants[first].results[0]

    def _read_others(self, op: Operation) -> bool:
        """Let an operation read what stands for others, where it would if its layer were as they are."""
        if op in self.steps.apart:
            return True
        place = self.steps.place.get(op)
        for number, value in enumerate(op.operands):
            expected = None if place is None else self.steps.expected(place, number)
            stand = self.stand.get(expected[0]) if isinstance(expected, tuple) else None
            if stand is None and isinstance(value, OpResult) and value.op in self.steps.apart:
                stand = self._read_alike(op, number, value)
                if stand is None:
                    return False
            if stand is None or value is stand.results[0]:
                continue
            if self.made.setdefault(stand.results[0], value) is not value:
                return False
            self.read.append((op, number, value))
            self._read(op, number, stand.results[0])
        return True

    def _read(self, op: Operation, operand: int, value: SSAValue) -> None:
        if op.operands[operand].type != value.type:
            self.kinds.forget(op)
        op.operands[operand] = value

    def _read_alike(self, op: Operation, operand: int, value: SSAValue) -> Operation | None:
        """Of the operations that stand for others the one whose like in another layer is read by an operation
        of the same kind."""
        found = [
            stand
            for place, stand in self.stand.items()
            if stand.results[0].type == value.type and self._is_read_by(self.steps.usual(place), op, operand)
        ]
        own = [stand for stand in found if self.made.get(stand.results[0]) is value] or found
        return own[0] if len(own) == 1 else None

    def _is_read_by(self, usual: Operation | None, op: Operation, operand: int) -> bool:
        """Whether an operation's result is an operand of one of the same kind as another one."""
        kind = self.steps.kind.get(op)
        return usual is not None and any(
            use.operation is op or (kind, operand) == (self.steps.kind.get(use.operation), use.index)
            for use in usual.results[0].uses
        )

    def undo(self) -> None:
        """Let the block be as it was."""
        for op, behind, operands in reversed(self.gone):
            self.block.insert_op_before(op, behind)
            op.operands = operands
        for op, number, value in reversed(self.read):
            self._read(op, number, value)
        for op in [*reversed(self.stand.values()), *self.constants.values()]:
            op.detach()
            op.drop_all_references()
        self.gone, self.read, self.stand, self.constants = [], [], {}, {}
