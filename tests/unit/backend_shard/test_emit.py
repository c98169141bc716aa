"""--emit shard: what it writes, and that what it writes compiles to the same per-device program."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardc.backend.shard import emit
from shardc.backend.shard.spelling import word
from shardc.backend.shard.vocabulary import VOCABULARY
from shardc.diagnostics import ShardcError
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read as read_mlir
from shardc.frontend.text import read
from shardc.frontend.text.builtins.table import BUILTINS
from shardc.frontend.text.promotion import DTYPES as ALL_DTYPES
from shardc.graph import DTYPES
from shardc.ops import definitions
from shardc.passes.pipeline import run_to
from tests.sampling import examples
from tests.tolerance import assert_near

ROOT = Path(__file__).parents[3]
RoundTrip = Callable[..., str]

PROGRAMS = [*ROOT.glob("examples/*/*.shard"), *Path(__file__).parent.glob("programs/*.shard")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", sorted(PROGRAMS), ids=lambda path: path.stem)
def test_round_trip(path: Path, round_trip: RoundTrip) -> None:
    round_trip(path.read_text(), str(path))


def test_text(round_trip: RoundTrip) -> None:
    """Names, specs, collectives with their reasons, loops over stacks, types as comments."""
    text = round_trip((ROOT / "examples/layers/layers.shard").read_text(), "layers.shard")
    assert re.sub(r"(?<=\S)  # .*", "", text) == LAYERS


LAYERS = """\
# What each device runs of layers.shard, as shardc compiled it.
mesh pod[data=2, model=4]


@shard_map
def main(
    x: f32[16@data, 32], ups: f32[6, 32, 64@model], downs: f32[6, 64@model, 32]
) -> f32[16@data, 32]:
    # x: f32[8, 32] of f32[16@data, 32]
    # ups: f32[6, 32, 16] of f32[6, 32, 64@model]
    # downs: f32[6, 16, 32] of f32[6, 64@model, 32]
    for up, down in ups, downs carrying x:
        # all-reduce over model, 1.5 KiB sent per device: the result of dot_general in
        # line 8 is a partial sum over model, needed whole by add in line 8
        total = psum(relu(x @ up) @ down, model)
        x = x + total
    return x
"""

MLP = """
mesh m[x=2]
@shard_map
def main(a: f32[8, 4@x], b: f32[4@x, 8], c: f32[8, 8]) -> f32[8, 8]:
    h = psum(a @ b, x)
    y = h * 0.5
    return tanh(y - c)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("psum(a @ b, x)", "pmax(a @ b, x)"),
        ("psum(a @ b, x)", "psum(a @ b * 1.5, x)"),
        ("0.5", "0.25"),
        ("y - c", "c - y"),
        ("tanh(y - c)", "tanh(tanh(y - c))"),
        ("c: f32[8, 8]", "d: f32[8, 8], c: f32[8, 8]"),
    ],
)
def test_the_comparison_sees_a_difference(old: str, new: str, same: Callable[..., bool]) -> None:
    assert same(MLP, MLP.replace("h * 0.5", "(h * 0.5)")) and not same(MLP, MLP.replace(old, new))


def test_an_edited_reduction(run_text: Callable[[str], list[object]]) -> None:
    """A person moves the all-reduce behind the scaling: it compiles, to a program with equal results."""
    moved = MLP.replace("psum(a @ b, x)", "a @ b").replace("h * 0.5", "psum(h * 0.5, x)")
    assert_near(run_text(moved)[0], run_text(MLP)[0], terms=4)


# ---- what cannot be written


def local_text(source: str) -> str:
    module = read_mlir(source, "prog.mlir")
    run_to(make_context(), module, "local")
    return emit(snapshot(module).graph)


def test_the_entry_is_not_per_device_code() -> None:
    source = "mesh m[x=2]\n@per_device\ndef main(x: f32[4]) -> f32[4]:\n    return psum(x, x)\n"
    with pytest.raises(ShardcError, match="the entry main is per-device code"):
        read(source, "prog.shard")


# ---- names


def test_the_vocabulary_is_the_languages() -> None:
    known = {*BUILTINS, "inf", "nan", "pi", "range", "True", "False", "None"}
    assert VOCABULARY <= known
    assert set(DTYPES) == set(ALL_DTYPES)


def test_every_function_that_is_written_is_in_the_vocabulary() -> None:
    """A function that printers write and that values may be called, too, would be hidden by them."""
    called: set[str] = set()
    for path in sorted((ROOT / "shardc/backend/shard").glob("*.py")):
        text = path.read_text()
        called |= set(re.findall(r"""(?:call|function|composite|along)\("(\w+)\"""", text))
    called |= {text for text in map(word, definitions()) if text is not None and text.isidentifier()}
    assert {"einsum", "tanh", "relu", "all_gather"} <= called
    assert called <= VOCABULARY


# ---- generated programs


def every_operation():
    path = ROOT / "tests/property/test_every_operation.py"
    spec = spec_from_file_location("every_operation", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EVERY = every_operation()


@settings(
    max_examples=examples(90),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_generated(data: st.DataObject, round_trip: RoundTrip) -> None:
    """Every operation of the language under random shardings, uneven ones among them."""
    parameters, result, expression = EVERY.OPERATIONS[data.draw(st.sampled_from(sorted(EVERY.OPERATIONS)))]
    mesh = data.draw(st.sampled_from(EVERY.MESHES))
    axes = ", ".join(f"{axis}={size}" for axis, size in mesh.items())
    header = f"mesh m[{axes}]\ndef main({data.draw(EVERY.annotated(parameters, mesh, True))})"
    round_trip(f"{header} -> {data.draw(EVERY.annotated(result, mesh, True))}:\n    return {expression}\n")


# ---- declared partial results

DECLARED = """
mesh m[x=2]
@shard_map
def main(a: f32[8, 4@x], b: f32[4@x, 8]) -> f32[8, 8]:
    c: f32[8, 8] partial({kind}: x) = {made}
    return {result}
"""


@pytest.mark.parametrize(
    ("kind", "made", "result", "error"),
    [
        ("sum", "a @ b", "psum(c * 0.5, x)", None),
        ("sum", "a @ b", "psum(tanh(c), x)", "tanh is not linear, but c"),
        ("sum", "a @ b", "psum(c + psum(c, x), x)", "with a whole value"),
        ("max", "a @ b", "pmax(c, x)", "c is declared a partial max, and is a partial sum"),
        ("sum", "zeros((8, 8)) + 1", "psum(c, x)", "declared a partial sum over x and is the same there"),
        ("sum", "psum(a @ b, x)", "c", "c is declared a partial sum over x and is the same there"),
    ],
)
def test_a_declared_partial_result(
    kind: str, made: str, result: str, error: str | None, same: Callable[..., bool]
) -> None:
    """A local product is what it is, until it is declared partial: then only linear operations take it."""
    source = DECLARED.format(kind=kind, made=made, result=result)
    if error is None:
        assert same(source, source.replace(": f32[8, 8] partial(sum: x)", ""))
        return
    with pytest.raises(ShardcError, match=re.escape(error)):
        same(source, source)
