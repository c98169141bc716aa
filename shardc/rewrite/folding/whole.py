"""A folded program made whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from shardc.dialects.arrays import is_array
from shardc.dialects.locations import locate, location_of
from shardc.dialects.nested import nested
from shardc.dialects.sdy import ManualComputationOp
from shardc.dialects.sdy_attributes import ShardingPerValueAttr
from shardc.dialects.sidecars import BESIDE
from shardc.graph.marks import GROUP
from shardc.rewrite.folding.functions import Own, Owners
from shardc.rewrite.folding.located import Holders
from shardc.rewrite.folding.notes import Border, Folded, Unlike, entry, item, shardings
from shardc.rewrite.folding.own_names import OwnNames
from shardc.rewrite.folding.places import Slot
from shardc.rewrite.folding.reads import copied, reads, replace_reads
from shardc.rewrite.folding.unfolding import At, Layers, Read, Wanted
from shardc.rewrite.outline import group_number


def unfold(module: ModuleOp, notes: Folded) -> tuple[list[Own], Holders]:
    """Put back the layers of a stack that a module's per-device program is without; what of them is to have
    its own functions, and by what its own part is said.

    Unlike if nobody knows what they are; the module is then half rewritten.
    """
    function = entry(module)
    inner, *rest = function.body.block.ops
    if not isinstance(inner, ManualComputationOp) or len(rest) != 1:
        raise Unlike("there is more than per-device code")
    layers = Layers(inner.body.block, notes, inner.body.block.args)
    owners = Owners(module, notes.stack, notes.functions)
    holders = Holders(notes.stack, notes.part)
    body = _Body(layers, owners, holders).block()
    block = _arguments(function.body.block, notes)
    made = ManualComputationOp.create(
        operands=list(block.args),
        result_types=[inner.results[number].type for number, _ in notes.results],
        properties={
            **inner.properties,
            "in_shardings": _picked(inner.in_shardings, notes.arguments),
            "out_shardings": _picked(inner.out_shardings, notes.results),
        },
        attributes=_beside(inner.attributes, notes),
        regions=[Region(body)],
        location=inner.location,
    )
    block.add_ops([made, ReturnOp(*made.results)])
    _sign(function, notes, block)
    return owners.found, holders


def _arguments(old: Block, notes: Folded) -> Block:
    """A block with an argument like one of an old block for each of the whole program's, named as there."""
    block = Block(arg_types=[old.args[number].type for number, _ in notes.arguments])
    for argument, location, name in zip(block.args, notes.locations, notes.names, strict=True):
        locate(argument, location_of(location))
        argument.name_hint = name.data or None
    return block


class _Body:
    """The per-device operations of the whole program."""

    def __init__(self, layers: Layers, owners: Owners, holders: Holders) -> None:
        self.layers, self.notes, self.owners, self.holders = layers, layers.notes, owners, holders
        old = layers.block
        self.new = _arguments(old, self.notes)
        self.arguments: dict[SSAValue, SSAValue] = {}
        self.given: dict[tuple[Slot, int], BlockArgument] = {}
        for argument, (number, layer) in zip(self.new.args, self.notes.arguments, strict=True):
            place = layers.slots.get(old.args[number])
            if layer < 0:
                self.arguments[old.args[number]] = argument
                layer = layers.new(place[1]) if place else layer
            if place:
                self.given[place[0], layer] = argument
        self.names = OwnNames(self.given, self.notes.cut, layers.new(self.notes.cut))
        self.made: dict[At, Operation] = {}
        self.copies: dict[SSAValue, SSAValue] = {}
        self.groups: dict[tuple[str, int], str] = {}
        self.numbers = count(1 + max(map(group_number, nested(old.ops)), default=0))

    def block(self) -> Block:
        """The block with all operations, taken from the old one or copied."""
        end = self.layers.block.last_op
        assert end is not None
        plan = [
            (op, layer, self.layers.wanted(op, layer)) for op, layer in self.layers.order() if op is not end
        ]
        for op, layer, wanted in plan:
            self._put(op, layer, wanted)
        if self.layers.numbers.missing:
            raise Unlike("a constant that layers have for themselves has become another")
        if self.owners.missing:
            raise Unlike("a function that a layer has for itself is in no operation of its own")
        results = [self._result(end.operands[number], layer) for number, layer in self.notes.results]
        end.detach()
        end.operands = results
        self.new.add_op(end)
        return self.new

    def _put(self, op: Operation, layer: int | None, wanted: Sequence[Wanted]) -> None:
        """Add an operation, or what it is in a layer that is missing."""
        values = [self._find(*each) for each in wanted]
        at = self.layers.at.get(op)
        if layer is None or at is None:
            op.detach()
            replace_reads(op, values)
        elif op in self.layers.shared_with_others:
            raise Unlike(f"{op.name} is of two stacks")
        else:
            op = copied(op, values)
            self._regroup(op, layer)
            self.names.name(op, self.layers.rows[at[0]][self.notes.cut], layer)
            self.layers.numbers.change(op, layer - self.notes.cut + 1)
        self.new.add_op(op)
        if at is not None:
            first = self.layers.new(at[1]) if layer is None else layer
            self.made[at[0], first] = op
            slots = [(slot, first + further) for slot, further in at[0][0]]
            self.owners.look(op, slots)
            self.holders.look(op, slots)

    def _find(self, value: SSAValue, read: Read | None, layer: int) -> SSAValue:
        """What stands for a value that was read; in a layer of the whole program, if it is of one."""
        try:
            if read is None:
                return self._early(value) if self._is_later(value) else self.arguments.get(value, value)
            if read.key is None:
                return self.given[read.slot, layer]
            return self.made[read.key, layer].results[read.index]
        except KeyError:
            raise Unlike("a value of a layer is not there yet") from None

    def _is_later(self, value: SSAValue) -> bool:
        """Whether a value is made after the operation that is put now."""
        return isinstance(value, OpResult) and value.op.parent is self.layers.block

    def _early(self, value: SSAValue) -> SSAValue:
        """What is made of constants alone, made once more."""
        if self.layers.given.constant(value) is None or not isinstance(value, OpResult):
            raise Unlike("a value that all layers read is made after the first of them")
        if value not in self.copies:
            copy = copied(value.op, [self._find(each, None, 0) for each in reads(value.op)])
            self.new.add_op(copy)
            self.copies.update(zip(value.op.results, copy.results, strict=True))
        return self.copies[value]

    def _result(self, value: SSAValue, layer: int) -> SSAValue:
        """A result of the whole program; one that is missing from what it is in the layer before the cut."""
        if layer < 0:
            return self._find(value, None, 0)
        read = self.layers.read(value, self.notes.cut - 1)
        if read is None:
            raise Unlike("a result is of no layer")
        return self._find(value, read, layer + read.layers)

    def _regroup(self, op: Operation, layer: int) -> None:
        """Give the operations of a composite another number in each layer."""
        for inner in nested([op]):
            group = inner.attributes.get(GROUP)
            if isinstance(group, StringAttr):
                name, _, rest = group.data.partition("#")
                number, _, rest = rest.partition("/")
                if (number, layer) not in self.groups:
                    self.groups[number, layer] = str(next(self.numbers))
                inner.attributes[GROUP] = StringAttr(f"{name}#{self.groups[number, layer]}/{rest}")


def _picked(held: ShardingPerValueAttr, borders: Sequence[Border]) -> ShardingPerValueAttr:
    return ShardingPerValueAttr(tuple(held.data[number] for number, _ in borders))


def _beside(attributes: Mapping[str, Attribute], notes: Folded) -> dict[str, Attribute]:
    """What stands beside the shardings of the per-device code, for each argument and result."""
    found = dict(attributes)
    for key, borders in (("in_shardings", notes.arguments), ("out_shardings", notes.results)):
        held = found.get(BESIDE[key])
        if is_array(held):
            found[BESIDE[key]] = ArrayAttr([held.data[number] for number, _ in borders])
    return found


def _sign(function: FuncOp, notes: Folded, block: Block) -> None:
    """Give a function the body and the signature of the whole program, with the shardings found since."""
    end = block.last_op
    assert end is not None
    types = FunctionType.from_lists([arg.type for arg in block.args], [value.type for value in end.operands])
    before, now = notes.function.data, function.properties
    function.properties = {**now, "function_type": types}
    for name, borders in (("arg_attrs", notes.arguments), ("res_attrs", notes.results)):
        old, found = (held.get(name) for held in (before, now))
        if is_array(old) or is_array(found):
            function.properties[name] = ArrayAttr(
                DictionaryAttr({**item(old, index), **shardings(item(found, number))})
                for index, (number, _) in enumerate(borders)
            )
    function.detach_region(function.body)
    function.add_region(Region(block))
