"""Exact meanings of factorisations of matrices, and of solutions of triangular systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from shardc.graph import Op, TensorType
from shardc.ops import hlo
from shardc.proof import field
from shardc.proof.draws import Draw
from shardc.proof.field import Residues
from shardc.proof.meanings_structural import SHADOWS, of_floats
from shardc.proof.table import exact
from shardc.proof.values import EXACT, Beyond, Floats, either, is_exact, make, stands_for, whole
from shardc.semantics import lapack
from shardc.semantics.arrays import Array, Body


def _routine(op: Op) -> tuple[str, Mapping[str, int]]:
    """The routine of LAPACK that an operation is, and its options: `cholesky` is potrf, too."""
    if op.name == hlo.cholesky.name:
        return "potrf", {"uplo": ord("L" if op.attrs.get("lower") else "U")}
    if op.name == hlo.triangular_solve.name:
        letters = {
            "side": "L" if op.attrs["left_side"] else "R",
            "uplo": "L" if op.attrs["lower"] else "U",
            "trans_x": str(op.attrs["transpose_a"])[0],  # NO_TRANSPOSE, TRANSPOSE; ADJOINT is of complex ones
            "diag": "U" if op.attrs["unit_diagonal"] else "N",
        }
        return "trsm", {name: ord(letter) for name, letter in letters.items()}
    target = str(op.attrs.get("call_target_name"))
    return lapack.routine(target) or target, lapack.options_of(op.attrs)


@exact(hlo.custom_call, hlo.cholesky, hlo.triangular_solve)
def factorisation(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """Every element of a result is a random function of the whole matrices that it comes from; what it really
    is, is known where a little error of the matrices is a little one of it.
    """
    batch = op.results[0].shape[:-2]
    if any(array.shape[: len(batch)] != batch or not is_exact(array) for array in arrays):
        raise Beyond(f"operands of {op.name} that are no matrices of floats")
    name, options = _routine(op)
    states = field.hashed(draw.key(name, *sorted(options.items())), [np.zeros(batch, np.uint64)])
    really = _really(draw, op, name, arrays)
    if name == "trsm":
        return [_quotient(draw, _hashed(states, arrays[0]["residue"]), arrays[1], options, *really)]
    for array in arrays:
        states = _hashed(states, array["residue"])
    found = [
        _elements(draw, states, number, type, shadows)
        for number, (type, shadows) in enumerate(zip(op.results, really, strict=True))
    ]
    return [_beside(op, found[0], arrays[0], options), *found[1:]] if name == "potrf" else found


def _beside(op: Op, factor: Array, matrix: Array, options: Mapping[str, int]) -> Array:
    """A Cholesky factor in its triangle: in the other one `cholesky` has zeros, LAPACK what was there."""
    triangle = np.tri(factor.shape[-1], dtype=np.bool_)
    triangle = triangle if options["uplo"] == ord("L") else triangle.T
    return either(triangle, factor, whole(np.zeros(())) if op.name == hlo.cholesky.name else matrix)


def _hashed(states: Residues, residues: Residues) -> Residues:
    """One number for each state and the numbers that belong to it."""
    rows = residues.reshape((*states.shape, math.prod(residues.shape[states.ndim :])))
    for place in range(rows.shape[-1]):
        states = field.hashed(0, [states, rows[..., place]])
    return states


def _quotient(
    draw: Draw, states: Residues, divided: Array, options: Mapping[str, int], really: tuple[Floats, Floats]
) -> Array:
    """What triangular matrices divide: each column for itself, or each row where they stand on the right."""
    on_left, residues = options["side"] == ord("L"), divided["residue"]
    each = np.swapaxes(residues, -1, -2) if on_left else residues
    columns = _hashed(np.broadcast_to(states[..., None], each.shape[:-1]), each)
    draw.hashes("factorisation", residues.size)
    places = np.broadcast_to(np.arange(each.shape[-1], dtype=np.uint64), each.shape)
    residues = field.hashed(0, [np.broadcast_to(columns[..., None], each.shape), places])
    return make(np.swapaxes(residues, -1, -2) if on_left else residues, *really)


_CONTINUOUS = ("potrf", "trsm")
"""Routines whose results are continuous where they succeed; those of others may change sides or signs."""


def _really(draw: Draw, op: Op, name: str, arrays: Sequence[Array]) -> Sequence[tuple[Floats, Floats]]:
    """The shadows of the results of a routine; NaN where they are left open."""
    open_ = [np.full(type.shape, np.nan) for type in op.results]
    if not draw.uniform or name not in _CONTINUOUS:
        return list(zip(open_, open_, strict=True))
    shadows = [_factors(op, [array[which] for array in arrays]) for which in SHADOWS]
    return list(zip(*shadows, strict=True))


def _factors(op: Op, arrays: Sequence[Floats]) -> Sequence[Floats]:
    """What a factorisation gives in f64, NaN where it does not succeed; all of it where it cannot be run."""
    try:
        found = of_floats(op, arrays)
    except (ArithmeticError, ValueError):
        return [np.full(type.shape, np.nan) for type in op.results]
    *factors, info = found
    if not factors:
        return found
    return [np.where(info[..., None, None] == 0, factor, np.nan) for factor in factors] + [info]


def _elements(
    draw: Draw, states: Residues, number: int, type: TensorType, really: tuple[Floats, Floats]
) -> Array:
    """A result, drawn from the hash of each matrix; the number that says whether it succeeded says so."""
    if stands_for(type.dtype) != EXACT:
        if type.shape != states.shape:
            raise Beyond("integers made by factorisations")
        return np.zeros(type.shape, type.numpy)
    inner = type.shape[states.ndim :]
    places = np.arange(prod(inner), dtype=np.uint64).reshape(inner)
    wide = np.broadcast_to(states.reshape(states.shape + (1,) * len(inner)), type.shape)
    draw.hashes("factorisation", type.size)
    residues = field.hashed(number, [wide, np.broadcast_to(places, type.shape)])
    return make(residues, *really)
