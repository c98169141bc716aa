"""Where the values are, in a per-device program, by which a part of layers is said (parts.py)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from shardc.analysis.text import sharding_said
from shardc.dialects.convert import python_of
from shardc.dialects.nested import ops_of
from shardc.dialects.sdy import ManualComputationOp
from shardc.dialects.shardings import sharding_of
from shardc.dialects.types import type_of
from shardc.dialects.verify import module_meshes
from shardc.graph.marks import GLOBAL
from shardc.layout import Sharding, replicated
from shardc.ops import Trait, has
from shardc.rewrite.folding.functions import Calls
from shardc.rewrite.folding.notes import Input, OwnPart, Unlike, Where
from shardc.rewrite.folding.places import OWN, Place, Slot


class Holders(Struct, dict=True):
    """The operations and calls of a stack that a part is said by, as its layers are put back."""

    stack: int
    own: OwnPart | None

    def __post_init__(self) -> None:
        self.found: list[tuple[Operation, Mapping[tuple[int, ...], int], bool]] = []
        """Each with the layers of its slots, and whether values in it are asked for."""
        inside = [] if self.own is None else self.own.inside
        self.inside = {(where.slot, where.layer) for where in inside}
        readers = () if self.own is None else self.own.readers
        self.readers = {(where.slot, where.layer) for some in readers for where in some}

    def look(self, op: Operation, slots: Sequence[Place]) -> None:
        """Note an operation of these slots and layers, if it is wanted. Unlike where that is not clear."""
        inside = not self.inside.isdisjoint(slots)
        if not inside and self.readers.isdisjoint(slots):
            return
        layers = dict(slots)
        if len(layers) < len(slots):
            raise Unlike("a function has operations of several layers, of which one has a part of its own")
        self.found.append((op, layers, inside))


class Located:
    """The operations of layers with a part; calls that values in them are asked of become what they run."""

    def __init__(self, module: ModuleOp, manual: ManualComputationOp, holders: Holders, calls: Calls) -> None:
        self.manual, self.block, self.functions = manual, manual.body.block, calls.functions
        self.meshes = module_meshes(module)
        ((self.mesh),) = {sharding_of(ref, self.meshes).mesh for ref in manual.in_shardings.data}
        self.at: dict[Where, list[tuple[Operation, CallOp | None]]] = defaultdict(list)
        """Operations, each with the call that runs it where it is in a function."""
        for op, layers, inside in holders.found:
            call = op if isinstance(op, CallOp) and not inside else None
            run = calls.run(op) if call is None else ops_of(self._callee(call))
            for each in run:
                slot = _own(each)
                if slot[:1] == (holders.stack,) and slot[1:] in layers:
                    self.at[Where(slot[1:], layers[slot[1:]], each.name)].append((each, call))

    def _callee(self, call: CallOp) -> Block:
        return self.functions[call.callee.string_value()].body.block

    def _returned(self, call: CallOp, index: int) -> SSAValue:
        end = self._callee(call).last_op
        assert end is not None
        return end.operands[index]

    def _found(self, where: Where) -> list[tuple[Operation, CallOp | None]]:
        return self.at.get(Where(where.slot, where.layer, where.name), [])

    def _op(self, where: Where) -> tuple[Operation, CallOp | None]:
        found = self._found(where)
        if len(found) != 1:
            raise Unlike(f"{where.name} of a layer with a part of its own has become something else")
        return found[0]

    # What a part reads

    def argument(self, asked: Input, type: Attribute) -> tuple[SSAValue, Sharding]:
        """A value of this global type that is whole, as one of some operations reads it, and its layout."""
        if asked.argument >= 0:
            value = self.block.args[asked.argument]
            return value, self.laid(value, type)
        for way in asked.ways:
            found = self._found(way)
            if len(found) != 1 or found[0][1] is not None:
                continue
            op, _ = found[0]
            value = op.results[0] if way.operand < 0 else op.operands[way.operand]
            if self._is(value, asked):
                sharding = self.laid(value, type)
                if not sharding.unreduced:
                    return value, sharding
        raise Unlike("what a layer's own part reads is not there as a whole")

    def _is(self, value: SSAValue, asked: Input) -> bool:
        """Whether a value is one that is asked for, in some layout."""
        origin = self._origin(value, asked.made)
        if origin is None or asked.made is None:
            return origin is not None and origin.name == asked.name
        return _is_of(origin, asked.made)

    def _origin(self, value: SSAValue, made: Where | None, call: CallOp | None = None) -> Operation | None:
        """The operation that makes a value, before its layout changes, at the latest the one that `made` it;
        None of an argument."""
        while True:
            if isinstance(value, BlockArgument):
                if call is None:
                    return None
                value, call = call.operands[value.index], None
                continue
            assert isinstance(value, OpResult)
            if isinstance(value.op, CallOp) and call is None:
                value, call = self._returned(value.op, value.index), value.op
            elif _moves(value.op) and not (made and _is_of(value.op, made)):
                value = value.op.operands[0]
            else:
                return value.op

    # What gives way to what it makes

    def given(self, where: Where, readers: Sequence[Where]) -> list[SSAValue]:
        """The values that an operation makes, or that are made of its partial results. Unlike if some reader
        reads something else."""
        op, call = self._op(where)
        if call is not None:
            raise Unlike("a value that gives way is in a function")
        for each in readers:
            reader, call = self._op(each)
            if self._origin(reader.operands[each.operand], where, call) is not op:
                raise Unlike(f"{each.name} reads something else than what gives way")
        return [*self._whole(op)]

    def _whole(self, op: Operation) -> Iterator[SSAValue]:
        waiting: list[SSAValue] = [*op.results]
        for value in waiting:
            if not self._sharding(value).unreduced:
                yield value
                continue
            for use in value.uses:
                if not _moves(use.operation):
                    raise Unlike("partial results of a layer with a part of its own are read by others")
                waiting.append(use.operation.results[0])

    # Layouts

    def laid(self, value: SSAValue, type: Attribute) -> Sharding:
        """The layout of a value of this global type."""
        whole, sharding, local = type_of(type), self._sharding(value), type_of(value.type)
        if local.dtype != whole.dtype or sharding.local_shape(whole.shape) != local.shape:
            raise Unlike("a value of a layer with a part of its own is not laid out as its note says")
        return sharding

    def _sharding(self, value: SSAValue) -> Sharding:
        """The layout that is noted of a value."""
        if isinstance(value, BlockArgument):
            if value.block is not self.block:
                raise Unlike("what a layer's own part reads is of a loop")
            return sharding_of(self.manual.in_shardings.data[value.index], self.meshes)
        assert isinstance(value, OpResult)
        op, index = value.op, value.index
        if isinstance(op, CallOp):
            made = self._returned(op, index)
            return self._sharding(op.operands[made.index] if isinstance(made, BlockArgument) else made)
        noted = python_of(op.attributes[GLOBAL]) if GLOBAL in op.attributes else ""
        text = str(cast("tuple[object, ...]", noted)[index] if isinstance(noted, tuple) else noted)
        return sharding_said(text, self.mesh) if text else replicated(self.mesh, type_of(value.type).rank)


def _own(op: Operation) -> Slot:
    """The slot, with its stack, that an operation says it is of."""
    return cast("Slot", python_of(op.attributes[OWN])) if OWN in op.attributes else ()


def _is_of(op: Operation, where: Where) -> bool:
    """Whether an operation is of a slot, and of the name of what was there."""
    return op.name == where.name and _own(op)[1:] == where.slot


def _moves(op: Operation) -> bool:
    """Whether an operation changes the layout of a value."""
    return has(op.name, Trait.ALONG_AXES) and len(op.results) == len(op.operands) == 1
