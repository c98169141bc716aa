"""bench/near_mutants.py: each kind is there, none of those that change results is proved."""

from __future__ import annotations

from bench.mutation_trial import EQUIVALENT, PROOF_FOUND, PROOF_MISSED, PROOF_SAME, attempt, compiled
from bench.near_mutants import near_mutants
from shardc.frontend.text import read

PROGRAM = """mesh m[x=4]

@shard_map
def halo(a: f32[8@x, 4], w: f32[4]) -> f32[8@x, 4]:
    p = concatenate([ppermute(a[-1:], x, [(0, 1), (1, 2), (2, 3)]), a], 0)
    rows = iota(i32, (2, 4), 0) + axis_index(x) * 2
    return where(rows < 7, p[:-1] - a, 0.0) / (1.0 + w * w)

def main(a: f32[8@x, 4], w: f32[4], b: f32[4, 8@x], c: f32[8@x, 4]) -> f32[8, 4]:
    return clip(halo(a, w), -0.5, 0.5) @ (b @ c)
"""
KINDS = {"scale", "part of an axis", "left out", "swapped", "one further", "one more"}


def test_all_that_change_results_are_found() -> None:
    whole, local = compiled(read(PROGRAM, "near.shard", {}, None))
    tried = attempt(whole, local, True, near_mutants)
    kinds = {each.mutant.rpartition(" of ")[0] for each in tried.found}
    assert kinds == KINDS
    assert kinds == {each.mutant.rpartition(" of ")[0] for each in tried.found if each.proof == PROOF_FOUND}
    assert all(each.verdict == EQUIVALENT for each in tried.found if each.proof == PROOF_SAME)
    assert tried.count_proofs(PROOF_MISSED) == 0
