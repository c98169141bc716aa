"""Names of the user's Python for the values of a module that JAX lowered.

h = jnp.tanh(x @ w)     # line 12 of model.py

    %1 = stablehlo.dot_general … loc("jit(f)/dot_general"("model.py":12:16))
    %2 = stablehlo.tanh %1 … loc("jit(f)/tanh"("model.py":12:7))
->
    %2 = stablehlo.tanh %1 … loc("h"("model.py":12:7))

A statement makes a run of operations; of their values that something outside the run reads, the last is the
one that is assigned, unless what comes next is in a function that the statement calls. The backward pass has
the places of the forward one, and no names, nor has what the forward pass computes for it alone
(forward_values.py); what it computes anew has those of the forward pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from xdsl.dialects.builtin import CallSiteLoc, ModuleOp, NameLoc, NoneAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from shardc.diagnostics import is_own
from shardc.dialects.locations import SourceLoc, location_of
from shardc.dialects.nested import nested, ops_of
from shardc.dialects.once import Once
from shardc.frontend.forward_values import ForwardPass
from shardc.frontend.python_lines import Statement, statement_at
from shardc.graph import Location
from shardc.ops import hlo

_STACKS = "dynamic_update_index_in_dim"
"""JAX's function that puts a turn's value on the stack of a scan."""


def name_values(module: ModuleOp, backward: Collection[Operation] = ()) -> dict[SSAValue, str]:
    """Give values the names that the lines of their Python files assign, in place; the names.

    `backward` are the operations of the backward pass.
    """
    callers = _callers(module, backward)
    named: dict[SSAValue, str] = {}
    forward = ForwardPass(module, backward)
    for function in module.body.block.ops:
        if isinstance(function, FuncOp):
            naming = _Naming(callers[function.sym_name.data], backward, forward, named)
            for block in blocks_of(function):
                naming.block(block)
    return named


def blocks_of(op: Operation) -> Iterator[Block]:
    """The blocks in an operation, those of the operations in it too."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in ops_of(block):
                if inner.regions:
                    yield from blocks_of(inner)


def _callers(module: ModuleOp, backward: Collection[Operation]) -> dict[str, set[Statement]]:
    """Function -> the statements that call it.

    What has their places inside the function is JAX's own, and the places are those of its first call.
    """
    found: dict[str, set[Statement]] = defaultdict(set)
    for op in nested([module]):
        if isinstance(op, CallOp):
            statement = None if op in backward else statement_of(op)
            if statement is not None:
                found[op.callee.string_value()].add(statement)
    return found


def statement_of(op: Operation, within: Operation | None = None) -> Statement | None:
    """The statement that assigns what an operation computes, perhaps by way of a function that returns it.

    If it is `within` another, only a statement that this one does. What calls the function that shardc
    compiles does not count.
    """
    inner: Statement | None = None
    around = [] if within is None else [loc.named(None) for loc in frames(within.location)]
    for loc in frames(op.location):
        if loc.named(None) in around or is_own(loc.file or ""):
            return None
        found = statement_at(loc.file, (loc.line, loc.col - 1)) if loc.file else None
        if found is None or found.targets:
            return None if found is None or (inner and len(found.targets) > 1) else found
        inner = found
    return None


def frames(loc: Attribute) -> Sequence[Location]:
    """The places of a call stack, innermost first.

    JAX traces a function once for several calls: what is inside has the place of the first call too, inside
    that of its own.
    """
    return _frames(loc)


def _in_stack(loc: Attribute) -> Sequence[Location]:
    stack = _stack(loc)
    inner = [
        place
        for (function, place), (caller, of_caller) in pairwise(stack)
        if not function or (function, place.file) != (caller, of_caller.file)
    ]
    return [*inner, stack[-1][1]]


_frames = Once(_in_stack)


def _stack(loc: Attribute) -> list[tuple[str, Location]]:
    """Functions and the places in them, innermost first."""
    found: list[tuple[str, Location]] = []
    todo: list[tuple[str, Attribute]] = [("", loc)]
    while todo:
        function, loc = todo.pop()
        if type(loc) is NameLoc and type(loc.location) is not NoneAttr:  # isinstance takes ten times as long
            todo.append((loc.desc.data, loc.location))
        elif type(loc) is CallSiteLoc:
            todo += [("", loc.caller), ("", loc.callee)]
        else:
            found.append((function, location_of(loc)))
    return found


class _Naming:
    """Names the values of one function: not what the statements `callers`, which call it, have assigned."""

    def __init__(
        self,
        callers: set[Statement],
        backward: Collection[Operation],
        forward: ForwardPass,
        named: dict[SSAValue, str],
    ) -> None:
        self._callers = callers
        self._backward = backward
        self._forward = forward
        self._named = named

    def block(self, block: Block) -> None:
        run: list[Operation] = []
        current: Statement | None = None
        for op in ops_of(block):
            if op.name == hlo.constant.name:
                continue  # JAX places constants where it was asked to lower
            last = op.has_trait(IsTerminator) or op in self._backward
            statement = None if last else statement_of(op)
            if statement is not current:
                if not self._goes_on(op, current):
                    self._runs(run, current)
                run, current = [], statement
            run.append(op)
        self._runs(run, current)

    def _goes_on(self, op: Operation, statement: Statement | None) -> bool:
        """Whether an operation is another statement's in a function that this one calls: its value is to
        come.

        y = outer(tanh(inner(x))): what tanh gives has no name.
        """
        if statement is None or op in self._backward:
            return False
        places = ((loc.file, (loc.line, loc.col - 1)) for loc in frames(op.location))
        return any(file and statement_at(file, place) is statement for file, place in places)

    def _runs(self, run: Sequence[Operation], statement: Statement | None) -> None:
        if statement is None or statement in self._callers:
            return
        for part in _repeats(run):
            inside = set(part)
            outside = [(result, self._readers(result, op, inside)) for op in part for result in op.results]
            if self._backward:
                outside = [pair for pair in outside if self._forward.computes_with(pair[0])] or outside
            read = [result for result, readers in outside if readers]
            computed = [result for result, readers in outside if not all(map(_hands_on, readers))]
            self._named |= _name_results(read, computed, statement)

    def _readers(self, result: SSAValue, op: Operation, run: set[Operation]) -> list[Operation]:
        """The operations outside the run that read a result of it, without those of the backward pass."""
        return [
            reader
            for use in result.uses
            if use.operation not in self._backward
            for reader in (_beside(use.operation, op),)
            if reader not in run
        ]


def _beside(user: Operation, op: Operation) -> Operation:
    """The operation in whose regions `user` is that stands in the block of `op`."""
    while user.parent_block() is not op.parent_block():
        parent = user.parent_op()
        assert parent is not None, "a value is used below the block that it is in"
        user = parent
    return user


def _hands_on(op: Operation) -> bool:
    """Whether an operation only returns a value or puts it on a stack, as is done for the backward pass."""
    stacks = isinstance(op, CallOp) and op.callee.string_value().startswith(_STACKS)
    return stacks or op.has_trait(IsTerminator) or op.name == hlo.dynamic_update_slice.name


def _repeats(run: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
    """The turns of an unrolled loop, if the run is the same operations several times."""
    places = [location_of(op.location) for op in run]
    keys = [(op.name, place.line, place.col) for op, place in zip(run, places, strict=True)]
    parts = (size for size in range(1, len(run) + 1) if len(run) % size == 0)
    period = next(size for size in parts if keys == keys[:size] * (len(run) // size))
    if len({key[1:] for key in keys}) == 1:
        period = len(run)  # one call into a library, whatever it does
    for start in range(0, len(run), period):
        yield run[start : start + period]


def _name_results(
    read: Sequence[SSAValue], computed: Sequence[SSAValue], statement: Statement
) -> dict[SSAValue, str]:
    """Of the values that are read, one target names the last of those with which something is computed."""
    targets = statement.targets
    if len(targets) == 1:
        read = (computed or read)[-1:]
    elif len(read) != len(targets):
        read = computed
    if len(read) != len(targets):
        return {}
    named = {result: name for result, name in zip(read, targets, strict=True) if name is not None}
    for result, name in named.items():
        if isinstance(result.owner, Operation):
            _name(result, result.owner, name)
    return named


def _name(result: SSAValue, op: Operation, name: str) -> None:
    """A name of an operation's only result is in its location; of several, each has its own."""
    loc = location_of(op.location)
    place = Location(loc.file, loc.line, loc.col)
    setattr(op, "location", SourceLoc(place.named(name) if len(op.results) == 1 else place))
    if len(op.results) > 1:
        result.name_hint = name
