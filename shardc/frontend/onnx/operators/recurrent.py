"""LSTM, GRU and RNN: one loop over the steps per direction.

The loop carries the projected inputs, what the steps read, the counter, the state and the stacked results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators import activations
from shardc.frontend.onnx.operators.loops import counted
from shardc.frontend.onnx.operators.maths import (
    add,
    calc,
    choose,
    compare,
    concat,
    mul,
    row,
    slice_,
    sub,
    transpose,
)
from shardc.frontend.text.builtins.products import einsum
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo

Activation = Callable[[Emitter, Tensor], Tensor]
State = list[Tensor]
Step = Callable[[Tensor, State], State]


def _plain(op: str) -> Callable[[float, float], Activation]:
    return lambda alpha, beta: lambda e, x: e.op(op, x)


def _scaled_tanh(alpha: float, beta: float) -> Activation:
    return lambda e, x: mul(e, e.op(hlo.tanh.name, mul(e, x, beta)), alpha)


_ACTIVATIONS: dict[str, tuple[Callable[[float, float], Activation], float, float]] = {
    "sigmoid": (_plain(hlo.logistic.name), 0, 0),
    "tanh": (_plain(hlo.tanh.name), 0, 0),
    "relu": (lambda a, b: activations.relu, 0, 0),
    "affine": (lambda a, b: lambda e, x: add(e, mul(e, x, a), b), 1, 0),
    "leakyrelu": (lambda a, b: lambda e, x: activations.leaky_relu(e, x, a), 0.01, 0),
    "thresholdedrelu": (lambda a, b: lambda e, x: activations.thresholded_relu(e, x, a), 1, 0),
    "scaledtanh": (_scaled_tanh, 1, 1),
    "hardsigmoid": (lambda a, b: lambda e, x: activations.hard_sigmoid(e, x, a, b), 0.2, 0.5),
    "elu": (lambda a, b: lambda e, x: activations.elu(e, x, a), 1, 0),
    "softsign": (lambda a, b: activations.softsign, 0, 0),
    "softplus": (lambda a, b: activations.softplus, 0, 0),
}


def _activations(n: Node, defaults: Sequence[str], direction: int) -> list[Activation]:
    """The activations of one direction; alphas and betas are listed in order, for those that take them."""
    names = [str(name).lower() for name in n.attributes.get("activations") or ()]
    count = len(defaults)
    if not names:
        names = [*defaults] * (direction + 1)
    alphas = list(n.attributes.get("activation_alpha") or ())
    betas = list(n.attributes.get("activation_beta") or ())
    found: list[Activation] = []
    for name in names:
        if name not in _ACTIVATIONS:
            raise Invalid(f"no activation is called {name}")
        make, alpha, beta = _ACTIVATIONS[name]
        found.append(
            make(
                alphas.pop(0) if alphas and alpha else alpha,
                betas.pop(0) if betas and beta else beta,
            )
        )
    return found[direction * count : (direction + 1) * count]


class Pass(Struct):
    """One direction of a recurrent node: tensors of one direction, [batch, …]."""

    n: Node
    x: Tensor
    weights: Tensor
    recurrence: Tensor
    bias: Tensor | None
    hidden: int
    reverse: bool
    lens: Tensor | None
    functions: list[Activation]

    def clipped(self, x: Tensor) -> Tensor:
        clip = self.n.attributes.get("clip")
        if clip is None:
            return x
        e = self.n.e
        return calc(e, hlo.minimum, calc(e, hlo.maximum, x, -float(clip)), float(clip))

    def gate(self, x: Tensor, index: int) -> Tensor:
        """One gate of [batch, gates * hidden], or of [gates * hidden]."""
        return slice_(self.n.e, x, x.rank - 1, index * self.hidden, (index + 1) * self.hidden)

    def rows(self, index: int, stop: int) -> Tensor:
        """Gates `index` to `stop` of the recurrence matrix."""
        return slice_(self.n.e, self.recurrence, 0, index * self.hidden, stop * self.hidden)

    def run(self, step: Step, start: State) -> tuple[Tensor, State]:
        """All steps: the stacked first state [time, batch, hidden], and the last states."""
        e = self.n.e
        time = self.x.shape[0]
        stack = e.splat(0.0, TensorType((time, *start[0].shape), start[0].dtype))

        def body(counter: Tensor, carried: State) -> State:
            *state, results = carried
            place = sub(e, time - 1, counter) if self.reverse else counter
            zero = e.splat(0, TensorType((), "i32"))
            sizes = (1, *self.x.shape[1:])
            x = e.op(hlo.dynamic_slice.name, self.x, place, zero, zero, slice_sizes=sizes)
            news = step(e.reshape(x, self.x.shape[1:]), state)
            shown = news[0]
            if self.lens is not None:
                running = compare(e, "LT", e.broadcast_in_dim(place, self.lens.shape, ()), self.lens)
                mask = e.broadcast_in_dim(running, shown.shape, (0,))
                shown = choose(e, mask, shown, 0)
                news = [e.op(hlo.select.name, mask, new, old) for new, old in zip(news, state, strict=True)]
            part = e.reshape(shown, (1, *shown.shape))
            return [*news, e.op(hlo.dynamic_update_slice.name, results, part, place, zero, zero)]

        *last, results = counted(e, time, [*start, stack], body)
        return results, last


def _passes(n: Node, gates: int, defaults: Sequence[str]) -> list[Pass]:
    e, x = n.e, n.x(0)
    x = transpose(e, x, (1, 0, 2)) if n.int("layout") else x
    direction = n.text("direction", "forward")
    hidden = n.type(2).shape[2]
    found: list[Pass] = []
    for index in range(n.type(1).shape[0]):
        bias = None
        if n.has(3):
            both = row(e, n.x(3), 0, index)
            bias = both
        found.append(
            Pass(
                n,
                x,
                row(e, n.x(1), 0, index),
                row(e, n.x(2), 0, index),
                bias,
                hidden,
                direction == "reverse" or index == 1,
                e.cast(n.x(4), "i32") if n.has(4) else None,
                _activations(n, defaults, index),
            )
        )
    return found


def _start(n: Node, at: int, p: Pass, index: int) -> Tensor:
    """The state before the first step: given, or zeros."""
    e = n.e
    if not n.has(at):
        return e.splat(0.0, TensorType((p.x.shape[1], p.hidden), p.x.dtype))
    state = n.x(at)
    state = transpose(e, state, (1, 0, 2)) if n.int("layout") else state
    return row(e, state, 0, index)


def _projected(p: Pass, gates: int, both: bool = True) -> Tensor:
    """x W' + the input's biases, and the recurrence's where those are simply added: all steps at once."""
    e = p.n.e
    result = einsum(e, "tbi,gi->tbg", p.x, p.weights)
    if p.bias is None:
        return result
    half = gates * p.hidden
    bias = slice_(e, p.bias, 0, 0, half)
    bias = add(e, bias, slice_(e, p.bias, 0, half, 2 * half)) if both else bias
    return add(e, result, e.broadcast_in_dim(bias, result.shape, (2,)))


def _joined(n: Node, stacks: list[Tensor], lasts: list[State]) -> list[Tensor]:
    """Y[time, directions, batch, hidden] and the last states [directions, batch, hidden], as layout says."""
    e = n.e
    ys = concat(e, [e.reshape(s, (s.shape[0], 1, *s.shape[1:])) for s in stacks], 1)
    ends = [
        concat(e, [e.reshape(state, (1, *state.shape)) for state in states], 0)
        for states in zip(*lasts, strict=True)
    ]
    if n.int("layout"):
        return [transpose(e, ys, (2, 0, 1, 3)), *(transpose(e, end, (1, 0, 2)) for end in ends)]
    return [ys, *ends]


def _rnn(n: Node) -> list[Tensor]:
    """h = f(x W' + h R' + b)."""
    e = n.e
    stacks: list[Tensor] = []
    lasts: list[State] = []
    for index, p in enumerate(_passes(n, 1, ("tanh",))):
        p.x = _projected(p, 1)

        def step(x: Tensor, state: State, p: Pass = p) -> State:
            total = add(e, x, einsum(e, "bh,gh->bg", state[0], p.recurrence))
            return [p.functions[0](e, p.clipped(total))]

        stack, last = _typed(p, _start(n, 5, p, index), step)
        stacks.append(stack)
        lasts.append(last)
    return _joined(n, stacks, lasts)


def _typed(p: Pass, start: Tensor, step: Step, *more: Tensor) -> tuple[Tensor, State]:
    return p.run(step, [start, *more])


def _gru(n: Node) -> list[Tensor]:
    """z, r = f(…); h~ = g(x W' + r (h R') + b); h = (1 - z) h~ + z h. Gates in the order z, r, h."""
    e = n.e
    after = n.int("linear_before_reset")
    stacks: list[Tensor] = []
    lasts: list[State] = []
    for index, p in enumerate(_passes(n, 3, ("sigmoid", "tanh"))):
        start = _start(n, 5, p, index)
        p.x = _projected(p, 3, both=False)
        own = slice_(e, p.bias, 0, 3 * p.hidden, 6 * p.hidden) if p.bias is not None else None

        def step(x: Tensor, state: State, p: Pass = p, own: Tensor | None = own) -> State:
            (h,) = state
            f, g = p.functions
            gates = einsum(e, "bh,gh->bg", h, p.rows(0, 2))
            z, r = (
                f(e, p.clipped(_sum(e, p.gate(x, i), p.gate(gates, i), _bias(e, own, p, i)))) for i in (0, 1)
            )
            if after:
                inner = mul(e, r, _sum(e, einsum(e, "bh,gh->bg", h, p.rows(2, 3)), None, _bias(e, own, p, 2)))
                total = add(e, p.gate(x, 2), inner)
            else:
                inner = einsum(e, "bh,gh->bg", mul(e, r, h), p.rows(2, 3))
                total = _sum(e, p.gate(x, 2), inner, _bias(e, own, p, 2))
            new = g(e, p.clipped(total))
            return [add(e, mul(e, sub(e, 1.0, z), new), mul(e, z, h))]

        stack, last = p.run(step, [start])
        stacks.append(stack)
        lasts.append(last)
    return _joined(n, stacks, lasts)


def _bias(e: Emitter, own: Tensor | None, p: Pass, index: int) -> Tensor | None:
    return None if own is None else p.gate(own, index)


def _sum(e: Emitter, x: Tensor, y: Tensor | None, bias: Tensor | None) -> Tensor:
    x = x if y is None else add(e, x, y)
    return x if bias is None else add(e, x, e.broadcast_in_dim(bias, x.shape, (x.rank - 1,)))


def _lstm(n: Node) -> list[Tensor]:
    """c = f c + i g(…), h = o g'(c); gates in the order i, o, f, c, peepholes i, o, f."""
    e = n.e
    forget = n.int("input_forget")
    stacks: list[Tensor] = []
    lasts: list[State] = []
    for index, p in enumerate(_passes(n, 4, ("sigmoid", "tanh", "tanh"))):
        start = [_start(n, 5, p, index), _start(n, 6, p, index)]
        p.x = _projected(p, 4)
        peep = row(e, n.x(7), 0, index) if n.has(7) else None

        def step(x: Tensor, state: State, p: Pass = p, peep: Tensor | None = peep) -> State:
            h, c = state
            f, g, last = p.functions
            gates = add(e, x, einsum(e, "bh,gh->bg", h, p.recurrence))

            def gate(at: int, cell: Tensor) -> Tensor:
                total = p.gate(gates, at)
                if peep is not None:
                    seen = e.broadcast_in_dim(p.gate(peep, at), cell.shape, (1,))
                    total = add(e, total, mul(e, seen, cell))
                return f(e, p.clipped(total))

            enter = gate(0, c)
            keep = sub(e, 1.0, enter) if forget else gate(2, c)
            new = add(e, mul(e, keep, c), mul(e, enter, g(e, p.clipped(p.gate(gates, 3)))))
            return [mul(e, gate(1, new), last(e, new)), new]

        stack, last = p.run(step, start)
        stacks.append(stack)
        lasts.append(last)
    return _joined(n, stacks, lasts)


OPERATORS: dict[str, Lower] = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}
