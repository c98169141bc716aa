"""What a machine can do, as far as it decides whether a product should go on while its operand travels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """Of one device: seconds before a message arrives, bytes per second that it sends to one neighbour,

    floating-point operations per second, and seconds that each further operation takes to start. The
    defaults are a TPU v4's published peaks (Jouppi et al., ISCA 2023: 275 Tflop/s in bf16, links of 50 GB/s
    each way) and a microsecond for what is not published.
    """

    latency: float = 1e-6
    bandwidth: float = 50e9
    flops: float = 275e12
    launch: float = 1e-6


@dataclass(frozen=True)
class Work:
    """A product of `flops` floating-point operations, in `products` operations, and its collective over a

    ring of `devices`, in which a block of `block_bytes` goes from neighbour to neighbour.
    """

    devices: int
    block_bytes: int
    flops: int
    products: int = 1

    @property
    def bytes(self) -> int:
        """What a device sends."""
        return (self.devices - 1) * self.block_bytes

    def apart(self, figures: Figures) -> float:
        """Seconds for the collective, whose blocks go both ways around the ring, and then the product."""
        return (self.devices // 2) * self._send(figures) + self.flops / figures.flops

    def together(self, figures: Figures) -> float:
        """Seconds for a send, then turns in which two blocks are multiplied while two are sent.

        As in Wang et al. (ASPLOS 2023): the longer of the two in each turn, and what smaller operations cost.
        """
        half, odd = divmod(self.devices, 2)
        one = self.flops / self.devices / figures.flops + self.products * figures.launch
        send = self._send(figures)
        return send + (half - 1 + odd) * max(send, 2 * one) + (one if odd else 2 * one)

    def _send(self, figures: Figures) -> float:
        return figures.latency + self.block_bytes / figures.bandwidth
