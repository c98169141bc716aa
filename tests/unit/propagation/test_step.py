"""One visit of one operation, with both strategies."""

from __future__ import annotations

from shardc.layout import Axis, Dim, Mesh, Sharding, replicated
from shardc.ops.rule import Factor, FactorRule, Kind
from shardc.propagation.direction import Direction
from shardc.propagation.step import Strategy, Visit, common_mesh, step

MESH = Mesh("m", (("x", 2), ("y", 4)))
X, Y = MESH.axis("x"), MESH.axis("y")
MATMUL = FactorRule(
    (Factor(8), Factor(8), Factor(8, Kind.REDUCTION)), (((0,), (2,)), ((2,), (1,))), (((0,), (1,)),)
)
ADD = FactorRule((Factor(8), Factor(8)), (((0,), (1,)), ((0,), (1,))), (((0,), (1,)),))
Given = Sharding | None


def open_(*dims: tuple[Axis, ...]) -> Sharding:
    return Sharding(MESH, tuple(Dim(axes, True) for axes in dims))


def closed(*dims: tuple[Axis, ...]) -> Sharding:
    return Sharding(MESH, tuple(Dim(axes) for axes in dims))


def visit(
    rule: FactorRule, *given: Given, way: Direction = Direction.BOTH, strategy: Strategy = Strategy.BASIC
) -> dict[int, str]:
    """The tensors that change, and their new shardings."""
    updates = step(Visit(rule, (way,) * len(rule.factors), rule is ADD), given, strategy)
    return {tensor: str(sharding) for tensor, sharding in updates}


def test_every_factor_reaches_every_tensor_that_has_it() -> None:
    assert visit(MATMUL, open_((X,), (Y,)), None, None) == {1: "[y?, -?]", 2: "[x?, -?]"}
    assert visit(MATMUL, None, None, open_((X,), (Y,))) == {0: "[x?, -?]", 1: "[-?, y?]"}


def test_closed_and_replicated_stop_it() -> None:
    assert visit(ADD, open_((X,), ()), closed((), ()), None) == {}
    blocked = Sharding(MESH, (Dim(open=True), Dim(open=True)), replicated=(X,))
    assert visit(ADD, open_((X,), ()), blocked, None) == {}
    partial = Sharding(MESH, (Dim(open=True), Dim(open=True)), unreduced=(X,))
    assert visit(ADD, open_((X,), ()), partial, None) == {}


def test_only_a_part_of_an_axis_is_free() -> None:
    half = Axis("y", 2, 2)
    result = Sharding(MESH, (Dim(open=True), Dim(open=True)), replicated=(half,))
    assert visit(ADD, open_((Y,), ()), None, result) == {1: "[y:(1)2?, -?]", 2: "[y:(1)2?, -?]"}


def test_direction() -> None:
    assert visit(ADD, open_((X,), ()), None, None, way=Direction.BACKWARD) == {}
    assert visit(ADD, open_((X,), ()), None, None, way=Direction.FORWARD) == {1: "[x?, -?]", 2: "[x?, -?]"}
    assert visit(ADD, None, None, open_((X,), ()), way=Direction.FORWARD) == {}
    assert visit(ADD, open_((X,), ()), None, None, way=Direction.NONE) == {}


def test_two_factors_want_one_axis() -> None:
    # x splits the rows of the left operand and the columns of the right one; the result cannot have both
    rows, columns = open_((X,), ()), open_((), (X,))
    assert visit(MATMUL, rows, columns, None) == {}
    assert visit(MATMUL, rows, columns, None, strategy=Strategy.AGGRESSIVE) == {2: "[x?, -?]"}


def test_the_larger_tensor_wins() -> None:
    tall = FactorRule(
        (Factor(4), Factor(64), Factor(8, Kind.REDUCTION)), (((0,), (2,)), ((2,), (1,))), (((0,), (1,)),)
    )
    given = open_((X,), ()), open_((), (X,)), None
    assert visit(tall, *given, strategy=Strategy.AGGRESSIVE) == {2: "[-?, x?]"}


def test_an_elementwise_operand_takes_no_more_than_the_result() -> None:
    given = open_((X,), ()), None, closed((), ())
    assert visit(ADD, *given, strategy=Strategy.AGGRESSIVE) == {}


def test_uneven_dimensions_are_split() -> None:
    rule = FactorRule((Factor(3),), (((0,),),), (((0,),),))
    assert visit(rule, Sharding(MESH, (Dim((Y,), True),)), None) == {1: "[y?]"}


def test_meshes() -> None:
    reordered = Mesh("n", MESH.axes, (7, 6, 5, 4, 3, 2, 1, 0))
    same = Mesh("other", (*MESH.axes, ("unit", 1)))
    one = Mesh("one", (), (3,))
    assert common_mesh([None, open_((X,)), replicated(same, 1)]) is MESH
    assert common_mesh([open_((X,)), replicated(reordered, 1)]) is None
    assert common_mesh([replicated(Mesh("none", ()), 1), open_((X,))]) is MESH
    assert step(Visit(ADD, (Direction.BOTH,) * 2), [replicated(one, 2), None, None], Strategy.BASIC) == []
