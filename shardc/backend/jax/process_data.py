"""What `main_local` of an emitted JAX program calls. The text below MARK is written into the program."""

# pyright: basic

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding

PARAMS = {}
"""Name -> shape, dtype and spec of every argument."""


def mesh():
    """The program's mesh."""
    raise NotImplementedError


MARK = "what follows is written into programs"


def place_local(*arguments):
    """Arrays of all processes, from what each holds. A wrong one is an error on every process."""
    arrays, structure = jax.tree.flatten(arguments)
    shardings = [NamedSharding(mesh(), spec) for _, _, spec in PARAMS.values()]
    agree(problem(arrays, shardings))
    placed = [
        jax.make_array_from_process_local_data(sharding, np.asarray(x), padded(shape, sharding))
        for x, sharding, (shape, _, _) in zip(arrays, shardings, PARAMS.values(), strict=True)
    ]
    return jax.tree.unflatten(structure, placed)


def padded(shape, sharding):
    """The shape that equal blocks make up."""
    parts = [1] * len(shape)
    for dim, axes in enumerate(sharding.spec):
        for axis in () if axes is None else (axes,) if isinstance(axes, str) else axes:
            parts[dim] *= sharding.mesh.shape[axis]
    return tuple(-(-size // part) * part for size, part in zip(shape, parts, strict=True))


def problem(arrays, shardings):
    """What is wrong with what this process gives; an empty text for nothing."""
    process = f"process {jax.process_index()} gives"
    if len(arrays) != len(PARAMS):
        return f"{process} {len(arrays)} arguments, and {len(PARAMS)} are needed"
    for x, sharding, (name, (shape, dtype, _)) in zip(arrays, shardings, PARAMS.items(), strict=True):
        given, whole = np.asarray(x), padded(shape, sharding)
        local = local_shape(sharding, whole)
        sizes = [*zip(local, whole, strict=True)]
        fits = given.ndim == len(sizes) and all(n in pair for n, pair in zip(given.shape, sizes, strict=True))
        if given.dtype != dtype or not fits:
            return (
                f"{name}: {process} {given.dtype}{list(given.shape)}, and {np.dtype(dtype)}{list(local)}, "
                f"what its devices hold, is expected, or any dimension as in {list(whole)}"
            )
    return ""


def local_shape(sharding, shape):
    """The shape of what this process's devices hold together."""
    places = sharding.addressable_devices_indices_map(shape).values()
    held = [{place[dim].indices(size)[:2] for place in places} for dim, size in enumerate(shape)]
    return tuple(sum(stop - start for start, stop in blocks) for blocks in held)


def agree(text):
    """An error on every process if one has something to say, before any of them can wait for another."""
    said = np.zeros(1024, np.uint8)
    encoded = np.frombuffer(text.encode()[:1024], np.uint8)
    said[: len(encoded)] = encoded
    everyone = np.asarray(multihost_utils.process_allgather(said)).reshape(-1, 1024)
    found = [bytes(row).rstrip(b"\0").decode(errors="replace") for row in everyone if row.any()]
    if found:
        raise ValueError("; ".join(found))
