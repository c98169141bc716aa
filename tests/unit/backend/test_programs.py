"""Whole .shard programs through the pipeline: both targets give what the single-device program gives."""

import os
import subprocess
import sys

import numpy as np
import pytest

from shardc.backend import jax as jax_backend
from shardc.backend import numpy as numpy_backend
from shardc.diagnostics import ShardcError
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from shardc.passes.pipeline import run_to
from tests.tolerance import assert_right

POD = "mesh pod[data=2, model=4]\n\n"
PROGRAMS = {
    "mlp": POD
    + """
def mlp(x: f32[32@data, 64], w1: f32[64, 256@model], w2: f32[256@model, 64]) -> f32[32@data, 64]:
    h = relu(x @ w1)
    return h @ w2
""",
    "uneven": POD
    + """
def f(x: f32[13@data, 6], w: f32[6, 10@model]) -> f32[13@data, 10@model]:
    return relu(x @ w)
""",
    "uneven sum": POD
    + """
def f(x: f32[13@data, 6]) -> f32[6]:
    return sum(exp(x), axis=0)
""",
    "partial sum out": POD
    + """
def f(x: f32[8, 16@model], w: f32[16@model, 4]) -> (f32[8, 4] partial(sum: model), f32[16@model, 4]):
    return x @ w, w + w
""",
    "partial max out": POD
    + """
def f(x: f32[8@data, 16@model]) -> f32[8@data] partial(max: model):
    return max(x, axis=1)
""",
    "partial in": POD
    + """
def f(x: f32[8, 4] partial(sum: model), y: f32[8, 4]) -> f32[8, 4]:
    return x + y
""",
    "sub-axes": POD
    + """
def f(x: f32[8@model:(1)2, 16], w: f32[16, 8@model:(2)2]) -> f32[8@model:(1)2, 8@model:(2)2]:
    return tanh(x @ w)
""",
    "device order": """
mesh m[a=2, b=2] devices [0, 2, 1, 3]

def f(x: f32[8@a, 16@b]) -> f32[8@b, 16@a]:
    return x * 2.0
""",
    "x64": POD
    + """
def f(x: f64[8@data, 16@model], k: i64[8@data]) -> f64[8@data]:
    return sum(x, axis=1) + astype(k, f64) + astype(argmax(x, axis=1), f64)
""",
    "loop over layers": POD
    + """
def f(x: f32[8@data, 16], ws: f32[3, 16, 16@model]) -> (f32[8@data, 16], f32[]):
    n = x
    for w in ws carrying x:
        x = tanh(x @ w) + n
    return x, sum(x)
""",
    "counted loop": POD
    + """
def f(x: f32[8@data, 16@model]) -> (f32[8@data, 16@model], f32[]):
    s = sum(x) * 0.0
    for i in range(4) carrying x, s:
        x = x * 1.5 + astype(i, f32)
        s = s + sum(x)
    return x, s
""",
    "names": POD
    + """
def f(open: f32[8@data, 16], jnp: f32[16, 4@model], lax: f32[8@data, 4@model]) -> f32[8@data, 4@model]:
    comm = open @ jnp
    mesh = comm + lax
    return mesh * comm
""",
    "calls": POD
    + """
def norm(x: f32[8@data, 16], scale: f32[16]) -> f32[8@data, 16]:
    return (x - mean(x, axis=1, keepdims=True)) * scale

def main(x: f32[8@data, 16], norm_1: f32[16]) -> f32[8@data, 16]:
    return norm(norm(x, norm_1), norm_1)
""",
    "shard_map": """
mesh m[i=4, j=2]

@shard_map
def matmul_basic(a: f32[8@i, 16@j], b: f32[16@j, 32]) -> f32[8@i, 32]:
    return psum(a @ b, j)

def main(a: f32[8@i, 16@j], b: f32[16@j, 32]) -> f32[8@i, 32]:
    return matmul_basic(a, b) * 2.0
""",
    "collectives": """
mesh m[i=8]

@shard_map
def f(a: f32[64@i, 16]) -> (f32[64@i, 16], f32[64, 16@i], f32[8@i]):
    b = ppermute(a, i, perm=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 0)])
    e = all_to_all(a, i, split_axis=1, concat_axis=0, tiled=True)
    s = psum_scatter(a, i, scatter_dimension=0, tiled=True)
    return b + a * astype(axis_index(i), f32), e, sum(s, axis=1)
""",
    "a loop that starts with the same on every device": """
mesh m[i=4]

@shard_map
def f(a: f32[8@i, 4]) -> (f32[8@i, 4], f32[8@i, 4]):
    s = zeros((2, 4))
    t = a
    for k in range(3) carrying s, t:
        s = s + t * astype(k, f32)
        t = pmax(a, i)
    return s, t
""",
    "sorting": POD
    + """
def f(x: f32[8@data, 16@model]) -> (f32[8@data, 3], i32[8@data, 3], f32[8@data, 16], f32[8@data, 16@model]):
    v, i = top_k(x, 3)
    return v, i, sort(x, axis=1), cumsum(x, axis=1)
""",
    "composites": POD
    + """
def f(x: f32[8@data, 16], y: f32[8@data, 16@model]) -> (f32[8@data, 16], f32[8@data], f32[8@data]):
    a = gelu(x) + silu(x) + softplus(x) + log_softmax(x, axis=1)
    return softmax(a, axis=-1), mean(x, axis=1), mean(y, axis=1)
""",
}


def compiled(text):
    """The global graph, its inputs, and the local graph."""
    module = read(text, "prog.shard", {}, None)
    whole = snapshot(module).graph
    run_to(make_context(), module, "local")
    return whole, snapshot(module).graph


def inputs(graph):
    rng = np.random.default_rng(0)
    types = [graph.type(v) for v in graph.main.body.args]
    return [(rng.standard_normal(t.shape) * 4).astype(t.numpy) for t in types]


@pytest.mark.parametrize("case", PROGRAMS)
def test_both_targets(case, load):
    whole, local = compiled(PROGRAMS[case])
    arrays = inputs(whole)
    expected = run(whole, arrays)
    for text in (jax_backend.emit(local), numpy_backend.emit(local)):
        got = load(text)["main"](*arrays)
        assert isinstance(got, tuple) == (len(expected) > 1)
        for a, e in zip(got if isinstance(got, tuple) else (got,), expected, strict=True):
            assert (a.dtype, a.shape) == (e.dtype, e.shape), text
        assert_right(whole, local, arrays, got if isinstance(got, tuple) else (got,), text)


def body(text, function="device_main"):
    """The lines of a function after its docstring."""
    after = text.split(f"def {function}(")[1].split('"""')[2]
    return after.split("\n\n\n")[0].strip("\n")


def test_mlp_reads_as_if_written_by_hand():
    text = jax_backend.emit(compiled(PROGRAMS["mlp"])[1])
    lines = [line for line in body(text).split("\n") if not line.strip().startswith("#")]
    assert lines == [
        "    h = jax.nn.relu(x @ w1)",
        '    return lax.psum(h @ w2, "model")',
    ]
    assert "    # all-reduce over model, 6 KiB sent per device: " in text
    assert "    w1: f32[64, 64] of f32[64, 256@model]\n" in text


def test_an_einsum_keeps_its_letters():
    text = """
def f(x: f32[8@data, 16, 12], w: f32[12, 8@model, 4]) -> f32[8@data, 8@model, 16, 16]:
    q = einsum("bsd,dhk->bshk", x, w)
    return einsum("bqhk,bshk->bhqs", q, q)
"""
    local = compiled(POD + text)[1]
    lines = body(jax_backend.emit(local))
    assert '    q = jnp.einsum("bsd,dhk->bshk", x, w)' in lines
    assert '    return jnp.einsum("bqhk,bshk->bhqs", q, q)' in lines
    lines = body(numpy_backend.emit(local))  # which multiplies the second by the first
    assert '    q = np.einsum("dhk,bsd->bshk", w, x, optimize=True)' in lines
    assert '    return np.einsum("bshk,bqhk->bhqs", q, q, optimize=True)' in lines


def test_a_loop_keeps_its_names():
    local = compiled(PROGRAMS["loop over layers"])[1]
    text, numpy_text = jax_backend.emit(local), numpy_backend.emit(local)
    assert "    def step(i, x_1):\n        w = ws[i]\n" in text.replace("step(i, x)", "step(i, x_1)")
    assert "lax.fori_loop(0, 3, step, x)" in text
    assert "    for i in range(3):\n        w = ws[i]\n" in numpy_text
    for emit in (jax_backend.emit, numpy_backend.emit):
        assert "        w = ws[i]  # f32[16, 4] of f32[" in emit(local, comments="full")


def test_sub_axes_become_axes():
    text = jax_backend.emit(compiled(PROGRAMS["sub-axes"])[1])
    assert '("data", "model_0", "model_1")' in text
    assert 'out_specs=P("model_0", "model_1")' in text


def test_uneven_arrays_are_padded_and_cut_in_main():
    text = jax_backend.emit(compiled(PROGRAMS["uneven"])[1])
    assert "    x = jnp.pad(x, ((0, 1), (0, 0)))  # f32[13@data, 6] is uneven" in text
    assert "    return result[:13, :10]\n" in text


def test_partial_results_are_combined_in_main():
    text = jax_backend.emit(compiled(PROGRAMS["partial max out"])[1])
    assert 'out_specs=P("model", "data")' in text
    assert "    return jnp.max(result, axis=0)\n" in text


def test_composites_by_name_where_they_arrive_whole():
    text = jax_backend.emit(compiled(PROGRAMS["composites"])[1])
    for call in (
        "jax.nn.gelu(",
        "jax.nn.silu(",
        "jax.nn.softplus(",
        "jax.nn.log_softmax(",
        "jax.nn.softmax(",
    ):
        assert call in text
    assert text.count("jnp.mean(") == 1  # of the split dimension the sum is divided by the global count


def test_sub_axes_without_a_common_mesh_are_an_error():
    program = """
mesh m[x=6]

def f(x: f32[12@x:(1)2], y: f32[12@x:(1)3]) -> (f32[12@x:(1)2], f32[12@x:(1)3]):
    return x, y
"""
    with pytest.raises(ShardcError, match="axis x"):
        jax_backend.emit(compiled(program)[1])


@pytest.mark.parametrize("backend", [jax_backend, numpy_backend])
def test_runs_as_a_script(backend, tmp_path):
    out = tmp_path / "out.py"
    out.write_text(backend.emit(compiled(PROGRAMS["mlp"])[1]), encoding="utf-8")
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    environment.pop("JAX_NUM_CPU_DEVICES", None)
    done = subprocess.run([sys.executable, str(out)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("float32[32, 64]")


def test_too_few_devices_are_an_error(load):
    program = PROGRAMS["mlp"].replace("data=2, model=4", "data=2, model=8")
    names = load(jax_backend.emit(compiled(program)[1]))
    with pytest.raises(RuntimeError, match="16 devices are needed and there are 8"):
        names["mesh"]()
