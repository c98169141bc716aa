"""--emit shard of every program there is: it compiles again, to the same per-device program and results.

The programs of bench/ and of the corpus come from JAX, as StableHLO. Some are in the normal tests, all in the
sweep.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
pytest.importorskip("jax")

from bench.suites import JUDGED, texts  # noqa: E402
from corpus.families import CASES  # noqa: E402
from corpus.round_trip import assert_round_trip  # noqa: E402

QUICK = (
    "skip_bad_steps power_iteration decode_gqa_heads moe_ep_fwd concat_sharded argmax_vocab "
    "uneven_batch_train decode_loop_sequence rnn_train_tp cond "
    "fori_reads fori_writes layer_norm mixture_of_experts product scan_gradient sort top_k uneven "
    "while_data histogram searchsorted pairs dynamic_update_two triangle fft fft2 complex qr partial_types "
    "per_device pipeline slices two_meshes uneven_softmax weights_2d fp8_training mm2d_weight_stationary"
).split()

SOURCES: dict[str, tuple[Callable[[], str], str]] = {
    **{f"{name} of bench": (text, f"{name}.mlir") for name, text in texts(JUDGED)},
    **{
        f"{name} of corpus": (lambda case=case: case.lowered().as_text(), f"{name}.mlir")
        for name, case in CASES.items()
    },
    **{
        f"{path.stem} of programs": (path.read_text, path.name)
        for path in sorted((ROOT / "tests/e2e/programs").glob("*.shard"))
    },
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name.split()[0] in QUICK else pytest.mark.slow) for name in SOURCES],
)
def test_round_trip(name: str) -> None:
    text, file = SOURCES[name]
    assert_round_trip(text(), file)
