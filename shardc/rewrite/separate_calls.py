"""A function whose calls shard it differently -> one copy for each way.

%0 = func.call @f(%x)      // x split over data          %0 = func.call @f(%x)
%1 = func.call @f(%y)      // y split over model    ->   %1 = func.call @f_1(%y)
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp

from shardc.dialects.snapshot import Snapshot
from shardc.layout import Sharding
from shardc.propagation import PropagatedBody, Result

_Outcome = tuple[frozenset[tuple[int, Sharding | None]], ...]


def separate_calls(snap: Snapshot, result: Result) -> bool:
    """Copy the outermost functions whose instances came out differently; whether there were any.

    The snapshot is that of the result's graph. Neither fits the module any more if anything was copied; what
    those functions call may still come out differently, so propagate again.
    """
    torn = _torn(result)
    depth = min((len(body.path) for body in torn), default=0)
    names = dict.fromkeys(body.function for body in torn if len(body.path) == depth)
    return any([_separate(name, snap, result) for name in names])


def _torn(result: Result) -> list[PropagatedBody]:
    """The instances that came out differently from the first of their function."""
    first: dict[str, PropagatedBody] = {}
    return [
        body for body in result.bodies if body.shardings != first.setdefault(body.function, body).shardings
    ]


def _separate(name: str, snap: Snapshot, result: Result) -> bool:
    """One copy for each outcome but the first; a call's outcome is that of all instances it leads to."""
    groups: dict[_Outcome, list[int]] = {}
    outcomes: dict[int, list[PropagatedBody]] = {}
    for body in result.bodies:
        if body.function == name and body.path:
            outcomes.setdefault(body.path[-1], []).append(body)
        elif body.function == name:
            groups[_outcome([body])] = []
    for call, bodies in outcomes.items():
        groups.setdefault(_outcome(bodies), []).append(call)
    functions = {f.sym_name.data: f for f in snap.module.body.block.ops if isinstance(f, FuncOp)}
    for calls in list(groups.values())[1:]:
        copy = _copy(functions[name], snap.module, set(functions))
        functions[copy.sym_name.data] = copy
        for call in calls:
            op = snap.ops[call]
            assert isinstance(op, CallOp)
            op.properties["callee"] = SymbolRefAttr(copy.sym_name.data)
    return len(groups) > 1


def _outcome(bodies: list[PropagatedBody]) -> _Outcome:
    return tuple(frozenset(body.shardings.items()) for body in bodies)


def _copy(function: FuncOp, module: ModuleOp, names: set[str]) -> FuncOp:
    copy = function.clone()
    number = next(n for n in range(1, len(names) + 2) if f"{function.sym_name.data}_{n}" not in names)
    copy.properties["sym_name"] = StringAttr(f"{function.sym_name.data}_{number}")
    module.body.block.insert_op_after(copy, function)
    return copy
