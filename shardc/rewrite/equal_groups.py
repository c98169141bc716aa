"""Calls such as softmax that do the same with the same values -> one call.

    %1 = … {shardc.group = "softmax#1/7"}              %1 = … {shardc.group = "softmax#1/7"}
    %2 = … {shardc.group = "softmax#2/7"}      ->
    use(%1, %2)                                        use(%1, %1)

Their operations differ in the group's number, so that none is equal to one of the other group by itself; and
one without the others would be no call any more. So groups go as a whole.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from shardc.dialects.nested import nested
from shardc.graph.marks import GROUP, REASON
from shardc.rewrite.alike import Alike


def merge_equal_groups(module: ModuleOp) -> bool:
    """Whether there were any."""
    blocks = [block for op in nested([module]) for region in op.regions for block in region.blocks]
    return any([_merged(block) for block in blocks])


def _merged(block: Block) -> bool:
    groups: dict[str, list[Operation]] = {}
    place: dict[Operation, int] = {}
    for number, op in enumerate(block.ops):
        label = op.attributes.get(GROUP)
        if label is not None:
            groups.setdefault(str(label), []).append(op)
            place[op] = number
    alike = Alike(ignored=lambda name: name in (GROUP, REASON))
    found: dict[Hashable, list[Operation]] = {}
    changed = False
    for ops in groups.values():
        if not all(map(is_side_effect_free, ops)):
            continue
        first = found.setdefault(_key(alike, ops), ops)
        if place[first[-1]] < place[ops[0]]:
            _replace(ops, first)
            changed = True
    return changed


def _key(alike: Alike, ops: Sequence[Operation]) -> Hashable:
    """Equal for groups that do the same with the same values."""
    made = {result for op in ops for result in op.results}
    taken = [value for op in ops for value in (*op.operands, *_of_bodies(op)) if value not in made]
    results = [result for op in ops for result in op.results]
    return tuple(dict.fromkeys(taken)), alike.steps(ops, list(dict.fromkeys(taken)), results)


def _of_bodies(op: Operation) -> list[SSAValue]:
    """What an operation's bodies use of what is around it."""
    used = [value for inner in op.walk() if inner is not op for value in inner.operands]
    return [value for value in used if not op.is_ancestor(value.owner)]


def _replace(ops: Sequence[Operation], first: Sequence[Operation]) -> None:
    for op, other in zip(ops, first, strict=True):
        for result, same in zip(op.results, other.results, strict=True):
            result.replace_all_uses_with(same)
    for op in reversed(ops):
        op.detach()
        op.erase()
