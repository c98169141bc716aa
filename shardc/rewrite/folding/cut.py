"""Taking layers out of the middle of stacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from shardc.dialects.arrays import is_array
from shardc.dialects.convert import attribute_of
from shardc.dialects.locations import locate, location_of
from shardc.dialects.nested import nested, ops_of
from shardc.graph.marks import LAYER, NUMBERS, TIMES
from shardc.ops import Trait, has
from shardc.rewrite.constants import value_of
from shardc.rewrite.folding.functions import own_functions
from shardc.rewrite.folding.given import Kind
from shardc.rewrite.folding.kinds import Kinds
from shardc.rewrite.folding.notes import Border, Folded, item, shardings
from shardc.rewrite.folding.numbers import note_alone
from shardc.rewrite.folding.places import Place, Slot, note_places
from shardc.rewrite.folding.reads import copied, reads
from shardc.rewrite.folding.stack import Stack
from shardc.rewrite.folding.stacks import stacks_of
from shardc.rewrite.outline import renumber_groups

LONG = 50
"""Operations of a layer of which one is kept on either side of the cut, beyond those that a layer reads from;
of shorter ones two are. What planning does otherwise near the ends, and near a layer that differs, ends a few
operations further on (planning/program/search/repeats.py), and layers at the cut are to be as those between
them. Near a layer that is annotated otherwise it ends in the next one: one more is kept where there may be
such."""

LATER = 0.25
"""A stack after the first one must have so many times the operations that are worth to go: what finds layers
and puts them back runs anyway."""


class Cut:
    """`count` layers of a stack from `first` on, which go, with the operations `gone`.

    It is the stack of this `number` that layers are taken out of; after those before it, the function has
    these `arguments` and `results`, by their numbers in the whole one.
    """

    def __init__(
        self,
        function: FuncOp,
        stack: Stack,
        number: int,
        arguments: Sequence[BlockArgument],
        results: Sequence[int],
    ) -> None:
        self.function, self.stack, self.block = function, stack, function.body.block
        self.stack_number, self.arguments, self.results = number, arguments, results
        self.reach = max(stack.reach, 1)
        self.first = self.reach + (1 if self.steps >= LONG * stack.count else 2) + self._is_apart()
        self.count = max(0, stack.count - 2 * self.first)
        self.gone = {op for op, (_, layer) in stack.ops.items() if self.goes(layer)}
        staying = [(op, place) for op, place in stack.ops.items() if op not in self.gone]
        self.made = {(*place, r.index): r for op, place in staying for r in op.results}
        self.given = {place: argument for argument, place in stack.arguments.items()}
        self.returned = returned(function)
        self.number = {value: number for number, value in enumerate(self.returned)}
        """Value -> the number of the first result that it is."""
        self.arguments_left = [argument for argument in arguments if self._place(argument) is None]
        self.results_left = [index for index in results if self._place(self.returned[index]) is None]
        self.functions = own_functions(stack.ops, stack.count, self.gone)
        """Those that layers which go have for themselves; None where others have such, or many."""

    def goes(self, layer: int) -> bool:
        """Whether a layer goes out."""
        return self.first <= layer < self.first + self.count

    def _place(self, value: SSAValue) -> Place | None:
        """The place of a value that goes."""
        place = self.stack.place(value)
        return place if place is not None and self.goes(place[1]) else None

    def _at(self, value: SSAValue, slot: Slot, layer: int) -> SSAValue | None:
        """What a value is in another layer."""
        if isinstance(value, OpResult):
            return self.made.get((slot, layer, value.index))
        return self.given.get((slot, layer))

    def _is_apart(self) -> bool:
        """Whether an argument of none of the layers is read as one of theirs is, and annotated otherwise."""
        given, layered = self.stack.given, self.stack.arguments
        kinds = defaultdict[Hashable, set[Kind | None]](set)
        for argument in layered:
            for way in _ways_read(argument):
                kinds[way].add(given.of(argument))
        others = [argument for argument in self.block.args if argument not in layered]
        pairs = ((other, kinds[way]) for other in others for way in _ways_read(other) if way in kinds)
        return any(given.of(other) not in there for other, there in pairs)

    # Whether it can be done

    @property
    def saved(self) -> int:
        """How many operations go with those that loops hold, constants not counted."""
        return self._count(self.gone)

    @property
    def steps(self) -> int:
        """How many operations the stack has with those that loops hold, constants not counted."""
        return self._count(self.stack.ops)

    def _count(self, ops: Iterable[Operation]) -> int:
        counted = [op for op in ops if self.stack.ops[op][0][0] != NUMBERS]
        loops = [op for op in counted if has(op.name, Trait.REGION)]
        return len(counted) - len(loops) + len(nested(loops))

    def fits(self) -> bool:
        """Whether what goes is read by layers alone, and is given and returned like something that stays."""
        staying = (op for op in ops_of(self.block)[:-1] if op not in self.gone)
        return (
            not any(self._place(v) and self.instead(op, v) is None for op in staying for v in reads(op))
            and all(self._like(value) is not None for value in self.returned if self._place(value))
            and self._alike_arguments()
        )

    def instead(self, op: Operation, value: SSAValue) -> SSAValue | None:
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
        places = (self.stack.arguments.get(argument) for argument in self.arguments_left)
        number = {argument: index for index, argument in enumerate(self.arguments_left)}
        left = {index: place for place, index in enumerate(self.results_left)}
        return Folded(
            self.stack_number,
            self.reach,
            self.first,
            self.count,
            tuple(self._argument(argument, number) for argument in self.arguments),
            tuple(self._result(index, left) for index in self.results),
            tuple(() if place is None else (*place[0], self.shown(place[1])) for place in places),
            DictionaryAttr(_properties(self.function, self.arguments, self.results)),
            ArrayAttr([argument.location for argument in self.arguments]),
            ArrayAttr([StringAttr(argument.name_hint or "") for argument in self.arguments]),
            ArrayAttr([ArrayAttr(map(value_of, row)) for row in self.numbers()]),
            self.functions or (),
        )

    def numbers(self) -> list[list[Operation]]:
        """Of each slot of numbers the constants from the layer before the cut to the one after it."""
        held = {place: op for op, place in self.stack.ops.items() if place[0][0] == NUMBERS}
        layers = range(self.first - 1, min(self.first + self.count + 1, self.stack.count))
        slots = sorted({slot for slot, _ in held})
        return [[held[slot, layer] for layer in layers] for slot in slots]

    def _argument(self, argument: BlockArgument, number: dict[BlockArgument, int]) -> Border:
        place = self._place(argument)
        if place is None:
            return number[argument], -1
        return number[self.given[place[0], self.first - 1]], place[1]

    def _result(self, index: int, left: dict[int, int]) -> Border:
        place, like = self._place(self.returned[index]), self._like(self.returned[index])
        return (left[index], -1) if place is None or like is None else (left[like], place[1])

    def shown(self, layer: int) -> int:
        """The number of a layer that stays, among those that do."""
        return layer if layer < self.first else layer - self.count

    def note(self, op: Operation, copy: Operation) -> None:
        """Note on the copy of an operation of the stack where it stands."""
        slot, layer = self.stack.ops[op]
        note_places(copy, [((self.stack_number, *slot), self.shown(layer))])
        if layer == self.first - 1 and slot[0] != NUMBERS:
            copy.attributes[TIMES] = attribute_of(TIMES, self.count + 1)


def _ways_read(argument: BlockArgument) -> set[Hashable]:
    """Its type, with which operations read it, and as which operand."""
    return {(argument.type, use.operation.name, use.index) for use in argument.uses}


def returned(function: FuncOp) -> Sequence[SSAValue]:
    """What a function returns."""
    end = function.body.block.last_op
    assert end is not None
    return [*end.operands]


def _properties(
    function: FuncOp, arguments: Sequence[BlockArgument], results: Sequence[int]
) -> dict[str, Attribute]:
    """Those of a function like another, with some of its arguments and results."""
    values = returned(function)
    types = FunctionType.from_lists(
        [arg.type for arg in arguments], [values[index].type for index in results]
    )
    properties: dict[str, Attribute] = {**function.properties, "function_type": types}
    for name, some in (("arg_attrs", [arg.index for arg in arguments]), ("res_attrs", results)):
        held = properties.get(name)
        if is_array(held):
            properties[name] = ArrayAttr([held.data[index] for index in some])
    return properties


def cuts_of(function: FuncOp, worth: int, kinds: Kinds, functions: bool) -> list[Cut]:
    """The layers that go out of a function, stack by stack: of the first one at least so many operations, of
    later ones fewer. A few may differ from the others in `functions`."""
    block = function.body.block
    arguments: Sequence[BlockArgument] = block.args
    results: Sequence[int] = range(len(returned(function)))
    cuts: list[Cut] = []
    for stack in stacks_of(block, int(worth * LATER), kinds, functions):
        cut = Cut(function, stack, len(cuts), arguments, results)
        if cut.functions is None:
            return cuts_of(function, worth, kinds, functions=False)
        if cut.saved < (worth * LATER if cuts else worth):
            break
        if cut.fits():
            cuts.append(cut)
            arguments, results = cut.arguments_left, cut.results_left
    return cuts


def folded(function: FuncOp, cuts: Sequence[Cut]) -> FuncOp:
    """The function without the layers that go; its operations say of which layer they are."""
    arguments, results = cuts[-1].arguments_left, cuts[-1].results_left
    block = Block(arg_types=[argument.type for argument in arguments])
    new: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))
    for argument, made in zip(arguments, block.args, strict=True):
        made.name_hint = argument.name_hint
        locate(made, location_of(argument.location))
    cut_of = {op: cut for cut in cuts for op in cut.stack.ops}
    for op in _staying(function, cuts, cut_of):
        cut = cut_of.get(op)
        copy = copied(op, [new[(cut and cut.instead(op, value)) or value] for value in reads(op)])
        new.update(zip(op.results, copy.results, strict=True))
        if cut is not None:
            cut.note(op, copy)
        block.add_op(copy)
    note_alone(op for op in block.ops if LAYER not in op.attributes)
    values, last = returned(function), function.body.block.last_op
    assert last is not None
    end = last.clone()
    end.operands = [new[values[index]] for index in results]
    block.add_op(end)
    renumber_groups(block.ops)  # so that it does not matter how many there are in layers that go
    return FuncOp.create(
        properties=_properties(function, arguments, results),
        attributes=dict(function.attributes),
        regions=[Region(block)],
        location=function.location,
    )


def _staying(function: FuncOp, cuts: Sequence[Cut], cut_of: Mapping[Operation, Cut]) -> list[Operation]:
    """The operations that stay; of those that make something of constants, what is read."""
    needed, staying, given = set(returned(function)), list[Operation](), cuts[0].stack.given
    for op in reversed(ops_of(function.body.block)[:-1]):
        cut = cut_of.get(op)
        if cut is not None and op in cut.gone:
            continue
        free = cut is None and any(given.constant(result) is not None for result in op.results)
        if free and needed.isdisjoint(op.results):
            continue
        staying.append(op)
        needed.update((cut and cut.instead(op, value)) or value for value in reads(op))
    return staying[::-1]
