"""What collectives, and the blocks that go around in their place, take on machines."""

from __future__ import annotations

import pytest

import shardc
from shardc.layout import Mesh
from shardc.planning.machines import read
from shardc.planning.overlap.times import Times
from shardc.report.overlap import times_on
from tests.corpus.overlapping import Product

MACHINE = """
name = "m"
source = "made up"
[device]
memory = 1e9
bandwidth = 1e12
[device.flops]
bf16 = 2e12
other = 1e12
[[links]]
name = "wire"
kind = "{kind}"
bandwidth = 1e9
latency = 1e-6
{more}
"""
MESH = Mesh("pod", (("x", 4), ("y", 2)))


def machine(kind: str, more: str = "") -> Times:
    return times_on(read(MACHINE.format(kind=kind, more=more), "m.toml"))(MESH, (MESH.axis("x"),), "bf16")


def test_a_ring() -> None:
    """Both directions go through what the device sends by; three steps of 1000 bytes."""
    times = machine("ring")
    assert times.send(4, 1000) == pytest.approx(1e-6 + 2e-6)
    assert times.collective("all-gather", 4, 1000) == pytest.approx(3 * (1e-6 + 1e-6))
    assert times.collective("reduce-scatter", 4, 1000) == pytest.approx(3 * (1e-6 + 1e-6))
    assert times.flops == 2e12


def test_a_torus() -> None:
    """A link each way; where the axis is a line, one block has to go all the way back."""
    assert machine("torus", "wraparound = 4").send(4, 10_000) == pytest.approx(10e-6)
    assert machine("torus", "wraparound = 8").send(4, 10_000) == pytest.approx(30e-6)


@pytest.mark.parametrize(("name", "overlaps"), [("tpu-v5e", False), ("tpu-v4p", True)])
def test_by_the_machine(name: str, overlaps: bool) -> None:
    """Eight devices are a ring of a TPU v4 pod and a line of a v5e pod."""
    text = Product("pod[i=8]", "i", "lhs", "m", (1, 4096, 4096, 4096), "bf16").text
    source = shardc.compile(text, overlap="auto", machine=name).source
    assert ("ppermute" in source) is overlaps
