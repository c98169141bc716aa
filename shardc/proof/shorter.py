"""Axes along which devices send to their neighbours: a shorter one, with the same pairs at both ends.

    mesh x = 512, f32[65536@x]                                  mesh x = 8, f32[1024@x]
    slice %x [1:65536]                                          slice %x [1:1024]
    collective_permute over x, pairs (1, 0), …, (511, 510)  ->  pairs (1, 0), …, (7, 6)

A size, a bound, or the end of a run of pairs is q times the length of what the axis splits, and r: it becomes
q times the new length, and r (docs/proof.md). Blocks stay as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import cast

import numpy as np
from msgspec import Struct

from shardc.analysis.loops import Constants
from shardc.graph import Node
from shardc.layout import Axis
from shardc.layout.groups import group_of, position_over
from shardc.ops import Trait, has, hlo, sdy, spmd
from shardc.proof.classes import Classes, Key
from shardc.proof.joined import Stretch
from shardc.proof.reach import reach
from shardc.proof.uniform import Program
from shardc.proof.uniform_collectives import FOLDS, axes_of

NEAR = 4
"""A constant is at most so many blocks away from a multiple of the length."""

LEAST = 8
"""The least positions that are left."""

_SENDS = spmd.collective_permute.name

_BLOCKS = {d.name for d in (spmd.all_gather, spmd.all_slice, spmd.reduce_scatter, spmd.collective_permute)}

_ALONG = _BLOCKS | {d.name for d in (spmd.all_reduce, spmd.vary, spmd.assume_equal, spmd.axis_index)}

Pairs = Sequence[tuple[int, int]]

Masks = dict[tuple[int, int], tuple[Axis, int, int]]
"""Comparisons of positions along an axis with numbers, by program and node: the number's operand, and it."""


class Near(Struct, frozen=True):
    """What becomes of numbers near the multiples of a length; each element stands for so many in sums."""

    length: int
    new: int
    old: int
    stands_for: int

    @property
    def size(self) -> int:
        return self.place(self.old)

    @property
    def weights(self) -> list[int]:
        return [self.stands_for] * self.size

    def place(self, old: int) -> int:
        return near(old, self.length, self.new)


def near(number: int, length: int, new: int) -> int:
    """q times the new length and r, of a number that is q times a length and r."""
    turns = round(Fraction(number, length))
    return turns * new + number - turns * length


class Shorter(Struct):
    """One axis, in both programs. lengths: for every class of dimensions along it, the size of its blocks."""

    name: str
    count: int
    programs: Sequence[Program]
    classes: Classes
    lengths: dict[Key, int] = {}
    sums: bool = False
    """Whether something is summed along it."""
    folds: bool = False
    """Whether something is reduced along it."""
    far: Fraction = Fraction(0)
    """How many blocks the constants are from the ends."""
    masks: Masks = {}

    def find(self) -> int | None:
        """The length that is left; None if something along the axis has no such form, or that is too long."""
        if self.name in self.programs[0].axes.pinned:
            return None
        if not all(self._fits(node) for program in self.programs for node in program.nodes()):
            return None
        if not all(map(self._ends, self.programs)) or not self._dims():
            return None
        found = [reach(program, self.name, self.count, self._blocks(program)) for program in self.programs]
        if None in found:
            return None
        far = ceil(max(each for each in found if each is not None))
        least = max(LEAST, 2 * ceil(self.far) + (4 if self.folds else 2) * far + 3)
        divisors = (at for at in range(least, self.count // 2 + 1) if self.count % at == 0)
        return next(divisors, None)

    def _fits(self, node: Node) -> bool:
        if has(node.name, Trait.GROUPED, Trait.GLOBAL_COLLECTIVE):
            return False
        if node.name == sdy.manual_computation.name:
            return set(cast("tuple[str, ...]", node.attrs["manual_axes"])) == set(self.programs[0].axes.names)
        own = [axis for axis in axes_of(node) if axis.name == self.name]
        if not own or not has(node.name, Trait.ALONG_AXES):
            return True
        whole = own == [Axis(self.name, self.count)] and node.name in _ALONG
        if node.name == _SENDS and whole:
            ends = [end for run in runs(cast(Pairs, node.attrs["pairs"])) for end in run]
            return all(map(self._at_end, ends)) and len(axes_of(node)) == 1
        if node.name in FOLDS:
            self.folds = True
            self.sums = self.sums or node.attrs["kind"] == "sum"
            whole = whole and node.attrs["kind"] in ("sum", "max", "min")
        alone = node.name in _BLOCKS or node.name == spmd.axis_index.name
        return whole and (not alone or len(axes_of(node)) == 1)

    def _ends(self, program: Program) -> bool:
        """Whether positions along the axis are only compared with numbers near its ends."""
        assert program.mesh is not None
        axis, constants = Axis(self.name, self.count), Constants(program.graph).values
        at, others = position_over(program.mesh, (axis,)), group_of(program.mesh, (axis,))
        same = {value: bool((found == found[others]).all()) for value, found in program.known.items()}
        for node in program.nodes():
            results = [value for region in node.regions for value in region.results]
            varying = [value for value in (*node.operands, *results) if not same.get(value, True)]
            numbers = [value for value in varying if program.graph.type(value).dtype != "bool"]
            follows = len(node.results) == 1 and not same.get(node.results[0], True)
            if not numbers or (follows and program.graph.type(node.results[0]).dtype != "bool"):
                continue
            if node.name != hlo.compare.name or not np.array_equal(program.known[numbers[0]], at):
                return False
            number = 1 - node.operands.index(numbers[0])
            end = constants.get(node.operands[number])
            if end is None or not self._at_end(end):
                return False
            self.masks[program.number, node.id] = (axis, number, end)
        return True

    def _at_end(self, position: int) -> bool:
        """Whether a position is near an end of the axis."""
        far = min(abs(position), abs(self.count - position))
        self.far = max(self.far, Fraction(far))
        return far <= NEAR

    def _root(self, key: Key) -> Key:
        return self.classes.find(key)[0]

    def _dims(self) -> bool:
        """Find the dimensions along the axis, and whether all their sizes and bounds are of the form."""
        own = (Axis(self.name, self.count),)
        splits, todo = list[tuple[Key, Key]](), list[Key]()
        for left, parts, right in self.classes.splits:
            if any(isinstance(part, Axis) and part.name == self.name for part in parts):
                if parts != own:
                    return False
                splits.append((left, right))
        near: defaultdict[Key, set[Key]] = defaultdict(set)
        stretches = [stretch for program in self.programs for stretch in program.stretches]
        for stretch in stretches:
            one, other = (self._root(key) for key, _ in stretch.sides)
            near[one].add(other)
            near[other].add(one)
        for left, right in splits:
            block = self.classes.sizes[right]
            todo.append(self._root(left))
            while todo:
                root = todo.pop()
                if self.lengths.setdefault(root, block) != block:
                    return False
                todo += sorted(near[root] - self.lengths.keys())
        meets = [key for left, parts, right in self.classes.splits if parts != own for key in (left, right)]
        meets += [key for p in self.programs for keys, one, _ in p.merges for key in (*keys, one)]
        meets += [key for key in self.classes.pinned if key not in self.programs[key[0]].uneven]
        if any(self._root(key) in self.lengths for key in meets):
            return False
        bounds = [(key, size) for key, size in self.classes.sizes.items()]
        bounds += [(key, at + end) for s in stretches for key, at in s.sides for end in (0, s.size)]
        if not all(self._is_near(key, size) for key, size in bounds):
            return False
        return all(self._sums(program, node) for program in self.programs for node in program.nodes())

    def _is_near(self, key: Key, number: int) -> bool:
        block = self.lengths.get(self._root(key))
        if block is None:
            return True
        length = block * self.count
        far = Fraction(abs(near(number, length, 0)), block)
        if self.classes.sizes[key] > NEAR * block:
            self.far = max(self.far, far)
        return far <= NEAR

    def _sums(self, program: Program, node: Node) -> bool:
        """Sums are over blocks or parts of them, or over all that the axis splits."""
        number, dims = program.sums.get(node.id, (0, ()))
        if node.name == hlo.reduce.name:
            self.folds = self.folds or any(self._long(program, value) for value in node.operands)
        for dim in dims:
            if dim in self._long(program, node.operands[number]):
                self.sums = self.folds = True
                key = program.key(node.operands[number], dim)
                if self.classes.sizes[key] != self.lengths[self._root(key)] * self.count:
                    return False
        return True

    def _blocks(self, program: Program) -> list[tuple[Stretch, int]]:
        """The stretches of dimensions along the axis, and the sizes of their blocks."""
        found = [(each, self.lengths.get(self._root(each.whole))) for each in program.stretches]
        return [(each, block) for each, block in found if block is not None]

    def _long(self, program: Program, value: int) -> list[int]:
        """The dimensions of a value that are along the axis, and longer than blocks."""
        keys = [program.key(value, dim) for dim in range(len(program.shape(value)))]
        blocks = [self.lengths.get(self._root(key)) for key in keys]
        sizes = self.classes.sizes
        return [
            dim
            for dim, (key, block) in enumerate(zip(keys, blocks, strict=True))
            if block is not None and sizes[key] > NEAR * block
        ]

    def changes(self, left: int) -> dict[Key, Near]:
        """What becomes of the dimensions along the axis."""
        found: dict[Key, Near] = {}
        for key, size in self.classes.sizes.items():
            block = self.lengths.get(self._root(key))
            if block is not None and size > NEAR * block:
                found[key] = Near(block * self.count, block * left, size, self.count // left)
        return found

    def new_masks(self, left: int) -> Masks:
        """The masks with their new numbers."""
        new = Axis(self.name, left)
        return {key: (new, number, near(at, self.count, left)) for key, (_, number, at) in self.masks.items()}


def runs(pairs: Pairs) -> list[tuple[int, int, int]]:
    """Runs of neighbours that send equally far: the first, the end, and what the first sends to."""
    found: list[tuple[int, int, int]] = []
    for source, target in sorted(pairs):
        if found and source == found[-1][1] and target - source == found[-1][2] - found[-1][0]:
            found[-1] = (found[-1][0], source + 1, found[-1][2])
        else:
            found.append((source, source + 1, target))
    return found
