"""Windows of convolutions and poolings: strides, dilations and padding as the attributes say."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Node

Pairs = tuple[tuple[int, int], ...]


class Window(Struct, frozen=True):
    """One window per position; all tuples have an entry per spatial dimension."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: Pairs
    extra: tuple[int, ...]
    """What ceil_mode adds behind the padding."""

    @property
    def reach(self) -> tuple[int, ...]:
        """How far a window goes, its holes included."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    @property
    def padding(self) -> Pairs:
        """The padding with what ceil_mode adds."""
        return tuple((low, high + more) for (low, high), more in zip(self.pads, self.extra, strict=True))

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of positions."""
        return tuple(
            max(0, (size + low + high - reach) // stride + 1)
            for size, (low, high), reach, stride in zip(
                self.sizes, self.padding, self.reach, self.strides, strict=True
            )
        )


def window(n: Node, sizes: Sequence[int], kernel: Sequence[int]) -> Window:
    """The window of a node over these spatial sizes."""
    rank = len(sizes)
    strides = _per_dim(n, "strides", rank)
    dilations = _per_dim(n, "dilations", rank)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = padding(n, sizes, reach, strides)
    extra = [0] * rank
    if n.int("ceil_mode"):
        for i, (low, high) in enumerate(pads):
            span = sizes[i] + low + high - reach[i]
            count = -(-span // strides[i]) + 1
            if (count - 1) * strides[i] >= sizes[i] + low:  # a window that would begin in the padding
                count -= 1
            extra[i] = max(0, (count - 1) * strides[i] - span)
    return Window(tuple(sizes), tuple(kernel), strides, dilations, pads, tuple(extra))


def padding(n: Node, sizes: Sequence[int], reach: Sequence[int], strides: Sequence[int]) -> Pairs:
    """(low, high) per dimension, given or as auto_pad says."""
    rank, auto = len(sizes), n.text("auto_pad", "NOTSET")
    if auto == "VALID":
        return ((0, 0),) * rank
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max(0, (-(-size // stride) - 1) * stride + far - size)
            for size, far, stride in zip(sizes, reach, strides, strict=True)
        ]
        halves = [(total // 2, total - total // 2) for total in totals]
        return tuple(halves) if auto == "SAME_UPPER" else tuple((b, a) for a, b in halves)
    pads = n.ints("pads") or (0,) * (2 * rank)
    if len(pads) != 2 * rank or min(pads, default=0) < 0:
        raise Invalid(f"pads {list(pads)} for {rank} spatial dimensions")
    return tuple(zip(pads[:rank], pads[rank:], strict=True))


def _per_dim(n: Node, name: str, rank: int) -> tuple[int, ...]:
    values = n.ints(name) or (1,) * rank
    if len(values) != rank or min(values, default=1) < 1:
        raise Invalid(f"{name} {list(values)} for {rank} spatial dimensions")
    return values
