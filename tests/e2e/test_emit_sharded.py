"""`--emit sharded` is StableHLO with shardings that jaxlib parses, and its client compiles and runs.

XLA partitions the module by the shardings that shardc found; the results are the function's under jax.jit.
(Cumulative operations are left out: XLA computes them wrongly from JAX's own module, too.)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
jax = pytest.importorskip("jax")

from jax._src import compiler  # noqa: E402
from jax._src.interpreters import mlir  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402  # pyright: ignore[reportPrivateImportUsage]
from jax._src.lib.mlir import ir  # noqa: E402  # pyright: ignore[reportPrivateImportUsage]
from jax._src.sharding_impls import GSPMDSharding  # noqa: E402

from corpus.families import CASES  # noqa: E402
from shardc.dialects.context import make_context  # noqa: E402
from shardc.dialects.snapshot import snapshot  # noqa: E402
from shardc.dialects.text import print_module  # noqa: E402
from shardc.frontend.mlir import read  # noqa: E402
from shardc.passes.pipeline import run_to  # noqa: E402
from tests.tolerance import assert_right  # noqa: E402

if jax.device_count() < 8:
    pytest.skip("needs eight devices", allow_module_level=True)

NAMES = (
    "activations calls cond cross_entropy embedding_gradient fori einsum matmul_conflict "
    "reshape_merge scan_gradient sgd_tensor_parallel softmaxes take_split_rows top_k while_data"
).split()


def partitioned(text: str, count: int) -> Any:
    """The module as XLA compiles it for `count` devices."""
    options = compiler.get_compile_options(1, count, device_assignment=np.arange(count).reshape(1, count))
    build = options.executable_build_options
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = True
    devices = xla_client.DeviceList(tuple(jax.devices()[:count]))
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        return compiler.backend_compile_and_load(devices[0].client, module, devices, options, [])


def execute(compiled: Any, inputs: list[np.ndarray], count: int, shapes: list[tuple[int, ...]]) -> list[Any]:
    """Whole results of whole arguments."""
    devices = jax.devices()[:count]
    ways = [GSPMDSharding(devices, s) for s in compiled.get_parameter_shardings()]
    arrays = [jax.device_put(value, way) for value, way in zip(inputs, ways, strict=True)]
    parts = compiled.execute_sharded(arrays).disassemble_into_single_device_arrays()
    outs = [GSPMDSharding(devices, s) for s in compiled.get_output_shardings()]
    make = jax.make_array_from_single_device_arrays
    return [make(shape, way, held) for shape, way, held in zip(shapes, outs, parts, strict=True)]


@pytest.mark.parametrize("name", NAMES)
def test_xla_runs_it(name: str) -> None:
    case = CASES[name]
    inputs = case.inputs()
    module = read(case.lowered().as_text(), f"{name}.mlir")
    whole = snapshot(module.clone()).graph
    run_to(make_context(), module, "sharded")
    compiled = partitioned(print_module(module), 8)
    got = execute(compiled, inputs, 8, [type.shape for type in whole.types(whole.main.body.results)])
    assert_right(whole, whole, inputs, got, "XLA's program")
