"""--run --trace: what is shown of a right program, and where a wrong one stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from shardc.cli.shardc import main as shardc
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.explain.trace import trace_graphs
from shardc.explain.trace_text import summary
from shardc.frontend.text import read
from shardc.graph import Graph, Node, Region, Value
from shardc.interpret.arguments import random_inputs
from shardc.layout import Axis
from shardc.passes.localize import Localize
from shardc.passes.pipeline import run_to

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/*.shard"))

MLP = """
mesh pod[data=2, model=4] devices [7, 6, 5, 4, 3, 2, 1, 0]
def main(x: f32[6@data, 8], w1: f32[8, 16@model], w2: f32[16@model, 8], s: f32[8]) -> f32[6@data, 8]:
    h = tanh(x @ w1)
    for i in range(3) carrying x:
        y = (h + i) @ w2
        x = x + y * s
    return x
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shardc([str(path), "--run", "--trace"]) == 0
    shown = capsys.readouterr().out
    assert "compared with the single-device program: all right" in shown
    assert "    device 0: " in shown and "device 1:" not in shown


def test_shows_names_types_and_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "mlp.shard"
    program.write_text(MLP)
    rng = np.random.default_rng(1)
    arrays = {
        "x": rng.standard_normal((6, 8)).astype(np.float32),
        "w1": np.zeros((8, 16), np.float32),
        "w2": np.ones((16, 8), np.float32),
        "s": np.full(8, 2, np.float32),
    }
    np.savez(tmp_path / "in.npz", **arrays)
    command = [str(program), "--run", "--trace", "0,7", "--inputs", str(tmp_path / "in.npz")]
    assert shardc(command) == 0
    shown = capsys.readouterr().out
    assert (
        "line 4: h = tanh, f32[3, 4] of f32[6@data, 16@model]\n"
        "    device 0: 0 to 0, mean 0\n"
        "    device 7: 0 to 0, mean 0\n"
    ) in shown
    assert shown.count("line 6: y = ") == 3 * shown.count("line 4: dot_general")


SHIFT = """
mesh m[i=4, j=2] devices [7, 6, 5, 4, 3, 2, 1, 0]
@shard_map
def shift(a: f32[8@i, 16]) -> f32[8@i, 16]:
    last = ppermute(a[1:], i, [(0, 1), (1, 2), (2, 3)])
    return concatenate((last, a[:1]), axis=0)
def main(x: f32[8, 16], w: f32[16, 16@j]) -> f32[8, 16]:
    return shift(tanh(x @ w))
"""


def test_shows_who_sends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In code that is written per device, the last device of a ring that is none receives nothing."""
    program = tmp_path / "shift.shard"
    program.write_text(SHIFT)
    assert shardc([str(program), "--run", "--trace", "7,4"]) == 0
    shown = capsys.readouterr().out
    assert (
        "line 5: last = ppermute over i, f32[1, 16]\n    device 7, from none: 0 to 0, mean 0\n"
        "    device 4, from device 6: "
    ) in shown
    assert "all_gather over j, f32[2, 16] of f32[8@i, 16]" in shown
    assert "4 of these stand in per-device code, which is its own reference" in shown


@pytest.mark.parametrize(
    ("devices", "message"),
    [("8", "the devices of pod[data=2, model=4] are 0 to 7"), ("x", "not a list of device")],
)
def test_no_such_device(
    devices: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "mlp.shard"
    program.write_text(MLP)
    try:
        assert shardc([str(program), "--run", "--trace", devices]) == 1
    except SystemExit as misused:
        assert misused.code == 2
    assert message in capsys.readouterr().err


def test_trace_needs_run(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        shardc([str(tmp_path / "mlp.shard"), "--trace"])


# ---- wrong programs


def _traced(
    change: Callable[[Node], None],
    devices: Sequence[int] = (0,),
    rewrite: Callable[[Graph, Region], None] = lambda graph, region: None,
) -> bool:
    """Whether nothing is wrong in a compiled program in which somebody changed some nodes, or the body."""
    with collecting():
        module = read(MLP, "mlp.shard")
        run_to(make_context(), module, "collectives")
        whole = snapshot(module.clone()).graph
        Localize(number_values=True).apply(make_context(), module)
        local = snapshot(module).graph
    _each(local, local.main.body, change)
    rewrite(local, local.main.body.nodes[0].regions[0])
    arrays = random_inputs(whole.types(whole.main.body.args))
    return trace_graphs(whole, local, arrays, devices, print)


def _each(graph: Graph, region: Region, change: Callable[[Node], None]) -> None:
    for node in region.nodes:
        change(node)
        for inner in node.regions:
            _each(graph, inner, change)


def test_a_lost_reduction(capsys: pytest.CaptureFixture[str]) -> None:
    def lose(node: Node) -> None:
        if node.name == "spmd.all_reduce":
            node.attrs = {**node.attrs, "axes": tuple(replace(axis, size=2) for axis in node.attrs["axes"])}  # type: ignore

    assert not _traced(lose)
    *_, title, _, last = capsys.readouterr().out.splitlines()
    assert "psum over model:(1)2" in title
    assert last.startswith("mlp.shard:") and "all devices together DIFFER" in last


def test_wrong_on_some_devices(capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks of h at positions 2 and 3 along model change places."""

    def exchange(graph: Graph, region: Region) -> None:
        at = next(i for i, node in enumerate(region.nodes) if node.name == "stablehlo.tanh")
        tanh = region.nodes[at]
        made = Value(len(graph.values), graph.type(tanh.results[0]))
        graph.values.append(made)
        pairs = ((0, 0), (1, 1), (2, 3), (3, 2))
        attrs = {**tanh.attrs, "axes": (Axis("model", 4),), "pairs": pairs}
        region.nodes[at] = replace(tanh, results=(made.id,), attrs={})
        swap = Node(-1, "spmd.collective_permute", (made.id,), tanh.results, attrs, (), tanh.loc)
        region.nodes.insert(at + 1, swap)

    assert not _traced(lambda node: None, rewrite=exchange)
    last = capsys.readouterr().out.splitlines()[-1]
    assert "here devices 0, 1, 4, 5 DIFFER from the single-device program" in last


def test_the_first_wrong_operation_ends_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    def double(node: Node) -> None:
        if node.name == "stablehlo.tanh":
            node.name = "stablehlo.exponential"

    assert not _traced(double)
    shown = capsys.readouterr().out
    assert "h = exponential" in shown and "line 6" not in shown


def test_a_program_without_a_mesh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "one.shard"
    program.write_text("def main(x: f32[4]) -> f32[4]:\n    return x + x\n")
    assert shardc([str(program), "--run", "--trace"]) == 1
    assert "the program has no mesh" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1.0, np.nan, 3.0]), "1 to 3, mean 2, 1 not finite"),
        (np.array([[True, False]]), "1 of 2 true"),
        (np.array(7), "7"),
        (np.zeros((0, 3)), "no elements"),
        (np.array([np.inf, np.nan]), "nothing finite of 2"),
        (np.array([3 + 4j, 0]), "magnitudes 0 to 5, mean 2.5"),
    ],
)
def test_summary(array: np.ndarray, text: str) -> None:
    assert summary(array) == text


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(ShardcError, match="the devices of pod"):
        _traced(lambda node: None, devices=[9])
