"""Sums of what all layers make, layer by layer.

    %0 = add %a0, %a1       %1 = add %0, %a10       %2 = add %1, %a2        the squares of layers, by name

becomes

    %0 = add %a0, %a1       %2 = add %0, %a2        %1 = add %2, %a10

The norm of all gradients, a penalty on all weights, whether all are finite: what such a sum adds comes in the
order of names, or of layers of which some come first. Its operations are of the layers whose parts they add
where these follow each other. It is rounded otherwise by that, as a sum over devices is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from xdsl.ir import Operation, OpResult, SSAValue

from shardc.ops import hlo
from shardc.rewrite.folding.places import Place, Slot
from shardc.rewrite.outline import has_effect

SUMS = frozenset(op.name for op in (hlo.add, hlo.multiply, hlo.maximum, hlo.minimum, hlo.and_, hlo.or_))
"""Operations of which several may be done in any order."""


def is_part(op: Operation, value: SSAValue) -> bool:
    """Whether a value is the sum so far to which an operation adds: only that reads it."""
    return (
        op.name in SUMS
        and isinstance(value, OpResult)
        and value.op.name == op.name
        and value.type == op.results[0].type
        and value.has_one_use()
    )


class Sum(Struct, frozen=True):
    """The operations of a sum in order, each of what comes before and its own term; `first` is the first
    term."""

    first: SSAValue
    ops: list[Operation]
    terms: list[SSAValue]

    def ordered(self, terms: Sequence[SSAValue], fixed: Container[Operation]) -> dict[SSAValue, Operation]:
        """Write the terms in another order, each beside what is computed for it alone, but for operations
        that are `fixed`; the operation that adds each, which is the one that did."""
        added, end = dict(zip(self.terms, self.ops, strict=True)), self.ops[-1]
        block, behind, value = end.parent, end.next_op, self.first
        assert block is not None and behind is not None
        users = [(use.operation, use.index) for use in end.results[0].uses]
        for term in terms:
            op = added[term]
            op.detach()
            block.insert_op_before(op, behind)
            op.operands = [value, term]
            value = op.results[0]
            _bring(term, op, fixed)
        for user, index in users:
            user.operands[index] = value
        return added


def _bring(value: SSAValue, reader: Operation, fixed: Container[Operation]) -> None:
    """Move what only this reads before it."""
    block, waiting = reader.parent, [(value, reader)]
    assert block is not None
    while waiting:
        value, reader = waiting.pop()
        if isinstance(value, OpResult) and value.has_one_use() and len(value.op.results) == 1:
            op = value.op
            if op.parent is block and op not in fixed and not has_effect(op):
                op.detach()
                block.insert_op_before(op, reader)
                waiting += ((each, op) for each in op.operands)


def sums_of(steps: Sequence[Operation]) -> Iterator[Sum]:
    """The sums of some operations that have three terms or more, each term once."""
    inside = {op: value for op in steps if op.name in SUMS for value in op.operands if is_part(op, value)}
    within = {value.op for value in inside.values() if isinstance(value, OpResult)}
    for last in (op for op in inside if op not in within):
        ops, terms, op = list[Operation](), list[SSAValue](), last
        while True:
            before = inside.get(op)
            one, other = op.operands
            ops.append(op)
            if not isinstance(before, OpResult):
                terms.append(other)
                break
            terms.append(one if other is before else other)
            op = before.op
        if len({one, *terms}) == len(terms) + 1:
            yield Sum(one, ops[::-1], terms[::-1])


def order_sums(
    sums: Iterable[Sum],
    ops: Mapping[Operation, Place],
    count: int,
    number: int,
    fixed: Container[Operation],
) -> dict[Operation, Place]:
    """Let sums add what layers make one layer after the other, what else there is first; the places of the
    operations that then do so, in a stretch of this `number`. Operations that are `fixed` stay where they
    are. A sum that begins with two terms of layers stays."""
    found = dict[Operation, Place]()
    ends = dict[SSAValue, SSAValue]()  # of sums that others begin with or add: what they were, what they are
    for each in sums:
        terms = [ends.get(term, term) for term in (each.first, *each.terms)]
        each = Sum(terms[0], each.ops, terms[1:])
        layers = defaultdict[tuple[Slot, int], dict[int, SSAValue]](dict)
        for term in terms:
            if isinstance(term, OpResult) and term.op in ops:
                slot, layer = ops[term.op]
                layers[slot, term.index][layer] = term
        whole = [row for row in layers.values() if len(row) == count]
        inside = {term for row in whole for term in row.values()}
        if each.first in inside:
            each = Sum(each.terms[0], each.ops, [each.first, *each.terms[1:]])
        if not whole or each.first in inside:
            continue
        others = [term for term in each.terms if term not in inside]
        ordered = [*others, *(row[layer] for layer in range(count) for row in whole)]
        added = each.ordered(ordered, fixed)
        ends[each.ops[-1].results[0]] = added[ordered[-1]].results[0]
        for row in whole:
            slot = number, len({place[0] for place in found.values()})
            found.update((added[term], (slot, layer)) for layer, term in row.items())
    return found
