"""Operations that stand together -> a function and a call of it, one function for all that are alike.

    %1 = stablehlo.dot_general %x, %w          ->    %2 = func.call @layer(%x, %w)
    %2 = stablehlo.tanh %1

What outline-calls and outline-repeats share.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct, field
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.diagnostics import collecting
from shardc.dialects.locations import locate, location_of
from shardc.dialects.nested import nested
from shardc.dialects.quick import copied
from shardc.dialects.sdy import ManualComputationOp
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import DOC
from shardc.graph.marks import CALL, EFFECT, GLOBAL, GROUP, LAYER, REASON
from shardc.layout import Axis
from shardc.ops import Trait, has
from shardc.rewrite.alike import Alike
from shardc.rewrite.folding.places import OWN, note_places, note_slots, own_slots, places_of

_YES = IntegerAttr.from_bool(True)


Varying = frozenset[Axis]


class Names(NamedTuple):
    """What a function calls its parameters, and a call its results; those that values have, if empty."""

    taken: Sequence[str | None] = ()
    given: Sequence[str | None] = ()


NO_NAMES = Names()


class Functions(Struct, dict=True):
    """The functions made so far.

    JAX's type check has it that a function's parameters vary over what they do in any call, and its results
    accordingly. So operations whose results vary over different axes are not alike.
    """

    shared: SharedGraph
    made: dict[Hashable, str] = {}
    """Their names, by what is the same in equal ones."""
    alike: Alike = field(
        default_factory=lambda: Alike(ignored=(CALL, REASON, GLOBAL, LAYER, OWN).__contains__)
    )
    _bodies: dict[str, Block] = {}

    @cached_property
    def varying(self) -> dict[SSAValue, Varying]:
        """What each value varies over; of the module as it is before its first operations are outlined."""
        snap, varying = self.shared.snapshot(), dict[SSAValue, Varying]()
        with collecting():
            for types in self.shared.varying().values():
                varying.update((snap.ssa[v], frozenset(state.varies)) for v, state in types.items())
        return varying

    def varies(self, values: Iterable[SSAValue]) -> tuple[Varying, ...]:
        """The axes over which values may differ between devices."""
        return tuple(self.varying.get(value, frozenset()) for value in values)

    def outline(
        self,
        name: str,
        ops: Sequence[Operation],
        operands: Sequence[SSAValue] | None = None,
        results: Sequence[SSAValue] | None = None,
        inner: Callable[[Block], None] | None = None,
        replaced: Sequence[Operation] | None = None,
        names: Names = NO_NAMES,
    ) -> None:
        """Put a call of a function in the place of operations that follow each other.

        It takes `operands` and returns `results`: unless said, what the operations don't make, and what
        others use. `inner` may rewrite its body; without it, what there is a function of is not made again.
        Of the operations, those `replaced` go: all, unless said. The names are those of the operands and of
        the results, unless said.
        """
        operands = inputs(ops) if operands is None else operands
        results = outputs(ops) if results is None else results
        varying = self.varies(results)
        if inner is None:
            renumber_groups(ops)
            key, alike = (name, varying, self.alike.steps(ops, operands, results)), ops
            if key not in self.made:
                function = self._function(name, ops, operands, results, None, names.taken)
                self.made[key] = self._joined(name, function)
        else:
            function = self._function(name, ops, operands, results, inner)
            renumber_groups([function])
            key = name, varying, self.alike.number(function.function_type), self.alike.body(function.body)
            if key not in self.made:
                self.made[key] = self._joined(name, function)
            alike = [*function.body.block.ops]
        _note_own(self._bodies[self.made[key]], alike)
        self._call(self.made[key], ops if replaced is None else replaced, operands, results, names.given)

    def _function(
        self,
        name: str,
        ops: Sequence[Operation],
        operands: Sequence[SSAValue],
        results: Sequence[SSAValue],
        inner: Callable[[Block], None] | None,
        names: Sequence[str | None] = (),
    ) -> FuncOp:
        """A function of copies of some operations."""
        body = Block(arg_types=[value.type for value in operands])
        for arg, value, hint in zip(body.args, operands, names or [None] * len(operands), strict=True):
            arg.name_hint = hint or value.name_hint
        mapping: dict[SSAValue, SSAValue] = dict(zip(operands, body.args, strict=True))
        for op in ops:
            clone = copied(op, mapping)
            clone.attributes.pop(LAYER, None)
            if slots := own_slots(op):
                note_slots(clone, slots)
            body.add_op(clone)
        body.add_op(ReturnOp(*(mapping[result] for result in results)))
        self.varying.update((new, self.varying.get(old, frozenset())) for old, new in mapping.items())
        if inner is not None:
            inner(body)
        types = [value.type for value in operands], [value.type for value in results]
        return FuncOp(name, types, Region(body), "private")

    def _call(
        self,
        name: str,
        ops: Sequence[Operation],
        operands: Sequence[SSAValue],
        results: Sequence[SSAValue],
        names: Sequence[str | None] = (),
    ) -> None:
        """Put a call of a function where some operations stand."""
        call = CallOp(name, operands, [value.type for value in results])
        locate(call, location_of(ops[0].location).named(None))
        places = [place for op in ops for place in places_of(op)]
        if places:
            note_places(call, places)
        if any(map(has_effect, nested(ops))):
            call.attributes[EFFECT] = _YES  # it stays, also if nothing uses its results
        hints = names or [value.name_hint for value in results]
        for new, hint in zip(call.results, hints, strict=True):
            new.name_hint = hint
        if len(results) == 1 and hints[0]:
            locate(call, location_of(call.location).named(hints[0]))
        Rewriter.insert_op(call, InsertPoint.before(ops[0]))
        for old, new in zip(results, call.results, strict=True):
            self.varying[new] = self.varying.get(old, frozenset())
            old.replace_all_uses_with(new)
        for op in reversed(ops):
            op.detach()
            op.erase()

    def _joined(self, name: str, function: FuncOp) -> str:
        """The name under which a function joins the module."""
        taken = {op.sym_name.data for op in self.shared.module.body.block.ops if isinstance(op, FuncOp)}
        number = 1
        while (unique := name if number == 1 else f"{name}_{number}") in taken:
            number += 1
        function.properties["sym_name"] = StringAttr(unique)
        docs = self.shared.module.attributes.get(DOC)
        if isinstance(docs, DictionaryAttr) and name in docs.data:
            function.attributes[DOC] = docs.data[name]
        self.shared.module.body.block.add_op(function)
        self._bodies[unique] = function.body.block
        return unique


def _note_own(body: Block, ops: Sequence[Operation]) -> None:
    """Let the operations of a function say which slots those have that it is called for."""
    for noted, op in zip(body.ops, ops, strict=False):
        known, more = own_slots(noted), own_slots(op)
        if not {*more} <= {*known}:
            note_slots(noted, dict.fromkeys((*known, *more)))


def has_effect(op: Operation) -> bool:
    """Whether an operation does more than give its results."""
    return _YES in (op.properties.get("has_side_effect"), op.attributes.get(EFFECT)) or has(
        op.name, Trait.SHOWS
    )


def manual_bodies(module: ModuleOp) -> list[Block]:
    """The blocks of all per-device code, in program order."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    inner = (op for function in functions for block in function.body.blocks for op in nested(block.ops))
    return [op.body.block for op in inner if isinstance(op, ManualComputationOp)]


def renumber_groups(ops: Iterable[Operation], first: int = 0) -> None:
    """Count the composite groups of operations from `first`; those of a function from 0, so that equal
    functions have equal groups."""
    numbers: dict[str, str] = {}
    for op in nested(ops):
        group = op.attributes.get(GROUP)
        if isinstance(group, StringAttr):
            name, _, rest = group.data.partition("#")
            new = numbers.setdefault(group.data, f"{name}#{first + len(numbers)}/{rest.partition('/')[2]}")
            op.attributes[GROUP] = StringAttr(new)


def group_number(op: Operation) -> int:
    """The number of the composite group that an operation is of; 0 if it is of none."""
    group = op.attributes.get(GROUP)
    return int(group.data.partition("#")[2].partition("/")[0]) if isinstance(group, StringAttr) else 0


def inputs(ops: Sequence[Operation]) -> list[SSAValue]:
    """The values that operations use and don't make, in the order of their first use."""
    every = nested(ops)
    made = {id(result) for op in every for result in op.results}
    made.update(id(arg) for op in every for region in op.regions for b in region.blocks for arg in b.args)
    used = {id(value): value for op in every for value in op.operands}
    return [value for key, value in used.items() if key not in made]


def outputs(ops: Sequence[Operation]) -> list[SSAValue]:
    """The values that operations make and others use, in order."""
    inside = set(ops)
    return [r for op in ops for r in op.results if any(_outside(use.operation, inside) for use in r.uses)]


def _outside(op: Operation, inside: set[Operation]) -> bool:
    current: Operation | None = op
    while current is not None:
        if current in inside:
            return False
        current = current.parent_op()
    return True
