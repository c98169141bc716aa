"""inline-calls: functions -> one function, whose operations remember the call they came from.

    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = func.call @layer(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    func.func private @layer(%h: tensor<8xf32> {sdy.sharding = S}) -> tensor<8xf32> { … tanh … }

becomes

    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %h = sdy.sharding_constraint %x <S> : tensor<8xf32>
      %0 = stablehlo.tanh %h {shardc.call = "layer#0"} : tensor<8xf32>
      return %0 : tensor<8xf32>
    }

A composite is a call of its decomposition, a named computation its body. What a callee says about its
parameters and results becomes a constraint. `shardc.call` is the path of calls, outermost first, each with
its number in program order; outline-calls makes functions of them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, LocationAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.diagnostics import Location, ShardcError
from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import NamedComputationOp, ShardingConstraintOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.shardings import PARTIAL, SHARDING
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import DOC
from shardc.dialects.stablehlo.calls import CompositeOp
from shardc.passes.graph_pass import GraphPass

CALL = "shardc.call"
MOST = 100_000
"""How many operations a program may have once its calls are inlined."""
DEEPEST = 200
"""How many calls may be open at once."""


@dataclass(frozen=True)
class InlineCalls(GraphPass):
    """Replace every call by the body of its callee and drop functions that nothing calls any more."""

    name = "inline-calls"

    def rewrite(self, shared: SharedGraph) -> bool:
        functions = {f.sym_name.data: f for f in shared.module.body.block.ops if isinstance(f, FuncOp)}
        inliner = _Inliner(functions)
        public = [f for f in functions.values() if not _is_private(f)]
        for function in public:
            _check_size(function, functions)
            inliner.inline(function.body.block, "", (function.sym_name.data,))
        for function in functions.values():
            if _is_private(function) and public:
                _keep_doc(shared.module, function)
                function.detach()
                function.erase()
        return inliner.changed or len(public) < len(functions)


def _keep_doc(module: ModuleOp, function: FuncOp) -> None:
    """Leave what the author says of a function for outline-calls, which makes it again."""
    if DOC in function.attributes:
        old = module.attributes.get(DOC)
        docs = dict(old.data) if isinstance(old, DictionaryAttr) else {}
        module.attributes[DOC] = DictionaryAttr({**docs, function.sym_name.data: function.attributes[DOC]})


def _check_size(entry: FuncOp, functions: Mapping[str, FuncOp]) -> None:
    """ShardcError if inlining would make too many operations: functions that call each other double them."""
    sizes: dict[str, int] = {}
    size = _size(entry, functions, sizes)
    if size > MOST:
        name = entry.sym_name.data
        raise ShardcError(
            f"with its calls, {name} has {size} operations; at most {MOST} are compiled",
            location_of(entry.location),
            "call less often: a loop over stacked layers stays a loop",
        )


def _size(function: FuncOp, functions: Mapping[str, FuncOp], sizes: dict[str, int]) -> int:
    """How many operations a function has once all its calls are inlined; a recursion counts as none."""
    sizes[function.sym_name.data] = 0
    count = 0
    for op in function.body.walk():
        count += 1
        callee = functions.get(_symbol(op))
        if callee is not None:
            known = sizes.get(callee.sym_name.data)
            count += _size(callee, functions, sizes) if known is None else known
    sizes[function.sym_name.data] = count
    return count


def _symbol(op: Operation) -> str:
    """The function an operation calls; empty if it calls none."""
    if isinstance(op, CallOp):
        return op.callee.string_value()
    return op.decomposition.string_value() if isinstance(op, CompositeOp) else ""


@dataclass
class _Inliner:
    functions: dict[str, FuncOp]
    counts: dict[str, int] = field(default_factory=dict[str, int])
    changed: bool = False

    def inline(self, block: Block, path: str, stack: tuple[str, ...]) -> None:
        """Inline the calls in a block and in the regions of its operations."""
        for op in list(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    self.inline(inner, path, stack)
            if isinstance(op, CallOp):
                self._call(op, op.callee, path, stack)
            elif isinstance(op, CompositeOp):
                self._call(op, op.decomposition, path, stack)
            elif isinstance(op, NamedComputationOp):
                _open(op)
                self.changed = True

    def _call(
        self, call: CallOp | CompositeOp, symbol: SymbolRefAttr, path: str, stack: tuple[str, ...]
    ) -> None:
        name = symbol.string_value()
        callee = self.functions.get(name)
        loc = location_of(call.location)
        if callee is None or not callee.body.blocks:
            raise ShardcError(f"there is no function @{name} to call", loc)
        if name in stack:
            raise ShardcError(f"@{name} calls itself", loc, "a compiled program has no recursion")
        if len(stack) > DEEPEST:
            raise ShardcError(f"calls are nested more than {DEEPEST} deep: @{name} in @{stack[-1]}", loc)
        self.changed = True
        number = self.counts[name] = self.counts.get(name, -1) + 1
        inner = f"{path}/{name}#{number}" if path else f"{name}#{number}"
        body = callee.body.clone()
        block = body.block
        self.inline(block, inner, (*stack, name))
        for op in block.walk():
            if CALL not in op.attributes:
                op.attributes[CALL] = StringAttr(inner)
        point = InsertPoint.before(call)
        arguments = [
            _constrained(value, attrs, point, arg.location)
            for value, attrs, arg in zip(
                call.operands, _dicts(callee.arg_attrs, len(call.operands)), block.args, strict=True
            )
        ]
        end = block.last_op
        assert isinstance(end, ReturnOp)
        Rewriter.inline_block(block, point, arguments)
        results = [
            _constrained(value, attrs, point, call.location)
            for value, attrs in zip(end.operands, _dicts(callee.res_attrs, len(end.operands)), strict=True)
        ]
        _name(results, loc)
        Rewriter.erase_op(end)
        Rewriter.replace_op(call, [], results)


def _name(results: Sequence[SSAValue], loc: Location) -> None:
    """Give the result of a call that the source names its name."""
    if len(results) != 1 or not loc.name or not loc.name.isidentifier():
        return
    made = results[0].owner
    if isinstance(made, Operation) and len(made.results) == 1:
        locate(made, location_of(made.location).named(loc.name))


def _open(computation: NamedComputationOp) -> None:
    """Put the body of a named computation in its place; the shardings of its borders become constraints."""
    point, block = InsertPoint.before(computation), computation.body.block
    end = block.last_op
    assert end is not None
    arguments = _all_constrained(computation.operands, computation.in_shardings, point, computation.location)
    Rewriter.inline_block(block, point, arguments)
    results = _all_constrained(end.operands, computation.out_shardings, point, computation.location)
    Rewriter.erase_op(end)
    Rewriter.replace_op(computation, [], results)


def _all_constrained(
    values: Sequence[SSAValue],
    shardings: ShardingPerValueAttr | None,
    point: InsertPoint,
    location: LocationAttr,
) -> list[SSAValue]:
    if shardings is None:
        return list(values)
    return [
        _constrained(value, {SHARDING: ShardingAttr(sharding)}, point, location)
        for value, sharding in zip(values, shardings.data, strict=True)
    ]


def _constrained(
    value: SSAValue, attrs: dict[str, Attribute], point: InsertPoint, location: LocationAttr
) -> SSAValue:
    """`value`, behind a constraint if `attrs` states a sharding."""
    sharding = attrs.get(SHARDING)
    if not isinstance(sharding, ShardingAttr):
        return value
    notes = {PARTIAL: attrs[PARTIAL]} if PARTIAL in attrs else {}
    constraint = ShardingConstraintOp.create(
        operands=[value],
        result_types=[value.type],
        properties={"sharding": sharding},
        attributes=notes,
        location=location,
    )
    Rewriter.insert_op(constraint, point)
    return constraint.results[0]


def _dicts(attrs: ArrayAttr[DictionaryAttr] | None, count: int) -> list[dict[str, Attribute]]:
    return [dict(d.data) for d in attrs] if attrs is not None else [{} for _ in range(count)]


def _is_private(function: FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"
