"""How each operation treats the dimensions of its operands and results: which go together, element by element
or as a whole that is summed or compared, and which meet constants (bounds, offsets, orders) and so keep their
sizes.

This is read off the operation, not off the rules that sharding goes by. What is not listed keeps all its
sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from math import gcd, prod
from operator import mul
from typing import cast

from msgspec import Struct, field

from shardc.graph import Graph, Node, Region, walk
from shardc.graph.attrs import Dense
from shardc.layout import Axis, Mesh
from shardc.ops import OpDef, Trait, has, hlo, sdy
from shardc.proof.classes import Classes, Key
from shardc.proof.device_scalars import Known, on_devices, only_mesh
from shardc.proof.digits import Axes
from shardc.proof.joined import Joined, Stretch
from shardc.proof.products import Merge, Products
from shardc.proof.scattered import Blocks


class Program(Struct, dict=True):
    """One of the two programs, whose dimensions join the classes."""

    number: int
    graph: Graph
    classes: Classes
    together: dict[Key, int]
    axes: Axes
    sums: dict[int, tuple[int, tuple[int, ...]]] = {}
    """Node -> the number of an operand, and the dimensions of it that the node sums over."""
    known: Known = field(default_factory=Known)
    starts: dict[int, tuple[int, dict[int, int]]] = {}
    """Node -> a block; and number of an operand, which is a multiple of the block's size -> dimension."""
    places: dict[int, dict[int, tuple[Axis, ...]]] = {}
    """Node -> number of an operand that is a device's position over axes times the block's size -> them."""
    merges: list[Merge] = []
    """Dimensions of a value that are one of another, major to minor, and where."""
    uneven: set[Key] = set()
    ordered: set[Key] = set()
    """Dimensions of which the last block is padded, and those of which the greatest or the least is taken."""
    stretches: list[Stretch] = []
    blocks: list[Blocks] = []
    joined: Joined | None = None
    products: Products | None = None
    """Dimensions that are laid one after the other, and those that are flattened, once these are known."""

    @cached_property
    def mesh(self) -> Mesh | None:
        return only_mesh(self.graph)

    def key(self, value: int, dim: int) -> Key:
        return (self.number, value, dim)

    def shape(self, value: int) -> tuple[int, ...]:
        return self.graph.type(value).shape

    def link(self, left: tuple[int, int], right: tuple[int, int], ratio: int = 1) -> None:
        self.classes.link(self.key(*left), self.key(*right), ratio)

    def stretch(
        self, whole: tuple[int, int], start: int, part: tuple[int, int], begin: int, size: int, line: str
    ) -> None:
        """`size` elements of one dimension from `start` on are those of another from `begin` on."""
        if size > 0:
            self.stretches.append(Stretch(self.key(*whole), start, self.key(*part), begin, size, line))
        else:
            self.pin(whole[0], line, whole[1])
            self.pin(part[0], line, part[1])

    def split(self, left: tuple[int, int], axes: Sequence[Axis], right: tuple[int, int]) -> None:
        """One dimension is the other's blocks along axes, major to minor."""
        along = tuple(axis for axis in axes if axis.size > 1)
        self.axes.parts.update(dict.fromkeys(along))
        self.classes.split(self.key(*left), along, self.key(*right))

    def pin(self, value: int, reason: str, *dims: int) -> None:
        for dim in dims or range(len(self.shape(value))):
            self.classes.pin(self.key(value, dim), reason)

    def alike(self, left: int, right: int, dims: Sequence[int] | None = None) -> None:
        """Two values have the same dimensions, those named or all."""
        for dim in range(len(self.shape(left))) if dims is None else dims:
            self.link((left, dim), (right, dim))

    def read(self) -> None:
        """All operations of the program."""
        for value in self.graph.values:
            for dim, size in enumerate(value.type.shape):
                self.classes.add(self.key(value.id, dim), size)
        for function in self.graph.functions.values():
            self._region(function.body)

    def _region(self, region: Region) -> None:
        for node in region.nodes:
            self._note(node)
            treat = UNIFORM.get(node.name) or _by_trait(node.name)
            treat(self, node)
            inside = has(node.name, Trait.REGION) or node.name == sdy.named_computation.name
            for inner in node.regions if inside else ():
                self._region(inner)

    def _note(self, node: Node) -> None:
        """Keep what a scalar is on every device, if that follows from the device's number."""
        if self.mesh is not None and not node.regions:
            found = on_devices(self.graph, self.mesh, node, self.known)
            if found is not None:
                self.known[node.results[0]] = found

    def merge(self, merges: Sequence[Merge]) -> None:
        """Of dimensions that a reshape merges one may shrink: of the largest unit, and that need not stay."""
        classes = self.classes
        sizes, stay = classes.sizes, {classes.find(key)[0] for key in (*classes.pinned, *classes.whole)}
        common: dict[Key, int] = {}
        for key, size in sizes.items() if merges else ():
            root = classes.find(key)[0]
            common[root] = gcd(size, common.get(root, size))
        for keys, one, line in merges:
            stays = [classes.find(key)[0] in stay for key in keys]
            inners = [prod(sizes[key] for key in keys[at + 1 :]) for at in range(len(keys))]
            least = common.get(classes.find(one)[0], 1)
            units = [gcd(sizes[key], least // inner) for key, inner in zip(keys, inners, strict=True)]
            chosen = max(range(len(keys)), key=lambda at: (not stays[at], units[at], sizes[keys[at]], -at))
            for at, key in enumerate(keys):
                if at != chosen:
                    (classes.pinned if at > chosen else classes.whole).setdefault(key, line)
                    stay.add(classes.find(key)[0])
            either = stays[chosen] or classes.find(one)[0] in stay
            classes.split(one, tuple(keys[:chosen]), keys[chosen], inners[chosen])
            if either or one in classes.pinned:
                stay.add(classes.find(keys[chosen])[0])

    def indices(self, node: Node) -> list[Key]:
        """The dimensions that an operation has indices of at once: of its result, and summed over."""
        dims = [self.key(v, d) for v in node.results[:1] for d in range(len(self.shape(v)))]
        number, summed = self.sums.get(node.id, (0, ()))
        dims += [self.key(node.operands[number], d) for d in summed]
        joined = [piece for key in dims for piece in (self.joined.of(key) if self.joined else [key])]
        return [part for key in joined for part in (self.products.of(key) if self.products else [key])]

    def count(self) -> None:
        """How many indices of one class an operation has at once."""
        for node in self.nodes():
            dims = self.indices(node)
            roots = [self.classes.find(key)[0] for key in dims]
            for key, root in zip(dims, roots, strict=True):
                self.together[key] = max(self.together.get(key, 1), roots.count(root))

    def nodes(self) -> Iterator[Node]:
        """All operations."""
        for function in self.graph.functions.values():
            yield from walk(function.body)


Treatment = Callable[[Program, Node], None]

UNIFORM: dict[str, Treatment] = {}


def treats(*definitions: OpDef) -> Callable[[Treatment], Treatment]:
    def register(treatment: Treatment) -> Treatment:
        UNIFORM.update((definition.name, treatment) for definition in definitions)
        return treatment

    return register


def _by_trait(name: str) -> Treatment:
    if has(name, Trait.ELEMENTWISE):
        return _elementwise
    if has(name, Trait.IDENTITY):
        return _identity
    return _nothing if has(name, Trait.TERMINATOR) else opaque


def opaque(program: Program, node: Node) -> None:
    for value in (*node.operands, *node.results):
        program.pin(value, f"{node.name} in line {node.loc.line}")


def _nothing(program: Program, node: Node) -> None:
    pass


def _elementwise(program: Program, node: Node) -> None:
    (result,) = node.results
    for value in node.operands:
        if program.shape(value):
            program.alike(value, result)


def _identity(program: Program, node: Node) -> None:
    for operand, result in zip(node.operands, node.results, strict=True):
        program.alike(operand, result)


@treats(hlo.constant, sdy.constant)
def _constant(program: Program, node: Node) -> None:
    if not cast(Dense, node.attrs["value"]).is_splat:
        opaque(program, node)


@treats(hlo.iota)
def _iota(program: Program, node: Node) -> None:
    program.pin(node.results[0], f"iota in line {node.loc.line}", cast(int, node.attrs["iota_dimension"]))


@treats(hlo.broadcast_in_dim)
def _broadcast(program: Program, node: Node) -> None:
    (operand,), (result,) = node.operands, node.results
    for dim, to in enumerate(cast("tuple[int, ...]", node.attrs["broadcast_dimensions"])):
        if program.shape(operand)[dim] == program.shape(result)[to]:
            program.link((operand, dim), (result, to))


@treats(hlo.transpose)
def _transpose(program: Program, node: Node) -> None:
    for to, dim in enumerate(cast("tuple[int, ...]", node.attrs["permutation"])):
        program.link((node.operands[0], dim), (node.results[0], to))


@treats(hlo.reshape)
def _reshape(program: Program, node: Node) -> None:
    (operand,), (result,) = node.operands, node.results
    line = f"reshape in line {node.loc.line}"
    if 0 in program.shape(operand):
        for value in (operand, result):
            program.pin(value, line, *range(len(program.shape(value))))
        return
    for left, right in _matching(program.shape(operand), program.shape(result)):
        sides = [
            [program.key(value, dim) for dim in dims] for value, dims in ((operand, left), (result, right))
        ]
        parts = _parts(*([program.classes.sizes[key] for key in side] for side in sides))
        if len(left) == len(right) == 1:
            program.link((operand, left[0]), (result, right[0]))
        elif len(left) == 1 or len(right) == 1:
            one, keys = sorted(sides, key=len)
            program.merges.append((keys, one[0], line))
        elif parts is None:
            program.pin(operand, line, *left)
            program.pin(result, line, *right)
        else:
            _merge_parts(program, node.id, sides, parts, line)


def _parts(left: Sequence[int], right: Sequence[int]) -> list[int] | None:
    """Sizes of which those of both sides are products; None if their steps do not divide each other."""
    steps = sorted({step for sizes in (left, right) for step in accumulate(reversed(sizes), mul, initial=1)})
    if any(high % low for low, high in pairwise(steps)):
        return None
    return [high // low for low, high in pairwise(steps)][::-1]


def _merge_parts(
    program: Program, node: int, sides: Sequence[Sequence[Key]], parts: Sequence[int], line: str
) -> None:
    """A reshape of several dimensions to several, by parts of which each of either side is a product."""
    classes, keys = program.classes, list[Key]()
    for size in parts:
        keys.append((program.number, ~node, len(keys)))
        while keys[-1] in classes.above:
            keys[-1] = (*keys[-1][:2], keys[-1][2] + 1)
        classes.add(keys[-1], size)
    for side in sides:
        rest = list(keys)
        for one in side:
            own = [rest.pop(0)]
            while prod(classes.sizes[key] for key in own) < classes.sizes[one]:
                own.append(rest.pop(0))
            if len(own) == 1:
                classes.link(own[0], one)
            else:
                program.merges.append((own, one, line))


def _matching(left: Sequence[int], right: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The smallest runs of dimensions with equal products; dimensions of size 1 are left out."""
    a, b = ([d for d, size in enumerate(sizes) if size != 1] for sizes in (left, right))
    found: list[tuple[list[int], list[int]]] = []
    while a and b:
        one, two = [a.pop(0)], [b.pop(0)]
        while (x := prod(left[d] for d in one)) != (y := prod(right[d] for d in two)):
            if x < y:
                one.append(a.pop(0))
            else:
                two.append(b.pop(0))
        found.append((one, two))
    return found
