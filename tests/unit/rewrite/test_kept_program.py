"""What a program was compiled to is found after edits that it does not depend on, and only then."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

from shardc import cache
from shardc.compilation import emit, lower
from shardc.diagnostics import collecting
from shardc.dialects.build import IRBuilder
from shardc.frontend.read import read
from shardc.graph import Dense, TensorType
from shardc.ops import hlo
from shardc.options import Options
from shardc.passes import localize
from shardc.planning.program.remembered import known
from shardc.rewrite.kept_program import sought
from tests.unit.rewrite.folding.programs import step
from tests.unit.rewrite.folding.test_folding import SCALED

LOOP = """mesh pod[data=2, model=4]

def main(x: f32[8@data, 16@model], w: f32[16@model, 16]) -> f32[8@data, 16]:
    for i in range(3):
        x = tanh(x @ w * 0.25) + x * 0.375
    x = where(sum(x) > 2.5, x * 0.25, x)
    return x / 3.5 + exp(x * 0.75)
"""
STEP = step(2, layer=SCALED)
COMPUTED = """mesh pod[data=4]

def main(x: f32[8@data]) -> f32[8@data]:
    a: f32[] = 0.75
    b: f32[] = 0.5
    return x * (a + b)
"""


def text(program: str, options: Options | None = None) -> tuple[str, list[str]]:
    """The JAX program, and the warnings."""
    options = options or Options()
    with collecting() as warnings:
        made = emit(lower(read(program, options), options), "jax")
    return made, [*map(str, warnings)]


def without_cache(program: str, options: Options | None = None) -> tuple[str, list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.VARIABLE, "off")
        patch.setattr(known, "_RECENT", {})
        return text(program, options)


@pytest.fixture
def localized(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """An entry for each time that a program is localized."""
    found, rewrite = list[object](), localize.Localize.rewrite

    def counted(self: localize.Localize, shared: object) -> bool:
        found.append(shared)
        return rewrite(self, shared)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(localize.Localize, "rewrite", counted)
    return found


DECIDED = """mesh pod[data=4]

def main(x: f32[8@data]) -> f32[8@data]:
    a: f32[] = 0.75
    b: f32[] = 0.3
    return where(a * b < 0.5, x * 0.25, x)
"""
LATE = """mesh pod[data=4]

def main(x: f32[8@data, 16], w: f32[16@data, 16]) -> f32[8@data, 16]:
    y = tanh(x @ w)
    z = sum(y, 0)
    return y * z @ w
"""
PADDED = LOOP.replace("f32[8@", "f32[7@")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LOOP, LOOP.replace("3.5", "4.5")),
        (LOOP, LOOP.replace("0.25", "0.625")),
        (LOOP, LOOP.replace("2.5", "-2.5")),
        (LOOP, LOOP.replace("tanh(x", "tanh(  x")),
        (LOOP, LOOP + "# a comment\n"),
        (LOOP, LOOP.replace("\ndef", "\n\n# a comment\ndef")),
        (LOOP, LOOP.replace("    return", "\n\n    return").replace("3.5", "4.5")),
        (PADDED, PADDED.replace("\ndef", "\n\n\ndef")),  # which a warning says
        (LATE, LATE.replace("\n    return", "\n\n    # a comment\n    return")),  # and a comment
        (PADDED, PADDED.replace("3.5", "4.5")),
        (PADDED, PADDED.replace("0.25", "0.0625")),
        (STEP, STEP.replace("- 0.1", "- 0.2")),
        (STEP, STEP.replace("down * 0.25", "down * 0.375")),
        (COMPUTED, COMPUTED.replace("0.75", "0.1")),  # whose sum with 0.5 is rounded
        (DECIDED, DECIDED.replace("0.3", "0.9")),
    ],
)
@pytest.mark.usefixtures("folder")
def test_it_is_found(before: str, after: str, localized: list[object]) -> None:
    assert before != after
    found = without_cache(after)
    text(before)
    localized.clear()
    assert text(after) == found
    assert not localized


@pytest.mark.parametrize("program", [LOOP, PADDED, LATE, STEP])
@pytest.mark.usefixtures("folder")
def test_it_is_found_in_a_file_of_another_name(program: str, localized: list[object]) -> None:
    """Whose name warnings have."""
    found = without_cache(program, Options(file="new.shard"))
    text(program, Options(file="old.shard"))
    localized.clear()
    assert text(program, Options(file="new.shard")) == found
    assert not localized


@pytest.mark.parametrize(
    ("before", "after", "options"),
    [
        (LOOP, LOOP.replace("0.375", "0.25"), Options()),  # two are equal now
        (LOOP, LOOP.replace("* 0.25,", "* 0.625,"), Options()),  # or no more
        (LOOP, LOOP.replace("3.5", "1.0"), Options()),
        (LOOP, LOOP.replace("3.5", "0.0"), Options()),
        (LOOP, LOOP.replace("tanh", "exp"), Options()),
        (LOOP, LOOP.replace("range(3)", "range(4)"), Options()),
        (LOOP, LOOP.replace("tanh(x @", "tanh(\n            x @"), Options()),  # of one line, two
        (LOOP, LOOP.replace("w: f32[16@model, 16]", "w: f32[16, 16@model]"), Options()),
        (LOOP, LOOP.replace("x: f32", "y: f32").replace("    for", "    x = y\n    for"), Options()),
        (LOOP, LOOP, Options(regather=True)),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_else_differs_is_another_program(
    before: str, after: str, options: Options, localized: list[object]
) -> None:
    found = without_cache(after, options)
    text(before)
    localized.clear()
    assert text(after, options) == found
    assert localized


@pytest.mark.usefixtures("folder")
def test_edits_of_any_numbers() -> None:
    """Wherever they are, and whether they were equal or are now, the text is that without a cache."""
    draw = random.Random(7)
    for program in (LOOP, STEP):
        for _ in range(3):
            parts = re.split(r"(\b\d+\.\d+\b)", program)
            place = draw.randrange(1, len(parts), 2)
            parts[place] = draw.choice(["0.25", "0.375", "1.0", "2.0", "0.3"])
            program = "".join(parts)
            assert text(program) == without_cache(program), program


@pytest.mark.usefixtures("folder")
def test_a_number_that_is_not_in_the_program_keeps_nothing() -> None:
    """What it is may depend on what those of the program are."""
    for number, is_kept in ((0.3, False), (3.5, True)):
        module = read(LOOP.replace("0.75", "0.875" if is_kept else "0.75"), Options())
        kept = sought(module)
        assert kept is not None
        with kept.made(module):
            builder = IRBuilder(module)
            builder.before(next(op for op in module.walk() if op.name == hlo.constant.name))
            value = Dense(np.asarray(number, np.float32), ())
            builder.one(hlo.constant.name, result=TensorType((), "f32"), value=value)
        assert kept.take(module) == is_kept


def test_a_name_of_half_a_character_keeps_nothing(folder: Path) -> None:
    """As files may have, and MessagePack has no form for."""
    options = Options(file="half \udcff.shard")
    assert sought(read(LOOP, options)) is None
    assert text(LOOP, options) == without_cache(LOOP, options)
    assert not [*folder.iterdir()]


def test_few_operations_are_not_looked_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    assert sought(read(LOOP, Options())) is None


def test_nothing_is_kept_without_a_folder_or_where_all_is_to_be_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = read(LOOP, Options())
    assert sought(module) is not None
    token = cache.ANEW.set(True)
    assert sought(module) is None
    cache.ANEW.reset(token)
    monkeypatch.setenv(cache.VARIABLE, "off")
    assert sought(module) is None


def test_a_damaged_entry_is_none(folder: Path, localized: list[object]) -> None:
    first = text(LOOP)
    for entry in folder.iterdir():
        entry.write_bytes(entry.read_bytes()[:-9])
    localized.clear()
    assert text(LOOP) == first
    assert localized
