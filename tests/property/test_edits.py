"""A program that is edited again and again compiles to the same bytes with a cache folder as without one."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardc import cache
from shardc.compilation import emit
from shardc.planning.program.remembered import known
from shardc.rewrite.folding import cut
from tests.sampling import examples
from tests.unit.rewrite.folding.programs import forward
from tests.unit.rewrite.folding.test_folding import stages

LAYERS = 16
SCALED = "    x = x + gelu(cos(x * {0}.gain) @ {0}.up) @ {0}.down * 0.25\n"
KINDS = (
    SCALED,
    SCALED.replace("0.25", "0.5"),
    SCALED.replace("0.25", "1.0"),
    SCALED.replace("gelu", "tanh"),
    SCALED.replace("cos", "sin"),
    SCALED.replace("x = x", "x: f32[8@data, 16@model] = x"),
    SCALED.replace("x = x + gelu", "y = gelu").replace("* 0.25\n", "* 0.25\n    x = x + y\n"),
)
EDITS = st.lists(st.tuples(st.integers(0, LAYERS - 1), st.sampled_from(KINDS)), min_size=2, max_size=3)


def program(kinds: list[str]) -> str:
    """A network of one layer of each of these kinds."""
    texts = [SCALED.format(f"p{number}") for number in range(len(kinds))]
    own = [kind.format(f"p{number}") for number, kind in enumerate(kinds)]
    return forward(len(kinds), SCALED).replace("".join(texts), "".join(own))


def text(source: str, folder: str) -> str:
    """What a new process makes of a program that has this cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.VARIABLE, folder)
        patch.setattr(known, "_RECENT", {})
        patch.setattr(known, "WORTH", 0)
        return emit(stages(source, 8)[1], "jax")


@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EDITS, st.sampled_from([1, cut.LONG]))
def test_edits(edits: list[tuple[int, str]], long: int) -> None:
    """As those of few operations, or of so many that fewer stay where others go."""
    kinds = [SCALED] * LAYERS
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut, "LONG", long)
        text(program(kinds), folder)
        for number, kind in edits:
            kinds[number] = kind
            source = program(kinds)
            found = text(source, folder)
            assert found == text(source, "off"), source
            assert found == text(source, folder), source
