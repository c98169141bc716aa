"""--run: the per-device program on emulated devices, against the single-device program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from shardc.cli.driver import write_bytes
from shardc.explain.diagnostics import ShardcError
from shardc.graph import Graph, TensorType, is_complex, is_float
from shardc.semantics.run import run

Array = NDArray[np.generic]

TOLERANCE = {"f64": 1e-10, "f32": 1e-4, "bf16": 4e-2, "f16": 1e-2, "c64": 1e-4, "c128": 1e-10}
"""The largest difference allowed, as a part of the result's largest element. Integers must be equal."""


def compare(whole: Graph, local: Graph, inputs: str | None, outputs: str | None) -> int:
    """Run both programs on the same arguments, print how the results compare; 1 if some result differs."""
    arrays = arguments(whole, inputs)
    expected, got = run(whole, arrays), run(local, arrays)
    mesh = next(iter(local.meshes.values()), None)
    print(f"{mesh.size if mesh else 1} devices, {'random inputs' if not inputs else inputs}")
    agree = True
    for index, (want, have) in enumerate(zip(expected, got, strict=True)):
        type = whole.type(whole.main.body.results[index])
        difference = distance(want, have)
        same = difference <= TOLERANCE.get(type.dtype, 0)
        agree = agree and same
        verdict = (
            "equal" if difference == 0 else f"largest difference {difference:.1e} of the largest element"
        )
        print(
            f"result {index}: {type}, {verdict}"
            + ("" if same else " -- DIFFERS from the single-device program")
        )
    if outputs:
        named = {f"result_{index}": array for index, array in enumerate(got)}
        write_bytes(outputs, lambda file: _save(file, named))
    return 0 if agree else 1


def arguments(graph: Graph, inputs: str | None) -> list[Array]:
    """The arguments of the entry: those in an .npz file, else random ones."""
    types = graph.types(graph.main.body.args)
    return read_inputs(inputs, argument_names(graph), types) if inputs else random_inputs(types)


def argument_names(graph: Graph) -> list[str]:
    """What the source calls the entry's parameters; arg0, arg1, … where it doesn't say."""
    args = graph.main.body.args
    return [graph.values[v].loc.name or f"arg{i}" for i, v in enumerate(args)]


def distance(want: Array, have: Array) -> float:
    """The largest difference as a part of the largest element; NaN equals NaN, infinity itself."""
    if want.shape != have.shape or want.dtype != have.dtype:
        return float("inf")
    if want.size == 0:
        return 0.0
    kind = np.complex128 if want.dtype.kind == "c" else np.float64
    if want.dtype.kind in "iub":
        return 0.0 if bool((want == have).all()) else float("inf")
    a, b = want.astype(kind), have.astype(kind)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    if not bool((same | finite).all()):
        return float("inf")
    scale = float(np.abs(a[finite]).max(initial=0.0))
    return float(np.abs(a[finite] - b[finite]).max(initial=0.0)) / (scale or 1.0)


def read_inputs(file: str, names: Sequence[str], types: Sequence[TensorType]) -> list[Array]:
    """The arguments in an .npz file. ShardcError if one is missing or has another shape or dtype."""
    if not Path(file).is_file():
        raise ShardcError(f"cannot read {file}: no such file")
    try:
        with np.load(file, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, BadZipFile, EOFError, AttributeError, TypeError):
        raise ShardcError(
            f"{file} is not an .npz file of arrays", hint="numpy.savez writes one: np.savez(file, x=x, w=w)"
        ) from None
    arrays: list[Array] = []
    for name, type in zip(names, types, strict=True):
        if name not in found:
            have = ", ".join(found) or "nothing"
            raise ShardcError(f"{file} has no array {name}; it has {have}")
        array = found[name]
        if array.shape != type.shape or array.dtype != type.numpy:
            dims = ", ".join(map(str, array.shape))
            raise ShardcError(f"{name} in {file} is {array.dtype}[{dims}], but the program wants {type}")
        arrays.append(array)
    return arrays


def random_inputs(types: Sequence[TensorType], seed: int = 0) -> list[Array]:
    """Arguments to try a program on: normal floats, integers from 0 to 7, fair bools; always the same."""
    rng = np.random.default_rng(seed)
    return [_random(rng, type) for type in types]


def _random(rng: np.random.Generator, type: TensorType) -> Array:
    if type.nbytes > 1 << 34:
        raise ShardcError(
            f"--run would need {type.nbytes} bytes for an argument of type {type}",
            hint="give smaller sizes with -D",
        )
    if is_float(type.dtype) or is_complex(type.dtype):
        return rng.standard_normal(type.shape).astype(type.numpy)
    return rng.integers(0, 2 if type.dtype == "bool" else 8, type.shape).astype(type.numpy)


def _save(file: str, arrays: dict[str, Array]) -> None:
    with open(file, "wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)
