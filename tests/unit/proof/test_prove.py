"""Proofs of small programs, of programs with faults, and certificates."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import reduce
from typing import Any

import pytest
from msgspec.structs import replace

from shardc.compilation import emit
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.mlir import read as read_mlir
from shardc.frontend.text import read
from shardc.graph import Graph, Node, Region, walk
from shardc.ops import hlo, spmd
from shardc.passes.pipeline import run_to
from shardc.proof.certificate import LOCAL, certificate
from shardc.proof.check import Refused, check
from shardc.proof.effort import Budget
from shardc.proof.prove import Verdict, prove
from shardc.proof.reading.readers import READ
from shardc.proof.reading.text import prove_text
from shardc.proof.report import lines

MLP = """
mesh pod[data=2, model=4]
size B = 512, D = 1024, F = 4096
def mlp(x: f32[B@data, D], w1: f32[D, F@model], w2: f32[F@model, D]) -> f32[B@data, D]:
    return relu(x @ w1) @ w2
"""
NORM = """
mesh m[x=4]
size B = 64, D = 256
def norm(x: f32[B, D@x]) -> f32[B, D@x]:
    e = exp(x)
    return e / sum(e, 1, keepdims=True)
"""
CUMULATIVE = """
mesh m[x=4]
def f(x: f32[64@x, 32]) -> f32[64@x, 32]:
    return cumsum(x, 0)
"""
TAKE = """
mesh m[x=4]
def f(t: f32[64@x, 128], i: i32[8]) -> f32[8, 128]:
    return take(t, i, 0)
"""
UNEVEN = """
mesh m[x=4]
def f(x: f32[30@x, 128]) -> f32[128]:
    return max(x, 0) + sum(x, 0)
"""
PROGRAMS = {"mlp": MLP, "norm": NORM, "cumulative": CUMULATIVE, "take": TAKE, "uneven": UNEVEN}


def _compiled(text: str) -> tuple[Graph, Graph, list[str]]:
    module = read(text, "test.shard", {}, None)
    texts, whole = [print_module(module)], snapshot(module.clone()).graph
    run_to(make_context(), module, "local")
    return whole, snapshot(module).graph, [*texts, print_module(module)]


def _changed(graph: Graph, name: str, **attrs: object) -> None:
    """Change the first operation of that name."""

    def change(region: Region) -> bool:
        for place, node in enumerate(region.nodes):
            if node.name == name:
                region.nodes[place] = replace(node, attrs={**node.attrs, **attrs})
                return True
            if any(map(change, node.regions)):
                return True
        return False

    assert any(change(function.body) for function in graph.functions.values())


def _first(graph: Graph, name: str) -> Node:
    nodes = (node for function in graph.functions.values() for node in walk(function.body))
    return next(node for node in nodes if node.name == name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_compiled_is_proved(name: str) -> None:
    whole, local, _ = _compiled(PROGRAMS[name])
    proof = prove(whole, local)
    assert proof.verdict is Verdict.PROVED, lines(proof)
    assert proof.chance < 1e-12


def test_sizes_shrink_to_blocks_of_a_few() -> None:
    whole, local, _ = _compiled(MLP)
    shapes = prove(whole, local).shapes
    assert shapes is not None
    body = shapes.whole.main.body
    assert [shapes.whole.type(arg).shape for arg in body.args] == [(6, 3), (3, 12), (12, 3)]


def test_sums_count_the_elements_that_are_left_out() -> None:
    """A mean by the global size is equal, one by the size of a block is not."""
    right = (
        "mesh m[x=4]\n"
        "def f(x: f32[4096@x]) -> f32[]:\n"
        "    return sum(x) * 0.25 + 4096.0 * sum(x * 0.0 + 1.0)\n"
    )
    whole, local, _ = _compiled(right)
    assert prove(whole, local).verdict is Verdict.PROVED
    other, _, _ = _compiled(right.replace("4096.0 *", "1024.0 *"))
    assert prove(other, local).verdict is Verdict.DIFFERS


@pytest.mark.parametrize(
    ("text", "name", "attrs"),
    [
        (MLP, spmd.all_reduce.name, {"kind": "max"}),
        (NORM, spmd.all_reduce.name, {"kind": "min"}),
        (UNEVEN, spmd.all_reduce.name, {"kind": "min"}),
    ],
)
def test_a_fault_is_found(text: str, name: str, attrs: dict[str, Any]) -> None:
    whole, local, _ = _compiled(text)
    _changed(local, name, **attrs)
    proof = prove(whole, local)
    assert proof.verdict is Verdict.DIFFERS
    report = "\n".join(lines(proof))
    assert report.startswith("DIFFERS from the global program")
    assert "test.shard:" in report


def test_the_way_back_to_the_first_wrong_value() -> None:
    whole, local, _ = _compiled(MLP)
    _changed(local, spmd.all_reduce.name, kind="max")
    found = prove(whole, local).difference
    assert found is not None
    assert found.path[0].name == spmd.all_reduce.name
    assert found.whole.line == 5


def test_a_wrong_constant_is_found() -> None:
    whole, _, _ = _compiled(NORM)
    _, local, _ = _compiled(NORM.replace("exp(x)", "exp(x * 1.001)"))
    assert prove(whole, local).verdict is Verdict.DIFFERS


@pytest.mark.parametrize(
    ("dtype", "factor", "verdict"),
    [
        ("f32", "0.3333333432674408", Verdict.NOT_PROVED),
        ("f32", "0.333335", Verdict.DIFFERS),
        ("f16", "0.333252", Verdict.NOT_PROVED),
        ("f16", "0.335", Verdict.DIFFERS),
    ],
)
def test_a_constant_that_was_rounded_is_no_difference(dtype: str, factor: str, verdict: Verdict) -> None:
    """A compiler makes x / 3.0 a product with 1/3, rounded to the dtype."""
    text = "mesh m[x=4]\ndef f(x: f32[64@x]) -> f32[64@x]:\n    return {}\n".replace("f32", dtype)
    whole, _, _ = _compiled(text.format("x / 3.0"))
    _, local, _ = _compiled(text.format(f"x * {factor}"))
    proof = prove(whole, local)
    assert proof.verdict is verdict, lines(proof)
    assert ("rounded" in proof.reason) == (verdict is Verdict.NOT_PROVED)


@pytest.mark.parametrize(
    ("factor", "verdict"), [("0.3333333432674408", Verdict.NOT_PROVED), ("0.33334", Verdict.DIFFERS)]
)
def test_what_a_function_makes_of_a_rounded_constant_is_no_difference(factor: str, verdict: Verdict) -> None:
    """exp(4096 x) makes many units in the last place of one."""
    text = "mesh m[x=4]\ndef f(x: f32[64@x]) -> f32[64@x]:\n    return exp({} * 4096.0)\n"
    whole, _, _ = _compiled(text.format("(x / 3.0)"))
    _, local, _ = _compiled(text.format(f"(x * {factor})"))
    proof = prove(whole, local)
    assert proof.verdict is verdict, lines(proof)
    assert ("rounded" in proof.reason) == (verdict is Verdict.NOT_PROVED)


MASKED = """
mesh m[x=4]
def f(x: f32[8, 64@x], n: i32[8]) -> f32[8, 64@x]:
    s = where(arange(64)[None, :] <= n[:, None] * 8, x, -1e9)
    e = exp(s - max(s, axis=-1, keepdims=True))
    return e / sum(e, axis=-1, keepdims=True)
"""


@pytest.mark.parametrize("other", ["min(s, axis=-1, keepdims=True)", "s[:, 63:]", "0.0 * s[:, 63:]"])
def test_exponents_that_overflow_are_a_difference(other: str) -> None:
    """Equal by the law of exp, but for masks: exp(s + 1e9) is infinite, which one draw need not show."""
    whole, _, _ = _compiled(MASKED)
    _, local, _ = _compiled(MASKED.replace("max(s, axis=-1, keepdims=True)", other))
    right = other.startswith("0.0")
    proof = prove(whole, local)
    assert proof.verdict is (Verdict.PROVED if right else Verdict.DIFFERS), lines(proof)


def test_the_result_that_really_differs_is_named() -> None:
    """The first differs by a constant that was rounded, the second by a fault."""
    text = "mesh m[x=4]\ndef f(x: f32[64@x]) -> (f32[64@x], f32[64@x]):\n    return x {}, x * {}\n"
    whole, _, _ = _compiled(text.format("/ 3.0", "2.0"))
    _, local, _ = _compiled(text.format("* 0.3333333432674408", "2.5"))
    proof = prove(whole, local)
    assert proof.verdict is Verdict.DIFFERS and proof.difference is not None
    assert proof.difference.result == 1


def test_laws_of_functions_are_not_proved_and_not_refuted() -> None:
    """tanh(x) is 2 sigmoid(2 x) - 1 by a law that the proof does not know."""
    whole, _, _ = _compiled(NORM.replace("exp(x)", "tanh(x)"))
    _, local, _ = _compiled(NORM.replace("exp(x)", "(2.0 * sigmoid(2.0 * x) - 1.0)"))
    assert prove(whole, local).verdict is Verdict.NOT_PROVED


def test_the_law_of_exp_is_known() -> None:
    """exp(x) / sum(exp(x)) with and without its maximum."""
    whole, _, _ = _compiled(NORM)
    _, local, _ = _compiled(NORM.replace("exp(x)", "exp(x - max(x, 1, keepdims=True))"))
    proof = prove(whole, local)
    assert proof.verdict is Verdict.PROVED and proof.law, proof.reason


def test_decisions_and_sampled_arguments_are_named() -> None:
    whole, local, _ = _compiled(TAKE)
    (line,) = lines(prove(whole, local))
    assert "i32 arguments are as drawn" in line
    whole, local, _ = _compiled(MLP)
    (line,) = lines(prove(whole, local))
    assert "decisions on data" in line


MANUAL = """
mesh m[x=4]

def plain(x: f32[64@x, 128], w: f32[128, 32]) -> f32[32]:
    return sum(tanh(x @ w), 0)

@shard_map
def manual(x: f32[64@x, 128], w: f32[128, 32]) -> f32[32]:
    return psum(sum(tanh(x @ w), 0), x)
"""


def _entry(text: str, name: str) -> Graph:
    return snapshot(read(text, "manual.shard", {}, name)).graph


def test_per_device_code_alone_has_nothing_to_be_compared_with() -> None:
    manual = _entry(MANUAL, "manual")
    proof = prove(manual, manual)
    assert proof.verdict is Verdict.NOT_PROVED
    assert "nothing to compare it with" in proof.reason


@pytest.mark.parametrize(("reduction", "verdict"), [("psum", Verdict.PROVED), ("pmax", Verdict.DIFFERS)])
def test_per_device_code_against_a_function(reduction: str, verdict: Verdict) -> None:
    text = MANUAL.replace("psum", reduction)
    assert prove(_entry(text, "plain"), _entry(text, "manual")).verdict is verdict


def test_a_certificate_is_replayed() -> None:
    whole, local, texts = _compiled(MLP)
    claimed = certificate((prove(whole, local), texts, LOCAL))
    assert check(texts[0], texts[1], claimed).chance < 1e-12


def test_an_altered_certificate_is_refused() -> None:
    whole, local, texts = _compiled(NORM)
    claimed = certificate((prove(whole, local), texts, LOCAL))
    for place in range(0, len(claimed), 37):
        byte = "7" if claimed[place] != "7" else "8"
        with pytest.raises(Refused):
            check(texts[0], texts[1], claimed[:place] + byte + claimed[place + 1 :])


def test_a_certificate_of_other_kinds_of_values_is_refused() -> None:
    whole, local, texts = _compiled(NORM)
    claimed = json.loads(certificate((prove(whole, local), texts, LOCAL)))
    for path in _paths(claimed["proofs"][0]):
        for other in ([[]], None, "x"):
            altered = copy.deepcopy(claimed)
            *way, last = path
            inner = reduce(lambda value, key: value[key], way, altered["proofs"][0])
            if inner[last] != other:
                inner[last] = other
                with pytest.raises(Refused):
                    check(texts[0], texts[1], json.dumps(altered))


def _paths(value: Any) -> Iterator[tuple[str | int, ...]]:
    """The way to everything in a text of JSON, of lists the first item only."""
    pairs = list(value.items()) if isinstance(value, dict) else []
    pairs += enumerate(value[:1]) if isinstance(value, list) else []
    for key, inner in pairs:
        yield (key,)
        yield from ((key, *rest) for rest in _paths(inner))


def test_a_certificate_is_of_its_programs() -> None:
    whole, local, texts = _compiled(NORM)
    claimed = certificate((prove(whole, local), texts, LOCAL))
    wrong = texts[1].replace('kind = "sum"', 'kind = "max"')
    assert wrong != texts[1]
    with pytest.raises(Refused, match="differs"):
        check(texts[0], wrong, claimed)


@pytest.mark.parametrize("target", READ)
def test_a_certificate_of_an_emitted_text_is_replayed(target: str) -> None:
    if target == "jax":
        pytest.importorskip("jax")
    whole, local, texts = _compiled(MLP)
    text = emit(local, target)
    proofs = (prove(whole, local), texts, LOCAL), (prove_text(whole, text, target), (texts[0], text), target)
    claimed = certificate(*proofs)
    for second, reads in ((texts[1], LOCAL), (text, target)):
        assert check(texts[0], second, claimed, reads).chance < 1e-12
    for right, wrong in (("psum(", "psum(2 * "), ("@ w2", "@ w"), ("The whole program", "All of it")):
        altered = text.replace(right, wrong, 1)
        with pytest.raises(Refused):
            check(texts[0], altered, claimed, target)
    (first, second) = (certificate(proof) for proof in proofs)
    with pytest.raises(Refused, match="no proof"):
        check(texts[0], texts[1], second)
    with pytest.raises(Refused, match="no proof"):
        check(texts[0], text, first, target)


def test_the_graphs_stay_as_they_are() -> None:
    whole, local, _ = _compiled(MLP)
    before = [value.type for value in local.values]
    prove(whole, local)
    assert [value.type for value in local.values] == before
    assert _first(whole, hlo.dot_general.name).attrs


PLACE = """
mesh m[x=4]
def f(c: f32[16@x, 4], i: i32[]) -> f32[1, 4]:
    return dynamic_slice(c, (i, 0), (1, 4))
"""


def test_a_place_is_drawn_often() -> None:
    """A single index: a fault that shows at few of its values is found."""
    whole, local, _ = _compiled(PLACE)
    assert len(prove(whole, local).draws) == 12
    for node in [node for f in local.functions.values() for node in walk(f.body)]:
        for region in node.regions:
            region.nodes[:] = [_swapped(inner) for inner in region.nodes]
    assert prove(whole, local).verdict is Verdict.DIFFERS


def _swapped(node: Node) -> Node:
    return replace(node, operands=node.operands[::-1]) if node.name == hlo.subtract.name else node


def test_what_makes_no_result_is_passed_over() -> None:
    text = (
        'sdy.mesh @m = <["x"=2]>\n'
        'func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>})'
        " -> tensor<4x8xf32> {\n"
        "  %0 = stablehlo.tanh %a : tensor<4x8xf32>\n"
        "  sdy.sharding_group %0 group_id=1 : tensor<4x8xf32>\n"
        "  return %0 : tensor<4x8xf32>\n}\n"
    )
    module = read_mlir(text, "prog.mlir")
    whole = snapshot(module.clone()).graph
    run_to(make_context(), module, "local")
    assert prove(whole, snapshot(module).graph).verdict is Verdict.PROVED


def _squares(times: int) -> str:
    """tanh of x to the power of 2^times."""
    body = "".join("    x = x * x\n" for _ in range(times))
    return f"mesh m[x=4]\ndef f(x: f32[64@x, 128]) -> f32[128]:\n{body}    return sum(tanh(x), 0)\n"


def test_draws_are_added_where_the_chance_of_a_miss_is_too_high() -> None:
    whole, local, _ = _compiled(_squares(44))
    proof = prove(whole, local)
    assert proof.verdict is Verdict.PROVED, proof.reason
    assert proof.more > 0 and len(proof.draws) == 3 + proof.more and proof.chance < 1e-6
    assert f", {proof.more} of them for the chance of a miss), chance" in lines(proof)[0]
    texts = _compiled(_squares(44))[2]
    assert check(texts[0], texts[1], certificate((proof, texts, LOCAL))).chance == proof.chance


def test_what_no_number_of_draws_bounds_is_not_proved() -> None:
    whole, local, _ = _compiled(_squares(64))
    proof = prove(whole, local)
    assert proof.verdict is Verdict.NOT_PROVED and "too high for a bound" in proof.reason
    assert len(proof.draws) == 3


def test_only_arguments_of_one_function_meet() -> None:
    """A function of high degree is not paired with all the others."""
    text = _squares(30).replace("return sum(tanh(x), 0)", "y = x + 1.0\n    return sum({}(x) + {}(y), 0)")
    of_one, of_two = (prove(*_compiled(text.format("tanh", other))[:2]).chance for other in ("tanh", "exp"))
    assert of_two < of_one / 2


def test_draws_that_show_no_difference_of_numbers_stay_within_the_work() -> None:
    budget = Budget(100)
    for spent, draws, fits in ((50, 1, True), (51, 1, False), (75, 3, True), (90, 3, False)):
        budget.spent = spent
        assert budget.fits_again(draws) == fits
