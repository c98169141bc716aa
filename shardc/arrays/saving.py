"""Blocks of arrays into files: every block once, by the first process that holds it.

A path that ends in .safetensors, .npz or .npy becomes one file of whole arrays, into which every process
writes its ranges. One that ends in .zarr or .orbax is written in chunks (chunked_saving.py). Any other
becomes a folder with one file of blocks per process, and an index. All appear when all is on disk: a save
that is killed leaves the old one.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from shardc.arrays import chunked_saving
from shardc.arrays.checkpoint import INDEX, piece_name
from shardc.arrays.checksums import cuts_of
from shardc.arrays.entry import Array
from shardc.arrays.placed import Bounds, Placed, extent, moved, part
from shardc.arrays.safetensors import Plan, name_of
from shardc.arrays.whole_files import check_file, is_whole_file, plan_of
from shardc.arrays.writing import FilePlan, Sums, place, put, removed_on_failure, reserve, saying, write_index
from shardc.diagnostics import ShardcError


class Group(Struct, frozen=True):
    """The processes that save together: this one's number, how many they are, and what hands round bytes.

    `allgather` gives the bytes of all processes, in order; all of them call it equally often.
    """

    process: int = 0
    size: int = 1
    allgather: Callable[[bytes], list[bytes]] = lambda sent: [sent]

    def agree(self, say: Callable[[], object]) -> list[Any]:
        """What every process says. Where one fails, ShardcError on all, which names it."""
        try:
            sent = {"said": say()}
        except ShardcError as error:
            sent = {"failed": error.diagnostic.message, "hint": error.diagnostic.hint}
        answers = [json.loads(answer) for answer in self.allgather(json.dumps(sent).encode())]
        for process, answer in enumerate(answers):
            if "failed" in answer:
                where = f"process {process}: " if self.size > 1 else ""
                raise ShardcError(f"{where}{answer['failed']}", hint=answer["hint"])
        return [answer["said"] for answer in answers]


_CHUNKED = (chunked_saving.GROUP, chunked_saving.CHECKPOINT)

ALONE = Group()
"""One process, which holds all blocks."""

Blocks = Mapping[str, Mapping[int, Array]]


def save(path: str, blocks: Blocks, layouts: Mapping[str, Placed], group: Group = ALONE) -> None:
    """Save arrays of which this process holds `blocks`: array -> device number -> block.

    ShardcError, on all processes, if a block is missing, has a wrong shape or dtype, or can't be written.
    """
    group.agree(lambda: _check(path, blocks, layouts))
    token = group.agree(lambda: secrets.token_hex(4))[0]
    if is_whole_file(path):
        _save_whole(path, blocks, layouts, group, token)
    elif path.endswith(_CHUNKED):
        _save_chunks(path, blocks, layouts, group, token)
    else:
        _save_blocks(path, blocks, layouts, group, token)


def check_target(path: str) -> None:
    """ShardcError if nothing can be saved there, which can be told before there is anything to save."""
    if path.endswith(_CHUNKED):
        chunked_saving.check_target(path)
    elif is_whole_file(path):
        check_file(path)
    elif Path(path).exists() and not Path(path).is_dir():
        raise ShardcError(f"cannot write {path}: a file has that name, and it would be a folder")


def check_layouts(path: str, layouts: Mapping[str, Placed]) -> None:
    """ShardcError if the format has no place for a name or dtype of the arrays."""
    if path.endswith(_CHUNKED):
        chunked_saving.check_names(path, layouts)
    elif is_whole_file(path):
        plan_of(path, layouts)
    else:
        for name, placed in layouts.items():
            name_of(name, placed.type.numpy)


def _check(path: str, blocks: Blocks, layouts: Mapping[str, Placed]) -> None:
    check_layouts(path, layouts)
    for name, placed in layouts.items():
        for device, block in blocks.get(name, {}).items():
            if block.shape != placed.block_shape or block.dtype != placed.type.numpy:
                raise ShardcError(
                    f"{name}: the block of device {device} is {block.dtype}{list(block.shape)}, and "
                    f"{placed.type.with_shape(placed.block_shape)} is expected"
                )


def _owned(
    blocks: Blocks, layouts: Mapping[str, Placed], group: Group
) -> dict[str, list[tuple[Bounds, Array]]]:
    """The blocks that this process writes. ShardcError on all where nobody has one."""
    holders = group.agree(lambda: {name: sorted(held) for name, held in blocks.items()})
    owned: dict[str, list[tuple[Bounds, Array]]] = {}
    for name, placed in layouts.items():
        owner = _owners(name, placed, [set(held.get(name, ())) for held in holders])
        owned[name] = [
            (bounds, blocks[name][device][part(tuple((0, size) for size in extent(bounds)))])
            for bounds, (process, device) in owner.items()
            if process == group.process
        ]
    return owned


def _owners(name: str, placed: Placed, holders: list[set[int]]) -> dict[Bounds, tuple[int, int]]:
    """The first process and device that hold each block."""
    at: dict[int, int] = {}
    for process, devices in reversed(list(enumerate(holders))):
        at |= dict.fromkeys(devices, process)
    found: dict[Bounds, tuple[int, int]] = {}
    for device, bounds in enumerate(placed.bounds):
        if device in at:
            found.setdefault(bounds, (at[device], device))
    for device, bounds in placed.writers(name):
        if bounds not in found:
            raise ShardcError(f"{name}: no process has the block of device {device}")
    wanted = {bounds for _, bounds in placed.writers(name)}
    return {bounds: owner for bounds, owner in found.items() if bounds in wanted}


def _save_whole(path: str, blocks: Blocks, layouts: Mapping[str, Placed], group: Group, token: str) -> None:
    owned = _owned(blocks, layouts, group)
    real = os.path.realpath(path)  # what a link leads to is written, and the link stays
    temporary = str(Path(real).with_name(f".{Path(real).name}.{token}.tmp"))
    plan = plan_of(path, layouts)
    first = group.process == 0
    try:
        group.agree(lambda: _reserve(path, temporary, plan.size) if first else None)
        for sums in group.agree(lambda: _fill(path, temporary, plan, owned)):
            plan.add_sums(numbered(sums))
        group.agree(lambda: _finish(path, temporary, plan) if first else None)
    except BaseException:
        if first:
            with suppress(OSError):
                os.unlink(temporary)
        raise


def numbered(sums: Mapping[str, Mapping[Any, int]]) -> Sums:
    """JSON has texts for keys."""
    return {name: {int(number): value for number, value in found.items()} for name, found in sums.items()}


def _reserve(path: str, temporary: str, size: int) -> None:
    with saying(path):
        reserve(temporary, size)


def _fill(path: str, temporary: str, plan: FilePlan, owned: Mapping[str, list[tuple[Bounds, Array]]]) -> Sums:
    sums: Sums = {}
    with saying(path):
        descriptor = os.open(temporary, os.O_RDWR | os.O_CLOEXEC)
        try:
            for name, held in owned.items():
                for bounds, block in held:
                    put(descriptor, plan, name, bounds, block, sums)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return sums


def _finish(path: str, temporary: str, plan: FilePlan) -> None:
    with saying(path):
        descriptor = os.open(temporary, os.O_RDWR | os.O_CLOEXEC)
        try:
            plan.complete(descriptor)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        place(temporary, os.path.realpath(path))


def _save_chunks(path: str, blocks: Blocks, layouts: Mapping[str, Placed], group: Group, token: str) -> None:
    owned = _owned(blocks, layouts, group)
    temporary = chunked_saving.temporary_of(path, token)
    first = group.process == 0
    group.agree(lambda: chunked_saving.check_target(path))
    try:
        group.agree(lambda: chunked_saving.make_folder(temporary, path, layouts) if first else None)
        group.agree(lambda: chunked_saving.write_blocks(temporary, layouts, owned))
        group.agree(lambda: chunked_saving.finish(temporary, path) if first else None)
    except BaseException:
        if first:
            chunked_saving.drop(temporary)
        raise


def _save_blocks(path: str, blocks: Blocks, layouts: Mapping[str, Placed], group: Group, token: str) -> None:
    folder = Path(path)
    first = group.process == 0
    group.agree(lambda: _make(folder) if first else None)
    owned = _owned(blocks, layouts, group)
    file = f"blocks-{group.process:05d}-of-{group.size:05d}-{token}.safetensors"
    try:
        said = group.agree(lambda: write_blocks(folder / file, owned))
        group.agree(lambda: _index(folder, layouts, said, token) if first else None)
    except BaseException:
        with suppress(OSError):
            os.unlink(folder / file)
        raise


def _make(folder: Path) -> None:
    with saying(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)


def write_blocks(path: Path, owned: Mapping[str, list[tuple[Bounds, Array]]]) -> dict[str, list[Any]]:
    """A file of blocks, named by `piece_name`: array -> [file, bounds] of each; no file for no blocks."""
    pieces = {
        piece_name(name, bounds): (bounds, block) for name, held in owned.items() for bounds, block in held
    }
    if pieces:
        plan = Plan(
            str(path),
            {
                piece: (block.dtype, block.shape, cuts_of(block.shape, block.dtype.itemsize, []))
                for piece, (_, block) in pieces.items()
            },
        )
        temporary = str(path.with_name(f".{path.name}.tmp"))
        with saying(str(path)), removed_on_failure(temporary):
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            reserve(temporary, plan.size)
            held = {piece: [(moved(bounds, bounds), block)] for piece, (bounds, block) in pieces.items()}
            plan.add_sums(_fill(str(path), temporary, plan, held))
            _finish(str(path), temporary, plan)
    return {name: [[path.name, bounds] for bounds, _ in held] for name, held in owned.items()}


def _index(folder: Path, layouts: Mapping[str, Placed], said: list[dict[str, list[Any]]], token: str) -> None:
    """The index takes the place of the old one; then the files go that only the old one names."""
    old = files_of(folder)
    arrays = {
        name: {
            "shape": placed.type.shape,
            "dtype": name_of(name, placed.type.numpy),
            "pieces": [piece for pieces in said for piece in pieces.get(name, ())],
        }
        for name, placed in layouts.items()
    }
    write_index(folder / INDEX, {"format": 1, "arrays": arrays}, token)
    for file in old - files_of(folder):
        with suppress(OSError):
            (folder / Path(file).name).unlink()


def files_of(folder: Path) -> set[str]:
    """The files that a folder's index names."""
    try:
        said = cast("dict[str, Any]", json.loads((folder / INDEX).read_bytes()))
        return {str(file) for array in said["arrays"].values() for file, _ in array["pieces"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
