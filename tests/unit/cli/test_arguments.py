"""Arguments of the command that have no meaning, and ends that are no bugs."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardc.cli import actions
from shardc.cli.misuse import size_in_bytes
from shardc.cli.opt import main as opt
from shardc.cli.shardc import main
from shardc.proof import command

PROGRAM = """mesh pod[data=2, model=4]
size B = 8
# func.func is no word of the language, and stands in a comment
def main(x: f32[B@data, 16], w: f32[16, 8@model]) -> f32[B@data, 8]:
    return tanh(x @ w)
"""
MODULE = """func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "prog.shard"
    path.write_text(PROGRAM)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory-limit", "-5"], "'-5' is not a number"),
        (["--memory-limit", "0"], "the memory limit is a whole number of bytes from 1, not 0"),
        (["--memory-limit", "9" * 30], "is not a number"),
        (["--combine", "-1"], "'-1' is not a number"),
        (["-D", "B=--1"], "not of the form NAME=NUMBER"),
        (["-D", "B=²"], "not of the form NAME=NUMBER"),
        (["--run", "--trace", "²"], "not a list of device numbers"),
        (["--overlap", "auto", "--links", "model=NVLink"], "--links needs --machine"),
        (["--memory", "16XB"], "'16XB' is not a number of bytes such as 2000000000 or 16GiB"),
        (["--target", "nump"], "note: did you mean numpy?"),
        (["--tagret", "numpy"], "unrecognized arguments: --tagret numpy\n    note: did you mean --target?"),
        (["--chek=1"], "note: did you mean --check?"),
        (["--process-data", "--target", "mpi"], "--process-data is for --target jax"),
        (["other.shard"], "unrecognized arguments: other.shard\n"),
    ],
)
def test_values_without_meaning(
    program: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([program, *arguments])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rnu", "prog.shard", "-n", "4"], "there is no command rnu\n    note: did you mean run?"),
        (
            ["compile", "prog.shard"],
            "the commands are fmt, lsp, measure, reshard, run",
        ),
        (["layout"], "note: shardc-layout is a command of its own"),
        (["run", "prog.shard", "-n", "0"], "argument -n: '0' is not a whole number from 1"),
        (["run", "prog.shard", "-n", "2", "--devices", "0"], "--devices: '0' is not a whole number from 1"),
        (["run", "prog.shard", "-n", "2", "--limit", "nan"], "--limit: 'nan' is not a number of seconds"),
        (["run", "prog.shard", "-n", "2", "--limit", "0"], "--limit: '0' is not a number of seconds"),
        (["run", "prog.shard", "-n", "2", "--input", "x"], "note: did you mean --inputs?"),
        (["m.onnx", "--shard", 'x=P("a")', "--shard", "x=P()"], "--shard says how x lies more than once"),
        (["measure", "-n", "x", "-o", "y"], "argument -n: 'x' is not a whole number from 1"),
    ],
)
def test_commands_that_are_misused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "number"),
    [("4096", 4096), ("16GiB", 16 << 30), ("1.5GB", 1_500_000_000), ("0.5 KiB", 512), ("2TB", 2 * 10**12)],
)
def test_numbers_of_bytes(text: str, number: int) -> None:
    assert size_in_bytes(text) == number


def test_inputs_that_are_not_there(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", program, "-n", "8", "--inputs", str(tmp_path / "in.npz")]) == 1
    assert capsys.readouterr().err == f"shardc: error: cannot read {tmp_path / 'in.npz'}: no such file\n"
    assert main([program, "--run", "--inputs", str(tmp_path)]) == 1
    assert f"cannot read {tmp_path}: is a directory" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 1
    assert f"cannot read {tmp_path}: is a directory" in capsys.readouterr().err


def test_a_folder_without_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", str(tmp_path)]) == 0
    assert capsys.readouterr().err == f"shardc: warning: there are no .shard programs in {tmp_path}\n"


def test_a_negative_size(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, "-D", "B=-1"]) == 1
    assert "-D B=-1: a size is at least 0" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "found"), [(PROGRAM, "main(x, w)"), (MODULE, "jnp.tanh(")])
def test_standard_input_is_in_either_language(
    text: str, found: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["-"]) == 0
    assert found in capsys.readouterr().out


def test_unknown_arrays(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays: dict[str, Any] = {"x": np.zeros((8, 16), np.float32), "w": np.zeros((16, 8), np.float32)}
    file = str(tmp_path / "in.npz")
    np.savez(file, **arrays)
    assert main([program, "--run", "--inputs", file]) == 0
    np.savez(file, **arrays, w2=np.zeros(3))
    capsys.readouterr()
    assert main([program, "--run", "--inputs", file]) == 1
    error = capsys.readouterr().err
    assert "the program has no parameter w2" in error and "note: did you mean w?" in error


def test_an_interrupt_has_its_exit_code(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(actions, "check", interrupted)
    assert main([program, "--check"]) == 130
    assert capsys.readouterr().err == ""


WAITING = """
import signal, sys
from shardc.cli.misuse import size_in_bytes
from shardc.cli.shardc import main

class Input:
    class buffer:
        @staticmethod
        def read():
            print("ready", flush=True)
            return waiting.read()

waiting, sys.stdin = sys.stdin.buffer, Input
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(["-"]))
"""


def test_ctrl_c() -> None:
    """A command that waits for its program is stopped without a traceback."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", WAITING]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert b"Traceback" not in error
    assert process.returncode == 130


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("module", ["shardc.cli.shardc", "shardc.cli.opt"])
def test_a_full_disk(module: str, tmp_path: Path) -> None:
    path = tmp_path / "prog.mlir"
    path.write_text(MODULE)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", module, str(path)], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert "error: cannot write standard output: no space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("flags", [["-o", "FULL"], ["-verify-diagnostics", "-o", "FULL"], ["DUMP"]])
def test_a_file_on_a_full_disk_is_named(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, full = tmp_path / "prog.mlir", tmp_path / "00.after_propagation.mlir"
    program.write_text(MODULE)
    full.symlink_to("/dev/full")
    dump = f"-sdy-export-pipeline=dump-directory={tmp_path}"
    assert (
        opt([str(program), *(flag.replace("FULL", str(full)).replace("DUMP", dump) for flag in flags)]) == 1
    )
    assert capsys.readouterr().err == f"shardc: error: cannot write {full}: no space left on device\n"


def test_a_module_that_is_wrong_leaves_the_old_output(tmp_path: Path) -> None:
    program, output = tmp_path / "prog.mlir", tmp_path / "out.mlir"
    program.write_text(MODULE)
    assert opt([str(program), "-o", str(output)]) == 0
    old = output.read_text()
    assert "func.func" in old
    program.write_text("func.func @main(")
    assert opt([str(program), "-o", str(output)]) == 1
    assert output.read_text() == old


def test_what_is_proved_is_written_too(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text that was proved: the program is compiled once."""
    proved, plain = tmp_path / "proved.py", tmp_path / "plain.py"
    times: list[object] = []
    lower = command.lower
    monkeypatch.setattr(command, "lower", lambda *given: times.append(given) or lower(*given))
    for target in ("numpy", "jax", "mpi"):
        assert main([program, "--target", target, "--prove", "-o", str(proved)]) == 0
        assert "proved: equal for all arguments" in capsys.readouterr().out
        assert main([program, "--target", target, "--no-prove", "-o", str(plain)]) == 0
        assert proved.read_bytes() == plain.read_bytes()
    assert len(times) == 3


def test_files_that_shardc_opt_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent, wrong = str(tmp_path / "absent.mlir"), tmp_path / "wrong.mlir"
    assert opt([absent, "-p", "propagate"]) == 1
    assert capsys.readouterr().err == f"shardc-opt: error: cannot read {absent}: no such file or directory\n"
    wrong.write_bytes(b"// one\n  \xff")
    assert opt([str(wrong), "-p", "propagate"]) == 1
    assert f"{wrong}:2:3: error: this byte, 0xff, is not UTF-8" in capsys.readouterr().err
