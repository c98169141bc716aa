"""What operations of layers that are missing read."""

from __future__ import annotations

import pytest
from xdsl.dialects import test as dialect
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, i32
from xdsl.ir import Block, Operation

from shardc.rewrite.folding.notes import Folded, Unlike
from shardc.rewrite.folding.places import Place, note_places
from shardc.rewrite.folding.unfolding import Layers, Read

FIRST, SECOND = (0, 0), (0, 1)
BOTH = ((FIRST, 0), (SECOND, 1)), 0
"""The second half of a layer and the first of the one before, which is the next: they are counted down."""


def chain(*places: list[Place]) -> Block:
    """Operations of which each stands at some places of stack 0 and reads what the one before made."""
    ops: list[Operation] = []
    for each in places:
        ops.append(dialect.TestOp([ops[-1].results[0]] if ops else [], [i32]))
        note_places(ops[-1], [((0, *slot), layer) for slot, layer in each])
    return Block([*ops, dialect.TestTermOp(ops[-1].results)])


def layers(block: Block) -> Layers:
    """The layers of a block that lacks three between layers 1 and 2."""
    empty = ArrayAttr[DictionaryAttr]([])
    return Layers(block, Folded(0, 1, 2, 3, (), (), (), DictionaryAttr({}), empty, ArrayAttr([]), empty), [])


def halves(layer: int) -> list[Place]:
    return [(SECOND, layer + 1), (FIRST, layer)]


def test_of_the_layers_at_the_cut_one_may_be_the_last_that_repeats() -> None:
    """It reads what stands alone; the layer before it and the next one tell what is read between them."""
    block = chain([(FIRST, 3)], halves(2), halves(1), halves(0), [(SECOND, 0)])
    found = layers(block)
    assert found.relations[BOTH] == [Read(1, BOTH, 0)]
    _, second, *_ = block.ops
    assert [read for _, read, _ in found.wanted(second, None)] == [None]


def test_without_two_that_read_alike_nobody_knows() -> None:
    with pytest.raises(Unlike):
        layers(chain([(FIRST, 3)], halves(2), halves(1)))


def reading(*steps: tuple[Place, Place | None]) -> Block:
    """Operations, each with its place and that of what it reads."""
    made, ops = dict[Place, Operation](), list[Operation]()
    for (slot, layer), read in steps:
        made[slot, layer] = dialect.TestOp([made[read].results[0]] if read else [], [i32])
        note_places(made[slot, layer], [((0, *slot), layer)])
        ops.append(made[slot, layer])
    return Block([*ops, dialect.TestTermOp(ops[-1].results)])


@pytest.mark.parametrize("down", [False, True])
def test_layers_may_stand_between_each_other(down: bool) -> None:
    """As far from the next as they are at the cut: the last operation of a layer is in the next one."""
    a, b, c = (0, 0), (0, 1), (0, 2)
    count = 4

    def at(layer: int, layers: int = count) -> int:
        return layers - 1 - layer if down else layer

    def steps(layers: int) -> list[Place]:
        turns = [step for k in range(layers - 1) for step in ((a, k + 1), (c, k), (b, k + 1))]
        return [(slot, at(k, layers)) for slot, k in [(a, 0), (b, 0), *turns, (c, layers - 1)]]

    def read(slot: tuple[int, ...], layer: int) -> Place | None:
        before = layer + 1 if down else layer - 1
        if slot == a:
            return (b, before) if 0 <= before < count else None
        return (a if slot == b else b), layer

    found = layers(reading(*(((slot, layer), read(slot, layer)) for slot, layer in steps(count))))
    order = [(found.at[op], layer) for op, layer in found.order() if op in found.at]
    whole = [(key[0][0][0], found.new(own) if layer is None else layer) for (key, own), layer in order]
    assert whole == steps(count + 3)
