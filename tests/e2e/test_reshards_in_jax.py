"""Changes of layout as emitted for JAX: shard_map takes them with check_vma on; values stay."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import shardc

jax = pytest.importorskip("jax")
jax.config.update("jax_num_cpu_devices", 8)

if jax.device_count() < 8:
    pytest.skip("needs 8 devices", allow_module_level=True)

MESHES = [((2, 2, 2), (8, 8)), ((4, 2), (8, 16)), ((2, 3), (12, 6)), ((2, 2, 2), (4, 4, 8))]
COUNT = 16


def layout(random: Random, axes: list[str], rank: int) -> list[list[str]]:
    """Some of the axes, or parts of them, in any dimensions and order."""
    dims: list[list[str]] = [[] for _ in range(rank)]
    for axis in random.sample(axes, len(axes)):
        place = random.randint(-1, rank - 1)
        if place >= 0:
            dims[place].append(axis)
    return dims


def written(shape: tuple[int, ...], dims: list[list[str]]) -> str:
    entries = [f"{n}@({', '.join(axes)})" if axes else str(n) for n, axes in zip(shape, dims, strict=True)]
    return f"f32[{', '.join(entries)}]"


@pytest.mark.parametrize(("sizes", "shape"), MESHES)
def test_jax_takes_them(sizes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    random = Random(str(sizes))
    axes = list("xyz"[: len(sizes)])
    halves = ["x:(1)2", "x:(2)2", *axes[1:]] if sizes[0] == 4 else axes
    types = [
        [written(shape, layout(random, random.choice([axes, halves]), len(shape))) for _ in range(2)]
        for _ in range(COUNT)
    ]
    mesh = ", ".join(f"{a}={n}" for a, n in zip(axes, sizes, strict=True))
    arguments = ", ".join(f"a{i}: {source}" for i, (source, _) in enumerate(types))
    results = ", ".join(target for _, target in types)
    names = ", ".join(f"a{i}" for i in range(COUNT))
    program = shardc.compile(f"mesh m[{mesh}]\n\ndef main({arguments}) -> ({results}):\n    return {names}\n")
    given = [np.random.default_rng(i).standard_normal(shape).astype(np.float32) for i in range(COUNT)]
    for value, result in zip(given, program.main(*given), strict=True):
        np.testing.assert_array_equal(np.asarray(result), value)
    assert "check_vma=False" not in program.source
    assert "ppermute" in program.source
