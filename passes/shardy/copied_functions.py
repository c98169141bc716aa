"""Every call gets a function of its own, and calls that came out alike share one again.

    call @f(%0), call @f(%1)     ->  call @f(%0), call @f_0(%1)          sdy-flatten-call-graph
    call @f(%0), call @f_0(%1)   ->  call @f(%0), call @f(%1)            sdy-unflatten-call-graph

A copy remembers what it is a copy of: `attributes {sdy.original_func_name = "f"}`.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.sdy_attributes import ShardingAttr
from shardc.dialects.shardings import SHARDING
from shardc.passes.shardy.call_graph import (
    ORIGINAL,
    FreshNames,
    called,
    calls_of,
    functions_of,
    original_name,
    post_order,
)


class FlattenCallGraph(ModulePass):
    """Copy functions, and what they call, until each is called once; the first call keeps the function."""

    name = "sdy-flatten-call-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        order = post_order(op)
        copier = FunctionCopier.of(op)
        seen: set[str] = set()
        for function in order:
            for call in calls_of(function):
                callee = called(call, copier.functions)
                if callee.sym_name.data in seen:
                    call.properties["callee"] = SymbolRefAttr(copier.copy(callee).sym_name)
                seen.add(callee.sym_name.data)


class FunctionCopier(Struct):
    """Copies functions of a module; `functions` has all of them by name."""

    module: ModuleOp
    functions: dict[str, FuncOp]
    names: FreshNames

    @staticmethod
    def of(module: ModuleOp) -> FunctionCopier:
        """A copier of the functions that a module has now."""
        return FunctionCopier(module, functions_of(module), FreshNames.of(module))

    def copy(self, function: FuncOp) -> FuncOp:
        """A copy of a function at the end of the module, and before it copies of all that it calls."""
        made = function.clone()
        for call in calls_of(made):
            inner = self.copy(called(call, self.functions))
            call.properties["callee"] = SymbolRefAttr(inner.sym_name)
        original = original_name(function)
        made.properties["sym_name"] = StringAttr(self.names.new(function.sym_name.data))
        made.attributes[ORIGINAL] = original
        Rewriter.insert_op(made, InsertPoint.at_end(self.module.body.block))
        self.functions[made.sym_name.data] = made
        return made


@dataclass(frozen=True)
class UnflattenCallGraph(ModulePass):
    """Let calls share a function where the functions are copies of one and sharded alike.

    With `dedup_functions_fully` all copies of one become one, the one whose shardings most calls have.
    """

    name = "sdy-unflatten-call-graph"

    dedup_functions_fully: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_of(op)
        calls = [call for function in functions.values() for call in calls_of(function)]
        keys = {name: _Key.of(function) for name, function in functions.items()}
        chosen: dict[_Key, FuncOp] = {}
        counts: dict[_Key, int] = {}
        for call in calls:
            function = called(call, functions)
            key = keys[function.sym_name.data]
            group = key.unsharded() if self.dedup_functions_fully else key
            counts[key] = counts.get(key, 0) + 1
            best = chosen.setdefault(group, function)
            if counts[key] > counts[keys[best.sym_name.data]]:
                chosen[group] = function
        for call in calls:
            key = keys[called(call, functions).sym_name.data]
            group = key.unsharded() if self.dedup_functions_fully else key
            call.properties["callee"] = SymbolRefAttr(chosen[group].sym_name)
        for function in functions.values():
            function.attributes.pop(ORIGINAL, None)


class _Key(Struct, frozen=True):
    """Functions that are alike in this are one."""

    name: str
    arguments: tuple[Attribute | None, ...] = ()
    results: tuple[Attribute | None, ...] = ()

    @staticmethod
    def of(function: FuncOp) -> _Key:
        name = original_name(function).data
        return _Key(name, _shardings(function.arg_attrs), _shardings(function.res_attrs))

    def unsharded(self) -> _Key:
        return _Key(self.name)


def _shardings(attrs: ArrayAttr[DictionaryAttr] | None) -> tuple[Attribute | None, ...]:
    """The shardings of arguments or results; () if none has one."""
    found = tuple(entry.data.get(SHARDING) for entry in attrs or ())
    return found if any(isinstance(attr, ShardingAttr) for attr in found) else ()


class PreOrderFuncs(ModulePass):
    """Put every function before those that it calls."""

    name = "sdy-pre-order-funcs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in reversed(post_order(op)):
            function.detach()
            Rewriter.insert_op(function, InsertPoint.at_end(op.body.block))
