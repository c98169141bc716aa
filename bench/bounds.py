"""Bytes that the planner has devices send, against lower bounds and the formulas of known schemes.

* One product m x n x k on P devices: no device can do its share with fewer than D words besides those of the
  operands and the result that it holds from the start or keeps at the end, with D as in Al Daas, Ballard,
  Grigori, Kumar and Rouse (arXiv 2205.13407). A grid p1 x p2 x p3 of the right shape attains it.
* One layer of two products on X x Y devices (Pope et al., arXiv 2211.05102): weights stay where they are, or
  are gathered over one axis or both, whichever sends least for the batch.
* Megatron's split of two products, with and without split activations; attention over split sequences by
  all-to-alls (Ulysses).

  python -m bench.bounds    a table; words are f32
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod, sqrt

from msgspec import Struct

from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.passes.pipeline import run_to
from shardc.planning.machines import load
from shardc.planning.program import plan_program


class Row(Struct, frozen=True):
    """A program and the words that the best known scheme for it sends per device, with the scheme's name."""

    title: str
    program: str
    scheme: str
    words: float


def planned(program: str) -> tuple[int, int]:
    """(bytes, collectives) of the plan for a .shard program."""
    module = read(program, "bounds.shard")
    run_to(make_context(), module, "sharded")
    plan = plan_program(snapshot(module).graph, machine=load("bytes"))
    return plan.bytes, plan.collectives


def needed(m: int, n: int, k: int, devices: int) -> float:
    """D: the words of both operands and of the result that some device touches at least."""
    m, n, k = sorted((m, n, k), reverse=True)
    if devices <= m / n:
        return (m * n + m * k) / devices + n * k
    if devices <= m * n / k**2:
        return 2 * sqrt(m * n * k * k / devices) + m * n / devices
    return 3 * (m * n * k / devices) ** (2 / 3)


TALL = (9600, 2400, 600)
CUBE = (4096, 4096, 4096)

GRIDS = (
    # sizes, grid, and over what the dimensions of a[m, k], b[k, n] and the result[m, n] are split
    (TALL, (3, 1, 1), ("x", "z, y"), ("z, x", "y"), ("x, z", "y")),
    (TALL, (4, 1, 1), ("x", "z, y"), ("z, x", "y"), ("x, z", "y")),
    (TALL, (12, 3, 1), ("x", "z, y"), ("z, x", "y"), ("x, z", "y")),
    # 512 devices do not divide b: two devices each hold the same part of it
    (TALL, (32, 8, 2), ("x, y:(1)4", "z, y:(4)2"), ("z, x:(1)4", "y, x:(4)4"), ("x, z", "y")),
    (CUBE, (4, 4, 4), ("x, y", "z"), ("z", "y, x"), ("x", "y, z")),
    (CUBE, (8, 8, 8), ("x", "z, y"), ("z", "y, x"), ("x", "y, z")),
)


def products() -> Iterator[Row]:
    """One product on grids."""
    for sizes, grid, a, b, c in GRIDS:
        m, n, k = sizes
        x, y, z = grid
        program = (
            f"mesh grid[x={x}, y={y}, z={z}]\n\n"
            f"def main(a: f32[{m}@({a[0]}), {k}@({a[1]})], b: f32[{k}@({b[0]}), {n}@({b[1]})])"
            f" -> f32[{m}@({c[0]}), {n}@({c[1]})]:\n"
            "    return a @ b\n"
        )
        devices = prod(grid)
        copies = 2 if devices == 512 and sizes == TALL else 1
        held = (m * k + copies * k * n + m * n) / devices
        yield Row(f"{m} x {n} x {k} on {x} x {y} x {z}", program, "grid", needed(*sizes, devices) - held)


def schemes(batch: int, e: int, f: int, x: int, y: int) -> dict[str, float]:
    """Words per device of the ways to run relu(a @ w1) @ w2, by what happens to the weights."""
    n = x * y

    def rest(parts: int) -> float:
        return (parts - 1) / parts

    return {
        "weights stay": 2 * batch * (e / x * rest(y) + f / y * rest(x)),
        "gathered over x": 2 * e * f / y * rest(x) + 2 * batch * e * (rest(n) / n + rest(y) / x),
        "gathered over y": 2 * e * f / x * rest(y) + 2 * batch * (e / n * rest(y) + f / y * rest(x)),
        "gathered": 2 * e * f * rest(n) + 2 * batch * e / n * rest(n),
    }


def layer(batch: int, e: int, f: int, x: int, y: int) -> str:
    """relu(a @ w1) @ w2 with everything split over all devices."""
    return (
        f"mesh grid[x={x}, y={y}]\n\n"
        f"def main(a: f32[{batch}, {e}@(x, y)], w1: f32[{e}@x, {f}@y], w2: f32[{f}@y, {e}@x])"
        f" -> f32[{batch}, {e}@(x, y)]:\n"
        "    return relu(a @ w1) @ w2\n"
    )


BATCHES = tuple(4**i for i in range(2, 9))
LAYERS = ((1, 8), (2, 4), (4, 2), (4, 4), (8, 8))


def layers() -> Iterator[Row]:
    """Layers of growing batches: the weights stay while the batch is small, then more and more is gathered.

    More collectives are taken only where they save a quarter of the bytes.
    """
    e, f = 512, 2048
    for x, y in LAYERS:
        for batch in BATCHES:
            found = schemes(batch, e, f, x, y)
            best = min(found, key=lambda name: found[name])
            if found[best] > 0.75 * found["weights stay"]:
                best = "weights stay"
            yield Row(f"layer on {x} x {y}, batch {batch}", layer(batch, e, f, x, y), best, found[best])


def models(n: int = 8, batch: int = 64, e: int = 512, f: int = 2048) -> Iterator[Row]:
    """Megatron and Ulysses on n devices."""
    mesh = f"mesh pod[model={n}]\n\n"
    moved = 2 * batch * e * (n - 1) / n
    for title, rows in (("Megatron", ""), ("Megatron, sequence split", "@model")):
        yield Row(
            title,
            f"{mesh}def main(a: f32[{batch}{rows}, {e}], w1: f32[{e}, {f}@model], w2: f32[{f}@model, {e}])"
            f" -> f32[{batch}{rows}, {e}]:\n    return relu(a @ w1) @ w2\n",
            "all-reduce" if not rows else "gather and reduce-scatter",
            moved,
        )
    b, s, h, d = 2, 512, 16, 32
    tensor = f"f32[{b}, {h}, {s}@model, {d}]"
    yield Row(
        "attention over a split sequence",
        f"{mesh}def main(q: {tensor}, k: {tensor}, v: {tensor}) -> {tensor}:\n"
        "    return softmax(q @ transpose(k, (0, 1, 3, 2)), axis=-1) @ v\n",
        "Ulysses",
        4 * b * h * s * d / n * (n - 1) / n,
    )


def main() -> None:
    print(f"{'program':36} {'scheme':26} {'words':>14} {'planned':>14} collectives")
    for row in (*products(), *layers(), *models()):
        sent, collectives = planned(row.program)
        print(f"{row.title:36} {row.scheme:26} {row.words:14,.1f} {sent / 4:14,.1f} {collectives}")


if __name__ == "__main__":
    main()
