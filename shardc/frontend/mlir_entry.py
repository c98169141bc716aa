"""The entry of a module, where another function than @main is asked for.

    func.func public @main, func.func public @f  ->  func.func private @main_0, func.func public @f

Private functions stay only where the entry calls them. @main is the entry wherever there is one, so that one
which is not gets another name.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardc.diagnostics import Location, ShardcError, listed

_MAIN = "main"


def choose_entry(module: ModuleOp, name: str) -> None:
    """Make a function the entry. ShardcError if the module has no such function with a body."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    entry = functions.get(name)
    if entry is None or not entry.body.blocks:
        what = f"the module has no function @{name}" if entry is None else f"@{name} has no body"
        raise ShardcError(what, Location(), listed(name, functions, "the functions are"))
    for function in functions.values():
        function.sym_visibility = StringAttr("public" if function is entry else "private")
    if name != _MAIN and _MAIN in functions:
        _rename(module, functions[_MAIN], functions)


def _rename(module: ModuleOp, function: FuncOp, taken: dict[str, FuncOp]) -> None:
    """Give a function, and what refers to it, a name that is free."""
    number = next(n for n in range(len(taken) + 1) if f"{_MAIN}_{n}" not in taken)
    old, new = SymbolRefAttr(_MAIN), SymbolRefAttr(f"{_MAIN}_{number}")
    for op in module.walk():
        for attributes in (op.attributes, op.properties):
            attributes.update({key: _renamed(value, old, new) for key, value in attributes.items()})
    function.sym_name = new.root_reference


def _renamed(value: Attribute, old: SymbolRefAttr, new: SymbolRefAttr) -> Attribute:
    if isinstance(value, ArrayAttr):
        items = cast("ArrayAttr[Attribute]", value)
        return ArrayAttr([_renamed(item, old, new) for item in items])
    return new if value == old else value
