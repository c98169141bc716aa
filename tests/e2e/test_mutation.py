"""The checks find per-device programs that somebody, or shardc itself, got wrong: bench/mutation.py on a few.

Every collective is dropped or altered in turn. `make bench` does it for all programs.
"""

from __future__ import annotations

from types import ModuleType

import pytest

from shardc.graph import walk


@pytest.fixture(scope="module")
def mutation() -> ModuleType:
    """The module bench/mutation.py."""
    pytest.importorskip("jax")
    from bench import mutation

    return mutation


QUICK = (
    "in_and_out_specs layers matmul_basic matmul_reduce_scatter megatron_mlp transformer_layer vocabulary "
    "digits per_device per_device_x ring_in_grid uneven_softmax weights_2d pipeline ulysses mlp_train_fsdp "
    "argmax_vocab embed_vocab_sharded moe_ep_fwd cumsum_sharded roll_stencil decode_loop_sequence"
).split()


def attempted(name: str, mutation: ModuleType):
    """What became of a program's mutants, none of which may survive."""
    tried = mutation.attempt(*mutation.compiled(mutation.programs()[name]()))
    assert [str(mutant) for mutant, verdict in tried.found if verdict == mutation.MISSED] == [], name
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
