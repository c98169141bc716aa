"""What passes made of a folded program is found after edits that it does not depend on, and only then."""

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
from shardc.interpret.run import run
from shardc.passes import localize
from shardc.planning.program.remembered import known
from tests.tolerance import assert_right
from tests.unit.rewrite.folding.programs import SPLIT, forward, there_and_back
from tests.unit.rewrite.folding.test_folding import SCALED, arguments, scaled, stages

TWO_MAXIMA = (
    "    h = gelu((x * {0}.gain) @ {0}.up)\n"
    "    s = tanh(max(h * 0.25, axis=1, keepdims=True))\n"
    "    x = x + h @ {0}.down * s + sin(max(h * 0.25, axis=1, keepdims=True))\n"
    "    x = x + tanh(x)\n"
)
PROCESS = """
import sys
from pathlib import Path
from shardc.compilation import emit
from tests.unit.rewrite.folding.test_folding import stages
_, local, removed = stages(Path(sys.argv[1]).read_text(), 20)
assert removed[0] > 0
sys.stdout.write(emit(local, "jax"))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(known, "_RECENT", {})
    return tmp_path


def text(program: str) -> str:
    """The JAX program that layers were taken out of on the way."""
    _, local, removed = stages(program, 20)
    assert removed[0] > 0
    return emit(local, "jax")


def without_cache(program: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.VARIABLE, "off")
        patch.setattr(known, "_RECENT", {})
        return text(program)


def without_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, shared: object) -> bool:
        raise AssertionError("the program was localized")

    monkeypatch.setattr(localize.Localize, "rewrite", fail)


LAYERS = "    x = x + gelu(sin(x) @ {0}.up) @ {0}.down * 0.125\n" + SCALED
EQUAL = scaled(*[0.25] * 12, layer=LAYERS)
OTHER = scaled(*[0.25] * 5, 0.5, *[0.25] * 6, layer=LAYERS)
OUTSIDE = EQUAL.replace("    return x\n", "    return tanh(x * 0.375) * 0.375\n")
SEEDS = [7, 8]
DIFFERENT = scaled(*(i / 64 for i in range(2, 14)), layer=LAYERS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (EQUAL, OTHER),
        (OTHER, EQUAL),
        (OTHER, OTHER.replace("0.5", "0.75")),
        (EQUAL, EQUAL.replace("sin(x) @ p6.up) @ p6.down * 0.125", "sin(x) @ p6.up) @ p6.down * 0.25")),
        (EQUAL, EQUAL.replace("p1.down * 0.25", "p1.down * 0.75")),
        (EQUAL, EQUAL.replace("p11.down * 0.25", "p11.down * 0.75")),
        (DIFFERENT, DIFFERENT.replace("p2.down * 0.0625", "p2.down * 0.6875")),
        (OUTSIDE, OUTSIDE.replace("x * 0.375", "x * 0.625")),
        (OUTSIDE, OUTSIDE.replace("0.375", "0.625")),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_number_of_a_layer(before: str, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert before != after
    anew = without_cache(after)
    assert text(before) != anew
    without_passes(monkeypatch)
    assert text(after) == anew


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("p1.down * 0.25", "p1.down * 0.5"),  # which gelu has too, so that two are equal now
        ("def main", "\ndef main"),  # warnings and reasons name lines
        ("p5.down * 0.25", "p5.down * 1.0"),
        ("x: f32[8@data", "x: f32[8@model"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_else_differs_is_another_program(old: str, new: str) -> None:
    after = EQUAL.replace(old, new)
    assert after != EQUAL
    text(EQUAL)

    def compiled() -> str:
        return emit(stages(after, 20)[1], "jax")

    found = compiled()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.VARIABLE, "off")
        patch.setattr(known, "_RECENT", {})
        assert compiled() == found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("folder")
def test_edits_of_any_operations(seed: int) -> None:
    """One layer is another, or one argument is split otherwise, and another one after the next edit."""
    draw = random.Random(seed)
    for _ in range(2):
        layer, split = draw.randrange(18), draw.randrange(18)
        program = there_and_back(18, layer)
        if draw.randrange(2):
            program = program.replace(f"p{split}: Layer", f"p{split}: Split")
            program = program.replace("record", f"{SPLIT}\nrecord", 1)
        found = emit(stages(program, 20)[1], "jax")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(cache.VARIABLE, "off")
            patch.setattr(known, "_RECENT", {})
            assert emit(stages(program, 20)[1], "jax") == found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("layer", [LAYERS, TWO_MAXIMA])
@pytest.mark.usefixtures("folder")
def test_edits_of_any_numbers(layer: str, seed: int) -> None:
    """Where a number is, and whether it was equal to others or is now: the text is that without a cache."""
    draw = random.Random(seed)
    texts = [layer.format(f"p{i}") for i in range(12)]
    program = forward(12, layer)
    for _ in range(3):
        for _ in range(draw.randint(1, 3)):
            number = draw.randrange(12)
            parts = re.split(r"(?<=\* )[0-9.]+", texts[number])
            held = re.findall(r"(?<=\* )[0-9.]+", texts[number])
            held[draw.randrange(len(held))] = draw.choice(["0.25", "0.125", "0.375"])
            edited = "".join(a + b for a, b in zip(parts, [*held, ""], strict=True))
            program = program.replace(texts[number], edited)
            texts[number] = edited
        found = emit(stages(program, 20)[1], "jax")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(cache.VARIABLE, "off")
            patch.setattr(known, "_RECENT", {})
            assert emit(stages(program, 20)[1], "jax") == found


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.usefixtures("folder")
def test_equal_numbers_that_one_layer_tells_apart(place: int) -> None:
    """A maximum is found once where two numbers are equal in all layers, twice where one layer has others."""
    before = forward(12, TWO_MAXIMA)
    layer = TWO_MAXIMA.format("p5")
    parts = layer.split("0.25")
    parts[place : place + 2] = [f"{parts[place]}0.5{parts[place + 1]}"]
    after = before.replace(layer, "0.25".join(parts))
    assert before != after
    assert before.count("0.25") == 24 and text(before).count("lax.pmax(") < 24
    whole, local, _ = stages(after, 20)
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), "told apart")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.VARIABLE, "off")
        patch.setattr(known, "_RECENT", {})
        assert emit(stages(after, 20)[1], "jax") == emit(local, "jax")


@pytest.mark.usefixtures("folder")
def test_equal_numbers_of_no_layer_that_are_told_apart() -> None:
    """A maximum behind all layers is found once where two numbers are equal, twice where they are not."""
    end = "    h = x @ p0.up\n" + TWO_MAXIMA.partition("\n")[2].replace("h @ {0}.down * s", "s")
    before = forward(12).replace("    return x\n", f"{end}    return x\n")
    after = before.replace("h * 0.25", "h * 0.375", 1)
    assert text(before).count("lax.pmax(") == 1
    found = text(after)
    assert found.count("lax.pmax(") == 2 and found == without_cache(after)


@pytest.mark.usefixtures("folder")
def test_warnings_are_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Padding is warned of by planning."""
    before = EQUAL.replace("f32[8@data, 16]", "f32[7@data, 16]")
    after = before.replace("p5.down * 0.25", "p5.down * 0.5")
    said = []
    for program in (before, after):
        with collecting() as warnings:
            text(program)
        said.append([*map(str, warnings)])
        without_passes(monkeypatch)
    assert said[0] == said[1] != []


def test_a_damaged_entry_is_none(folder: Path) -> None:
    first = text(EQUAL)
    for entry in folder.iterdir():
        entry.write_bytes(entry.read_bytes()[:-9])
    assert text(EQUAL) == first


def test_processes_at_once_and_killed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two with other hash seeds, after one was killed: each writes what a process without a cache does."""
    place = tmp_path_factory.mktemp("program")
    paths = [place / "before.shard", place / "after.shard"]
    paths[0].write_text(EQUAL)
    paths[1].write_text(OTHER)

    def start(path: Path, seed: int, kept: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), cache.VARIABLE: kept}
        words = [sys.executable, "-c", PROCESS, str(path)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)

    killed = start(paths[0], 1, str(folder))
    while killed.poll() is None and not any(folder.iterdir()):
        pass
    killed.kill()
    killed.communicate()
    anew, first, second = (
        [process.communicate()[0] for process in [start(path, seed + i, at) for i, path in enumerate(paths)]]
        for seed, at in ((2, "off"), (4, str(folder)), (6, str(folder)))
    )
    assert first == second == anew
    assert "" != anew[0] != anew[1] != ""
