"""Portable artifacts of StableHLO, as jax.export writes them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardc.cli.shardc import main
from shardc.diagnostics import ShardcError
from shardc.frontend.portable import is_portable, text_of

jax = pytest.importorskip("jax")
from jax import export  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

if len(jax.devices()) < 4:
    pytest.skip("needs 4 devices", allow_module_level=True)


@pytest.fixture(scope="module")
def artifact() -> bytes:
    devices = np.array(jax.devices()[:4])
    mesh = jax.sharding.Mesh(devices, ("model",), axis_types=(AxisType.Auto,))

    def function(x: Any, w: Any, v: Any) -> Any:
        h = jax.numpy.tanh(x @ w)
        return h @ v

    ways = [NamedSharding(mesh, spec) for spec in (P(), P(None, "model"), P("model"))]
    arrays = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((8, 16), (16, 32), (32, 16))]
    found: bytes = export.export(jax.jit(function, in_shardings=ways))(*arrays).mlir_module_serialized
    return found


def test_the_command_reads_one(artifact: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    program = tmp_path / "exported.mlir"
    program.write_bytes(artifact)
    assert main([str(program), "--no-cache"]) == 0
    printed = capsys.readouterr().out
    assert "    h = jnp.tanh(x @ w)\n" in printed
    assert 'return lax.psum(h @ v, "model")\n' in printed


def test_what_is_cut_short_is_an_error(artifact: bytes):
    assert is_portable(artifact)
    with pytest.raises(ShardcError, match="no portable artifact of StableHLO: "):
        text_of(artifact[:100], "cut.mlir")


def test_without_jaxlib(artifact: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jaxlib.mlir.ir", None)
    with pytest.raises(ShardcError, match="which jaxlib reads"):
        text_of(artifact, "exported.mlir")
