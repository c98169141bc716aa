"""`shardc --cost`: text that stays the same, JSON as a golden file, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardc
from shardc.cli.shardc import main

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/megatron_mlp/megatron_mlp.shard"
GOLDEN = Path(__file__).with_name("megatron_mlp.json")


def test_json_is_the_golden_file(capsys: pytest.CaptureFixture[str]) -> None:
    """If it changed on purpose: shardc examples/megatron_mlp/megatron_mlp.shard --cost --machine
    h100-infiniband --format json -o tests/unit/report/megatron_mlp.json"""
    assert main([str(EXAMPLE), "--cost", "--machine", "h100-infiniband", "--format", "json"]) == 0
    assert capsys.readouterr().out == GOLDEN.read_text("utf-8")


def test_numbers_are_integers() -> None:
    def check(value: object) -> None:
        assert not isinstance(value, float)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            check(inner)

    check(json.loads(GOLDEN.read_text("utf-8")))


def test_text_has_the_same_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(EXAMPLE), "--cost"]) == 0
    text = capsys.readouterr().out
    assert "sends 6 KiB (6144) in 1 collective\n" in text
    assert "gone with result 0: f32[32@data, 64] partial(sum: model) (then 0 B sent)" in text
    assert "\n\n\n" not in text and " \n" not in text
    assert main([str(EXAMPLE), "--cost"]) == 0
    assert capsys.readouterr().out == text


PAIRS = """
mesh m[x=8]

def main(p: f32[512@x]) -> f32[512@x]:
    for t in range(100) carrying p:
        p = p + sum(tanh(p[None, :] - p[:, None]), axis=1)
    return p
"""


def test_repeated_work_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pairs.shard"
    file.write_text(PAIRS)
    command = [str(file), "--cost", "--tries", "0", "--machine", "h100-infiniband"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "repeated: 1.22 us of work on H100 nodes on InfiniBand that annotations divide;\n" in text
    assert " by tanh in line 6, in 1 of 8 parts\n" in text
    assert main([*command, "--format", "json"]) == 0
    repeated = json.loads(capsys.readouterr().out)["repeated"]
    operations = repeated["operations"]
    assert repeated["repeated_ns"] == sum(each["repeated_ns"] for each in operations)
    assert 0 < repeated["repeated_ns"] < repeated["saved_ns"]
    assert ("tanh in line 6", "pairs.shard:6", "1", "8") in [
        (each["operation"], each["where"], each["parts"], each["could"]) for each in operations
    ]


def test_sizes_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(EXAMPLE), "--cost", "--tries", "0", "-D", "B=64"]) == 0
    assert "sends 12 KiB (12288)" in capsys.readouterr().out


def test_mlir_and_a_program_without_a_mesh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(EXAMPLE), "--emit", "ir", "-o", str(tmp_path / "prog.mlir")]) == 0
    assert main([str(tmp_path / "prog.mlir"), "--cost"]) == 0
    assert "sends 6 KiB (6144)" in capsys.readouterr().out
    (tmp_path / "one.shard").write_text("def f(x: f32[8, 8]) -> f32[8, 8]:\n    return x @ x\n")
    assert main([str(tmp_path / "one.shard"), "--cost", "--machine", "laptop"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("one device\nsends 0 B in 0 collectives\n") and "1024 FLOPs in matmuls" in text


def test_links_of_axes(capsys: pytest.CaptureFixture[str]) -> None:
    command = [str(EXAMPLE), "--cost", "--tries", "0", "--machine", "h100-infiniband", "--format", "json"]
    assert main([*command, "--links", "model=InfiniBand"]) == 0
    cost = json.loads(capsys.readouterr().out)
    links = {"data": "NVLink", "model": "InfiniBand"}
    over = [name for each in cost["collectives"] for name in each["axes"]]
    assert [entry["link"] for entry in cost["time"]["collectives"]] == [links[name] for name in over]
    assert main([*command, "--links", "model=carrier"]) == 1
    assert "has no link carrier for axis model" in capsys.readouterr().err


def test_a_wrong_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(EXAMPLE), "--cost", "--machine", "abacus"]) == 1
    error = capsys.readouterr().err
    assert "there is no machine abacus" in error and "laptop" in error
    file = tmp_path / "m.toml"
    file.write_text('name = "m"\nsource = "s"\n[device]\nmemory = 0\nbandwidth = 1\n')
    assert main([str(EXAMPLE), "--cost", "--machine", str(file)]) == 1
    error = capsys.readouterr().err
    assert f"{file}:4:1: error: device.memory is a positive number, not 0" in error
    assert "    memory = 0\n    ^" in error or "memory = 0" in error


@pytest.mark.parametrize(
    "options",
    [
        ["--links", "a=b"],
        ["--tries", "3"],
        ["--cost", "--links", "a=b"],
        ["--cost", "--check"],
        ["--cost", "--tries", "x"],
    ],
)
def test_a_misused_command_line(options: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([str(EXAMPLE), *options])
    assert stop.value.code == 2


def test_the_function_is_the_command() -> None:
    cost = shardc.cost(EXAMPLE.read_text("utf-8"), machine="tpu-v5e", defines={"B": 64}, tries=0)
    assert (cost.devices, cost.axes, cost.bytes) == (8, (("data", 2), ("model", 4)), 98304)
    assert cost.time is not None and cost.time.total_ns > 0


def test_names_and_shapes_of_arguments_are_no_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal too, [data] in a reason stands as it is."""
    from shardc.cli.cost import print_cost

    class Terminal:
        def __init__(self) -> None:
            self.text = ""

        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            self.text += text
            return len(text)

        def flush(self) -> None:
            pass

    import sys

    text = "mesh pod[data=2, model=4]\ndef f(x: f32[16@data, 32]) -> f32[16, 32@data]:\n    return tanh(x)\n"
    cost = shardc.cost(text)
    before, sys.stdout = sys.stdout, Terminal()
    try:
        print_cost(cost, "text")
        shown = sys.stdout.text
    finally:
        sys.stdout = before
    assert "f32[8, 32]" in shown and "[data, -]" in shown
