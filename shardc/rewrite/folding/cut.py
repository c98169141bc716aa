"""Taking layers out of the middle of a stack."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from shardc.dialects.arrays import is_array
from shardc.dialects.convert import attribute_of
from shardc.dialects.locations import locate, location_of
from shardc.rewrite.constants import value_of
from shardc.rewrite.folding.notes import Border, Folded, item, shardings
from shardc.rewrite.folding.places import NUMBERS, TIMES, Place, Slot, note_places
from shardc.rewrite.folding.reads import reads
from shardc.rewrite.folding.stack import Stack

NEAR = 2
"""Layers that are kept on either side of the cut beyond those that a layer reads from."""


class Cut:
    """`count` layers of a stack from `first` on, which go, with the operations `gone`.

    It is the stack of this number that layers are taken out of.
    """

    def __init__(self, function: FuncOp, stack: Stack, number: int) -> None:
        self.function, self.stack, self.block = function, stack, function.body.block
        self.stack_number = number
        self.first = max(stack.reach, 1) + NEAR
        self.count = max(0, stack.count - 2 * self.first)
        self.gone = {op for op, (_, layer) in stack.ops.items() if self._goes(layer)}
        self.made = {(*place, r.index): r for op, place in stack.ops.items() for r in op.results}
        self.given = {place: argument for argument, place in stack.arguments.items()}
        end = self.block.last_op
        assert end is not None
        self.end, self.results = end, list(end.operands)
        self.number = {value: number for number, value in enumerate(self.results)}
        """Value -> the number of the first result that it is."""

    def _goes(self, layer: int) -> bool:
        return self.first <= layer < self.first + self.count

    def _place(self, value: SSAValue) -> Place | None:
        """The place of a value that goes."""
        place = self.stack.place(value)
        return place if place is not None and self._goes(place[1]) else None

    def _at(self, value: SSAValue, slot: Slot, layer: int) -> SSAValue | None:
        """What a value is in another layer."""
        if isinstance(value, OpResult):
            return self.made.get((slot, layer, value.index))
        return self.given.get((slot, layer))

    # Whether it can be done

    @property
    def saved(self) -> int:
        """How many operations go, constants not counted."""
        return sum(self.stack.ops[op][0][0] != NUMBERS for op in self.gone)

    def fits(self) -> bool:
        """Whether what goes is read by layers alone, and is given and returned like something that stays."""
        staying = (op for op in self.block.ops if op is not self.end and op not in self.gone)
        return (
            not any(self._place(v) and self._instead(op, v) is None for op in staying for v in reads(op))
            and all(self._like(value) is not None for value in self.results if self._place(value))
            and self._alike_arguments()
        )

    def _instead(self, op: Operation, value: SSAValue) -> SSAValue | None:
        """What an operation that stays reads in place of a value that goes."""
        place = self._place(value)
        at = None if place is None else self.stack.ops.get(op)
        if at is None or place is None or abs(at[1] - place[1]) > self.stack.reach:
            return None
        return self._at(value, place[0], place[1] + (self.count if at[1] < self.first else -self.count))

    def _like(self, value: SSAValue) -> int | None:
        """The number of the result that a value of a layer that goes is in the last layer before them."""
        place = self._place(value)
        like = None if place is None else self._at(value, place[0], self.first - 1)
        return None if like is None else self.number.get(like)

    def _alike_arguments(self) -> bool:
        """Whether the arguments of a slot have one type and are annotated alike."""
        attrs, known = self.function.properties.get("arg_attrs"), dict[Slot, object]()
        for argument, (slot, _) in self.stack.arguments.items():
            own = shardings(item(attrs, argument.index))
            if known.setdefault(slot, (argument.type, own)) != (argument.type, own):
                return False
        return True

    # What is kept of what goes

    def notes(self) -> Folded:
        """What unfold-layers needs to know."""
        arguments = self.block.args
        kept = [argument for argument in arguments if self._place(argument) is None]
        places = (self.stack.arguments.get(argument) for argument in kept)
        number = {argument: index for index, argument in enumerate(kept)}
        left = {index: place for place, index in enumerate(self._kept_results())}
        return Folded(
            self.stack_number,
            self.first,
            self.count,
            tuple(self._argument(argument, number) for argument in arguments),
            tuple(self._result(index, left) for index in range(len(self.results))),
            tuple(() if place is None else (*place[0], self._shown(place[1])) for place in places),
            DictionaryAttr(self.function.properties),
            ArrayAttr([argument.location for argument in arguments]),
            ArrayAttr([StringAttr(argument.name_hint or "") for argument in arguments]),
            self._numbers(),
        )

    def _numbers(self) -> ArrayAttr[Attribute]:
        """Of each slot of numbers those from the layer before the cut to the one after it."""
        held = {place: op for op, place in self.stack.ops.items() if place[0][0] == NUMBERS}
        layers = range(self.first - 1, self.first + self.count + 1)
        slots = sorted({slot for slot, _ in held})
        return ArrayAttr([ArrayAttr([value_of(held[slot, layer]) for layer in layers]) for slot in slots])

    def _argument(self, argument: BlockArgument, number: dict[BlockArgument, int]) -> Border:
        place = self._place(argument)
        if place is None:
            return number[argument], -1
        return number[self.given[place[0], self.first - 1]], place[1]

    def _result(self, index: int, left: dict[int, int]) -> Border:
        place, like = self._place(self.results[index]), self._like(self.results[index])
        return (left[index], -1) if place is None or like is None else (left[like], place[1])

    def _kept_results(self) -> list[int]:
        return [index for index, value in enumerate(self.results) if self._place(value) is None]

    def _shown(self, layer: int) -> int:
        """The number of a layer that stays, among those that do."""
        return layer if layer < self.first else layer - self.count

    # Doing it

    def folded(self) -> FuncOp:
        """The function without these layers; its operations say of which layer they are."""
        kept = [argument for argument in self.block.args if self._place(argument) is None]
        block = Block(arg_types=[argument.type for argument in kept])
        new: dict[SSAValue, SSAValue] = dict(zip(kept, block.args, strict=True))
        for argument, made in zip(kept, block.args, strict=True):
            made.name_hint = argument.name_hint
            locate(made, location_of(argument.location))
        for op in self._staying():
            block.add_op(self._copy(op, new))
        results = self._kept_results()
        end = self.end.clone()
        end.operands = [new[self.results[index]] for index in results]
        block.add_op(end)
        return self._function(block, [argument.index for argument in kept], results)

    def _staying(self) -> list[Operation]:
        """The operations that stay; of those that make something of constants, what is read."""
        needed, staying = set(self.results), list[Operation]()
        for op in reversed(self.block.ops):
            if op is self.end or op in self.gone:
                continue
            free = op not in self.stack.ops and any(
                self.stack.given.constant(r) is not None for r in op.results
            )
            if free and needed.isdisjoint(op.results):
                continue
            staying.append(op)
            needed.update(self._instead(op, value) or value for value in reads(op))
        return staying[::-1]

    def _copy(self, op: Operation, new: dict[SSAValue, SSAValue]) -> Operation:
        """A copy of an operation that stays, which reads what stays."""
        read = {value: new[self._instead(op, value) or value] for value in reads(op)}
        copy = op.clone(read) if op.regions else op.clone_without_regions(read)
        new.update(zip(op.results, copy.results, strict=True))
        if op in self.stack.ops:
            slot, layer = self.stack.ops[op]
            note_places(copy, [((self.stack_number, *slot), self._shown(layer))])
            if layer == self.first - 1 and slot[0] != NUMBERS:
                copy.attributes[TIMES] = attribute_of(TIMES, self.count + 1)
        return copy

    def _function(self, block: Block, arguments: Sequence[int], results: Sequence[int]) -> FuncOp:
        """A function like the whole one, with some of its arguments and results."""
        end = block.last_op
        assert end is not None
        types = FunctionType.from_lists(
            [arg.type for arg in block.args], [value.type for value in end.operands]
        )
        properties: dict[str, Attribute] = {**self.function.properties, "function_type": types}
        for name, some in (("arg_attrs", arguments), ("res_attrs", results)):
            held = properties.get(name)
            if is_array(held):
                properties[name] = ArrayAttr([held.data[index] for index in some])
        return FuncOp.create(
            properties=properties,
            attributes=dict(self.function.attributes),
            regions=[Region(block)],
            location=self.function.location,
        )
