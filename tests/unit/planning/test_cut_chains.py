"""A reshard inside a chain of fused operations is written and read: plans send what is in memory anyway."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

import shardc
from shardc.analysis import per_device
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.options import Options
from shardc.passes.pipeline import FOLDING, PASSES, PIPELINE, STAGES, run_to
from shardc.planning.machines import load
from shardc.planning.program import Plan
from shardc.report.times import Estimate, estimate
from shardc.report.traffic import collectives

STEP = """
mesh pod[data=4]

def main(x: f32[{n}@data, {n}], w: f32[{n}, {n}], b: f32[{n}]) -> (f32[{n}, {n}], f32[{n}]):
    y = tanh(x @ w + b)
    return w - 0.1 * (x.T @ y), b - 0.1 * sum(y, axis=0)
"""


@pytest.mark.parametrize("n", [16, 2048])
def test_gradients_are_reduced_before_they_are_scaled(n: int) -> None:
    source = shardc.compile(STEP.format(n=n)).source
    assert source.count("lax.psum(") == 2
    assert 'lax.psum(x.T @ y, "data")' in source
    assert "psum(0.1" not in source


def test_the_plan_takes_what_the_program_takes() -> None:
    plans: list[Plan] = []
    with collecting():
        module = read(STEP.format(n=2048), Options(file="prog.shard"))
        run_to(make_context(), module, "local", options={"insert-reshards": {"told": plans.append}})
    time = plans[0].time
    assert time is not None
    assert time.total_fs / 10**6 == pytest.approx(_taken(module).total_ns, rel=1e-4)


def _taken(module: ModuleOp) -> Estimate:
    program = per_device.read(snapshot(module).graph)
    return estimate(load("balanced"), program, collectives(program), 0)


@pytest.mark.parametrize("n", [64, 65536])
def test_a_constant_is_added_after_the_sum(n: int) -> None:
    source = shardc.compile(
        f"mesh m[x=4]\n\ndef main(x: f32[{n}@x, 64]):\n    return rsqrt(mean(square(x), axis=0) + 1e-5)\n"
    ).source
    assert "axis_index" not in source
    assert "/ " in source.partition("lax.psum(")[2]


LAYERS = """
mesh m[x=4]

def layer(x: f32[1024, 256], w: f32[256, 256]) -> f32[1024, 256]:
    y = tanh(x @ w) * x + x
    y = exp(y) * y - x
    return y * 0.5

def main(x: f32[1024@x, 256], v: f32[256, 256], w: f32[256, 256]):
    return layer(layer(x, v) + 1.0, w)
"""


def test_functions_are_no_borders_in_memory() -> None:
    """What a function takes and returns is read and written only where it would be without the function."""
    taken: list[int] = []
    for gone in ((), ("outline-calls", "outline-repeats")):
        with collecting():
            module = read(LAYERS, Options(file="prog.shard"))
            run_to(make_context(), module, "sharded")
            for name in (*STAGES["collectives"], *STAGES["local"]):
                if (
                    name not in (*gone, *FOLDING)
                    and not next(e for e in PIPELINE if e.name == name).by_option
                ):
                    PASSES[name]()().apply(make_context(), module)
        assert (len(snapshot(module).graph.functions) > 1) is (not gone)
        taken.append(_taken(module).work_ns)
    assert taken[0] == taken[1]
