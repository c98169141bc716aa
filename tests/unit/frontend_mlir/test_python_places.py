"""Columns of Python files: from 0 in the text, as JAX writes them; from 1 in errors, as for all files."""

from __future__ import annotations

import pytest

from shardc.dialects.locations import location_of
from shardc.dialects.text import print_module
from shardc.frontend.mlir import read
from shardc.ops import hlo

PYTHON = "import jax.numpy as jnp\n\ndef main(x):\n    return x - jnp.cbrt(x)\n"


def program(loc: str) -> str:
    return f"""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %0 = stablehlo.cbrt %x : tensor<4xf32> loc({loc})
      return %0 : tensor<4xf32>
    }}
    """


@pytest.mark.parametrize(
    "loc",
    [
        '"FILE":4:15',
        '"jit(main)/cbrt"("FILE":4:15)',
        'callsite("cbrt"("FILE":4:15) at "main"("FILE":9:0))',
        'fused["FILE":4:15, "FILE":9:0]',
        '"FILE":4:15 to :26',
    ],
)
def test_columns_of_python_count_from_one_once_read(loc: str, tmp_path) -> None:
    file = tmp_path / "model.py"
    file.write_text(PYTHON)
    module = read(program(loc.replace("FILE", str(file))), "a.mlir")
    (op,) = (op for op in module.walk() if op.name == hlo.cbrt.name)
    place = location_of(op.location)
    assert (place.file, place.line, place.col) == (str(file), 4, 16)
    assert PYTHON.splitlines()[place.line - 1][place.col - 1 :].startswith("jnp.cbrt")


def test_the_text_keeps_its_columns() -> None:
    text = program('"cbrt"("model.py":4:15)')
    once = print_module(read(text, "a.mlir"), locations=True)
    assert '"model.py":4:15' in once
    assert print_module(read(once, "a.mlir"), locations=True) == once


def test_columns_of_other_files_are_as_they_are_written() -> None:
    module = read(program('"y"("prog.shard":4:15)'), "a.mlir")
    (op,) = (op for op in module.walk() if op.name == hlo.cbrt.name)
    assert location_of(op.location).col == 15
