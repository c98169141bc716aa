"""What is proved of compilations in Python: shardc.compile, shardc.jit and shardc.from_onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from shardc import compilation
from shardc.diagnostics import ShardcError
from shardc.proof import default
from tests.tolerance import assert_near
from tests.unit.proof.faults import plant

PROGRAM = """mesh pod[data=2, model=4]
def main(x: f32[8@data, 16@model], w: f32[16@model, 32]) -> f32[8@data, 32]:
    h = x @ w
    return tanh(h)
"""


def test_a_right_program_compiles_as_without() -> None:
    proved = shardc.compile(PROGRAM, prove=True)
    plain = shardc.compile(PROGRAM)
    assert proved == plain and not proved.warnings
    assert proved.proof is not None and proved.proof.startswith("proved: equal for all arguments")
    assert plain.proof is None


def test_a_wrong_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, compilation)
    with pytest.raises(ShardcError) as caught:
        shardc.compile(PROGRAM, prove=True)
    text = str(caught.value)
    assert "<text>:4:" in text and "return tanh(h)" in text
    assert "DIFFERS" in text and "result 0, element [0, 0]" in text
    assert "wrong: stablehlo.tanh at <text>:4:" in text and "from: spmd.all_reduce at <text>:3:" in text


def test_what_is_not_proved_is_a_warning() -> None:
    program = shardc.compile(
        "mesh m[x=2]\n@shard_map\ndef f(a: f32[4@x]) -> f32[4@x]:\n    return tanh(a)\n", prove=True
    )
    (warning,) = program.warnings
    assert "not proved: the program is per-device code" in warning.message


def _jitted(**options: Any) -> Any:
    jax = pytest.importorskip("jax")
    mesh = jax.make_mesh((2,), ("y",), axis_types=(jax.sharding.AxisType.Auto,))
    specs = [jax.sharding.PartitionSpec(*entries) for entries in ((None, "y"), ("y", None))]
    shardings = tuple(jax.sharding.NamedSharding(mesh, spec) for spec in specs)
    return shardc.jit(lambda x, w: jax.numpy.tanh(x @ w), in_shardings=shardings, **options)


ARRAYS = np.ones((8, 16), np.float32), np.ones((16, 8), np.float32)


def test_a_function_of_jax_is_proved_where_that_is_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _jitted().lower(*ARRAYS).program.proof is None  # the tests' environment says off
    monkeypatch.setenv("SHARDC_PROVE", "on")
    said = _jitted().lower(*ARRAYS).program.proof
    assert said is not None and said.startswith("proved: equal for all arguments")
    assert _jitted(prove=False).lower(*ARRAYS).program.proof is None
    monkeypatch.setattr(default, "LIMIT", 1000)
    said = _jitted().lower(*ARRAYS).program.proof
    assert said is not None and said.startswith("not proved: its work is that of")
    assert _jitted(prove=True).lower(*ARRAYS).program.proof.startswith("proved: equal for all arguments")


@pytest.mark.parametrize("prove", [None, True])
def test_a_wrong_function_of_jax_is_refused(prove: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while JAX traces it."""
    monkeypatch.setenv("SHARDC_PROVE", "on")
    assert_near(_jitted(prove=prove)(*ARRAYS), np.ones((8, 8), np.float32))  # the tanh of 16
    plant(monkeypatch, compilation)
    with pytest.raises(ShardcError, match="DIFFERS") as caught:
        _jitted(prove=prove)(*ARRAYS)
    assert "result 0, element [0, 0]" in str(caught.value)
    assert_near(_jitted(prove=False)(*ARRAYS), np.ones((8, 8), np.float32))


def test_a_model_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    onnx = pytest.importorskip("onnx")
    text = """<ir_version: 8, opset_import: ["" : 18]>
        model (float[8, 16] x, float[16, 8] w) => (float[8, 8] y) { h = MatMul(x, w)  y = Tanh(h) }"""
    model = onnx.parser.parse_model(text)
    asked: Any = {"mesh": "m[y=2]", "shardings": {"x": "P(None, 'y')", "w": "P('y', None)"}}
    monkeypatch.setenv("SHARDC_PROVE", "on")
    said = shardc.from_onnx(model, **asked).proof
    assert said is not None and said.startswith("proved: equal for all arguments")
    plant(monkeypatch, compilation)
    for prove in (None, True):
        with pytest.raises(ShardcError, match="DIFFERS"):
            shardc.from_onnx(model, prove=prove, **asked)
    assert shardc.from_onnx(model, prove=False, **asked).proof is None
