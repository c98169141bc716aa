"""The emitted texts are those that were last reviewed; CONTRIBUTING.md says how a change is.

The programs of bench/ and the corpus are lowered by JAX, whose versions lower them differently: they are
compared on the version that the development extra pins.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from tests.golden.programs import written
from tests.golden.texts import TARGETS, emitted, kept, path

ROOT = Path(__file__).parents[2]
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


def _pinned() -> str:
    """The version of JAX that the development extra asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements: list[str] = project["optional-dependencies"]["dev"]
    return next(text.removeprefix("jax==") for text in requirements if text.startswith("jax=="))


def _other_jax() -> str:
    """Why what JAX lowers is not compared here; empty if it is."""
    try:
        found = version("jax")
    except PackageNotFoundError:
        return "JAX is not installed"
    return "" if found == _pinned() else f"texts are kept for jax {_pinned()}, this is {found}"


lowered = pytest.mark.skipif(bool(_other_jax()), reason=_other_jax())
PROGRAMS = [
    pytest.param(
        name, marks=[*[pytest.mark.slow] * (name not in QUICK), *[lowered] * (name not in written())]
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


@lowered
def test_every_program_is_kept() -> None:
    """A new program is kept with `python -m tests.golden --write NAME`; a text without a program goes."""
    from tests.golden.programs import every

    assert [name for name in every() if not all(path(name, target).exists() for target in TARGETS)] == []
    assert sorted(set(kept()) - set(every())) == []
