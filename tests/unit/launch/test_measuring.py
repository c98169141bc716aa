"""A machine is fitted to times, and written so that --machine reads it."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.launch.measuring import SIZES, STEPS, Sample, fit, toml
from shardc.planning.machines import read


def samples(devices: int, latency: float, bandwidth: float, noise: float = 0.0) -> list[Sample]:
    rng = np.random.default_rng(0)
    found = []
    for kind, parts in STEPS.items():
        for size in SIZES:
            steps, sent = parts(devices)
            exact = steps * latency + sent * size * devices / bandwidth
            found.append(Sample(kind, size, exact * (1 + noise * rng.standard_normal())))
    return found


@pytest.mark.parametrize("devices", [2, 8])
def test_a_link_is_found_again(devices: int):
    link = fit(samples(devices, 2e-5, 3e9), devices)
    assert link.latency == pytest.approx(2e-5)
    assert link.bandwidth == pytest.approx(3e9)
    assert max(link.errors.values()) < 1e-6


def test_noise_is_averaged():
    link = fit(samples(8, 2e-5, 3e9, 0.1), 8)
    assert link.latency == pytest.approx(2e-5, rel=0.2)
    assert link.bandwidth == pytest.approx(3e9, rel=0.2)


def test_latency_is_never_negative():
    link = fit(samples(8, 0.0, 3e9, 0.1), 8)
    assert link.latency > 0 and link.bandwidth > 0


def test_the_file_is_a_machine():
    text = toml("MPI", 8, {"f32": 2e10, "f64": 1e10}, 5e9, fit(samples(8, 2e-5, 3e9), 8))
    machine = read(text, "here.toml")
    assert machine.flops == {"other": 1e10, "f32": 2e10, "f64": 1e10}
    assert machine.links[0].kind == "shared"
    assert machine.links[0].latency == pytest.approx(2e-5)
