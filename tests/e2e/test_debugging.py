"""NumPy programs run operation by operation: who stops inside device_main sees the values of one device."""

from __future__ import annotations

import pdb
import sys

import numpy as np
import pytest

import shardc

PROGRAM = """
mesh m[i=4, j=2]
@shard_map
def main(a: f32[8@i, 16@j], b: f32[16@j, 32]) -> f32[8@i, 32]:
    z = a @ b
    total = psum(z, j)
    return tanh(total)
"""
A = np.arange(128, dtype=np.float32).reshape(8, 16)
B = np.arange(512, dtype=np.float32).reshape(16, 32) / 512


def with_a_line(line: str) -> str:
    """The compiled program with a line before the collective."""
    source = shardc.compile(PROGRAM, target="numpy").source
    lines = source.splitlines()
    at = next(number for number, text in enumerate(lines) if "comm.psum" in text)
    indent = " " * (len(lines[at]) - len(lines[at].lstrip()))
    return "\n".join([*lines[:at], indent + line, *lines[at:]]) + "\n"


def test_a_print_sees_the_blocks_of_each_device(capsys: pytest.CaptureFixture[str]) -> None:
    source = with_a_line("print(comm.axis_index('i'), comm.axis_index('j'), a.shape, a[0, 0], sep=' | ')")
    namespace: dict[str, object] = {"__name__": "compiled"}
    exec(compile(source, "out.py", "exec"), namespace)
    namespace["main"](A, B)  # pyright: ignore
    printed = sorted(capsys.readouterr().out.splitlines())
    assert printed == [f"{i} | {j} | (2, 8) | {A[2 * i, 8 * j]}" for i in range(4) for j in range(2)]


def test_a_breakpoint_stops_with_the_names_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a debugger gets to see: the frame of device_main, its parameters as arrays."""
    seen: list[dict[str, object]] = []

    def stop(*args: object, **options: object) -> None:
        seen.append(dict(sys._getframe(1).f_locals))

    monkeypatch.setattr(pdb, "set_trace", stop)
    monkeypatch.setattr(sys, "breakpointhook", stop)
    namespace: dict[str, object] = {"__name__": "compiled"}
    exec(compile(with_a_line("breakpoint()"), "out.py", "exec"), namespace)
    namespace["main"](A, B)  # pyright: ignore
    assert len(seen) == 8
    assert all(isinstance(frame["a"], np.ndarray) and frame["a"].shape == (2, 8) for frame in seen)
