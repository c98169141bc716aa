"""--memory: no device holds more at a time, by the report's own peak, as cheaply as possible."""

from __future__ import annotations

import re

import pytest

import shardc
from shardc.cli.shardc import main
from shardc.diagnostics import ShardcError
from shardc.options import Options

TEXT = """mesh pod[data=4]

def main(
    x: f32[256@data, 64], w1: f32[64@data, 64], w2: f32[64@data, 64], w3: f32[64@data, 64]
) -> (f32[64@data, 64], f32[64@data, 64], f32[64@data, 64]):
    h1 = relu(x @ w1)
    h2 = relu(h1 @ w2)
    d3 = h2 @ w3
    d2 = (d3 @ w3.T) * h2
    v3 = w3 - h2.T @ d3
    d1 = (d2 @ w2.T) * h1
    v2 = w2 - h1.T @ d2
    return w1 - x.T @ d1, v2, v3
"""

KEPT, RELEASED, LEAST = 192512, 143360, 131072
"""The peaks of TEXT as it is, with variables that end with their last use, and with all measures."""


def costs(memory):
    found = shardc.cost(TEXT, tries=0, memory=memory)
    assert found.memory.peak <= memory
    return found.bytes, found.memory.peak


def test_what_fits_is_left_as_it_is():
    assert costs(KEPT) == (73728, KEPT)


def test_variables_end_first():
    """One byte less: as much is sent, and NumPy lets go of what nothing reads."""
    released = shardc.compile(TEXT, memory=KEPT - 1, target="numpy").source
    assert "    del " in released and "    del " not in shardc.compile(TEXT, target="numpy").source
    assert costs(KEPT - 1) == (73728, RELEASED)


def test_as_few_weights_are_gathered_again_as_do():
    """Of two that are used on the way back: 12 KiB sent for a copy."""
    assert costs(RELEASED - 1) == (73728 + 12288, LEAST)


def test_the_results_are_the_same(tmp_path, capsys):
    path = tmp_path / "prog.shard"
    path.write_text(TEXT)
    assert main([str(path), "--memory", str(LEAST), "--run"]) == 0
    assert capsys.readouterr().out.count("off by") == 3


def test_an_error_names_the_largest_and_the_least():
    with pytest.raises(ShardcError) as caught:
        shardc.compile(TEXT, memory=LEAST - 1, file="prog.shard")
    said = str(caught.value)
    assert re.match(r"prog\.shard:\d+:\d+: error: a device holds 131072 bytes at least, and 131071 are", said)
    assert "the largest then are x f32[64, 64] of 16 KiB (16384), h1 f32" in said
    assert said.endswith(f"allow {LEAST} (--memory), or split more tensors")


OPEN = """
mesh m[x=4]

def main(a: f32[64@x, 64], w: f32[4096]):
    return exp(reshape(w, (64, 64))) * 2.0, sum(a, axis=1)
"""


def test_results_are_left_split():
    """As the argument of its type is, which nothing sent would ask for (work would)."""
    whole = shardc.cost(OPEN, tries=0, machine="bytes")
    split = shardc.cost(OPEN, tries=0, machine="bytes", memory=_least(OPEN))
    assert whole.memory.outputs - split.memory.outputs >= 64 * 64 * 3
    assert split.memory.peak < whole.memory.peak


def test_changes_of_layout_take_smaller_steps():
    program = "mesh pod[x=2, y=2]\n\ndef main(a: f32[4096@x]) -> f32[4096@y]:\n    return a\n"
    least = _least(program)
    whole, less = shardc.cost(program, tries=0), shardc.cost(program, tries=0, memory=least)
    assert (whole.bytes, less.bytes) == (8192, 8192) and less.memory.peak == least < whole.memory.peak
    assert len(less.collectives) > len(whole.collectives)


def _least(program):
    with pytest.raises(ShardcError) as caught:
        shardc.compile(program, memory=1)
    found = re.search(r"allow (\d+) \(--memory\)", str(caught.value))
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("value", [0, -1, True, 1.5])
def test_values_without_meaning(value):
    with pytest.raises(ShardcError, match="a device's memory is a whole number of bytes from 1"):
        Options(memory=value)


def test_not_with_its_parts():
    for limit, regather in ((5, False), (None, True)):
        with pytest.raises(ShardcError, match="leave out memory_limit and regather"):
            Options(memory=5, memory_limit=limit, regather=regather)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--memory", "-5"], "'-5' is not a number"),
        (["--memory", "9" * 30], "is not a number"),
        (["--memory", "99", "--explain"], "the plan before memory is bounded"),
    ],
)
def test_arguments_are_refused(words, message, capsys, tmp_path):
    path = tmp_path / "prog.shard"
    path.write_text(OPEN)
    with pytest.raises(SystemExit):
        main([str(path), *words])
    assert message in capsys.readouterr().err
