"""Functions of elements that a layer has in place of those of the others: sine for cosine.

To planning and to all passes between fold-layers and unfold-layers such a function is any of its kind
(ops/elementwise/kinds.py). So a few layers that differ in such functions alone go with the others, and their
copies are given their own.

    %2 = func.call @layer(%1, %w2)        ->    %2 = func.call @layer(%1, %w2)
    %3 = func.call @layer(%2, %w3)              %3 = stablehlo.dot_general %2, %w3
                                                %4 = stablehlo.sine %3

Operations of functions that are made of layers say which slots they were made of, as shardc.own. Before
layers are put back only those say so of which a layer that is missing has another.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects import quick
from shardc.dialects.context import make_context
from shardc.dialects.convert import python_of
from shardc.dialects.nested import nested
from shardc.dialects.shared_graph import SharedGraph
from shardc.graph.marks import CALL, GROUP, REASON
from shardc.ops.elementwise.kinds import kind
from shardc.rewrite.folding.notes import Folded, OwnFunction, Unlike, folded, has_own
from shardc.rewrite.folding.places import OWN, Place, Slot, note_slots, own_slots, places_of
from shardc.rewrite.folding.reads import copied
from shardc.rewrite.outline import group_number, renumber_groups

FEW = 4
"""One layer of so many may have functions, or a part, of its own, at most."""

Row = list[tuple[str, int, bool]]
"""Of the operations of a slot the name, the layer, and whether it may be another function than the others."""

_NUMBER, _WORD = re.compile(r"#\d+"), re.compile(r"\w+")


def own_functions(
    ops: Mapping[Operation, Place], count: int, gone: Container[Operation]
) -> tuple[OwnFunction, ...] | None:
    """The functions that layers have for themselves, of `count`; None where such a one stays, or many have
    some."""
    rows: dict[Slot, list[Operation]] = defaultdict(list)
    for op, (slot, _) in ops.items():
        rows[slot].append(op)
    apart = {slot: row for slot, row in rows.items() if len({op.name for op in row}) > 1}
    return own_of({slot: row_of(row, ops, gone) for slot, row in apart.items()}, count)


def row_of(row: Sequence[Operation], ops: Mapping[Operation, Place], gone: Container[Operation]) -> Row:
    """What is to be known of the operations of a slot to tell which functions layers have for themselves."""
    usual = next(op for op in row if op.name == _usual(op.name for op in row))
    alone = GROUP not in usual.attributes
    return [(op.name, ops[op][1], alone and op in gone and _call(op) == _call(usual)) for op in row]


def own_of(rows: Mapping[Slot, Row], count: int) -> tuple[OwnFunction, ...] | None:
    """The functions that layers have for themselves, of `count`; None where one has that may not."""
    found = list[OwnFunction]()
    for slot, row in rows.items():
        usual = _usual(name for name, _, _ in row)
        own = [(name, layer, may) for name, layer, may in row if name != usual]
        if not all(may for _, _, may in own):
            return None
        found += [OwnFunction(slot, layer, name) for name, layer, _ in own]
    return tuple(found) if FEW * len({each.layer for each in found}) <= count else None


def _usual(names: Iterable[str]) -> str:
    return Counter(names).most_common(1)[0][0]


def _call(op: Operation) -> str:
    """What calls an operation comes from, whichever they are."""
    call = op.attributes.get(CALL)
    return _NUMBER.sub("", call.data) if isinstance(call, StringAttr) else ""


def slots_of(module: ModuleOp) -> set[Slot]:
    """The slots, with their stacks, in which layers that a folded module is without have other functions."""
    return {(stack.stack, *each.slot) for stack in _stacks(module) for each in stack.functions}


def _stacks(module: ModuleOp) -> list[Folded]:
    found = folded(module) if has_own(module) else []
    return [stack for stack in found if stack.functions or stack.part]


def tell(shared: SharedGraph) -> None:
    """Let the operations alone say in which slot they are of which a layer that is missing has another, and
    those by which its own part is said. Unlike where comments name one."""
    stacks = _stacks(shared.module)
    slots = {(stack.stack, *each.slot) for stack in stacks for each in stack.functions}
    of_parts = {(stack.stack, *where.slot) for stack in stacks if stack.part for where in stack.part.asked}
    examples = {(stack.stack, stack.cut - 1) for stack in stacks if stack.functions}
    if not slots and not of_parts:
        return
    told, commented = list[Operation](), list[Operation]()
    for op in nested([shared.module]):
        found, names = own_slots(op), kind(op.name) is not None
        own = [slot for slot in found if slot in slots] if names else []
        asked = own or [slot for slot in found if slot in of_parts and slot not in slots]
        op.attributes.pop(OWN, None)
        if asked:
            note_slots(op, asked[-1:])
        if own:
            told.append(op)
        if any((slot[0], layer) in examples for slot, layer in places_of(op)):
            commented.append(op)
    shared.noted(OWN)
    _check_comments({op.name for op in told}, commented)


def _check_comments(names: Iterable[str], ops: Iterable[Operation]) -> None:
    """Unlike if comments of operations name some that they are not beside in all layers."""
    reasons = (op.attributes.get(REASON) for op in ops)
    said = {word for why in reasons if isinstance(why, StringAttr) for word in _WORD.findall(why.data)}
    if not said.isdisjoint(name.partition(".")[2] for name in names):
        raise Unlike("a comment names a function that is another in some layer")


class Own(Struct, frozen=True):
    """An operation of a layer, or a call that runs some, and by slot the functions of that layer's own."""

    op: Operation
    names: Mapping[Slot, str]


class Owners(Struct, dict=True):
    """What of a stack's layers has functions of its own."""

    module: ModuleOp
    stack: int
    functions: Sequence[OwnFunction]

    def __post_init__(self) -> None:
        self.found: list[Own] = []
        self.missing = {(each.slot, each.layer): each.name for each in self.functions}
        self._names = dict(self.missing)
        self._callees = callees(self.module) if self.functions else {}

    def look(self, op: Operation, slots: Sequence[Place]) -> None:
        """Note what an operation of these slots and layers is to have. Unlike where that is not clear."""
        own = {(self.stack, *at[0]): self._names[at] for at in slots if at in self._names}
        if not own:
            return
        told = {*_tags(op, self._callees)}
        names = {slot: name for slot, name in own.items() if slot in told}
        if isinstance(op, CallOp) and max(Counter(slot for slot, _ in slots).values()) > 1:
            raise Unlike("a function has operations of several layers, of which one has functions of its own")
        if names:
            self.found.append(Own(op, names))
        for slot, layer in slots:
            if (self.stack, *slot) in names:
                self.missing.pop((slot, layer), None)


def callees(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions of a module by name."""
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}


def _tags(op: Operation, functions: Mapping[str, FuncOp]) -> Iterator[Slot]:
    """The slots that an operation, or what it calls, says layers have other functions in."""
    for inner in nested([op]):
        if OWN in inner.attributes:
            yield cast("Slot", python_of(inner.attributes[OWN]))
        if isinstance(inner, CallOp):
            yield from _tags(functions[inner.callee.string_value()], functions)


def put(calls: Calls, owners: Iterable[Own]) -> None:
    """Give layers their own functions; their calls become what they run. Unlike where comments name those
    that they had."""
    for each in owners:
        run, names = calls.run(each.op), set[str]()
        for op in run:
            name = (
                each.names.get(cast("Slot", python_of(op.attributes[OWN]))) if OWN in op.attributes else None
            )
            if name is not None and op.parent is not None:
                names.add(op.name)
                function = make_context().get_op(name)
                Rewriter.replace_op(op, [copied(op, op.operands, function)])
        _check_comments(names, nested(run))


class Calls:
    """The calls of a module that become what they run."""

    def __init__(self, module: ModuleOp) -> None:
        self.functions = callees(module)
        self.groups = 1 + max(map(group_number, nested([module])))
        self.known: dict[Operation, list[Operation]] = {}

    def run(self, op: Operation) -> list[Operation]:
        """What an operation runs: itself, or what is in its place from now on."""
        if op not in self.known:
            self.known[op] = [*self._run(op)]
        return self.known[op]

    def _run(self, op: Operation) -> Iterator[Operation]:
        if not isinstance(op, CallOp):
            yield op
            return
        copies = _inlined(op, self.functions[op.callee.string_value()])
        renumber_groups(copies, self.groups)
        self.groups = 1 + max(self.groups, *map(group_number, nested(copies)))
        for copy in copies:
            yield from self._run(copy)


def _inlined(call: CallOp, function: FuncOp) -> list[Operation]:
    """What a function runs, in the place of its call."""
    block = function.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, call.operands, strict=True))
    *ops, end = block.ops
    copies = [quick.copied(op, values) for op in ops]
    parent = call.parent
    assert parent is not None
    parent.insert_ops_before(copies, call)
    results = [values[value] for value in end.operands]
    for old, new in zip(call.results, results, strict=True):
        if old.name_hint:
            new.name_hint = old.name_hint
    Rewriter.replace_op(call, [], results)
    return copies
