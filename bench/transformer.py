"""Count the collectives of transformer training steps, and time their compilation.

A pre-norm transformer's step, lowered by JAX and compiled to per-device code, on a mesh of data=2 x model=4:

* `block`: 8 tensors a layer, 6 of them big (q, k, v unfused), squared loss of a given target, SGD;
* `lm`: 9 tensors a layer, 4 of them big (q, k, v in one), an embedding used at both ends, Adam.

Schedules: `bp` splits the batch over data; `mp` also splits heads and hidden units over model; `z2` also the
optimizer's state of big tensors over data; `z3` also the big tensors themselves. What must come out follows
from the shape of the program alone:

* each gradient is summed over data once, and so is the loss: all-reduces, or reduce-scatters where a big
  tensor or its state is split over data;
* each layer sums over model four times, twice in either direction;
* split parameters are gathered once (z2: after the update; z3: before the first use); with --regather z3
  gathers them for the forward and for the backward pass, and the embedding for the lookup as well.

The first layer of `block` needs three sums over model: nobody asks for its input's gradient, so the gradient
of its first norm takes the fourth with its sum over data.

  python -m bench.transformer [--json FILE]         both models, 2 layers, every schedule
  python -m bench.transformer --model lm --layers 32 [--schedule z3] [--regather]
  python -m bench.transformer --model lm --schedule z3 --write FILE.mlir       only the StableHLO text
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from msgspec import Struct

from shardc.graph import Graph, Region
from shardc.ops import func, spmd

SCHEDULES = {"block": ("bp", "mp", "z3"), "lm": ("bp", "mp", "z2", "z3")}
Params = dict[str, Any]
Specs = dict[str, tuple[str | None, ...]]
Counts = tuple[int, int, int]  # all-gathers, all-reduces, reduce-scatters


class Size(Struct, frozen=True):
    """`width` and `hidden` are a layer's, `heads` divide `width`; the rest is the data's. `mesh` is how many
    devices data and model have."""

    layers: int = 2
    width: int = 128
    heads: int = 8
    hidden: int = 512
    batch: int = 32
    length: int = 16
    vocabulary: int = 512
    mesh: tuple[int, int] = (2, 4)


class How(Struct, frozen=True):
    """What a layer does to what attention adds, and between its two products."""

    added: Callable[[jax.Array], jax.Array] = lambda x: x
    activation: Callable[[jax.Array], jax.Array] = jax.nn.gelu


class Edit(Struct, frozen=True):
    """Layers by their number that are not as the others, and by what the learning rate is multiplied."""

    layers: Mapping[int, How] = {}
    rate: float = 1.0


AS_IS, AS_WRITTEN = How(), Edit()


class Model(Struct, frozen=True):
    """What differs between `block` and `lm`: per layer, the tensors' shapes and how they split over model."""

    shapes: Callable[[Size], dict[str, tuple[int, ...]]]
    over_model: Mapping[str, tuple[str | None, ...]]
    big: frozenset[str]
    step: Callable[..., Any]
    embedding: bool


def norm(x: jax.Array, scale: jax.Array, bias: jax.Array | float = 0.0) -> jax.Array:
    """Layer norm over the last dimension."""
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred * lax.rsqrt(jnp.mean(jnp.square(centred), -1, keepdims=True) + 1e-5) * scale + bias


def attention(q: jax.Array, k: jax.Array, v: jax.Array, heads: int) -> jax.Array:
    """Causal attention of [batch, length, heads * dim] tensors."""
    q, k, v = (t.reshape(*t.shape[:2], heads, -1) for t in (q, k, v))
    scores = jnp.einsum("bshk,bthk->bhst", q, k) / math.sqrt(q.shape[-1])
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9), axis=-1)
    mixed = jnp.einsum("bhst,bthk->bshk", weights, v)
    return mixed.reshape(*mixed.shape[:2], -1)


def unfused_layer(p: Params, x: jax.Array, heads: int, how: How = AS_IS) -> jax.Array:
    h = norm(x, p["g1"])
    x = x + how.added(attention(h @ p["wq"], h @ p["wk"], h @ p["wv"], heads) @ p["wo"])
    return x + how.activation(norm(x, p["g2"]) @ p["w1"]) @ p["w2"]


def fused_layer(p: Params, x: jax.Array, heads: int, how: How = AS_IS) -> jax.Array:
    qkv = jnp.einsum("bsd,dcf->cbsf", norm(x, p["g1"], p["b1"]), p["wqkv"])
    x = x + how.added(attention(qkv[0], qkv[1], qkv[2], heads) @ p["wo"])
    return x + how.activation(norm(x, p["g2"], p["b2"]) @ p["w1"] + p["c1"]) @ p["w2"]


def block_step(size: Size, edit: Edit = AS_WRITTEN) -> Callable[..., Any]:
    """SGD on the mean square of what the layers make of x, less a target."""

    def loss(params: Params, x: jax.Array, target: jax.Array) -> jax.Array:
        for i in range(size.layers):
            x = unfused_layer(params[f"layer{i:02}"], x, size.heads, edit.layers.get(i, AS_IS))
        return jnp.mean(jnp.square(x - target))

    def step(params: Params, x: jax.Array, target: jax.Array) -> Params:
        return jax.tree.map(lambda p, g: p - 0.1 * edit.rate * g, params, jax.grad(loss)(params, x, target))

    return step


def lm_step(size: Size, edit: Edit = AS_WRITTEN) -> Callable[..., Any]:
    """Adam on the cross entropy of the next token."""

    def loss(params: Params, tokens: jax.Array, labels: jax.Array) -> jax.Array:
        x = params["embedding"][tokens]
        for i in range(size.layers):
            x = fused_layer(params[f"layer{i:02}"], x, size.heads, edit.layers.get(i, AS_IS))
        logs = jax.nn.log_softmax(x @ params["embedding"].T)
        return -jnp.mean(jnp.take_along_axis(logs, labels[..., None], -1))

    def step(params: Params, mean: Params, square: Params, tokens: jax.Array, labels: jax.Array) -> Any:
        value, grads = jax.value_and_grad(loss)(params, tokens, labels)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
        square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, grads)
        change = jax.tree.map(lambda m, s: 0.01 * edit.rate * m / (jnp.sqrt(s) + 1e-8), mean, square)
        return value, jax.tree.map(jnp.subtract, params, change), mean, square

    return step


def block_shapes(size: Size) -> dict[str, tuple[int, ...]]:
    d, f = size.width, size.hidden
    square = dict.fromkeys(("wq", "wk", "wv", "wo"), (d, d))
    return {"g1": (d,), **square, "g2": (d,), "w1": (d, f), "w2": (f, d)}


def lm_shapes(size: Size) -> dict[str, tuple[int, ...]]:
    d, f = size.width, size.hidden
    norms = dict.fromkeys(("g1", "b1", "g2", "b2"), (d,))
    return {**norms, "wqkv": (d, 3, d), "wo": (d, d), "w1": (d, f), "c1": (f,), "w2": (f, d)}


MODELS = {
    "block": Model(
        block_shapes,
        {
            **dict.fromkeys(("wq", "wk", "wv", "w1"), (None, "model")),
            **dict.fromkeys(("wo", "w2"), ("model", None)),
        },
        frozenset({"wq", "wk", "wv", "wo", "w1", "w2"}),
        block_step,
        embedding=False,
    ),
    "lm": Model(
        lm_shapes,
        {"wqkv": (None, None, "model"), "w1": (None, "model"), "c1": ("model",)}
        | dict.fromkeys(("wo", "w2"), ("model", None)),
        frozenset({"wqkv", "wo", "w1", "w2", "embedding"}),
        lm_step,
        embedding=True,
    ),
}


def over_data(spec: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """The spec with the first free dimension split over data."""
    free = spec.index(None)
    return tuple("data" if i == free else axis for i, axis in enumerate(spec))


def text(name: str, schedule: str, size: Size, edit: Edit = AS_WRITTEN) -> str:
    """The training step's StableHLO, as jax.jit lowers it, with or without an edit in Python."""
    model, mesh = MODELS[name], AbstractMesh(size.mesh, ("data", "model"))
    layer = model.shapes(size)
    shapes: Params = {f"layer{i:02}": layer for i in range(size.layers)}
    if model.embedding:
        shapes["embedding"] = (size.vocabulary, size.width)

    def specs(split: bool) -> Params:
        def of(tensor: str, rank: int) -> NamedSharding:
            spec = (None,) * rank
            spec = model.over_model.get(tensor, spec) if schedule != "bp" else spec
            return NamedSharding(
                mesh, PartitionSpec(*over_data(spec) if split and tensor in model.big else spec)
            )

        def tree(level: Params) -> Params:
            return {k: tree(v) if isinstance(v, dict) else of(k, len(v)) for k, v in level.items()}

        return tree(shapes)

    def avals(level: Params) -> Params:
        return {
            k: avals(v) if isinstance(v, dict) else jax.ShapeDtypeStruct(v, jnp.float32)
            for k, v in level.items()
        }

    params, state = specs(schedule == "z3"), specs(schedule in ("z2", "z3"))
    rows = NamedSharding(mesh, PartitionSpec("data"))
    data = (size.batch, size.length)
    if model.embedding:
        tokens = jax.ShapeDtypeStruct(data, jnp.int32)
        arguments = (avals(shapes), avals(shapes), avals(shapes), tokens, tokens)
        given, made = (params, state, state, rows, rows), (None, params, state, state)
    else:
        x = jax.ShapeDtypeStruct((*data, size.width), jnp.float32)
        arguments = (avals(shapes), x, x)
        given, made = (params, rows, rows), params
    traced = jax.jit(model.step(size, edit), in_shardings=given, out_shardings=made).trace(*arguments)
    return traced.lower(lowering_platforms=("cpu",)).as_text(debug_info=True)


def expected(name: str, schedule: str, layers: int, regather: bool = False) -> Counts:
    """The collectives that the program's shape asks for."""
    model, size = MODELS[name], Size(layers)
    per_layer = model.shapes(size)
    big = layers * len(model.big & per_layer.keys()) + model.embedding
    reduces = layers * len(per_layer) + (2 if model.embedding else 0)  # the embedding, the loss
    if schedule != "bp":
        reduces += 4 * layers - (not model.embedding)
    if schedule in ("z2", "z3"):
        again = big + model.embedding if regather and schedule == "z3" else 0
        return big + again, reduces - big, big
    return 0, reduces, 0


def counted(graph: Graph) -> Counts:
    """How often the per-device program sends: all-gathers, all-reduces, reduce-scatters."""

    def of(region: Region) -> Counter[str]:
        found: Counter[str] = Counter()
        for node in region.nodes:
            found[node.name] += 1
            for inner in node.regions:
                found += of(inner)
            if node.name == func.call.name:
                found += of(graph.functions[str(node.attrs["callee"])].body)
        return found

    found = of(graph.main.body)
    return found[spmd.all_gather.name], found[spmd.all_reduce.name], found[spmd.reduce_scatter.name]


def measure(
    name: str, schedule: str, size: Size, regather: bool = False, machine: str = "bytes"
) -> tuple[Counts, int, float]:
    """The collectives of the compiled step, its operations as lowered, and the CPU seconds to compile it.

    They are those of the plan of fewest bytes, unless a machine is named.
    """
    from shardc.backend.jax import emit
    from shardc.compilation import lower
    from shardc.frontend.mlir import read
    from shardc.options import Options

    source = text(name, schedule, size)
    started = time.process_time()
    module = read(source, f"{name}.mlir")
    operations = sum(1 for _ in module.walk())
    graph = lower(module, Options(machine=machine, regather=regather))
    emit(graph)
    return counted(graph), operations, time.process_time() - started


def main() -> int:
    options = _options()
    size = Size(
        options.layers,
        options.width,
        options.heads,
        options.hidden,
        options.batch,
        options.length,
        options.vocabulary,
    )
    models = [options.model] if options.model else list(MODELS)
    if options.write:
        Path(options.write).write_text(text(models[0], options.schedule or "bp", size))
        return 0
    schedules = {m: [options.schedule] if options.schedule else SCHEDULES[m] for m in models}
    runs = [(m, s, options.regather) for m in models for s in schedules[m]]
    if not options.schedule and not options.regather:
        runs += [(m, "z3", True) for m in models]
    print("model  schedule       all-gather/all-reduce/reduce-scatter  expected      operations  seconds")
    rows: list[dict[str, object]] = []
    for name, schedule, regather in runs:
        want = expected(name, schedule, size.layers, regather)
        got, operations, seconds = measure(name, schedule, size, regather)
        title = schedule + (" --regather" if regather else "")
        shown, asked = ("/".join(map(str, counts)) for counts in (got, want))
        print(f"{name:5}  {title:13}  {shown:36}  {asked:12}  {operations:10}  {seconds:7.1f}", flush=True)
        rows.append(
            {
                "program": f"{name} of {size.layers} layers, {title}",
                "counts": shown,
                "expected": asked,
                "operations": operations,
                "seconds": seconds,
            }
        )
    if options.json:
        Path(options.json).write_text(json.dumps(rows))
    return 1 if any(row["counts"] != row["expected"] for row in rows) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", choices=list(MODELS))
    parser.add_argument("--schedule", choices=SCHEDULES["lm"])
    for name, default in (
        ("layers", 2),
        ("width", 128),
        ("heads", 8),
        ("hidden", 512),
        ("batch", 32),
        ("length", 16),
        ("vocabulary", 512),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--regather", action="store_true")
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--json", metavar="FILE", help="the figures, as data too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
