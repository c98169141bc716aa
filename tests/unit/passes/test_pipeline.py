"""The pipeline: one table, one graph shared by passes, verification; each pass alone on text."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from shardc.backend.jax import emit
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects import shared_graph, wellformed
from shardc.dialects.context import make_context
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.mlir import read as read_mlir
from shardc.frontend.text import read
from shardc.passes import pipeline
from shardc.passes.graph_pass import GraphPass
from shardc.passes.pipeline import FOLDING, PASSES, PIPELINE, PREPARING, STAGES, prepare, run_between, run_to

ROOT = Path(__file__).parents[3]
PROGRAMS = ["megatron_mlp", "transformer_layer", "layers"]


def program(name: str) -> ModuleOp:
    """An example, as the reader makes it."""
    path = ROOT / "examples" / name / f"{name}.shard"
    return read(path.read_text(encoding="utf-8"), path.name)


def test_passes_between_two_share_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes out is what they make one by one, from fewer graphs than passes."""
    alone, together, names = program("layers"), program("layers"), STAGES["sharded"]
    passes = names[: names.index(FOLDING[0])]
    for name in passes:
        PASSES[name]()().apply(make_context(), alone)
    reads, read_graph = list[ModuleOp](), shared_graph.snapshot

    def counted(module: ModuleOp) -> object:
        reads.append(module)
        return read_graph(module)

    monkeypatch.setattr(shared_graph, "snapshot", counted)
    monkeypatch.delenv("SHARDC_VERIFY_EACH", raising=False)
    run_between(together, passes[0], FOLDING[0])
    assert print_module(together) == print_module(alone)
    assert 0 < len(reads) < len(passes) // 2


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_is_called_as_the_table_says(name: str) -> None:
    found = PASSES[name]()
    assert found.name == name and issubclass(found, GraphPass)


def test_stages_have_every_pass() -> None:
    assert [name for names in STAGES.values() for name in names] == [entry.name for entry in PIPELINE]


@pytest.mark.parametrize(("worth", "whole"), [(1 << 30, True), (20, False)])
def test_a_module_is_sharded_where_no_layers_go_out(worth: int, whole: bool) -> None:
    """It is what `run_to` makes of it; else it is to be taken all the way at once."""
    text = "def main(x: f32[4]) -> f32[4]:\n" + "    x = tanh(-x * 2)\n" * 40 + "    return x\n"
    given, expected = (read("mesh ring[r=2]\n\n" + text, "p.shard") for _ in range(2))
    assert prepare(given, {"fold-layers": {"worth": worth}}) is whole
    others = {*STAGES["collectives"]} - {*PREPARING}
    run_to(make_context(), expected, "collectives", without=others)
    assert (print_module(given) == print_module(expected)) is whole


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_pass_works_alone_on_text(name: str) -> None:
    """Passes with text between them come to what passes that share a graph come to."""
    with collecting():
        alone, together = program(name), program(name)
        for entry in PIPELINE:
            if not entry.by_option:
                alone = read_mlir(print_module(alone, locations=True), f"{name}.shard")
                entry.load()().apply(make_context(), alone)
        run_to(make_context(), together, "local")
    assert emit(snapshot(alone).graph) == emit(snapshot(together).graph)


def test_passes_share_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the passes that run, each would read one; the module is verified once, where it comes out."""
    graphs, verified = Counted(shared_graph.snapshot), Counted(wellformed.verify)
    every = Counted(ModuleOp.verify)
    monkeypatch.setattr(shared_graph, "snapshot", graphs)
    monkeypatch.setattr(pipeline, "verify", verified)
    module = program("megatron_mlp")
    monkeypatch.setattr(ModuleOp, "verify", lambda *args, **named: every(*args, **named))
    run_to(make_context(), module, "local", verify_each=False)
    assert graphs.count <= 5 and verified.count == 1 and every.count == 0


@dataclass
class Counted:
    """A function that counts its calls."""

    function: Callable[..., object]
    count: int = 0

    def __call__(self, *args: object, **named: object) -> object:
        self.count += not named  # wellformed.verify asks operation by operation
        return self.function(*args, **named)


def test_every_pass_is_verified_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    every = Counted(ModuleOp.verify)
    module = program("megatron_mlp")
    monkeypatch.setattr(ModuleOp, "verify", lambda *args, **named: every(*args, **named))
    run_to(make_context(), module, "sharded", verify_each=True)
    assert every.count == len([name for name in STAGES["sharded"] if name not in FOLDING])


@dataclass(frozen=True)
class _Silent(GraphPass):
    """Erases the last operation before the return, and does not say so."""

    name = "silent"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        op = snap.ops[-2]
        Rewriter.replace_op(op, [], [op.operands[0]])
        return False


def test_a_change_that_is_not_said_is_found() -> None:
    source = "def main(x: f32[4]) -> f32[4]:\n    return tanh(-x)\n"
    shared = SharedGraph(read(source, "p.shard"), checked=True)
    shared.snapshot()
    assert not _Silent().rewrite(shared)
    with pytest.raises(AssertionError, match="did not say so"):
        shared.snapshot()
    shared.drop()
    assert len(shared.snapshot().ops) == 2


def test_a_note_changes_in_the_module_and_in_its_graph() -> None:
    source = "def main(x: f32[4]) -> f32[4]:\n    return tanh(-x)\n"
    shared = SharedGraph(read(source, "p.shard"), checked=True)
    snap = shared.snapshot()
    for op, note in zip(snap.ops, ("f#0", "f#1"), strict=False):
        op.attributes["shardc.call"] = StringAttr(note)
    shared.noted("shardc.call")
    assert shared.snapshot() is snap
    assert [node.attrs.get("shardc.call") for node in snap.graph.main.body.nodes] == ["f#0", "f#1", None]
    del snap.ops[0].attributes["shardc.call"]
    with pytest.raises(AssertionError, match="did not say so"):
        shared.snapshot()
    shared.noted("shardc.call")
    assert "shardc.call" not in shared.snapshot().graph.main.body.nodes[0].attrs


def test_types_of_per_device_code_are_found_once_and_warn_each_time() -> None:
    source = (
        "mesh ring[r=4]\n\n@shard_map\ndef main(x: f32[8]) -> f32[8]:\n"
        '    return psum(x, "r")  # all devices have the same x\n'
    )
    shared, said = SharedGraph(read(source, "p.shard")), list[str]()
    for _ in range(2):
        with collecting() as warnings:
            types = shared.varying()
        assert types is shared.varying()
        said.append(" ".join(warning.message for warning in warnings))
    assert said[0] == said[1] and "4 times" in said[0]
    shared.drop()
    with collecting():
        assert shared.varying() is not types


def test_what_comes_out_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that a pass broke is an error with a place, though nothing was verified in between."""
    module = read("def main(x: f32[4]) -> f32[4]:\n    return tanh(x)\n", "p.shard")
    tanh = next(op for op in module.walk() if op.name == "stablehlo.tanh")
    _retype(tanh)
    with pytest.raises(ShardcError, match=r"p\.shard:2:12: error: .*tanh"):
        run_to(make_context(), module, "ir", verify_each=False)


def _retype(op: Operation) -> None:
    other = read("def main(x: f32[8]) -> f32[8]:\n    return tanh(x)\n", "other.shard")
    type = next(o for o in other.walk() if o.name == "stablehlo.tanh").results[0].type
    Rewriter.replace_value_with_new_type(op.results[0], type)


@pytest.mark.parametrize("layers", [1, 400])
def test_what_puts_layers_back_is_imported_for_a_program_that_has_some(layers: int) -> None:
    text = (
        "import sys, shardc\n"
        "shardc.compile(sys.stdin.read(), prove=False)\n"
        "print('shardc.passes.unfold_layers' in sys.modules)"
    )
    lines = "".join("    x = tanh(exp(x @ w) * sin(x) + x) * cos(x) - x\n" for _ in range(layers))
    done = subprocess.run(
        [sys.executable, "-c", text],
        input=f"mesh m[d=2]\ndef main(x: f32[8@d, 4], w: f32[4, 4]) -> f32[8@d, 4]:\n{lines}    return x\n",
        env={**os.environ, "SHARDC_CACHE": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{layers > 1}\n"


def test_planning_is_imported_for_a_program_that_is_planned() -> None:
    text = (
        "import sys, shardc.cli.actions\nprint([m for m in sys.modules if m.startswith('shardc.planning')])"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
