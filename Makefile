# The commands of this repository. Each makes the environment it needs in .venv.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test newest check coverage sweep processors bench fuzz clean

demo: .venv/.demo        ## compile examples/digits and run it on eight emulated devices
	$(BIN)/python examples/digits/demo.py

test: .venv/.dev         ## every test but the slow ones: of sampled families (tests/sampling.py) some cases
	$(BIN)/python -m pytest -q -n auto --maxprocesses 8 -m "not slow"

# A Python 3.13; `make newest NEWEST=/path/to/python3.13` names another.
NEWEST ?= $(shell for p in "$$HOME"/.pyenv/versions/3.13.*/bin/python python3.13; do \
	"$$p" -c 'import venv' 2>/dev/null && echo "$$p" && break; done)
# Of the texts that are read, the tests that ask JAX for them, and those of Python's own syntax trees.
NEWEST_TESTS := tests/unit/jaxside tests/unit/frontend_mlir/test_python_names.py tests/unit/test_from_jax.py \
	$(shell grep -l jax tests/unit/dialects/test_*.py tests/unit/frontend_mlir/test_*.py) \
	tests/unit/backend/test_foreign_calls.py tests/unit/backend/test_jax_functions.py \
	tests/unit/backend/test_jax_elementwise.py tests/unit/backend/test_library_idioms.py \
	tests/unit/shard_map/test_collectives.py tests/unit/shard_map/test_effects.py \
	tests/unit/proof/test_jax_reading.py

MARK ?= not slow

ifeq ($(strip $(NEWEST)),)
newest:                  ## those tests that read what JAX prints, with Python 3.13 and the newest JAX
	@echo "no Python 3.13 is found here: the tests with the newest JAX are not run"
else
newest: .venv/newest/.dev
	.venv/newest/bin/python -m pytest -q -n auto --maxprocesses 8 -m "$(MARK)" --turn 1 $(NEWEST_TESTS)
endif

check: .venv/.dev        ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

coverage: .venv/.dev     ## the tests of `make test`, and the lines that they do not reach
	$(BIN)/python -m pytest -q -n auto --maxprocesses 8 -m "not slow" --cov --cov-report=term-missing

sweep: .venv/.dev        ## the slow tests, and random ones with new and more examples
	SHARDC_RANDOM=1 $(BIN)/python -m pytest -q -n auto --maxprocesses 8 -m "slow or hypothesis"
	SHARDC_RANDOM=1 $(MAKE) newest MARK="slow or hypothesis"

ORDER := --random-order --random-order-seed

processors: .venv/.dev   ## the tests in other orders, with the products of other processors, one thread and eight
	OPENBLAS_CORETYPE=Nehalem OPENBLAS_NUM_THREADS=1 XLA_FLAGS="--xla_cpu_max_isa=AVX --xla_cpu_multi_thread_eigen=false" \
		$(BIN)/python -m pytest -q -n auto --maxprocesses 8 -m "not slow" $(ORDER)=1 $(TESTS)
	OPENBLAS_CORETYPE=Haswell OPENBLAS_NUM_THREADS=8 XLA_FLAGS=--xla_cpu_max_isa=AVX2 \
		$(BIN)/python -m pytest -q -n auto --maxprocesses 8 -m "not slow" $(ORDER)=2 $(TESTS)
	OPENBLAS_CORETYPE=SkylakeX OPENBLAS_NUM_THREADS=8 \
		$(BIN)/python -m pytest -q -n auto --maxprocesses 8 -m "not slow" $(ORDER)=3 $(TESTS)

bench: .venv/.dev        ## bytes and FLOPs of the sample programs, against theory and XLA's partitioner; wrong programs found
	$(BIN)/python -m bench.results --shardc $(BIN)/shardc
	rm -rf .mutation
	$(BIN)/python -m bench.mutation
	$(BIN)/python -m bench.bounds
	$(BIN)/python -m bench.propagation
	$(BIN)/python -m bench.read_speed
	$(BIN)/python -m bench.readme --write

FIRST ?= 0
LAST ?= 10000
JOBS ?= 2

fuzz: .venv/.dev         ## mutants of every input, seeds FIRST to LAST; goes on where it stopped
	$(BIN)/python -m bench.fuzz $(FIRST) $(LAST) --jobs $(JOBS)

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -q -e '.[jax,demo]'
	touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -q -e '.[dev]'
	touch $@ .venv/.demo

.venv/newest/.dev: pyproject.toml | .venv/bin/python
	$(NEWEST) -m venv .venv/newest
	.venv/newest/bin/python -m pip install -q -e '.[dev-newest]'
	touch $@

clean:
	rm -rf .venv build *.egg-info
