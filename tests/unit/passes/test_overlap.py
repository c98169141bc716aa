"""Overlapped products: the same results and bytes as the collectives, on every target."""

from __future__ import annotations

from collections import Counter

import ml_dtypes
import numpy as np
import pytest

import shardc
from shardc.backend.shard import emit
from shardc.check.varying import check_graph
from shardc.diagnostics import ShardcError
from shardc.graph import Graph, Region, walk
from shardc.interpret.run import run
from tests.corpus.overlapping import Product, local, same_results, traffic, whole_numbers

RINGS = {
    "two": ("pod[i=2]", "i", 2),
    "three": ("pod[i=3]", "i", 3),
    "four": ("pod[i=4, j=2]", "i", 4),
    "five": ("pod[i=5]", "i", 5),
    "eight": ("pod[i=8]", "i", 8),
    "both axes": ("pod[i=2, j=4]", "(j, i)", 8),
}
CASES = [
    *(("lhs", letter) for letter in "bmk"),
    *(("rhs", letter) for letter in "bkn"),
    *(("result", letter) for letter in "bmn"),
]


def product(ring: str, side: str, letter: str) -> Product:
    mesh, axes, n = RINGS[ring]
    return Product(mesh, axes, side, letter, (n, 2 * n, n, 3 * n))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize(("side", "letter"), CASES)
def test_same_results_and_bytes(ring: str, side: str, letter: str) -> None:
    plain, overlapped = same_results(product(ring, side, letter).text)
    before, after = traffic(plain), traffic(overlapped)
    assert set(after) == {"collective_permute"}
    assert after.total() == before.total() > 0
    assert check_graph(overlapped)


@pytest.mark.parametrize(("ring", "loops"), [("four", 0), ("five", 1), ("eight", 1)])
def test_long_rings_are_loops(ring: str, loops: int) -> None:
    graph = local(product(ring, "lhs", "m").text, when="on")
    (body,) = (node.regions[0] for node in graph.main.body.nodes if node.regions)
    assert sum(node.name == "stablehlo.while" for node in body.nodes) == loops


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ring", ["four", "five", "eight"])
@pytest.mark.parametrize(("side", "letter"), CASES)
def test_nothing_waits(ring: str, side: str, letter: str) -> None:
    """Within a turn what is gathered needs no product to be sent on, and a scattered product needs no sum."""
    graph = local(product(ring, side, letter).text, when="on")
    kinds = {"spmd.collective_permute", "stablehlo.dot_general"}
    waiting, awaited = sorted(kinds, reverse=side == "result")
    (manual, _) = graph.main.body.nodes
    for node in walk(manual.regions[0]):
        if node.name == "stablehlo.while":
            assert awaited not in _needed(node.regions[1], waiting)
    if ring == "four":
        assert awaited not in _needed(manual.regions[0], waiting)


def _needed(region: Region, name: str) -> set[str]:
    """The operations of a region that those of a name need."""
    made = {value: node for node in region.nodes for value in node.results}
    pending = [value for node in region.nodes if node.name == name for value in node.operands]
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if value in made and value not in seen:
            seen.add(value)
            pending += made[value].operands
    return {made[value].name for value in seen}


def test_unroll_says_which_rings_are_loops() -> None:
    same_results(product("eight", "rhs", "k").text, when="on", unroll=8)
    same_results(product("three", "result", "n").text, when="on", unroll=2)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize(
    ("ring", "side", "letter"),
    [
        ("two", "lhs", "m"),
        ("two", "result", "n"),
        ("three", "rhs", "k"),
        ("three", "result", "b"),
        ("four", "lhs", "b"),
        ("four", "result", "m"),
        ("eight", "rhs", "n"),
        ("eight", "lhs", "k"),
        ("eight", "result", "n"),
        ("both axes", "lhs", "m"),
        ("both axes", "result", "m"),
    ],
)
def test_emitted_programs(target: str, ring: str, side: str, letter: str) -> None:
    if target == "jax":
        pytest.importorskip("jax")
    text = product(ring, side, letter).text
    arrays = whole_numbers(local(text))
    have, want = (
        shardc.compile(text, target=target, overlap=overlap).main(*arrays) for overlap in ("on", "off")
    )
    assert (have == want).all()


@pytest.mark.parametrize("ring", ["four", "eight"])
@pytest.mark.parametrize(("side", "letter"), [("lhs", "m"), ("rhs", "k"), ("lhs", "b"), ("result", "n")])
def test_round_trip(ring: str, side: str, letter: str) -> None:
    """What --emit shard writes compiles again to the same program."""
    graph = local(product(ring, side, letter).text, when="on")
    again = local(emit(graph))
    assert operations(again) == operations(graph)
    assert traffic(again) == traffic(graph)
    arrays = whole_numbers(graph)
    for want, have in zip(run(graph, arrays), run(again, arrays), strict=True):
        np.testing.assert_array_equal(want, have)


def operations(graph: Graph) -> Counter[str]:
    """What a device does, whatever it is called."""
    return Counter(f"{node.name} {graph.types(node.results)}" for node in walk(graph.main.body))


# ---- several operations

RING = "mesh pod[i=4]\n@shard_map\ndef main"


def kinds(body: str, signature: str) -> set[str]:
    """The collectives that overlapping leaves."""
    plain, overlapped = same_results(f"{RING}{signature}:\n{body}")
    assert traffic(plain).total() == traffic(overlapped).total()
    return set(traffic(overlapped))


QKV = "(x: f32[8@i, 6], q: f32[6, 4@i], k: f32[4@i, 6]) -> (f32[8, 4@i], f32[4@i, 8])"
GATHER = "    g = all_gather(x, i, axis=0, tiled=True, to='invarying')\n"


def test_one_ring_for_several_products() -> None:
    """x is on either side, transposed in one, and what the second needs is made after the first."""
    body = GATHER + "    a = g @ q\n    k2 = k * 2.0\n    b = k2 @ transpose(g)\n    return a, b"
    assert kinds(body, QKV) == {"collective_permute"}
    graph = local(f"{RING}{QKV}:\n{body}", when="on")
    (manual, _) = graph.main.body.nodes
    assert sum(node.name == "spmd.collective_permute" for node in manual.regions[0].nodes) == 3


def test_other_uses_keep_the_gather() -> None:
    body = GATHER + "    return g @ q + sum(g), k @ transpose(g)"
    assert kinds(body, QKV) == {"all_gather"}


def test_products_that_need_each_other() -> None:
    signature = "(x: f32[8@i, 8], q: f32[8, 8@i]) -> f32[8@i, 8]"
    body = GATHER + "    a = g @ q\n    return transpose(a) @ g"
    assert kinds(body, signature) == {"all_gather"}


def test_both_operands() -> None:
    signature = "(x: f32[8@i, 8], q: f32[8@i, 8]) -> f32[8@i, 8]"
    assert kinds(GATHER + "    return q + sum(g @ transpose(g))", signature) == {"all_gather"}


def test_results_that_must_be_equal() -> None:
    """A permuted block could be anything, as far as JAX's check_vma knows."""
    assert kinds(GATHER + "    return g @ w", "(x: f32[8@i, 6], w: f32[6, 4]) -> f32[8, 4]") == {"all_gather"}


def test_inside_a_loop() -> None:
    signature = "(x: f32[8@i, 8], ws: f32[3, 8, 8@i]) -> f32[8@i, 8]"
    body = """    for w in ws carrying x:
        g = all_gather(x, i, axis=0, tiled=True, to='invarying')
        h = g @ w
        x = all_to_all(h, i, split_axis=0, concat_axis=1, tiled=True)
    return x"""
    assert kinds(body, signature) == {"collective_permute", "all_to_all"}


def test_operations_before_the_sum() -> None:
    signature = "(x: bf16[8, 8@i], w: bf16[8@i, 8]) -> f32[8@i, 8]"
    body = """    h = astype(transpose(x @ w), f32)
    return psum_scatter(h, i, scatter_dimension=0, tiled=True)"""
    assert kinds(body, signature) == {"collective_permute"}


def test_sums_of_several_products() -> None:
    """Attention and MLP side by side: one sum of both products and of a bias goes around."""
    signature = """(
    x: f32[8, 8@i], w: f32[8@i, 12], y: f32[4@i, 8], v: f32[4@i, 12], bias: f32[12], scale: f32[8]
) -> f32[8, 12@i]"""
    body = """    both = x @ w + scale[:, None] * (transpose(y) @ v)
    return psum_scatter(both + bias, i, scatter_dimension=1, tiled=True)"""
    assert kinds(body, signature) == {"collective_permute"}


def test_operations_between_gather_and_product() -> None:
    body = """    g = all_gather(x, i, axis=0, tiled=True, to='invarying')
    h = transpose(relu(g * 2 + arange(8)[:, None]) * scale)
    return transpose(h) @ w, v @ (h + h)"""
    signature = """(
    x: f32[8@i, 6], w: f32[6, 4@i], v: f32[4@i, 6], scale: f32[6]
) -> (f32[8, 4@i], f32[4@i, 8])"""
    assert kinds(body, signature) == {"collective_permute"}


def test_partial_results_beside_a_product() -> None:
    """Which part of the bias a device adds would depend on the device, and on one only it is no zero."""
    signature = "(x: f32[8, 8@i], w: f32[8@i, 12], bias: f32[12]) -> f32[8, 12@i]"
    body = """    h: f32[8, 12] partial(sum: i) = x @ w
    return psum_scatter(h + to_partial(bias, i), i, scatter_dimension=1, tiled=True)"""
    assert kinds(body, signature) == {"reduce_scatter"}


def test_rows_in_zeros_beside_a_product() -> None:
    """What the compiler makes of x + (x @ w1) @ w2 + …: x among zeros is a partial sum, too."""
    text = """mesh pod[model=4]
def layer(x: f32[32@model, 8], w: f32[8, 8@model], v: f32[8@model, 8]) -> f32[32@model, 8]:
    return (x + (x @ w) @ v) + relu(x @ w) @ v
"""
    plain, overlapped = same_results(text)
    assert set(traffic(overlapped)) == {"collective_permute"}
    assert traffic(plain).total() == traffic(overlapped).total()


def test_narrow_products_are_added_up_in_f32() -> None:
    """As within one product: 64 + 1/4 + … is not lost between the blocks."""
    text = f"{RING}(x: bf16[1, 4@i], w: bf16[4, 4@i]) -> bf16[1, 4@i]:\n"
    text += "    return all_gather(x, i, axis=1, tiled=True, to='invarying') @ w\n"
    x = np.array([[64, 0.125, 0.125, 0.125]], ml_dtypes.bfloat16)
    (want,), (have,) = (
        run(local(text, when=when), [x, np.ones_like(x, shape=(4, 4))]) for when in ("off", "on")
    )
    np.testing.assert_array_equal(want, have)
    assert float(have[0, 0]) == 64.5


def test_sums_with_other_uses() -> None:
    signature = "(x: f32[8, 8@i], w: f32[8@i, 8]) -> (f32[8@i, 8], f32[32@i, 8])"
    body = "    h = x @ w\n    s = psum_scatter(h, i, scatter_dimension=0, tiled=True)\n    return s, h"
    assert kinds(body, signature) == {"reduce_scatter"}


def test_a_product_goes_on_with_one_collective() -> None:
    """Both operands are gathered: the larger one goes around."""
    program = (
        "mesh pod[i=2, j=2]\n@shard_map\ndef main(x: f32[32@i, 8], w: f32[8@j, 4@i]) -> f32[32, 4@i]:\n"
        "    g = all_gather(x, i, axis=0, tiled=True, to='invarying')\n"
        "    v = all_gather(w, j, axis=0, tiled=True, to='invarying')\n"
        "    return g @ v\n"
    )
    _, overlapped = same_results(program)
    assert set(traffic(overlapped)) == {"collective_permute", "all_gather"}


# ---- when


def test_by_cost() -> None:
    """Large products hide what travels; small ones only start more often."""
    small = product("eight", "lhs", "m").text
    assert set(traffic(local(small, when="auto"))) == {"all_gather"}
    large = Product("pod[i=8]", "i", "lhs", "m", (1, 8192, 8192, 8192)).text
    assert set(traffic(local(large, when="auto"))) == {"collective_permute"}
    no_wait = {"when": "auto", "bandwidth": 1e9, "latency": 0}
    assert set(traffic(local(large, **no_wait))) == {"all_gather"}


def test_off_changes_nothing() -> None:
    text = product("four", "lhs", "m").text
    assert emit(local(text, when="off")) == emit(local(text))
    assert shardc.compile(text).source == shardc.compile(text, overlap="off").source


def test_a_wrong_choice() -> None:
    with pytest.raises(ShardcError, match="overlap can be off, on, auto, not perhaps"):
        shardc.compile(product("four", "lhs", "m").text, overlap="perhaps")


@pytest.mark.parametrize(("side", "letter"), CASES)
def test_empty_tensors(side: str, letter: str) -> None:
    """Nothing is sent; where only the result is empty, what is sent goes around."""
    for empty in "bmkn":
        sizes = tuple(0 if x == empty else 4 for x in "bmkn")
        same_results(Product("pod[i=4]", "i", side, letter, (sizes[0], sizes[1], sizes[2], sizes[3])).text)


def test_the_comment_says_why_not() -> None:
    text = f"{RING}(x: f32[8@i, 6], w: f32[6, 4]) -> f32[8, 4]:\n{GATHER}    return g @ w\n"
    source = shardc.compile(text, overlap="on").source.replace("\n    # ", " ")
    assert "not overlapped: the result of dot_general in line 5 must be the same along i" in source
