"""Which of the values that a loop carries are always equal: they begin alike, and each turn makes
the same of them.

%0:3 = stablehlo.while(%h = %x, %hs = %zeros, %saved = %zeros) … do {
  %h_1 = stablehlo.tanh %h
  %a = stablehlo.dynamic_update_slice %hs, %h_1, %i
  %b = stablehlo.dynamic_update_slice %saved, %h_1, %i
  stablehlo.return %h_1, %a, %b             // %hs and %saved
}

All that begin alike are taken for equal first. As long as a turn makes different values of them, under that
assumption, they are told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from shardc.ops import hlo
from shardc.rewrite.alike import Alike

_COMMUTATIVE = (hlo.add.name, hlo.multiply.name)


def equal_carried(loop: Operation, kinds: Sequence[Hashable]) -> dict[int, int]:
    """Index of a carried value -> the first that is equal to it, for all but the first.

    Values of different `kinds`, and of different types, are different.
    """
    body, alike = loop.regions[1].block, Alike(ignored=lambda name: name.startswith("shardc."))
    begun = [(value.type, _start(value, alike)) for value in loop.operands]
    classes = _numbered([*zip(begun, kinds, strict=True)])
    while max(Counter(classes).values(), default=0) > 1:
        refined = _numbered([*zip(classes, _after(body, classes, alike), strict=True)])
        if refined == classes:
            break
        classes = refined
    first = {number: index for index, number in reversed([*enumerate(classes)])}
    return {index: first[number] for index, number in enumerate(classes) if first[number] != index}


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    """Keys as numbers, from 0 in their order."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _start(value: SSAValue, alike: Alike) -> Hashable:
    """Equal for values that are one, and for constants and their repetitions that are equal."""
    owner = value.owner
    if isinstance(owner, Operation) and owner.name in (hlo.constant.name, hlo.broadcast_in_dim.name):
        return alike.key(owner, lambda operand: _start(operand, alike))
    return value


def _after(body: Block, classes: Sequence[int], alike: Alike) -> list[Hashable]:
    """A number for each value after a turn, where those of one class are equal before it."""
    numbers: dict[SSAValue, Hashable] = dict(zip(body.args, classes, strict=True))
    made: dict[Hashable, tuple[int, ...]] = {}
    key: Hashable
    for op in body.ops:
        if not op.results:
            continue
        if op.name in _COMMUTATIVE:
            taken = Counter([numbers.get(value, value) for value in op.operands])
            key = alike.kind(op), frozenset(taken.items())
        elif is_side_effect_free(op):
            key = alike.key(op, lambda value: numbers.get(value, value))
        else:
            key = op
        known = made.setdefault(key, tuple(len(classes) + len(numbers) + i for i in range(len(op.results))))
        numbers.update(zip(op.results, known, strict=True))
    last = body.last_op
    assert last is not None, "a loop's body yields"
    return [numbers.get(value, value) for value in last.operands]
