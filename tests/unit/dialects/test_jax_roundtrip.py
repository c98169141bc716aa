"""What JAX prints, read and printed again, is the same module to jaxlib.

Both sides are compared as jaxlib prints them generically, so nothing may be lost: attributes, properties,
types, names, regions.
"""

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from shardc.dialects.snapshot import snapshot  # noqa: E402
from shardc.dialects.text import print_module  # noqa: E402
from shardc.frontend.mlir import read  # noqa: E402

if jax.device_count() < 8:
    pytest.skip("needs eight devices", allow_module_level=True)

MESH = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("x", "y"))
PROGRAMS = {}


def S(*shape, dt=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dt)


def sm(f, in_specs, out_specs, **options):
    return jax.shard_map(f, mesh=MESH, in_specs=in_specs, out_specs=out_specs, **options)


def add(name, f, *args, **options):
    PROGRAMS[name] = (f, args, options)


X = S(8, 4)
i32 = jnp.int32
add(
    "ops_float",
    lambda x: [
        f(x)
        for f in (
            jnp.exp,
            jnp.log,
            jnp.sin,
            jnp.cos,
            jnp.tan,
            jnp.tanh,
            jnp.sqrt,
            lax.rsqrt,
            lax.cbrt,
            jnp.floor,
            jnp.ceil,
            jnp.round,
            jnp.abs,
            jnp.sign,
            jnp.expm1,
            jnp.log1p,
            jax.nn.sigmoid,
            jnp.isfinite,
            lax.is_finite,
            lambda x: -x,
            lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
        )
    ],
    X,
)
add(
    "ops_chlo",
    lambda x: (
        [
            f(x)
            for f in (
                lax.erf,
                lax.erf_inv,
                lax.erfc,
                lax.lgamma,
                lax.digamma,
                lax.asin,
                lax.acos,
                lax.atan,
                lax.sinh,
                lax.cosh,
                lax.asinh,
                lax.acosh,
                lax.atanh,
                lax.bessel_i1e,
                jnp.square,
            )
        ]
        + [lax.polygamma(x, x), lax.zeta(x, x), lax.nextafter(x, x), jnp.isinf(x)]
    ),
    X,
)
add(
    "ops_int",
    lambda x, y: [
        x + y,
        x - y,
        x * y,
        x // y,
        x % y,
        x & y,
        x | y,
        x ^ y,
        ~x,
        x << y,
        x >> y,
        lax.shift_right_logical(x, y),
        lax.population_count(x),
        lax.clz(x),
        jnp.maximum(x, y),
        x < y,
        x == y,
    ],
    S(4, dt=i32),
    S(4, dt=i32),
)
add("ops_uint", lambda x: [x >> 1, x + jnp.uint32(7), x < jnp.uint32(3)], S(4, dt=jnp.uint32))
add("ops_bool", lambda x, y: [x & y, x | y, ~x, x ^ y], S(4, dt=bool), S(4, dt=bool))
add(
    "ops_complex",
    lambda x: [
        x * x,
        jnp.real(x),
        jnp.imag(x),
        jnp.conj(x),
        jnp.abs(x),
        lax.complex(jnp.real(x), jnp.imag(x)),
        x + (1 + 2j),
    ],
    S(4, dt=jnp.complex64),
)
add("power_atan2", lambda x, y: [x**y, jnp.arctan2(x, y), lax.rem(x, y), lax.integer_pow(x, 3)], X, X)
add("clamp_select", lambda x: [jnp.clip(x, 0, 1), jnp.where(x > 0, x, -jnp.inf), jnp.nan_to_num(x)], X)
add(
    "casts",
    lambda x: (
        [
            x.astype(t)
            for t in (
                jnp.bfloat16,
                jnp.float16,
                i32,
                jnp.int8,
                jnp.uint8,
                bool,
                jnp.float8_e4m3fn,
                jnp.complex64,
            )
        ]
        + [lax.bitcast_convert_type(x, i32), lax.reduce_precision(x, 5, 10)]
    ),
    X,
)
add(
    "consts",
    lambda x: [
        x + np.arange(32, dtype=np.float32).reshape(8, 4),
        jnp.array([1.5, -np.inf, np.nan, 0.1]),
        np.arange(1000),
        jnp.array([True, False, True]),
        np.array([1, -2], np.int8),
        np.full((2, 2), 3, np.uint64),
        np.array([1 + 2j, np.inf], np.complex64),
        jnp.array([1.1, np.inf], jnp.bfloat16),
    ],
    X,
)
add("empty", lambda x: x[:0], X)
add(
    "reshape",
    lambda x: [
        x.reshape(4, 8),
        x.ravel(),
        x.T,
        x[None],
        jnp.broadcast_to(x, (3, 8, 4)),
        jnp.flip(x, 0),
        jnp.roll(x, 1, 0),
        jnp.tile(x, (2, 2)),
        jnp.repeat(x, 2, 0),
    ],
    X,
)
add(
    "slice",
    lambda x: [
        x[1:3],
        x[::2, 1],
        x[-1],
        jnp.concatenate([x, x]),
        jnp.stack([x, x]),
        jnp.pad(x, ((1, 2), (0, 0))),
        jnp.pad(x, 1, constant_values=-np.inf),
        lax.pad(x, 0.0, ((-1, 1, 2), (0, 0, 0))),
    ],
    X,
)
add(
    "dot",
    lambda x, w: [
        x @ w,
        jnp.einsum("ij,jk->ki", x, w),
        jnp.dot(x, w, precision="highest"),
        lax.dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32),
    ],
    X,
    S(4, 16),
)
add("batch_dot", lambda x, w: jnp.einsum("bij,bjk->bik", x, w), S(2, 3, 4), S(2, 4, 5))
add(
    "reduce",
    lambda x: [
        x.sum(),
        x.sum(0),
        x.max(1),
        x.min(),
        x.prod(),
        x.mean(),
        x.std(),
        (x > 0).any(),
        (x > 0).all(0),
        jnp.argmax(x, 1),
        jnp.argmin(x),
        jax.nn.logsumexp(x, 1),
    ],
    X,
)
add("cum", lambda x: [jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x, 0), jnp.cumsum(x, 0)[::-1]], X)
add(
    "nn",
    lambda x: [
        jax.nn.softmax(x),
        jax.nn.gelu(x),
        jax.nn.silu(x),
        jax.nn.relu(x),
        jax.nn.log_softmax(x),
        jax.nn.one_hot(jnp.array([1, 2]), 4),
        jax.nn.standardize(x),
    ],
    X,
)
add(
    "gather",
    lambda x, i: [
        x[i],
        jnp.take(x, i, 1),
        jnp.take_along_axis(x, i[:, None], 1),
        x[i, i],
        x.at[i].get(mode="fill", fill_value=-np.inf),
    ],
    X,
    S(8, dt=i32),
)
add(
    "scatter",
    lambda x, i: [
        x.at[i].set(0.0),
        x.at[i].add(x[:3]),
        x.at[i, i].max(1.0),
        x.at[0].set(7),
        x.at[i].mul(2.0),
    ],
    X,
    S(3, dt=i32),
)
add(
    "dynamic",
    lambda x, i: [
        lax.dynamic_slice(x, (i, 0), (2, 4)),
        lax.dynamic_update_slice(x, x[:2], (i, i)),
        lax.dynamic_index_in_dim(x, i),
    ],
    X,
    S(dt=i32),
)
add(
    "sort",
    lambda x: [jnp.sort(x, 0), jnp.argsort(x), lax.top_k(x, 2), lax.sort((x, x), num_keys=2), jnp.median(x)],
    X,
)
add(
    "conv",
    lambda x, k: lax.conv_general_dilated(
        x,
        k,
        (2, 2),
        "SAME",
        rhs_dilation=(2, 2),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=2,
    ),
    S(1, 8, 8, 4),
    S(3, 3, 2, 6),
)
add("conv_transpose", lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), S(1, 8, 8, 4), S(3, 3, 4, 6))
add(
    "conv_grad",
    jax.grad(lambda k, x: lax.conv_general_dilated(x, k, (1, 1), "SAME").sum()),
    S(4, 3, 3, 3),
    S(1, 3, 8, 8),
)
add(
    "pool",
    lambda x: [
        lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"),
        lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "VALID"),
    ],
    S(1, 8, 8, 4),
)
add(
    "pool_grad",
    jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME").sum()),
    S(1, 8, 8, 4),
)
add("cond", lambda x: lax.cond(x[0, 0] > 0, lambda v: v + 1, lambda v: -v, x), X)
add(
    "switch",
    lambda i, x: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v.sum() + v], x),
    S(dt=i32),
    X,
)
add("while", lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x)), X)
add("fori", lambda x: lax.fori_loop(0, 10, lambda i, a: a + i, x), X)
add("scan", lambda x: lax.scan(lambda c, a: (c + a, c * a), x[0], x), X)
add("scan_grad", jax.grad(lambda x: lax.scan(lambda c, a: (jnp.tanh(c + a), c), x[0], x)[0].sum()), X)
add("map", lambda x: lax.map(lambda r: jnp.sort(r), x), X)
add("assoc_scan", lambda x: lax.associative_scan(jnp.add, x), X)
add("vmap", jax.vmap(lambda a, b: jnp.dot(a, b)), X, X)
add(
    "grad_mlp",
    jax.grad(lambda p, x: jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"]) ** 2)),
    {"w": S(4, 16), "v": S(16, 1)},
    X,
)
add("hessian", jax.hessian(lambda x: jnp.sum(jnp.sin(x) * x)), S(4))
add("checkpoint", jax.grad(lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x).sum()), X)
add(
    "random",
    lambda k: [
        jax.random.normal(jax.random.wrap_key_data(k), (4,)),
        jax.random.uniform(jax.random.wrap_key_data(k), (2, 2)),
        jax.random.randint(jax.random.wrap_key_data(k), (3,), 0, 9),
        jax.random.permutation(jax.random.wrap_key_data(k), 8),
    ],
    S(2, dt=jnp.uint32),
)
add("rng_bits", lambda k: lax.rng_bit_generator(k, (8,)), S(4, dt=jnp.uint32))
add("rng_uniform", lambda: lax.rng_uniform(0.0, 1.0, (3,)))
add(
    "cholesky",
    lambda x: [jnp.linalg.cholesky(x), jax.scipy.linalg.solve_triangular(x, x), jnp.linalg.solve(x, x[0])],
    S(4, 4),
)
add("qr_eigh", lambda x: [jnp.linalg.qr(x), jnp.linalg.eigh(x), jnp.linalg.svd(x)], S(4, 4))
add("fft", lambda x: [jnp.fft.fft(x), jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x))], S(4, 8))
add("callback", lambda x: jax.pure_callback(lambda y: y, S(8, 4), x), X)
add("debug_print", lambda x: (jax.debug.print("{}", x), x)[1], X)
add("barrier", lambda x: lax.optimization_barrier((x, x + 1)), X)
add("custom_jvp", lambda x: jax.nn.relu6(x), X)
add("composite", lambda x: lax.composite(lambda y: jnp.sin(y), "my.sin")(x), X)
add("ragged_dot", lambda x, w, g: lax.ragged_dot(x, w, g), S(8, 4), S(2, 4, 3), S(2, dt=i32))
add("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 3), X, S(8, dt=i32))
add("searchsorted", lambda x, v: jnp.searchsorted(x, v), S(8), S(3))
add(
    "attention",
    lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
    S(2, 8, 4, 16),
    S(2, 8, 4, 16),
    S(2, 8, 4, 16),
)
add("histogram", lambda x: jnp.histogram(x, 4), S(16))
add("donated", lambda x: x + 1, X, donate_argnums=(0,))
add(
    "sharded_mlp",
    lambda x, w: lax.with_sharding_constraint(jnp.tanh(x @ w), NamedSharding(MESH, P("x", "y"))),
    X,
    S(4, 16),
    in_shardings=(NamedSharding(MESH, P("x")), NamedSharding(MESH, P(None, "y"))),
    out_shardings=NamedSharding(MESH, P(("x", "y"))),
)
add(
    "sharded_unconstrained",
    lambda x: lax.with_sharding_constraint(x, NamedSharding(MESH, P(P.UNCONSTRAINED, "y"))),
    X,
)
add("psum", sm(lambda a: [lax.psum(a, "x"), lax.psum(a, ("x", "y"))], P("x", "y"), [P(None, "y"), P()]), X)
add(
    "pmax",
    sm(lambda a: [lax.pmax(a, "x"), lax.pmin(a, "x"), lax.pmean(a, "x")], P("x", "y"), P(None, "y")),
    X,
)
add("all_gather", sm(lambda a: lax.all_gather(a, "x", tiled=True), P("x", "y"), P("x", "y")), X)
add("all_gather_untiled", sm(lambda a: lax.all_gather(a, "x"), P("x", "y"), P("x", "y")), X)
add("psum_scatter", sm(lambda a: lax.psum_scatter(a, "x", tiled=True), P(None, "y"), P("x", "y")), X)
add("all_to_all", sm(lambda a: lax.all_to_all(a, "y", 1, 0, tiled=True), P("x", None), P(("x",), "y")), X)
add(
    "ppermute",
    sm(lambda a: lax.ppermute(a, "x", [(i, (i + 1) % 4) for i in range(4)]), P("x", "y"), P("x", "y")),
    X,
)
add("axis_index", sm(lambda a: a + lax.axis_index("x"), P("x", "y"), P("x", "y")), X)
add("partial_manual", sm(lambda a: lax.psum(a, "x"), P("x"), P(), axis_names={"x"}), X)
add(
    "shmap_scan",
    sm(
        lambda a: lax.scan(
            lambda c, r: (c + lax.psum(r, "x"), r), lax.pcast(jnp.zeros((2,)), "y", to="varying"), a
        )[0],
        P("x", "y"),
        P("y"),
    ),
    X,
)
add(
    "shmap_grad",
    jax.grad(lambda x: sm(lambda a: lax.psum((a * a).sum(), ("x", "y")), P("x", "y"), P())(x)),
    X,
)
add("pcast", sm(lambda a: lax.pcast(jnp.ones(2), "x", to="varying") + a, P("x", "y"), P("x", "y")), X)


def lowered(name):
    f, args, options = PROGRAMS[name]
    return jax.jit(f, **options).lower(*args)


def normal(text):
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir  # pyright: ignore[reportPrivateImportUsage]

    with mlir.make_ir_context():
        pretty = str(ir.Module.parse(text))
        return ir.Module.parse(pretty).operation.get_asm(print_generic_op_form=True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_pretty_text_survives(name):
    text = lowered(name).as_text()
    module = read(text)
    assert normal(print_module(module)) == normal(text)
    graph = snapshot(module).graph
    assert graph.main.name == "main"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_text_with_locations_survives(name):
    text = lowered(name).as_text(debug_info=True)
    module = read(text)
    assert normal(print_module(module, locations=True)) == normal(text)
    places = {value.loc.file for value in snapshot(module).graph.values}
    assert places and None not in places


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_generic_text_survives(name):
    text = lowered(name).compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True)
    assert normal(print_module(read(text), generic=True)) == normal(text)
