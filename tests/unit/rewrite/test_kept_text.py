"""A text whose numbers were edited is not read, and compiled to what it is compiled to without a cache."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from shardc import cache
from shardc.cli import actions
from shardc.diagnostics import collecting
from shardc.dialects.text import print_module
from shardc.frontend.read import read
from shardc.options import Options
from shardc.planning.program.remembered import known
from shardc.proof import default
from shardc.rewrite.kept_program import sought
from shardc.rewrite.kept_text import unread

NAMED = Options(file="test.mlir")
PROGRAM = """mesh pod[data=2, model=4]

def main(x: f32[7@data, 16@model], w: f32[16@model, 16]) -> f32[7@data, 16]:
    x = tanh(x @ w * 0.25) + x * 0.375
    x = exp(x * 0.75) / 3.5
    return x * 0.375
"""


def mlir(program: str) -> str:
    """The program in MLIR, its numbers in short."""
    text = print_module(read(program, Options(file="test.shard")))
    return re.sub(r"(?<=dense<)-?\d\.\d+e[-+]\d+", lambda found: repr(float(found[0])), text)


TEXT = mlir(PROGRAM)
PROCESS = """
import sys
from pathlib import Path
from shardc.cli import actions
from shardc.options import Options
from shardc.rewrite import kept_program
kept_program.WORTH = 0
sys.stdout.write(actions.compiled(Path(sys.argv[1]).read_text(), Options(file="test.mlir"), "jax", False)[0])
"""


def edited(*pairs: tuple[str, str], text: str = TEXT) -> str:
    for before, after in pairs:
        assert f"dense<{before}>" in text
        text = text.replace(f"dense<{before}>", f"dense<{after}>")
    return text


def compiled(text: str, proved: bool = False) -> tuple[str, str | None, list[str]]:
    with collecting() as warnings:
        made, verdict = actions.compiled(text, NAMED, "jax", proved)
    return made, verdict, [*map(str, warnings)]


def without_cache(text: str, proved: bool = False) -> tuple[str, str | None, list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.VARIABLE, "off")
        patch.setattr(known, "_RECENT", {})
        return compiled(text, proved)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are read."""
    found, read = list[str](), actions.read

    def counted(text: str, options: Options) -> object:
        found.append(text)
        return read(text, options)

    monkeypatch.setattr(actions, "read", counted)
    return found


def after_edit(before: str, after: str, reads: list[str]) -> tuple[str, str | None, list[str]]:
    """What a text is compiled to after another one, which is what it is without a cache; `reads` are of that
    alone."""
    assert after != before
    found = without_cache(after)
    compiled(before)
    reads.clear()
    assert compiled(after) == found
    return found


@pytest.mark.parametrize(
    "after",
    [
        edited(("0.25", "0.3")),
        edited(("0.25", "2.500000e+03"), ("3.5", "-0.1")),
        edited(("0.375", "0.7"), ("0.75", "0.375")),
        edited(("0.25", "2.5e-1")),
    ],
)
@pytest.mark.usefixtures("folder")
def test_it_is_not_read(after: str, reads: list[str]) -> None:
    assert after_edit(TEXT, after, reads)[2], "padding is warned of"
    assert not reads


@pytest.mark.parametrize(
    "after",
    [
        edited(("0.25", "1.0")),
        edited(("0.25", "0.0")),
        edited(("0.25", "0.375")),  # two are equal now
        edited(("0.25", "1.0e-60")),  # a zero in f32
        edited(("0.25", "0x3F000000")),
        TEXT.replace("dense<0.375>", "dense<0.5>", 1),  # or no more
        TEXT.replace("tanh", "exponential"),
        f"\n{TEXT}",
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_else_differs_is_another_program(after: str, reads: list[str]) -> None:
    after_edit(TEXT, after, reads)
    assert reads


@pytest.mark.usefixtures("folder")
def test_a_number_that_is_said_otherwise_is_none_of_those(reads: list[str]) -> None:
    """One of two equal ones is in a form that is not looked for: they may be told apart by an edit."""
    before = TEXT.replace("dense<0.375>", "dense<0x3EC00000>", 1)
    after = before.replace("dense<0.375>", "dense<0.625>")
    assert TEXT != before
    after_edit(before, after, reads)
    assert reads


@pytest.mark.usefixtures("folder")
def test_a_wrong_text_is_read(reads: list[str]) -> None:
    compiled(TEXT)
    wrong = TEXT.replace("dense<0.25> : tensor<7x", "dense<0.25> : tensor<3x")
    assert wrong != TEXT
    with pytest.raises(Exception, match="tensor"):
        compiled(wrong)


HALF = PROGRAM.replace("x * 0.375\n    x =", "x * (one / b)\n    x =").replace(
    "\n    x = tanh", "\n    one: f32[] = 1.0\n    b: f32[] = 4.5\n    x = tanh"
)


@pytest.mark.parametrize(
    ("program", "old", "new", "is_known"),
    [
        (PROGRAM, "0.25", "0.3", True),
        (PROGRAM.replace("tanh(", "tanh(abs(x) + "), "0.25", "-0.25", False),  # whose sign may tell something
        (HALF, "0.25", "0.3", True),
        (HALF, "4.5", "8.0", False),  # one half of a quarter is computed, 1 / 4.5 is rounded
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_program_that_is_too_large_to_be_proved(
    program: str, old: str, new: str, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is so with other numbers, too, and what is computed with is the same."""
    before = mlir(program)
    after = edited((old, new), text=before)
    monkeypatch.setattr(default, "by_command", lambda *_: 100)
    found = without_cache(after, proved=True)
    assert found[1] and found[1].startswith("not proved: its work is that of")
    compiled(before, proved=True)
    proofs = list[object]()
    prove = default.prove
    monkeypatch.setattr(default, "prove", lambda *a, **k: (proofs.append(a), prove(*a, **k))[1])
    assert compiled(after, proved=True) == found
    assert bool(proofs) != is_known


@pytest.mark.usefixtures("folder")
def test_so_it_is_in_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    after = PROGRAM.replace("0.25", "0.3")
    monkeypatch.setattr(default, "by_command", lambda *_: 100)
    found = without_cache(after, proved=True)
    compiled(PROGRAM, proved=True)
    monkeypatch.setattr(default, "prove", lambda *_, **__: pytest.fail("proved"))
    assert compiled(after, proved=True) == found


@pytest.mark.usefixtures("folder")
def test_what_was_proved_is_proved_again(reads: list[str]) -> None:
    assert (compiled(TEXT, proved=True)[1] or "").startswith("proved")
    reads.clear()
    after = edited(("0.25", "0.3"))
    assert compiled(after, proved=True) == without_cache(after, proved=True)
    assert reads


def test_nothing_is_looked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder, where all is to be anew, and in a text without such numbers."""
    assert unread(TEXT, NAMED) is not None
    assert unread(TEXT.replace("dense<0.", "dense<0x"), NAMED) is not None  # 3.5
    assert unread(PROGRAM, NAMED) is None
    token = cache.ANEW.set(True)
    assert unread(TEXT, NAMED) is None
    cache.ANEW.reset(token)
    monkeypatch.setenv(cache.VARIABLE, "off")
    assert unread(TEXT, NAMED) is None


@pytest.mark.usefixtures("folder")
def test_a_constant_in_a_comment_is_none() -> None:
    """What differs there is another text."""
    texts = [f"{TEXT}// %a = stablehlo.constant dense<{n}.5> : tensor<f32>\n" for n in (2, 3)]
    one, other = (unread(text, NAMED) for text in texts)
    assert one is not None
    assert other is not None
    assert one.which == other.which
    assert one.key != other.key


def test_damaged_entries_are_none(folder: Path, reads: list[str]) -> None:
    after = edited(("0.25", "0.3"))
    found = without_cache(after)
    compiled(TEXT)
    for entry in folder.iterdir():
        data = entry.read_bytes()
        entry.write_bytes(data[:-9])
        reads.clear()
        assert compiled(after) == found
        assert reads
        entry.write_bytes(data)


def test_processes_at_once(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """With other hash seeds, and one after the other: each writes what a process without a cache does."""
    place = tmp_path_factory.mktemp("program")
    paths = [place / "before.mlir", place / "after.mlir"]
    paths[0].write_text(TEXT)
    paths[1].write_text(edited(("0.25", "0.3")))

    def started(seed: int, kept: str) -> list[str]:
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", PROCESS, str(path)],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONHASHSEED": str(seed + number), cache.VARIABLE: kept},
            )
            for number, path in enumerate(paths)
        ]
        return [process.communicate()[0] for process in processes]

    anew, first, second = started(2, "off"), started(4, str(folder)), started(6, str(folder))
    assert first == second == anew
    assert "" != anew[0] != anew[1] != ""


BRANCHES = """module {
  sdy.mesh @pod = <["x"=2]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@pod, [{"x"}]>}) -> tensor<8xf32> {
    %a = stablehlo.constant dense<0.25> : tensor<f32>
    %b = stablehlo.constant dense<0.5> : tensor<f32>
    %less = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %0 = "stablehlo.if"(%less) ({
      %1 = stablehlo.sine %x : tensor<8xf32>
      stablehlo.return %1 : tensor<8xf32>
    }, {
      %1 = stablehlo.cosine %x : tensor<8xf32>
      stablehlo.return %1 : tensor<8xf32>
    }) : (tensor<i1>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""


@pytest.mark.usefixtures("folder")
def test_numbers_that_decide_a_branch() -> None:
    """None that is any number does so before what is kept is taken."""
    for text in (BRANCHES, edited(("0.25", "0.75"), text=BRANCHES), edited(("0.25", "0.125"), text=BRANCHES)):
        assert compiled(text) == without_cache(text)


@pytest.mark.parametrize(("name", "moves"), [("place", True), ("in line 4", False), ("in model.py:4", False)])
@pytest.mark.usefixtures("folder")
def test_a_name_that_looks_like_a_line(name: str, moves: bool, reads: list[str]) -> None:
    """What is said of the value is not what a place says, so lines stay where they are."""
    before = TEXT.replace("%x: tensor<7x16xf32> {", f'%x: tensor<7x16xf32> loc("{name}") {{', 1)
    before = re.sub(
        r"%x: (tensor<7x16xf32>) loc\((.*?)\) (\{.*?\}), %w", r"%x: \1 \3 loc(\2), %w", before, count=1
    )
    assert f'loc("{name}")' in before
    after = f"\n\n{before}"
    kept = [sought(read(text, NAMED)) for text in (before, after)]
    assert kept[0] is not None
    assert kept[1] is not None
    assert (kept[0].key == kept[1].key) == moves
    after_edit(before, after, reads)
