# The commands of this repository. Each makes the environment it needs in .venv.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check sweep bench clean

demo: .venv/.demo        ## compile examples/digits and run it on eight emulated devices
	$(BIN)/python examples/digits/demo.py

test: .venv/.dev         ## every test but the slow sweeps
	$(BIN)/python -m pytest -q -n auto --maxprocesses 8 -m "not slow"

check: .venv/.dev        ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

sweep: .venv/.dev        ## the slow sweeps: random programs against oracles
	SHARDC_RANDOM=1 $(BIN)/python -m pytest -q -n auto --maxprocesses 8 -m slow

bench: .venv/.dev        ## bytes and FLOPs of the sample programs, against theory and XLA's partitioner; wrong programs found
	$(BIN)/python bench/results.py --shardc $(BIN)/shardc
	$(BIN)/python bench/mutation.py
	$(BIN)/python bench/bounds.py
	$(BIN)/python bench/propagation.py
	$(BIN)/python bench/read_speed.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -q -e '.[jax,demo]'
	touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -q -e '.[dev]'
	touch $@ .venv/.demo

clean:
	rm -rf .venv build *.egg-info
