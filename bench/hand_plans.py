"""Programs in the form of ruler/programs.py with the bytes of a plan made by hand as their `theory`.

They are of the kinds of more_programs.py.

    PYTHONPATH=. python bench/ruler/score.py --programs bench/hand_plans.py
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from bench.more_programs import (
    DM,
    context_parallel,
    mlp_args,
    mlp_loss,
    rows,
)
from bench.ruler.programs import (
    A2A,
    AG,
    AR,
    F4,
    GPT4,
    RS,
    Arg,
    Program,
    avals,
    gpt_args,
    gpt_loss,
    gpt_theory,
    identity_constraint,
    inputs,
    jitted,
    make_mesh,
    sgd,
    tree_args,
)

__all__ = ["PROGRAMS", "avals", "identity_constraint", "inputs", "jitted", "make_mesh"]
"""What score.py asks of a suite."""

PROGRAMS: dict[str, Program] = {}


def add(name, group, mesh, args, fn, why, theory):
    PROGRAMS[name] = Program(name, group, mesh, args, fn, theory, why)


# q, k, v go from being split by sequence to being split by heads, the result and the gradients go back

_split_sequence = tuple(Arg((2, 128, 8, 16), (None, "d", None, None), scale=1.0) for _ in range(3))
_block = 2 * 128 // 8 * 8 * 16 * F4
add(
    "context_causal",
    "attention",
    {"d": 8},
    _split_sequence,
    context_parallel,
    "q, k, v and the result exchanged",
    [A2A(4, _block, 8)],
)


def _context_loss(q, k, v):
    return jnp.mean(jnp.square(context_parallel(identity_constraint, q, k, v)))


add(
    "context_train",
    "attention",
    {"d": 8},
    _split_sequence,
    lambda C, q, k, v: jax.value_and_grad(_context_loss, (0, 1, 2))(q, k, v),
    "q, k, v and their gradients exchanged; the loss summed",
    [A2A(6, _block, 8), AR(1, F4, 8)],
)

_G, _S, _M, _E, _C, _F = 8, 32, 32, 8, 8, 64


def _moe_constrained(C, x, p):
    def gather(t, tokens):
        return C(jnp.einsum("gsec,gsm->egcm", t, tokens), "e", "data", None, None)

    gates = jax.nn.softmax(jnp.einsum("gsm,me->gse", x, p["wg"]), axis=-1)
    e = jax.nn.one_hot(jnp.argmax(gates, -1), _E, dtype=x.dtype)
    pos = (jnp.cumsum(e, axis=1) - 1.0) * e
    slots = jax.nn.one_hot(jnp.sum(pos, -1).astype(jnp.int32), _C, dtype=x.dtype)
    disp = (e * (pos < _C))[..., None] * slots[:, :, None, :]
    h = jax.nn.relu(jnp.einsum("egcm,emf->egcf", gather(disp, x), p["w1"]))
    y = C(jnp.einsum("egcf,efm->egcm", h, p["w2"]), "e", "data", None, None)
    return jnp.einsum("gsec,egcm->gsm", disp * jnp.sum(gates * e, -1)[..., None, None], y)


add(
    "moe_constrained_dp_ep",
    "moe",
    {"data": 2, "e": 4},
    (
        Arg((_G, _S, _M), (("data", "e"), None, None), scale=1.0),
        {
            "wg": Arg((_M, _E)),
            "w1": Arg((_E, _M, _F), ("e", None, None)),
            "w2": Arg((_E, _F, _M), ("e", None, None)),
        },
    ),
    _moe_constrained,
    "tokens over both axes, experts over one: an exchange there, one back; the result is split as the tokens",
    [A2A(2, _E * _C * _M * F4, 4)],
)


def _gpt_adam(C, params, m, v, tokens, labels):
    loss, g = jax.value_and_grad(gpt_loss)(params, tokens, labels)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
    return loss, jax.tree.map(lambda p, m, v: p - 0.01 * m / (jnp.sqrt(v) + 1e-2), params, m, v), m, v


def _state(params, const):
    return tree_args(lambda a: Arg(a.shape, a.spec, const=const), params)


_small: dict[str, Any] = {**GPT4, "L": 1}
_params, *_tokens = gpt_args(**_small)
add(
    "gpt_adam_dp_tp",
    "training",
    DM,
    (_params, _state(_params, 0.0), _state(_params, 0.5), *_tokens),
    _gpt_adam,
    "Adam's state is split as the weights are: nothing more is sent than by plain descent",
    gpt_theory(dp=2, tp=4, **_small),
)


def _dropout(C, p, x, key):
    kept = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, (x.shape[0], 128))
    return (jax.nn.relu(x @ p["w1"]) * kept / 0.9) @ p["w2"]


add(
    "dropout",
    "training",
    {"data": 8},
    (mlp_args(), rows(64, 64), Arg((2,), (), "uint32", hi=1000)),
    _dropout,
    "random numbers: each device makes those of its rows",
    [],
)

add(
    "scan_over_split_rows",
    "loops",
    {"d": 8},
    (rows(512, 128, axis="d"), Arg((128, 128))),
    lambda C, x, w: lax.scan(lambda c, t: (c, jax.nn.relu(t @ w)), 0.0, x.reshape(8, 64, 128))[1].reshape(
        512, 128
    ),
    "the loop goes over what is split: exchanged for another dimension, and back",
    [A2A(2, 64 * 128 * F4, 8)],
)

add(
    "fsdp_two_axes",
    "training",
    {"rep": 2, "data": 4},
    (
        mlp_args(("data", None), ("data",), ("data", None), ("data",)),
        rows(512, 64, axis=("rep", "data")),
        rows(512, 64, axis=("rep", "data")),
    ),
    lambda C, p, x, y: (lambda value, g: (value, sgd(p, g)))(*jax.value_and_grad(mlp_loss)(p, x, y)),
    "weights split over one axis, data over two: gathered, scattered, and the parts reduced",
    [AG(1, 16576 * F4, 4), RS(1, 16576 * F4, 4), AR(1, 16576 * F4 // 4, 2), AR(1, F4, 8)],
)


if __name__ == "__main__":
    for p in PROGRAMS.values():
        print(f"{p.name:26s} {'x'.join(f'{k}{v}' for k, v in p.mesh.items()):14s} {p.why}")
