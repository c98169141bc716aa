"""shardc.from_jax and shardc.compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from tests.tolerance import assert_near

PROGRAM = """mesh pod[data=2, model=4]
def main(x: f32[8@data, 16], w: f32[16, 32@model]) -> f32[8, 32]:
    return tanh(x @ w)
"""

FROM_JAX = """
import jax
jax.config.update("jax_num_cpu_devices", 8)
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
import shardc
from tests.tolerance import assert_near

mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
way = lambda *spec: NamedSharding(mesh, P(*spec))

def step(params, x, unused):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean(jnp.tanh(x @ p["w"]) ** 2))(params)
    return loss, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

rng = np.random.default_rng(0)
params = {"w": rng.standard_normal((16, 32)).astype(np.float32)}
x, unused = rng.standard_normal((8, 16)).astype(np.float32), np.zeros(3, np.float32)
shardings = ({"w": way(None, "model")}, way("data"), None)
want = jax.tree.leaves(jax.jit(step)(params, x, unused))
for target in ("jax", "numpy"):
    program = shardc.from_jax(step, params, x, unused, in_shardings=shardings, target=target)
    got = jax.tree.leaves(program.main(params, x, unused))
    for one, other in zip(want, got, strict=True):
        assert_near(one, other, terms=16 + 256 + 8)
    assert program.mesh.size == 8 and program.target == target
    assert program.device_main is program.module.device_main
out = shardc.from_jax(lambda x: x * 2, x, in_shardings=(way("data"),), out_shardings=way(None, "model"))
assert 'out_specs=P(None, "model")' in out.source
quick = shardc.from_jax(lambda x: x * 2, x, overlap="auto", machine="laptop")
whole = shardc.from_jax(lambda x: x * 2, x)
assert quick.source == whole.source
assert whole.mesh is None and whole.device_main is whole.main
np.testing.assert_array_equal(whole.main(x), x * 2)
"""


def test_importing_shardc_imports_nothing_else() -> None:
    text = "import sys, shardc; assert not {'jax', 'xdsl', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_from_jax() -> None:
    pytest.importorskip("jax")
    done = subprocess.run(
        [sys.executable, "-c", FROM_JAX], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr


def test_compile() -> None:
    program = shardc.compile(PROGRAM, target="numpy")
    x, w = np.ones((8, 16), np.float32), np.full((16, 32), 0.1, np.float32)
    assert_near(program.main(x, w), np.tanh(x @ w), terms=16)
    assert str(program.mesh) == "pod[data=2, model=4]"


def test_errors_point_into_the_text() -> None:
    with pytest.raises(ShardcError, match=r"<text>:3:\d+: error: "):
        shardc.compile(PROGRAM.replace("tanh", "tahn"))
    with pytest.raises(ShardcError, match="cobol is no language"):
        shardc.compile(PROGRAM, language="cobol")
    with pytest.raises(ShardcError, match="cuda is no target"):
        shardc.compile(PROGRAM, target="cuda")


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="module shardc has no attribute compiel"):
        _ = shardc.compiel  # pyright: ignore
