"""What layers have for themselves, from where the fold takes it out to where it is put back.

    %5 = stablehlo.multiply %4, %c         ->    func.func @own(%a0: tensor<…>, %a1: tensor<…>) -> tensor<…>
    %6 = stablehlo.dot_general %5, %w2

Its arguments are what it reads of its layer and around it: each is said by operations, that stand for those
of other layers or are the same, and read it too. Its results are values that these have in its place. In the
per-device program of the whole the arguments have layouts, as those operations read them, and so have the
values that give way; between these the function is compiled.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from shardc.dialects import kept_operations
from shardc.dialects.kept_attributes import Unkept
from shardc.dialects.nested import ops_of
from shardc.ops import Trait, has
from shardc.rewrite.constants import splat_of
from shardc.rewrite.folding.cut import Cut
from shardc.rewrite.folding.functions import FEW
from shardc.rewrite.folding.notes import Input, OwnPart, Where
from shardc.rewrite.folding.reads import copied, reads

WAYS = 4
"""By so many operations is said what an argument is, at most."""


class Part(Struct, frozen=True):
    """What layers have that is none of the others', as a function of some arguments. Its results are in place
    of the values `made` by operations that `stand` for it meanwhile; `readers` read these: each as which
    operand which value."""

    function: FuncOp
    arguments: Sequence[SSAValue]
    stand: Sequence[Operation]
    made: Sequence[SSAValue]
    readers: Sequence[tuple[Operation, int, SSAValue]]


def part_of(
    ops: Sequence[Operation],
    stand: Sequence[Operation],
    made: Mapping[SSAValue, SSAValue],
    readers: Sequence[tuple[Operation, int, SSAValue]],
) -> Part:
    """A part of these operations, in order. What reads a key of `made` reads its value in truth."""
    arguments = [*dict.fromkeys(_read(ops, made.values()))]
    return Part(_function(ops, arguments, [*made.values()]), arguments, stand, [*made], readers)


def noted(part: Part, cuts: Sequence[Cut]) -> tuple[int, OwnPart] | None:
    """The number of the stack that a part is of, and what is noted of it; None where it cannot be taken out:
    where not all of it goes, or others make the same values."""
    cut = next((cut for cut in cuts if cut.gone.issuperset(part.stand)), None)
    if cut is None or FEW * len({cut.stack.ops[op][1] for op in part.stand}) > cut.stack.count:
        return None
    read = [
        each for reader in part.readers for each in _in_truth(*reader) if each[0] is not cut.block.last_op
    ]
    if not cut.gone.issuperset(op for op, _, _ in read) or _is_made_twice(part, cut):
        return None
    readers = {value: list[Where]() for value in part.made}
    for op, number, value in read:
        readers[value].append(Where(*cut.stack.ops[op], op.name, number))
    try:
        return cut.stack_number, OwnPart(
            kept_operations.written([part.function]),
            tuple([_input(value, part, cut) for value in part.arguments]),
            tuple([_where(value, cut) for value in part.made]),
            tuple([tuple(each) for each in readers.values()]),
        )
    except (Unkept, LookupError):
        return None


def _in_truth(op: Operation, operand: int, value: SSAValue) -> Iterator[tuple[Operation, int, SSAValue]]:
    """What reads a value: not what only says of it how it is laid out."""
    if not has(op.name, Trait.ANNOTATION):
        yield op, operand, value
        return
    for use in op.results[0].uses:
        yield from _in_truth(use.operation, use.index, value)


def _input(value: SSAValue, part: Part, cut: Cut) -> Input:
    """What an argument is. LookupError if nothing of layers that go says so."""
    ways = _ways(value, part, cut)
    while isinstance(value, OpResult) and has(value.op.name, Trait.ANNOTATION):
        value = value.op.operands[0]
    if isinstance(value, BlockArgument):
        return Input(argument=value.index)
    assert isinstance(value, OpResult)
    if value.op not in cut.stack.ops:
        return Input(ways=ways, name=value.op.name)
    made = _where(value, cut)
    return Input(ways=(*ways, made), made=made)


def _ways(value: SSAValue, part: Part, cut: Cut) -> tuple[Where, ...]:
    """The operations of the same layers that read a value, too."""
    layers = {cut.stack.ops[op][1] for op in part.stand}
    found = sorted(
        (*cut.stack.ops[use.operation], use.index, use.operation.name)
        for use in value.uses
        if use.operation in cut.gone and cut.stack.ops[use.operation][1] in layers
    )
    return tuple([Where(slot, layer, name, index) for slot, layer, index, name in found[:WAYS]])


def _where(value: SSAValue, cut: Cut) -> Where:
    """The operation of a layer that goes which alone makes a value. LookupError if there is none."""
    if not isinstance(value, OpResult) or len(value.op.results) != 1 or value.op not in cut.gone:
        raise LookupError("a value is not of a layer that goes alone")
    return Where(*cut.stack.ops[value.op], value.op.name)


def _read(ops: Sequence[Operation], results: Iterable[SSAValue]) -> Iterator[SSAValue]:
    """What operations, and results that are theirs or not, read from around them, but for constants."""
    made = {value for op in ops for value in op.results}
    for value in (*(v for op in ops for v in reads(op)), *results):
        if value not in made and splat_of(value) is None:
            yield value


def _is_made_twice(part: Part, cut: Cut) -> bool:
    """Whether a value that gives way is equal to another one of its layer, and may become one with it."""
    layers = {cut.stack.ops[op][1] for op in part.stand}
    numbers: dict[SSAValue, Hashable] = {}
    known: dict[Hashable, SSAValue] = {}
    for op in ops_of(cut.block):
        place = cut.stack.ops.get(op)
        if place is None or place[1] not in layers or len(op.results) != 1:
            continue
        value = op.results[0]
        key = cut.stack.given.alike.kind(op), *(numbers.get(v, v) for v in op.operands)
        other = known.setdefault(key, value)
        numbers[value] = other
        if other is not value and not {*part.made}.isdisjoint({value, other}):
            return True
    return False


def _function(ops: Sequence[Operation], arguments: Sequence[SSAValue], results: Sequence[SSAValue]) -> FuncOp:
    """A function of the arguments that does what operations do."""
    block = Block(arg_types=[value.type for value in arguments])
    new: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))

    def copy(op: Operation) -> None:
        made = copied(op, [*map(inside, reads(op))])
        block.add_op(made)
        new.update(zip(op.results, made.results, strict=True))

    def inside(value: SSAValue) -> SSAValue:
        if value not in new and isinstance(value, OpResult):  # a constant
            copy(value.op)
        return new[value]

    for op in ops:
        copy(op)
    block.add_op(ReturnOp(*map(inside, results)))
    types = FunctionType.from_lists([a.type for a in block.args], [value.type for value in results])
    return FuncOp("main", types, Region(block))
