"""--links best: against the program written with its axes in every order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import shardc
from shardc.cli.shardc import main
from shardc.diagnostics import ShardcError

SIZES = {"model": 4, "data": 2, "stage": 2}
BODY = """
def main(
    x: f32[4096@data, 2048], v: f32[2048, 4096@(model, stage)], w: f32[4096@model, 2048@stage]
) -> f32[4096@data, 2048]:
    h = relu(x @ v)
    return h @ w
"""


TEXT = f"mesh pod[{', '.join(f'{name}={size}' for name, size in SIZES.items())}]\n{BODY}"


def numbered(tmp_path, order: tuple[str, ...]) -> int:
    """Nanoseconds with devices numbered along the axes in an order."""
    path, names = tmp_path / "prog.mlir", list(SIZES)
    (tmp_path / "prog.shard").write_text(TEXT)
    assert main([str(tmp_path / "prog.shard"), "--emit", "ir", "-o", str(path)]) == 0
    numbers = np.arange(16).reshape([SIZES[name] for name in order])
    ids = numbers.transpose([order.index(name) for name in names]).reshape(-1).tolist()
    head = '"stage"=2]'
    whole = path.read_text()
    assert head in whole
    given = whole if ids == sorted(ids) else whole.replace(head, f"{head}, device_ids={ids}")
    cost = shardc.cost(given, machine="h100-infiniband", combine=0, tries=0)
    assert cost.time is not None
    return cost.time.total_ns


def test_the_best_and_the_worst_of_all_orders(tmp_path) -> None:
    times = {order: numbered(tmp_path, order) for order in permutations(SIZES)}
    cost = shardc.cost(TEXT, machine="h100-infiniband", links="best", combine=0, tries=0)
    found = cost.placement
    assert found is not None and cost.time is not None
    assert found.best_ns == cost.time.total_ns == times[found.best] == min(times.values())
    assert found.worst_ns == times[found.worst] == max(times.values())
    assert found.factor > 1


def test_both_reports_say_it(tmp_path, capsys) -> None:
    path = tmp_path / "prog.shard"
    path.write_text(TEXT)
    options = [str(path), "--machine", "h100-infiniband", "--links", "best", "--combine", "0"]
    for action in (["--cost", "--tries", "0"], ["--explain"]):
        assert main([*options, *action]) == 0
        assert "times as long" in capsys.readouterr().out
    assert main([*options, "--cost", "--tries", "0", "--format", "json"]) == 0
    assert '"placement": {' in capsys.readouterr().out


def test_one_link_has_one_order() -> None:
    found = shardc.cost(TEXT, machine="laptop", links="best", tries=0).placement
    assert found is not None and found.tried == 1 and found.best == (*SIZES,)


def test_the_program_runs_in_that_order(tmp_path) -> None:
    path = tmp_path / "prog.shard"
    path.write_text(TEXT.replace("4096", "64").replace("2048", "32"))
    assert (
        main([str(path), "--machine", "h100-infiniband", "--links", "best", "--combine", "0", "--run"]) == 0
    )


NUMBERED = """sdy.mesh @pod = <["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>
func.func @main(%0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@pod, [{"x"}]>}) -> tensor<4xf32> {
  return %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize(
    ("program", "links", "message"),
    [
        (NUMBERED, "best", "which device stands where"),
        ("def main(x: f32[4]) -> f32[4]:\n    return x\n", "best", "the program has no mesh"),
        (TEXT, "fast", "links are those of mesh axes, or best, not fast"),
    ],
)
def test_what_cannot_be_placed(program: str, links: str, message: str) -> None:
    with pytest.raises(ShardcError, match=message):
        shardc.cost(program, machine="h100-infiniband", links=links)
