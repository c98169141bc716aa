"""What values are made of outside of layers, found where it is asked for."""

from __future__ import annotations

from xdsl.dialects import test as dialect
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from shardc.rewrite.alike import Alike
from shardc.rewrite.folding.given import Given

ALIKE = Alike(ignored=lambda _: False)


def made(*values: SSAValue) -> Operation:
    return dialect.TestOp(operands=values, result_types=[i32])


def test_a_long_chain_has_a_kind() -> None:
    ends = list[SSAValue]()
    for _ in range(2):
        chain = [made()]
        for _ in range(5000):
            chain.append(made(chain[-1].results[0]))
        ends.append(chain[-1].results[0])
    given = Given(ALIKE, ())
    assert given.of(ends[0]) == given.of(ends[1])
    assert given.constant(ends[0]) is not None


def test_what_nobody_asks_for_is_not_looked_at() -> None:
    block = Block(arg_types=[i32])
    one, other = made(block.args[0]), made()
    both, layer = made(one.results[0], other.results[0]), made()
    beside = made(layer.results[0], both.results[0])
    asked = set[Operation]()
    given = Given(ALIKE, {layer}, asked=asked)
    assert given.of(beside.results[0]) is None
    assert asked == {beside, layer}
    assert not given.has(layer.results[0])
    kind = given.of(both.results[0])
    assert kind is not None
    assert kind.of_arguments
    assert asked == {beside, layer, both, one, other}
