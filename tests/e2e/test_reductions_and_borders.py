"""Programs that a partitioner gets wrong if it trusts a rule's shape and not its operation.

A max over a split dimension is no sum, an argmax has no all-reduce, an update along a split dimension needs
the block's own index, a pad that shifts is not local, and a swap of sub-axes is easily permuted wrongly.
"""

from __future__ import annotations

import numpy as np
import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.interpret.arguments import random_inputs
from shardc.interpret.distance import distance
from shardc.interpret.run import run
from shardc.passes.pipeline import run_to

# name -> (program, what the per-device code must have, what it must not)
PROGRAMS = {
    "max": (
        "mesh m[x=4]\ndef f(a: f32[8@x, 6]) -> f32[6] replicated:\n    return max(a, axis=0)\n",
        ['kind = "max"'],
        ['kind = "sum"'],
    ),
    "min": (
        "mesh m[x=4]\ndef f(a: f32[8@x, 6]) -> f32[6] replicated:\n    return min(a, axis=0)\n",
        ['kind = "min"'],
        ['kind = "sum"'],
    ),
    "prod": (
        "mesh m[x=4]\ndef f(a: f32[8@x, 6]) -> f32[6] replicated:\n    return prod(a, axis=0)\n",
        ["spmd.all_gather"],
        ["spmd.all_reduce"],
    ),
    "argmax": (
        "mesh m[x=4]\ndef f(a: f32[8@x, 6]) -> i32[6] replicated:\n    return argmax(a, axis=0)\n",
        ['kind = "max"', 'kind = "min"'],
        ['kind = "sum"'],
    ),
    "update": (
        "mesh m[x=4]\ndef f(a: f32[8@x, 6], u: f32[3, 6], i: i32[]) -> f32[8@x, 6]:\n"
        "    return dynamic_update_slice(a, u, (i, 0))\n",
        ["spmd.axis_index"],
        ["spmd.all_gather"],
    ),
    "kv_cache": (
        "mesh m[x=4]\ndef f(cache: f32[2, 16@x, 4], new: f32[2, 1, 4], i: i32[]) -> f32[2, 16@x, 4]:\n"
        "    return dynamic_update_slice(cache, new, (0, i, 0))\n",
        ["spmd.axis_index"],
        ["spmd.all_gather"],
    ),
    "shifting_pad": (
        "mesh m[x=4]\ndef f(a: f32[8@x]) -> f32[8@x]:\n"
        '    return op("stablehlo.pad", a, 0.0, {edge_padding_low = (-2,), edge_padding_high = (2,),'
        " interior_padding = (0,)})\n",
        [],
        [],
    ),
    "transpose_of_parts": (
        "mesh m[x=8]\ndef f(a: f32[16@x:(1)2, 16@x:(2)4]) -> f32[16@x:(1)2, 16@x:(2)4]:\n"
        "    return transpose(a)\n",
        [],
        [],
    ),
    "swap_of_parts": (
        "mesh m[x=6]\ndef f(a: f32[12@x:(1)2, 12@x:(2)3]) -> f32[12@x:(2)3, 12@x:(1)2]:\n"
        "    return a + 0.0\n",
        [],
        [],
    ),
    "three_axes": (
        "mesh m[x=2, y=3, z=2]\ndef f(a: f32[12@(x, z), 12@y]) -> f32[12@(y, x), 12@z]:\n"
        "    return tanh(a)\n",
        [],
        [],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_right(name: str) -> None:
    source, present, absent = PROGRAMS[name]
    with collecting():
        module = read(source, "test.shard")
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "local")
    text, local = print_module(module), snapshot(module).graph
    assert all(part in text for part in present), text
    assert not any(part in text for part in absent), text
    arrays = random_inputs(whole.types(whole.main.body.args))
    for want, have in zip(run(whole, arrays), run(local, arrays), strict=True):
        assert distance(np.asarray(want), np.asarray(have)) <= 1e-6
