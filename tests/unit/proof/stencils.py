"""Random programs whose devices send to their neighbours, and that join what they reduce."""

from __future__ import annotations

from random import Random

MESHES = ("m[x=24]", "m[x=32]", "m[x=32, y=2]", "m[y=2, x=24]")


def stencil(random: Random) -> str:
    """A program of shifts along a dimension that a long axis splits, and of arithmetic."""
    mesh, block = random.choice(MESHES), random.choice((2, 3))
    size = block * (24 if "24" in mesh else 32)
    other = random.choice(("6", "6@y")) if "y" in mesh else "6"
    names, lines = ["a", "b"], list[str]()
    for number in range(random.randint(2, 4)):
        one, two = random.choice(names), random.choice(names)
        lines.append(f"    y{number} = {_step(random, one, two, size)}")
        names.append(f"y{number}")
    last = names[-1]
    results = [
        last,
        random.choice((f"sum({last}, 0)", f"mean({last} * a)", f"max({last}, 0)", "y0", f"{last}[1:]")),
    ]
    return "\n".join(
        [
            f"mesh {mesh}",
            f"def f(a: f32[{size}@x, {other}], b: f32[{size}@x, {other}]):",
            *lines,
            f"    return {', '.join(results)}",
            "",
        ]
    )


def _step(random: Random, one: str, two: str, size: int) -> str:
    by = random.randint(1, 2)
    kind = random.randrange(7)
    if kind == 0:
        return f"concatenate([{one}[{by}:], {one}[:{by}]], 0) * {two}"
    if kind == 1:
        return f"concatenate([{one}[{size - by}:], {one}[:{size - by}]], 0) + {two}"
    if kind == 2:
        return f"pad({one}, (({by}, 0), (0, 0)))[:{size}] + {two}"
    if kind == 3:
        return f"pad({one}, (({by}, {by}), (0, 0)))[{2 * by}:] * 2.0 - {two}"
    if kind == 4:
        return f"pad({one}[{by}:] - {one}[:{size - by}], ((0, {by}), (0, 0))) + {two}"
    if kind == 5:
        return f"tanh({one}) - {two}"
    return f"{one} / (1.0 + sum({two} * {two}, {random.randrange(2)}, keepdims=True))"


def training(random: Random) -> str:
    """The gradients of a model of several shapes and dtypes, which are reduced together."""
    count = random.choice((12, 16))
    inner, outer = random.choice((4, 6, 16)), random.choice((8, 12))
    wanted = ", ".join(random.sample(["2", "3", "4"], 3))
    dtype = random.choice(("f32", "f64"))
    return f"""
mesh m[x={count}]
def loss(x, y, w, b, v):
    h = {random.choice(("tanh", "sin"))}(x @ w + b)
    return mean(square(h @ v - y))
def f(x: f32[{2 * count}@x, {inner}], y: f32[{2 * count}@x, 3], w: f32[{inner}, {outer}], b: f32[{outer}],
      v: f32[{outer}, 3], u: {dtype}[{2 * count}@x, 5]):
    return grad(loss, ({wanted}))(x, y, w, b, v), sum(u * u, 0), sum(x, 0)
"""
