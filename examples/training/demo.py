"""A transformer learns the descriptions that scikit-learn has of its data sets, letter by letter.

training.shard has the model, its gradient and Adam, and is compiled here for 2 x 4 emulated devices.

    python demo.py [STEPS]
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax

jax.config.update("jax_num_cpu_devices", 8)

import numpy as np  # noqa: E402
import sklearn.datasets  # noqa: E402

import shardc  # noqa: E402

SOURCE = Path(__file__).with_name("training.shard")
SIZES = {"B": 16, "S": 48, "V": 128, "D": 32, "H": 4, "K": 8, "F": 128, "L": 2}


def letters() -> np.ndarray:
    """All descriptions one after the other, as ASCII."""
    files = sorted(Path(sklearn.datasets.__file__).parent.glob("descr/*.rst"))
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return np.frombuffer(text.encode("ascii", "replace"), np.uint8).astype(np.int32)


def first_model(rng: np.random.Generator) -> tuple:
    """Random weights: a Model of training.shard, whose last field is a Layer."""
    s = SIZES

    def random(*shape: int, fan: int) -> np.ndarray:
        return (rng.standard_normal(shape) / fan**0.5).astype(np.float32)

    layers = (
        np.ones((s["L"], 2, s["D"]), np.float32),
        random(s["L"], 3, s["D"], s["H"], s["K"], fan=s["D"]),
        random(s["L"], s["H"], s["K"], s["D"], fan=s["D"]),
        random(s["L"], s["D"], s["F"], fan=s["D"]),
        random(s["L"], s["F"], s["D"], fan=s["F"]),
    )
    return random(s["V"], s["D"], fan=s["D"]), random(s["S"], s["D"], fan=s["D"]), layers


def main(steps: int = 100) -> list[float]:
    """Train, and print the loss every 20 steps; the losses."""
    step = shardc.compile(SOURCE.read_text(), target="jax").main
    rng, text = np.random.default_rng(0), letters()
    model = first_model(rng)
    means = squares = jax.tree.map(np.zeros_like, model)
    losses = list[float]()
    for number in range(1, steps + 1):
        starts = rng.integers(0, len(text) - SIZES["S"] - 1, SIZES["B"])
        batch = np.stack([text[start : start + SIZES["S"] + 1] for start in starts])
        loss, model, means, squares = step(model, means, squares, np.float32(number), batch)
        losses.append(float(loss))
        if number % 20 == 0 or number == 1:
            print(f"step {number}: {losses[-1]:.2f} nats a letter")
    return losses


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
