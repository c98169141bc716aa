"""How a rank of MPI ended is said by who waits for it, after its last words have been read."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shardc.launch.rank import Endings, wait_until_read


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Where is read, and where is written."""
    ends = os.pipe()
    yield ends
    for descriptor in ends:
        os.close(descriptor)


def test_last_words_are_waited_for(pipe: tuple[int, int]):
    """However they are read, in several pieces; a file, or what is closed, is not waited for."""
    read, write = pipe
    os.write(write, b"x" * 5000)
    taken: list[bytes] = []

    def reader() -> None:
        while sum(map(len, taken)) < 5000:
            time.sleep(0.02)
            taken.append(os.read(read, 2000))

    thread = threading.Thread(target=reader)
    thread.start()
    wait_until_read((write,), 600.0)
    left, _, _ = select.select([read], [], [], 0)
    thread.join()
    assert not left
    with open(__file__, "rb") as file:
        closed = os.dup(file.fileno())
        os.close(closed)
        wait_until_read((file.fileno(), closed), 600.0)


def test_they_are_not_waited_for_for_ever(pipe: tuple[int, int]):
    os.write(pipe[1], b"x")
    wait_until_read((pipe[1],), 0.01)
    assert os.read(pipe[0], 2) == b"x"


def end(folder: Path, rank: int, said: str) -> None:
    """A rank opens its pipe, says something, and ends."""
    pipe = os.open(folder / str(rank), os.O_WRONLY)
    os.write(pipe, said.encode())
    os.close(pipe)


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ({}, ("a process", -9)),
        ({0: "", 2: "0\n"}, ("process 0", -9)),
        ({0: "0\n", 2: "0\n"}, ("process 1", -9)),
        ({2: "3\n", 0: ""}, ("process 2", 3)),
        ({0: "0\n", 1: "0\n", 2: "0\n"}, None),
        ({0: "0\n", 2: "0 unseen\n", 1: ""}, ("process 2", 0)),
        ({2: "0 unseen\n"}, ("process 2", 0)),
        ({2: "0 unseen\n", 1: "3\n"}, ("process 1", 3)),
    ],
)
def test_who_was_killed_before_it_could_say_anything(
    said: dict[int, str], first: tuple[str, int] | None, tmp_path: Path
):
    """mpiexec ends with the signal's number. One of several that never opened their pipes is not named."""
    with closing(Endings(tmp_path, 3)) as endings:
        for rank, words in said.items():
            end(tmp_path, rank, words)
        assert endings.first(signal.SIGKILL) == first


@pytest.mark.parametrize(
    ("said", "killed"),
    [
        ({}, False),
        ({0: "0\n", 1: "0\n", 2: "0 unseen\n"}, False),
        ({0: "0\n", 2: "0\n"}, False),  # the last one never opened its pipe
        ({2: "0 unseen\n", 0: "", 1: ""}, True),
    ],
)
def test_who_was_killed_where_mpiexec_ends_with_code_0(said: dict[int, str], killed: bool, tmp_path: Path):
    with closing(Endings(tmp_path, 3)) as endings:
        for rank, words in said.items():
            end(tmp_path, rank, words)
        assert endings.killed() is killed
        if killed:
            assert endings.first(signal.SIGKILL) == ("process 2", 0)


def test_another_code_of_mpiexec_is_its_own(tmp_path: Path):
    with closing(Endings(tmp_path, 3)) as endings:
        assert endings.first(1) is None
