"""Who calls whom: the functions of a module in the orders in which Shardy visits them.

Shardy goes by MLIR's call graph: from every function, in the order of the module, to what it calls that was
not seen yet. Post-order has what is called before what calls it.
"""

from __future__ import annotations

from msgspec import Struct, field
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp

from shardc.diagnostics import ShardcError
from shardc.dialects.locations import location_of
from shardc.dialects.sdy import MeshOp

ORIGINAL = "sdy.original_func_name"
"""The attribute of a copied function that says what it is a copy of."""


def functions_of(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions of a module by name, in its order."""
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}


def calls_of(function: FuncOp) -> list[CallOp]:
    """The calls in a function, in order; those in the regions of an operation come before it."""
    return [op for op in function.walk(region_first=True) if isinstance(op, CallOp)]


def callee_of(call: CallOp) -> str:
    """The name of what is called."""
    return call.callee.string_value()


def called(call: CallOp, functions: dict[str, FuncOp]) -> FuncOp:
    """What is called. ShardcError if there is no such function, or it has no body."""
    function = functions.get(callee_of(call))
    if function is None or not function.body.blocks:
        raise ShardcError(f"there is no function @{callee_of(call)} to call", location_of(call.location))
    return function


def post_order(module: ModuleOp) -> list[FuncOp]:
    """All functions, what is called before what calls it. ShardcError if a function calls itself."""
    functions = functions_of(module)
    done: dict[str, FuncOp] = {}
    for root in functions.values():
        if root.sym_name.data in done:
            continue
        open_names = {root.sym_name.data}
        stack = [(root, iter(calls_of(root)))]
        while stack:
            function, calls = stack[-1]
            call = next(calls, None)
            if call is None:
                done[function.sym_name.data] = function
                open_names.remove(function.sym_name.data)
                stack.pop()
                continue
            name = called(call, functions).sym_name.data
            if name in open_names:
                raise ShardcError(
                    f"@{name} calls itself", location_of(call.location), "a compiled program has no recursion"
                )
            if name not in done:
                open_names.add(name)
                stack.append((functions[name], iter(calls_of(functions[name]))))
    return list(done.values())


def drop_uncalled(module: ModuleOp) -> None:
    """Remove private functions that nothing public leads to, as MLIR's symbol-dce does; meshes are public."""
    functions = functions_of(module)
    waiting = [f for f in functions.values() if not is_private(f)]
    kept = {f.sym_name.data for f in waiting}
    while waiting:
        for call in calls_of(waiting.pop()):
            name = callee_of(call)
            if name in functions and name not in kept:
                kept.add(name)
                waiting.append(functions[name])
    for name, function in functions.items():
        if name not in kept:
            function.detach()
            function.erase(safe_erase=False)


def main_of(module: ModuleOp) -> FuncOp | None:
    """The function @main, or the only one; None if there is neither."""
    functions = functions_of(module)
    return functions.get("main") or (next(iter(functions.values())) if len(functions) == 1 else None)


def is_private(function: FuncOp) -> bool:
    """Whether only the module itself can call a function."""
    return function.sym_visibility is not None and function.sym_visibility.data != "public"


def original_name(function: FuncOp) -> StringAttr:
    """The name of what a function is a copy of, else its own."""
    name = function.attributes.get(ORIGINAL)
    return name if isinstance(name, StringAttr) else function.sym_name


class FreshNames(Struct):
    """Names for functions; one that is taken gets a number, as in MLIR from one counter for all."""

    taken: set[str]
    count: int = field(default=0)

    @staticmethod
    def of(module: ModuleOp) -> FreshNames:
        """Names beside those of a module's functions and meshes."""
        ops = module.body.block.ops
        return FreshNames({op.sym_name.data for op in ops if isinstance(op, (FuncOp, MeshOp))})

    def new(self, wanted: str) -> str:
        """The name that is wanted, or one like it."""
        name = wanted
        while name in self.taken:
            name = f"{wanted}_{self.count}"
            self.count += 1
        self.taken.add(name)
        return name
