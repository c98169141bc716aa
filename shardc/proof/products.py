"""Dimensions that are flattened of others and taken apart again: an element is one of each of several.

    %f = reshape %w          f32[512, 2048] -> f32[1048576]
    %s = all_reduce %f
    %g = reshape %s          f32[1048576] -> f32[512, 2048]
 -> f32[3, 3] -> f32[9] -> f32[3, 3]

So each class that is flattened shrinks by itself, and so many elements stand for one as the product says. A
dimension that is split over devices, or taken apart in several ways, is none of these: there one
class shrinks (Program.merge).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod

from msgspec import Struct

from shardc.proof.classes import Classes, Key, Shrunk

Merge = tuple[list[Key], Key, str]
"""Dimensions, major to minor, that are one, and the line of the reshape."""


class Product(Struct, frozen=True):
    """What becomes of a dimension that is others, major to minor: their sizes, and what becomes of these."""

    parts: tuple[tuple[int, Shrunk | None], ...]

    @property
    def size(self) -> int:
        return prod(size if change is None else change.size for size, change in self.parts)

    @property
    def weights(self) -> list[int]:
        """How many elements each of the new ones stands for."""
        found = [1]
        for size, change in self.parts:
            row = [1] * size if change is None else change.weights
            found = [weight * each for weight in found for each in row]
        return found

    def place(self, old: int) -> int:
        """Where it begins, or ends, which were these places."""
        return {0: 0, prod(size for size, _ in self.parts): self.size}[old]


class Products(Struct):
    """The dimensions that are products. parts: of each class; owners: the class of each."""

    classes: Classes
    parts: dict[Key, list[Key]] = {}
    owners: dict[Key, Key] = {}

    def find(self, merges: Sequence[Merge]) -> list[Merge]:
        """The merges of all other dimensions."""
        classes, groups = self.classes, defaultdict[Key, list[Merge]](list)
        unlike = {self._root(key) for key in (*classes.pinned, *classes.whole)}
        members = [(key, self._root(key)) for key in classes.above]
        unlike |= {root for key, root in members if classes.sizes[key] != classes.sizes[root]}
        unlike |= {self._root(key) for keys, _, _ in merges for key in keys}
        for merge in merges:
            groups[self._root(merge[1])].append(merge)
        for root, group in groups.items():
            sizes = {tuple(classes.sizes[key] for key in keys) for keys, _, _ in group}
            if root not in unlike and len(sizes) == 1:
                self.parts[root] = group[0][0]
        self.owners = {key: root for key, root in members if root in self.parts}
        for root, first in self.parts.items():
            for keys, _, _ in groups[root]:
                for left, right in zip(keys, first, strict=True):
                    classes.link(left, right)
        return [merge for merge in merges if merge[1] not in self.owners]

    def of(self, key: Key) -> list[Key]:
        """The parts of a dimension, or itself."""
        return self.parts[self.owners[key]] if key in self.owners else [key]

    def changes(self, found: Mapping[Key, Shrunk]) -> dict[Key, Product]:
        """The dimensions of which a part shrinks."""
        made = {
            root: Product(tuple((self.classes.sizes[part], found.get(part)) for part in parts))
            for root, parts in self.parts.items()
            if any(part in found for part in parts)
        }
        return {key: made[root] for key, root in self.owners.items() if root in made}

    def _root(self, key: Key) -> Key:
        return self.classes.find(key)[0]
