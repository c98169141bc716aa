"""Programs of layers that are written out one after the other."""

from __future__ import annotations

HEAD = """mesh pod[data=2, model=4]

record Layer:
    up: f32[16, 32@model]
    down: f32[32@model, 16]
    gain: f32[16]
"""
SPLIT = """record Split:
    up: f32[16@data, 32@model]
    down: f32[32@model, 16]
    gain: f32[16]
"""
LAYER = "    x = x + gelu((x * {0}.gain) @ {0}.up) @ {0}.down\n"
LONG = (
    f"{LAYER}    x = x + tanh((x * {{0}}.gain) @ {{0}}.up) @ {{0}}.down\n    x = sin(cos(x)) * exp(-abs(x))\n"
)
"""A layer of as many operations as are worth a function (passes/outline_repeats.py)."""


def forward(layers: int, layer: str = LAYER) -> str:
    """A network, and what else `layer` says."""
    weights = ", ".join(f"p{i}: Layer" for i in range(layers))
    body = "".join(layer.format(f"p{i}") for i in range(layers))
    return f"{HEAD}\ndef main(x: f32[8@data, 16], {weights}) -> f32[8@data, 16]:\n{body}    return x\n"


def step(
    layers: int,
    update: str = "{0} - 0.1 * {1}",
    before: str = "",
    layer: str = LAYER,
    by_name: bool = False,
) -> str:
    """A training step: the gradient of a network, and the new weights. `before` works on all gradients. They
    come in the order of the layers, or `by_name` (0, 1, 10, 11, 2), as keys of dictionaries do in JAX."""
    numbers = sorted(range(layers), key=str if by_name else int)
    weights = ", ".join(f"p{i}: Layer" for i in numbers)
    types = ", ".join(["Layer"] * layers)
    body = "".join(f"    p{i} = ps[{numbers.index(i)}]\n" + layer.format(f"p{i}") for i in range(layers))
    parts = ("up", "down", "gain")
    squares = " + ".join(f"sum(g[{i}].{part} ** 2)" for i in range(layers) for part in parts)
    new = ", ".join(
        "Layer(" + ", ".join(f"{k}={update.format(f'p{i}.{k}', f'g[{at}].{k}')}" for k in parts) + ")"
        for at, i in enumerate(numbers)
    )
    return (
        f"{HEAD}\ndef loss(ps: ({types}), x: f32[8@data, 16], y: f32[8@data, 16]) -> f32[]:\n{body}"
        f"    return mean((x - y) ** 2)\n\n"
        f"def main({weights}, x: f32[8@data, 16], y: f32[8@data, 16]) -> (f32[], {types}):\n"
        f"    value, g = value_and_grad(loss)(({', '.join(f'p{i}' for i in numbers)}), x, y)\n"
        f"{before.format(squares)}    return value, {new}\n"
    )


def there_and_back(layers: int, *others: int) -> str:
    """A network whose layers are read again, the last first; of `others` only the way there is another."""
    lines = "".join(
        f"    h{i} = {'abs' if i in others else 'cos'}(gelu((x * p{i}.gain) @ p{i}.up))\n"
        f"    x = x + h{i} @ p{i}.down\n"
        for i in range(layers)
    )
    lines += "    x = sin(x)\n" + "".join(
        f"    x = x + exp(-abs((x @ p{i}.up) * h{i})) @ p{i}.down * p{i}.gain\n"
        for i in reversed(range(layers))
    )
    weights = ", ".join(f"p{i}: Layer" for i in range(layers))
    return f"{HEAD}\ndef main(x: f32[8@data, 16], {weights}) -> f32[8@data, 16]:\n{lines}    return x\n"
