"""Emitted JAX texts, read back by JAX's own tracing and proved; faults in the texts."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import shardc
from shardc.backend.jax import emit
from shardc.graph import Graph, walk
from shardc.ops import hlo
from shardc.proof.prove import Verdict
from shardc.proof.reading.jax_text import read_back
from shardc.proof.reading.text import prove_text
from shardc.proof.values import Beyond
from tests.unit.proof.programs import HALO, LAYER, LOOP, MASKED, MOVED, PROGRAMS, TAKE, WIDE, emitted


def _emitted(program: str) -> tuple[Graph, str]:
    return emitted(program, emit)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_emitted_is_proved(name: str) -> None:
    proof = prove_text(*_emitted(PROGRAMS[name]), "jax")
    assert proof.verdict is Verdict.PROVED, proof.reason


def test_a_loop_stays_a_loop_and_sizes_shrink() -> None:
    whole, text = _emitted(LOOP)
    nodes = [node for f in read_back(text, whole).functions.values() for node in walk(f.body)]
    assert sum(node.name == hlo.while_.name for node in nodes) == 1
    assert prove_text(whole, text, "jax").loops[0]  # proved by induction
    shapes = prove_text(*_emitted(LAYER), "jax").shapes
    assert shapes is not None and (64, 3) in shapes.units


NORMAL = """
mesh m[x=2]
def f(key: u32[2], a: f16[8@x, 4]) -> f16[8@x, 4]:
    return a @ normal(key, (4, 4), dtype=f16)
"""


def test_what_jax_computes_of_constants_is_no_difference() -> None:
    """It computes 1 - nextafter(-1, 0), which is 2 in f16, and erf_inv makes much of what is missing."""
    whole, text = _emitted(NORMAL)
    assert "jax.random.normal(" in text
    proof = prove_text(whole, text, "jax")
    assert proof.verdict is not Verdict.DIFFERS, proof.difference
    wrong = prove_text(whole, text.replace("a @ ", "1.01 * a @ "), "jax")
    assert wrong.verdict is Verdict.DIFFERS, wrong.reason


FAULTS = {
    "a sum over other devices": (LAYER, '@ w2, "model")', '@ w2, "data")'),
    "a maximum": (LAYER, "lax.psum(", "lax.pmax("),
    "another function": (LAYER, "jax.nn.relu(", "jnp.tanh("),
    "another number": (LAYER, "1e-06", "1e-05"),
    "another axis": (LAYER, "jnp.mean(y * y, axis=1", "jnp.mean(y * y, axis=0"),
    "scaled by an axis's size": (LAYER, "y * t", "4 * y * t"),
    "another layout": (LAYER, 'out_specs=P("data", None)', 'out_specs=P("model", None)'),
    "a neighbour on the other side": (HALO, "[(0, 3), (1, 0), (2, 1), (3, 2)]",
                                      "[(0, 1), (1, 2), (2, 3), (3, 0)]"),
    "a halo one row off": (HALO, "x[:1]", "x[1:2]"),
    "one block too many": (HALO, "< lax.axis_index", "<= lax.axis_index"),
    "pieces swapped": (HALO, "[x[1:], received]", "[received, x[1:]]"),
    "halves swapped": (MOVED, "transpose(1, 0, 2, 3)", "reshape(2, 4, 8, 16)"),
    "axes in the other order": (MOVED, 'P(None, ("y", "x"))', 'P(None, ("x", "y"))'),
    "padding that counts": (MASKED, "-jnp.inf", "jnp.inf"),
    "a mask that is missing": (MASKED, "< 30", "< 32"),
    "other rows": (TAKE, "* 16", "* 15"),
    "a loop too short": (LOOP, "fori_loop(0, 6", "fori_loop(0, 5"),
    "another layer": (LOOP, "ws[i]", "ws[0]"),
    "a layer that is none": (LOOP, "fori_loop(0, 6", "fori_loop(0, 7"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_a_text_are_found(name: str) -> None:
    program, right, wrong = FAULTS[name]
    whole, text = _emitted(program)
    assert right in text, text
    assert prove_text(whole, text.replace(right, wrong, 1), "jax").verdict is Verdict.DIFFERS


DRAWN = """
mesh m[x=4]
def f(k: u32[2], x: f32[16@x, 8]) -> (f32[16@x, 8], bool[16@x, 8]):
    return x + uniform(k, (16, 8), minval=-1.0), uniform(k, (16, 8)) < x
"""


def test_functions_of_a_text_may_be_called_with_keywords() -> None:
    whole, text = _emitted(DRAWN)
    assert text.count(" own_uniform(") > 2 and "minval=-1.0)" in text, text
    assert prove_text(whole, text, "jax").verdict is Verdict.PROVED
    assert prove_text(whole, text.replace("minval=-1.0)", "minval=-2.0)"), "jax").verdict is Verdict.DIFFERS


REFUSED = {
    "shapes that do not fit": (LAYER, "x @ w1", "w1 @ x"),
    "an axis that the mesh does not have": (LAYER, '"model")', '"modell")'),
    "a name that is not there": (LAYER, "y * t", "y * u"),
    "a name that has no value yet": (LAYER, "x @ w1", "y @ w1"),
    "copies that vary": (LAYER, 'lax.psum(jax.nn.relu(x @ w1) @ w2, "model")', "jax.nn.relu(x @ w1) @ w2"),
    "blocks that make another shape": (LAYER, "softmax(y * t - x", "softmax((y * t - x)[:1]"),
    "a device twice": (LAYER, "devices[:8]", "[0, *devices[:7]]"),
    "64-bit numbers of 32 bits": (WIDE, 'jax.config.update("jax_enable_x64", True)', ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_text_that_does_not_run_differs(name: str) -> None:
    program, right, wrong = REFUSED[name]
    whole, text = _emitted(program)
    assert right in text, text
    proof = prove_text(whole, text.replace(right, wrong, 1), "jax")
    assert proof.verdict is Verdict.DIFFERS and "the emitted text" in proof.reason, proof.reason


@pytest.mark.parametrize(
    "line", ["open('x', 'w')", "jnp.save('x', y)", "np.load('x')", "jax.pure_callback(print, x)", "import os",
             "lax.__dict__", "jnp.linalg._linalg", "exec('1')"]
)  # fmt: skip
def test_a_text_reads_nothing_and_runs_nothing_else(line: str) -> None:
    whole, text = _emitted(LAYER)
    changed = text.replace("    t = lax.rsqrt", f"    {line}\n    t = lax.rsqrt")
    assert changed != text
    with pytest.raises(Beyond):
        read_back(changed, whole)


def test_large_shapes_do_not_allocate() -> None:
    whole, text = _emitted(LAYER.replace("B = 64", "B = 64000000"))
    assert prove_text(whole, text, "jax").verdict is Verdict.PROVED


DIVIDED = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<6x6xf32>, %b: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> tensor<6x8xf32> {
  %0 = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8,
    side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}}
    : (tensor<6x6xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}
"""


def test_triangular_solutions_on_blocks_of_columns_are_proved() -> None:
    proof = shardc.compile(DIVIDED, language="mlir", prove=True)
    assert "all_gather" not in proof.source and "lax.linalg.triangular_solve(" in proof.source
    assert not proof.warnings


FACTORED = """
mesh m[x=4]
def f(a: f32[4@x, 3, 3], b: f32[4@x, 3, 2]) -> f32[4@x, 3, 2]:
    factor = cholesky(a @ swapaxes(a, 1, 2) + 3.0 * eye(3))
    return triangular_solve(factor, b, left_side=True, lower=True)
"""


@pytest.mark.parametrize(
    ("right", "wrong"), [("lower=True)", "lower=True, transpose_a=True)"), ("3.0 *", "4.0 *")]
)
def test_operations_that_jax_leaves_to_lapack(right: str, wrong: str) -> None:
    """It lowers what `cholesky` and `triangular_solve` are printed as to calls of potrf and trsm."""
    whole, text = _emitted(FACTORED)
    assert right in text
    assert prove_text(whole, text, "jax").verdict is Verdict.PROVED
    assert prove_text(whole, text.replace(right, wrong), "jax").verdict is not Verdict.PROVED
