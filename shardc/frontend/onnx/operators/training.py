"""Steps of optimisers: ai.onnx.preview.training. All inputs but R and T are lists of equally many tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import add, calc, choose, compare, div, mul, sqrt, sub
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.ops import hlo

Step = Callable[[Node, Tensor, Tensor, Sequence[Tensor]], Sequence[Tensor]]


def _each(step: Step, kinds: int) -> Lower:
    """The step for every parameter; the results are all parameters, then all of each further kind."""

    def lower(n: Node) -> list[Tensor]:
        rate, time, *rest = n.xs()
        count = len(rest) // kinds
        if not count or len(rest) % kinds or len(n.outputs) != count * (kinds - 1):
            raise Invalid(f"{n.op} has {len(rest)} tensors in {kinds} lists and {len(n.outputs)} outputs")
        rate, time = n.e.reshape(rate, ()), n.e.reshape(time, ())
        found = [step(n, rate, time, [rest[kind * count + i] for kind in range(kinds)]) for i in range(count)]
        return [tensor for results in zip(*found, strict=True) for tensor in results]

    return lower


def _regularised(n: Node, x: Tensor, gradient: Tensor) -> Tensor:
    return add(n.e, mul(n.e, x, n.float("norm_coefficient")), gradient)


def _adagrad(n: Node, rate: Tensor, time: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    e, (x, gradient, squares) = n.e, tensors
    rate = div(e, rate, add(e, mul(e, e.cast(time, rate.dtype), n.float("decay_factor")), 1))
    gradient = _regularised(n, x, gradient)
    squares = add(e, squares, mul(e, gradient, gradient))
    scale = add(e, sqrt(e, squares), n.float("epsilon"))
    return [sub(e, x, div(e, mul(e, gradient, rate), scale)), squares]


def _adam(n: Node, rate: Tensor, time: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    e, (x, gradient, mean, squares) = n.e, tensors
    alpha, beta = n.float("alpha"), n.float("beta")
    gradient = _regularised(n, x, gradient)
    mean = _mixed(e, alpha, mean, gradient)
    squares = _mixed(e, beta, squares, mul(e, gradient, gradient))
    turns = e.cast(time, rate.dtype)
    rests = [sub(e, 1, calc(e, hlo.power, e.splat(base, turns.type), turns)) for base in (beta, alpha)]
    adjusted = div(e, mul(e, rate, sqrt(e, rests[0])), rests[1])
    rate = choose(e, compare(e, "GT", time, 0), adjusted, rate)
    scale = add(e, sqrt(e, squares), n.float("epsilon"))
    x = sub(e, x, mul(e, div(e, mean, scale), rate))
    return [mul(e, x, 1 - n.float("norm_coefficient_post")), mean, squares]


def _mixed(e: Emitter, part: float, old: Tensor, new: Tensor) -> Tensor:
    return add(e, mul(e, old, part), mul(e, new, 1 - part))


def _momentum(n: Node, rate: Tensor, time: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    e, (x, gradient, velocity) = n.e, tensors
    mode = n.text("mode")
    if mode not in ("standard", "nesterov"):
        raise Invalid(f"{n.op} has no mode {mode}")
    gradient = _regularised(n, x, gradient)
    part = choose(e, compare(e, "GT", time, 0), e.splat(n.float("beta"), rate.type), e.splat(1.0, rate.type))
    velocity = add(e, mul(e, velocity, n.float("alpha")), mul(e, gradient, part))
    step = velocity if mode == "standard" else add(e, gradient, mul(e, velocity, n.float("alpha")))
    return [sub(e, x, mul(e, step, rate)), velocity]


OPERATORS: dict[str, Lower] = {
    "ai.onnx.preview.training:Adagrad": _each(_adagrad, 3),
    "ai.onnx.preview.training:Adam": _each(_adam, 4),
    "ai.onnx.preview.training:Momentum": _each(_momentum, 3),
}
