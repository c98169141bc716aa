"""Losses at random: programs of the language, on whole tensors and per device, of what has a derivative."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from hypothesis import strategies as st

Shape = tuple[int, ...]

ONE = """
sin({x}) | tanh({x}) | exp(-{x} * {x}) | sigmoid({x}) | relu({x}) | abs({x}) | {x} ** 2 | {x} ** 3 | -{x}
silu({x}) | gelu({x}) | log(2 + cos({x})) | sqrt(1.5 + sin({x})) | rsqrt(2 + {x} * {x}) | softplus({x})
arctan({x}) | erf({x}) | where({x} > 0.1, {x}, 2 * {x}) | clip({x}, -0.7, 0.9) | astype(astype({x}, f32), f32)
1 / (1.5 + {x} * {x}) | tiny({x}) | kept({x}) | square({x})
cond(sum({x}) > 0, lambda v: sin(v), lambda v: v * v, {x})
grad(lambda v: sum(sin(v) * v))({x}) | jvp(lambda v: v * cos(v), ({x},), ({x},))[1]
vjp(lambda v: v * cos(v), {x})[1]({x})[0]
"""
"""Of one tensor of any shape, in its shape."""

LINES = """
softmax({x}) | log_softmax({x}) | cumsum({x}, axis=-1) | {x} - max({x}, axis=-1, keepdims=True)
flip({x}, axis=-1) | {x} * sum({x}, axis=0, keepdims=True) | {x} / (1 + var({x}, axis=-1, keepdims=True))
roll({x}, 1, axis=0) | {x} + mean({x})
sort({x}, axis=-1) | {x}.at[0].set(0.5) | {x}.at[0].add({x}[0]) | {x} * logsumexp({x})
turns({x}) | collected({x}) | associative_scan(lambda a, b: a * 0.5 + b, {x}, axis=0)
vmap(lambda v: v * sum(sin(v)))({x}) | cumsum({x}, axis=0) | {x} * prod(1 + 0.1 * {x}, axis=0, keepdims=True)
"""
"""Of one tensor that has a dimension, in its shape."""

TWO = """
{x} + {y} | {x} * {y} | {x} - sin({y}) | maximum({x}, {y})
{x} / (1.5 + {y} * {y}) | arctan2({x}, 2 + cos({y}))
"""
"""Of two of one shape."""

DEVICE = """
psum({x}, i) | ppermute({x}, j, ((0, 1), (1, 0))) | pmean({x}, j) | {x} * axis_index(i)
psum({x}, (i, j)) * {x}
psum_scatter(all_gather({x}, i, axis=0, tiled=True), i, scatter_dimension=0, tiled=True)
pbroadcast({x}, i, 1) | all_gather({x}, j, axis=0, tiled=True)[: {n}]
all_to_all(concatenate(({x}, {x})), j, 0, 0, tiled=True)[: {n}]
"""
"""Per device, of one tensor with a dimension."""

FUNCTIONS = """
def tiny_forward(x):
    return tanh(x), x

def tiny_backward(x, ct):
    return ct * (1 - tanh(x) ** 2)

@custom_vjp(tiny_forward, tiny_backward)
def tiny(x):
    return tanh(x)

@remat
def kept(x):
    return sin(x) * exp(-x * x)

def turns(x):
    for k in range(3) carrying x:
        x = tanh(x) + 0.1 * x * x
    return x

def collected(x):
    h = 0.5 * x[0]
    for row in x carrying h collecting rows:
        h = sin(h) + row
        rows = h * row
    return rows + h
"""


def _split(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


@dataclass
class _Body:
    """Statements so far, and the shapes of what they named."""

    shapes: dict[str, Shape]
    lines: list[str] = field(default_factory=list[str])

    def add(self, text: str, shape: Shape) -> None:
        name = f"t{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        self.shapes[name] = shape


def _step(draw: Any, body: _Body, device: bool) -> None:
    names = [*body.shapes]
    x = draw(st.sampled_from(names[-4:]))
    shape = body.shapes[x]
    alike = [name for name in names if body.shapes[name] == shape]
    kinds = ["one", "one", "two", "moved"] + ["lines", "lines", "product"] * bool(shape)
    kinds += ["device", "device"] * (device and bool(shape))
    kind = draw(st.sampled_from(kinds))
    if kind == "one":
        body.add(_of(draw, ONE).format(x=x), shape)
    elif kind == "two":
        body.add(_of(draw, TWO).format(x=x, y=draw(st.sampled_from(alike))), shape)
    elif kind == "lines":
        body.add(_of(draw, LINES).format(x=x), shape)
    elif kind == "device":
        body.add(_of(draw, DEVICE).format(x=x, n=shape[0]), shape)
    elif kind == "product":
        _product(draw, body, x, shape)
    else:
        _moved(draw, body, x, shape)


def _of(draw: Any, texts: str) -> str:
    return draw(st.sampled_from(_split(texts)))


def _product(draw: Any, body: _Body, x: str, shape: Shape) -> None:
    if len(shape) == 2:
        form, result = draw(
            st.sampled_from(
                [
                    ("{x} @ {x}.T / 4", (shape[0], shape[0])),
                    ("einsum('ab,ac->bc', {x}, sin({x})) / 4", (shape[1], shape[1])),
                    ("einsum('ab,cb->ac', {x}, {x}) / 4", (shape[0], shape[0])),
                ]
            )
        )
    elif len(shape) == 3:
        form, result = "einsum('abc,adc->abd', {x}, {x}) / 4", (*shape[:2], shape[1])
    else:
        form, result = "outer({x}, cos({x}))", (*shape, *shape)
    if prod(result) <= 256:
        body.add(form.format(x=x), result)


def _moved(draw: Any, body: _Body, x: str, shape: Shape) -> None:
    n = shape[0] if shape else 1
    forms: list[tuple[str, Shape]] = [(f"broadcast_to({x}, (2, *{x}.shape))", (2, *shape))]
    if shape:
        forms += [
            (f"transpose({x})", shape[::-1]),
            (f"sum({x}, axis=0)", shape[1:]),
            (f"max({x}, axis=-1)", shape[:-1]),
            (f"reshape({x}, (-1,))", (prod(shape),)),
            (f"concatenate(({x}, 2 * {x}), axis=0)", (2 * n, *shape[1:])),
            (f"pad({x}, 1)", tuple(size + 2 for size in shape)),
            (f"{x}[::-1]", shape),
            (f"{x}[array([0, {n - 1}, 0])]", (3, *shape[1:])),
            (f"take({x}, array([{n - 1}, 0]), axis=0)", (2, *shape[1:])),
        ]
    if n > 1:
        forms += [(f"{x}[1:]", (n - 1, *shape[1:])), (f"diff({x}, axis=0)", (n - 1, *shape[1:]))]
    form, result = draw(st.sampled_from(forms))
    if prod(result) <= 256:
        body.add(form, result)


@st.composite
def whole(draw: Any) -> str:
    """A program with a loss of x and y, and main, which gives its gradients; x and y are split somehow."""
    shapes = {
        "x": draw(st.sampled_from([(8, 4), (4, 8), (8, 2, 4)])),
        "y": draw(st.sampled_from([(8,), (4, 4)])),
    }
    body = _body(draw, shapes, False)
    types = ", ".join(f"{name}: f32{_dims(draw, shape)}" for name, shape in shapes.items())
    return _program(body, types, "", f"def loss({types}) -> f32[]:", "{}")


@st.composite
def per_device(draw: Any) -> str:
    """The same with a loss that is written for one device."""
    shapes = {"x": (4, 3), "y": (2,)}
    body = _body(draw, shapes, True)
    types = "x: f32[8@i, 6@j], y: f32[4@j]"
    return _program(body, types, "@shard_map\n", f"def loss({types}) -> f32[]:", "psum({}, (i, j))")


def _body(draw: Any, shapes: dict[str, Shape], device: bool) -> _Body:
    body = _Body(dict(shapes))
    for _ in range(draw(st.integers(2, 7))):
        _step(draw, body, device)
    return body


def _dims(draw: Any, shape: Shape) -> str:
    axes = draw(st.permutations(["@i", "@j", "", ""]))
    return f"[{', '.join(f'{size}{axis}' for size, axis in zip(shape, axes, strict=False))}]"


def _program(body: _Body, types: str, decorator: str, header: str, reduced: str) -> str:
    weighed = " + ".join(f"sum(sin({name} + 0.3))" for name in [*body.shapes][-3:])
    return (
        f"mesh grid[i=2, j=2]\n{FUNCTIONS}\n{decorator}{header}\n"
        + "\n".join(body.lines)
        + f"\n    return {reduced.format(weighed)}\n\n"
        f"def main({types}):\n    return value_and_grad(loss, (0, 1))(x, y)\n"
    )
