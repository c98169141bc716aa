"""Settings of all tests.

The top folders are imported as shardc.dialects and so on, never by their own names. Random tests draw the
same examples every time, so that a run says something about the change and not about luck; `make sweep` sets
SHARDC_RANDOM=1 for new ones, and twice as many where a test does not say how many. JAX, where it is
installed, has eight CPU devices.
In an eighth of the tests, chosen by their names, and in all with SHARDC_RANDOM=1, a module is verified after
every pass, and a graph that passes share is compared with a fresh one: that takes as long as the passes. XLA
takes less time for code that is run once, unless XLA_FLAGS says something else. Nothing is kept between runs
of the command. Of families of cases marked `sampled` some are marked slow (tests/sampling.py).
"""

import os
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

from tests.memory import release
from tests.sampling import mark_the_rest

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "8"
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
os.environ["SHARDC_CACHE"] = "off"
os.environ["SHARDC_PROVE"] = "off"

collect_ignore = ["dialects", "passes", "grammar"]

settings.register_profile("same", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("random", deadline=None, max_examples=100)
settings.load_profile("random" if os.environ.get("SHARDC_RANDOM") else "same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--turn", type=int, default=0, help="begin sampled families so many cases later")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before `-m` looks at the marks, and before the order is another one."""
    turn = config.getoption("--turn")
    assert isinstance(turn, int)
    mark_the_rest(items, turn)


def pytest_runtest_setup(item: pytest.Item) -> None:
    verified = "SHARDC_RANDOM" in os.environ or crc32(item.nodeid.encode()) % 8 == 0
    os.environ["SHARDC_VERIFY_EACH"] = "1" if verified else ""


@pytest.fixture(autouse=True, scope="module")
def _memory() -> Iterator[None]:
    """A file leaves no large process behind."""
    yield
    release()


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Operations and rules that a test adds are gone after it."""
    from shardc import cache
    from shardc.ops import custom_calls, registry

    tables: list[dict[str, Any]] = [registry._definitions, custom_calls.TARGETS]
    before, off = [dict(table) for table in tables], [*cache._off]
    yield
    cache._off[:] = off
    for table, old in zip(tables, before, strict=True):
        if table != old:
            table.clear()
            table.update(old)
            registry.forget_rules()
