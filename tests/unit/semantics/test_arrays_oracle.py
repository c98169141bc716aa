"""Reductions, products, movement, indexing, sorting and windows against JAX."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

jnp, lax = jax.numpy, jax.lax

RNG = np.random.default_rng(0)
INF, NAN = np.inf, np.nan


def single(values):
    return np.array(values, np.float32)


def integers(values):
    return np.array(values, np.int32)


def words(values):
    return np.array(values, np.uint32)


def floats(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def ints(*shape, low=-5, high=6):
    return RNG.integers(low, high, shape).astype(np.int32)


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.float16, np.int32, np.uint8])
def test_matmul(check, dtype):
    x, y = ints(5, 16).astype(dtype), ints(16, 3).astype(dtype)
    check(lambda x, y: x @ y, x, y)


def test_matmul_of_bf16_sums_in_f32(check):
    x, y = np.full((1, 1000), 1.001, jnp.bfloat16), np.full((1000, 1), 1, jnp.bfloat16)
    check(lambda x, y: lax.dot(x, y, preferred_element_type=np.float32), x, y)
    check(lambda x, y: x @ y, x, y)


def test_matmul_of_int8_to_int32(check):
    x, y = np.full((2, 300), 127, np.int8), np.full((300, 2), 127, np.int8)
    check(lambda x, y: lax.dot(x, y, preferred_element_type=np.int32), x, y)


@pytest.mark.parametrize(
    "spec", ["bsd,df->bsf", "bhqd,bhkd->bhqk", "abc,cab->b", "ij,kl->ijkl", "bij,bjk->ikb"]
)
def test_einsum(check, spec):
    sizes = dict(zip("bsdfhqkacijl", (2, 3, 4, 5, 2, 3, 4, 2, 3, 3, 4, 2), strict=True))
    left, right = spec.split("->")[0].split(",")
    shapes = [[sizes[name] for name in names] for names in (left, right)]
    check(lambda x, y: jnp.einsum(spec, x, y), floats(*shapes[0]), floats(*shapes[1]))


def test_matmul_over_nothing(check):
    check(lambda x, y: x @ y, floats(3, 0), floats(0, 2))
    check(lambda x, y: x @ y, floats(0, 3), floats(3, 2))


@pytest.mark.parametrize(
    "function", [jnp.sum, jnp.max, jnp.min, jnp.prod, jnp.argmax, jnp.argmin, jnp.any, jnp.all]
)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_reductions(check, function, axis):
    x = ints(4, 5, low=-2, high=3)
    check(lambda x: function(x, axis=axis), x)
    check(lambda x: function(x, axis=axis), x.astype(np.float32))


def test_argmax_takes_the_first_of_equals_and_nan(check):
    rows = single([[1, 3, 3, 0, 3], [1, NAN, 5, NAN, 2], [-INF] * 5])
    check(lambda x: [jnp.argmax(x, 1), jnp.argmin(x, 1), jnp.max(x, 1)], rows)


def test_reductions_of_narrow_types(check):
    check(lambda x: jnp.sum(x, 0), np.full((4000,), 0.1, jnp.bfloat16))
    check(lambda x: jnp.max(x, 0), floats(7, 3, dtype=jnp.bfloat16))
    check(lambda x: lax.reduce(x, np.uint8(0), lax.add, (0,)), np.full((3, 2), 200, np.uint8))


def test_reductions_with_an_initial_value_and_over_nothing(check):
    check(lambda x: lax.reduce(x, np.float32(5), lax.add, (1,)), floats(3, 4))
    check(lambda x: lax.reduce(x, np.float32(5), lax.max, (1,)), floats(3, 0))
    check(lambda x: jnp.sum(x, 1), floats(3, 0))


def test_reductions_by_any_function(check):
    def larger(x, y):
        return lax.select(abs(x) > abs(y), x, y)

    check(lambda x: lax.reduce(x, np.float32(0), larger, (0, 2)), floats(5, 3, 7))

    def sum_and_product(a, b):
        return a[0] + b[0], a[1] * b[1]

    inits = np.float32(0), np.float32(1)
    check(lambda x: lax.reduce((x, x + 1), inits, sum_and_product, (1,)), floats(3, 6))


@pytest.mark.parametrize("function", [lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative(check, function, reverse):
    check(lambda x: function(x, axis=1, reverse=reverse), floats(3, 7))


POOLS = [((2, 2), (2, 2), "VALID"), ((3, 2), (1, 2), "SAME"), ((2, 3), (1, 1), [(2, 1), (0, 3)])]


@pytest.mark.parametrize(("window", "strides", "padding"), POOLS)
def test_reduce_window(check, window, strides, padding):
    def pools(x):
        return [
            lax.reduce_window(x, np.float32(0), lax.add, window, strides, padding),
            lax.reduce_window(x, np.float32(-INF), lax.max, window, strides, padding),
            lax.reduce_window(x, np.float32(1), lambda a, b: a * b + np.float32(0), window, strides, padding),
        ]

    check(pools, floats(6, 7))


def test_reduce_window_with_dilations(check):
    def pool(x):
        return lax.reduce_window(x, np.float32(0), lax.add, (2, 3), (2, 1), [(1, 1), (2, 0)], (2, 1), (1, 2))

    check(pool, floats(5, 7))


def test_max_pool_and_its_gradient(check):
    def pool(x):
        return lax.reduce_window(x, -INF, lax.max, (2, 3), (2, 2), "SAME")

    check(lambda x: jax.grad(lambda x: jnp.sum(pool(x) ** 2))(x), floats(6, 7))


@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
@pytest.mark.parametrize("padding", ["VALID", "SAME", [(2, 1), (-1, 3)]])
def test_convolution(check, strides, padding):
    x, w = floats(2, 3, 9, 8), floats(4, 3, 3, 2)
    check(lambda x, w: lax.conv_general_dilated(x, w, strides, padding), x, w)


def test_convolution_with_dilations_groups_and_layouts(check):
    def conv(x, w, **options):
        return lax.conv_general_dilated(x, w, (1, 1), [(1, 1), (2, 1)], **options)

    x = floats(4, 6, 5, 5)
    check(lambda x, w: conv(x, w, lhs_dilation=(2, 1), rhs_dilation=(1, 2)), x, floats(4, 6, 3, 3))
    check(lambda x, w: conv(x, w, feature_group_count=3), x, floats(6, 2, 3, 3))
    check(lambda x, w: conv(x, w, feature_group_count=6), x, floats(12, 1, 3, 3))
    check(lambda x, w: conv(x, w, batch_group_count=2), x, floats(6, 6, 3, 3))
    layout = ("NHWC", "HWIO", "NHWC")
    check(lambda x, w: conv(x, w, dimension_numbers=layout), floats(2, 5, 5, 3), floats(3, 3, 3, 4))


def test_gradients_of_convolution(check):
    def loss(x, w):
        return jnp.sum(lax.conv_general_dilated(x, w, (2, 1), "SAME", feature_group_count=2) ** 2)

    check(jax.grad(loss, (0, 1)), floats(2, 4, 5, 5), floats(4, 2, 3, 3))


def test_movement(check):
    x = floats(3, 4, 5)
    check(lambda x: [x.transpose(2, 0, 1), x.reshape(12, 5), lax.rev(x, (0, 2)), x[:, 1:4:2, ::3]], x)
    check(lambda x: [jnp.concatenate([x, x + 1], 1), jnp.broadcast_to(x[:, :1], (2, 3, 4, 5))], x)
    check(lambda x: lax.broadcast_in_dim(x, (5, 3, 4), (1, 2)), floats(3, 4))
    check(lambda: [lax.broadcasted_iota(np.int32, (3, 4), 1), jnp.arange(5.0), jnp.eye(3)])


@pytest.mark.parametrize(
    "config", [[(1, 2, 0), (0, 0, 1)], [(-1, 3, 2), (2, -2, 0)], [(-2, -2, 1), (0, 0, 0)]]
)
def test_pad(check, config):
    check(lambda x: lax.pad(x, np.float32(7), config), floats(4, 5))


def test_bitcasts(check):
    check(lambda x: [lax.bitcast_convert_type(x, t) for t in (np.int32, np.uint16, np.uint8)], floats(3, 2))
    check(lambda x: lax.bitcast_convert_type(x, np.float32), ints(3, 4, low=0, high=255).astype(np.uint8))


def test_dynamic_slices_clamp_their_starts(check):
    for start in (-3, 0, 2, 9):
        i = np.int32(start)
        check(lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3)), floats(4, 5), i)
        check(lambda x, y, i: lax.dynamic_update_slice(x, y, (i, i)), floats(4, 5), floats(2, 3), i)


@pytest.mark.parametrize("mode", ["clip", "fill", "wrap"])
def test_take(check, mode):
    ids = ints(3, 2, low=-9, high=12)
    for axis in (0, 1):
        check(lambda x, i, axis=axis: jnp.take(x, i, axis=axis, mode=mode), floats(6, 7), ids)


def test_gather_with_batching_dimensions(check):
    check(lambda x, i: jnp.take_along_axis(x, i, 1), floats(3, 5, 2), ints(3, 4, 2, low=0, high=5))
    check(jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (3,))), floats(4, 6), integers([-2, 0, 3, 9]))
    check(jax.vmap(lambda x, i: x[i, :, i]), floats(4, 6, 2, 6), ints(4, 3, low=0, high=6))


@pytest.mark.parametrize("method", ["set", "add", "max", "min", "multiply"])
def test_scatter(check, method):
    index = integers([0, 3, 3, 9, -1, 1])
    check(lambda x, i, y: getattr(x.at[i], method)(y), floats(5, 3), index, floats(6, 3))
    check(lambda x, i, y: getattr(x.at[:, i], method)(y), floats(4, 5), index, floats(4, 6))


def test_scatter_drops_windows_that_stick_out(check):
    dims = lax.ScatterDimensionNumbers((1,), (), (0,))
    for start in (-1, 0, 2, 3):
        check(
            lambda x, i, y: lax.scatter_add(x, i, y, dims, mode="drop"),
            floats(4),
            integers([[start]]),
            floats(1, 2),
        )


def test_scatter_by_any_function(check):
    check(lambda x, i: x.at[i].apply(lambda v: v * 2 + 1), floats(5), integers([0, 2, 4]))


def test_scatter_with_batching_dimensions(check):
    check(jax.vmap(lambda x, i, y: x.at[i].add(y)), floats(3, 5), ints(3, 4, low=0, high=5), floats(3, 4))


def test_scatter_add_of_bf16(check):
    check(
        lambda x, i, y: x.at[i].add(y),
        np.zeros(2, jnp.bfloat16),
        integers([0, 0, 1]),
        np.ones(3, jnp.bfloat16),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, jnp.bfloat16])
def test_sort(check, dtype):
    x = ints(4, 33, low=0, high=9).astype(dtype)
    check(
        lambda x: [jnp.sort(x, 1), jnp.sort(x, 0), jnp.argsort(x, 1), jnp.argsort(x, 1, descending=True)], x
    )


def test_sort_orders_nan_and_zeros(check):
    rows = single([[NAN, 1, -INF, -0.0, 0.0, NAN, INF, -1], [0.0, -0.0, 1, -NAN, 0.0, -0.0, 2, -3]])
    check(lambda x: [jnp.sort(x, 1), jnp.argsort(x, 1), jnp.argsort(x, 1, descending=True)], rows)


def test_sort_by_two_keys(check):
    check(lambda x, y, z: lax.sort((x, y, z), num_keys=2), ints(3, 50), ints(3, 50), floats(3, 50))


def test_sort_of_few(check):
    check(lambda x: jnp.sort(x, 0), floats(1, 3))
    check(lambda x: jnp.sort(x, 0), floats(0, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_top_k(check, dtype):
    check(lambda x: lax.top_k(x, 3), ints(4, 9, low=0, high=5).astype(dtype))


def test_top_k_with_nan(check):
    check(lambda x: lax.top_k(x, 3), single([[1, NAN, INF, 2], [-INF, -1, -INF, -INF]]))


def test_control_flow(check):
    check(lambda x, n: lax.fori_loop(0, n, lambda i, x: x * 2 + i, x), floats(3), np.int32(5))
    check(lambda x: lax.while_loop(lambda x: jnp.sum(x) < 100, lambda x: x * 2, x), single([1, 2]))
    check(lambda xs: lax.scan(lambda c, x: (c + x, c * x), np.zeros(3, np.float32), xs), floats(4, 3))
    for branch in (-1, 0, 1, 2, 5):
        check(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x + 1], x), np.int32(branch), floats(3))
    check(lambda p, x: lax.cond(p, jnp.sin, lambda x: x * 3, x), np.bool_(True), floats(3))


def test_fft(check):
    check(lambda x: [jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x)), jnp.fft.fft2(x)], floats(4, 6))


def test_programs(check):
    check(lambda x: jax.nn.softmax(x, axis=-1), floats(4, 8))
    check(lambda x: jax.nn.gelu(x), floats(4, 8))
    check(lambda x, w: jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w), floats(4, 8), floats(8, 3))
    check(lambda k: jax.random.normal(jax.random.wrap_key_data(k), (5,)), words([0, 42]))
