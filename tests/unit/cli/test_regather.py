"""--regather: weights gathered again for the backward pass; less memory, more bytes."""

from __future__ import annotations

import json

import pytest

import shardc
from shardc.cli.shardc import main

LAYERS = 3


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "prog.shard"
    path.write_text(text())
    return str(path)


def text():
    """Layers and their gradients, weights stored split over the batch's axis."""
    names = range(1, LAYERS + 1)
    lines = ["    h0 = x"]
    lines += [f"    h{i} = tanh(h{i - 1} @ w{i})" for i in names]
    lines += [f"    d{LAYERS} = h{LAYERS}"]
    for i in reversed(names):
        lines += [f"    e{i} = d{i} * (1.0 - h{i} * h{i})", f"    v{i} = w{i} - h{i - 1}.T @ e{i}"]
        lines += [f"    d{i - 1} = e{i} @ w{i}.T"]
    results = ", ".join(f"v{i}" for i in names)
    weights = "".join(f", w{i}: f32[64@data, 64]" for i in names)
    types = ", ".join(["f32[64@data, 64]"] * LAYERS + ["f32[256@data, 64]"])
    head = f"mesh pod[data=4]\n\ndef main(x: f32[256@data, 64]{weights}) -> ({types}):\n"
    return head + "\n".join(lines) + f"\n    return {results}, d0\n"


def gathers(capsys, *arguments):
    assert main([*arguments]) == 0
    return capsys.readouterr().out.count("lax.all_gather(")


def test_each_weight_twice(program, capsys):
    assert gathers(capsys, program) == LAYERS
    assert gathers(capsys, program, "--regather") == 2 * LAYERS


def test_the_same_results(program, capsys):
    assert main([program, "--regather", "--run"]) == 0
    assert main([program, "--regather", "--target", "numpy"]) == 0


def test_what_it_costs(program, capsys):
    """A device keeps no whole weight of the layers before; it sends each block once more."""
    found = [
        json.loads(shown(capsys, program, "--cost", "--format", "json", *o)) for o in ([], ["--regather"])
    ]
    kept, again = found
    assert again["bytes"] - kept["bytes"] == LAYERS * 3 * 64 * 64
    assert kept["memory"]["peak"] - again["memory"]["peak"] == (LAYERS - 1) * 4 * 64 * 64


def shown(capsys, *arguments):
    assert main([*arguments]) == 0
    return capsys.readouterr().out


def test_the_output_as_a_program(program, tmp_path, capsys):
    """What --emit shard prints gathers as often when it is compiled itself."""
    again = tmp_path / "again.shard"
    assert main([program, "--regather", "--emit", "shard", "-o", str(again)]) == 0
    assert gathers(capsys, str(again)) == 2 * LAYERS


def test_from_python():
    assert shardc.compile(text(), regather=True).source.count("lax.all_gather(") == 2 * LAYERS
    assert shardc.cost(text(), regather=True).bytes > shardc.cost(text()).bytes


def test_not_with_explain(program, capsys):
    with pytest.raises(SystemExit):
        main([program, "--explain", "--regather"])
    assert "the plan before weights are gathered again" in capsys.readouterr().err
