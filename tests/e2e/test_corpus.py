"""JAX programs (tests/corpus), lowered with shardings, compiled, and run on emulated devices.

The reference is the same function under plain jax.jit. Three programs are compared with it: the StableHLO
text under NumPy, the per-device program under NumPy (as --run does), and the JAX output on eight CPU devices.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
jax = pytest.importorskip("jax")

from corpus.families import CASES  # noqa: E402
from shardc.backend.jax import emit  # noqa: E402
from shardc.dialects.context import make_context  # noqa: E402
from shardc.dialects.snapshot import snapshot  # noqa: E402
from shardc.frontend.mlir import read  # noqa: E402
from shardc.interpret.run import run  # noqa: E402
from shardc.passes.pipeline import run_to  # noqa: E402
from tests.tolerance import assert_computes, assert_right  # noqa: E402

if jax.device_count() < 8:
    pytest.skip("needs eight devices", allow_module_level=True)

QUICK = (
    "activations add_rows_split arg argmax_ties attention_sequence big_constant bools calls cholesky complex "
    "composite concat cond conv_batch conv_groups cross_entropy cumulative decode_sequence dynamic_slice "
    "dynamic_update embedding_gradient extremes fft fori_writes gelu_exact int_bits layer_norm "
    "matmul_conflict mixture_of_experts pad_negative pool_gradient_halo product random_bits reshape_merge "
    "roll scan_gradient sgd_tensor_parallel sort svd take_split_rows top_k two_at_once uneven while_data"
).split()


@pytest.fixture(autouse=True)
def narrow() -> Iterator[None]:
    """An emitted program that needs 64-bit types asks JAX for them, for good."""
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_program(name: str) -> None:
    case = CASES[name]
    inputs = case.inputs()
    want = [np.asarray(value) for value in jax.tree.leaves(jax.jit(case.f)(*inputs))]
    module = read(case.lowered().as_text(), f"{name}.mlir")
    whole = snapshot(module.clone()).graph
    assert_computes(whole, inputs, want, "JAX beside StableHLO under NumPy")
    run_to(make_context(), module, "local")
    local = snapshot(module).graph
    assert_right(whole, local, inputs, run(local, inputs), "per-device program under NumPy")
    namespace: dict[str, object] = {"__name__": "compiled"}
    exec(compile(emit(local), f"{name}.py", "exec"), namespace)
    got = namespace["main"](*inputs)  # pyright: ignore
    assert_right(whole, local, inputs, jax.tree.leaves(got), "JAX output")


def test_the_corpus_is_large() -> None:
    assert len(CASES) >= 60
