"""The checks find per-device programs that somebody, or shardc itself, got wrong: bench/mutation.py on a few.

Every collective is dropped or altered in turn. `make bench` does it for all programs.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from shardc.graph import walk


@pytest.fixture(scope="module")
def mutation() -> ModuleType:
    """The module bench/mutation_trial.py."""
    pytest.importorskip("jax")
    from bench import mutation_trial

    return mutation_trial


QUICK = (
    "in_and_out_specs layers matmul_basic matmul_reduce_scatter megatron_mlp transformer_layer vocabulary "
    "digits per_device per_device_x ring_in_grid uneven_softmax weights_2d pipeline ulysses mlp_train_fsdp "
    "argmax_vocab embed_vocab_sharded cumsum_sharded roll_stencil decode_loop_sequence"
).split()


def attempted(name: str, mutation: ModuleType):
    """What became of a program's mutants, none of which may survive."""
    tried = mutation.attempt(*mutation.compiled(mutation.programs()[name]()))
    assert [found for found in tried.found if found.verdict == mutation.MISSED] == [], name
    assert set(tried.lost_reductions) <= {mutation.TYPE}, name
    return tried


@pytest.mark.parametrize("name", QUICK)
def test_no_mutant_survives(name: str, mutation: ModuleType) -> None:
    assert attempted(name, mutation).found


@pytest.mark.slow
def test_of_no_program(mutation: ModuleType) -> None:
    """Nor of the others, some of which have no collectives."""
    for name in mutation.programs():
        if name not in QUICK:
            attempted(name, mutation)


def test_a_mutant_is_what_it_says(mutation: ModuleType) -> None:
    """The program is as it was after every mutant, and each is another program than that."""

    def text() -> list[object]:
        return [(node.name, dict(node.attrs), node.operands) for node in walk(local.main.body)]

    _, local = mutation.compiled(mutation.programs()["matmul_reduce_scatter"]())
    before = text()
    kinds: list[str] = []
    for mutant in mutation.mutants(local):
        kinds.append(mutant.what)
        with mutant.applied():
            assert text() != before
        assert text() == before
    assert kinds == ["drop", "other axis", "other kind", "other kind", "other dimension", "other order"]


@pytest.mark.parametrize("name", ["matmul_reduce_scatter", "spectral"])
def test_the_proof_finds_all_mutants(name: str, mutation: ModuleType) -> None:
    """All that change results; it proves those that change none, as another way to cut what is cut again."""
    tried = mutation.attempt(*mutation.compiled(mutation.programs()[name]()), proofs=True)
    found = {(one.verdict == mutation.EQUIVALENT, one.proof) for one in tried.found}
    assert (False, mutation.PROOF_FOUND) in found
    assert found <= {(False, mutation.PROOF_FOUND), (True, mutation.PROOF_SAME)}


def test_what_was_tried_is_kept_and_counted(mutation: ModuleType, tmp_path: Path) -> None:
    """A program is tried once; one mutant that the proof misses is a failure, and is in the summary."""
    from bench.mutation import failed, keep, page, read

    first = keep(tmp_path, "layers")
    file = tmp_path / "layers.json"
    assert first.proved == "proved" and not failed({"layers": first})
    file.write_text(file.read_text().replace('"proof": "differs"', '"proof": "MISSED"', 1))
    again = keep(tmp_path, "layers")
    assert again == read(file) and failed({"layers": again})
    written = tmp_path / "page.md"
    page({"layers": again}, written)
    text = written.read_text()
    assert "1 are missed; of 4 that are wrong, as far as anything tells, it finds 3 (75.0 %)" in text
    page({}, written)
    assert written.read_text() == text  # what stands there of programs that have not run again
    page({"layers": again, "empty": keep(tmp_path, "empty")}, written)
    assert "of 2 programs" in written.read_text() and "1 are missed" in written.read_text()
