"""`shardc run`: the programs people write, on real processes, JAX's and MPI's."""

from __future__ import annotations

import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import shardc
from shardc.cli.driver import load as load_module
from shardc.cli.reshard import main as reshard_main
from shardc.cli.run import main as run_main
from shardc.dialects.snapshot import snapshot
from shardc.interpret.arguments import argument_names, arguments
from shardc.launch.parent import KILL_LATER
from tests.tolerance import assert_right

LIMIT = 600
"""Seconds for everything that is started: nothing here takes long but on a machine busy with other things."""

MPI = ["-n", "4", "--mpi"]
JAX = ["-n", "2", "--devices", "2"]

PROGRAM = """
mesh pod[data=2, model=2]

def main(x: f32[10@data, 8], w: f32[8, 12@model], v: f32[13@(data, model), 6]) -> (f32[10@data, 12], f32[6]):
    h = tanh(x @ w)
    return h, sum(v, axis=0)
"""


def command(*words: str, **options) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, "-m", "shardc.cli.shardc", *words]
    return subprocess.run(start, capture_output=True, text=True, timeout=LIMIT, **options)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "prog.shard"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module", params=[MPI, JAX], ids=["mpi", "jax"])
def kind(request: pytest.FixtureRequest) -> list[str]:
    pytest.importorskip("mpi4py" if "--mpi" in request.param else "jax")
    return request.param


@pytest.mark.sampled(2)
def test_inputs_to_outputs(program: Path, kind: list[str], tmp_path: Path):
    whole = snapshot(load_module(str(program))).graph
    arrays = [np.asarray(x) for x in arguments(whole, None)]
    save_file(dict(zip(argument_names(whole), arrays, strict=True)), tmp_path / "in.safetensors")
    given = ["--inputs", "in.safetensors", "--outputs", "out.safetensors"]
    jobs = [
        subprocess.Popen(
            [sys.executable, "-m", "shardc.cli.shardc", "run", str(program), *kind, *given],
            cwd=tmp_path / folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        for folder in folders(tmp_path)
    ]
    outputs = [ended(job) for job in jobs]
    for job, out, folder in zip(jobs, outputs, ("one", "two"), strict=True):
        assert job.returncode == 0, out
        assert out.startswith("[0] result0: f32[10, 12] on ")
        found = load_file(tmp_path / folder / "out.safetensors")
        count = len(whole.main.body.results)
        assert_right(whole, whole, arrays, [found[f"result{number}"] for number in range(count)], PROGRAM)


def ended(job: subprocess.Popen[str]) -> str:
    """What it printed."""
    try:
        return job.communicate(timeout=LIMIT)[0]
    finally:
        job.kill()


def folders(tmp_path: Path) -> list[str]:
    """Two jobs at once, each in its folder."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "in.safetensors").symlink_to(tmp_path / "in.safetensors")
    return ["one", "two"]


TREES = """
module = load_program(sys.argv[1])
rng = np.random.default_rng(0)
b, w, x = (rng.random(shape).astype(np.float32) for shape in ((8,), (4, 8), (8, 4)))
p = {"layers": [{"w": w}], "b": b}
h = x @ w + b
rows = local(module, *module.PARAMS["x"])[0]
own = slice(rows * who(), rows * (who() + 1))
for main, given in ((module.main_local, x[own]),) + ((module.main, x),) * MPI_TOO:
    made, total = main(p, given)
    assert list(made) == ["h", "p"] and list(made["p"]) == ["b"], made
    part = np.concatenate(blocks_of(made["h"]))
    assert np.allclose(part, h if main is module.main else h[own], rtol=1e-5)
    assert np.allclose(blocks_of(made["p"]["b"])[0], h.sum(axis=0), rtol=1e-5)
    assert np.allclose(blocks_of(total)[0], h.sum(), rtol=1e-5)
print("right", flush=True)
"""


@pytest.mark.sampled(2)
def test_dict_trees(kind: list[str], tmp_path: Path):
    path = Path(__file__).parent / "programs/dict_trees.mlir"
    out = emitted(path, kind, tmp_path)
    blocks_of = (
        "MPI_TOO = 1\nblocks_of = lambda x: [np.asarray(x)]\n"
        if kind == MPI
        else "MPI_TOO = 0\nblocks_of = lambda x: [np.asarray(s.data) for s in x.addressable_shards]\n"
    )
    done = command("run", script(kind, tmp_path, blocks_of + TREES), *kind, "--", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("right") == int(kind[1])
    loaded = command("run", str(path), *kind)
    assert loaded.returncode == 0, loaded.stderr
    assert loaded.stdout.startswith("[0] result0: f32[8, 8] on ")


WRONG_BLOCKS = """
module = load_program(sys.argv[1])
number = who()
right = [np.zeros(local(module, *entry), np.float32) for entry in module.PARAMS.values()]
wrong = [right[0], right[1][:, :-1], right[2]], [right[0].astype(np.float64), *right[1:]]
for process, blocks in enumerate(wrong, 1):
    try:
        module.main_local(*blocks if number == process else right)
    except ValueError as error:
        print(error, flush=True)
module.main_local(*right)
"""

START = {
    "mpi": """
import sys
import numpy as np
from mpi4py import MPI
from shardc.launch.program import load_program
who = lambda: MPI.COMM_WORLD.rank
number_in = lambda result: result[0]
local = lambda module, shape, dtype, spec: module.place(module.communicator(), spec, shape)[1]
""",
    "jax": """
import sys
import jax
import numpy as np
from shardc.launch.program import load_program
who = jax.process_index
number_in = lambda result: np.asarray(result.addressable_data(0))[0]
def local(module, shape, dtype, spec):
    sharding = jax.sharding.NamedSharding(module.mesh(), spec)
    return module.local_shape(sharding, module.padded(shape, sharding))
""",
}


def emitted(program: Path, kind: list[str], folder: Path) -> Path:
    target = "mpi" if "--mpi" in kind else "jax"
    out = folder / "out.py"
    language = "mlir" if program.suffix == ".mlir" else "shard"
    text = shardc.compile(
        program.read_text(), target=target, language=language, process_data=target == "jax"
    ).source
    out.write_text(text)
    return out


def script(kind: list[str], folder: Path, body: str) -> str:
    path = folder / "script.py"
    path.write_text(START["mpi" if "--mpi" in kind else "jax"] + body)
    return str(path)


@pytest.mark.sampled(2)
def test_a_wrong_block_is_an_error_on_every_process(program: Path, kind: list[str], tmp_path: Path):
    """A shape, a dtype: on one of four processes, which go on afterwards."""
    out = emitted(program, kind, tmp_path)
    four = MPI if kind == MPI else ["-n", "4"]
    done = command("run", script(kind, tmp_path, WRONG_BLOCKS), *four, "--", str(out))
    assert done.returncode == 0, done.stderr
    said = sorted(line[len("[0] ") :] for line in done.stdout.splitlines())
    given = "w: process 1 gives float32[8, 5], and float32[8, 6]", "x: process 2 gives float64[5, 8], and "
    assert len(said) == 8
    for lines, start in zip((said[:4], said[4:]), given, strict=True):
        assert all(line.startswith(start) and "is expected" in line for line in lines)


WHOLE_ALONG_SOME = """
module = load_program(sys.argv[1])
x = np.arange(32, dtype=np.float32).reshape(8, 4)
row, column = divmod(who(), 2)
rows, columns = slice(4 * row, 4 * row + 4), slice(2 * column, 2 * column + 2)
for given in x[rows, columns], x[rows], x[:, columns], x:
    (shard,) = module.main_local(given).addressable_shards
    print(np.array_equal(shard.data, 2 * x[rows, columns]), flush=True)
"""


def test_each_dimension_is_whole_or_what_a_process_holds(tmp_path: Path):
    """As jax.make_array_from_process_local_data has it."""
    program = tmp_path / "grid.shard"
    program.write_text("mesh m[i=2, j=2]\n\ndef main(x: f32[8@i, 4@j]):\n    return x * 2\n")
    out = emitted(program, ["-n", "4"], tmp_path)
    done = command("run", script(["-n", "4"], tmp_path, WHOLE_ALONG_SOME), "-n", "4", "--", str(out))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()).count("True") == 16


@pytest.mark.sampled(2)
def test_a_process_that_is_killed_in_a_collective(program: Path, kind: list[str], tmp_path: Path):
    killed = "import os\nif who() == 1: os.kill(os.getpid(), 9)\n" + WRONG_BLOCKS
    out = emitted(program, kind, tmp_path)
    done = command("run", script(kind, tmp_path, killed), *kind, "--", str(out))
    assert done.returncode == 137
    assert "shardc run: process 1 was ended by signal SIGKILL" in done.stderr
    assert "BAD TERMINATION" not in done.stdout + done.stderr


@pytest.mark.parametrize(("end", "code"), [("os.abort()", 134), ("os.kill(os.getppid(), 9)", 137)])
def test_a_rank_is_named_however_it_ends(tmp_path: Path, end: str, code: int):
    """mpiexec tells the signals of all ranks together; and who waits for a rank may be killed for it."""
    pytest.importorskip("mpi4py")
    body = f"import os\nif who() == 2: {end}\nMPI.COMM_WORLD.Barrier()\nimport time; time.sleep(3600)"
    done = command("run", script(MPI, tmp_path, body), *MPI)
    assert done.returncode == code
    name = "SIGABRT" if code == 134 else "SIGKILL"
    assert done.stderr.splitlines()[-1] == f"shardc run: process 2 was ended by signal {name}"


def test_a_rank_that_leaves_the_others_is_named(tmp_path: Path):
    """It ends with code 0, and mpiexec kills the others since it has not said that it would."""
    pytest.importorskip("mpi4py")
    body = "import os\nMPI.COMM_WORLD.Barrier()\nif who() == 2: os._exit(0)\nMPI.COMM_WORLD.Barrier()"
    done = command("run", script(MPI, tmp_path, body), *MPI)
    assert done.returncode == 1
    said = "shardc run: process 2 ended with code 0, and without MPI_Finalize, while others ran"
    assert done.stderr.splitlines()[-1] == said


RAGGED = """
mesh ring[d=2]

@shard_map
def main(x: f32[8@d, 2], to: f32[8@d, 2], i: i32[4@d], s: i32[4@d], p: i32[4@d], r: i32[4@d]) -> f32[8@d, 2]:
    return ragged_all_to_all(x, to, i, s, p, r, "d")
"""


def test_what_xla_lacks_is_no_traceback(tmp_path: Path):
    pytest.importorskip("jax")
    (tmp_path / "ragged.shard").write_text(RAGGED)
    done = command("run", str(tmp_path / "ragged.shard"), "-n", "2")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    said = done.stderr.splitlines()
    assert any("error: XLA cannot compile this program here: " in line for line in said)
    assert any("shardc run --mpi has all operations" in line for line in said)


ON_AND_ON = """
import os
module = load_program(sys.argv[1])
blocks = [np.zeros(local(module, *entry), np.float32) for entry in module.PARAMS.values()]
while True:  # until all have seen the file: v is split over all of them
    blocks[2][...] = os.path.exists(os.environ["MARK"])
    _, ends = module.main_local(*blocks)
    if number_in(ends) > 0:
        break
"""


@pytest.mark.sampled(2)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_is_left_whoever_is_killed(program: Path, kind: list[str], tmp_path: Path):
    """kill -9 of one of all processes, as they start or in collectives: the rest ends, and no other job."""
    out, busy = emitted(program, kind, tmp_path), script(kind, tmp_path, ON_AND_ON)

    @contextmanager
    def started(mark: Path) -> Iterator[subprocess.Popen[bytes]]:
        words = [sys.executable, "-m", "shardc.cli.shardc", "run", busy, *kind, "--", str(out)]
        with subprocess.Popen(
            words, env={**os.environ, "MARK": str(mark)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as job:
            try:
                yield job
            finally:
                job.kill()

    rng = np.random.default_rng(len(kind))
    least, all_of_them = (4, 11) if "--mpi" in kind else (2, 3)
    with started(tmp_path / "other") as other:
        for turn, ready in enumerate((all_of_them, *rng.integers(least, all_of_them + 1, 2))):
            mark = f"MARK={tmp_path}/{turn}"
            with started(tmp_path / str(turn)) as job:
                assert wait_for(partial(lambda mark, ready: len(marked(mark)) >= ready, mark, ready))
                time.sleep(float(rng.uniform(0, 3)))
                victim = job.pid if turn == 0 else int(rng.choice(sorted(filter(works, marked(mark)))))
                os.kill(victim, signal.SIGKILL)
                assert wait_for(partial(lambda mark: not marked(mark), mark)), (victim, marked(mark))
                said = (job.communicate()[1] or b"").decode()
                assert job.returncode != 0
                assert victim == job.pid or said.splitlines()[-1].startswith("shardc run: ")
        (tmp_path / "other").touch()
        assert other.communicate(timeout=LIMIT)[1] == b""
    assert other.returncode == 0


def works(pid: int) -> bool:
    """Whether a process is one of the job, and not the shell that waits for the end of `shardc run`."""
    with suppress(OSError):
        return KILL_LATER.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return False


def marked(mark: str) -> set[int]:
    """The processes with a word in their environment."""
    found: set[int] = set()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and mark.encode() in (path / "environ").read_bytes().split(b"\0"):
                found.add(int(path.name))
    return found


def wait_for(condition) -> bool:
    """Whether something becomes true."""
    for _ in range(1200):
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.sampled(2)
def test_an_exception_ends_all(kind: list[str], tmp_path: Path):
    body = "if who() == 1: raise RuntimeError('no')\nimport time; time.sleep(3600)"
    done = command("run", script(kind, tmp_path, body), *kind)
    assert done.returncode == 1
    assert "[1] RuntimeError: no" in done.stderr


FREED = """
import os
import resource
import threading

def touch():
    b"x" * (96 << 20)

for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    thread = threading.Thread(target=touch)
    thread.start()
    thread.join()
    asked = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print("asked again" if asked * resource.getpagesize() > 32 << 20 else "kept")
print(os.environ["MALLOC_TRIM_THRESHOLD_"])
"""


@pytest.mark.sampled(2)
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the variables are glibc's")
def test_freed_memory_stays_with_the_process(kind: list[str], tmp_path: Path):
    """And variables have the values that whoever runs it has given them."""
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": str(1 << 41)}
    done = command("run", script(kind, tmp_path, FREED), *kind, env=environment)
    assert done.returncode == 0, done.stderr
    count = 4 if "--mpi" in kind else 2
    assert (done.stdout.count("kept"), done.stdout.count(str(1 << 41))) == (count, count)


@pytest.mark.parametrize("count", [1, 3])
def test_processes_of_mpi_share_the_cores(count: int, tmp_path: Path):
    pytest.importorskip("mpi4py")
    words = ("-n", str(count), "--mpi")
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    body = 'import os\nprint("threads:", os.environ["OPENBLAS_NUM_THREADS"])\n'
    done = command("run", script([*words], tmp_path, body), *words, env=environment)
    assert done.returncode == 0, done.stderr
    share = max(1, (os.cpu_count() or 1) // count)
    assert done.stdout.count(f"threads: {share}\n") == count


ENDS_WHEN_ASKED = """
import time
import jax

PARAMS = RESULTS = {}

def mesh():
    return jax.make_mesh((2,), ("x",))

def main_local():
    if jax.process_index() == 1:
        raise RuntimeError("no")
    time.sleep(3600)
"""


def test_an_emitted_program_ends_as_soon_as_it_is_asked_to(tmp_path: Path):
    """JAX would take SIGTERM for a notice that the program may heed; nothing is killed before an hour."""
    pytest.importorskip("jax")
    (tmp_path / "emitted.py").write_text(ENDS_WHEN_ASKED)
    patient = (
        "import sys; from shardc.cli.run import main; from shardc.launch import processes\n"
        "processes.GRACE = 3600; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", patient, str(tmp_path / "emitted.py"), "-n", "2"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == "shardc run: process 1 ended with code 1"


ENDING = {
    "mpi": """
        from mpi4py import MPI
        rank, wait = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.Barrier
        """,
    "jax": """
        import jax
        from jax.experimental.multihost_utils import sync_global_devices
        rank, wait = jax.process_index(), lambda: sync_global_devices("all")
        """,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("end", "code", "said"), [("7", 7, ""), ("'what is wrong'", 1, "[1] what is wrong"), ("None", 0, "")]
)
def test_a_script_that_exits_ends_all(
    kind: list[str], tmp_path: Path, end: str, code: int, said: str
) -> None:
    head = dedent(ENDING["mpi" if "--mpi" in kind else "jax"])
    early = f"if rank == 1 and {code}: sys.exit({end})\n"
    text = f"import sys\n{head}{early}assert sys.stdin.read() == ''\nwait()\nsys.exit({end})\n"
    (tmp_path / "script.py").write_text(text)
    done = command("run", str(tmp_path / "script.py"), *kind, "--limit", "300")
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert (done.stderr.splitlines() or [""])[-1] == (
        f"shardc run: process 1 ended with code {code}" if code else ""
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-n", "3"], "the program's mesh has 4 devices, 3 processes of 1 have 3"),
        (["-n", "2", "--mpi", "--devices", "2"], "a process of MPI is one device"),
        ([], "how many processes? -n says it"),
    ],
)
def test_misuse(program: Path, words: list[str], message: str, monkeypatch, capsys):
    for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_STEP_ID", "JAX_COORDINATOR_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    assert run_main([str(program), *words]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.sampled(2)
def test_inputs_that_do_not_fit(program: Path, kind: list[str], tmp_path: Path):
    save_file(
        {"x": np.zeros((10, 8), np.float32), "w": np.zeros((8, 11), np.float32)}, tmp_path / "in.safetensors"
    )
    done = command("run", str(program), *kind, "--inputs", str(tmp_path / "in.safetensors"))
    assert done.returncode != 0
    assert "w is f32[8, 11], and f32[8, 12] is expected" in done.stderr and "Traceback" not in done.stderr


def test_under_mpiexec_the_same_command_is_one_of_many(program: Path):
    pytest.importorskip("mpi4py")
    start = [str(Path(sys.executable).with_name("mpiexec")), "-n", "4"]
    words = [sys.executable, "-m", "shardc.cli.shardc", "run", str(program), "--mpi"]
    done = subprocess.run([*start, *words], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "result0: f32[10, 12] on 4 processes of MPI"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ["--devices", "2"],
            ["result0: f32[10, 12] on 2 processes x 2 devices", "result1: f32[6] on 2"],
            marks=pytest.mark.slow,  # JAX may wait minutes for the port that the job's number gives
        ),
        pytest.param(
            [],
            ["shardc: error: 4 devices are needed and there are 2", "--devices says how many each process"],
            marks=pytest.mark.slow,
        ),
        (["--limit", "9"], ["shardc: error: --limit is for processes that -n starts"]),
    ],
)
def test_under_slurm_the_same_command_is_one_of_many(program: Path, words: list[str], said: list[str]):
    """Slurm's variables, as srun sets them on one node, which JAX finds the others by."""
    pytest.importorskip("jax")
    job = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2"}
    own = {
        name: value for name, value in os.environ.items() if name not in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS")
    }
    start = [sys.executable, "-m", "shardc.cli.shardc", "run", str(program), *words]
    tasks = [
        subprocess.Popen(
            start,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**own, **job, "SLURM_PROCID": str(task), "SLURM_LOCALID": str(task)},
        )
        for task in range(2)
    ]
    texts = [task.communicate(timeout=LIMIT)[0] for task in tasks]
    assert [task.returncode != 0 for task in tasks] == ["error" in said[0]] * 2, texts
    assert any(all(line in text for line in said) for text in texts)  # JAX ends who is late with the first
    assert not any("Traceback" in text for text in texts), texts


@pytest.mark.parametrize(
    ("variables", "code", "said"),
    [
        ({"JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": "{task}"}, 0, "f32[10, 12] on 2 processes x 2 devices"),
        ({"JAX_NUM_PROCESSES": "two"}, 1, "shardc: error: JAX_NUM_PROCESSES is a number, not 'two'"),
        ({}, 1, "note: who the others are say JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID"),
    ],
)
def test_with_a_coordinator_the_same_command_is_one_of_many(
    program: Path, variables: dict[str, str], code: int, said: str
):
    pytest.importorskip("jax")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    tasks = [
        subprocess.Popen(
            [sys.executable, "-m", "shardc.cli.shardc", "run", str(program), "--devices", "2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={
                **os.environ,
                "JAX_COORDINATOR_ADDRESS": address,
                **{name: value.format(task=task) for name, value in variables.items()},
            },
        )
        for task in range(1 if code else 2)  # what is wrong with one is found before the other is sought
    ]
    texts = [ended(task) for task in tasks]
    assert {task.returncode for task in tasks} == {code}, texts
    assert said in texts[0] and not any("Traceback" in text for text in texts), texts


def test_an_emitted_jax_script_runs_as_it_is(program: Path, tmp_path: Path):
    pytest.importorskip("jax")
    (tmp_path / "out.py").write_text(shardc.compile(program.read_text()).source)
    done = command("run", str(tmp_path / "out.py"), *JAX)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("float32[10, 12] on NamedSharding") == 2


def test_a_file_called_run_is_a_program(tmp_path: Path):
    (tmp_path / "run").touch()
    done = command("./run", cwd=tmp_path)
    assert "./run: no reader for files that end in ''" in done.stderr


def test_reshard_to_a_program(program: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arrays = {"w": np.arange(96, dtype=np.float32).reshape(8, 12), "n": np.ones(3, np.float32)}
    save_file(arrays, tmp_path / "in.safetensors")
    assert reshard_main(["in.safetensors", "--to", str(program), "-o", "to"]) == 0
    assert "does not take n, which stays whole" in capsys.readouterr().err
    assert reshard_main(["--list", "to"]) == 0
    assert capsys.readouterr().out == (
        "n: f32[3] in 1 block\nw: f32[8, 12] in 2 blocks\n2 arrays, 396 bytes\n"
    )
    assert reshard_main(["to", "--to", "a=3", "--shard", "w=P('a')", "-o", "back"]) == 0
    assert reshard_main(["--list", "back"]) == 0
    assert "w: f32[8, 12] in 3 blocks" in capsys.readouterr().out


@pytest.mark.slow
def test_measure(program: Path, kind: list[str], tmp_path: Path):
    here = tmp_path / "here.toml"
    mpi = ["--mpi"] if "--mpi" in kind else []
    done = command("measure", "-n", "2", *mpi, "-o", str(here))
    assert done.returncode == 0, done.stderr
    priced = command(str(program), "--cost", "--machine", str(here))
    assert priced.returncode == 0, priced.stderr
