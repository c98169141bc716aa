"""MindSpore's Layout as an object, with every check that MindSpore makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from shardc.layout.mesh import LayoutError, mesh_of_ranks
from shardc.layout.notations.ranks import count_of
from shardc.layout.sharding import Dim, Sharding

NONE = "None"
INTERLEAVED = "interleaved_parallel"

Entry = str | tuple[str, ...]


class Layout(Struct, frozen=True):
    """A device matrix with named dimensions and, once called with one, a tensor map.

    Its constructor raises LayoutError wherever MindSpore raises TypeError or ValueError.
    """

    device_matrix: tuple[int, ...]
    alias_name: tuple[str, ...]
    rank_list: list[int] | None = None
    tensor_map: tuple[Entry, ...] | None = None

    def __post_init__(self) -> None:
        _check_matrix(self.device_matrix, self.alias_name)
        _check_aliases(self.alias_name)
        if self.rank_list is not None:
            _check_ranks(self.rank_list, self.devices)
        if self.tensor_map is not None:
            _check_map(self.tensor_map, self.alias_name)

    def __call__(self, *tensor_map: Entry) -> Layout:
        """The same devices with a tensor map: one entry per dimension of the tensor."""
        return replace(self, tensor_map=tensor_map)

    @property
    def interleaved(self) -> int:
        """How many copies a device splits its part into; 1 without interleaved_parallel."""
        return self.device_matrix[-1] if INTERLEAVED in self.alias_name else 1

    @property
    def devices(self) -> int:
        """The number of devices."""
        return count_of(self.device_matrix) // self.interleaved

    @property
    def ranks(self) -> list[int]:
        """The device at each position of the matrix."""
        return list(range(self.devices)) if self.rank_list is None else self.rank_list

    @property
    def entries(self) -> tuple[tuple[str, ...], ...]:
        """Per dimension of the tensor the aliases that split it. LayoutError without a tensor map."""
        if self.tensor_map is None:
            raise LayoutError("The tensor_map of layout is None: call the layout with one")
        tuples = [entry if isinstance(entry, tuple) else (entry,) for entry in self.tensor_map]
        return tuple(tuple(alias for alias in entry if alias != NONE) for entry in tuples)

    def number_of(self, alias: str) -> int:
        """An alias as MindSpore stores it: its place from the right, -1 for "None"."""
        return -1 if alias == NONE else len(self.alias_name) - 1 - self.alias_name.index(alias)

    def to_dict(self) -> dict[str, object]:
        """As MindSpore's `to_dict`: the tensor map in integers. LayoutError without a tensor map."""
        if self.tensor_map is None:
            raise LayoutError("The tensor_map of layout is None: call the layout with one")
        numbers = tuple(
            tuple(map(self.number_of, entry)) if isinstance(entry, tuple) else self.number_of(entry)
            for entry in self.tensor_map
        )
        return {
            "device_matrix": self.device_matrix,
            "tensor_map": numbers,
            "interleaved_parallel": INTERLEAVED in self.alias_name,
            "alias_name": self.alias_name,
            "rank_list": self.ranks,
        }

    def sharding(self) -> Sharding:
        """The same as a sharding. LayoutError if a device would hold separate parts of the tensor."""
        names = [alias for alias in self.alias_name if alias != INTERLEAVED]
        mesh = mesh_of_ranks("mesh", tuple(zip(names, self.device_matrix, strict=False)), self.ranks)
        for i, entry in enumerate(self.entries):
            if INTERLEAVED in entry[:-1]:
                raise LayoutError(
                    f"{INTERLEAVED} splits dimension {i} before {entry[-1]} does, so that each device holds "
                    f"{self.interleaved} separate parts; no sharding says that"
                )
        dims = [Dim(tuple(mesh.axis(a) for a in entry if a != INTERLEAVED)) for entry in self.entries]
        return Sharding(mesh, tuple(dims)).check()

    def __str__(self) -> str:
        ranks = "" if self.rank_list is None else f", rank_list={self.rank_list}"
        text = f"Layout({self.device_matrix}, {_tuple(self.alias_name)}{ranks})"
        return text if self.tensor_map is None else text + _tuple(self.tensor_map, call=True)


def _check_matrix(matrix: object, names: object) -> None:
    if not isinstance(matrix, tuple):
        raise LayoutError(f"device_matrix must be tuple type, not {matrix!r}")
    if not isinstance(names, tuple):
        raise LayoutError(f"alias_name must be tuple type, not {names!r}")
    sizes = cast("tuple[object, ...]", matrix)
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise LayoutError(f"The element of device_matrix must be a positive int, not {size!r}")
    if len(sizes) != len(cast("tuple[object, ...]", names)):
        raise LayoutError("device_matrix length should be equal to alias_name length")
    if not sizes:
        raise LayoutError("device_matrix is empty")


def _check_aliases(names: tuple[object, ...]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise LayoutError(f"The element of alias_name must be str type, not {name!r}")
        if not name.strip():
            raise LayoutError("The element of alias_name can not be empty")
        if name == NONE:
            raise LayoutError("The element of alias_name can not set 'None': it means not split")
    if len(set(names)) != len(names):
        raise LayoutError(f"Each element of alias_name {names} should be different")
    if INTERLEAVED in names[:-1]:
        raise LayoutError(f"{INTERLEAVED} should be the last of alias_name: it splits within a device")


def _check_ranks(ranks: object, devices: int) -> None:
    if not isinstance(ranks, list):
        raise LayoutError(f"The rank_list should be a list, not {ranks!r}")
    items = cast("list[object]", ranks)
    for rank in items:
        if not isinstance(rank, int) or isinstance(rank, bool) or rank < 0:
            raise LayoutError(f"The element of rank_list should be a device number, not {rank!r}")
    if len(items) != devices:
        raise LayoutError(
            f"The length of rank_list should be equal to the product of device_matrix: {devices}, "
            f"not {len(items)}"
        )
    if len(set(items)) != len(items):
        raise LayoutError("The elements of rank_list should be different")


def _check_map(tensor_map: tuple[object, ...], names: tuple[str, ...]) -> None:
    seen: set[object] = set()
    for i, entry in enumerate(tensor_map):
        aliases = cast("tuple[object, ...]", entry if isinstance(entry, tuple) else (entry,))
        for alias in aliases:
            if not isinstance(alias, str):
                raise LayoutError(
                    f"entry {i} of the tensor map must be an alias or a tuple of them, not {entry!r}"
                )
            if alias != NONE and alias not in names:
                raise LayoutError(f"{alias!r} of dimension {i} is not in alias_name {names}")
            if alias in seen:
                raise LayoutError(f"{alias!r} of dimension {i} is used twice in the tensor map")
            if alias != NONE:
                seen.add(alias)


def _tuple(items: Sequence[Entry], call: bool = False) -> str:
    texts = [_tuple(item) if isinstance(item, tuple) else f'"{item}"' for item in items]
    return f"({', '.join(texts)}{',' if len(texts) == 1 and not call else ''})"
