"""The same programs on as many devices whose mesh has two to five axes: what planning takes, and the plans.

    python -m bench.many_axes [--machine NAME]… [--write]

32 devices; a batch is split over the first axes, which make 8, and heads and features over the others. Where
axes are apart, weights are split over the last of the first axes and the first of the others, and positions
over the last of all where there are four or more: no two axes always stand together. CPU seconds are of
reading, propagation and planning, in a process of its own, without what other processes remember.
Microseconds are of the plan, modelled, one operation after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.page import publish

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "bench" / "results" / "many_axes.md"
MESHES = {2: ((8,), (4,)), 3: ((2, 4), (4,)), 4: ((2, 4), (2, 2)), 5: ((2, 2, 2), (2, 2))}
"""For a number of axes the sizes of those of data, and of those of the model."""


def traced(name: str, axes: int) -> str:
    """A program as JAX prints it."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

    sizes = MESHES[axes]
    data, model = (tuple(f"{kind}{n}" for n in range(len(of))) for kind, of in zip("dm", sizes, strict=True))
    mesh = AbstractMesh((*sizes[0], *sizes[1]), (*data, *model), axis_types=(AxisType.Auto,) * axes)

    def split(*spec: Any) -> NamedSharding:
        return NamedSharding(mesh, PartitionSpec(*spec))

    def of(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    def attention(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
        def heads(w: Any) -> Any:
            return (x @ w).reshape(*x.shape[:2], 16, -1).transpose(0, 2, 1, 3)

        scores = heads(wq) @ heads(wk).transpose(0, 1, 3, 2) / 8.0
        scores = jnp.where(jnp.tril(jnp.ones((x.shape[1],) * 2, bool)), scores, -1e9)
        mixed = jax.nn.softmax(scores, -1) @ heads(wv)
        return x + mixed.transpose(0, 2, 1, 3).reshape(x.shape) @ wo

    def mlp(w: Any, x: Any) -> Any:
        return jax.nn.relu(x @ w["a"] + w["c"]) @ w["b"]

    def experts(w: Any, x: Any) -> Any:
        gates = jax.nn.softmax(x @ w["g"], -1)
        hidden = jax.nn.relu(jnp.einsum("bd,edf->ebf", x, w["a"]))
        return jnp.einsum("be,ebd->bd", gates, jnp.einsum("ebf,efd->ebd", hidden, w["b"]))

    def layers(w: Any, x: Any) -> Any:
        for each in w:
            x = x + jax.nn.relu(x @ each["a"]) @ each["b"]
        return x

    def step(forward: Any) -> Any:
        def run(w: Any, x: Any, y: Any) -> Any:
            loss, grads = jax.value_and_grad(lambda w: jnp.mean((forward(w, x) - y) ** 2))(w)
            return jax.tree.map(lambda a, b: a - 0.1 * b, w, grads), loss

        return run

    rows, batch = of(4096, 1024), split(data)
    w = {"a": of(1024, 4096), "b": of(4096, 1024), "c": of(4096)}
    tensor = {"a": split(None, model), "b": split(model), "c": split(model)}
    sharded = {"a": split(data, model), "b": split(model, data), "c": split(model)}
    moe = {"g": of(1024, 8), "a": of(8, 1024, 4096), "b": of(8, 4096, 1024)}
    expert = {"g": split(), "a": split(model), "b": split(model)}
    matrix = (split(None, model),) * 3 + (split(model),)
    texts, placed = of(16, 512, 1024), split(data, *model[1:])
    apart = [{"a": split(data[-1], model[0]), "b": split(model[0], data[-1])}] * 2
    two = [{"a": w["a"], "b": w["b"]}] * 2
    function, args, given, made = {
        "attention": (attention, (of(16, 512, 1024), *(of(1024, 1024),) * 4), (batch, *matrix), batch),
        "MLP step": (step(mlp), (w, rows, rows), (tensor, batch, batch), (tensor, split())),
        "MLP step, weights sharded": (
            step(mlp),
            (w, rows, rows),
            (sharded, batch, batch),
            (sharded, split()),
        ),
        "experts": (experts, (moe, rows), (expert, batch), batch),
        "experts, step": (step(experts), (moe, rows, rows), (expert, batch, batch), (expert, split())),
        "two layers, step, axes apart": (
            step(layers),
            (two, texts, texts),
            (apart, placed, placed),
            (apart, split()),
        ),
    }[name]
    jitted: Any = jax.jit(function, in_shardings=given, out_shardings=made)
    return jitted.trace(*args).lower(lowering_platforms=("cpu",)).as_text(debug_info=True)


NAMES = (
    "attention",
    "MLP step",
    "MLP step, weights sharded",
    "experts",
    "experts, step",
    "two layers, step, axes apart",
)


def measured(name: str, axes: int, machine: str) -> dict[str, float]:
    """CPU seconds and nanoseconds, of a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "bench.many_axes", "--machine", machine]
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "SHARDC_CACHE": "off"}
    done = subprocess.run(
        [*command, "--one", name, str(axes)], env=env, cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    return json.loads(done.stdout)


def table(machines: Sequence[str]) -> Iterator[str]:
    """For each machine a table."""
    for machine in machines:
        yield f"## {machine}"
        yield ""
        yield "| program | " + " | ".join(f"{axes} axes: CPU s | us" for axes in MESHES) + " |"
        yield "| --- | " + " | ".join("---: | ---:" for _ in MESHES) + " |"
        for name in NAMES:
            found = [measured(name, axes, machine) for axes in MESHES]
            cells = (f"{each['seconds']:.2f} | {each['ns'] / 1000:.5g}" for each in found)
            yield f"| {name} | {' | '.join(cells)} |"
        yield ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machine", action="append")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    machines = options.machine or ["balanced", "h100-infiniband"]
    if options.one:
        from bench.machines import planned

        found = planned(traced(options.one[0], int(options.one[1])), machines[0], machines[0])
        print(json.dumps({"seconds": found.seconds, "ns": found.total_ns}))
        return
    publish("Meshes of many axes", __doc__, table(machines), PAGE if options.write else None)


if __name__ == "__main__":
    main()
