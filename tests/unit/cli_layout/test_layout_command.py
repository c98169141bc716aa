"""What shardc-layout prints, and where it refuses. docs/layout.md has the longer outputs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from shardc.cli.layout import main
from shardc.cli.layout_text import Table


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    return json.loads(said(capsys, *words, "--format", "json"))


def section(text: str, start: str) -> str:
    """The paragraph or table that follows the paragraph that starts so."""
    parts = text.split("\n\n")
    return parts[next(i for i, part in enumerate(parts) if part.startswith(start)) + 1].rstrip()


MINDSPORE = ("mindspore", "--device-matrix", "2,2,2", "--alias", "dp,sp,mp")


def test_entries_of_a_tensor_map_may_be_tuples(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, *MINDSPORE, "--tensor-map", "mp,(sp,dp)", "--shape", "2,4")
    assert found["steps"]["tensor_map"] == [0, [1, 2]]
    assert found["steps"]["slice_numbers"] == [0, 4, 2, 6, 1, 5, 3, 7]
    assert [d["device"] for d in found["devices"] if d["holds"][0][0] == [[0, 1]]] == [0, 2, 4, 6]


def test_none_and_unused_axes_are_copies(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, *MINDSPORE, "--tensor-map", "dp,None", "--shape", "4,3")
    assert found["replica_groups"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert found["devices"][7]["values"] == [[[6, 7, 8], [9, 10, 11]]]


def test_ranks_in_another_order(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "mindspore",
        "--device-matrix",
        "4",
        "--alias",
        "x",
        "--tensor-map",
        "x",
        "--rank-list",
        "7,5,4,6",
    )
    text = said(capsys, *words, "--shape", "4")
    assert section(text, "Who holds what") == (
        "rank  slice  holds  values\n"
        "   4      2  [2:3]  [2]\n"
        "   5      1  [1:2]  [1]\n"
        "   6      3  [3:4]  [3]\n"
        "   7      0  [0:1]  [0]"
    )
    assert section(text, "3. Add up").splitlines()[2:] == [
        "7       0      0",
        "5       1      1",
        "4       2      2",
        "6       3      3",
    ]


def test_a_layout_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = 'Layout((2, 4), ("x", "y"))("x", "None")'
    assert as_json(capsys, "mindspore", "--layout", text, "--shape", "2,2")["text"] == text


def test_repeated_calculation_on_either_side(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("mindspore", "--strategy", "2,1,1,2,1", "--devices", "8", "--shape", "2,1,1,2,1")
    assert as_json(capsys, *words)["steps"]["slice_numbers"] == [0, 0, 1, 1, 2, 2, 3, 3]
    left = as_json(capsys, *words, "--repeated", "left")
    assert left["steps"]["slice_numbers"] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_partial_results(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "sbp", "--mesh", "[[0, 1], [2, 3]]", "--spec", "(P, S(0))", "--shape", "3,2")
    assert section(text, "Who holds what") == (
        "device  x0  x1  holds       partial\n"
        "     0   0   0  [0:2, 0:2]  0 of 2\n"
        "     1   0   1  [2:3, 0:2]  0 of 2\n"
        "     2   1   0  [0:2, 0:2]  1 of 2\n"
        "     3   1   1  [2:3, 0:2]  1 of 2"
    )


def test_where_blocks_are_empty(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("hlo", "--spec", "{devices=[4]<=[4]}", "--shape", "5")
    assert section(said(capsys, *words), "The tensor's blocks") == "0 1 2"
    assert section(said(capsys, *words, "--uneven", "balanced"), "The tensor's blocks") == "0 1 2 3"


def test_long_lists_are_cut_and_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "jax", "--mesh", "x=100", "--spec", "P()", "--shape", "3", "--rows", "2")
    assert "… and 98 more; --rows 100 lists all" in text
    assert "     1  1  [0:3]  0, 2, 3, 4, 5, 6, 7, 8, … 99 in all  [0, 1, 2]\n" in text


def test_scalars_and_large_tensors(capsys: pytest.CaptureFixture[str]) -> None:
    assert "     1  1  []             0       0\n" in said(
        capsys, "jax", "--mesh", "x=2", "--spec", "P()", "--shape", "()"
    )
    large = as_json(capsys, "jax", "--mesh", "x=2", "--spec", "P('x')", "--shape", "1000000000000000000")
    assert large["devices"][1]["holds"] == [[[[500000000000000000, 1000000000000000000]]]]
    assert "values" not in large["devices"][1]


def test_processes_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    order = "0,1,4,5,6,2,3,7,8,12,13,9,10,11,14,15"
    words = ("jax", "--mesh", "x=4,y=4", "--device-order", order, "--spec", "P('x', 'y')", "--shape", "4,4")
    found = as_json(capsys, *words, "--processes", "4")["processes"]
    assert found["processes"][1]["needs"] == [[[0, 1], [1, 2]], [[0, 1], [2, 3], [3, 4]]]
    rows, columns = found["dimensions"]
    assert (rows["uniform"], rows["shares"]) == (True, 2)
    assert (columns["uniform"], columns["shares"]) == (False, None)
    assert columns["reason"] == "process 0 addresses blocks 0, 1, 2, process 1 blocks 0, 2, 3"


def test_processes_of_an_uneven_tensor(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("hlo", "--spec", "{devices=[3]<=[3]}", "--shape", "4", "--processes", "3")
    text = said(capsys, *words)
    assert section(text, "3 processes of 1 device").splitlines()[1] == "      0        0  0:2          uneven"


TRANSLATIONS = {
    "mindspore": 'Layout((2, 4), ("x", "y"))("y", "None")',
    "jax": "P('y')",
    "sdy": '#sdy.sharding<@mesh, [{"y"}, {}]>',
    "hlo": "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
    "sbp": "(B, S(0))",
    "dtensor": "(Replicate(), Shard(0))",
}


@pytest.mark.parametrize("target", TRANSLATIONS)
def test_translations(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("jax", "--mesh", "x=2,y=4", "--spec", "P('y')", "--shape", "4,2")
    assert as_json(capsys, *words, "--to", target)["to"][target]["text"] == TRANSLATIONS[target]
    text = TRANSLATIONS[target]
    back = ["--layout" if target == "mindspore" else "--spec", text]
    mesh = [] if target in ("mindspore", "hlo") else ["--mesh", "x=2,y=4"]
    again = as_json(capsys, target, *back, *mesh, "--shape", "4,2")
    assert again["devices"] == as_json(capsys, *words)["devices"]


def test_every_translation_with_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("dtensor", "--mesh", "x=2", "--spec", '(Partial("max"),)', "--shape", "2")
    found = as_json(capsys, *words, "--to", "all")["to"]
    assert {name for name, answer in found.items() if "text" in answer} == {"dtensor", "shard"}
    assert found["jax"]["error"] == "JAX knows partial sums only, this is a partial max"


ON_2 = "jax --mesh x=2 --shape 4"
LAYOUT = "mindspore --device-matrix 2,2,2 --alias dp,sp,mp"
TWO_OF_THREE = "{device: [0, 0, 1], sharded_dim: [{axis: 0, num_shards: 3}]}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{ON_2} --spec \"P('q')\"", "mesh mesh has no axis q; it has x"),
        (f"{ON_2} --spec \"P('x'\"", ""),
        (
            "jax --mesh x=3 --spec \"P('x')\" --shape 4",
            "dimension 0 of (4,): 4 elements are not divisible into 3",
        ),
        ("jax --mesh x=99999999999 --spec 'P()' --shape 4", "a mesh of 99999999999 devices"),
        (f"{ON_2} --spec 'P()' --processes 3", "2 devices of mesh mesh"),
        (f"{ON_2} --spec 'P()' --picture /no/such/a.svg", "cannot write"),
        ("hlo --mesh 'Mesh(x)' --spec {replicated} --shape 4", "'Mesh(x)' is no mesh"),
        ("hlo --spec {replicated} --shape 4", "{replicated} does not tell the mesh: give it"),
        ("sbp --mesh x=2 --spec '(P,)' --shape 4 --to onnx", "not to be written as ONNX"),
        (f"onnx --spec '{TWO_OF_THREE}' --shape 6 --to jax", "device 0 holds shards 0 and 1"),
        (f"onnx --spec '{TWO_OF_THREE}' --shape 7", "axis 0 of (7,): 7 elements are not divisible"),
        (f"{LAYOUT} --tensor-map q --shape 4", "'q' of dimension 0 is not in alias_name"),
        ("mindspore --strategy 2 --shape 4,4", "the strategy has 1 numbers, the tensor 2 dimensions"),
        (f"{LAYOUT} --tensor-map dp --shape 4,4", "the tensor map has 1 entries, the tensor 2 dimensions"),
        ("signatures foo --shape 3", "unknown function foo"),
        ("signatures expand --shape 2,3 --sizes 3", "expand of f32[2, 3] to (3,)"),
    ],
)
def test_errors(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(line)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"shardc-layout: error: {message}")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("what",),
        ("jax", "--mesh", "x=2", "--spec", "P()"),
        ("jax", "--mesh", "x=2", "--spec", "P()", "--shape", "a"),
        ("jax", "--mesh", "x=2", "--spec", "P()", "--shape", "4", "--processes", "0"),
        ("jax", "--mesh", "x=2", "--spec", "P()", "--shape", "4", "--to", "what"),
        (*MINDSPORE, "--shape", "4"),
        ("mindspore", "--strategy", "((2, 2), (2, 1))", "--devices", "4", "--shape", "2,2"),
        ("mindspore", "--shape", "2,2"),
        ("signatures", "exp", "--shape", "2", "--kinds", "prod"),
        ("signatures", "exp", *("--shape", "2") * 5),
    ],
)
def test_misuse(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(words)
    assert exit.value.code == 2
    assert capsys.readouterr().err


def test_colours_of_blocks_in_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("jax", "--mesh", "x=2", "--spec", "P('x')", "--shape", "4")
    assert "\x1b" not in said(capsys, *words)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[38;5;39m" in said(capsys, *words)


def test_columns_of_numbers_are_aligned_at_the_right() -> None:
    table = Table(["a", "bee"])
    table.add(1, "x")
    table.add(100, "long")
    assert [line.plain for line in table.lines()] == ["  a  bee", "  1  x", "100  long"]


def test_many_devices(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = said(capsys, "jax", "--mesh", "x=256,y=256", "--spec", "P()", "--shape", "512,512")
    assert "… 65535 in all" in text
    words = ("jax", "--mesh", "x=256,y=256", "--spec", "P('x', 'y')", "--shape", "512,512")
    assert main((*words, "--picture", str(tmp_path / "a.svg"))) == 1
    assert "a picture of 65536 blocks cannot be drawn" in capsys.readouterr().err


def test_signatures_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "signatures", "expand", "--shape", "4,3,1,2", "--sizes", "2,4,3,4,2")
    assert found["operation"] == "expand(x, (2, 4, 3, 4, 2))"
    assert [(s["operands"], s["results"]) for s in found["signatures"]] == [
        (["S(0)"], ["S(1)"]),
        (["S(1)"], ["S(2)"]),
        (["S(3)"], ["S(4)"]),
        (["P"], ["P"]),
        (["B"], ["B"]),
    ]
    assert found["signatures"][2]["locals"] == [
        {
            "devices": [0, 1],
            "operands": [[4, 3, 1, 1]],
            "strides": [[3, 1, 1, 1]],
            "results": [[2, 4, 3, 4, 1]],
            "read_by": [0, 3, 1, 0, 1],
        }
    ]


def test_signatures_that_need_a_divisor(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("signatures", "reshape", "--shape", "2,4", "--sizes", "8", "--devices", "4")
    assert "S(0)  S(0)    none: 4 do not divide 2\n" in said(capsys, *words)
    assert as_json(capsys, *words)["signatures"][0]["locals"] == []
    assert "P(max)  P(max)" in said(capsys, "signatures", "exp", "--shape", "3", "--kinds", "max")


def test_lists_may_begin_with_a_minus(capsys: pytest.CaptureFixture[str]) -> None:
    signature = said(capsys, "signatures", "expand", "--shape", "4,1", "--sizes", "-1,3")
    assert signature.startswith("expand(x, (-1, 3)): (f32[4, 1]) -> f32[4, 3]")
    matrix = ("mindspore", "--device-matrix", "2,4", "--alias", "x,y", "--shape", "8,8")
    assert "[-, y] on" in said(capsys, *matrix, "--tensor-map", "-1,0")


def test_a_strategy_takes_two_steps_and_says_what_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("mindspore", "--strategy", "((2, 1, 1, 2, 1),)", "--devices", "8", "--shape", "2,1,1,2,1")
    text = said(capsys, *words)
    assert [line[:2] for line in text.splitlines() if line[:2] in ("1.", "2.", "3.")] == ["1.", "2."]
    assert "dev_matrix = (2, 1, 1, 2, 1, 2), tensor_map = (5, 4, 3, 2, 1)" in text
    assert "has dev_matrix = (2, 1, 1, 2, 1) and lets the count wrap around: slices [0, 1, 2, 3, 0, 1" in text
    assert "dev_matrix is the strategy itself" in said(capsys, *words, "--repeated", "left")
    full = said(capsys, "mindspore", "--strategy", "input_strategy = ((2,1,2,2,1),)", "--shape", "2,1,2,2,1")
    used = said(capsys, "mindspore", "--strategy", "op.shard(((2,1,2,2,1),))", "--shape", "2,1,2,2,1")
    assert used == full
    assert "dev_matrix = (2, 1, 2, 2, 1), tensor_map = (4, 3, 2, 1, 0)\n\n1." in full


def test_python_text_and_numbers_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("mindspore", "--device-matrix", "(2, 1, 2, 2, 1)", "--alias", '("a", "b", "c", "d", "e")')
    for tensor_map in ("3,1,0,2,4", '("b", "d", "e", "c", "a")', "b,d,e,c,a"):
        found = as_json(capsys, *words, "--tensor-map", tensor_map, "--shape", "1,2,1,2,2")
        assert found["steps"]["slice_numbers"] == [0, 4, 2, 6, 1, 5, 3, 7]
        assert found["steps"]["tensor_map"] == [3, 1, 0, 2, 4]


def test_as_a_type_of_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    layout = 'Layout((2, 4), ("axis_0", "axis_1"))(("axis_0", "axis_1"))'
    text = said(capsys, "mindspore", "--layout", layout, "--shape", "2,4", "--to", "shard")
    assert section(text, "As a type") == "f32[2@axis_0, 4@axis_1]\non mesh mesh[axis_0=2, axis_1=4]"
    found = as_json(capsys, "jax", "--spec", "P('x')", "--mesh", "x=2", "--shape", "4", "--to", "all")
    assert found["to"]["shard"] == {"text": "f32[4@x]", "mesh": "mesh mesh[x=2]"}
    assert main(["sbp", "--mesh", "[0, 1, 2, 3]", "--spec", "(S(0),)", "--shape", "6", "--to", "shard"]) == 1
    assert "the language makes [2, 2, 2, 0]" in capsys.readouterr().err


def test_which_global_shapes_fit_a_local_shape(capsys: pytest.CaptureFixture[str]) -> None:
    """The second figure of the documentation, with twice the sizes."""
    words = ("jax", "--mesh", "x=2,y=4", "--device-order", "0,2,1,3,4,6,5,7", "--spec", "P('x', 'y')")
    words = (*words, "--shape", "8,8", "--processes", "4", "--local-shape")
    assert (
        "Global shapes for local data of shape (4, 4): (4, 4), (4, 8), (8, 4), (8, 8)\n"
        "without a global shape: (8, 8)\n"
    ) in said(capsys, *words, "4,4")
    assert "(4, 3): none\nwithout a global shape: none, since the blocks don't" in said(capsys, *words, "4,3")
    assert as_json(capsys, *words, "2,2")["global_shapes"] == [[2, 4], [4, 4]]
    with pytest.raises(SystemExit):
        main(["jax", "--mesh", "x=2", "--spec", "P()", "--shape", "4", "--local-shape", "4"])


def test_nothing_is_held_of_an_empty_array(capsys: pytest.CaptureFixture[str]) -> None:
    """No block, so no picture of the processes."""
    words = ("jax", "--mesh", "x=4,y=2", "--spec", "P('x', 'y')", "--processes", "4", "--shape", "0,4")
    assert "process 0 " not in said(capsys, *words).split("\n\n")[-1]


def test_a_matrix_of_too_many_devices_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--device-matrix", "2,147483648,2", "--alias", "a,b,c", "--tensor-map", "a,b", "--shape", "0,4"]
    assert main(["mindspore", *words]) == 1
    assert "a mesh of 589934592 devices; at most 16777216" in capsys.readouterr().err
