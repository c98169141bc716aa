"""After an edit of numbers and functions of layers nobody looks for layers again, and what comes out is that
of a compilation without a cache."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from shardc import cache
from shardc.compilation import emit
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.passes import fold_layers
from shardc.passes.pipeline import run_to
from shardc.planning.program.remembered import known
from shardc.rewrite import kept_program
from tests.unit.rewrite.folding.programs import forward
from tests.unit.rewrite.folding.test_functions import BEFORE, BOTH, COUNT, RISES, SINE, other
from tests.unit.rewrite.folding.test_functions import LAYER as FUNCTIONS
from tests.unit.rewrite.folding.test_kept import EQUAL, LAYERS, OUTSIDE, TWO_MAXIMA
from tests.unit.rewrite.folding.test_stacks import edited

PROCESS = """
import sys
from pathlib import Path
from shardc.rewrite import kept_program
from tests.unit.rewrite.folding.test_edited import text
kept_program.WORTH = 0
sys.stdout.write(text(Path(sys.argv[1]).read_text()))
"""


def text(program: str) -> str:
    """What the command writes of a program of few operations, too."""
    module = read(program, "layers.shard")
    sought = kept_program.sought(module)
    options = {"fold-layers": {"worth": 20}}
    run_to(make_context(), module, "local", options=options, skeleton=sought and sought.skeleton)
    return emit(snapshot(module).graph, "jax")


def without_cache(program: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.VARIABLE, "off")
        patch.setattr(known, "_RECENT", {})
        return text(program)


def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, shared: object) -> bool:
        raise AssertionError("layers were looked for")

    monkeypatch.setattr(fold_layers.FoldLayers, "rewrite", fail)


SCALE_FIRST = forward(
    12, "    x = x + gelu(0.25 * (sin(x) @ {0}.up)) @ {0}.down\n    x = x + cos(x) * 0.75 + exp(-abs(x))\n"
)
FOUND = [
    (EQUAL, EQUAL.replace("p6.down * 0.25", "p6.down * 0.75")),
    (EQUAL, EQUAL.replace("p6.down * 0.125", "p6.down * 0.375").replace("p4.down * 0.25", "p4.down * 0.5")),
    (EQUAL.replace("p6.down * 0.25", "p6.down * 0.75"), EQUAL),
    (EQUAL, EQUAL.replace("p2.down * 0.25", "p2.down * 0.75")),
    (SCALE_FIRST, SCALE_FIRST.replace("0.25 * (sin(x) @ p6.up)", "0.1415926535 * (sin(x) @ p6.up)")),
    (BEFORE, other((7, SINE))),
    (BEFORE, other((7, BOTH))),
    (BEFORE, other((6, SINE), (9, RISES))),
    (BEFORE, other((7, SINE.replace("2.0", "3.0")))),
    (other((7, SINE)), BEFORE),
    (other((7, SINE)), other((8, RISES))),
    (EQUAL, EQUAL.replace("def main", "\ndef main")),
    (EQUAL, EQUAL.replace("    return", "\n\n    return").replace("p6.down * 0.25", "p6.down * 0.75")),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("before", "after"), FOUND)
@pytest.mark.usefixtures("folder")
def test_what_layers_may_have_for_themselves(
    before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert before != after
    anew = without_cache(after)
    assert text(before) != anew
    no_search(monkeypatch)
    assert text(after) == anew


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OUTSIDE, OUTSIDE.replace("x * 0.375", "x * 0.625")),  # of no layer
        (OUTSIDE, OUTSIDE.replace("tanh(x", "sigmoid(x")),
        (BEFORE, other((1, SINE))),  # which stays
        (BEFORE, other(*((number, SINE) for number in (4, 6, 7, 9, 10)))),  # more than a few
        (BEFORE, other((7, FUNCTIONS.replace("cos", "abs")))),  # of another kind
        (EQUAL, EQUAL.replace("p6.down * 0.25", "p6.down * 1.0")),  # which has a meaning of its own
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_else_differs_is_looked_for(before: str, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert before != after
    text(before)
    assert text(after) == without_cache(after)
    assert text(before) == without_cache(before)
    again = before.replace("def main(", "def main(also: f32[16], ")
    text(again)
    no_search(monkeypatch)
    with pytest.raises(AssertionError, match="looked for"):
        text(again.replace(before[before.index(") ->") :], after[after.index(") ->") :]))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [7, 8])
@pytest.mark.parametrize("layer", [LAYERS, TWO_MAXIMA, FUNCTIONS])
@pytest.mark.usefixtures("folder")
def test_edits_of_any_numbers_and_functions(layer: str, seed: int) -> None:
    """Wherever they stand, and whether they are equal to others then or were."""
    draw = random.Random(seed)
    texts = [layer.format(f"p{number}") for number in range(COUNT)]
    words = re.compile(r"(?<=[*+] )\d\.\d+|\b(?:sin|cos|tanh|sigmoid)(?=\()")
    others = {"sin": ["cos", "tanh"], "cos": ["sin", "tanh"], "tanh": ["sigmoid"], "sigmoid": ["tanh", "sin"]}
    for _ in range(3):
        for _ in range(draw.randint(1, 3)):
            number = draw.randrange(COUNT)
            at = draw.choice([*words.finditer(texts[number])])
            new = draw.choice(others.get(at[0], ["0.25", "0.125", "0.375", "2.0"]))
            texts[number] = texts[number][: at.start()] + new + texts[number][at.end() :]
        head, _, end = forward(COUNT, "{0}\n").partition("p0\n")
        program = head + "".join(texts) + end[end.index("    return") :]
        assert text(program) == without_cache(program)


@pytest.mark.usefixtures("folder")
def test_a_number_that_something_else_is_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the layers stands what is made of an equal number: that is looked at, the layers' are not."""
    before = EQUAL.replace("    return x\n", "    return x + full([8, 16], 0.25)\n")
    after = edited(before, (5, LAYERS.replace("0.25", "0.75")), layer=LAYERS)
    anew = without_cache(after)
    text(before)
    no_search(monkeypatch)
    assert text(after) == anew


@pytest.mark.usefixtures("folder")
def test_warnings_are_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Padding is warned of by planning, and once."""
    before = SCALE_FIRST.replace("f32[8@data, 16]", "f32[7@data, 16]")
    after = before.replace("0.25 * (sin(x) @ p6.up)", "0.1415926535 * (sin(x) @ p6.up)")
    said = list[list[str]]()
    for compiled, program in ((without_cache, after), (text, before), (text, after)):
        with collecting() as warnings:
            compiled(program)
        said.append([*map(str, warnings)])
        if program is before:
            no_search(monkeypatch)
    assert said[0] == said[2] != []


def test_damaged_and_missing_entries_are_none(folder: Path) -> None:
    after = EQUAL.replace("p6.down * 0.25", "p6.down * 0.75")
    anew = without_cache(after)
    text(EQUAL)
    whole = {entry: entry.read_bytes() for entry in folder.iterdir()}
    for damaged, data in whole.items():
        for entry in folder.iterdir():
            entry.unlink()
        for entry, kept in whole.items():
            entry.write_bytes(kept)
        damaged.write_bytes(data[:-9])
        assert text(after) == anew


def test_under_any_hash_seed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each process writes what one without a cache does, and finds what the one before kept."""
    place, found = tmp_path_factory.mktemp("program") / "layers.shard", list[str]()
    programs = EQUAL, EQUAL.replace("p6.down * 0.25", "p6.down * 0.75")
    for kept in ("off", str(folder)):
        for seed, program in enumerate(programs, 3):
            place.write_text(program)
            environment = {**os.environ, "PYTHONHASHSEED": str(seed), cache.VARIABLE: kept}
            done = subprocess.run(
                [sys.executable, "-c", PROCESS, str(place)], capture_output=True, text=True, env=environment
            )
            found.append(done.stdout)
    assert found[:2] == found[2:] and "" != found[0] != found[1] != ""
