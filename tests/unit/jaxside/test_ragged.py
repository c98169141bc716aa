"""lax.ragged_all_to_all: itself in emitted code, and what JAX documents of it as emulated devices run it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from shardc.compilation import lower as lower_to
from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.jax import lower
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.interpret.run import run
from shardc.options import Options
from tests.ragged import documented, tables

jax = pytest.importorskip("jax")
lax = pytest.importorskip("jax.lax")


def per_device(function: Any, *args: Any) -> Graph:
    """The function's collectives over named axes."""
    module = read(lower(function, *args), Options())
    lower_to(module, Options(), "collectives")
    return snapshot(module).graph


@pytest.fixture
def program(pod: Any) -> Any:
    """The collective over `axis`, on arrays whose first dimension that splits."""

    def made(axis: str) -> Any:
        def on_device(x: Any, output: Any, *given: Any) -> Any:
            return lax.ragged_all_to_all(x[0], output[0], *(t[0] for t in given), axis_name=axis)[None]

        spec = jax.sharding.PartitionSpec(axis)
        return jax.shard_map(on_device, mesh=pod.mesh, in_specs=spec, out_specs=spec)

    return made


@pytest.mark.parametrize(("axis", "share"), [("model", 1), ("model", 2), ("data", 3)])
def test_emulated_devices_do_what_is_documented(program: Any, axis: str, share: int) -> None:
    given = tables(share, share, 4 if axis == "model" else 2)
    rng = np.random.default_rng(share)
    x, output = (rng.standard_normal((len(given[0]), rows, 3)).astype(np.float32) for rows in (24, 48))
    args = (x, output, *given)
    numpy = shardc.from_jax(program(axis), *args, target="numpy")
    np.testing.assert_array_equal(numpy.main(*args), documented(x, output, given))
    (interpreted,) = run(per_device(program(axis), *args), args)
    np.testing.assert_array_equal(interpreted, documented(x, output, given))


def test_jax_has_the_same_operation(program: Any) -> None:
    args = (np.ones((4, 8, 3), np.float32), np.ones((4, 8, 3), np.float32), *tables(1, 0))
    lowered = shardc.jit(program("model")).lower(*args)
    assert "ragged all-to-all over model, 96 B sent per device" in lowered.source
    assert 'axis_name="model"' in lowered.source
    again, before = (jax.jit(f).lower(*args).as_text() for f in (lowered.run, program("model")))
    calls = [[line for line in text.split("\n") if "@ragged_all_to_all(" in line] for text in (again, before)]
    assert [line.partition("{api_version")[2] for line in calls[0]] == [
        line.partition("{api_version")[2] for line in calls[1]
    ]


def test_tables_that_do_not_agree(program: Any) -> None:
    args = [np.ones((4, 8, 3), np.float32), np.ones((4, 8, 3), np.float32), *tables(1, 0)]
    args[3] = args[3] + 1
    numpy = shardc.from_jax(program("model"), *args, target="numpy")
    with pytest.raises(ValueError, match="recv_sizes says"):
        numpy.main(*args)
    with pytest.raises(ShardcError, match="position 0 sends"):
        run(per_device(program("model"), *args), args)
