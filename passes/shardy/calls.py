"""Functions and calls after propagation, as Shardy's pipeline leaves them.

Shardy propagates through a copy of the callee for every call and keeps one copy for all calls whose arguments
are sharded alike. The copies are numbered in the order of the calls, inner ones first, by one counter:
@foo, @bar, @bar_0, @foo_1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import DimRef, ShardingRef
from shardc.dialects.shardings import SHARDING
from shardc.dialects.types import type_of
from shardc.passes.shardy.export import drop_unused_functions

ORIGINAL = "shardc.original"
OPEN = DimRef((), True, None)


@dataclass(eq=False)
class _Copy:
    """The function of one call: what it is called, and the copies that its own calls lead to."""

    name: str
    function: FuncOp
    call: CallOp
    inner: list[_Copy] = field(default_factory=list["_Copy"])

    @property
    def key(self) -> tuple[str, object]:
        """Calls that are alike in this share a function."""
        return _original(self.function), self.function.arg_attrs


def drop_uncalled_functions(module: ModuleOp) -> None:
    """Remove private functions that no public one calls, directly or not."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    entries = [f for f in functions if f.sym_visibility is None or f.sym_visibility.data == "public"]
    if entries:
        drop_unused_functions(module, _reached(entries, {f.sym_name.data: f for f in functions}))


def mark_functions(module: ModuleOp) -> None:
    """Remember what functions are called: propagation may copy some."""
    for op in module.body.block.ops:
        if isinstance(op, FuncOp):
            op.attributes[ORIGINAL] = op.sym_name


def share_functions(module: ModuleOp) -> None:
    """One function for all calls of the same that are sharded alike, and reshards where results are not."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    called = {name for f in functions.values() for call in calls_of(f) if (name := callee_of(call))}
    entries = [f for f in functions.values() if f.sym_name.data not in called]
    names = _Names({f.sym_name.data for f in entries})
    trees = [(f, [_copy(call, functions, names) for call in calls_of(f)]) for f in entries]
    copies = [copy for _, tree in trees for root in tree for copy in _all(root)]
    chosen: dict[tuple[str, object], _Copy] = {}
    for copy in [c for _, tree in trees for c in tree] + [c for outer in copies for c in outer.inner]:
        chosen.setdefault(copy.key, copy)
    made = {copy: _make(copy, chosen) for copy in copies if chosen[copy.key] is copy}
    for function, tree in trees:
        _aim(calls_of(function), tree, chosen)
    for function in functions.values():
        if function.sym_name.data in called:
            function.detach()
            function.erase()
        else:
            function.attributes.pop(ORIGINAL, None)
    if made:
        Rewriter.insert_op(list(made.values()), InsertPoint.after(entries[-1]))
    drop_unused_functions(module, _reached(entries, {f.sym_name.data: f for f in made.values()}))


def _copy(call: CallOp, functions: dict[str, FuncOp], names: _Names) -> _Copy:
    function = functions[callee_of(call)]
    inner = [_copy(nested, functions, names) for nested in calls_of(function)]
    return _Copy(names.new(_original(function)), function, call, inner)


def _all(copy: _Copy) -> list[_Copy]:
    """The copies of a call, inner ones first."""
    return [inner for nested in copy.inner for inner in _all(nested)] + [copy]


def _make(copy: _Copy, chosen: dict[tuple[str, object], _Copy]) -> FuncOp:
    made = copy.function.clone()
    made.properties["sym_name"] = StringAttr(copy.name)
    made.attributes.pop(ORIGINAL, None)
    _complete_arguments(made)
    results = given(copy.call)
    if results is not None:
        made.properties["res_attrs"] = with_shardings(made.res_attrs, results)
    _aim(calls_of(made), copy.inner, chosen)
    return made


def _complete_arguments(function: FuncOp) -> None:
    """Where one argument has a sharding, all have: those without are open."""
    given = [attrs.data.get(SHARDING) for attrs in function.arg_attrs or ()]
    known = next((attr.data.mesh for attr in given if isinstance(attr, ShardingAttr)), None)
    if known is not None:
        refs = [
            attr.data if isinstance(attr, ShardingAttr) else ShardingRef(known, (OPEN,) * type_of(type).rank)
            for attr, type in zip(given, function.body.block.arg_types, strict=True)
        ]
        function.properties["arg_attrs"] = with_shardings(function.arg_attrs, tuple(refs))


def with_shardings(
    attrs: ArrayAttr[DictionaryAttr] | None, refs: tuple[ShardingRef, ...]
) -> ArrayAttr[DictionaryAttr]:
    """The attributes of arguments or results, with these shardings."""
    known = attrs or [DictionaryAttr({}) for _ in refs]
    return ArrayAttr(
        [
            DictionaryAttr({**entry.data, SHARDING: ShardingAttr(ref)})
            for entry, ref in zip(known, refs, strict=True)
        ]
    )


def _aim(calls: list[CallOp], copies: list[_Copy], chosen: dict[tuple[str, object], _Copy]) -> None:
    """Let calls call the functions that were kept."""
    for call, copy in zip(calls, copies, strict=True):
        call.properties["callee"] = SymbolRefAttr(chosen[copy.key].name)


@dataclass
class _Names:
    """Names of functions; one that is taken gets a number, from one counter for all."""

    taken: set[str]
    count: int = 0

    def new(self, wanted: str) -> str:
        name = wanted
        while name in self.taken:
            name = f"{wanted}_{self.count}"
            self.count += 1
        self.taken.add(name)
        return name


def _reached(entries: Iterable[FuncOp], made: dict[str, FuncOp]) -> set[str]:
    reached: set[str] = set()
    waiting = list(entries)
    while waiting:
        for call in calls_of(waiting.pop()):
            name = callee_of(call)
            if name not in reached and name in made:
                reached.add(name)
                waiting.append(made[name])
    return reached


def calls_of(function: FuncOp) -> list[CallOp]:
    """The calls in a function, in order."""
    return [op for op in function.walk() if isinstance(op, CallOp)]


def callee_of(call: CallOp) -> str:
    """The name of what is called."""
    return call.callee.string_value()


def _original(function: FuncOp) -> str:
    name = function.attributes.get(ORIGINAL)
    return name.data if isinstance(name, StringAttr) else function.sym_name.data


def given(call: CallOp) -> tuple[ShardingRef, ...] | None:
    """The shardings of a call's results, if it has any."""
    found = call.attributes.get(SHARDING)
    return found.data if isinstance(found, ShardingPerValueAttr) else None
