"""Operations that do the same with the same values -> one of them.

    %1 = stablehlo.tanh %x         ->    %1 = stablehlo.tanh %x
    %2 = stablehlo.tanh %x               use(%1, %1)
    use(%1, %2)

As xDSL's elimination of common subexpressions, of which this is one. There to find an operation again is to
hash all of its attributes; here those are numbers (alike.py), and of what the operations of a class do is
asked once.
"""

# pyright: reportPrivateUsage=false
# op.operands makes an object each time

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.traits import IsolatedFromAbove, IsTerminator, MemoryEffect, NoMemoryEffect, SymbolOpInterface
from xdsl.transforms.common_subexpression_elimination import CSEDriver, KnownOps

from shardc.rewrite.alike import Alike


def merge_equal_operations(module: ModuleOp) -> None:
    """Let those of a module that only give their results be done once, and unused ones not at all."""
    _Driver(Alike(ignored=lambda name: False)).simplify(module)


class _Known(KnownOps):
    """The operations so far, by what is the same in equal ones."""

    def __init__(self, alike: Alike, ops: dict[Hashable, Operation]) -> None:
        self.alike, self.ops = alike, ops

    def _key(self, op: Operation) -> Hashable:
        if op.regions:
            return self.alike.key(op, id)
        return (self.alike.kind(op), *map(id, op._operands))

    def __getitem__(self, k: Operation) -> Operation:
        return self.ops[self._key(k)]

    def __setitem__(self, k: Operation, v: Operation) -> None:
        self.ops[self._key(k)] = v

    def __contains__(self, k: Operation) -> bool:
        return self._key(k) in self.ops

    def get(self, k: Operation, default: Any = None) -> Any:
        return self.ops.get(self._key(k), default)

    def setdefault(self, op: Operation) -> Operation:
        """The operation that is known and equal to one; itself if there was none."""
        return self.ops.setdefault(self._key(op), op)


class _Driver(CSEDriver):
    def __init__(self, alike: Alike) -> None:
        self.alike = alike
        super().__init__(_known_ops=_Known(alike, {}))

    def _simplify_operation(self, op: Operation) -> None:
        known = self._known_ops
        assert isinstance(known, _Known)
        if op.regions or not only_gives(type(op)):
            super()._simplify_operation(op)
        elif not any(result.first_use for result in op.results):
            self._mark_erasure(op)
        elif (existing := known.setdefault(op)) is not op:
            self._replace_and_delete(op, existing)

    def _simplify_block(self, block: Block) -> None:
        for op in block.ops:
            if op.regions:
                apart = op.has_trait(IsolatedFromAbove, value_if_unregistered=True)
                around = self._known_ops
                if apart:
                    self._known_ops = _Known(self.alike, {})
                for region in op.regions:
                    self._simplify_region(region)
                self._known_ops = around
            self._simplify_operation(op)

    def _simplify_region(self, region: Region) -> None:
        if len(region.blocks) == 1:
            around = self._known_ops
            assert isinstance(around, _Known)
            self._known_ops = _Known(self.alike, dict(around.ops))
            self._simplify_block(region.block)
            self._known_ops = around


@cache
def only_gives(kind: type[Operation]) -> bool:
    """Whether operations of a class do nothing but give their results, and are no ends of blocks."""
    effects = kind.get_traits_of_type(MemoryEffect)
    free = bool(effects) and all(isinstance(effect, NoMemoryEffect) for effect in effects)
    return free and not kind.has_trait(IsTerminator) and not kind.has_trait(SymbolOpInterface)
