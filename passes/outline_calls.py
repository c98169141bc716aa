"""outline-calls: operations that came from one call -> a function again, one for all calls that became alike.

    %0 = stablehlo.dot_general %x, %w1 {shardc.call = "layer#0"} …
    %1 = stablehlo.tanh %0 {shardc.call = "layer#0"} …
    %2 = stablehlo.dot_general %1, %w2 {shardc.call = "layer#1"} …
    %3 = stablehlo.tanh %2 {shardc.call = "layer#1"} …

becomes

    %1 = func.call @layer(%x, %w1) …
    %3 = func.call @layer(%1, %w2) …

Runs on per-device code. A call whose operations no longer stand together stays inline, and so does a function
of one operation. Calls that were compiled differently get functions of their own: layer, layer_2, ….
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.graph import REGION_OPS

CALL = "shardc.call"
GROUP = "shardc.group"
GLOBAL = "shardc.global"
REASON = "shardc.reason"
INVISIBLE = {"spmd.as_partial"}
"""Operations of which the emitted program shows nothing."""


@dataclass(frozen=True)
class OutlineCalls(ModulePass):
    """Undo inline-calls where its traces are still whole."""

    name = "outline-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outliner = _Outliner(op)
        for function in list(op.body.block.ops):
            if isinstance(function, FuncOp):
                for manual in list(function.body.walk()):
                    if manual.name == "sdy.manual_computation":
                        outliner.outline(manual.regions[0].block, 0)
        for inner in op.walk():
            inner.attributes.pop(CALL, None)


@dataclass
class _Outliner:
    module: ModuleOp
    made: dict[str, list[tuple[FuncOp, FuncOp]]] = field(
        default_factory=dict[str, list[tuple[FuncOp, FuncOp]]]
    )

    def outline(self, block: Block, depth: int) -> None:
        """Make functions of the calls at `depth` of the call paths in a block, outermost first."""
        *steps, _ = block.ops
        for op in steps:
            if op.name in REGION_OPS:
                inner = depth if _call_at(op, depth) is None else depth + 1
                for region in op.regions:
                    self.outline(region.block, inner)
        runs = [(call, list(ops)) for call, ops in groupby(steps, lambda op: _call_at(op, depth))]
        calls = [call for call, _ in runs]
        for call, ops in runs:
            visible = [op for op in ops if op.name not in INVISIBLE]
            if call is not None and calls.count(call) == 1 and len(visible) > 1:
                self._function(call.rpartition("/")[2].partition("#")[0], ops, depth)

    def _function(self, name: str, ops: Sequence[Operation], depth: int) -> None:
        inside = set(ops)
        operands = list(dict.fromkeys(v for op in _all(ops) for v in op.operands if not _within(v, inside)))
        results = [r for op in ops for r in op.results if any(_outside(u.operation, inside) for u in r.uses)]
        body = Block(arg_types=[value.type for value in operands])
        for arg, value in zip(body.args, operands, strict=True):
            arg.name_hint = value.name_hint
        mapping: dict[SSAValue, SSAValue] = dict(zip(operands, body.args, strict=True))
        for op in ops:
            body.add_op(op.clone(mapping))
        body.add_op(ReturnOp(*(mapping[result] for result in results)))
        self.outline(body, depth + 1)
        function = FuncOp(
            name,
            ([value.type for value in operands], [value.type for value in results]),
            Region(body),
            "private",
        )
        _renumber_groups(function)
        callee = self._shared(name, function)
        call = CallOp(callee, operands, [value.type for value in results])
        call.location = ops[0].location
        for new, old in zip(call.results, results, strict=True):
            new.name_hint = old.name_hint
        Rewriter.insert_op(call, InsertPoint.before(ops[0]))
        for old, new in zip(results, call.results, strict=True):
            old.replace_all_uses_with(new)
        for op in reversed(ops):
            op.detach()
            op.erase()

    def _shared(self, name: str, function: FuncOp) -> str:
        """The name of a function equal to this one; it joins the module if there is none yet."""
        bare = _bare(function)
        known = self.made.setdefault(name, [])
        for other, other_bare in known:
            same_type = function.function_type == other.function_type
            if same_type and bare.body.is_structurally_equivalent(other_bare.body):
                return other.sym_name.data
        taken = {op.sym_name.data for op in self.module.body.block.ops if isinstance(op, FuncOp)}
        number = 1
        while (unique := name if number == 1 else f"{name}_{number}") in taken:
            number += 1
        function.properties["sym_name"] = StringAttr(unique)
        known.append((function, bare))
        self.module.body.block.add_op(function)
        return unique


def _renumber_groups(function: FuncOp) -> None:
    """Count the composite groups of a function from 0, so that equal functions have equal groups."""
    numbers: dict[str, str] = {}
    for op in function.walk():
        group = op.attributes.get(GROUP)
        if isinstance(group, StringAttr):
            name, _, rest = group.data.partition("#")
            new = numbers.setdefault(group.data, f"{name}#{len(numbers)}/{rest.partition('/')[2]}")
            op.attributes[GROUP] = StringAttr(new)


def _bare(function: FuncOp) -> FuncOp:
    """A copy without what does not matter for equality: the calls it came from and reasons."""
    copy = function.clone()
    for op in copy.walk():
        for key in (CALL, REASON, GLOBAL):
            op.attributes.pop(key, None)
    return copy


def _call_at(op: Operation, depth: int) -> str | None:
    path = op.attributes.get(CALL)
    steps = path.data.split("/") if isinstance(path, StringAttr) else []
    return "/".join(steps[: depth + 1]) if len(steps) > depth else None


def _all(ops: Sequence[Operation]) -> list[Operation]:
    return [inner for op in ops for inner in op.walk()]


def _within(value: SSAValue, inside: set[Operation]) -> bool:
    """Whether a value is made by the operations or inside one of them."""
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    return op is not None and not _outside(op, inside)


def _outside(op: Operation, inside: set[Operation]) -> bool:
    current: Operation | None = op
    while current is not None:
        if current in inside:
            return False
        current = current.parent_op()
    return True
