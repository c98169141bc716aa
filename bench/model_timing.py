"""What processes of both kinds do with the plans of a folder: run each in a few turns, and keep the quickest
of these and of those of earlier starts.

The plans of a program take turns with each other and with a product that is the same for all programs, the
reference: a machine that is slower than it was when `shardc measure` fitted it is slower there too. Where the
arrays of a plan lie in memory is luck, and for as long as its processes live the same: one start and another
of a plan are up to 1.9 times apart. So the ten turns are of STARTS starts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.launch.program import load_program
from shardc.launch.timing import REPEATS, Clock, quickest
from shardc.launch.working import Product

STARTS = 5
TURNS = REPEATS // STARTS
"""Of a plan in one start."""

REFERENCE = Product("f32", (1024, 512, 1024), (False, False))
AT_FIT = "reference.json"
"""Seconds of the reference before and after the fit, each the quickest of ten runs as beside programs. Their
mean is compared with those: the quicker of two would be of a better moment than the fit had."""
TIMES = "seconds.json"


def block(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Numbers that no function makes slow."""
    rng = np.random.default_rng(0)
    kind = np.dtype(dtype).kind
    if kind in "iub":
        return rng.integers(0, 2 if kind == "b" else 8, shape).astype(dtype)
    return rng.uniform(0.01, 0.1, shape).astype(dtype)


class Processes(Struct, frozen=True):
    """`ready` makes what runs a plan, `product` what multiplies; the `first` process writes."""

    ready: Callable[[ModuleType], Callable[[], object]]
    product: Callable[[Product], Callable[[], object]]
    clock: Clock
    first: bool


def measure(processes: Processes) -> None:
    """Time the plans that the command line names after their folder; the reference where it names none."""
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    reference = processes.product(REFERENCE)
    if names:
        _plans(processes, folder, names, reference)
    else:
        (seconds,) = quickest([reference], processes.clock)
        if processes.first:
            _written(folder / AT_FIT, [*_kept(folder / AT_FIT, []), seconds])


def _plans(processes: Processes, folder: Path, names: Sequence[str], reference: Callable[[], object]) -> None:
    """Of each plan its seconds, those of the reference beside it, and in how many starts they were found."""
    kept = folder / TIMES
    found: dict[str, tuple[float, float, int]] = _kept(kept, {})
    for _, group in groupby(names, lambda name: name.rpartition("-")[0]):
        plans = [*group]
        runs = [processes.ready(load_program(str(folder / f"{name}.py"))) for name in plans]
        *seconds, beside = quickest([*runs, reference], processes.clock, TURNS)
        for name, own in zip(plans, seconds, strict=True):
            before, reference_before, starts = found.get(name, (own, beside, 0))
            found[name] = min(own, before), min(beside, reference_before), starts + 1
        if processes.first:
            _written(kept, found)
            print(", ".join(f"{name}: {found[name][0] * 1e3:.1f} ms" for name in plans), flush=True)


def left(folder: Path, names: Sequence[str]) -> list[str]:
    """The plans that STARTS starts have not timed yet."""
    found = _kept(folder / TIMES, {})
    return [name for name in names if name not in found or found[name][2] < STARTS]


def _kept(path: Path, otherwise: Any) -> Any:
    """What is in a JSON file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else otherwise


def _written(path: Path, found: object) -> None:
    path.write_text(json.dumps(found), encoding="utf-8")
