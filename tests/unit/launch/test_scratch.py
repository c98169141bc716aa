"""What `shardc run` leaves behind when it is killed: no process, no port, and a folder until the next one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from shardc.launch.scratch import scratch
from tests.unit.launch.test_processes import running, wait_for

HOLDS = """
import sys, time
from shardc.launch.scratch import scratch
with scratch("run") as folder:
    (folder / "file").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""

WAITS = """
import os, sys, time
import jax
print(jax.process_count(), flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import tempfile

    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_folder_is_gone_afterwards(own_folder: Path) -> None:
    with scratch("run") as one, scratch("ranks") as other:
        (one / "file").write_text("x")
        assert {one.name.split("-")[1], other.name.split("-")[1]} == {"run", "ranks"}
    assert [*own_folder.iterdir()] == []
    with pytest.raises(KeyError), scratch("run"):
        raise KeyError
    assert [*own_folder.iterdir()] == []


def test_what_a_killed_process_leaves_goes_with_the_next(own_folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True) as holding:
        assert holding.stdout is not None
        folder = Path(holding.stdout.readline().strip())
        with scratch("run"):
            assert (folder / "file").exists()  # it is in use
        holding.kill()
    assert folder.exists()
    stranger = own_folder / "shardc-run-of-somebody"
    stranger.mkdir()
    with scratch("run"):
        assert not folder.exists()
    assert [*own_folder.iterdir()] == [stranger]  # no lock in it: not one of these


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children] + [n for child in children for n in descendants(int(child))]


def ports(pid: int) -> set[int]:
    """The TCP ports that a process listens at."""
    inodes: set[str] = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[len("socket:[") : -1])
    found: set[int] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.add(int(fields[1].rpartition(":")[2], 16))
    return found


def refused(port: int) -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "asked to end"])
def test_no_process_and_no_port_is_left(tmp_path: Path, own_folder: Path, number: int) -> None:
    pytest.importorskip("jax")
    script = tmp_path / "waits.py"
    script.write_text(WAITS)
    words = [sys.executable, "-m", "shardc.cli.run", str(script), "-n", "2"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ}
    ) as started:
        assert started.stdout is not None
        assert sorted(started.stdout.readline() for _ in range(2)) == ["[0] 2\n", "[1] 2\n"]
        below = descendants(started.pid)
        open_ports = set[int]().union(*map(ports, below))
        assert len(below) >= 2 and open_ports
        assert not any(map(refused, open_ports))
        started.send_signal(number)
    assert number == signal.SIGKILL or started.returncode == 128 + number
    assert wait_for(lambda: not any(map(running, below)))
    assert wait_for(lambda: all(map(refused, open_ports)))
    with scratch("run"):
        pass
    assert [*own_folder.iterdir()] == []
