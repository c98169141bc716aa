"""Constructs that one stage could read otherwise than another: each program on four devices equals the
single-device one. docs/shardy.md says what was tried.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc.cli.shardc import main

PROGRAMS = (Path(__file__).parent / "read_alike.mlir").read_text().split("// -----\n")


@pytest.mark.parametrize("text", PROGRAMS, ids=lambda text: text.split("\n")[0].removeprefix("// "))
def test_devices_compute_the_same(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.mlir").write_text(text)
    code = main([str(tmp_path / "in.mlir"), "--run", "--no-cache"])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert "result 0: " in said.out
