"""What processes of both kinds do with the plans of a folder: run each ten times, and keep the quickest."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
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
    runs: Sequence[Callable[[], object]], together: Callable[[], object], most: Callable[[float], float]
) -> list[float]:
    """Seconds of the quickest run of each, as long as its slowest process took.

    `together` waits for all processes; `most` is the largest number of any of them. Runs take turns: what
    slows the machine for a while slows all that are compared.
    """
    for run in runs:
        run()
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(RUNS):
        for run, times in zip(runs, found, strict=True):
            together()
            start = time.perf_counter()
            run()
            times.append(most(time.perf_counter() - start))
    return [*map(min, found)]


@dataclass(frozen=True)
class Processes:
    """`ready` makes what runs a plan; `together` and `most` as for `quickest`; the `first` process writes."""

    ready: Callable[[ModuleType], Callable[[], object]]
    together: Callable[[], object]
    most: Callable[[float], float]
    first: bool


def measure(processes: Processes) -> None:
    """Time the plans that the command line names after their folder, those of a program together."""
    folder = Path(sys.argv[1])
    kept = folder / "seconds.json"
    found: dict[str, float] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    left = [name for name in sys.argv[2:] if name not in found]
    for _, names in groupby(left, lambda name: name.rpartition("-")[0]):
        plans = [*names]
        runs = [processes.ready(load_program(str(folder / f"{name}.py"))) for name in plans]
        found |= zip(plans, quickest(runs, processes.together, processes.most), strict=True)
        if processes.first:
            print(", ".join(f"{name}: {found[name] * 1e3:.1f} ms" for name in plans), flush=True)
            kept.write_text(json.dumps(found), encoding="utf-8")
