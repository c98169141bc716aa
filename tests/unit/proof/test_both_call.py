"""Emitted texts that call the functions that the per-device program calls: each proved once, faults found."""

from __future__ import annotations

import json
from functools import cache
from random import Random

import pytest

from shardc.compilation import emit, lower
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.options import Options
from shardc.proof.both_call import both_call
from shardc.proof.certificate import LOCAL, certificate, text_of
from shardc.proof.check import Refused, check
from shardc.proof.prove import Verdict, prove, prove_by_calls
from shardc.proof.reading.readers import READ, reader
from shardc.proof.reading.text import prove_text
from shardc.proof.report import lines
from tests.unit.proof.planted import faults

COUNT = 5

LAYER = """\
    n{i} = x * rsqrt(mean(x * x, axis=-1, keepdims=True) + 0.001)
    q{i} = softmax(where(mask, n{i} @ transpose(n{i}), -inf)) @ tanh(n{i} @ u{i})
    x = x + q{i} @ d{i} * 0.5
"""


@cache
def _lowered() -> tuple[Graph, Graph, tuple[str, str]]:
    weights = ", ".join(f"u{i}: f32[32, 64@y], d{i}: f32[64@y, 32]" for i in range(COUNT))
    body = "".join(LAYER.format(i=i) for i in range(COUNT))
    text = (
        f"mesh m[x=2, y=4]\ndef f(x: f32[32, 32], {weights}) -> f32[32@x, 32]:\n"
        f"    mask = iota(i32, (32, 32), 0) >= iota(i32, (32, 32), 1)\n    x = exp(x)\n"
        f"{body}    return x * 2.0\n"
    )
    module = read(text, "layers.shard", {}, "f")
    first, whole = print_module(module), snapshot(module.clone()).graph
    return whole, lower(module, Options(machine="bytes")), (first, print_module(module))


def _read(target: str, text: str) -> Graph:
    if target == "jax":
        pytest.importorskip("jax")
    return reader(target)(text, _lowered()[0])


@pytest.mark.parametrize("target", READ)
def test_functions_of_a_text_are_proved_once(target: str) -> None:
    whole, local, _ = _lowered()
    text = emit(local, target)
    assert any(count == COUNT for count, _, _ in both_call(local, _read(target, text)).kinds.values())  # type: ignore[union-attr]
    proof = prove_text(whole, text, target, local)
    assert proof.verdict is Verdict.PROVED and proof.as_local and proof.layers
    assert lines(proof)[0].startswith("proved: equal to the per-device program wherever")


def test_a_function_that_the_text_alone_has_is_run() -> None:
    whole, local, _ = _lowered()
    more = "def same(x):\n" + "    x = x * 2.0\n    x = x * 0.5\n" * 8 + "    return x\n\n\n"
    text = emit(local, "numpy").replace("def layer(", f"{more}def layer(")
    for times, verdict in (("2.0", Verdict.PROVED), ("3.0", Verdict.DIFFERS)):
        altered = text.replace("return x * 2.0", f"return same(same(x)) * {times}")
        pairs = both_call(local, _read("numpy", altered))
        assert pairs is not None and [count for count, _, _ in pairs.kinds.values()] == [COUNT]
        proof = prove_text(whole, altered, "numpy", local)
        assert proof.verdict is verdict and proof.as_local == (verdict is Verdict.PROVED)


def test_calls_of_different_numbers_are_no_pairs() -> None:
    whole, local, _ = _lowered()
    text = emit(local, "numpy").replace("x = layer(comm, x, mask, u4, d4)", "", 1)
    assert both_call(local, _read("numpy", text)) is None
    assert prove_text(whole, text, "numpy", local).verdict is Verdict.DIFFERS


FAULTS = {
    "numpy": {
        "in the function": ("comm.psum(", "comm.pmax("),
        "another layer's weights": ("mask, u3, d3", "mask, u2, d3"),
        "after the layers": ("x * 2.0", "x * 3.0"),
        "before the layers": ("np.exp(x)", "np.exp(-x)"),
    },
    "jax": {
        "in the function": ("lax.psum(", "lax.pmax("),
        "another layer's weights": ("mask, u3, d3", "mask, u2, d3"),
        "after the layers": ("x * 2.0", "x * 3.0"),
        "before the layers": ("jnp.exp(x)", "jnp.exp(-x)"),
    },
}


@pytest.mark.parametrize(("target", "fault"), [(t, f) for t, found in FAULTS.items() for f in found])
def test_a_fault_is_found(target: str, fault: str) -> None:
    whole, local, _ = _lowered()
    text = emit(local, target)
    altered = text.replace(*FAULTS[target][fault])
    assert altered != text
    assert prove_by_calls(local, _read(target, altered)) is None
    assert prove_text(whole, altered, target, local).verdict is Verdict.DIFFERS


@pytest.mark.parametrize("seed", range(3))
def test_random_faults_are_found_as_without_calls(seed: int) -> None:
    whole, local, _ = _lowered()
    program = _read("numpy", emit(local, "numpy"))
    found = 0
    for fault in Random(seed).sample(faults(program), 6):
        with fault.planted():
            plain = prove(whole, program).verdict
            if prove_by_calls(local, program) is not None:
                assert plain is Verdict.PROVED, str(fault)
            found += plain is Verdict.DIFFERS
    assert found


def test_a_text_without_the_calls_is_compared_with_the_global_program() -> None:
    whole, local, _ = _lowered()
    other = read("mesh m[x=2]\ndef f(x: f32[4@x]) -> f32[4@x]:\n    return x * 2.0\n", "other.shard", {}, "f")
    assert prove_by_calls(local, snapshot(other).graph) is None
    text = emit(local, "numpy")
    proof = prove_text(whole, text, "numpy")
    assert proof.verdict is Verdict.PROVED and not proof.as_local


@pytest.mark.parametrize("target", READ)
def test_a_certificate_has_the_local_program(target: str) -> None:
    if target == "jax":
        pytest.importorskip("jax")
    whole, local, texts = _lowered()
    text = emit(local, target)
    proofs = prove(whole, local), prove_text(whole, text, target, local)
    made = certificate((proofs[0], texts, LOCAL), (proofs[1], (texts[1], text), target))
    assert check(*texts, made).chance == proofs[0].chance
    assert check(texts[0], text, made, target).chance == proofs[1].chance
    document = json.loads(made)
    wrong = texts[1].replace("2.0", "3.0", 1)
    for entries, between in (
        (document["proofs"][1:], texts[1]),  # the local program is not proved
        (document["proofs"], wrong),
        (document["proofs"], None),
        ([document["proofs"][0], {**document["proofs"][1], "equal_to": "whole"}], texts[1]),
    ):
        with pytest.raises(Refused):
            check(texts[0], text, text_of(entries, between), target)
    for between in (wrong, texts[1].replace(", ", ",", 1)):  # which the proof of the local program needs not
        with pytest.raises(Refused):
            check(*texts, text_of(document["proofs"], between))
