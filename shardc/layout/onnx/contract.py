"""Validity and inference of ONNX shardings for operations that are loops over labelled axes.

Broadcast, reduction and matrix product are all of one form: the axes of the inputs carry labels, axes with
the same label run together, and labels that the output lacks are summed over. So MatMul is [m, k] x [k, n] ->
[m, n]. The formalism's rules then read:

- axes with the same label are split alike; a broadcast axis of size 1 is not split;
- what is computed for one choice of shards is computed where all of them are: on the intersection of their
  devices, which may not be empty. If one input is split along all labels, then on all devices that hold it;
- an output shard is on all devices that computed a part of it, after they have combined their parts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from shardc.layout.mesh import LayoutError
from shardc.layout.notations.onnx_spec import (
    MOST_SHARDS,
    ShardedDim,
    ShardingSpec,
    SimpleShard,
    spec_of_holders,
)
from shardc.layout.onnx.symbols import Size, Symbols

Label = Hashable
Factors = tuple[SimpleShard, ...]
Index = tuple[int, ...]


class Tensor(Struct, frozen=True):
    """A tensor of an operation; without a specification it is whole, wherever it is needed.

    Sizes may be symbols. `value` is the content of a constant list of numbers, such as a reduction's axes.
    """

    shape: tuple[Size, ...]
    spec: ShardingSpec | None = None
    value: tuple[int, ...] | None = None

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def split(self) -> dict[int, Factors]:
        """Axis -> its factors, for the axes that are split."""
        if self.spec is None:
            return {}
        axes = self.spec.axes(self.rank)
        dims = zip(axes, self.spec.sharded_dim, strict=True)
        return {axis: dim.simple_sharding for axis, dim in dims if dim.num_shards > 1}


class Reduction(Struct, frozen=True):
    """Shard number `shard` of the output is combined from parts; the devices parts[p] have the p-th."""

    shard: int
    parts: tuple[tuple[int, ...], ...]


class Inference(Struct, frozen=True):
    """The output's specification (None: whole, wherever it is needed), and what must be combined for it."""

    spec: ShardingSpec | None
    reductions: tuple[Reduction, ...] = ()
    combine: str = ""
    shape: tuple[Size, ...] = ()

    def on_distinguished(self, device: int | None = None) -> Inference:
        """The same with each reduced shard on one device only: `device`, or the first that computes a part.

        By default all devices that take part in a reduction get its result; this is the formalism's other
        choice. LayoutError if nothing is reduced, or if `device` takes no part.
        """
        if self.spec is None or not self.reductions:
            raise LayoutError("nothing is reduced over devices, so there is no distinguished device")
        holders = list(self.spec.holders())
        for reduction in self.reductions:
            members = sorted({member for part in reduction.parts for member in part})
            if device is not None and device not in members:
                raise LayoutError(f"device {device} takes no part in the reduction over devices {members}")
            holders[reduction.shard] = (members[0] if device is None else device,)
        return replace(self, spec=spec_of_holders(self.spec.sharded_dim, holders))


def contract(
    tensors: Sequence[Tensor],
    labels: Sequence[Sequence[Label | None]],
    output: Sequence[Label | None],
    names: Sequence[str] | None = None,
    symbols: Symbols | None = None,
) -> Inference:
    """The output of an operation whose input t has `labels[t]` on its axes, and whose output has `output`.

    None labels an axis of size 1 that is broadcast or new. `names` are what errors call the inputs, as ONNX
    numbers them. LayoutError with the reason if sizes or specifications of the inputs don't go together.
    """
    names = names or [f"input {number}" for number in range(len(tensors))]
    sizes = _sizes(tensors, labels, names, symbols or Symbols())
    shape = tuple(1 if label is None else sizes[label] for label in output)
    return replace(_inferred(tensors, labels, output, names), shape=shape)


def _inferred(
    tensors: Sequence[Tensor],
    labels: Sequence[Sequence[Label | None]],
    output: Sequence[Label | None],
    names: Sequence[str],
) -> Inference:
    factors = _factors(tensors, labels, names)
    kept = [label for label in output if label is not None and label in factors]
    summed = [label for label in factors if label not in kept]
    order = [*kept, *summed]
    if prod(_count(f) for f in factors.values()) > MOST_SHARDS:
        raise LayoutError(f"the operation has more than {MOST_SHARDS} combinations of shards")
    if not any(tensor.spec and tensor.spec.device for tensor in tensors):
        return Inference(None)
    holders = [_holders(names[i], tensor, labels[i]) for i, tensor in enumerate(tensors)]
    found: dict[Index, list[tuple[int, ...]]] = {}
    for index in product(*(range(_count(factors[label])) for label in order)):
        place = dict(zip(order, index, strict=True))
        found.setdefault(index[: len(kept)], []).append(_together(holders, place))
    dims = [ShardedDim(axis, factors[label]) for axis, label in enumerate(output) if label in kept]
    groups = [tuple(sorted({device for part in parts for device in part})) for parts in found.values()]
    reductions = tuple(Reduction(i, tuple(parts)) for i, parts in enumerate(found.values()) if summed)
    return Inference(spec_of_holders(dims, groups), reductions)


class _Holders(Struct, frozen=True):
    """Who holds the shards of one input: by their places along the labels, in the order of `labels`."""

    name: str
    labels: tuple[Label, ...]
    devices: dict[Index, frozenset[int]]

    def at(self, place: dict[Label, int]) -> frozenset[int]:
        return self.devices[tuple(place[label] for label in self.labels)]

    def shard(self, place: dict[Label, int]) -> str:
        index = [place[label] for label in self.labels]
        return f"shard {index} of {self.name}" if index else self.name


def _sizes(
    tensors: Sequence[Tensor],
    labels: Sequence[Sequence[Label | None]],
    names: Sequence[str],
    symbols: Symbols,
) -> dict[Label, Size]:
    """The size of each label; LayoutError unless all axes with it have the same."""
    found: dict[Label, tuple[str, Size]] = {}
    for tensor, name, own in zip(tensors, names, labels, strict=True):
        for axis, (label, size) in enumerate(zip(own, tensor.shape, strict=True)):
            if label is None:
                continue
            place, other = found.setdefault(label, (f"axis {axis} of {name}", size))
            try:
                symbols.unify(other, size)
            except LayoutError:
                raise LayoutError(
                    f"axis {axis} of {name} has size {symbols.text(size)}, {place} "
                    f"{symbols.text(other)}; they run together"
                ) from None
    return {label: symbols.resolve(size) for label, (_, size) in found.items()}


def _factors(
    tensors: Sequence[Tensor], labels: Sequence[Sequence[Label | None]], called: Sequence[str]
) -> dict[Label, Factors]:
    """How each label is split; LayoutError unless all axes with it are split alike."""
    seen: dict[Label, tuple[int, int, Factors]] = {}
    for t, (tensor, names) in enumerate(zip(tensors, labels, strict=True)):
        split = tensor.split
        for axis, label in enumerate(names):
            mine = split.get(axis, ())
            if label is None:
                if mine:
                    raise LayoutError(
                        f"axis {axis} of {called[t]} is broadcast and must be whole, not {_text(mine)}"
                    )
                continue
            first, first_axis, theirs = seen.setdefault(label, (t, axis, mine))
            if _comparable(mine) != _comparable(theirs):
                raise LayoutError(
                    f"axis {axis} of {called[t]} is {_text(mine)}, axis {first_axis} of {called[first]} is "
                    f"{_text(theirs)}; they run together and must be split alike"
                )
    return {label: factors for label, (_, _, factors) in seen.items() if factors}


def _holders(name: str, tensor: Tensor, names: Sequence[Label | None]) -> _Holders:
    """Of the input called `name`; no devices if it is whole wherever it is needed."""
    spec = tensor.spec
    if spec is None or not spec.device:
        return _Holders(name, (), {})
    counts = [range(dim.num_shards) for dim in spec.sharded_dim]
    split = [(i, names[axis]) for i, axis in enumerate(spec.axes(tensor.rank)) if len(counts[i]) > 1]
    devices = {
        tuple(index[i] for i, _ in split): frozenset(group)
        for index, group in zip(product(*counts), spec.holders(), strict=True)
    }
    return _Holders(name, tuple(label for _, label in split), devices)


def _together(holders: Sequence[_Holders], place: dict[Label, int]) -> tuple[int, ...]:
    """The devices that hold all shards of one choice, ascending."""
    known = [holder for holder in holders if holder.devices]
    common = frozenset[int].intersection(*(holder.at(place) for holder in known))
    if not common:
        shards = " and ".join(holder.shard(place) for holder in known)
        raise LayoutError(f"no device holds {shards} together; the specifications cannot be composed")
    for holder in known:
        if len(holder.labels) == len(place) and (extra := holder.at(place) - common):
            lacking = next(other for other in known if extra - other.at(place))
            device = min(extra - lacking.at(place))
            raise LayoutError(f"device {device} holds {holder.shard(place)}, but not {lacking.shard(place)}")
    return tuple(sorted(common))


def _count(factors: Factors) -> int:
    return prod(factor.num_shards for factor in factors)


def _comparable(factors: Factors) -> tuple[object, ...]:
    """Factors without what doesn't matter: the size of a lone one."""
    return tuple((f.num_shards, f.dim if len(factors) > 1 else None) for f in factors)


def _text(factors: Factors) -> str:
    if not factors:
        return "whole"
    if len(factors) == 1:
        return f"in {factors[0].num_shards} shards"
    return "in " + " x ".join(f"{f.num_shards} shards of {f.dim}" for f in factors)
