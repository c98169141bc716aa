"""Matrix products that go on while their operands, or their sums, travel around a ring of devices.

all_gather, then product: a device multiplies the blocks that it has while it passes them on, so that the next
are there when it is done (Wang et al., ASPLOS 2023). Product, then reduce_scatter: a device adds its part of
a sum to what comes by, and passes it on. Half of the blocks, or of the sums, go each way around the ring, so
that links in both directions are busy. Together they are as many bytes as the collective sends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from shardc.forms.exchange import DeviceLine
from shardc.forms.ring import Ring
from shardc.forms.site import INDEX, scalar
from shardc.graph import TensorType
from shardc.ops import hlo


class Cut(Struct, frozen=True):
    """A dimension of a tensor that is cut into blocks of `size` elements, one per position."""

    dim: int
    size: int

    def take(self, ring: Ring, value: Any, position: Any) -> Any:
        """The block of a position."""
        line = DeviceLine(ring.builder, self.dim, ring.axes)
        return line.dynamic_slice(value, self._start(ring, position), self.size)

    def put(self, ring: Ring, value: Any, block: Any, position: Any) -> Any:
        """The value with another block for a position."""
        b = ring.builder
        start, zero = self._start(ring, position), scalar(b, 0, INDEX)
        starts = [start if dim == self.dim else zero for dim in range(b.type_of(value).rank)]
        return b.one(hlo.dynamic_update_slice.name, value, block, *starts)

    def _start(self, ring: Ring, position: Any) -> Any:
        if self.size == 1:
            return position
        start = ring.builder.one(hlo.multiply.name, position, scalar(ring.builder, self.size, INDEX))
        ring.label(start, "start", None)
        return start


class Product(Struct, frozen=True):
    """A product of a gathered operand, of type `type`.

    `cut` says where the product of a block goes in it; None means that the products of all blocks add up.
    """

    type: TensorType
    cut: Cut | None
    name: str

    def start(self, ring: Ring) -> Any | None:
        """The product before any block; None where the first block's is a start."""
        if ring.unrolled and self.cut is None:
            return None
        zeros = scalar(ring.builder, 0, self.type)
        ring.label(zeros, "zeros", None)
        return zeros

    def add(self, ring: Ring, product: Any | None, part: Any, position: Any) -> Any:
        """The product with the part that the block of a position has in it."""
        if self.cut:
            part = self.cut.put(ring, product, part, position)
        elif product is not None:
            part = ring.builder.one(hlo.add.name, product, part)
        ring.label(part, self.name, None)
        return part


class RingTransfer(Struct, frozen=True):
    """What goes around the ring: what it is called, and why it is sent, the first time and after that."""

    ring: Ring
    name: str
    first: str
    next: str

    def forward(self, value: Any, distance: int = 0, first: bool = False) -> Any:
        """To the next position; what comes is from behind, `distance` positions if that is known."""
        return self._send(value, 1, "behind", distance, first)

    def backward(self, value: Any, distance: int = 0, first: bool = False) -> Any:
        """To the previous position; what comes is from ahead."""
        return self._send(value, -1, "ahead", distance, first)

    def _send(self, value: Any, shift: int, side: str, distance: int, first: bool) -> Any:
        often = "" if self.ring.unrolled else f", in each of {_half(self.ring) - 1} turns"
        sent = self.ring.send(value, shift)
        far = f"_{distance}" if distance and self.ring.unrolled else ""
        return self.label(sent, side + far, self.first if first else f"{self.next} from {side}{often}")

    def label(self, value: Any, side: str, reason: str | None = None) -> Any:
        """The value, called what comes from that side."""
        self.ring.label(value, f"{self.name}_{side}", reason)
        return value


def gathered(
    block: Any,
    products: Sequence[Product],
    multiply: Callable[[Any, Any], Sequence[Any]],
    transfer: RingTransfer,
) -> list[Any]:
    """The products of the gathered block; multiply(block, its position) gives each product's part of it.

    In turn i a device multiplies the blocks of the positions i ahead and i + 1 behind, while it passes them
    on. In a ring of odd size there is one more, the farthest ahead.
    """
    ring, half = transfer.ring, _half(transfer.ring)

    def add(block: Any, position: Any, done: Sequence[Any]) -> list[Any]:
        triples = zip(products, done, multiply(block, position), strict=True)
        return [product.add(ring, so_far, part, position) for product, so_far, part in triples]

    def both(number: Any, ahead: Any, behind: Any, done: Sequence[Any]) -> list[Any]:
        done = add(ahead, ring.ahead(0, number), done)
        return add(behind, ring.behind(1, number), done)

    def iteration(number: Any, ahead: Any, behind: Any, *done: Any) -> list[Any]:
        far = number if isinstance(number, int) else 0
        arriving = transfer.backward(ahead, far + 1), transfer.forward(behind, far + 2)
        return [*arriving, *both(number, ahead, behind, done)]

    behind = transfer.forward(block, 1, first=True)
    starts = [product.start(ring) for product in products]
    ahead, behind, *done = ring.iterate(half - 1, [block, behind, *starts], iteration)
    last = transfer.backward(ahead, half) if ring.size % 2 else None
    done = both(half - 1, ahead, behind, done)
    return done if last is None else add(last, ring.ahead(half, 0), done)


def scattered(part: Callable[[Any], Any], transfer: RingTransfer) -> Any:
    """This device's block of a sum over the ring; part(position) is what it adds to the sum of a position.

    The sum for a position starts at the two devices opposite to it; each adds its part to what comes from
    behind, or ahead, and passes it on, while the next part is multiplied.
    """
    ring, half = transfer.ring, _half(transfer.ring)

    def add(side: str, come: Any, part: Any) -> Any:
        return transfer.label(ring.builder.one(hlo.add.name, come, part), side)

    def iteration(number: Any, behind: Any, ahead: Any) -> list[Any]:
        behind, ahead = transfer.forward(behind), transfer.backward(ahead)
        return [
            add("behind", behind, part(ring.behind(2 - half, number))),
            add("ahead", ahead, part(ring.ahead(1 - half, number))),
        ]

    ahead = transfer.label(part(ring.ahead(-half, 0)), "ahead")
    if ring.size % 2:
        behind = add("behind", transfer.forward(part(ring.ahead(half, 0))), part(ring.ahead(half - 1, 0)))
    else:
        behind = transfer.label(part(ring.ahead(half - 1, 0)), "behind")
    behind, ahead = ring.iterate(half - 1, [behind, ahead], iteration)
    return ring.builder.one(hlo.add.name, behind, transfer.backward(ahead, first=True))


def _half(ring: Ring) -> int:
    return ring.size // 2
