"""The emitted texts are those that were last reviewed; CONTRIBUTING.md says how a change is.

The programs of bench/ and the corpus are lowered by JAX, whose versions lower them differently: they are
compared on the version that the development extra pins.
"""

from __future__ import annotations

import pytest

from tests.golden.programs import written
from tests.golden.texts import TARGETS, emitted, kept, path
from tests.pinned import with_pinned_jax

QUICK = {
    "bench/argmax_vocab",
    "bench/mlp_train_fsdp",
    "bench/roll_stencil",
    "corpus/cond",
    "corpus/layer_norm",
    "corpus/matmul_uneven",
    "e2e/partial_types",
    "e2e/per_device",
    "e2e/split_cache",
    "e2e/uneven_softmax",
    "examples/layers",
    "examples/megatron_mlp",
}
"""What the normal tests compare; the sweep compares all."""


PROGRAMS = [
    pytest.param(
        name, marks=[*[pytest.mark.slow] * (name not in QUICK), *[with_pinned_jax] * (name not in written())]
    )
    for name in kept()
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_text(name: str) -> None:
    command = f"`python -m tests.golden {name}` shows the difference, with --write it keeps the new text"
    for target, text in emitted(name).items():
        assert text == path(name, target).read_text(encoding="utf-8"), command


def test_quick_programs_are_kept() -> None:
    assert set(kept()) >= QUICK


@with_pinned_jax
def test_every_program_is_kept() -> None:
    """A new program is kept with `python -m tests.golden --write NAME`; a text without a program goes."""
    from tests.golden.programs import every

    assert [name for name in every() if not all(path(name, target).exists() for target in TARGETS)] == []
    assert sorted(set(kept()) - set(every())) == []
