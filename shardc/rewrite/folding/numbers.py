"""Constants that are another number in each layer: a scale that one layer has for itself.

A float is any number to planning and to all passes between fold-layers and unfold-layers, as long as it is
none with a meaning of its own (graph/any_number.py). So layers that differ in such numbers alone
are folded. Their constants get a slot of the stretch NUMBERS, stay outside of the functions that are made of
layers, and each copy of a layer is given its own.

Until functions are made, constants that are equal in all layers have slots too, and so have those of no
layer: so the folded program is the same after an edit of a number, and what was made of it is found again
(kept.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import dense
from shardc.dialects.dense import DenseAttr
from shardc.dialects.nested import nested
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.types import type_of
from shardc.graph import Dense, TensorType
from shardc.graph.any_number import is_any
from shardc.graph.marks import CALL, LAYER, NUMBERS
from shardc.ops import hlo
from shardc.rewrite.constants import constant_of
from shardc.rewrite.folding.places import (
    ALONE,
    FOLDED,
    Place,
    Slot,
    in_stack,
    note_places,
    places_of,
)
from shardc.rewrite.outline import manual_bodies


def any_number(value: SSAValue) -> Hashable | None:
    """Equal for constants of one type that are any numbers; None for all other values."""
    held = constant_of(value)
    return value.type if held is not None and is_any(held.data) else None


def is_number(op: Operation) -> bool:
    """Whether an operation is a constant of which each layer has its own, or a noted one of no layer."""
    return op.name == hlo.constant.name and any(slot[1] == NUMBERS for slot, _ in places_of(op))


def number_in(op: Operation) -> Dense | None:
    """The number that a constant has everywhere, as a scalar; None of other constants."""
    held = constant_of(op.results[0])
    return None if held is None else Dense(held.data, ())


def note_alone(ops: Iterable[Operation]) -> None:
    """Say of the constants among operations of no layer, which are any numbers, that they are such."""
    found = (op for op in ops if op.name == hlo.constant.name and any_number(op.results[0]) is not None)
    for number, op in enumerate(found):
        note_places(op, [((ALONE, NUMBERS, number), 0)])


def put_number(op: Operation, number: Dense) -> None:
    """Let a constant be another number everywhere."""
    held = op.properties if "value" in op.properties else op.attributes
    held["value"] = dense(Dense(number.data, type_of(op.results[0].type).shape))


def numbered(module: ModuleOp) -> Iterator[tuple[Operation, tuple[Place, ...]]]:
    """The constants that have slots, with the places that one stands for."""
    found = (op for op in nested([module]) if LAYER in op.attributes and is_number(op))
    return ((op, places_of(op)) for op in found)


def numbers_of(module: ModuleOp) -> dict[Place, Dense]:
    """The numbers that have slots, of those that are in a folded program."""
    held = ((number_in(op), places) for op, places in numbered(module))
    return {place: number for number, places in held if number is not None for place in places}


def rows_of(module: ModuleOp) -> dict[Slot, list[DenseAttr]]:
    """For each slot of a folded module, with its stack, the numbers from the layer before the cut to the one
    after it."""
    notes = cast("ArrayAttr[DictionaryAttr]", module.attributes.get(FOLDED, ArrayAttr[Attribute]([])))
    rows = (cast("ArrayAttr[ArrayAttr[DenseAttr]]", each.data.get("numbers", ())) for each in notes)
    return {
        (stack, NUMBERS, slot): list(row) for stack, each in enumerate(rows) for slot, row in enumerate(each)
    }


def drop_equal_numbers(shared: SharedGraph) -> None:
    """Let constants that are equal in all layers, or of no layer, be constants like others."""
    rows = rows_of(shared.module)
    equal = {slot for slot, row in rows.items() if len(set(row)) == 1}
    for (slot, _), number in numbers_of(shared.module).items() if equal else ():
        if slot in equal and number.data != rows[slot][0].data.value.data:
            equal.remove(slot)  # a layer next to the first or last one has another
    changed = False
    for op in nested([shared.module]) if FOLDED in shared.module.attributes else ():
        places = places_of(op)
        if places and all(slot in equal or slot[0] == ALONE for slot, _ in places):
            del op.attributes[LAYER]
            changed = True
    if changed:
        shared.noted(LAYER)


def lift_numbers(shared: SharedGraph) -> None:
    """Put the constants of which each layer has its own before all else, as scalars, out of the calls that
    they came from."""
    drop_equal_numbers(shared)
    for block in manual_bodies(shared.module) if FOLDED in shared.module.attributes else ():
        found = [op for op in block.ops if LAYER in op.attributes and is_number(op)]
        lifted = [_scalar(op, shared) for op in found]
        for op in lifted:
            op.detach()
            op.attributes.pop(CALL, None)
        if lifted and block.first_op is not None:
            block.insert_ops_before(lifted, block.first_op)
            shared.drop()


def _scalar(op: Operation, shared: SharedGraph) -> Operation:
    """The constant, or the scalar that takes its place, of which it is a broadcast then."""
    held, type = constant_of(op.results[0]), type_of(op.results[0].type)
    if held is None or not type.shape:
        return op
    builder, place = IRBuilder(shared.module), op.attributes[LAYER]
    builder.before(op)
    number = builder.one(hlo.constant.name, result=TensorType((), type.dtype), value=Dense(held.data, ()))
    filled = builder.one(hlo.broadcast_in_dim.name, number, result=type, broadcast_dimensions=())
    assert isinstance(filled, OpResult) and isinstance(number, OpResult)
    filled.op.attributes.update(op.attributes)
    number.op.attributes[LAYER] = place
    Rewriter.replace_op(op, [], [filled])
    return number.op


def own_numbers(row: Sequence[SSAValue], reads: Callable[[int, Operation], bool]) -> bool:
    """Whether values are any numbers of one type, the n-th a constant that is read only where `reads` says
    so of n and the operation."""
    kind = any_number(row[0])
    if kind is None or len(set(row)) < len(row):
        return False
    return all(
        any_number(value) == kind and all(reads(turn, use.operation) for use in value.uses)
        for turn, value in enumerate(row)
    )


class Numbers:
    """The numbers of each slot of a stack in the layers from the one before the cut to the one after it."""

    def __init__(self, stack: int, rows: ArrayAttr[Attribute]) -> None:
        self.stack = stack
        self.rows = [list(cast("ArrayAttr[DenseAttr]", row)) for row in rows]
        self.missing = {slot for slot, row in enumerate(self.rows) if len(set(row)) > 1}
        """The slots whose number has not been found in what is copied."""

    def slot(self, op: Operation, layer: int) -> int | None:
        """The slot of a constant that is the number of a layer, counted from the one before the cut."""
        places = in_stack(places_of(op), self.stack) if is_number(op) else ()
        if not places:
            return None
        ((_, slot), _), *_ = places
        held = constant_of(op.results[0])
        same = held is not None and held.data == self.rows[slot][layer].data.value.data
        return slot if same else None

    def change(self, op: Operation, layer: int) -> None:
        """Let a copy of a constant of the layer before the cut be the number of another layer."""
        slot = self.slot(op, 0)
        if slot is not None:
            self.missing.discard(slot)
            put_number(op, self.rows[slot][layer].data.value)
