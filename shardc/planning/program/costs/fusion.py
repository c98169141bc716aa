"""What an operation reads from memory and writes to it, once operations are fused; by one static rule.

A chain of operations that make elements one by one (elementwise ones, broadcasts, slices, pads, joins, and
what makes values from nothing: iotas, constants) reads each of its inputs once, and writes what others use.
Of an input that is only sliced, the slices are read, of what is made from nothing none. Views (broadcasts,
slices, transposes) are made for each chain that uses them: two chains that use one transpose of a tensor read
the tensor twice. A reduction ends a chain, and so does an update in place: they take elements as they are
made. So does a reshape whose result is in memory: what is reshaped is there. A reshape of what is in memory
is no work, or a broadcast that is one, nor a transpose or slice for products alone, which read in any order
and a part as well as all, or a transpose of a product's result, which it leaves in any order.

    a = p[None, :] - p[:, None]; b = tanh(a); c = sum(b, axis=1)

reads p and writes c: a and b are never in memory.

A machine that does not fuse, as NumPy does not, runs one operation after the other: each reads its operands
from memory and writes its results there, but for views of others (broadcasts, slices, transposes) and what is
made from nothing; and an update makes a copy of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from shardc.graph import Node, Op
from shardc.ops import Trait, find, has, hlo, spmd
from shardc.ops.definition import Lying, Moved
from shardc.ops.rule_builder import ints
from shardc.planning.program.costs.lying import leaves_turned, lying

_MADE = (hlo.dynamic_slice.name, spmd.all_slice.name, spmd.to_partial.name)
"""They make elements one by one, beside those that have a trait that says so."""


class Traffic(Struct, frozen=True):
    """Numbers of the operands that an operation reads from memory, and of the results that it writes; how
    they lie, where that is not as written. `fused`: its users take its result as it is made, so that it is
    never in memory."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    lying: Lying | None = None
    fused: bool = False


_UPDATING = (hlo.dynamic_update_slice.name, hlo.scatter.name)
"""They change a part of their operand, or of a copy."""

_VIEWS = (
    hlo.broadcast_in_dim.name,
    hlo.slice_.name,
    hlo.transpose.name,
    hlo.dynamic_slice.name,
    spmd.all_slice.name,
)
"""They see a part of their operand, or see it in another order, without a copy."""

_READ = tuple(name for name in _VIEWS if name != hlo.broadcast_in_dim.name)
"""Products read what these see."""


def moved(op: Op, fuses: bool = True) -> Moved:
    """The bytes that an operation alone reads of each operand, and writes of each result."""
    definition = find(op.name)
    in_place = fuses or op.name not in _UPDATING
    if definition is not None and definition.work.moved is not None and in_place:
        return definition.work.moved(op)
    return tuple(type.nbytes for type in op.operands), tuple(type.nbytes for type in op.results)


def traffic(
    program: Iterable[tuple[Node, Op]], users: Mapping[int, list[Node]], fuses: bool = True
) -> dict[int, Traffic]:
    """Node id -> what it reads and writes, on a machine that fuses or not. `users` of values; those not in
    `program` read from memory."""
    ops = {node.id: (node, op) for node, op in program}
    makers = {value: node for node, _ in ops.values() for value in node.results}
    fused = set[int]()
    for value, maker in reversed(makers.items()):
        if (fuses or _is_seen(maker)) and _chained(maker):
            if all(u.id in ops and _goes_on(*ops[u.id], value, fused) for u in users.get(value, [])):
                fused.add(value)
    nodes = [node for node, _ in ops.values()]
    seen = _read_in_place(nodes, users)
    for node in nodes:
        if node.id in seen and node.operands[0] not in fused:
            fused.difference_update(node.results)  # it is where its operand is
    free = _from_nothing(nodes) if fuses else set[int]()
    chains = _chains(nodes, makers, users, fused, free)
    wanted: dict[tuple[int, int], list[_Read]] = {}
    for node, op in ops.values():
        amounts, _ = moved(op, fuses)
        for index, (value, amount) in enumerate(zip(node.operands, amounts, strict=True)):
            if value not in fused and amount and not (value in free and _takes(node, value)):
                read = _Read(node.id, index, amount, op.operands[index].nbytes)
                for chain in chains[node.id]:
                    wanted.setdefault((chain, value), []).append(read)
    reads = Counter((read.node, read.index) for found in wanted.values() for read in _once(found))
    found, lies = dict[int, Traffic](), lying(ops, users)
    for node, op in ops.values():
        own = tuple(index for index in range(len(node.operands)) for _ in range(reads[node.id, index]))
        stays = node.id in seen or _is_reshape(op) or leaves_turned(node, makers, users)
        found[node.id] = _of(node, own, fused, stays, lies.get(node.id))
    return found


def _chains(
    program: list[Node],
    makers: Mapping[int, Node],
    users: Mapping[int, list[Node]],
    fused: set[int],
    free: set[int],
) -> dict[int, set[int]]:
    """Node id -> the chains that an operation is in, by number: a view is in all those that use it, and what
    is made from nothing joins none."""
    seen = {value for value in fused if makers[value].name in _VIEWS}
    chain, origin = _Chains(), dict[int, int]()
    for node in program:
        for value in node.operands:
            value = origin.get(value, value)
            if value in fused and value not in free:
                chain.join(node.id, makers[value].id)
        if node.results and seen.issuperset(node.results):
            origin.update(dict.fromkeys(node.results, origin.get(node.operands[0], node.operands[0])))
    found = dict[int, set[int]]()
    for node in reversed(program):
        using = [user.id for value in node.results if value in seen for user in users.get(value, [])]
        found[node.id] = set().union(*(found[user] for user in using)) if using else {chain.find(node.id)}
    return found


def _from_nothing(program: list[Node]) -> set[int]:
    """The values that are made from nothing, which a chain makes again where others have them in memory."""
    found = set[int]()
    for node in program:
        if has(node.name, Trait.SOURCE) or (node.name in _VIEWS and found.issuperset(node.operands)):
            found.update(node.results)
    return found


class _Read(Struct, frozen=True):
    """Bytes that an operation wants of an operand of so many."""

    node: int
    index: int
    bytes: int
    all: int


def _once(found: list[_Read]) -> list[_Read]:
    """Of what a chain reads of one input, as many, the largest first, as are no more than all of it."""
    left, taken = found[0].all, list[_Read]()
    for read in sorted(found, key=lambda read: -read.bytes):
        if 2 * left >= read.bytes:  # most of it is not read yet
            taken.append(read)
            left -= read.bytes
    return taken


def _read_in_place(program: list[Node], users: Mapping[int, list[Node]]) -> set[int]:
    """The transposes and slices that are for products alone, which read their operands in another order, or a
    part of them."""
    found = set[int]()
    for node in reversed(program):
        if node.name in _READ:
            using = (user for value in node.results for user in users.get(value, []))
            if all(user.id in found or has(user.name, Trait.PRODUCT) for user in using):
                found.add(node.id)
    return found


def _is_reshape(op: Op) -> bool:
    """Whether a result has the elements of the operand in their order."""
    if op.name == hlo.broadcast_in_dim.name:
        dims = ints(op, "broadcast_dimensions")
        return op.operands[0].size == op.results[0].size and list(dims) == sorted(dims)
    return op.name == hlo.reshape.name


def _of(node: Node, reads: tuple[int, ...], fused: set[int], stays: bool, lying: Lying | None) -> Traffic:
    """`stays`: the result is the operand, where that is in memory."""
    writes = tuple(i for i, value in enumerate(node.results) if value not in fused)
    where_it_is = stays and node.operands[0] not in fused
    return Traffic((), (), lying) if where_it_is and writes else Traffic(reads, writes, lying, not writes)


def _chained(node: Node) -> bool:
    """Whether what an operation makes can be made again wherever it is used."""
    traits = (Trait.ELEMENTWISE, Trait.SOURCE, Trait.VIEW, Trait.MOVES)
    return (node.name in _MADE or has(node.name, *traits)) and len(node.results) == 1


def _is_seen(maker: Node) -> bool:
    """Whether a value is a view of another, or made from nothing."""
    return maker.name in _VIEWS or has(maker.name, Trait.SOURCE)


def _takes(node: Node, value: int) -> bool:
    """Whether an operation can take the elements of an operand as they are made."""
    if node.name == hlo.dynamic_update_slice.name:
        return value != node.operands[0]
    return _chained(node) or node.name == hlo.reduce.name


def _goes_on(node: Node, op: Op, value: int, fused: set[int]) -> bool:
    """The same, and a reshape of what is in memory itself is where its operand is."""
    return _takes(node, value) and (not _is_reshape(op) or fused.issuperset(node.results))


class _Chains:
    """Operations that are one chain, by number."""

    def __init__(self) -> None:
        self.parent: dict[int, int] = {}

    def find(self, node: int) -> int:
        while node in self.parent:
            node = self.parent[node]
        return node

    def join(self, node: int, other: int) -> None:
        node, other = self.find(node), self.find(other)
        if node != other:
            self.parent[max(node, other)] = min(node, other)
