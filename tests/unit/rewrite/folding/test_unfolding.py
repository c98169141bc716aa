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
