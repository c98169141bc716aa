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

A composite is a call of its decomposition, a named computation its body, a choice by a constant the branch
that it takes, a loop of one turn its body, and one of none what it begins with. What a callee says about its
parameters and results becomes a constraint. `shardc.call` is the path of calls, outermost first, each with
its number in program order; outline-calls makes functions of them again. Operations of a callee that say no
place, as those of JAX's own functions, are where the call is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.diagnostics import ShardcError
from shardc.dialects.locations import locate, location_of
from shardc.dialects.nested import nested
from shardc.dialects.quick import body
from shardc.dialects.sdy import NamedComputationOp, ShardingConstraintOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.shardings import PARTIAL, SHARDING
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import DOC
from shardc.dialects.stablehlo.calls import CompositeOp
from shardc.graph.marks import CALL
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.known_branches import known_branch
from shardc.rewrite.known_turns import known_turns

MOST = 100_000
"""How many operations a program may have once its calls are inlined."""
DEEPEST = 1000
"""How many calls may be open at once."""


class InlineCalls(GraphPass):
    """Replace every call by the body of its callee and drop functions that nothing calls any more."""

    name = "inline-calls"

    def rewrite(self, shared: SharedGraph) -> bool:
        functions = {f.sym_name.data: f for f in shared.module.body.block.ops if isinstance(f, FuncOp)}
        inliner = _Inliner(functions, location_of(shared.module.location).file)
        public = [f for f in functions.values() if not _is_private(f)]
        for function in public:
            _check_size(function, functions)
            inliner.inline(function)
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
    size = _size(entry, functions)
    if size > MOST:
        name = entry.sym_name.data
        raise ShardcError(
            f"with its calls, {name} has {size} operations; at most {MOST} are compiled",
            location_of(entry.location),
            "call less often: a loop over stacked layers stays a loop",
        )


def _size(entry: FuncOp, functions: Mapping[str, FuncOp]) -> int:
    """How many operations a function has once all its calls are inlined; a recursion counts as none."""
    sizes: dict[FuncOp, int] = {}
    callees: dict[FuncOp, list[FuncOp]] = {}
    waiting = [entry]
    while waiting:
        function = waiting[-1]
        if function not in callees:
            ops = nested([function])[1:]
            called = (functions.get(_symbol(op)) for op in ops if type(op) in (CallOp, CompositeOp))
            callees[function] = [callee for callee in called if callee is not None]
            sizes[function] = -len(ops)  # until those of its callees are known
            waiting += [callee for callee in callees[function] if callee not in callees]
            continue
        waiting.pop()
        if sizes[function] < 0:
            sizes[function] = -sizes[function] + sum(max(0, sizes[callee]) for callee in callees[function])
    return sizes[entry]


def _symbol(op: Operation) -> str:
    """The function an operation calls; empty if it calls none."""
    if type(op) is CallOp:
        return op.callee.string_value()
    return op.decomposition.string_value() if type(op) is CompositeOp else ""


class _Named(Struct):
    """What stands for the result of a call, and the name that the call gives it."""

    value: SSAValue
    name: str

    def tell(self) -> None:
        """Give the operation that makes the value the name."""
        made = self.value.owner
        if isinstance(made, Operation) and len(made.results) == 1:
            locate(made, location_of(made.location).named(self.name))


class _Body(Struct):
    """Operations that stand in their last place, but for the calls in them, which are still to be inlined."""

    ops: Iterator[Operation]
    path: str
    stack: tuple[str, ...]
    result: _Named | None = None


class _Inliner:
    """Calls are inlined from the outside in, so that every operation is copied once, however deep it is.

    `text` is the file of the module: what has no other place is where the call is, if that is elsewhere.
    """

    def __init__(self, functions: Mapping[str, FuncOp], text: str | None) -> None:
        self.functions = functions
        self.text = text
        self.counts: dict[str, int] = {}
        self.named: dict[SSAValue, list[_Named]] = {}
        self.changed = False

    def inline(self, entry: FuncOp) -> None:
        """Inline the calls in a function and in the regions of its operations."""
        bodies = [_Body(iter([*entry.body.block.ops]), "", (entry.sym_name.data,))]
        while bodies:
            op = next(bodies[-1].ops, None)
            here = bodies[-1]
            if op is None:
                if here.result:
                    here.result.tell()
                bodies.pop()
                continue
            if type(op) is CallOp or type(op) is CompositeOp:
                bodies.append(self._call(op, here))
            elif type(op) is NamedComputationOp:
                bodies.append(_Body(iter([*op.body.block.ops][:-1]), here.path, here.stack))
                self._replaced(op, _open(op, here.path))
            elif not op.regions:
                continue
            elif (branch := known_branch(op)) is not None:
                bodies.append(self._taken(op, branch, (), here))
            elif (turns := known_turns(op)) is not None:
                if turns:
                    bodies.append(self._taken(op, op.regions[1].block, op.operands, here))
                else:
                    self._replaced(op, op.operands)
            else:
                inner = [block for region in op.regions for block in region.blocks]
                bodies += [_Body(iter([*block.ops]), here.path, here.stack) for block in reversed(inner)]

    def _call(self, call: CallOp | CompositeOp, here: _Body) -> _Body:
        """Put the callee's body in the place of a call; it is what is to be inlined next."""
        name = _symbol(call)
        callee = self.functions.get(name)
        loc = location_of(call.location)
        if callee is None or not callee.body.blocks:
            raise ShardcError(f"there is no function @{name} to call", loc)
        if name in here.stack:
            raise ShardcError(f"@{name} calls itself", loc, "a compiled program has no recursion")
        if len(here.stack) > DEEPEST:
            raise ShardcError(f"calls are nested more than {DEEPEST} deep: @{name} in @{here.stack[-1]}", loc)
        number = self.counts[name] = self.counts.get(name, -1) + 1
        inner = f"{here.path}/{name}#{number}" if here.path else f"{name}#{number}"
        block = body(callee.body).block
        path = StringAttr(inner)
        for op in block.walk():
            op.attributes.setdefault(CALL, path)
            place = location_of(op.location)
            if place.file == self.text and loc.file not in ("", None, self.text):
                locate(op, loc.named(None))
        point = InsertPoint.before(call)
        arguments = [
            _constrained(value, attrs, point, arg.location, here.path)
            for value, attrs, arg in zip(
                call.operands, _dicts(callee.arg_attrs, len(call.operands)), block.args, strict=True
            )
        ]
        *ops, end = block.ops
        assert isinstance(end, ReturnOp)
        Rewriter.inline_block(block, point, arguments)
        results = [
            _constrained(value, attrs, point, call.location, here.path)
            for value, attrs in zip(end.operands, _dicts(callee.res_attrs, len(end.operands)), strict=True)
        ]
        result = None
        if len(results) == 1 and loc.name and loc.name.isidentifier():
            result = _Named(call.results[0], loc.name)
            self.named.setdefault(call.results[0], []).append(result)
        Rewriter.erase_op(end)
        self._replaced(call, results)
        return _Body(iter(ops), inner, (*here.stack, name), result)

    def _taken(self, op: Operation, block: Block, arguments: Sequence[SSAValue], here: _Body) -> _Body:
        """Put what is done once in the place of a choice or a loop: the branch, or the body."""
        *ops, end = block.ops
        Rewriter.inline_block(block, InsertPoint.before(op), arguments)
        results = list(end.operands)
        Rewriter.erase_op(end)
        self._replaced(op, results)
        return _Body(iter(ops), here.path, here.stack)

    def _replaced(self, op: Operation, results: Sequence[SSAValue]) -> None:
        """Let values stand for an operation's results."""
        self.changed = True
        for old, new in zip(op.results, results, strict=True):
            for named in self.named.pop(old, ()):
                named.value = new
                self.named.setdefault(new, []).append(named)
        Rewriter.replace_op(op, [], results)


def _open(computation: NamedComputationOp, path: str) -> list[SSAValue]:
    """Put the body of a named computation before it; the shardings of its borders become constraints.

    What the computation's results are.
    """
    point, block = InsertPoint.before(computation), computation.body.block
    end = block.last_op
    assert end is not None
    arguments = _all_constrained(computation.operands, computation.in_shardings, point, computation, path)
    Rewriter.inline_block(block, point, arguments)
    results = _all_constrained(end.operands, computation.out_shardings, point, computation, path)
    Rewriter.erase_op(end)
    return results


def _all_constrained(
    values: Sequence[SSAValue],
    shardings: ShardingPerValueAttr | None,
    point: InsertPoint,
    computation: NamedComputationOp,
    path: str,
) -> list[SSAValue]:
    if shardings is None:
        return list(values)
    return [
        _constrained(value, {SHARDING: ShardingAttr(sharding)}, point, computation.location, path)
        for value, sharding in zip(values, shardings.data, strict=True)
    ]


def _constrained(
    value: SSAValue, attrs: dict[str, Attribute], point: InsertPoint, location: LocationAttr, path: str
) -> SSAValue:
    """`value`, behind a constraint of the function at `path` if `attrs` states a sharding."""
    sharding = attrs.get(SHARDING)
    if not isinstance(sharding, ShardingAttr):
        return value
    notes: dict[str, Attribute] = {PARTIAL: attrs[PARTIAL]} if PARTIAL in attrs else {}
    if path:
        notes[CALL] = StringAttr(path)
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
