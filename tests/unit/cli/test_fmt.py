"""`shardc fmt`: files, folders, standard input, --check, --diff, errors."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from shardc.cli.shardc import main

UNTIDY, TIDY = "size N=1\n", "size N = 1\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("untidy.shard").write_text(UNTIDY)
    Path("tidy.shard").write_text(TIDY)
    return tmp_path


def test_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("deep", ".hidden"):
        Path(name).mkdir()
        Path(name, "one.shard").write_text(UNTIDY)
    assert main(["fmt"]) == 0
    assert capsys.readouterr().err == "formatted ./untidy.shard\nformatted ./deep/one.shard\n"
    assert Path("untidy.shard").read_text() == Path("deep/one.shard").read_text() == TIDY
    assert Path(".hidden/one.shard").read_text() == UNTIDY
    assert main(["fmt"]) == 0
    assert capsys.readouterr().err == ""


def test_permissions_and_links_stay() -> None:
    Path("link.shard").symlink_to("untidy.shard")
    os.chmod("untidy.shard", 0o640)
    assert main(["fmt", "link.shard"]) == 0
    assert Path("link.shard").is_symlink() and Path("untidy.shard").read_text() == TIDY
    assert Path("untidy.shard").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir()) == ["link.shard", "tidy.shard", "untidy.shard"]


def test_check_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", "tidy.shard"]) == 0
    assert main(["fmt", "--check", "tidy.shard", "untidy.shard"]) == 1
    assert capsys.readouterr().err == "would format untidy.shard\n"
    assert Path("untidy.shard").read_text() == UNTIDY


def test_diff(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--diff", "untidy.shard"]) == 1
    assert capsys.readouterr().out == (
        "--- untidy.shard\n+++ untidy.shard, formatted\n@@ -1 +1 @@\n-size N=1\n+size N = 1\n"
    )
    assert Path("untidy.shard").read_text() == UNTIDY


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(UNTIDY.encode())))
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == TIDY


def test_a_wrong_file_stays_and_the_others_are_formatted(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.shard").write_text("size N=\n")
    assert main(["fmt", "a.shard", "none.shard", "b.mlir", "untidy.shard"]) == 1
    assert capsys.readouterr().err == (
        'a.shard:1:8: error: expected a name, a number or "(", found the end of the line\n    size N=\n'
        "           ^\n"
        "    note: it is written so: size B = 32, D = 64\n"
        "shardc: error: cannot read none.shard: no such file or directory\n"
        "shardc: error: b.mlir is no .shard program\n    note: shardc fmt formats .shard files\n"
        "formatted untidy.shard\n"
    )
    assert Path("a.shard").read_text() == "size N=\n"


def test_a_file_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert main(["fmt", "untidy.shard"]) == 1
    assert capsys.readouterr().err.endswith("untidy.shard: no space left on device\n")
    assert Path("untidy.shard").read_text() == UNTIDY and len(os.listdir()) == 2
