"""Functions that are several operations, on a mesh against the same without one; and their errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from tests.tolerance import assert_near

RNG = np.random.default_rng(0)
PARAMETERS = {
    "x": ("f32", (8, 12), "f32[8@a, 12@b]"),
    "m": ("f32", (8, 8), "f32[8@a, 8@b]"),
    "i": ("i32", (8, 12), "i32[8@a, 12@b]"),
    "v": ("f32", (8,), "f32[8@a]"),
    "g": ("f32", (12,), "f32[12@b]"),
    "img": ("f32", (4, 2, 8, 12), "f32[4, 2, 8@a, 12@b]"),
}
VALUES = {
    name: (RNG.integers(-3, 4, shape) if dtype == "i32" else RNG.standard_normal(shape)).astype(
        {"f32": np.float32, "i32": np.int32}[dtype]
    )
    for name, (dtype, shape, _) in PARAMETERS.items()
}
EXPRESSIONS = """
cumsum(x, axis=1)
cumprod(x, axis=0)
cummax(x, axis=1)
cummin(i, axis=0)
diff(x, axis=1)
diff(x, 2, axis=0)
trace(m)
trace(x, offset=1)
diagonal(m)
diagonal(x, offset=-2)
searchsorted(sort(v), x)
searchsorted(sort(v), g, side="right")
leaky_relu(x)
elu(x)
layer_norm(x, g, g)
layer_norm(x, axis=0)
rms_norm(x, g)
isclose(x, g, atol=0.5)
arctan(sinh(x)) + arcsin(x / 8)
linspace(0, 1, 12) * x
meshgrid(v, g)[0] + meshgrid(v, g)[1]
max_pool(img, 2)
max_pool(img, 3, strides=1, padding="SAME")
avg_pool(img, 2)
avg_pool(img, 3, strides=1, padding=1)
""".strip().splitlines()


def _run(header: str, types: dict[str, str], expression: str) -> np.ndarray[Any, Any]:
    parameters = ", ".join(f"{name}: {type}" for name, type in types.items())
    source = f"{header}def main({parameters}):\n    return {expression}\n"
    names: dict[str, Any] = {}
    exec(shardc.compile(source, target="numpy").source, names)
    return np.asarray(names["main"](*(VALUES[name] for name in types)))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_split_over_a_mesh(expression: str) -> None:
    split = {name: type for name, (_, _, type) in PARAMETERS.items()}
    whole = {name: f"{dtype}[{', '.join(map(str, shape))}]" for name, (dtype, shape, _) in PARAMETERS.items()}
    found, expected = _run("mesh pod[a=2, b=3]\n", split, expression), _run("", whole, expression)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert_near(found, expected, terms=64)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("searchsorted(x, v)", "searchsorted looks into a vector, not f32"),
        ('searchsorted(v, x, side="middle")', 'side is "left" or "right", not "middle"'),
        ("diff(x, -1)", "diff -1 times"),
        ("diagonal(v)", "axis 1 is out of range"),
        ("diagonal(x, 0, 1, -1)", "axis1 and axis2 are both dimension 1"),
        ("linspace(0, 1, -2)", "a negative size"),
        ('meshgrid(v, indexing="xx")', 'indexing is "xy" or "ij"'),
        ("meshgrid(x)", "meshgrid takes vectors, not f32"),
        ("max_pool(x, 2)", "pooling takes an image"),
        ("max_pool(img, 0)", "window is a positive number"),
        ("max_pool(img, 2, strides=(1, 1, 1))", "strides is a positive number"),
        ("max_pool(img, 2, strides=0.5)", "strides is a positive number"),
        ("avg_pool(img, 2, padding=2)", "padding is not negative, and less than the window"),
        ('avg_pool(img, 2, layout="HW")', 'layout "HW" is not NCHW or NHWC'),
        ("layer_norm(x, axis=2)", "axis 2 is out of range"),
        ("rms_norm(x, v)", "do not broadcast together"),
    ],
)
def test_errors(expression: str, message: str) -> None:
    parameters = ", ".join(f"{name}: {type}" for name, (_, _, type) in PARAMETERS.items())
    source = f"mesh pod[a=2, b=3]\ndef main({parameters}):\n    return {expression}\n"
    with pytest.raises(ShardcError) as error:
        shardc.compile(source)
    told = error.value.diagnostic
    assert message in told.message and told.loc is not None and told.loc.line == 3
