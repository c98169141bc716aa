"""Products, factorisations, solves, Fourier transforms, convolutions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from corpus.case import case

IMAGES = ("NHWC", "HWIO", "NHWC")


def _spd(x):
    return x @ jnp.swapaxes(x, -1, -2) + 4 * jnp.eye(x.shape[-1])


def _conv(x, k, **options):
    return lax.conv_general_dilated(
        x, k, options.pop("strides", (1, 1)), "SAME", dimension_numbers=IMAGES, **options
    )


CASES = {
    "matmul": case(lambda x, w: x @ w, "f32[8@x, 16@y]", "f32[16@y, 4]"),
    "matmul_chain": case(lambda x, a, b: jnp.tanh(x @ a) @ b, "f32[8@x, 16]", "f32[16, 8@y]", "f32[8@y, 16]"),
    "matmul_uneven": case(lambda x, w: x @ w, "f32[6@x, 10]", "f32[10, 12@y]"),
    "matmul_conflict": case(lambda x, w: x @ w, "f32[8@x, 16@y]", "f32[16@x, 8@y]"),
    "matvec": case(lambda x, v: [x @ v, v @ x.T, jnp.outer(v, v), v @ v], "f32[8@x, 16@y]", "f32[16@y]"),
    "batched": case(lambda a, b: jnp.einsum("bij,bjk->bik", a, b), "f32[4@x, 8, 16@y]", "f32[4@x, 16@y, 8]"),
    "einsum": case(lambda a, b: jnp.einsum("bsd,dhk->bhsk", a, b), "f32[4@x, 8, 16]", "f32[16, 4@y, 8]"),
    "tensordot": case(
        lambda a, b: jnp.tensordot(a, b, ((1, 2), (0, 1))), "f32[4@x, 8@y, 4]", "f32[8@y, 4, 6]"
    ),
    "kron": case(jnp.kron, "f32[4@x, 2]", "f32[2, 4@y]"),
    "mixed_precision": case(
        lambda x, w: lax.dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32),
        "bf16[8@x, 16@y]",
        "bf16[16@y, 8]",
    ),
    "ragged_dot": case(lambda x, w, g: lax.ragged_dot(x, w, g), "f32[8, 4@x]", "f32[2, 4@x, 4]", "i32<4[2]"),
    "cholesky": case(lambda x: jnp.linalg.cholesky(_spd(x)), "f32[4@x, 4, 4]"),
    "triangular_solve": case(
        lambda x, b: jax.scipy.linalg.solve_triangular(jnp.tril(x) + 4 * jnp.eye(8), b, lower=True),
        "f32[8@x, 8]",
        "f32[8, 16@y]",
    ),
    "solve": case(lambda x, b: jnp.linalg.solve(_spd(x), b), "f32[4@x, 4, 4]", "f32[4@x, 4, 2]"),
    "inverse": case(lambda x: [jnp.linalg.inv(_spd(x)), jnp.linalg.det(_spd(x))], "f32[4@x, 4, 4]"),
    "qr": case(lambda x: jnp.linalg.qr(_spd(x)), "f32[4@x, 4, 4]"),
    "eigh": case(lambda x: jnp.linalg.eigh(_spd(x))[0], "f32[4@x, 4, 4]"),
    "svd": case(lambda x: jnp.linalg.svd(x, compute_uv=False), "f32[4@x, 4, 4]"),
    "fft": case(lambda x: [jnp.abs(jnp.fft.fft(x)), jnp.fft.irfft(jnp.fft.rfft(x))], "f32[8@x, 16@y]"),
    "fft2": case(lambda x: jnp.abs(jnp.fft.fft2(x)), "c64[2, 8@x, 8@y]"),
    "conv_batch": case(_conv, "f32[4@x, 8, 8, 4]", "f32[3, 3, 4, 8@y]"),
    "conv_channels": case(_conv, "f32[4@x, 8, 8, 4@y]", "f32[3, 3, 4@y, 8]"),
    "conv_space": case(_conv, "f32[4, 8@y, 8@x, 4]", "f32[3, 3, 4, 8]"),
    "conv_strided": case(
        lambda x, k: _conv(x, k, strides=(2, 2), rhs_dilation=(2, 2)),
        "f32[4@x, 8, 8, 4]",
        "f32[3, 3, 4, 8@y]",
    ),
    "conv_groups": case(
        lambda x, k: _conv(x, k, feature_group_count=4), "f32[4@x, 8, 8, 8@y]", "f32[3, 3, 2, 8@y]"
    ),
    "conv_depthwise": case(
        lambda x, k: _conv(x, k, feature_group_count=8), "f32[4@x, 8, 8, 8@y]", "f32[3, 3, 1, 8@y]"
    ),
    "conv_transpose": case(
        lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), "f32[4@x, 4, 4, 4]", "f32[3, 3, 4, 8@y]"
    ),
    "conv_1x1": case(_conv, "f32[4, 8@x, 8@y, 4]", "f32[1, 1, 4, 8]"),
    "conv_gradient": case(
        jax.grad(lambda k, x: jnp.sum(jnp.tanh(_conv(x, k)))), "f32[3, 3, 4, 8@y]", "f32[4@x, 8, 8, 4]"
    ),
    "convolve": case(lambda x, k: jnp.convolve(x, k, mode="same"), "f32[32@x]", "f32[5]"),
}
