"""The borders of main, where propagation says nothing or splits unevenly, and how far work is divided."""

from fractions import Fraction

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.layout import Dim, Mesh, Sharding
from shardc.passes.pipeline import run_to
from shardc.planning.machines import load
from shardc.planning.program import plan_program
from shardc.planning.program.search.open_results import goes_on, split_like_arguments


def planned(text):
    with collecting():
        module = read(text, "prog.shard", {}, None)
        run_to(make_context(), module, "sharded")
        problem = plan_program(snapshot(module).graph, machine=load("bytes")).problem
    return problem


SCORES = """
mesh m[x=4]

def main(q: f32[16@x, 8], k: f32[16@x, 8]){}:
    s = exp(q @ k.T)
    return s @ k, s.T @ q
"""


def test_a_result_is_left_split_as_its_argument():
    """k is gathered (384 bytes), and the partial sums of the second result are scattered (384), as k is."""
    problem = planned(SCORES.format(""))
    assert problem.total()[:2] == (768, 2)
    assert [str(layout) for layout in split_like_arguments(problem).values()] == ["[x, -]"]


def test_an_annotation_binds():
    problem = planned(SCORES.format(" -> (f32[16@x, 8], f32[16, 8] replicated)"))
    assert split_like_arguments(problem) == {}
    assert [str(layout) for layout in problem.variables[-1].choice.operands] == ["[x, -]", "[-, -]"]


def test_without_a_partner_a_result_is_whole():
    """There are two results of the type and one argument: neither can be told to replace it."""
    problem = planned(
        """
mesh m[x=4]

def main(x: f32[16@x, 16]):
    return x.T @ x, tanh(x.T @ x)
"""
    )
    assert split_like_arguments(problem) == {}


ATTENTION = """
mesh m[x=8]

def main(q: f32[1, 16@x, {heads}, 8], k: f32[1, 16@x, {heads}, 8]) -> f32[1, {heads}, 16@x, 16]:
    return exp(einsum("bshk,bthk->bhst", q, k))
"""


def test_four_heads_on_eight_devices_are_four_parts():
    """Splitting the four heads would send less than gathering k, and double the work of half the devices."""
    problem = planned(ATTENTION.format(heads=4))
    product = next(v for v in problem.variables if v.node.name == "stablehlo.dot_general")
    assert product.choice.parts == 8


def test_an_uneven_split_has_as_many_parts_as_the_busiest_device_has_work():
    problem = planned(
        """
mesh m[x=4]

def main(x: f32[6@x, 8], w: f32[8, 8]) -> f32[6@x, 8]:
    return x @ w
"""
    )
    product = next(v for v in problem.variables if v.node.name == "stablehlo.dot_general")
    assert product.choice.parts == Fraction(3)


def arguments(problem):
    return [str(problem.arguments[value][0]) for value in problem.graph.main.body.args]


def test_an_argument_that_nobody_splits_unevenly_comes_whole():
    text = """
mesh m[x=4]

def main(a: f32[{n}, 8], b: f32[{n}@x, 8]):
    return a + b
"""
    assert arguments(planned(text.format(n=8))) == ["[x, -]", "[x, -]"]
    problem = planned(text.format(n=6))
    assert arguments(problem) == ["[-, -]", "[x, -]"]
    assert str(problem.variables[-1].choice.operands[0]) == "[-, -]"


def test_a_product_is_as_divided_as_its_annotated_weight():
    """18 heads come in two parts, x:(1)2, of 6 each; the product with w is still divided by four."""
    problem = planned(
        """
mesh m[x=4]

def main(a: f32[8, 72@x], w: f32[72@x, 8]) -> f32[8, 8]:
    heads = reshape(a, (8, 18, 4))
    return reshape(exp(heads), (8, 72)) @ w
"""
    )
    product = next(v for v in problem.variables if v.node.name == "stablehlo.dot_general")
    assert product.choice.parts == 4


def test_open_dimensions_may_be_split_further():
    mesh = Mesh("m", (("x", 2), ("y", 2)))
    x, y = mesh.axis("x"), mesh.axis("y")
    both = Sharding(mesh, (Dim((x, y)), Dim()))
    assert goes_on(None, both)
    assert goes_on(Sharding(mesh, (Dim((x,), open=True), Dim())), both)
    assert not goes_on(Sharding(mesh, (Dim((x,)), Dim())), both)
    assert not goes_on(Sharding(mesh, (Dim((y,), open=True), Dim())), both)
    assert not goes_on(both, both)
    assert not goes_on(None, Sharding(mesh, (Dim(), Dim())))
