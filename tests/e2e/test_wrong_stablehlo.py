"""Wrong StableHLO: an error that points at the text, exit code 1, no memory for what the text promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """module {{
  sdy.mesh @m = <{mesh}>
  func.func @main(%a: tensor<{shape}> {{sdy.sharding = #sdy.sharding<@m, [{dims}]>}}) -> tensor<{shape}> {{
    {line}
    return %0 : tensor<{shape}>
  }}
}}
"""
TANH = "%0 = stablehlo.tanh %a : tensor<{shape}>"


def module(
    mesh: str = '["x"=2, "y"=4]', shape: str = "8x16xf32", dims: str = '{"x"}, {"y"}', line: str = TANH
) -> str:
    return MODULE.format(mesh=mesh, shape=shape, dims=dims, line=line.format(shape=shape))


PROGRAM = """
import os, re, resource, sys
from shardc.cli.shardc import main
code = main(sys.argv[1:])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if os.path.exists("/proc/self/status"):  # where that figure has the process in it that started this one
    (peak,) = re.findall("VmHWM: *([0-9]+)", open("/proc/self/status").read().replace("\t", " "))
print(peak, file=sys.stderr)
sys.exit(code)
"""


def shardc(tmp_path: Path, text: str, *options: str) -> tuple[int, str, int]:
    """Exit code, standard error, and the bytes of memory that the command used at most."""
    (tmp_path / "prog.mlir").write_text(text)
    command = [sys.executable, "-c", PROGRAM, "prog.mlir", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    *lines, peak = done.stderr.splitlines()
    return done.returncode, "\n".join(lines), int(peak) * 1024


LIMIT = 400 << 20

WRONG = {
    "truncated": (module()[:-40], "prog.mlir:4:", "the text ends"),
    "not MLIR": ("hello, world", "prog.mlir:1:", "error"),
    "invalid": (module(line="%0 = stablehlo.tanh %a, %a : tensor<{shape}>"), "prog.mlir:4:", "error"),
    "wrong type": (module(line="%0 = stablehlo.tanh %a : tensor<8x17xf32>"), "prog.mlir:4:", "error"),
    "unknown dialect": (module(line="%0 = tosa.tanh %a : tensor<{shape}>"), "prog.mlir:4:", "tosa.tanh"),
    "unknown operation": (
        module(line="%0 = stablehlo.tahn %a : tensor<{shape}>"),
        "prog.mlir:4:",
        "stablehlo.tahn",
    ),
    "unknown axis": (module(dims='{"x"}, {"z"}'), "prog.mlir:3:", "z"),
    "axis used twice": (module(dims='{"x"}, {"x"}'), "prog.mlir:3:", "x"),
    "unknown mesh": (module().replace("sharding<@m", "sharding<@n"), "prog.mlir:3:", "@n"),
    "wrong rank": (module(dims='{"x"}'), "prog.mlir:3:", "a sharding of 1 dimensions"),
    "dynamic shape": (module(shape="?x16xf32"), "prog.mlir:3:", "dynamic"),
    "huge mesh": (
        module(mesh='["x"=1000000000, "y"=4]'),
        "prog.mlir:2:3",
        "mesh m has more than 2^20 devices",
    ),
    "missing function": (
        module(line="%0 = func.call @f(%a) : (tensor<{shape}>) -> tensor<{shape}>"),
        "prog.mlir:4:5",
        "@f",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_text_is_a_located_error(tmp_path: Path, name: str) -> None:
    text, place, message = WRONG[name]
    code, err, peak = shardc(tmp_path, text)
    assert code == 1, err
    assert "Traceback" not in err
    assert place in err and message in err
    assert peak < LIMIT


def test_a_constant_of_a_gigabyte_that_repeats_one_number(tmp_path: Path) -> None:
    line = """%c = stablehlo.constant dense<2.0> : tensor<{shape}>
    %0 = stablehlo.add %a, %c : tensor<{shape}>"""
    text = module(shape="16384x16384xf32", line=line)
    code, err, peak = shardc(tmp_path, text)
    assert (code, err) == (0, "")
    assert peak < LIMIT
    code, err, peak = shardc(tmp_path, text, "--target", "numpy")
    assert (code, err) == (0, "")
    assert peak < LIMIT


def test_a_constant_that_is_shorter_than_its_type(tmp_path: Path) -> None:
    line = """%c = stablehlo.constant dense<"0x0000803F00000040"> : tensor<{shape}>
    %0 = stablehlo.add %a, %c : tensor<{shape}>"""
    code, err, peak = shardc(tmp_path, module(shape="16384x16384xf32", line=line))
    assert code == 1
    assert "prog.mlir:4:" in err and "Traceback" not in err
    assert peak < LIMIT


def test_a_tensor_that_no_machine_holds(tmp_path: Path) -> None:
    text = module(shape="1000000000x1000000000xf32")
    code, err, peak = shardc(tmp_path, text)
    assert (code, err) == (0, "")
    code, err, peak = shardc(tmp_path, text, "--run")
    assert code == 1
    assert "bytes" in err and "Traceback" not in err
    assert peak < LIMIT
