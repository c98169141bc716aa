"""Whether a product should go on while its operand or its sum travels: how long both ways take."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class Times(Protocol):
    """What a machine needs, in seconds; `flops` is how many operations a device does in one."""

    @property
    def flops(self) -> float: ...

    @property
    def launch(self) -> float:
        """For each further operation to start."""
        ...

    def collective(self, operation: str, devices: int, block_bytes: int) -> float:
        """For an all-gather of blocks, or a reduce-scatter to them."""
        ...

    def send(self, devices: int, block_bytes: int) -> float:
        """For each of a ring of devices to send a block to the next and one to the previous."""
        ...


LATENCY, BANDWIDTH, FLOPS, LAUNCH = 1e-6, 50e9, 275e12, 1e-6
"""A TPU v4's published peaks (Jouppi et al., ISCA 2023: 275 Tflop/s in bf16, links of 50 GB/s each way), and
a microsecond for what is not published."""


class RingMachine(Struct, frozen=True):
    """A machine by four numbers.

    Seconds before a message arrives, bytes per second that a device sends to one neighbour, its operations
    per second, and seconds that each further operation takes to start.
    """

    latency: float = LATENCY
    bandwidth: float = BANDWIDTH
    flops: float = FLOPS
    launch: float = LAUNCH

    def collective(self, operation: str, devices: int, block_bytes: int) -> float:
        """Blocks go both ways around the ring."""
        return (devices // 2) * self.send(devices, block_bytes)

    def send(self, devices: int, block_bytes: int) -> float:
        return self.latency + block_bytes / self.bandwidth


class OverlapWork(Struct, frozen=True):
    """A product of `flops` floating-point operations, in `products` operations, and its collective.

    It goes over a ring of `devices`, in which a block of `block_bytes` goes from neighbour to neighbour.
    """

    operation: str
    devices: int
    block_bytes: int
    flops: int
    products: int = 1

    @property
    def bytes(self) -> int:
        """What a device sends."""
        return (self.devices - 1) * self.block_bytes

    def apart(self, times: Times) -> float:
        """Seconds for the collective, and then for the product."""
        return times.collective(self.operation, self.devices, self.block_bytes) + self.flops / times.flops

    def together(self, times: Times) -> float:
        """Seconds for a send, then turns in which two blocks are multiplied while two are sent.

        As in Wang et al. (ASPLOS 2023): the longer of the two in each turn, and what smaller operations cost.
        """
        half, odd = divmod(self.devices, 2)
        one = self.flops / self.devices / times.flops + self.products * times.launch
        send = times.send(self.devices, self.block_bytes)
        return send + (half - 1 + odd) * max(send, 2 * one) + (one if odd else 2 * one)
