"""shardc-opt by Shardy's names prints, letter for letter, what jaxlib's Shardy makes of the same module."""

from __future__ import annotations

from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from shardc.cli.expected import expected_in, problems
from shardc.cli.opt import main
from shardc.cli.sdy_flags import translate
from shardc.diagnostics import Diagnostic
from shardc.graph.types import Location
from tests.pinned import with_pinned_jax

LAYERS = ("basic", "aggressive", "op-priority", "user-priority")
PREPARED = {
    "plain": (),
    "control": ("while", "case", "opt", "constraint"),
    "calls": ("calls", "constraint", "opt"),
    "manual": ("manual", "constraint", "while"),
    "all": ("while", "case", "opt", "constraint", "group", "calls", "barrier", "unreduced", "meshes"),
}


def printed(text: str, flag: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file = folder / "prog.mlir"
    file.write_text(text)
    code = main([str(file), flag])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out.strip()


@pytest.mark.parametrize("features", PREPARED)
def test_layers_of_prepared_programs(
    features: str,
    shardy: ModuleType,
    programs: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for seed in range(6):
        text = programs.Program(Random(seed), frozenset(PREPARED[features])).text(2 + seed)
        prepared = shardy.run_passes(text, shardy.IMPORT)
        for layer in LAYERS:
            name = f"sdy-{layer}-propagate"
            theirs = shardy.run_passes(prepared, name).strip()
            assert printed(prepared, f"-{name}", tmp_path, capsys) == theirs, prepared


@with_pinned_jax
@pytest.mark.parametrize("features", PREPARED)
def test_rules(
    features: str,
    shardy: ModuleType,
    programs: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    flag = "sdy-populate-op-sharding-rules"
    for seed in range(10):
        text = programs.Program(Random(seed), frozenset(PREPARED[features])).text(8)
        theirs = shardy.run_passes(text, f"func.func({flag})").strip()
        assert printed(text, f"-{flag}", tmp_path, capsys) == theirs, text


def test_flags() -> None:
    names = {"sdy-basic-propagate", "sdy-aggressive-propagate"}
    args = ["f.mlir", "-split-input-file", "-sdy-aggressive-propagate=propagation-strategy=basic", "-o", "x"]
    passes = "sdy-aggressive-propagate{propagation-strategy=basic}"
    assert translate(args, names) == (["f.mlir", "--split-input-file", "-o", "x", "-p", passes], True)
    assert translate(["f.mlir", "-p", "check"], names) == (["f.mlir", "-p", "check"], False)
    assert translate(["--sdy-basic-propagate"], names) == (["-p", "sdy-basic-propagate"], True)


def test_expected_comments() -> None:
    text = (
        "// expected-error@+1 {{no mesh}}\nx\ny // expected-warning {{odd}}\n"
        "// expected-error-re@above {{a {{[0-9]+}} b}}"
    )
    wanted = [(e.severity, e.line) for e in expected_in(text)]
    assert wanted == [("error", 2), ("warning", 3), ("error", 3)]
    said = [
        Diagnostic("error", "there is no mesh", Location("unread", 2, 1)),
        Diagnostic("warning", "odd", Location("unread", 3, 1)),
        Diagnostic("error", "a 12 b", Location("unread", 3, 1)),
    ]
    assert problems(text, said) == []
    assert problems(text, said[1:]) == ["line 2: expected error was not said: no\\ mesh"]
    assert problems("", said[:1]) == ["not expected: unread:2:1: error: there is no mesh"]
