"""Arguments to run a program on: given by name, or random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from shardc.diagnostics import ShardcError, listed
from shardc.graph import Graph, TensorType, is_complex, is_float
from shardc.graph.trees import paths
from shardc.interpret.fan_in import weight_scales
from shardc.interpret.index_bounds import index_bounds
from shardc.semantics.arrays import integer_ends, is_whole

Array = NDArray[np.generic]


def argument_names(graph: Graph) -> list[str]:
    """What the entry's tensors are called: x, and layer.up in a record; arg0, arg1, … without a name."""
    interface = graph.main.interface
    if interface is not None:
        return [path for name, tree in interface.parameters for path in paths(tree, name)]
    return _plain_names(graph)


def _plain_names(graph: Graph) -> list[str]:
    """The same without dots: layer_up."""
    args = graph.main.body.args
    return [graph.values[v].loc.name or f"arg{i}" for i, v in enumerate(args)]


def arguments(graph: Graph, given: Mapping[str, Array] | None, source: str = "the mapping") -> list[Array]:
    """The entry's arguments, in order: those given by name, which errors call `source`, or random ones.

    An item of a record is layer.up, or layer_up. Random weights are scaled by their fan-in (fan_in.py), and
    random indices are below the dimension that they index (index_bounds.py).
    ShardcError if one is missing or unknown, or has another shape or dtype than its parameter.
    """
    types = graph.types(graph.main.body.args)
    if given is not None:
        names = argument_names(graph)
        dotted = dict(zip(_plain_names(graph), names, strict=True))
        plain = {n: dotted[n] for n in given if n in dotted and dotted[n] not in given}
        return _named({plain.get(n, n): array for n, array in given.items()}, names, types, source)
    pairs = zip(random_inputs(types, bounds=index_bounds(graph)), weight_scales(graph), strict=True)
    return [_scaled(array, scale) for array, scale in pairs]


def _scaled(array: Array, scale: float) -> Array:
    whole = scale == 1 or is_whole(array.dtype)
    return array if whole else np.multiply(array, np.asarray(scale, array.dtype), dtype=array.dtype)


def _named(
    given: Mapping[str, Array], names: Sequence[str], types: Sequence[TensorType], source: str
) -> list[Array]:
    for name in given:
        if name not in names:
            hint = listed(name, names, "the parameters are")
            raise ShardcError(f"{source}: the program has no parameter {name}", hint=hint)
    arrays: list[Array] = []
    for name, type in zip(names, types, strict=True):
        if name not in given:
            have = ", ".join(given) or "nothing"
            raise ShardcError(f"{source} has no array {name}; it has {have}")
        array = saved_as(given[name], type)
        if array.shape != type.shape or array.dtype != type.numpy:
            dims = ", ".join(map(str, array.shape))
            raise ShardcError(f"{name} in {source} is {array.dtype}[{dims}], but the program wants {type}")
        arrays.append(array)
    return arrays


def saved_as(array: Array, type: TensorType) -> Array:
    """An array out of a .npz file, where NumPy keeps the bytes of bf16 and fp8 and forgets their dtype."""
    forgotten = array.dtype.kind == "V" and array.dtype.names is None
    return array.view(type.numpy) if forgotten and array.dtype.itemsize == type.numpy.itemsize else array


def random_inputs(
    types: Sequence[TensorType], seed: int = 0, bounds: Sequence[int | None] | None = None
) -> list[Array]:
    """Arguments to try a program on: normal floats (both parts of complex ones), integers from 0 to 7 or
    below a bound of their own, fair bools; always the same.
    """
    rng = np.random.default_rng(seed)
    below = [None] * len(types) if bounds is None else bounds
    return [_random(rng, type, bound) for type, bound in zip(types, below, strict=True)]


def _random(rng: np.random.Generator, type: TensorType, bound: int | None) -> Array:
    if type.nbytes > 1 << 34:
        raise ShardcError(
            f"--run would need {type.nbytes} bytes for an argument of type {type}",
            hint="give smaller sizes with -D",
        )
    if is_complex(type.dtype):
        real, imaginary = rng.standard_normal((2, *type.shape))
        return (real + 1j * imaginary).astype(type.numpy)
    if is_float(type.dtype):
        drawn = rng.standard_normal(type.shape)
        return (np.abs(drawn) if type.dtype == "f8e8m0fnu" else drawn).astype(type.numpy)  # it has no sign
    if type.dtype == "bool":
        return rng.integers(0, 2, type.shape).astype(type.numpy)
    _, most = integer_ends(type.numpy)
    return rng.integers(0, min(bound or 8, most + 1), type.shape).astype(type.numpy)
