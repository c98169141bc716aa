"""Processes start together and end together, whatever happens to one of them or to who started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from errno import ENOSPC
from pathlib import Path
from types import SimpleNamespace

import pytest

from shardc.launch import processes
from shardc.launch.cluster import starter
from shardc.launch.noise import GlooLines, hydra_banner
from shardc.launch.processes import TIMED_OUT, Command, run

SLEEP = "import os, sys, time; open(sys.argv[1] + str(os.getpid()), 'w').close(); time.sleep(60)"


def command(number: int, code: str, *arguments: str) -> Command:
    return Command(f"process {number}", f"[{number}] ", [sys.executable, "-c", code, *arguments])


def alive(folder: Path) -> list[int]:
    """The processes that noted themselves in the folder and still run."""
    return [int(path.name) for path in folder.iterdir() if running(int(path.name))]


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_for(condition) -> bool:
    """Whether something becomes true."""
    for _ in range(6000):  # a busy machine takes its time
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_output_has_prefixes(capfdbinary):
    code = "import sys; print('one'); print('two', end=''); print('bad', file=sys.stderr)"
    assert run([command(0, code), command(1, "print('three')")]) == 0
    out, err = capfdbinary.readouterr()
    assert sorted(out.splitlines()) == [b"[0] one", b"[0] two", b"[1] three"]
    assert err == b"[0] bad\n"


def test_noise_is_not_shown(capfdbinary):
    code = "print('[Gloo] Rank 0 is connected to 3 peer ranks. '); print('result')"
    assert run([Command("process 0", "", [sys.executable, "-c", code], noise=GlooLines)]) == 0
    assert capfdbinary.readouterr().out == b"result\n"


def test_lines_of_gloo_that_mix():
    expected = "Expected number of connected peer ranks is : "
    said = (
        f"[Gloo] Rank [Gloo] Rank 1 is connected to 0 is connected to 3 peer ranks. 3 peer ranks. {expected}"
        f"{expected}33\n"
        "first\n"
        "\n"
        "\n"
        "7\n"
    )
    hidden = GlooLines()
    shown = [line for line in said.encode().splitlines(keepends=True) if not hidden(line)]
    assert shown == [b"first\n", b"\n", b"7\n"]


def test_the_banner_of_mpiexec():
    banner = [b"=" * 83, b"=   PID 17 RUNNING AT host", b"=   EXIT CODE: 9", b"=" * 3, b"= PID"]
    assert [hydra_banner(line + b"\n") for line in banner] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("code", "expected", "message"),
    [
        ("raise SystemExit(7)", 7, "process 1 ended with code 7"),
        ("import os; os.kill(os.getpid(), 9)", 137, "process 1 was ended by signal SIGKILL"),
    ],
)
def test_the_first_that_fails_ends_the_others(tmp_path: Path, code: str, expected: int, message: str):
    said: list[str] = []
    commands = [command(0, SLEEP, f"{tmp_path}/"), command(1, code), command(2, SLEEP, f"{tmp_path}/")]
    assert run(commands, say=said.append) == expected
    assert said == [message]
    assert alive(tmp_path) == []


@pytest.mark.parametrize("late", [False, True])
def test_the_first_is_named_whoever_follows_it(tmp_path: Path, monkeypatch, late: bool):
    """Process 0 fails as soon as process 1 is gone; both may be gone before anybody looks."""
    note = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()))"
    one = f"{note}; os.rename(sys.argv[1], sys.argv[1] + '.whole'); os.kill(os.getpid(), 9)"
    zero = (
        "import os, sys\nwhile not os.path.exists(sys.argv[1]): pass\n"
        "other = int(open(sys.argv[1]).read())\n"
        "while open(f'/proc/{other}/stat').read().rpartition(')')[2].split()[0] != 'Z': pass\nsys.exit(5)"
    )
    if sys.platform != "linux":
        pytest.skip("only Linux says in which order processes ended")
    started = list[subprocess.Popen[bytes]]()
    show = processes._show_output

    def when_all_have_ended(one: processes._Running) -> None:
        started.append(one.process)
        if late and len(started) == 2:
            assert wait_for(lambda: not any(running(process.pid) for process in started))
        show(one)

    monkeypatch.setattr(processes, "_show_output", when_all_have_ended)
    for turn in range(5):
        note_file, said = tmp_path / str(turn), list[str]()
        started.clear()
        commands = [command(0, zero, f"{note_file}.whole"), command(1, one, str(note_file))]
        assert run(commands, say=said.append) == 137
        assert said == ["process 1 was ended by signal SIGKILL"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_output_that_cannot_be_written_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=full))
        with pytest.raises(OSError) as raised:
            run([command(0, "print('said')"), command(1, "pass")])
        said = list[str]()
        assert run([command(0, "print('said'); raise SystemExit(3)")], say=said.append) == 3
    assert raised.value.errno == ENOSPC
    assert said == ["process 0 ended with code 3"]


def test_a_reader_that_has_seen_enough_is_no_failure(monkeypatch: pytest.MonkeyPatch):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", buffering=0) as pipe:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=pipe))
        assert run([command(0, "print('said')")]) == 0


def test_what_a_process_leaves_behind_ends_with_it(tmp_path: Path):
    leave = (
        f"import os, subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}, sys.argv[1]])\n"
        "while not os.listdir(sys.argv[1]): pass"
    )
    assert run([command(0, leave, f"{tmp_path}/")]) == 0
    assert len(list(tmp_path.iterdir())) == 1
    assert wait_for(lambda: not alive(tmp_path))


def test_who_does_not_want_to_end_is_killed(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(processes, "GRACE", 0.2)
    deaf = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"
    late = "import os, sys, time\nwhile not os.listdir(sys.argv[1]): time.sleep(0.01)\nsys.exit(3)"
    commands = [command(0, deaf, f"{tmp_path}/"), command(1, late, str(tmp_path))]
    assert run(commands, say=lambda text: None) == 3
    assert alive(tmp_path) == []


def test_what_processes_started_ends_too(tmp_path: Path):
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEP!r}, sys.argv[1]])"
    late = "import os, sys, time\nwhile not os.listdir(sys.argv[1]): time.sleep(0.01)\nsys.exit(3)"
    assert (
        run([command(0, inner, f"{tmp_path}/"), command(1, late, str(tmp_path))], say=lambda text: None) == 3
    )
    assert wait_for(lambda: not alive(tmp_path))


def test_a_limit(tmp_path: Path):
    said: list[str] = []
    commands = [command(0, "pass"), command(1, SLEEP, f"{tmp_path}/")]
    assert run(commands, limit=0.5, say=said.append) == TIMED_OUT
    assert said == ["process 1 did not end within the limit"]
    assert alive(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_processes_end_with_who_started_them(tmp_path: Path, number: signal.Signals):
    """And so does what they started."""
    long = SLEEP.replace("60", "3600")
    two = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {long!r}, sys.argv[1]])\n{long}"
    code = (
        "import signal, sys; from shardc.launch.processes import Command, run\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # tests in the background ignore it
        f"run([Command(str(i), '', [sys.executable, '-c', {two!r}, sys.argv[1]]) for i in range(3)])"
    )
    starter = subprocess.Popen([sys.executable, "-c", code, f"{tmp_path}/"], stderr=subprocess.DEVNULL)
    assert wait_for(lambda: len(alive(tmp_path)) == 6)
    starter.send_signal(number)
    starter.wait(120)
    assert wait_for(lambda: not alive(tmp_path))


@pytest.mark.parametrize(
    ("environment", "who"),
    [
        ({}, None),
        ({"PMI_RANK": ""}, None),
        ({"SLURM_STEP_ID": "0"}, "Slurm"),
        ({"SLURM_STEP_NODELIST": "n1"}, "Slurm"),
        ({"PMI_RANK": "3"}, "mpiexec"),
    ],
)
def test_who_started_this_process(environment: dict[str, str], who: str | None):
    assert starter(environment) == who
    assert os.environ is not environment
