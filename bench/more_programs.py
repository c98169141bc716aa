"""More programs in the form of ruler/programs.py, of the kinds people write.

Training with sharded optimizers, mixtures of experts, context parallelism, loops, indexed updates, heads
that do not divide, sixteen devices, branches.

`theory` is empty: what is compared here is correctness and the work per device.

    PYTHONPATH=. python bench/ruler/score.py --programs bench/more_programs.py
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

from bench.ruler.programs import (
    Arg,
    Program,
    attention,
    avals,
    gpt_args,
    gpt_train,
    identity_constraint,
    inputs,
    jitted,
    layernorm,
    make_mesh,
    sgd,
)

__all__ = ["PROGRAMS", "avals", "identity_constraint", "inputs", "jitted", "make_mesh"]
"""What score.py asks of a suite."""

PROGRAMS: dict[str, Program] = {}
DM = {"data": 2, "model": 4}
DM16 = {"data": 4, "model": 4}


def add(name, group, mesh, args, fn, why, out_specs=None):
    PROGRAMS[name] = Program(name, group, mesh, args, fn, [], why, out_specs)


def mlp_loss(p, x, y):
    h = jax.nn.relu(x @ p["w1"] + p["b1"])
    return jnp.mean(jnp.square(h @ p["w2"] + p["b2"] - y))


def mlp_args(w1=None, b1=None, w2=None, b2=None, d=64, f=128):
    return {
        "w1": Arg((d, f), w1),
        "b1": Arg((f,), b1, const=0.1),
        "w2": Arg((f, d), w2),
        "b2": Arg((d,), b2, const=0.1),
    }


def rows(*shape: int, axis: str | tuple[str, ...] = "data") -> Arg:
    return Arg(shape, (axis, *[None] * (len(shape) - 1)), scale=1.0)


# Training


def adam(C, p, m, v, x, y):
    """ZeRO-1: whole parameters, moments split over data."""
    loss, g = jax.value_and_grad(mlp_loss)(p, x, y)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
    p = jax.tree.map(lambda p, m, v: p - 0.01 * m / (jnp.sqrt(v) + 1e-6), p, m, v)
    return loss, p, m, v


_whole = lambda: mlp_args((), (), (), ())  # noqa: E731
_split = lambda: mlp_args(("data", None), ("data",), ("data", None), ("data",))  # noqa: E731


def _positive():
    return {k: Arg(a.shape, a.spec, const=0.5) for k, a in _split().items()}


add(
    "zero1_adam",
    "training",
    {"data": 8},
    (_whole(), _split(), _positive(), rows(64, 64), rows(64, 64)),
    adam,
    "gradients reduce-scattered, moments local, parameters gathered",
    out_specs=None,
)


def clipped(C, p, x, y):
    g = jax.grad(mlp_loss)(p, x, y)
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(t)) for t in jax.tree.leaves(g)))
    return sgd(p, jax.tree.map(lambda t: t * jnp.minimum(1.0, 1.0 / norm), g)), norm


add(
    "clip_global_norm",
    "training",
    DM,
    (mlp_args((None, "model"), ("model",), ("model", None), ()), rows(64, 64), rows(64, 64)),
    clipped,
    "the norm over parameters that are split differently",
)

add(
    "gpt2_train_16dev",
    "training",
    DM16,
    gpt_args(L=2, B=8, S=16, D=64, H=4, hd=16, F=128, V=256),
    gpt_train,
    "a transformer's step on sixteen devices",
)


def remat(C, p, x, y):
    def loss(p):
        h = x
        for _ in range(3):
            h = jax.checkpoint(lambda h: h + jax.nn.relu(h @ p["w1"] + p["b1"]) @ p["w2"])(h)
        return jnp.mean(jnp.square(h - y))

    loss_value, g = jax.value_and_grad(loss)(p)
    return loss_value, sgd(p, g)


add(
    "remat_tp_train",
    "training",
    DM,
    (mlp_args((None, "model"), None, ("model", None)), rows(64, 64), rows(64, 64)),
    remat,
    "layers computed again in the backward pass",
)


def momentum(C, p, x, y, steps=4):
    def step(c, _):
        p, m = c
        loss, g = jax.value_and_grad(mlp_loss)(p, x, y)
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)
        return (jax.tree.map(lambda p, m: p - 0.1 * m, p, m), m), loss

    (p, _), losses = lax.scan(step, (p, jax.tree.map(jnp.zeros_like, p)), None, length=steps)
    return losses, p


add(
    "train_steps_in_scan",
    "training",
    DM,
    (mlp_args((None, "model"), ("model",), ("model", None), ()), rows(64, 64), rows(64, 64)),
    momentum,
    "whole steps in a loop, with an optimizer's state",
)

# Mixtures of experts

_G, _S, _M, _E, _C, _F = 4, 32, 32, 8, 8, 64


def moe(p, x):
    gates = jax.nn.softmax(jnp.einsum("gsm,me->gse", x, p["wg"]), axis=-1)
    e = jax.nn.one_hot(jnp.argmax(gates, -1), _E, dtype=x.dtype)
    pos = (jnp.cumsum(e, axis=1) - 1.0) * e
    keep = e * (pos < _C)
    disp = (
        keep[..., None] * jax.nn.one_hot(jnp.sum(pos, -1).astype(jnp.int32), _C, dtype=x.dtype)[:, :, None, :]
    )
    comb = disp * jnp.sum(gates * e, -1)[..., None, None]
    xe = jnp.einsum("gsec,gsm->egcm", disp, x)
    h = jax.nn.relu(jnp.einsum("egcm,emf->egcf", xe, p["w1"]))
    ye = jnp.einsum("egcf,efm->egcm", h, p["w2"])
    return jnp.einsum("gsec,egcm->gsm", comb, ye)


def moe_train(C, p, x):
    loss, g = jax.value_and_grad(lambda p: jnp.mean(jnp.square(moe(p, x) - x)))(p)
    return loss, sgd(p, g)


def _moe_args(groups, *experts):
    return (
        {"wg": Arg((_M, _E)), "w1": Arg((_E, _M, _F), experts), "w2": Arg((_E, _F, _M), experts)},
        Arg((_G * 2, _S, _M), groups, scale=1.0),
    )


add(
    "moe_train_ep",
    "moe",
    {"e": 8},
    _moe_args(("e", None, None), "e", None, None),
    moe_train,
    "dispatch and combine, and their gradients",
)
add(
    "moe_train_ep_dp",
    "moe",
    DM,
    _moe_args(("data", None, None), "model", None, None),
    moe_train,
    "experts over model, groups over data",
)


def moe_top2(C, p, x):
    gates = jax.nn.softmax(x @ p["wg"])
    best, chosen = lax.top_k(gates, 2)
    weight = jnp.einsum("tke,tk->te", jax.nn.one_hot(chosen, _E), best)
    h = jax.nn.relu(jnp.einsum("td,edf->tef", x, p["w1"]))
    return jnp.einsum("tef,efd,te->td", h, p["w2"], weight)


add(
    "moe_top2_dense",
    "moe",
    DM,
    (_moe_args((), "model", None, None)[0], rows(64, _M)),
    moe_top2,
    "every expert on every token, weighted by the two best gates",
)

# Attention


def context_parallel(C, q, k, v):
    s = jnp.einsum("bshk,bthk->bhst", q, k) / math.sqrt(q.shape[-1])
    n = s.shape[-1]
    s = jnp.where(jnp.arange(n)[:, None] >= jnp.arange(n), s, -1e9)
    return jnp.einsum("bhst,bthk->bshk", jax.nn.softmax(s, -1), v)


_qkv = tuple(Arg((2, 128, 8, 16), (None, "d", None, None), scale=1.0) for _ in range(3))
add("attn_context_causal", "attention", {"d": 8}, _qkv, context_parallel, "sequence split, causal")
add(
    "attn_context_train",
    "attention",
    {"d": 8},
    _qkv,
    lambda C, q, k, v: jax.value_and_grad(
        lambda q, k, v: jnp.mean(jnp.square(context_parallel(C, q, k, v))), (0, 1, 2)
    )(q, k, v),
    "sequence split, with gradients",
)


def attention_layer(C, x, p):
    return x + attention(layernorm(x, p["g"], p["c"]), p["wq"], p["wk"], p["wv"], p["wo"])


def _uneven_heads(heads, spec):
    w = lambda: Arg((64, heads, 16), (None, spec, None))  # noqa: E731
    return {
        "g": Arg((64,), const=1.0),
        "c": Arg((64,), const=0.0),
        "wq": w(),
        "wk": w(),
        "wv": w(),
        "wo": Arg((heads, 16, 64), (spec, None, None), scale=0.1),
    }


def constrained_heads(C, x, p):
    h = lambda t: C(t, "data", None, "model", None)  # noqa: E731
    return x + attention(layernorm(x, p["g"], p["c"]), p["wq"], p["wk"], p["wv"], p["wo"], h)


add(
    "attn_6_heads_on_4",
    "uneven",
    DM,
    (rows(4, 32, 64), _uneven_heads(6, None)),
    constrained_heads,
    "six heads on four devices, by a constraint",
)
add(
    "attn_30_heads_on_4",
    "uneven",
    DM,
    (rows(4, 16, 64), _uneven_heads(30, None)),
    constrained_heads,
    "thirty heads on four devices, by a constraint",
)


def fused_qkv(C, x, w, o, heads=6):
    b, s, _ = x.shape
    q, k, v = jnp.split((x @ w).reshape(b, s, 3 * heads, 16), 3, axis=2)
    a = jax.nn.softmax(jnp.einsum("bshk,bthk->bhst", q, k) / 4.0, -1)
    return jnp.einsum("bhst,bthk->bshk", a, v).reshape(b, s, heads * 16) @ o


add(
    "fused_qkv_6_heads",
    "uneven",
    DM,
    (rows(4, 32, 64), Arg((64, 288), (None, "model")), Arg((96, 64), ("model", None))),
    fused_qkv,
    "one product for q, k and v, whose heads do not divide",
)

# Indexed updates


def decode_loop(C, x, ck, cv, w, n=4):
    def step(i, c):
        x, ck, cv = c
        ck = lax.dynamic_update_slice_in_dim(ck, jnp.einsum("bd,dkh->bkh", x, w["k"])[:, None], 8 + i, 1)
        cv = lax.dynamic_update_slice_in_dim(cv, jnp.einsum("bd,dkh->bkh", x, w["v"])[:, None], 8 + i, 1)
        s = jnp.einsum("bkh,btkh->bkt", jnp.einsum("bd,dkh->bkh", x, w["q"]), ck)
        s = jnp.where(jnp.arange(ck.shape[1]) <= 8 + i, s, -1e9)
        o = jnp.einsum("bkt,btkh->bkh", jax.nn.softmax(s), cv)
        return jnp.einsum("bkh,khd->bd", o, w["o"]), ck, cv

    return lax.fori_loop(0, n, step, (x, ck, cv))


def _cache(spec):
    w = {k: Arg((32, 4, 8), (None, "model", None)) for k in "qkv"}
    w["o"] = Arg((4, 8, 32), ("model", None, None))
    return (rows(4, 32), Arg((4, 32, 4, 8), spec, scale=1.0), Arg((4, 32, 4, 8), spec, scale=1.0), w)


add(
    "decode_loop_heads",
    "indexing",
    DM,
    _cache(("data", None, "model", None)),
    decode_loop,
    "a cache written in a loop, heads split",
)
add(
    "decode_loop_sequence",
    "indexing",
    DM,
    _cache(("data", "model", None, None)),
    decode_loop,
    "a cache written in a loop along its split dimension",
)


def embedding_train(C, t, ids, y):
    def loss(t):
        return jnp.mean(jnp.square(t[ids] - y))

    value, g = jax.value_and_grad(loss)(t)
    return value, t - 0.1 * g


add(
    "embedding_gradient",
    "indexing",
    DM,
    (
        Arg((512, 32), ("model", None), scale=1.0),
        Arg((16, 8), ("data", None), "int32", hi=512),
        rows(16, 8, 32),
    ),
    embedding_train,
    "scatter-add into a vocabulary that is split",
)

add(
    "segment_mean",
    "indexing",
    DM,
    (rows(256, 32), Arg((256,), ("data",), "int32", hi=16)),
    lambda C, x, i: jax.ops.segment_sum(x, i, 16) / (jnp.bincount(i, length=16)[:, None] + 1.0),
    "sums by key",
)

# Loops and branches


def power_iteration(C, a, v):
    def go(c):
        _, old, new, i = c
        return (jnp.abs(new - old) > 1e-3) & (i < 50)

    def step(c):
        v, _, new, i = c
        w = a @ v
        n = jnp.linalg.norm(w)
        return w / n, new, n, i + 1

    return lax.while_loop(go, step, (v, jnp.float32(0), jnp.float32(1), 0))


add(
    "power_iteration",
    "loops",
    {"d": 8},
    (Arg((128, 128), ("d", None), scale=0.2), Arg((128,), (), scale=1.0)),
    power_iteration,
    "a loop whose condition is computed from split data",
)


def loss_scaling(C, p, x, y):
    g = jax.grad(mlp_loss)(p, x, y)
    fine = jnp.all(jnp.array([jnp.all(jnp.isfinite(t)) for t in jax.tree.leaves(g)]))
    return lax.cond(fine, lambda: sgd(p, g), lambda: p)


add(
    "skip_bad_steps",
    "loops",
    DM,
    (mlp_args((None, "model"), ("model",), ("model", None), ()), rows(64, 64), rows(64, 64)),
    loss_scaling,
    "a branch on all gradients being finite",
)


def switch_layers(C, i, x, ws):
    return lax.switch(
        i, [lambda x: jax.nn.relu(x @ ws[0]), lambda x: jnp.tanh(x @ ws[1]), lambda x: x @ ws[2]], x
    )


add(
    "switch_layers",
    "loops",
    DM,
    (Arg((), (), "int32", const=1), rows(64, 64), Arg((3, 64, 64), (None, None, "model"))),
    switch_layers,
    "one of three layers",
)


def layers_train(C, ws, x):
    def loss(ws):
        h, _ = lax.scan(lambda h, w: (h + jax.nn.relu(h @ w["a"]) @ w["b"], None), x, ws)
        return jnp.mean(jnp.square(h))

    value, g = jax.value_and_grad(loss)(ws)
    return value, sgd(ws, g)


def _stack(a, b):
    return {"a": Arg((4, 64, 128), a, scale=0.1), "b": Arg((4, 128, 64), b, scale=0.1)}


add(
    "scan_layers_train_tp",
    "loops",
    DM,
    (_stack((None, None, "model"), (None, "model", None)), rows(64, 64)),
    layers_train,
    "layers in a scan and their gradients",
)
add(
    "scan_layers_train_fsdp",
    "loops",
    {"data": 8},
    (_stack((None, "data", None), (None, "data", None)), rows(64, 64)),
    layers_train,
    "layers in a scan, weights split over data",
)


def rnn_train(C, p, x):
    def loss(p):
        h, _ = lax.scan(lambda h, t: (jnp.tanh(t @ p["w"] + h @ p["u"]), None), jnp.zeros((16, 64)), x)
        return jnp.mean(jnp.square(h))

    value, g = jax.value_and_grad(loss)(p)
    return value, sgd(p, g)


add(
    "rnn_train_tp",
    "loops",
    DM,
    (
        {"w": Arg((32, 64), (None, "model")), "u": Arg((64, 64), (None, "model"))},
        Arg((6, 16, 32), (None, "data", None), scale=1.0),
    ),
    rnn_train,
    "a recurrent network, gradients through time",
)


if __name__ == "__main__":
    for p in PROGRAMS.values():
        print(f"{p.name:26s} {'x'.join(f'{k}{v}' for k, v in p.mesh.items()):14s} {p.why}")
