"""Equal layers that are written out: proved once, and faults in any of them found."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

from shardc.collector import no_garbage_collection
from shardc.compilation import lower
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.graph import Graph, Node, Region
from shardc.layout import Axis
from shardc.ops import hlo, spmd
from shardc.options import Options
from shardc.proof import prove as proving
from shardc.proof import steps
from shardc.proof.certificate import LOCAL, certificate, text_of
from shardc.proof.check import Refused, check
from shardc.proof.draws import LONGEST, PEAKS, Draw
from shardc.proof.flat import copy_of, devices_region, inlined, with_region
from shardc.proof.lemmas import Lemmas
from shardc.proof.prove import Proof, Verdict, prove
from shardc.proof.report import lines
from tests.unit.proof.planted import faults

LAYER = """\
    n{i} = x * rsqrt(mean(x * x, axis=-1, keepdims=True) + 0.001)
    x = x + tanh(n{i} @ u{i}) @ d{i} * 0.5
"""


def _stack(count: int, layer: str = LAYER, mesh: str = "m[y=4]") -> str:
    numbers = range(count)
    weights = ", ".join(f"u{i}: f32[32, 64@y], d{i}: f32[64@y, 32]" for i in numbers)
    body = "".join(layer.format(i=i) for i in numbers)
    return (
        f"mesh {mesh}\ndef f(x: f32[32, 32], {weights}) -> f32[32, 32]:\n"
        f"    x = exp(x)\n{body}    return x * 2.0\n"
    )


def _gradients(count: int) -> str:
    """The layers, and something like the gradients of their sum, in which what they made is used again."""
    weights = ", ".join(f"w{i}: f32[32, 32]" for i in range(count))
    forward = "".join(
        f"    n{i} = x{i} * rsqrt(mean(x{i} * x{i}, axis=-1, keepdims=True) + 0.001)\n"
        f"    h{i} = tanh(n{i} @ w{i})\n"
        f"    x{i + 1} = x{i} + h{i} * h{i} * 0.5\n"
        for i in range(count)
    )
    backward = "".join(
        f"    d{i} = 2.0 * g{i + 1} * h{i} * (1.0 - h{i} * h{i}) + tanh(n{i}) * tanh(g{i + 1})\n"
        f"    v{i} = w{i} - 0.1 * transpose(x{i}) @ d{i}\n"
        f"    g{i} = g{i + 1} + d{i} @ transpose(w{i})\n"
        for i in reversed(range(count))
    )
    results = ", ".join(f"v{i}" for i in range(count))
    types = ", ".join("f32[32, 32]" for _ in range(count))
    return (
        f"mesh m[y=4]\ndef f(x0: f32[32@y, 32], {weights}) -> ({types}):\n{forward}"
        f"    g{count} = x{count} * 2.0\n{backward}    return {results}\n"
    )


@cache
def _lowered(text: str) -> tuple[Graph, Graph, tuple[str, str]]:
    module = read(text, "layers.shard", {}, "f")
    first, whole = print_module(module), snapshot(module.clone()).graph
    return whole, lower(module, Options(machine="bytes")), (first, print_module(module))


def _compiled(text: str) -> tuple[Graph, Graph]:
    """The per-device program has all its layers written out."""
    whole, local, _ = _lowered(text)
    copy = copy_of(local)
    region = devices_region(copy.graph)
    assert region is not None
    with_region(copy.graph, region, inlined(copy, region))
    return whole, copy.graph


def _nodes(graph: Graph) -> list[Node]:
    region = devices_region(graph)
    assert region is not None
    return region.nodes


def _without_layers(whole: Graph, local: Graph) -> Proof:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proving, "layers", lambda whole, local: None)
        return prove(whole, local)


@pytest.mark.parametrize(("text", "kinds"), [(_stack(6), 1), (_gradients(6), 2)])
def test_equal_layers_are_proved_once(text: str, kinds: int) -> None:
    whole, local = _compiled(text)
    proof = prove(whole, local)
    assert proof.verdict is Verdict.PROVED, lines(proof)
    assert len(proof.layers) == kinds and all(count >= 4 for count, _, _ in proof.layers)
    assert f"proved once: {proof.layers[0][0]} layers of {proof.layers[0][1]} operations" in lines(proof)[0]


def _scaled(count: int) -> str:
    """A scale of each row that layers use on both ways: the per-device program broadcasts it once."""
    text = _gradients(count)
    for i in range(count):
        made = f"x{i} * rsqrt(mean(x{i} * x{i}, axis=-1, keepdims=True) + 0.001)"
        text = text.replace(made, f"x{i} * s{i}")
        text = text.replace(
            f"    n{i} =", f"    s{i} = rsqrt(mean(x{i} * x{i}, axis=-1, keepdims=True) + 0.001)\n    n{i} ="
        )
        text = text.replace(f"d{i} @ transpose(w{i})", f"(d{i} * s{i}) @ transpose(w{i})")
    return text


def _shared(graph: Graph, region: Region) -> None:
    """What is broadcast in the same way is broadcast once."""
    first: dict[tuple[object, ...], int] = {}
    names: dict[int, int] = {}
    nodes: list[Node] = []
    for node in region.nodes:
        node = replace(node, operands=tuple(names.get(value, value) for value in node.operands))
        key = (node.name, node.operands, *graph.types(node.results))
        if node.name == hlo.broadcast_in_dim.name and key in first:
            names[node.results[0]] = first[key]
            continue
        first.setdefault(key, node.results[0] if node.results else -1)
        nodes.append(node)
    region.nodes[:] = nodes


def _apart(graph: Graph) -> Graph:
    """Each operation has broadcasts of its own."""
    copy = copy_of(graph)
    body = copy.graph.main.body
    makers = {node.results[0]: node for node in body.nodes if node.name == hlo.broadcast_in_dim.name}
    nodes: list[Node] = []
    for node in body.nodes:
        names: dict[int, int] = {}
        nodes += [
            copy.copied(makers[value], names) for value in dict.fromkeys(node.operands) if value in makers
        ]
        nodes.append(replace(node, operands=tuple(names.get(value, value) for value in node.operands)))
    used = {value for node in nodes for value in node.operands}
    kept = [node for node in nodes if node.name != hlo.broadcast_in_dim.name or node.results[0] in used]
    with_region(copy.graph, body, Region(body.args, kept))
    return copy.graph


def test_broadcasts_are_made_where_they_are_used() -> None:
    """One program keeps for the way back what the other makes again of what it keeps."""
    whole, local = _compiled(_scaled(6))
    whole = _apart(whole)
    region = devices_region(local)
    assert region is not None
    _shared(local, region)
    proof = prove(whole, local)
    assert proof.verdict is Verdict.PROVED and len(proof.layers) == 2, lines(proof)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "broadcasts", lambda _: {})
        assert len(prove(whole, local).layers) < 2
    roots = [place for place, node in enumerate(region.nodes) if node.name == hlo.rsqrt.name]
    for place in (roots[0], roots[3]):
        node = region.nodes[place]
        region.nodes[place] = replace(node, name=hlo.sqrt.name)
        assert prove(whole, local).verdict is Verdict.DIFFERS
        region.nodes[place] = node


def test_the_chance_of_a_miss_does_not_grow_with_the_layers() -> None:
    few, many = (prove(*_compiled(_stack(count))) for count in (6, 12))
    assert few.layers and many.layers
    assert few.chance == many.chance


def test_layers_of_draws_that_were_made_hold_nothing() -> None:
    """They hold each other, and the command looks for no garbage."""
    with no_garbage_collection():
        before = {id(each) for each in gc.get_objects() if isinstance(each, Lemmas)}
        proof = prove(*_compiled(_stack(8)))
        found = [each for each in gc.get_objects() if isinstance(each, Lemmas) and id(each) not in before]
    assert proof.layers and not any(each.runs for each in found)
    assert all(array.size for result in proof.results for array in result())  # which are made yet


def test_few_layers_are_not_looked_for() -> None:
    assert prove(*_compiled(_stack(2))).layers == ()


def _sub_axis(node: Node) -> Node:
    (axis,) = node.attrs["axes"]  # type: ignore[misc]
    assert isinstance(axis, Axis)
    return replace(node, attrs={**node.attrs, "axes": (replace(axis, size=2),)})


FAULTS: dict[str, tuple[str, Callable[[Node], Node]]] = {
    "the maximum in place of a sum": (
        spmd.all_reduce.name,
        lambda node: replace(node, attrs={**node.attrs, "kind": "max"}),
    ),
    "a sum over a sub-axis": (spmd.all_reduce.name, _sub_axis),
    "no function": (
        hlo.tanh.name,
        lambda node: replace(node, name=hlo.optimization_barrier.name),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("layer", [0, 1, 3, 5])
def test_a_fault_in_one_layer_is_found(fault: str, layer: int) -> None:
    """In the first one, in those that a lemma is applied to, and in the last."""
    whole, local = _compiled(_stack(6))
    name, change = FAULTS[fault]
    nodes = _nodes(local)
    places = [place for place, node in enumerate(nodes) if node.name == name]
    assert len(places) == 6
    nodes[places[layer]] = change(nodes[places[layer]])
    assert prove(whole, local).verdict is Verdict.DIFFERS


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_all_layers_is_found(fault: str) -> None:
    whole, local = _compiled(_stack(6))
    name, change = FAULTS[fault]
    nodes = _nodes(local)
    nodes[:] = [change(node) if node.name == name else node for node in nodes]
    assert prove(whole, local).verdict is Verdict.DIFFERS


MAXIMUM = """\
    m{{i}} = max(x[:, 0:{}], axis=-1, keepdims=True)
    x = x * 0.5 + (tanh(x @ u{{i}}) @ d{{i}}) * 0.5 - 0.25 * m{{i}}
"""


@pytest.mark.parametrize(("count", "layer"), [(4, 2), (14, 6)])
def test_a_maximum_over_one_element_too_few_in_one_layer(count: int, layer: int) -> None:
    right, wrong = (MAXIMUM.format(size) for size in (32, 31))
    numbers = range(count)
    body = "".join(right.format(i=i) for i in numbers)
    fault = "".join((wrong if i == layer else right).format(i=i) for i in numbers)
    text = _stack(count, right)
    whole, _ = _compiled(text)
    _, local = _compiled(text.replace(body, fault))
    assert prove(whole, local).verdict is Verdict.DIFFERS


@pytest.mark.parametrize("positive", [True, False])
def test_what_layers_and_loops_take_has_peaks(positive: bool) -> None:
    """In so many draws each place of a line has the greatest value; what was seen above zero stays there."""
    greatest = set[int]()
    for seed in range(LONGEST):
        seen = np.array([2.0, 1.0 if positive else -1.0])
        drawn = Draw(seed, PEAKS).like(np.random.default_rng(seed), (LONGEST,), seen)["shadow"]
        greatest.add(int(np.argmax(np.abs(drawn))))
        assert drawn.max() > 10 and bool((drawn > 0).all()) == positive
    assert len(greatest) > LONGEST // 2


def test_a_shift_that_is_one_off_in_one_layer() -> None:
    def text(*shifts: int) -> str:
        body = "".join(f"    x = ((x >> {shift}) ^ (x + w{i})) & 65535\n" for i, shift in enumerate(shifts))
        weights = ", ".join(f"w{i}: u32[8@y]" for i, _ in enumerate(shifts))
        return f"mesh m[y=4]\ndef f(x: u32[8@y], {weights}) -> u32[8@y]:\n{body}    return x\n"

    whole, local = _compiled(text(5, 5, 5, 5))[0], _compiled(text(5, 5, 6, 5))[1]
    assert prove(whole, local).verdict is Verdict.DIFFERS


@pytest.mark.parametrize("layer", [1, 2, 5])
@pytest.mark.parametrize("back", [1, 2])
def test_what_another_layer_takes_or_makes_is_found(layer: int, back: int) -> None:
    """At the boundary: the weights of a layer before, and what passes past a layer."""
    whole, local = _compiled(_stack(6))
    nodes = _nodes(local)
    products = [place for place, node in enumerate(nodes) if node.name == hlo.dot_general.name]
    for number in (0, 1):
        here, there = products[2 * layer + number], products[2 * max(layer - back, 0) + number]
        node = nodes[here]
        nodes[here] = replace(node, operands=(node.operands[0], nodes[there].operands[1]))
        assert prove(whole, local).verdict is Verdict.DIFFERS
        nodes[here] = node
    adds = [
        place
        for place, node in enumerate(nodes)
        if node.name == hlo.add.name and local.type(node.results[0]).shape == (32, 32)
    ]
    skipped = _renamed(nodes, adds[layer], nodes[adds[layer]].results[0], nodes[adds[layer - 1]].results[0])
    nodes[:] = skipped
    assert prove(whole, local).verdict is Verdict.DIFFERS


def _renamed(nodes: list[Node], after: int, old: int, new: int) -> list[Node]:
    def renamed(node: Node) -> Node:
        return replace(node, operands=tuple(new if value == old else value for value in node.operands))

    return [*nodes[: after + 1], *map(renamed, nodes[after + 1 :])]


SWAPPED = """\
    x = tanh(x) + transpose(x) * u{i}
    y{i} = x * 2.0 + exp(x) * u{i} - x * x
    x = x + tanh(y{i}) * 0.5
"""


@pytest.mark.parametrize("layer", [0, 2, 5])
def test_the_order_of_a_gather_is_part_of_a_layer(layer: int) -> None:
    weights = ", ".join(f"u{i}: f32[32@(x, y), 32]" for i in range(6))
    body = "".join(SWAPPED.format(i=i) for i in range(6))
    text = (
        f"mesh m[x=2, y=4]\ndef f(x: f32[32@(x, y), 32], {weights}) -> f32[32@(x, y), 32]:\n"
        f"{body}    return x\n"
    )
    whole, local = _compiled(text)
    assert prove(whole, local).layers
    nodes = _nodes(local)
    moves = [p for p, n in enumerate(nodes) if n.name in (spmd.all_gather.name, spmd.all_to_all.name)]
    place = moves[layer * len(moves) // 6]
    axes: tuple[Axis, ...] = nodes[place].attrs["axes"]  # type: ignore[assignment]
    nodes[place] = replace(nodes[place], attrs={**nodes[place].attrs, "axes": axes[::-1]})
    assert prove(whole, local).verdict is Verdict.DIFFERS


def test_layers_that_need_more_than_they_take_are_run_in_full() -> None:
    """The global program passes on twice of what it makes, which the per-device one computes again."""

    def text(twice: bool) -> str:
        y, again = ("y", "    y = x * 2.0\n") if twice else ("(x * 2.0)", "")
        body = "".join(
            f"    z{i} = tanh({y}) * u{i} + exp(x) - x * u{i} * 0.5 + tanh(u{i})\n"
            f"    x = z{i} * 0.5 + z{i} * z{i}\n{again}"
            for i in range(6)
        )
        weights = ", ".join(f"u{i}: f32[32@x, 32]" for i in range(6))
        return (
            f"mesh m[x=4]\ndef f(x: f32[32@x, 32], {weights}) -> f32[32@x, 32]:\n{again}{body}    return x\n"
        )

    whole, local = _compiled(text(True))[0], _compiled(text(False))[1]
    assert prove(whole, local).verdict is Verdict.PROVED
    assert prove(whole, _compiled(text(False).replace("exp(x)", "exp(x * u3)"))[1]).verdict is Verdict.DIFFERS


def test_layers_that_take_infinities_of_their_own_are_run_in_full() -> None:
    def text(masked: str) -> str:
        made = "".join(f"    m{i} = {masked.format(i=i)}\n" for i in range(6))
        body = "".join(
            f"    y{i} = x * rsqrt(mean(x * x, axis=-1, keepdims=True) + 0.001)\n"
            f"    e{i} = exp(tanh(y{i} * u{i}) + m{i}) * 0.5\n"
            f"    x = x + tanh(e{i} / (sum(e{i}, axis=-1, keepdims=True) + 1.0)) * tanh(x * u{i})\n"
            for i in range(6)
        )
        arguments = ", ".join(f"u{i}: f32[32@x, 32], c{i}: f32[32@x, 32]" for i in range(6))
        head = f"mesh m[x=4]\ndef f(x: f32[32@x, 32], {arguments}) -> f32[32@x, 32]:\n"
        return f"{head}{made}{body}    return x\n"

    finite = prove(*_compiled(text("where(c{i} > 0.0, 0.0, -1.0)")))
    infinite = prove(*_compiled(text("where(c{i} > 0.0, 0.0, -inf)")))
    assert (finite.verdict, infinite.verdict) == (Verdict.PROVED, Verdict.PROVED)
    assert finite.layers and not infinite.layers


@pytest.mark.parametrize("seed", range(3))
def test_random_faults_are_found_as_without_layers(seed: int) -> None:
    whole, local = _compiled(_gradients(6) if seed % 2 else _stack(6))
    assert prove(whole, local).layers
    planted = faults(local)
    found = 0
    for fault in Random(seed).sample(planted, 6):
        with fault.planted():
            plain = _without_layers(whole, local).verdict
            assert (prove(whole, local).verdict is Verdict.PROVED) == (plain is Verdict.PROVED), str(fault)
            found += plain is Verdict.DIFFERS
    assert found


def test_certificates_of_layers_hold() -> None:
    whole, local, texts = _lowered(_stack(6))
    proof = prove(whole, local)
    assert proof.layers
    made = certificate((proof, texts, LOCAL))
    assert check(*texts, made).chance == proof.chance
    document = json.loads(made)
    first = document["proofs"][0]
    draws = [[{**draw, "divides": divides} for draw in first["draws"]] for divides in ([], 0, None)]
    for changed in (
        *({"layers_in_full": each} for each in (None, [0], ["0"], 3)),
        *({"draws": d} for d in draws),
    ):
        altered = text_of([{**first, **changed}], None)
        with pytest.raises(Refused):
            check(*texts, altered)


def _regions(region: Region) -> list[Region]:
    return [region, *(inner for node in region.nodes for each in node.regions for inner in _regions(each))]


def test_the_programs_stay_as_they_are() -> None:
    whole, local = _compiled(_stack(6))
    before = [[list(r.nodes) for f in g.functions.values() for r in _regions(f.body)] for g in (whole, local)]
    prove(whole, local)
    after = [[list(r.nodes) for f in g.functions.values() for r in _regions(f.body)] for g in (whole, local)]
    assert before == after
