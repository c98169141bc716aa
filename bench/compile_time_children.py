"""The processes of bench/compile_time.py and bench/edits.py: one compilation each, measured from inside.

lower PROGRAM FILE           writes the program as JAX prints it; prints how many operations it has
ours FILE OUT MODULES        compiles it as the command does, lists the modules imported; prints its peak
edit NAME MODEL LAYERS FILE  writes the step of bench/edits.py after an edit, or as it was
edited FILE OUT MODULES      the same with what is in the cache folder; prints whether it read the text
counted FILE OUT MODULES     the same; prints how many functions were called
read FILE MODULES            imports those; prints the CPU seconds of reading the text
imports MODULES              imports those, as the command does; prints its peak, in bytes
xla PROGRAM                  compiles it with XLA; prints its CPU seconds from where the devices are there
profile FILE                 compiles it as the command does; prints samples by room and by pass, as JSON
"""

from __future__ import annotations

import cProfile
import gc
import json
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def spent() -> float:
    """CPU seconds of this process so far, of all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak() -> int:
    """The most memory this process has had, in bytes. (ru_maxrss has that of the parent in it.)"""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def program(name: str) -> tuple[Any, Any]:
    """The suite and the program that a name means: MODULE:NAME, or step-LAYERS."""
    if name.startswith("step-"):
        from bench.ruler import programs

        return programs, programs.gpt_program(int(name.removeprefix("step-")))
    suite, _, key = name.partition(":")
    module = import_module(suite)
    return module, module.PROGRAMS[key]


def lower(name: str, path: str) -> None:
    from bench.suites import lowered

    text = lowered(*program(name))
    Path(path).write_text(text, encoding="utf-8")
    print(sum(" = " in line or line.lstrip().startswith("return") for line in text.splitlines()))


def ours(path: str, out: str, modules: str) -> None:
    code = compiled(modules, path, "-o", out, "--no-cache")
    print(peak())
    sys.exit(code)


def edit(name: str, model: str, layers: str, path: str) -> None:
    from bench.edits import edited as text_of
    from bench.transformer import Size

    Path(path).write_text(text_of(name, model, Size(int(layers))), encoding="utf-8")


def edited(path: str, out: str, modules: str) -> None:
    code = compiled(modules, path, "-o", out)
    print(int("shardc.frontend.mlir" in sys.modules))
    sys.exit(code)


def compiled(modules: str, *words: str) -> int:
    """Run the command, and list the modules that there are then; its exit code."""
    from shardc.cli.shardc import main

    sys.argv = ["shardc", *words]
    code = main()
    Path(modules).write_text(json.dumps(list(sys.modules)), encoding="utf-8")
    return code


def counted(path: str, out: str, modules: str) -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    code = compiled(modules, path, "-o", out)
    profiler.disable()
    print(sum(row.callcount for row in profiler.getstats()))
    sys.exit(code)


def read(path: str, modules: str) -> None:
    from shardc.collector import no_garbage_collection
    from shardc.frontend.read import read as read_in
    from shardc.options import Options

    import_all(modules)
    text = Path(path).read_text(encoding="utf-8")
    before = spent()
    with no_garbage_collection():
        read_in(text, Options(file=path, language="mlir"))
    print(spent() - before)


def imports(modules: str) -> None:
    import_all(modules)
    print(peak())


def import_all(modules: str) -> None:
    """Import modules as the command does."""
    from shardc.collector import no_garbage_collection

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with no_garbage_collection(kept=True):
        for name in json.loads(Path(modules).read_text(encoding="utf-8")):
            if name != "__main__":
                import_module(name)
    gc.freeze()


def xla(name: str) -> None:
    suite, chosen = program(name)
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={max(8, chosen.ndev)}"
    mesh = suite.make_mesh(chosen)
    before = spent()
    suite.jitted(chosen, mesh).lower(*suite.avals(chosen)).compile()
    print(spent() - before)


def profile(path: str) -> None:
    rooms: Counter[str] = Counter()
    passes: Counter[str] = Counter()

    def sample(signum: int, frame: FrameType | None) -> None:
        room, step = places(frame)
        rooms[room] += 1
        passes[step] += 1

    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, 0.002, 0.002)
    from shardc.cli.shardc import main

    code = main([path, "-o", os.devnull, "--no-cache"])
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(json.dumps({"rooms": rooms, "passes": passes}))
    sys.exit(code)


def places(frame: FrameType | None) -> tuple[str, str]:
    """The innermost room of a stack, and its pass; `imports` where one of its frames imports a module."""
    room, step = "", ""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib"):
            return "imports", "imports"
        if file.startswith(str(ROOT)) and "site-packages" not in file:
            inside = Path(file).relative_to(ROOT).parts
            inside = inside[1:] if inside[0] == "shardc" else inside
            room = room or "/".join(inside[:-1][:2]) or inside[-1]
            if inside[0] in ("passes", "frontend", "backend"):
                step = inside[-1].removesuffix(".py") if inside[0] == "passes" else inside[0]
                if inside[-1] == "pipeline.py":
                    step = "verify"
                break
        frame = frame.f_back
    return room or "other", step or "other"


CHILDREN: dict[str, Callable[..., None]] = {
    "lower": lower,
    "ours": ours,
    "edit": edit,
    "edited": edited,
    "counted": counted,
    "read": read,
    "imports": imports,
    "xla": xla,
    "profile": profile,
}

if __name__ == "__main__":
    CHILDREN[sys.argv[1]](*sys.argv[2:])
