"""Resharding plans move no more bytes than any sequence of moves, nor than Shardy's.

The exhaustive search knows nothing of the planner: it compares every two shardings, says what one collective
would cost between them if one leads from the first to the second, and takes shortest paths.
"""

from __future__ import annotations

import re
from itertools import product
from math import prod

import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from shardc.graph import TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.planning.reshard import plan


def states(axes, rank, partial):
    """Every (axes per dimension, partial axes) over whole axes, as strings of axis letters."""
    if not axes:
        return [(("",) * rank, "")]
    found = []
    for dims, unreduced in states(axes[1:], rank, partial):
        found.append((dims, unreduced))
        if partial:
            found.append((dims, axes[0] + unreduced))
        for dim in range(rank):
            for at in range(len(dims[dim]) + 1):
                more = dims[dim][:at] + axes[0] + dims[dim][at:]
                found.append(((*dims[:dim], more, *dims[dim + 1 :]), unreduced))
    return found


def one_move(before, after, sizes, elements):
    """Elements that one collective from `before` to `after` moves per device; None if there is none."""

    def parts(letters):
        return prod(sizes[a] for a in letters)

    (old, old_partial), (new, new_partial) = before, after
    held = elements / parts("".join(old))
    grown = [n[len(o) :] if n.startswith(o) else None for o, n in zip(old, new, strict=True)]
    shrunk = [o[len(n) :] if o.startswith(n) else None for o, n in zip(old, new, strict=True)]
    reduced = "".join(a for a in old_partial if a not in new_partial)
    started = "".join(a for a in new_partial if a not in old_partial)
    if old == new:
        if started:
            return None if reduced else 0
        return 2 * (1 - 1 / parts(reduced)) * held
    if reduced and not started:
        if None not in grown and joined(grown) == joined(reduced):
            return (1 - 1 / parts(reduced)) * held
        return None
    if started:
        gone = None if None in shrunk or reduced else joined(shrunk)
        return 0 if gone == joined(started) else None
    if None not in shrunk:
        return (parts(joined(shrunk)) - 1) * held
    if None not in grown:
        return 0
    if joined(old) != joined(new):
        return None
    if None not in [g if g is not None else s for g, s in zip(grown, shrunk, strict=True)]:
        return (1 - 1 / parts(joined(grown))) * held
    return held if [parts(a) for a in old] == [parts(a) for a in new] else None


def joined(letters):
    """All the letters, sorted."""
    return "".join(sorted("".join(part or "" for part in letters)))


def exhaustive(axes, shape, partial=False):
    """All states, and the fewest bytes of f32 from each to each. Only what ends partial is made so."""
    known = states([name for name, _ in axes], len(shape), partial)
    sizes, elements = dict(axes), prod(shape)
    table = np.full((len(known), len(known)), np.inf)
    started = np.full(table.shape, "", dtype=f"U{len(axes)}")
    for (i, before), (j, after) in product(enumerate(known), enumerate(known)):
        moved = None if i == j else one_move(before, after, sizes, elements)
        if moved is not None:
            table[i, j] = 4 * moved + 1e-6  # to scipy zero, and what is near it, means no edge
            started[i, j] = "".join(sorted(set(after[1]) - set(before[1])))
    least = np.empty(table.shape)
    for ends in {"".join(sorted(state[1])) for state in known}:
        allowed = np.vectorize(lambda letters, ends=ends: set(letters) <= set(ends))(started)
        columns = [j for j, state in enumerate(known) if "".join(sorted(state[1])) == ends]
        graph = np.where(allowed & np.isfinite(table), table, 0)
        least[:, columns] = shortest_path(graph, method="D")[:, columns]
    return known, least


def sharding(mesh, state):
    dims, partial = state
    return Sharding(
        mesh,
        tuple(Dim(tuple(map(mesh.axis, axes))) for axes in dims),
        unreduced=tuple(map(mesh.axis, partial)),
    )


def compare(axes, shape, every=1, partial=False):
    """Plans against the exhaustive search on each `every`-th pair: exactly as good, or better by sub-axes."""
    mesh, (known, least) = Mesh("m", axes), exhaustive(axes, shape, partial)
    finer = len({size for _, size in axes}) > 1
    pairs = [(i, j) for i in range(len(known)) for j in range(len(known)) if i != j]
    for i, j in pairs[::every]:
        source, target = sharding(mesh, known[i]), sharding(mesh, known[j])
        found = plan(TensorType(shape, "f32"), source, target)
        assert found.exact
        assert found.bound == found.cost.bytes
        assert found.cost.bytes == pytest.approx(least[i, j], abs=1e-3) or (
            finer and found.cost.bytes < least[i, j]
        ), f"{source} -> {target}"


TWO = (("x", 2), ("y", 2), ("z", 2))


@pytest.mark.parametrize(
    ("axes", "shape", "every", "partial"),
    [
        (TWO, (8, 8), 7, False),
        (TWO, (8, 8, 8), 31, False),
        (TWO, (8, 8), 101, True),
        ((("x", 2), ("y", 4)), (8, 8), 1, True),
        ((("x", 4), ("y", 4)), (16, 16, 16), 5, True),
        ((("x", 2), ("y", 3), ("z", 2)), (12, 12), 7, False),
    ],
)
def test_as_good_as_exhaustive(axes, shape, every, partial):
    compare(axes, shape, every, partial)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("axes", "shape", "partial"),
    [
        (TWO, (8, 8), False),
        (TWO, (8, 8, 8), False),
        (TWO, (8, 8), True),
        ((("x", 2), ("y", 3), ("z", 2)), (12, 12), True),
        ((("x", 2), ("y", 3), ("z", 4)), (24, 24), False),
    ],
)
def test_every_pair_as_good_as_exhaustive(axes, shape, partial):
    compare(axes, shape, 1, partial)


@pytest.mark.parametrize(("x", "y", "pieces", "shape"), [(4, 2, "22", (8, 8)), (6, 2, "23", (12, 12))])
def test_finer_pieces_of_axes_are_searched(x, y, pieces, shape):
    """x=4, y=2: with x in halves every pair of shardings is what it is on a mesh of three twos."""
    mesh, (major, minor) = Mesh("m", (("x", x), ("y", y))), map(int, pieces)
    known, least = exhaustive((("a", major), ("b", minor), ("y", y)), shape)
    whole = [state for state in states(["x", "y"], 2, False)]
    for before, after in product(whole, whole):
        i, j = (
            known.index((tuple(dim.replace("x", "ab") for dim in state[0]), "")) for state in (before, after)
        )
        found = plan(TensorType(shape, "f32"), sharding(mesh, before), sharding(mesh, after))
        assert found.exact
        if major == 2:
            assert found.cost.bytes == pytest.approx(least[i, j] * (i != j), abs=1e-3), (before, after)
        else:
            assert found.cost.bytes <= least[i, j] * (i != j) + 1e-3, (before, after)


class Shardy:
    """Bytes of the sequence that Shardy's sdy-reshard-to-collectives gives; None where it goes wrong."""

    def __init__(self, mesh, shape):
        pytest.importorskip("jax")
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir, passmanager

        self.ir, self.passes = ir, passmanager
        self.context = mlir.make_ir_context()
        self.mesh, self.shape = mesh, shape

    def bytes(self, source, target):
        axes = ", ".join(f'"{name}"={size}' for name, size in self.mesh.axes)
        tensor = f"tensor<{'x'.join(map(str, self.shape))}xf32>"
        given = f"{{sdy.sharding = #sdy.sharding<@m, {self.dims(source)}>}}"
        text = f"""
            sdy.mesh @m = <[{axes}]>
            func.func @main(%arg: {tensor} {given}) -> {tensor} {{
              %0 = sdy.reshard %arg <@m, {self.dims(target)}> : {tensor}
              return %0 : {tensor}
            }}"""
        with self.context, self.ir.Location.unknown(self.context):
            module = self.ir.Module.parse(text)
            names = (
                "canonicalize{enable-patterns=sdy-reshard}",
                "sdy-reshard-to-collectives",
                "canonicalize{enable-patterns=sdy-collective}",
            )
            pipeline = f"builtin.module(func.func({','.join(names)}))"
            try:
                self.passes.PassManager.parse(pipeline).run(module.operation)
            except self.ir.MLIRError:
                return None
            lines = [line for line in str(module).splitlines() if "out_sharding" in line]
        total, now = 0.0, source
        for line in lines:
            after = self.read(line.split("out_sharding")[1])
            total += self.ring(line, now, after)
            now = after
        return total if now == target else None

    def ring(self, line, before, after):
        held = 4 * prod(before.local_shape(self.shape))
        ratio = prod(d.parts for d in before.dims) / prod(d.parts for d in after.dims)
        if "all_gather" in line:
            return held * (ratio - 1)
        if "all_to_all" in line:
            moved = prod(max(1, b.parts // a.parts) for b, a in zip(before.dims, after.dims, strict=True))
            return held * (1 - 1 / moved)
        assert "all_slice" in line or "collective_permute" in line, line
        return held if "collective_permute" in line else 0

    def dims(self, sharding):
        return "[" + ", ".join("{" + ", ".join(f'"{a}"' for a in d.axes) + "}" for d in sharding.dims) + "]"

    def read(self, text):
        dims = re.findall(r"\{([^{}]*)\}", text.split("[", 1)[1].split("]", 1)[0])
        return Sharding(self.mesh, tuple(Dim(tuple(self.axis(a) for a in re.findall(AXIS, d))) for d in dims))

    def axis(self, found):
        name, pre, size = found
        return Axis(name, int(size), int(pre)) if size else self.mesh.axis(name)


AXIS = r'"(\w+)"(?::\((\d+)\)(\d+))?'


def against_shardy(axes, shape, every):
    """(cheaper than Shardy, pairs compared, Shardy wrong)."""
    mesh = Mesh("m", axes)
    shardy, known = Shardy(mesh, shape), states([name for name, _ in axes], len(shape), False)
    better = wrong = 0
    pairs = [(a, b) for a, b in product(known, known) if a != b][::every]
    for before, after in pairs:
        source, target = sharding(mesh, before), sharding(mesh, after)
        theirs = shardy.bytes(source, target)
        if theirs is None:
            wrong += 1
            continue
        ours = plan(TensorType(shape, "f32"), source, target).cost.bytes
        assert ours <= theirs, f"{source} -> {target}"
        better += ours < theirs
    return better, len(pairs), wrong


MESHES = [
    (TWO, (8, 8), 11),
    (TWO, (8, 8, 8), 61),
    ((("x", 2), ("y", 4)), (8, 8), 1),
    ((("x", 2), ("y", 8)), (16, 16), 1),
    ((("x", 2), ("y", 3), ("z", 2)), (12, 12), 11),
    ((("x", 2), ("y", 3), ("z", 4)), (24, 24), 11),
]


@pytest.mark.parametrize(("axes", "shape", "every"), MESHES)
def test_never_more_than_shardy(axes, shape, every):
    better, compared, _ = against_shardy(axes, shape, every)
    assert better > compared / 20


@pytest.mark.slow
@pytest.mark.parametrize(("axes", "shape"), [case[:2] for case in MESHES])
def test_never_more_than_shardy_on_any_pair(axes, shape):
    against_shardy(axes, shape, 1)
