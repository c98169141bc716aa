"""Compile time over layers and devices: the training step of a stack of MLPs, beside Shardy's passes and XLA.

    python -m bench.compile_curve [--layers 2 8] [--meshes 2x2x2 …] [--machines …] [--most 64] [--rows FILE]

The stack is a scan of 126 layers, and the given numbers of layers written out one by one; weights are split
over fsdp and model, the batch over data and fsdp. CPU seconds are user and system, of all threads. shardc's
are those of the whole command without its cache, from the text to the JAX program, start and imports with it;
Shardy's are those of jaxlib's `sdy-propagation-pipeline` alone, on the module it has parsed, which plans
nothing; XLA's those of `compile()` alone on emulated devices, up to --most of them. Each has a process of
its own. With --rows FILE each row is kept in it as JSON once it is measured, and one that is there is not
measured again, so that a run may be stopped and go on. The page is of all rows that are there.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "bench" / "results" / "compile_curve.md"
SCANNED = 126
Row = dict[str, float | None]
"""CPU seconds of each compiler; None where it was not asked."""
WIDTH, INNER = 16_384, 53_248


def traced(layers: int, sizes: Sequence[int], devices: bool) -> Any:
    """The step as JAX traces it, for a mesh of emulated devices or of none; a scan where `layers` is 0."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec

    names, types = ("data", "fsdp", "model"), (AxisType.Auto,) * 3
    mesh: Any = AbstractMesh(tuple(sizes), names, axis_types=types)
    if devices:
        mesh = Mesh(np.array(jax.devices()).reshape(sizes), names, axis_types=types)

    def split(*spec: Any) -> NamedSharding:
        return NamedSharding(mesh, PartitionSpec(*spec))

    def layer(x: Any, w: Any) -> Any:
        u, v = w
        h = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
        return x + jax.nn.silu(h @ u) @ v, None

    def loss(w: Any, x: Any, y: Any) -> Any:
        if layers:
            for each in w:
                x, _ = jax.checkpoint(layer)(x, each)
        else:
            x, _ = jax.lax.scan(jax.checkpoint(layer), x, w)
        return jnp.mean((x - y) ** 2)

    def step(w: Any, momenta: Any, x: Any, y: Any) -> Any:
        value, g = jax.value_and_grad(loss)(w, x, y)
        momenta = jax.tree.map(lambda a, b: 0.9 * a + b, momenta, g)
        return jax.tree.map(lambda a, b: a - 1e-3 * b, w, momenta), momenta, value

    lead = () if layers else (None,)
    stacked = () if layers else (SCANNED,)
    one = (split(*lead, "fsdp", "model"), split(*lead, "model", "fsdp"))
    shape = [
        jax.ShapeDtypeStruct((*stacked, *dims), jnp.float32) for dims in ((WIDTH, INNER), (INNER, WIDTH))
    ]
    weights, shardings = ((tuple(shape),) * layers, (one,) * layers) if layers else (tuple(shape), one)
    rows, x = split(("data", "fsdp")), jax.ShapeDtypeStruct((4 * sizes[0] * sizes[1], WIDTH), jnp.float32)
    return jax.jit(
        step, in_shardings=(shardings, shardings, rows, rows), out_shardings=(shardings, shardings, split())
    ).trace(weights, weights, x, x)


def spent(who: int) -> float:
    """CPU seconds so far."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def child(kind: str, layers: int, sizes: Sequence[int], path: str) -> float:
    """What a process of its own does and measures: `lower` writes the text."""
    if kind == "xla":
        lowered = traced(layers, sizes, True).lower()
        start = spent(resource.RUSAGE_SELF)
        lowered.compile()
        return spent(resource.RUSAGE_SELF) - start
    if kind == "lower":
        lowered = traced(layers, sizes, False).lower(lowering_platforms=("cpu",))
        Path(path).write_text(lowered.as_text(debug_info=True), encoding="utf-8")
        return 0
    from jax._src.interpreters import mlir as jax_mlir
    from jaxlib.mlir import ir, passmanager

    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(Path(path).read_text(encoding="utf-8"))
        manager = passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)")
        start = time.process_time()
        manager.run(module.operation)
        return time.process_time() - start


def measured(
    layers: int, sizes: Sequence[int], machines: Sequence[str], most: int
) -> dict[str, float | None]:
    """One row."""
    devices = str(prod(sizes))
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "SHARDC_CACHE": "off"}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "step.mlir")

        def run(kind: str, **more: str) -> float:
            command = [sys.executable, "-m", "bench.compile_curve", "--child", kind, "--layers", str(layers)]
            command += ["--meshes", "x".join(map(str, sizes)), "--path", path]
            done = subprocess.run(command, env={**env, **more}, cwd=ROOT, check=True, stdout=subprocess.PIPE)
            return float(done.stdout)

        def ours(machine: str) -> float:
            start, out = spent(resource.RUSAGE_CHILDREN), str(Path(folder) / "step.py")
            command = [sys.executable, "-m", "shardc.cli.shardc", path, "--machine", machine, "-o", out]
            subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True)
            return spent(resource.RUSAGE_CHILDREN) - start

        run("lower")
        found: Row = {machine: ours(machine) for machine in machines}
        found["Shardy"] = run("shardy")
        found["XLA"] = run("xla", JAX_NUM_CPU_DEVICES=devices) if prod(sizes) <= most else None
        return found


def page(rows: dict[str, Row], note: str) -> str:
    """The table, with what stands above it."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    kinds = [name if name in ("Shardy", "XLA") else f"shardc, {name}" for name in names]
    lines = [
        "# Compile time over layers and devices",
        "",
        *(__doc__ or "").strip().splitlines(),
        "",
        *([note, ""] if note else []),
        f"| layers | mesh | devices | {' | '.join(kinds)} |",
        f"| --- | --- | ---: | {' | '.join('---:' for _ in names)} |",
    ]
    for key, row in rows.items():
        layers, mesh = key.split(" on ")
        sizes = [int(size) for size in mesh.split("x")]
        cells = ["–" if (took := row.get(name)) is None else f"{took:.3g}" for name in names]
        lines.append(f"| {layers} | {' x '.join(map(str, sizes))} | {prod(sizes)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, nargs="*", default=[2, 8])
    parser.add_argument("--meshes", nargs="*", default=["2x2x2", "4x4x4", "8x8x8", "16x128x8", "128x16x8"])
    parser.add_argument("--machines", nargs="*", default=["balanced", "h100-infiniband"])
    parser.add_argument("--most", type=int, default=64)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--note", default="", help="what is to be said of the machine")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--path", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    meshes = [tuple(map(int, mesh.split("x"))) for mesh in options.meshes]
    if options.child:
        print(child(options.child, options.layers[0], meshes[0], options.path))
        return
    rows: dict[str, Row] = {}
    if options.rows and options.rows.exists():
        rows = json.loads(options.rows.read_text(encoding="utf-8"))
    for layers in (0, *options.layers):
        for sizes in meshes:
            name = f"{layers or f'scan of {SCANNED}'} on {'x'.join(map(str, sizes))}"
            if name not in rows:
                rows[name] = measured(layers, sizes, options.machines, options.most)
                print(name, rows[name], flush=True)
                if options.rows:
                    options.rows.write_text(json.dumps(rows), encoding="utf-8")
    PAGE.write_text(page(rows, options.note), encoding="utf-8")


if __name__ == "__main__":
    main()
