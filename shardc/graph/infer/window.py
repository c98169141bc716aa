"""Windows that slide over dimensions: how many positions they have; reduce_window, select_and_scatter."""

from __future__ import annotations

from shardc.graph.infer.call import Call, Rule, Types

Pairs = tuple[tuple[int, int], ...]


def windowed(
    call: Call,
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: Pairs,
    base_dilations: tuple[int, ...],
    window_dilations: tuple[int, ...],
) -> tuple[int, ...]:
    """The number of window positions in each dimension; 0 where the window does not fit.

    (padded - dilated window) // stride + 1, with padded = low + (size - 1) * dilation + 1 + high.
    """
    for key, values in (
        ("window strides", strides),
        ("padding", padding),
        ("base dilations", base_dilations),
        ("window dilations", window_dilations),
    ):
        call.check_length(key, values, len(sizes))
    for key, values in (("window", window), ("stride", strides)):
        if any(value < 1 for value in values):
            raise call.error(f"has a {key} of {list(values)}; each is at least 1")
    for key, values in (("base dilation", base_dilations), ("window dilation", window_dilations)):
        if any(value < 1 for value in values):
            raise call.error(f"has a {key} of {list(values)}; each is at least 1")
    counts: list[int] = []
    for dim, size in enumerate(sizes):
        low, high = padding[dim]
        padded = low + high + (0 if size == 0 else (size - 1) * base_dilations[dim] + 1)
        dilated = (window[dim] - 1) * window_dilations[dim] + 1
        counts.append(0 if padded < dilated else (padded - dilated) // strides[dim] + 1)
    return tuple(counts)


def _reduce_window(call: Call) -> Types:
    count = len(call.operands) // 2
    if not count or len(call.operands) % 2:
        raise call.error(f"takes inputs and as many initial values, got {len(call.operands)} operands")
    inputs, inits = call.operands[:count], call.operands[count:]
    rank = inputs[0].rank
    for operand, init in zip(inputs, inits, strict=True):
        if operand.shape != inputs[0].shape or init.shape or init.dtype != operand.dtype:
            raise call.error(f"needs an initial value {operand.with_shape(())} for {operand}, got {init}")
    window = call.integers("window_dimensions")
    call.check_length("window_dimensions", window, rank)
    ones = (1,) * rank
    shape = windowed(
        call,
        inputs[0].shape,
        window,
        call.integers("window_strides", ones),
        call.pairs("padding", ((0, 0),) * rank),
        call.integers("base_dilations", ones),
        call.integers("window_dilations", ones),
    )
    call.check_region(0, tuple(operand.with_shape(()) for operand in inputs))
    return tuple(operand.with_shape(shape) for operand in inputs)


def _select_and_scatter(call: Call) -> Types:
    operand, source, init = call.arity(3)
    ones = (1,) * operand.rank
    window = call.integers("window_dimensions", ones)
    call.check_length("window_dimensions", window, operand.rank)
    strides = call.integers("window_strides", ones)
    padding = call.pairs("padding", ((0, 0),) * operand.rank)
    expected = operand.with_shape(windowed(call, operand.shape, window, strides, padding, ones, ones))
    if source != expected:
        raise call.error(f"needs one source for each window, {expected}, got {source}")
    if init != operand.with_shape(()):
        raise call.error(f"needs an initial value {operand.with_shape(())}, got {init}")
    return (operand,)


WINDOW: dict[str, Rule] = {
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.select_and_scatter": _select_and_scatter,
}
