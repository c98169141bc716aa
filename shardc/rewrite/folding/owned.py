"""The parts that layers have for themselves, put back into a per-device program (parts.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects import kept_operations
from shardc.dialects.context import make_context
from shardc.dialects.quick import copied
from shardc.dialects.sdy import ManualComputationOp, MeshOp
from shardc.dialects.shardings import SHARDING, attr_of
from shardc.layout import Sharding
from shardc.rewrite.folding.functions import Calls
from shardc.rewrite.folding.located import Holders, Located
from shardc.rewrite.folding.notes import OwnPart, Unlike, entry
from shardc.rewrite.folding.reads import reads

Compile = Callable[[ModuleOp], None]
"""Takes a program with annotated arguments and results to the stage local."""


def put_part(module: ModuleOp, holders: Holders, calls: Calls, compiled: Compile) -> None:
    """Put a part back, compiled; the calls that it is said by become what they run. Unlike where that cannot
    be."""
    if holders.own is None:
        return
    inner, _ = entry(module).body.block.ops
    assert isinstance(inner, ManualComputationOp)
    _Splice(module, inner, holders.own, Located(module, inner, holders, calls)).run(compiled)


class _Splice:
    """A part, and the per-device program that it goes into."""

    def __init__(self, module: ModuleOp, manual: ManualComputationOp, own: OwnPart, located: Located) -> None:
        self.module, self.block, self.own, self.located = module, manual.body.block, own, located
        self.order = {op: (place, 0) for place, op in enumerate(self.block.ops)}
        """Where operations stand; what is put behind one has its place, and 1."""

    def run(self, compiled: Compile) -> None:
        """Compile the part between the layouts that are there, and put it in the place of what it stands
        for."""
        (function,) = kept_operations.read(self.own.function, make_context())
        assert isinstance(function, FuncOp)
        types = function.function_type
        pairs = zip(self.own.arguments, types.inputs, strict=True)
        read = [self.located.argument(*each) for each in pairs]
        given = [
            (number, old, self.located.laid(old, types.outputs.data[number]))
            for number, each in enumerate(zip(self.own.results, self.own.readers, strict=True))
            for old in self.located.given(*each)
        ]
        program = self._program(function, [s for _, s in read], [(number, s) for number, _, s in given])
        compiled(program)
        made = self._put(program, [value for value, _ in read])
        for (_, old, _), value in zip(given, made, strict=True):
            self._instead(old, value)

    def _program(
        self, function: FuncOp, arguments: Sequence[Sharding], results: Sequence[tuple[int, Sharding]]
    ) -> ModuleOp:
        """The part as a program: its arguments and those of its results are laid out like this."""
        end = function.body.block.last_op
        assert end is not None
        end.operands = [end.operands[number] for number, _ in results]
        function.properties = {
            **function.properties,
            "function_type": FunctionType.from_lists(
                [argument.type for argument in function.body.block.args], [v.type for v in end.operands]
            ),
            "arg_attrs": _annotated(arguments),
            "res_attrs": _annotated([sharding for _, sharding in results]),
        }
        meshes = (op.clone() for op in self.module.body.block.ops if isinstance(op, MeshOp))
        return ModuleOp([*meshes, function])

    def _put(self, program: ModuleOp, read: Sequence[SSAValue]) -> list[SSAValue]:
        """Put the per-device code of a program behind what it reads; what it makes."""
        manual, end = entry(program).body.block.ops
        if not isinstance(manual, ManualComputationOp):
            raise Unlike("a layer's own part has no per-device code")
        new: dict[SSAValue, SSAValue] = {}
        for argument, operand in zip(manual.body.block.args, manual.operands, strict=True):
            assert isinstance(operand, BlockArgument)
            new[argument] = read[operand.index]
        if any(argument.type != value.type for argument, value in new.items()):
            raise Unlike("what a layer's own part reads is laid out otherwise")
        *ops, last = manual.body.block.ops
        behind, first = dict[int, Operation](), self.block.first_op
        by_place, free = [*self.block.ops], list[Operation]()
        for op in ops:  # one of arguments and constants alone goes where the next one of others does
            latest = max([self._place(new[value]) for value in reads(op)], default=-1)
            free.append(copied(op, new))
            for each in free if latest >= 0 else ():
                self.block.insert_op_after(each, behind.get(latest, by_place[latest]))
                self.order[each] = latest, 1
                behind[latest] = each
            free = free if latest < 0 else []
        assert first is not None
        self.block.insert_ops_before(free, first)
        self.order.update(dict.fromkeys(free, (-1, 1)))
        return [
            new[last.operands[value.index]] if isinstance(value, OpResult) else read[_index(value)]
            for value in end.operands
        ]

    def _place(self, value: SSAValue) -> int:
        """The place of the operation behind which a value is there."""
        return self.order[value.op][0] if isinstance(value, OpResult) and value.op in self.order else -1

    def _instead(self, old: SSAValue, made: SSAValue) -> None:
        """Let a value stand for another one, which nobody needs then."""
        if made.type != old.type:
            raise Unlike("what a layer's own part makes is laid out otherwise")
        place = self._place(made)
        for use in old.uses:
            user = use.operation
            while user not in self.order and user.parent_op() is not None:
                user = user.parent_op() or user
            if self.order[user][0] <= place and self.order[user][1] == 0:
                raise Unlike("what a layer's own part makes is needed before it is there")
        made.name_hint = made.name_hint or old.name_hint
        old.replace_all_uses_with(made)
        unused = [old.owner]
        for op in unused:
            if isinstance(op, Operation) and op.parent is self.block and not any(r.uses for r in op.results):
                unused += [value.owner for value in reads(op)]
                Rewriter.erase_op(op)


def _index(value: SSAValue) -> int:
    assert isinstance(value, BlockArgument)
    return value.index


def _annotated(shardings: Sequence[Sharding]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({SHARDING: attr_of(sharding)}) for sharding in shardings])
