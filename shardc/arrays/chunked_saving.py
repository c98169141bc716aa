"""Blocks of arrays into zarr (version 3), through tensorstore: every process writes its own chunks.

A path that ends in .zarr becomes a group, one that ends in .orbax a checkpoint that orbax restores.

A chunk is a part of one block, so no two processes write the same. Each has a checksum (zarr's crc32c), which
every reader of zarr verifies. The folder appears when all of it is on disk, and never takes another's place.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from shardc.arrays.chunked import ONE_AT_A_TIME, ORBAX, OWN, tensorstore
from shardc.arrays.entry import Array
from shardc.arrays.placed import Bounds, Placed, moved, part
from shardc.arrays.writing import place, saying
from shardc.diagnostics import ShardcError

GROUP, CHECKPOINT = ".zarr", ".orbax"
"""What a path ends in."""

_MADE = "shardc.made_of"
"""The note of what is made of something: other for another source or target."""

_LARGEST = 4 << 20
"""Bytes of a chunk."""


def check_target(path: str) -> None:
    """ShardcError if there is something already, or no tensorstore."""
    tensorstore(path)
    if os.path.lexists(path):
        raise ShardcError(f"{path} is there already", hint="remove it, or save under another name")


def check_names(path: str, layouts: Mapping[str, Placed]) -> None:
    """ShardcError for an array whose name the format has not."""
    checkpoint = path.endswith(CHECKPOINT)
    for name in layouts:
        parts = [name] if checkpoint else name.split("/")
        no = ("", ".", "..", ORBAX if checkpoint else "zarr.json")
        if any(word in no or _NO_CHARACTERS & {*word} for word in parts):
            raise ShardcError(f"{name} is no name in {_KINDS[checkpoint]}")
        if not checkpoint and any(word.startswith("__") for word in parts):
            raise ShardcError(f"{name} is no name in {_KINDS[checkpoint]}")
        above = next((str(p) for p in Path(name).parents if str(p) in layouts), None)
        if above is not None:
            hint = "safetensors and npz have places for both"
            raise ShardcError(f"zarr has no place for {name} inside of {above}, which is an array", hint=hint)


_NO_CHARACTERS = frozenset("/\\\0")
"""tensorstore takes both strokes for a border of folders."""

_KINDS = ("a zarr group", "an orbax checkpoint")


def temporary_of(path: str, token: str) -> Path:
    """Where it is written first."""
    return Path(path).with_name(f".{Path(path).name}.{token}.tmp")


def make_folder(folder: Path, path: str, layouts: Mapping[str, Placed], token: str | None = None) -> None:
    """The folder with the descriptions of the arrays, and of the group or checkpoint that they are.

    `token` says what it is made of, for who asks `token_of`.
    """
    ts = tensorstore(str(folder))
    check_names(path, layouts)
    with saying(path):
        folder.mkdir(parents=True, exist_ok=True)
        describe = _describe_checkpoint if path.endswith(CHECKPOINT) else _describe_groups
        describe(folder, layouts, {} if token is None else {_MADE: token})
        for name, placed in layouts.items():
            with _writing(name):
                ts.open(_spec(folder, name, placed), create=True, open=True).result()


def token_of(path: str) -> str | None:
    """What a group or checkpoint was made of, if that was noted in it."""
    try:
        if path.endswith(CHECKPOINT):
            said = json.loads((Path(path) / ORBAX).read_text(encoding="utf-8"))["custom_metadata"]
        else:
            said = json.loads((Path(path) / "zarr.json").read_text(encoding="utf-8"))["attributes"]
        return said[_MADE]
    except (OSError, ValueError, TypeError, LookupError):
        return None


def write_blocks(
    folder: Path, layouts: Mapping[str, Placed], owned: Mapping[str, list[tuple[Bounds, Array]]]
) -> None:
    """Write these blocks."""
    ts = tensorstore(str(folder))
    for name, held in owned.items():
        with _writing(name):
            context = ts.Context(ONE_AT_A_TIME)
            spec = _spec(folder, name, layouts[name])
            store: Any = ts.open(spec, open=True, context=context).result() if held else None
            for bounds, block in held:
                for chunk, _ in _chunks(layouts[name], bounds):
                    store[part(chunk)].write(block[part(moved(chunk, bounds))]).result()


def files_of(folder: Path, name: str, placed: Placed, bounds: Bounds) -> Iterator[Path]:
    """The files of the chunks of a block."""
    for _, numbers in _chunks(placed, bounds):
        yield folder.joinpath(name, "c", *map(str, numbers))


def _chunks(placed: Placed, bounds: Bounds) -> Iterator[tuple[Bounds, tuple[int, ...]]]:
    """The chunks of a block: bounds and numbers."""
    sizes = _chunk(placed)
    ranges = (
        range(start // size, -(-stop // size)) for (start, stop), size in zip(bounds, sizes, strict=True)
    )
    for numbers in product(*ranges):
        ends = zip(numbers, sizes, bounds, strict=True)
        yield tuple((n * size, min((n + 1) * size, stop)) for n, size, (_, stop) in ends), numbers


def finish(folder: Path, path: str) -> None:
    """Let it appear."""
    check_target(path)
    with saying(path):
        place(str(folder), path)


def drop(folder: Path) -> None:
    """Remove what was written in vain."""
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _writing(name: str) -> Generator[None]:
    """Errors of tensorstore as ShardcError."""
    try:
        yield
    except (ValueError, OSError, RuntimeError) as error:
        raise ShardcError(f"{name} cannot be written: {str(error).splitlines()[0][:300]}") from None


def _spec(folder: Path, name: str, placed: Placed) -> dict[str, Any]:
    shape = placed.type.shape
    return {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": f"{folder.absolute() / name}/"},
        "store_data_equal_to_fill_value": True,
        "metadata": {
            "shape": list(shape),
            "data_type": placed.type.numpy.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(_chunk(placed))}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        },
    }


def _chunk(placed: Placed) -> tuple[int, ...]:
    """A part of a block, so that blocks are made of chunks; the first dimensions are cut first."""
    chunk = [max(1, size) for size in placed.block_shape]
    for dim in range(len(chunk)):
        while chunk[dim] > 1 and prod(chunk) * placed.type.numpy.itemsize > _LARGEST:
            chunk[dim] //= next(n for n in range(2, chunk[dim] + 1) if chunk[dim] % n == 0)
    return tuple(chunk)


def _describe_groups(folder: Path, layouts: Mapping[str, Placed], notes: Mapping[str, str]) -> None:
    """A zarr group, and one for every folder of an array's name."""
    said = {n: [str(p.type.numpy), list(p.type.shape)] for n, p in layouts.items()}
    _describe_group(folder, {OWN: said, **notes})
    for name in layouts:
        for parent in reversed(Path(name).parents[:-1]):
            (folder / parent).mkdir(exist_ok=True)
            _describe_group(folder / parent, {})


def _describe_group(folder: Path, attributes: Mapping[str, Any]) -> None:
    text = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}, indent=1)
    (folder / "zarr.json").write_text(text, encoding="utf-8")


def _describe_checkpoint(folder: Path, layouts: Mapping[str, Placed], notes: Mapping[str, str]) -> None:
    """A flat tree of arrays, as orbax describes one whose arrays are zarr's (use_ocdbt=False)."""
    tree: dict[str, Any] = {}
    for name, placed in layouts.items():
        tree[str((name,))] = {
            "key_metadata": [{"key": name, "key_type": 2}],
            "value_metadata": {
                "value_type": "np.ndarray",
                "skip_deserialize": False,
                "write_shape": placed.type.shape,
            },
        }
    said = {"use_ocdbt": False, "use_zarr3": True, "store_array_data_equal_to_fill_value": True}
    text = json.dumps({"tree_metadata": tree, **said, "custom_metadata": {**notes} or None})
    (folder / ORBAX).write_text(text, encoding="utf-8")
