"""Every operation of the language, under random shardings of operands and result, on emulated devices.

The single-device program is the reference. Sizes are chosen so that some shardings are uneven.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.arguments import random_inputs
from shardc.interpret.distance import distance
from shardc.interpret.run import run
from shardc.passes.pipeline import run_to
from tests.sampling import examples

MESHES = ({"x": 2, "y": 2}, {"x": 2, "y": 3}, {"x": 4}, {"x": 2, "y": 2, "z": 2})

# (parameters, result, expression)
OPERATIONS = {
    "add": ("a: f32[4, 6], b: f32[4, 6]", "f32[4, 6]", "a + b"),
    "add_row": ("a: f32[4, 6], b: f32[6]", "f32[4, 6]", "a + b"),
    "add_column": ("a: f32[4, 6], b: f32[4, 1]", "f32[4, 6]", "a + b"),
    "bias_of_product": ("a: f32[4, 8], b: f32[8, 6], c: f32[6]", "f32[4, 6]", "a @ b + c"),
    "two_products": ("a: f32[4, 8], b: f32[8, 6], c: f32[4, 6]", "f32[4, 6]", "a @ b + c - 2.0 * (a @ b)"),
    "maximum": ("a: f32[4, 6], b: f32[4, 6]", "f32[4, 6]", "maximum(a, b)"),
    "compare": ("a: f32[4, 6], b: f32[4, 6]", "bool[4, 6]", "a < b"),
    "where": ("a: bool[4, 6], b: f32[4, 6], c: f32[4, 6]", "f32[4, 6]", "where(a, b, c)"),
    "clip": ("a: f32[4, 6]", "f32[4, 6]", "clip(a, -0.5, 0.5)"),
    "tanh": ("a: f32[4, 6]", "f32[4, 6]", "tanh(a)"),
    "gelu": ("a: f32[4, 6]", "f32[4, 6]", "gelu(a)"),
    "matmul": ("a: f32[4, 6], b: f32[6, 8]", "f32[4, 8]", "a @ b"),
    "matmul_odd": ("a: f32[5, 7], b: f32[7, 3]", "f32[5, 3]", "a @ b"),
    "batched": ("a: f32[2, 4, 6], b: f32[2, 6, 8]", "f32[2, 4, 8]", "a @ b"),
    "einsum": ("a: f32[2, 4, 6], b: f32[4, 6, 8]", "f32[2, 8]", 'einsum("bij,ijk->bk", a, b)'),
    "sum": ("a: f32[4, 6]", "f32[4]", "sum(a, axis=1)"),
    "sum_all": ("a: f32[5, 7]", "f32[]", "sum(a)"),
    "mean": ("a: f32[4, 7]", "f32[4, 1]", "mean(a, axis=1, keepdims=True)"),
    "max": ("a: f32[4, 6]", "f32[6]", "max(a, axis=0)"),
    "max_odd": ("a: f32[5, 7]", "f32[7]", "max(a, axis=0)"),
    "min": ("a: i32[4, 6]", "i32[6]", "min(a, axis=0)"),
    "prod": ("a: f32[4, 6]", "f32[4]", "prod(a, axis=1)"),
    "any": ("a: bool[4, 6]", "bool[4]", "any(a, axis=1)"),
    "argmax": ("a: f32[4, 6]", "i32[4]", "argmax(a, axis=1)"),
    "argmax_odd": ("a: i32[5, 7]", "i32[7]", "argmax(a, axis=0)"),
    "softmax": ("a: f32[4, 6]", "f32[4, 6]", "softmax(a, axis=-1)"),
    "softmax_odd": ("a: f32[4, 7]", "f32[4, 7]", "softmax(a, axis=-1)"),
    "logsumexp": ("a: f32[4, 6]", "f32[4]", "logsumexp(a, axis=1)"),
    "merge": ("a: f32[4, 6]", "f32[24]", "reshape(a, (24,))"),
    "split": ("a: f32[24]", "f32[4, 6]", "reshape(a, (4, 6))"),
    "regroup": ("a: f32[4, 6]", "f32[8, 3]", "reshape(a, (8, 3))"),
    "transpose": ("a: f32[4, 6, 2]", "f32[2, 4, 6]", "transpose(a, (2, 0, 1))"),
    "broadcast": ("a: f32[6]", "f32[4, 6]", "broadcast_to(a, (4, 6))"),
    "expand": ("a: f32[4, 1, 6]", "f32[2, 4, 3, 6]", "expand(a, (2, 4, 3, -1))"),
    "repeat": ("a: f32[4, 6]", "f32[8, 18]", "repeat(a, (2, 3))"),
    "concatenate": ("a: f32[4, 6], b: f32[2, 6]", "f32[6, 6]", "concatenate((a, b), axis=0)"),
    "stack": ("a: f32[4, 6], b: f32[4, 6]", "f32[2, 4, 6]", "stack((a, b))"),
    "slice": ("a: f32[8, 6]", "f32[4, 3]", "a[2:6, ::2]"),
    "index": ("a: f32[8, 6]", "f32[6]", "a[3]"),
    "pad": ("a: f32[4, 6]", "f32[6, 6]", "pad(a, ((1, 1), (0, 0)))"),
    "take": ("a: f32[8, 6], i: i32[4]", "f32[4, 6]", "take(a, i, axis=0)"),
    "take_odd": ("a: f32[9, 6], i: i32[5]", "f32[5, 6]", "take(a, i, axis=0)"),
    "take_columns": ("a: f32[4, 8], i: i32[6]", "f32[4, 6]", "take(a, i, axis=1)"),
    "scatter_add": ("a: f32[8, 6], i: i32[4], u: f32[4, 6]", "f32[8, 6]", "scatter_add(a, i, u)"),
    "dynamic_slice": ("a: f32[8, 6], i: i32[]", "f32[3, 6]", "dynamic_slice(a, (i, 0), (3, 6))"),
    "dynamic_slice_odd": ("a: f32[7, 6], i: i32[]", "f32[3, 6]", "dynamic_slice(a, (i, 0), (3, 6))"),
    "update": ("a: f32[8, 6], u: f32[3, 6], i: i32[]", "f32[8, 6]", "dynamic_update_slice(a, u, (i, 0))"),
    "update_odd": ("a: f32[7, 6], u: f32[1, 6], i: i32[]", "f32[7, 6]", "dynamic_update_slice(a, u, (i, 0))"),
    "cumsum": ("a: f32[8, 6]", "f32[8, 6]", "cumsum(a, axis=0)"),
    "cumsum_odd": ("a: f32[4, 7]", "f32[4, 7]", "cumsum(a, axis=1)"),
    "sort": ("a: f32[4, 6]", "f32[4, 6]", "sort(a, axis=0)"),
    "top_k": ("a: f32[4, 8]", "(f32[4, 3], i32[4, 3])", "top_k(a, 3)"),
    "top_k_odd": ("a: i32[4, 7]", "(i32[4, 3], i32[4, 3])", "top_k(a, 3)"),
    "one_hot": ("i: i32[4]", "f32[4, 8]", "one_hot(i, 8)"),
    "tril": ("a: f32[6, 6]", "f32[6, 6]", "tril(a)"),
    "arange": ("a: f32[8]", "f32[8]", "a * astype(arange(8), f32)"),
    "astype": ("a: f32[4, 6]", "bf16[4, 6]", "astype(a, bf16)"),
    "conv": ("a: f32[4, 2, 6, 6], k: f32[4, 2, 3, 3]", "f32[4, 4, 4, 4]", 'conv(a, k, (1, 1), "VALID")'),
    "conv_same": ("a: f32[2, 2, 6, 6], k: f32[4, 2, 3, 3]", "f32[2, 4, 6, 6]", 'conv(a, k, (1, 1), "SAME")'),
}


@st.composite
def annotated(draw: st.DrawFn, types: str, mesh: dict[str, int], partial: bool) -> str:
    """The same types, some with a random sharding."""
    out: list[str] = []
    for part in types.replace("]", "]|").split("|"):
        head, bracket, dims = part.partition("[")
        if not bracket:
            out.append(part)
            continue
        sizes = [size.strip() for size in dims[:-1].split(",") if size.strip()]
        axes = draw(st.permutations(sorted(mesh)))
        marked, suffix = list(sizes), ""
        if draw(st.booleans()):
            for axis in axes:
                choice = draw(st.integers(-1, len(sizes)))
                if 0 <= choice < len(sizes):
                    size, at, already = marked[choice].partition("@")
                    held = already.strip("()")
                    marked[choice] = f"{size}@({held}, {axis})" if at else f"{size}@{axis}"
                elif choice == len(sizes) and partial and not suffix and "f32" in head:
                    suffix = f" partial(sum: {axis})"
            if not any("@" in m for m in marked) and not suffix and draw(st.booleans()):
                suffix = " replicated"
        out.append(f"{head}[{', '.join(marked)}]{suffix}")
    return "".join(out)


SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=examples(9), deadline=None, derandomize=True, suppress_health_check=SLOW)
@given(data=st.data())
def test_right_under_any_sharding(name: str, data: st.DataObject) -> None:
    parameters, result, expression = OPERATIONS[name]
    mesh = data.draw(st.sampled_from(MESHES))
    axes = ", ".join(f"{axis}={size}" for axis, size in mesh.items())
    header = f"mesh m[{axes}]\ndef main({data.draw(annotated(parameters, mesh, True))})"
    source = f"{header} -> {data.draw(annotated(result, mesh, False))}:\n    return {expression}\n"
    assert_right(source)


def assert_right(source: str) -> None:
    """Compile a program and compare it with the single-device program on emulated devices."""
    with collecting():
        module = read(source, "test.shard")
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "local")
        local = snapshot(module).graph
    arrays = random_inputs(whole.types(whole.main.body.args))
    for want, have in zip(run(whole, arrays), run(local, arrays), strict=True):
        bound = 2e-2 if want.dtype.itemsize == 2 else 1e-5
        assert distance(np.asarray(want), np.asarray(have)) <= bound, source
