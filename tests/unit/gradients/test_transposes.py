"""<A x, y> = <x, A' y> exactly, over a finite field: for linear operations and collectives."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.ops import op_of
from shardc.ops.derivatives import TABLES
from shardc.proof.draws import Draw
from shardc.proof.evaluate import evaluate
from shardc.proof.kinds import KINDS
from shardc.proof.values import same

WHOLE = [
    ("-x", (4, 6)),
    ("x + flip(x)", (4, 6)),
    ("x - roll(x, 1, 0)", (4, 6)),
    ("x * 3", (4, 6)),
    ("3 * x - x / 2", (4, 6)),
    ("reshape(x, (3, 8))", (4, 6)),
    ("transpose(x, (2, 0, 1))", (2, 3, 4)),
    ("broadcast_to(x, (5, 4, 6))", (4, 6)),
    ("x[:, None]", (4, 6)),
    ("x[1:3, ::2]", (4, 6)),
    ("x[::-1, 1]", (4, 6)),
    ("pad(x, ((1, 2), (0, 3)))", (4, 6)),
    ("op('stablehlo.pad', x, 0.0, {edge_padding_low=(1, -1), edge_padding_high=(0, 2),"
     " interior_padding=(2, 1)})", (4, 6)),
    ("flip(x, axis=1)", (4, 6)),
    ("concatenate((x, 2 * x, x[1:]))", (4, 6)),
    ("stack((x, flip(x)), axis=1)", (4, 6)),
    ("sum(x, axis=1)", (4, 6)),
    ("sum(x)", (4, 6)),
    ("cumsum(x, axis=1)", (4, 6)),
    ("diff(x, n=2)", (4, 6)),
    ("avg_pool(x, 2)", (1, 2, 4, 4)),
    ("avg_pool(x, 3, strides=2, padding='SAME')", (1, 2, 5, 5)),
    ("x @ w", (4, 6)),
    ("w @ x", (6, 4)),
    ("einsum('ij,kj->ki', x, w)", (4, 6)),
    ("einsum('bij,bjk->bik', x, x0)", (2, 3, 3)),
    ("where(w[:4] > 0, x, 2 * x)", (4, 6)),
    ("tril(x)", (4, 6)),
    ("x[array([0, 2, 2])]", (4, 6)),
    ("x[:, array([5, 0])]", (4, 6)),
    ("x[array([0, 3]), array([1, 4])]", (4, 6)),
    ("take_along_axis(x, array([[0], [5], [3], [3]]), axis=1)", (4, 6)),
    ("x.at[1].set(0.0)", (4, 6)),
    ("zeros((4, 6)).at[array([0, 2, 2])].add(x)", (3, 6)),
    ("zeros((4, 6)).at[array([3, 1])].set(x)", (2, 6)),
    ("zeros((4, 6)).at[array([3, 3])].set(x)", (2, 6)),
    ("dynamic_slice(x, (1, 2), (2, 3))", (4, 6)),
    ("dynamic_update_slice(zeros((6, 6)), x, (1, 0))", (4, 6)),
    ("trace(x)", (4, 6)),
    ("conv(x, k)", (1, 2, 5, 5)),
    ("conv(x, k, strides=2, padding='SAME')", (1, 2, 5, 5)),
    ("conv(x, k, dilation=2, padding=2)", (1, 2, 5, 5)),
    ("conv(i, x)", (3, 2, 3, 3)),
    ("conv(i, x, strides=2, padding=((1, 0), (0, 2)))", (3, 2, 3, 3)),
    ("conv(i, x, groups=2)", (4, 1, 3, 3)),
]  # fmt: skip


def check(text: str) -> None:
    """Of a program that returns two numbers: they are equal in several draws."""
    graph = snapshot(read(text, "transpose.shard")).graph
    for number in range(3):
        draw = Draw(number, KINDS[number % len(KINDS)])
        left, right = evaluate(graph, draw, draw.inputs(graph, graph)).arrays()
        assert bool(np.all(same(left, right)))


def shape_of(text: str) -> tuple[int, ...]:
    """The shape of what a program returns."""
    graph = snapshot(read(text, "transpose.shard")).graph
    (result,) = graph.main.body.results
    return graph.type(result).shape


FIXED = "w: f32[6, 6], x0: f32[2, 3, 3], k: f32[3, 2, 3, 3], i: f32[1, 2, 6, 6]"


@pytest.mark.parametrize(("expression", "shape"), WHOLE, ids=lambda value: str(value))
def test_transpose(expression: str, shape: tuple[int, ...]):
    typed = f"x: f32{list(shape)}, {FIXED}"
    result = shape_of(f"def main({typed}):\n    return {expression}\n")
    check(
        f"def main({typed}, y: f32{list(result)}):\n"
        f"    v, pull = vjp(lambda x: {expression}, x)\n"
        f"    return sum(v * y), sum(x * pull(y)[0])\n"
    )


BLOCKS = [
    ("psum(x, i)", "f32[8@i, 4]", "f32[2, 4]"),
    ("psum(x, (i, j))", "f32[8@i, 4@j]", "f32[2, 2]"),
    ("psum(x, j) + x", "f32[8@i, 4@j]", "f32[8@i, 4@j]"),
    ("psum(x, i) * 2", "f32[8]", "f32[8]"),
    ("psum_scatter(x, i, tiled=True)", "f32[16, 4@i]", "f32[16@i, 1]"),
    ("psum_scatter(x, j, scatter_dimension=1, tiled=True)", "f32[8@i, 4]", "f32[8@i, 4@j]"),
    ("all_gather(x, i, tiled=True) * 1", "f32[8@i, 4]", "f32[32@i, 4]"),
    ("all_gather(x, i, tiled=True, to='invarying')", "f32[8@i, 4]", "f32[8, 4]"),
    ("all_gather(x, (i, j), axis=1, tiled=True, to='invarying')", "f32[4, 8@(i, j)]", "f32[4, 8]"),
    ("all_gather(x, i)", "f32[8]", "f32[16@i, 8]"),
    ("all_to_all(x, i, 1, 0, tiled=True)", "f32[8@i, 4]", "f32[8, 4@i]"),
    ("all_to_all(x, i, 0, 0, tiled=True)", "f32[16@i, 4]", "f32[16@i, 4]"),
    ("ppermute(x, i, ((0, 1), (1, 2), (2, 0)))", "f32[8@i]", "f32[8@i]"),
    ("ppermute(x, i, ((0, 3),))", "f32[8]", "f32[32@i]"),
    ("pbroadcast(x, i, 2)", "f32[8@i]", "f32[2]"),
    ("pbroadcast(x, i, 1)", "f32[8]", "f32[8]"),
    ("pmean(x, i)", "f32[8@i]", "f32[2]"),
    ("block(x, i)", "f32[8, 4]", "f32[8@i, 4]"),
    ("x * axis_index(i)", "f32[8]", "f32[32@i]"),
    ("x * axis_index(i)", "f32[8@j]", "f32[32@(j, i)]"),
    ("pvary(x, i)", "f32[8]", "f32[32@i]"),
    ("psum(to_partial(x, i) * 3, i)", "f32[8]", "f32[8]"),
    ("psum(cond(axis_index(i) > 1, lambda v: 2 * v, lambda v: 3 * v, x), i)", "f32[8]", "f32[8]"),
]


@pytest.mark.parametrize(("expression", "given", "result"), BLOCKS, ids=lambda value: str(value))
def test_transpose_of_per_device_code(expression: str, given: str, result: str):
    header = f"mesh m[i=4, j=2]\n\n@shard_map\ndef f(x: {given}) -> {result}:\n    return {expression}\n\n"
    check(
        f"{header}def main(x: {given}, y: {result}):\n    v, pull = vjp(f, x)\n"
        f"    return sum(v * y), sum(x * pull(y)[0])\n"
    )


def test_every_linear_operation_is_in_a_program_here():
    found: set[str] = set()
    texts = [f"def main(x: f32{list(s)}, {FIXED}):\n    return {e}\n" for e, s in WHOLE]
    texts += [
        f"mesh m[i=4, j=2]\n\n@shard_map\ndef main(x: {given}) -> {result}:\n    return {e}\n"
        for e, given, result in BLOCKS
    ]
    for text in texts:
        graph = snapshot(read(text, "transpose.shard")).graph
        for function in graph.functions.values():
            found |= _names(graph, function.body)
    linear = {d.name for table in TABLES for d, rule in table.items() if rule.jointly or rule.singly}
    assert linear - found <= ELSEWHERE


def _names(graph, region) -> set[str]:
    found = set[str]()
    for node in region.nodes[:-1]:
        found.add(op_of(graph, node).name)
        for inner in node.regions:
            found |= _names(graph, inner)
    return found


ELSEWHERE = {
    "stablehlo.complex", "stablehlo.real", "stablehlo.imag", "chlo.conj",  # complex numbers
    "stablehlo.fft",  # roots of unity are complex numbers
    "stablehlo.convert", "stablehlo.reduce_precision",  # rounding is not of a field
    "stablehlo.triangular_solve",  # in test_programs
    "spmd.as_partial", "spmd.assume_equal", "sdy.sharding_constraint",  # the identity
}  # fmt: skip
