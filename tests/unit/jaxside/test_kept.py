"""Programs that shardc.jit finds in the user's cache folder."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import shardc
from shardc import cache
from shardc.jaxside import kept
from shardc.jaxside.warned import ShardcWarning
from tests.unit.jaxside.conftest import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
P = jax.sharding.PartitionSpec


@pytest.fixture
def compilations(tmp_path, monkeypatch):
    """The texts that are compiled; there is a cache folder."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "kept"))
    found, plainly = [], kept.api.compile

    def counted(text, *args, **named):
        found.append(text)
        return plainly(text, *args, **named)

    monkeypatch.setattr(kept.api, "compile", counted)
    return found


def test_the_same_function_is_compiled_once(pod, draw, compilations):
    def layer(params, x):
        y = jnp.tanh(x @ params["w"])
        jax.debug.callback(lambda y: None, y)  # which needs it whole: there is a warning
        return {"y": y, "rest": (y.sum(), x[:5])}

    args = {"w": pod.put(draw(16, 32), None, "model")}, pod.put(draw(8, 16), "data")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ShardcWarning)
        first, second = (shardc.jit(layer) for _ in range(2))
        programs = [made.lower(*args) for made in (first, second)]
    assert len(compilations) == 1
    assert programs[0].program == programs[1].program
    assert [str(warning.message) for warning in said] == [*map(str, programs[0].warnings)] * 2
    assert programs[0].warnings
    assert "^" in str(programs[0].warnings[0])
    assert programs[1].out_shardings == programs[0].out_shardings
    same(second(*args), layer(*args))


def test_what_is_asked_differs(pod, draw, compilations):
    x = pod.put(draw(8, 16), "data")
    asked: list[dict[str, Any]] = [
        {},
        {"machine": "tpu-v5e"},
        {"prove": False},
        {"prove": True},
        {"combine": 0},
    ]
    for options in asked:
        before = len(compilations)
        for _ in range(2):
            shardc.jit(lambda x: x.sum(0), **options).lower(x)
        assert len(compilations) == before + 1, options
    shardc.from_jax(lambda x: x.sum(0), x, in_shardings=pod.way("data"), target="numpy")
    assert len(compilations) == before + 2


def test_functions_on_the_host_are_those_of_the_process(pod, draw, compilations):
    seen, x = [], pod.put(draw(8), "data")

    def made(number):
        def log(value):
            seen.append((number, float(value)))

        def function(x):
            jax.debug.callback(log, x.sum())
            return x * 2

        return function

    for number in range(2):
        jax.block_until_ready(shardc.jit(made(number))(x))
        jax.effects_barrier()
    assert len(compilations) == 1
    assert [number for number, _ in seen] == [0, 1]


def test_a_compiled_program_needs_no_compiler(tmp_path):
    """A second process finds it, and imports neither xDSL nor the operations."""
    script = """
import sys
import jax
jax.config.update("jax_num_cpu_devices", 8)
import jax.numpy as jnp
import numpy as np
import shardc

mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
way = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
w = jax.device_put(np.ones((4, 4), np.float32), way.update(spec=jax.sharding.PartitionSpec()))
step = shardc.jit(lambda x: jax.nn.relu(x @ w).sum(0), in_shardings=way)
assert step(np.ones((8, 4), np.float32)).tolist() == [32.0] * 4
print([room for room in ("xdsl", "shardc.ops", "shardc.passes", "shardc.planning") if room in sys.modules])
"""
    path = tmp_path / "step.py"
    path.write_text(script)
    environment = {"SHARDC_CACHE": str(tmp_path / "kept"), "PYTHONPATH": ":".join(sys.path)}
    found = [
        subprocess.run(
            [sys.executable, str(path)], env=environment, check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]
    assert found == ["['xdsl', 'shardc.ops', 'shardc.passes', 'shardc.planning']\n", "[]\n"]


def test_meshes_of_any_kind_are_read_back(compilations):
    devices = np.array(jax.devices())[::-1].reshape(4, 2)
    mesh = jax.sharding.Mesh(devices, ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    way = jax.sharding.NamedSharding(mesh, P(("a", "b")))
    for spec in (way, way.update(spec=P("b", "a"))):
        made = [shardc.jit(lambda x: (x, (x.T,)), in_shardings=spec).lower(np.ones((8, 8))) for _ in range(2)]
        assert made[0].program == made[1].program
    assert len(compilations) == 2
