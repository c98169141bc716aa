"""The main job on real data: a .shard program becomes the program each device runs and reads digits.

scikit-learn trains an MLP on its bundled digits. shardc compiles the forward pass for 2 x 4 devices; the
compiled file runs on eight emulated devices, as JAX and as NumPy, and must predict the same.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from shardc.cli.shardc import main as shardc

SOURCE = Path(__file__).with_name("digits.shard")


def train() -> tuple[MLPClassifier, dict[str, np.ndarray], np.ndarray]:
    """A trained classifier, the compiled program's arguments by name, and the true digits of its images."""
    images, digits = load_digits(return_X_y=True)
    fit, test, fit_digits, test_digits = train_test_split(images / 16, digits, test_size=360, random_state=0)
    model = MLPClassifier((48, 32), max_iter=120, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(fit.astype(np.float32), fit_digits)
    arguments = {"images": test}
    for layer, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True), start=1):
        arguments |= {f"w{layer}": weights, f"b{layer}": bias}
    return model, {name: array.astype(np.float32) for name, array in arguments.items()}, test_digits


def load(path: Path) -> ModuleType:
    """Import a compiled program."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    model, arguments, digits = train()
    expected = model.predict(arguments["images"])
    print(f"--- {SOURCE.name}: the program\n{SOURCE.read_text()}")
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder, "digits.npz")
        np.savez(inputs, allow_pickle=False, **arguments)
        agree = True
        for target in ("jax", "numpy"):
            compiled = Path(folder, f"digits_{target}.py")
            if shardc([str(SOURCE), "--target", target, "-o", str(compiled)]):
                return 1
            if target == "jax":
                print(f"--- {compiled.name}: what each device runs\n{compiled.read_text()}")
            got = np.asarray(load(compiled).main(*arguments.values()))
            same, right = int((got == expected).sum()), float((got == digits).mean())
            agree = agree and same == len(expected)
            print(
                f"{target}: {same} of {len(expected)} predictions equal scikit-learn's, accuracy {right:.1%}"
            )
        print(f"--- shardc {SOURCE.name} --run --inputs {inputs.name}")
        agree = shardc([str(SOURCE), "--run", "--inputs", str(inputs)]) == 0 and agree
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
