"""Names of the user's Python for the values of a module that JAX lowered.

h = jnp.tanh(x @ w)     # line 12 of model.py

    %1 = stablehlo.dot_general … loc("jit(f)/dot_general"("model.py":12:16))
    %2 = stablehlo.tanh %1 … loc("jit(f)/tanh"("model.py":12:7))
->
    %2 = stablehlo.tanh %1 … loc("h"("model.py":12:7))

A statement makes a run of operations; of their values that something outside the run reads, the last is the
one that is assigned, unless what comes next is in a function that the statement calls. The backward pass has
the places of the forward one, and no names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from xdsl.dialects.builtin import CallSiteLoc, ModuleOp, NameLoc, NoneAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from shardc.dialects.locations import SourceLoc, location_of
from shardc.frontend.python_lines import Statement, statement_at
from shardc.graph import Location
from shardc.ops import hlo

_BACKWARD = "transpose("
"""In the names that JAX gives operations of a backward pass."""


def name_values(module: ModuleOp) -> None:
    """Give values the names that the lines of their Python files assign, in place."""
    callers = _callers(module)
    for function in module.body.block.ops:
        if isinstance(function, FuncOp):
            known = callers[function.sym_name.data]
            for block in _blocks(function):
                _name_block(block, known)


def _blocks(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block.ops:
                yield from _blocks(inner)


def _callers(module: ModuleOp) -> dict[str, set[Statement]]:
    """Function -> the statements that call it.

    What has their places inside the function is JAX's own, and the places are those of its first call.
    """
    found: dict[str, set[Statement]] = defaultdict(set)
    for op in module.walk():
        if isinstance(op, CallOp):
            statement = _statement(op)
            if statement is not None:
                found[op.callee.string_value()].add(statement)
    return found


def _statement(op: Operation) -> Statement | None:
    """The statement that assigns what an operation computes, perhaps by way of a function that returns it."""
    if is_backward(op):
        return None
    inner: Statement | None = None
    for loc in frames(op.location):
        found = statement_at(loc.file, (loc.line, loc.col - 1)) if loc.file else None
        if found is None or found.targets:
            return None if found is None or (inner and len(found.targets) > 1) else found
        inner = found
    return None


def is_backward(op: Operation) -> bool:
    """Whether it is an operation of a backward pass."""
    return _BACKWARD in (location_of(op.location).name or "")


def frames(loc: Attribute) -> Iterator[Location]:
    """The places of a call stack, innermost first.

    JAX traces a function once for several calls: what is inside has the place of the first call too, inside
    that of its own.
    """
    stack = list(_stack(loc, ""))
    for (function, place), (caller, of_caller) in pairwise(stack):
        if not function or (function, place.file) != (caller, of_caller.file):
            yield place
    yield stack[-1][1]


def _stack(loc: Attribute, function: str) -> Iterator[tuple[str, Location]]:
    """Functions and the places in them."""
    if isinstance(loc, NameLoc) and not isinstance(loc.location, NoneAttr):
        yield from _stack(loc.location, loc.desc.data)
    elif isinstance(loc, CallSiteLoc):
        yield from _stack(loc.callee, "")
        yield from _stack(loc.caller, "")
    else:
        yield function, location_of(loc)


def _name_block(block: Block, callers: set[Statement]) -> None:
    run: list[Operation] = []
    current: Statement | None = None
    for op in block.ops:
        if op.name == hlo.constant.name:
            continue  # JAX places constants where it was asked to lower
        statement = None if op.has_trait(IsTerminator) else _statement(op)
        if statement is not current:
            if not _goes_on(op, current):
                _name_runs(run, current, callers)
            run, current = [], statement
        run.append(op)
    _name_runs(run, current, callers)


def _goes_on(op: Operation, statement: Statement | None) -> bool:
    """Whether an operation is another statement's in a function that this one calls: its value is to come.

    y = outer(tanh(inner(x))): what tanh gives has no name.
    """
    if statement is None or is_backward(op):
        return False
    places = ((loc.file, (loc.line, loc.col - 1)) for loc in frames(op.location))
    return any(file and statement_at(file, place) is statement for file, place in places)


def _name_runs(run: Sequence[Operation], statement: Statement | None, callers: set[Statement]) -> None:
    if statement is None or statement in callers:
        return
    for part in _repeats(run):
        _name_results(_read_outside(part), statement)


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


def _read_outside(run: Sequence[Operation]) -> list[SSAValue]:
    """The results that an operation outside the run reads, other than one of the backward pass."""
    inside = set(run)
    return [
        result
        for op in run
        for result in op.results
        if any(_reads(use.operation, op, inside) for use in result.uses)
    ]


def _reads(user: Operation, op: Operation, inside: set[Operation]) -> bool:
    if is_backward(user):
        return False
    while user.parent_block() is not op.parent_block():
        parent = user.parent_op()
        assert parent is not None, "a value is used below the block that it is in"
        user = parent
    return user not in inside


def _name_results(results: list[SSAValue], statement: Statement) -> None:
    targets = statement.targets
    if len(targets) == 1:
        results = results[-1:]
    if len(results) != len(targets):
        return
    for result, name in zip(results, targets, strict=True):
        if name is not None and isinstance(result.owner, Operation):
            _name(result, result.owner, name)


def _name(result: SSAValue, op: Operation, name: str) -> None:
    """A name of an operation's only result is in its location; of several, each has its own."""
    loc = location_of(op.location)
    place = Location(loc.file, loc.line, loc.col)
    setattr(op, "location", SourceLoc(place.named(name) if len(op.results) == 1 else place))
    if len(op.results) > 1:
        result.name_hint = name
