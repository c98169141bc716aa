"""Sums of what all layers make are written layer by layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.ir import Operation, SSAValue

from shardc.dialects.nested import ops_of
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from shardc.rewrite.folding.places import Place
from shardc.rewrite.folding.sums import order_sums, sums_of
from tests.tolerance import assert_computes


def program(terms: Sequence[str]):
    """A function that adds terms, its operations without the last, and those that make terms, by what they
    are made of."""
    arguments = ", ".join(f"x{i}: f32[4]" for i in range(6))
    text = f"def main(e: f32[4], {arguments}):\n    return {' + '.join(terms)}\n"
    module = read(text, "sums.shard")
    function = next(op for op in module.body.block.ops if op.name == "func.func")
    *ops, _ = ops_of(function.regions[0].block)
    given = function.regions[0].block.args
    place: dict[SSAValue, int] = {argument: number - 1 for number, argument in enumerate(given)}
    made = {place[op.operands[0]]: op for op in ops if op.operands and op.operands[0] in place}
    return module, ops, made


def places(made: dict[int, Operation], count: int) -> dict[Operation, Place]:
    return {op: ((0, 0), layer) for layer, op in made.items() if 0 <= layer < count}


def added(ops: Sequence[Operation], found: dict[Operation, Place]) -> list[int]:
    """The layers of operations that add, as they stand in their block."""
    block = ops[0].parent
    assert block is not None
    return [found[op][1] for op in block.ops if op in found]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 3, 1, 2), (3, 2, 1, 0)])
def test_terms_go_by_layer(order: Sequence[int]) -> None:
    module, ops, made = program(["sin(e)", *(f"tanh(x{i})" for i in order)])
    before = snapshot(module.clone()).graph
    found = order_sums(sums_of(ops), places(made, 4), 4, 7, ())
    assert added(ops, found) == [0, 1, 2, 3]
    assert {place[0] for place in found.values()} == {(7, 0)}
    module.verify()
    arrays = [np.linspace(i, i + 1, 4, dtype="f4") for i in range(7)]
    assert_computes(before, arrays, run(snapshot(module).graph, arrays))


def test_what_is_of_no_layer_comes_first() -> None:
    _, ops, made = program(["tanh(x3)", "sin(x5)", "tanh(x0)", "tanh(x2)", "tanh(x1)"])
    found = order_sums(sums_of(ops), places(made, 4), 4, 7, ())
    assert added(ops, found) == [0, 1, 2, 3]
    first = min(found, key=lambda op: found[op][1])
    owners = [value.owner for value in first.operands]
    assert [op.name for op in owners if isinstance(op, Operation)] == ["stablehlo.sine", "stablehlo.tanh"]


def test_what_a_term_is_made_of_stands_beside_it_unless_it_is_fixed() -> None:
    terms = ["e", *(f"tanh(x{i} * x{i})" for i in (2, 0, 1))]
    for fixed in (False, True):
        _, ops, _ = program(terms)
        tanhs = [op for op in ops if op.name == "stablehlo.tanh"]
        made = {i: op for i, op in zip((2, 0, 1), tanhs, strict=True)}
        order_sums(sums_of(ops), places(made, 3), 3, 7, tanhs if fixed else ())
        block = ops[0].parent
        assert block is not None
        names = [op.name.removeprefix("stablehlo.") for op in block.ops][:-1]
        alone = ["multiply", "tanh"] * 3 + ["add"] * 3
        assert names == (alone if fixed else ["multiply", "tanh", "add"] * 3)


@pytest.mark.parametrize(
    "terms",
    [
        ["tanh(x0)", "tanh(x1)", "tanh(x2)"],  # there is nothing to begin with
        ["tanh(x0)", "tanh(x1)", "sin(e)", "tanh(x2)"],
        ["sin(e)", "tanh(x0)", "tanh(x2)"],  # of a layer there is no term
    ],
)
def test_others_stay(terms: Sequence[str]) -> None:
    _, ops, made = program(terms)
    before = list(ops[0].parent.ops) if ops[0].parent else []
    assert not order_sums(sums_of(ops), places(made, 3), 3, 7, ())
    assert before == (list(ops[0].parent.ops) if ops[0].parent else [])


def test_a_sum_begins_with_what_another_has_become() -> None:
    """Also where both were found before one was ordered."""
    text = """def main(x: f32[4], y: f32[4], z: f32[4], e: f32[4]):
    s = sin(e) + tanh(z) + tanh(y) + tanh(x)
    return s * (s + cos(z) + cos(x) + cos(y))
"""
    module = read(text, "sums.shard")
    before = snapshot(module.clone()).graph
    function = next(op for op in module.body.block.ops if op.name == "func.func")
    *ops, _ = ops_of(function.regions[0].block)
    arguments = function.regions[0].block.args[:3]
    layer: dict[SSAValue, int] = {argument: number for number, argument in enumerate(arguments)}
    slots = {"stablehlo.tanh": (0, 0), "stablehlo.cosine": (0, 1)}
    made = {op: (slots[op.name], layer[op.operands[0]]) for op in ops if op.name in slots}
    assert len(order_sums(list(sums_of(ops)), made, 3, 7, ())) == 6
    module.verify()
    arrays = [np.linspace(i, i + 1, 4, dtype="f4") for i in range(4)]
    assert_computes(before, arrays, run(snapshot(module).graph, arrays))


def test_each_operation_adds_what_it_did() -> None:
    """But for the first, which adds one of two."""
    _, ops, made = program(["tanh(x2)", "sin(e)", "tanh(x0)", "tanh(x1)"])
    adds = [op for op in ops if op.name == "stablehlo.add"]
    before = [op.operands[1].owner for op in adds]
    assert order_sums(sums_of(ops), places(made, 3), 3, 7, ())
    assert [op.operands[1].owner for op in adds] == [made[2], *before[1:]]


def test_a_sum_that_is_read_twice_ends() -> None:
    """What comes before is a term of what follows."""
    text = "def main(x: f32[4], y: f32[4], z: f32[4]):\n    s = x + y\n    return s + z + sin(s)\n"
    module = read(text, "sums.shard")
    function = next(op for op in module.body.block.ops if op.name == "func.func")
    assert [len(each.terms) for each in sums_of(ops_of(function.regions[0].block)[:-1])] == [2]
