"""What the command says of wrong files and wrong use: exact text, exit codes, no half-written output."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from shardc.cli.shardc import main

PROGRAM = "mesh m[x=2]\nsize N = 8\ndef f(a: f32[N@x]) -> f32[N@x]:\n    return a + a\n"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("prog.shard").write_text(PROGRAM)
    return "prog.shard"


def _error(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(list(args)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_missing_file(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        _error(capsys, "none.shard") == "shardc: error: cannot read none.shard: no such file or directory\n"
    )


def test_missing_file_of_another_suffix(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _error(capsys, "none.txt") == "shardc: error: cannot read none.txt: no such file or directory\n"


def test_folder(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder.shard").mkdir()
    assert _error(capsys, "folder.shard") == "shardc: error: cannot read folder.shard: is a directory\n"


def test_unknown_suffix(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("prog.txt").write_text(PROGRAM)
    assert _error(capsys, "prog.txt") == (
        "shardc: error: prog.txt: no reader for files that end in '.txt'\n"
        "    note: shardc reads .shard and .mlir and .onnx\n"
    )


def test_not_utf8(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("latin.shard").write_bytes(b"mesh m[x=2]\n# caf\xe9\n")
    assert _error(capsys, "latin.shard") == (
        "latin.shard:2:6: error: this byte, 0xe9, is not UTF-8\n    note: save the file as UTF-8\n"
    )


def test_unwritable_output(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _error(capsys, program, "-o", "nowhere/out.py") == (
        "shardc: error: cannot write nowhere/out.py: there is no directory nowhere\n"
    )
    assert _error(capsys, program, "-o", ".") == "shardc: error: cannot write .: is a directory\n"


def test_a_failed_compilation_keeps_the_old_output(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.py").write_text("old")
    Path("bad.shard").write_text(PROGRAM.replace("a + a", "a + b"))
    _error(capsys, "bad.shard", "-o", "out.py")
    assert Path("out.py").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["bad.shard", "out.py", "prog.shard"]


def test_unknown_size(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "has no size M" in _error(capsys, program, "-D", "M=3")


def test_unknown_entry(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "g" in _error(capsys, program, "--entry", "g")


@pytest.mark.parametrize(
    "args",
    [["prog.shard", "--emit", "nothing"], [], ["prog.shard", "-D", "N"], ["prog.shard", "--run", "--check"]],
)
def test_misuse_is_exit_code_2(program: str, args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(args)
    assert stop.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_standard_input_and_output(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))
    assert main(["-", "--emit", "ir"]) == 0
    assert "tensor<8xf32>" in capsys.readouterr().out


def test_defines(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, "-D", "N=32", "--emit", "ir"]) == 0
    assert "tensor<32xf32>" in capsys.readouterr().out


def test_inputs_and_outputs(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("in.npz", allow_pickle=False, a=np.arange(8, dtype=np.float32))
    assert main([program, "--run", "--inputs", "in.npz", "--outputs", "out.npz"]) == 0
    assert capsys.readouterr().out == "2 devices, in.npz\nresult 0: f32[8], equal\n"
    with np.load("out.npz") as archive:
        assert archive["result"].tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({}, "in.npz has no array a; it has nothing"),
        ({"a": np.zeros(4, np.float32)}, "a in in.npz is float32[4], but the program wants f32[8]"),
        ({"a": np.zeros(8)}, "a in in.npz is float64[8], but the program wants f32[8]"),
    ],
)
def test_wrong_inputs(
    program: str, arrays: dict[str, np.ndarray], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez("in.npz", allow_pickle=False, **arrays)
    assert _error(capsys, program, "--run", "--inputs", "in.npz") == f"shardc: error: {said}\n"


def test_inputs_that_are_no_archive(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.npz").write_text("no")
    assert _error(capsys, program, "--run", "--inputs", "in.npz") == (
        "shardc: error: in.npz is not an .npz file of arrays\n"
        "    note: numpy.savez writes one: np.savez(file, x=x, w=w)\n"
    )


def _of_another_version(data: bytearray) -> None:
    data[data.rfind(b"PK\x01\x02") + 6] = 217


def _encrypted(data: bytearray) -> None:
    data[6] |= 1
    data[data.rfind(b"PK\x01\x02") + 8] |= 1


@pytest.mark.parametrize("alter", [_of_another_version, _encrypted])
def test_archives_that_are_altered(
    program: str, alter: Callable[[bytearray], None], capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez("in.npz", allow_pickle=False, a=np.arange(8, dtype=np.float32))
    data = bytearray(Path("in.npz").read_bytes())
    alter(data)
    Path("in.npz").write_bytes(data)
    assert "in.npz is not an .npz file of arrays" in _error(capsys, program, "--run", "--inputs", "in.npz")


def test_an_array_that_nothing_holds(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": (10**13,)}
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(text, header)
    with ZipFile("in.npz", "w") as archive:
        archive.writestr("a.npy", text.getvalue())
    assert "in.npz is not an .npz file of arrays" in _error(capsys, program, "--run", "--inputs", "in.npz")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--inputs", "in.npz"], "--inputs and --outputs need --run"),
        (["--check", "--outputs", "out.npz"], "--inputs and --outputs need --run"),
        (["--run", "-o", "out.py"], "-o writes a program, and --run makes none"),
        (["--check", "-o", "out.py"], "-o writes a program, and --check makes none"),
    ],
)
def test_options_without_meaning_together(
    program: str, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([program, *options])
    assert stop.value.code == 2
    assert capsys.readouterr().err.endswith(f"shardc: error: {said}\n")


def test_long_lines_are_cut_around_the_caret(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("long.shard").write_text("def f(a: f32[8]):\n    return " + "a + " * 100 + "b" + " + a" * 100 + "\n")
    message, line, caret = _error(capsys, "long.shard").splitlines()
    assert message == "long.shard:2:412: error: unknown name b"
    assert line[caret.index("^")] == "b"
    assert line.startswith("    …") and line.endswith("…") and len(line) < 180


def test_control_characters_are_not_shown(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("cr.shard").write_bytes(b"def f(a: f32[8]):\r    return a\r")
    assert _error(capsys, "cr.shard") == (
        "cr.shard:1:18: error: the character '\\r' has no meaning here\n"
        "    def f(a: f32[8]):     return a \n"
        "                     ^\n"
        "    note: lines end in a line feed, or a carriage return and a line feed\n"
    )


def test_calls_that_double(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["def g0(a: f32[8]):", "    return tanh(a)"]
    for i in range(1, 40):
        lines += [f"def g{i}(a: f32[8]):", f"    return g{i - 1}(a) + g{i - 1}(a)"]
    Path("double.shard").write_text("\n".join(lines))
    assert "with its calls, g39 has" in _error(capsys, "double.shard", "--check")


def test_a_mesh_may_be_called_like_a_function(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("same.shard").write_text("mesh f[x=2]\ndef f(a: f32[8@x]):\n    return a\n")
    assert main(["same.shard", "--run"]) == 0
