"""What JAX prints for the corpus, read and printed again by shardc, is the same module to jaxlib."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
jax = pytest.importorskip("jax")

from jax._src.interpreters import mlir  # noqa: E402
from jax._src.lib.mlir import ir  # noqa: E402  # pyright: ignore[reportPrivateImportUsage]

from corpus.families import CASES  # noqa: E402
from shardc.dialects.text import print_module  # noqa: E402
from shardc.frontend.mlir import read  # noqa: E402

if jax.device_count() < 8:
    pytest.skip("needs eight devices", allow_module_level=True)


def normal(text: str) -> str:
    """The module as jaxlib prints it, generically."""
    with mlir.make_ir_context():
        pretty = str(ir.Module.parse(text))
        return str(ir.Module.parse(pretty).operation.get_asm(print_generic_op_form=True))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_text_survives(name: str) -> None:
    lowered = CASES[name].lowered()
    text = lowered.as_text()
    assert normal(print_module(read(text))) == normal(text)
    located = lowered.as_text(debug_info=True)
    assert normal(print_module(read(located), locations=True)) == normal(located)
