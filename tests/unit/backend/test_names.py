"""Names from the source survive, and can do no harm."""

import pytest

from shardc.backend.python.names import Names, identifier, source_name
from shardc.graph import Location


@pytest.mark.parametrize(
    ("given", "python"),
    [
        ("h", "h"),
        ("lambda", "lambda_"),
        ("print", "print_"),
        ("jnp", "jnp_"),
        ("params['w1']", "params_w1"),
        ("params['mlp/linear_1']['w']", "params_mlp_linear_1_w"),
        ("0", "x0"),
        ("__import__", "import_"),
        ("jit(f)/add", None),
        ("jit(_where)", None),
        ("iterArg_3", None),
        ("ﬁ", None),
        ("x\n; import os", "x_import_os"),
        ("", None),
        (None, None),
        ("p" * 61, None),
        ("p[0]['" + "block']['" * 12 + "attention']['key']", "p_" + "block_" * 7 + "attention_key"),
        (f"opt[1].mu['params']['{'a' * 50}']['w']", f"opt_mu_{'a' * 50}_w"),
        ("state[1].mu['" + "p" * 60 + "']", None),
        ("one " * 30, None),
        ("p['w']" * 400, None),
    ],
)
def test_identifiers(given, python):
    assert identifier(given) == python


def test_names_of_primitives_are_nobodys_choice():
    assert source_name(Location("<jax>", 1, 1, "reduce_sum")) is None
    assert source_name(Location("prog.shard", 1, 1, "add")) == "add"


def test_a_name_is_free_when_nobody_reads_it_any_more():
    names = Names()
    names.hold(["x"])
    assert names.fresh("x") == "x_1"
    names.release(["x"])
    assert names.fresh("x") == "x"
    names.pin("x")
    assert names.fresh("x") == "x_1"


def test_a_name_is_found_without_trying_all_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = list[str]()
    monkeypatch.setattr(Names, "_is_taken", lambda self, name: tries.append(name) or self._readers[name] > 0)
    names = Names()
    for _ in range(100):
        names.hold([names.fresh("t")])
    assert len(tries) < 300


def test_the_first_name_that_is_free_again_is_given() -> None:
    names = Names(["t_5"])
    for _ in range(8):
        names.hold([names.fresh("t")])
    names.hold(["t_10"])
    assert names.fresh("t") == "t_9"
    names.release(["t_3"])
    names.release(["t_2"])
    assert names.fresh("t") == "t_2"
    names.hold(["t_2"])
    assert names.fresh("t") == "t_3"
    names.hold(["t_3", "t_9"])
    assert names.fresh("t") == "t_11"
    names.release(["t_10"])
    assert names.fresh("t") == "t_10"
