"""`%load_ext shardc` and `%%shard` in an IPython shell of this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("IPython")

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from shardc.notebook import Compiled
from tests.tolerance import assert_near

PROGRAM = """\
mesh pod[data=2, model=4]
size B = 32
def mlp(x: f32[B@data, 64], a: f32[64, 64@model], b: f32[64@model, 64]) -> f32[B@data, 64]:
    h = tanh(x @ a)
    return h @ b
"""


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    made = InteractiveShell()
    made.history_manager.enabled = False  # pyright: ignore
    assert made.run_cell("%load_ext shardc").success
    yield made
    made.history_manager.end_session()  # pyright: ignore


def test_a_cell_shows_code_and_collectives(shell: InteractiveShell) -> None:
    shown = shell.run_cell(f"%%shard mlp\n{PROGRAM}").result
    assert isinstance(shown, Compiled)
    text, html = repr(shown), shown._repr_html_()
    assert "def device_main(x, a, b):" in text and 'return lax.psum(h @ b, "model")' in text
    assert "in line 6" in text  # the line of the cell, whose first is %%shard
    assert "all-reduce  model (4)  f32[16, 64]  6 KiB (6144)" in text
    assert "<th>collective</th>" in html and "<td>f32[16, 64]</td>" in html and "cell:6" in html
    assert "device_main" in html and "&lt;" not in html.partition("<table>")[0].partition("</style>")[0]


def test_the_program_has_a_name_and_runs(shell: InteractiveShell) -> None:
    assert shell.run_cell(f"%%shard mlp --target numpy -D B=8 --tries 0\n{PROGRAM}").success
    rng = np.random.default_rng(0)
    x, a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((8, 64), (64, 64), (64, 64)))
    shell.push({"x": x, "a": a, "b": b})
    made = np.asarray(shell.run_cell("mlp.main(x, a, b)").result, np.float32)
    assert_near(made, np.tanh(x @ a) @ b, terms=64 + 64, magnitude=64)


def test_wrong_cells_are_errors_without_a_traceback(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    done = shell.run_cell(f"%%shard\n{PROGRAM.replace('tanh(', 'tan h(')}")
    assert isinstance(done.error_in_exec, UsageError)
    said = capsys.readouterr()
    assert "cell:5:13: error:" in said.err and "    h = tan h(x @ a)\n" in said.err
    assert "Traceback" not in said.err + said.out
    for line in ("--target cobol", "-D B", "'open", "--memory many", "--overlap no", "one two"):
        done = shell.run_cell(f"%%shard {line}\n{PROGRAM}")
        assert isinstance(done.error_in_exec, UsageError), line
        assert "UsageError: %%shard:" in capsys.readouterr().err
    done = shell.run_cell(f"%%shard --memory 0\n{PROGRAM}")
    assert str(done.error_in_exec).startswith("shardc: error: a device's memory is")


def test_warnings_are_shown(shell: InteractiveShell) -> None:
    text = "%%shard\nmesh r[r=4]\ndef main(x: f32[10@r, 3]):\n    return mean(x, axis=0)\n"
    shown = shell.run_cell(text).result
    assert isinstance(shown, Compiled)
    assert "cell:3:17: warning: r (4 devices) does not divide" in repr(shown)
    assert "cell:3:17: warning: r (4 devices) does not divide" in shown._repr_html_()
