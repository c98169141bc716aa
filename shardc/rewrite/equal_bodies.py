"""Loops, choices and calls, also of LAPACK, that do the same with the same values -> one of them.

    %1 = func.call @layer(%x, %w)              %1 = func.call @layer(%x, %w)
    %2 = func.call @layer(%x, %w)      ->
    use(%1, %2)                                use(%1, %1)

What has a body, or a function elsewhere for one, is no plain operation to xDSL's elimination of common ones.
What does more than give its results stays.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation

from shardc.dialects.nested import nested
from shardc.graph.marks import REASON
from shardc.ops import Trait, has, hlo
from shardc.rewrite.alike import Alike
from shardc.rewrite.outline import has_effect

_WITH_BODIES = frozenset(definition.name for definition in (hlo.while_, hlo.if_, hlo.case, hlo.custom_call))


def merge_equal_bodies(module: ModuleOp) -> bool:
    """Whether there were any."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    known: dict[str, bool] = {}

    def does_more(op: Operation) -> bool:
        """Whether anything inside does."""
        return any(
            has(inner.name, Trait.EFFECT)
            or has_effect(inner)
            or (isinstance(inner, CallOp) and callee_does_more(inner.callee.string_value()))
            for inner in nested([op])
        )

    def callee_does_more(name: str) -> bool:
        if name not in known:
            known[name] = True  # of a function that calls itself, should there be one
            known[name] = name not in functions or does_more(functions[name])
        return known[name]

    def merged(block: Block, alike: Alike) -> bool:
        found: dict[Hashable, Operation] = {}
        changed = False
        for op in list(block.ops):
            if not (op.name in _WITH_BODIES or isinstance(op, CallOp)) or does_more(op):
                continue
            first = found.setdefault(alike.key(op, lambda value: value), op)
            if first is not op:
                for result, same in zip(op.results, first.results, strict=True):
                    result.replace_all_uses_with(same)
                op.detach()
                op.erase()
                changed = True
        return changed

    alike = Alike(ignored=lambda name: name == REASON)
    blocks = [block for op in nested([module]) for region in op.regions for block in region.blocks]
    return any([merged(block, alike) for block in blocks if block.parent is not None])
