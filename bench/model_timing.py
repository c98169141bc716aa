"""What processes of both kinds do with the plans of a folder: run each ten times, and keep the quickest."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from shardc.launch.program import load_program

RUNS = 10


def block(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Numbers that no function makes slow."""
    rng = np.random.default_rng(0)
    kind = np.dtype(dtype).kind
    if kind in "iub":
        return rng.integers(0, 2 if kind == "b" else 8, shape).astype(dtype)
    return rng.uniform(0.01, 0.1, shape).astype(dtype)


def quickest(
    run: Callable[[], object], together: Callable[[], object], most: Callable[[float], float]
) -> float:
    """Seconds of the quickest run, each as long as its slowest process took.

    `together` waits for all processes; `most` is the largest number of any of them.
    """
    run()
    found: list[float] = []
    for _ in range(RUNS):
        together()
        start = time.perf_counter()
        run()
        found.append(most(time.perf_counter() - start))
    return min(found)


def measure(seconds: Callable[[ModuleType], float], first: bool) -> None:
    """The plans that the command line names after their folder; the `first` process writes their seconds."""
    folder = Path(sys.argv[1])
    kept = folder / "seconds.json"
    found: dict[str, float] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for name in sys.argv[2:]:
        if name in found:
            continue
        found[name] = seconds(load_program(str(folder / f"{name}.py")))
        if first:
            print(f"{name}: {found[name] * 1e3:.1f} ms", flush=True)
            kept.write_text(json.dumps(found), encoding="utf-8")
