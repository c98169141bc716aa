"""Built-ins that follow from definitions of operations."""

from __future__ import annotations

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from shardc.frontend.text.builtins.table import BUILTINS
from shardc.ops import definitions, registry
from shardc.ops.definition import OpDef
from shardc.ops.elementwise.make import REAL, unary


@pytest.fixture
def cube(monkeypatch: pytest.MonkeyPatch) -> OpDef:
    """An operation that exists for one test."""
    monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))
    return unary("stablehlo.cube_test", REAL, lambda x: x**3, doc="x cubed.", language="cube_test")


def test_every_name_is_one_function() -> None:
    names = [one.spelling.language for one in definitions() if one.spelling.language is not None]
    assert len(names) == len(set(names))
    assert set(names) <= set(BUILTINS) and len(BUILTINS) == len(set(BUILTINS))
    assert "no_such_function" not in BUILTINS


def test_a_definition_is_available_at_once(cube: OpDef) -> None:
    assert "cube_test" in BUILTINS and "cube_test" in list(BUILTINS)
    with pytest.raises(ShardcError, match="did you mean cube_test"):
        shardc.compile("def f(x: f32[4]):\n    return cube_tset(x)\n")


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [("cbrt(i)", "f32"), ("floor(i)", "i32"), ("sign(b)", "i32"), ("logical_and(i, f)", "bool")],
)
def test_operands_are_converted_as_the_definition_says(expression: str, dtype: str) -> None:
    text = f"def main(f: f32[4], i: i32[4], b: bool[4]) -> {dtype}[4]:\n    return {expression}\n"
    found = shardc.compile(text, target="numpy").main(
        np.ones(4, np.float32), np.ones(4, np.int32), np.ones(4, np.bool_)
    )
    assert np.asarray(found[0] if isinstance(found, tuple) else found).astype(bool).all()
