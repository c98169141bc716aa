"""Plans that earlier compilations found: the same plan, after edits that planning does not see."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc import cache
from shardc.compilation import by_pass, emit
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.options import Options
from shardc.passes.pipeline import run_to
from shardc.planning.effort import counting
from shardc.planning.machines import Combined, load
from shardc.planning.meshes import mesh_of
from shardc.planning.program import Counted, Plan, plan_program
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.problem.canonical import lines_of
from shardc.planning.program.problem.setup import setup
from shardc.planning.program.remembered import known
from shardc.planning.program.search import repeats
from shardc.report import combined
from tests.golden.programs import written

PROGRAM = """mesh m [x=2, y=4]

def main(h: f32[8@x, 16], w1: f32[16, 64@y], w2: f32[64@y, 16]) -> f32[8@x, 16]:
    a = tanh(h @ w1) * 0.25  # scaled
    b = a @ w2
    return b + maximum(h, 0.0)
"""

LARGE = [name for name, text in written().items() if len(text()[0]) > 1_500]


def propagated(text: str) -> Graph:
    """The graph that planning sees."""
    with collecting():
        module = read(text, Options())
        run_to(make_context(), module, "sharded", options=by_pass(Options()))
    return snapshot(module).graph


def seen(text: str) -> list[str]:
    return list(lines_of(propagated(text), {}))


def without_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(problem: object, begun: bool = False) -> None:
        raise AssertionError("the plan was looked for")

    monkeypatch.setattr(known, "improve", fail)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what other tests planned in this process."""
    monkeypatch.setattr(known, "_RECENT", {})


@pytest.fixture
def every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "WORTH", 0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.25", "0.75"),
        ("  # scaled", ""),
        ("    a = ", "\n    a = "),
        ("b = a @ w2\n    return b", "c = a @ w2\n    return c"),
        ("h: f32", "x: f32"),
    ],
)
def test_what_planning_does_not_see(old: str, new: str) -> None:
    assert old in PROGRAM
    edited = PROGRAM.replace(old, new)
    edited = edited.replace("(h @", "(x @").replace("maximum(h", "maximum(x") if "x: f32" in new else edited
    assert seen(edited) == seen(PROGRAM)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.25", "0.0"),
        ("0.25", "1.0"),
        ("tanh", "exp"),
        ("maximum", "minimum"),
        ("f32[8@x, 16]:", "f32[8@x, 16@y]:"),
        ("64@y, 16]", "64, 16@y]"),
        ("y=4", "y=8"),
        ("h @ w1", "(h + 0.25) @ w1"),
        ("h, 0.0", "h, 0.25"),
    ],
)
def test_what_it_sees(old: str, new: str) -> None:
    assert old in PROGRAM
    assert seen(PROGRAM.replace(old, new)) != seen(PROGRAM)


def test_which_constants_are_equal_does_not_show() -> None:
    apart = PROGRAM.replace("b + maximum(h, 0.0)", "b * 0.5 + maximum(h, 0.75)")
    assert seen(apart) == seen(apart.replace("0.5", "0.75")) == seen(apart.replace("0.5", "0.625"))
    assert seen(apart) != seen(apart.replace("0.5", "1.0"))


def layers(scales: list[str]) -> str:
    """Layers of which each scales what it makes."""
    weights = "".join(f", a{i}: f32[16, 64@y], b{i}: f32[64@y, 16]" for i in range(len(scales)))
    body = "".join(f"    x = tanh(relu(x @ a{i}) @ b{i}) * {scale}\n" for i, scale in enumerate(scales))
    return f"mesh m [x=2, y=4]\n\ndef main(x: f32[8@x, 16]{weights}) -> f32[8@x, 16]:\n{body}    return x\n"


def state(plan: Plan) -> list[object]:
    problem = plan.problem
    return [
        [variable.choice for variable in problem.variables],
        problem.arguments,
        problem.total(),
        problem.proof,
        problem.refused,
        problem.free,
        list(plan.copies()),
        plan.proof(),
    ]


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.usefixtures("folder", "every_size")
def test_the_same_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = propagated(written()[name]()[0])
    with counting() as effort:
        found = state(plan_program(graph))
    without_search(monkeypatch)
    for _ in ("remembered", "kept in the folder"):
        with counting() as again:
            assert state(plan_program(graph)) == found
        assert again == effort
        monkeypatch.setattr(known, "_RECENT", {})


@pytest.mark.usefixtures("every_size")
@pytest.mark.parametrize(("scale", "is_found"), [("0.5", True), ("0.25", True), ("1.0", False)])
def test_a_constant_of_one_layer(
    scale: str, is_found: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeats are planned as one though one of them scales by another number; a scale of 1 is another
    program. What is found is what a search finds."""
    monkeypatch.setattr(repeats, "MANY", 50)
    before = propagated(layers([f"0.{i}" for i in range(11, 27)]))
    edited = propagated(layers([*["0.25"] * 7, scale, *["0.25"] * 8]))
    problem = setup(edited, edited.main, Rates(load("balanced"), mesh_of(edited)))
    found = repeats.repeats_of(problem)
    assert found is not None
    monkeypatch.setenv(cache.VARIABLE, "off")
    anew = state(plan_program(edited))
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    monkeypatch.setattr(known, "_RECENT", {})
    plan_program(before)
    monkeypatch.setattr(known, "_RECENT", {})
    kept = set(folder.iterdir())
    assert state(plan_program(edited)) == anew
    assert (set(folder.iterdir()) == kept) == is_found


@pytest.mark.usefixtures("every_size")
def test_the_same_text_after_an_edit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def text(program: str) -> str:
        module = read(program, Options())
        run_to(make_context(), module, "local", options=by_pass(Options()))
        return emit(snapshot(module).graph, "jax")

    edited = PROGRAM.replace("0.25", "0.75").replace("a = ", "\n    a = ")
    monkeypatch.setenv(cache.VARIABLE, "off")
    anew = text(edited)
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    monkeypatch.setattr(known, "_RECENT", {})
    text(PROGRAM)
    monkeypatch.setattr(known, "_RECENT", {})
    without_search(monkeypatch)
    assert text(edited) == anew != text(PROGRAM)


@pytest.mark.usefixtures("folder", "every_size")
def test_each_question_has_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = propagated(PROGRAM)
    plan_program(graph)
    plan_program(graph, machine=load("h100-infiniband"))
    without_search(monkeypatch)
    other = load("h100-infiniband")
    with pytest.raises(AssertionError, match="looked for"):
        plan_program(graph, machine=load("bytes"))
    with pytest.raises(AssertionError, match="looked for"):
        plan_program(graph, split_results=True)
    with pytest.raises(AssertionError, match="looked for"):
        plan_program(graph, machine=other, counted=(Counted((Combined("all-gather", ("x",), 2, 1),)),))
    plan_program(graph, machine=load("h100-infiniband"))


@pytest.mark.usefixtures("every_size")
def test_a_process_remembers_its_last_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (4, 2, *(2**power for power in range(3, 3 + known.RECENT)))
    first, *others = [propagated(PROGRAM.replace("y=4", f"y={size}")) for size in sizes]
    monkeypatch.setenv(cache.VARIABLE, "off")
    plan_program(first)
    for graph in others[: known.RECENT - 1]:
        plan_program(graph)
    searched = known.improve
    without_search(monkeypatch)
    plan_program(first)
    monkeypatch.setattr(known, "improve", searched)
    for graph in (others[known.RECENT - 1], *others[1 : known.RECENT - 1]):
        plan_program(graph)
    without_search(monkeypatch)
    with pytest.raises(AssertionError, match="looked for"):
        plan_program(others[0])


@pytest.mark.usefixtures("every_size")
def test_a_damaged_entry_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = propagated(PROGRAM)
    first = state(plan_program(graph))
    monkeypatch.setattr(known, "_RECENT", {})
    (entry,) = folder.iterdir()
    entry.write_bytes(entry.read_bytes()[:-9])
    assert state(plan_program(graph)) == first


def test_small_programs_are_planned(folder: Path) -> None:
    plan_program(propagated(PROGRAM))
    assert not list(folder.iterdir())


def test_a_process_remembers_small_programs_that_took_long(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    graph = propagated(PROGRAM)
    monkeypatch.setattr(known, "MUCH", 0)
    first = state(plan_program(graph))
    without_search(monkeypatch)
    assert state(plan_program(graph)) == first
    assert not list(folder.iterdir())


def test_a_search_that_others_begin_at_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With latency, however small the program is."""
    monkeypatch.setattr(known, "_RECENT", {})
    searched = list[object]()
    improve = known.improve
    monkeypatch.setattr(known, "improve", lambda problem: (searched.append(problem), improve(problem)))
    first, then = Counted(), Counted((Combined("all-reduce", ("y",), 2, 1),))
    graph, machine = propagated(PROGRAM), load("h100-infiniband")
    for counted in ((first,), (first, then), (first, then)):
        plan_program(graph, machine=machine, counted=counted)
    assert len(searched) == 2


def test_all_plans_that_are_weighed_are_remembered() -> None:
    """Those that are looked for on a machine with latency: the first may be the one that is written."""
    assert known.RECENT > len(("ring", *range(combined.TURNS)))


def test_moves_that_a_process_remembers_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A try that is given up for its effort is so in whatever process."""
    monkeypatch.setattr(known, "_RECENT", {})
    machine, graph = load("h100-infiniband"), propagated(written()["examples/layers"]()[0])
    with counting() as first:
        plan_program(graph, machine=machine)
    monkeypatch.setattr(known, "_RECENT", {})
    with counting() as second:
        plan_program(graph, machine=machine)
    monkeypatch.setattr(known, "_RECENT", {})
    monkeypatch.setattr("shardc.planning.program.costs.prices.tried", lambda *said: 0)
    with counting() as entries:
        plan_program(graph, machine=machine)
    assert first == second and first.entries > entries.entries > 0
