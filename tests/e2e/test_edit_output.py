"""examples/edit_output: what shardc prints and a person's edit of it compute what the program does."""

from __future__ import annotations

import difflib
from pathlib import Path

import numpy as np
import pytest

import shardc
from shardc.cli.shardc import main
from shardc.compilation import lower
from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.arguments import random_inputs
from shardc.options import Options
from tests.tolerance import assert_right

FOLDER = Path(__file__).parents[2] / "examples/edit_output"
PROGRAM, COMPILED, EDITED = (
    (FOLDER / name).read_text() for name in ("mlp.shard", "mlp_compiled.shard", "mlp_edited.shard")
)


def test_the_compiled_program_is_what_shardc_prints(tmp_path: Path) -> None:
    (tmp_path / "mlp.shard").write_text(PROGRAM)
    output = tmp_path / "out.shard"
    assert main([str(tmp_path / "mlp.shard"), "--emit", "shard", "-o", str(output)]) == 0
    assert output.read_text() == COMPILED


def test_the_edit_is_small() -> None:
    """The reduction, the type of the result, the comments."""
    lines = difflib.ndiff(COMPILED.splitlines(), EDITED.splitlines())
    changed = [line[2:].strip() for line in lines if line.startswith("+ ")]
    assert len(changed) == 3 and changed[1] == ") -> f32[32@(data, model), 64]:"
    assert changed[2].startswith("y = psum_scatter(")


@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_all_three_compute_the_same(target: str) -> None:
    if target == "jax":
        pytest.importorskip("jax")
    graph = snapshot(read(PROGRAM, "mlp.shard")).graph
    inputs = random_inputs(graph.types(graph.main.body.args))
    local = lower(read(EDITED, "mlp_edited.shard"), Options())
    whole, compiled, edited = (
        np.asarray(shardc.compile(text, target=target).main(*inputs)) for text in (PROGRAM, COMPILED, EDITED)
    )
    np.testing.assert_array_equal(whole, compiled)
    assert_right(graph, local, inputs, [edited], EDITED)


def test_the_edit_sends_half_as_much() -> None:
    programs = [shardc.compile(text).source for text in (PROGRAM, EDITED)]
    assert "6 KiB sent per device" in programs[0] and "3 KiB sent per device" in programs[1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", model, scatter_dimension=0, tiled=True", ", data, scatter_dimension=0, tiled=True", "f32[8, 64]"),
        ("32@(data, model)", "128@(data, model)", "such blocks make up"),
        (") -> f32[32@(data, model), 64]", ") -> f32[8@data, 64]", "varies over model"),
    ],
)
def test_wrong_edits(old: str, new: str, message: str) -> None:
    """Another axis, another type of the result."""
    with pytest.raises(ShardcError) as caught:
        shardc.compile(EDITED.replace(old, new))
    assert message in str(caught.value)


def test_a_wrong_order_of_rows_has_a_right_type() -> None:
    """That is what the comparison of results is for."""
    wrong = EDITED.replace("32@(data, model), 64]:", "32@(model, data), 64]:")
    graph = snapshot(read(PROGRAM, "mlp.shard")).graph
    inputs = random_inputs(graph.types(graph.main.body.args))
    one, other = (shardc.compile(text, target="numpy").main(*inputs) for text in (EDITED, wrong))
    assert one.shape == other.shape
    with pytest.raises(AssertionError, match="DIFFERS"):
        assert_right(graph, graph, inputs, [other], wrong)
