# Every target installs what it needs into .venv, from a bare checkout on:
# Python 3.11 or newer and make are enough. A second call installs nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Errors only: warnings about the local configuration of pip would drown the output.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# One virtual environment: two installs at a time would get in each other's way.
.NOTPARALLEL:
.PHONY: help demo test smoke test-all test-oldest test-newest fuzz bench lint format docs study clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## Animals, then ICD-10-CM: scores, predicted paths, reports (2 minutes)
	@mkdir -p build/demo
	@$(BIN)/hiclass demo --report-dir build/demo

test: $(VENV)/.test ## Run the tests and the doctests, with coverage
	@$(BIN)/python -m pytest -n 2 -m "not heavy" --cov

# On another interpreter: make smoke PYTHON=python3.13 VENV=.venv-3.13
SMOKE := tests/test_common.py tests/test_bad_input.py tests/export/test_export_persistence.py tests/cli
smoke: $(VENV)/.test ## Run a quick part of the tests: scikit-learn's checks, bad input, files
	@$(BIN)/python -m pytest -n 2 -m "not heavy" $(SMOKE)

# With HICLASS_NO_SKIP=1 a skipped test fails, so that these really run.
test-all: $(VENV)/.test-all ## Run the tests that need large programs (torch, ONNX, Chromium)
	@HICLASS_NO_SKIP=1 $(BIN)/python -m pytest -m heavy --cov --cov-config=tools/coverage_heavy.toml

test-oldest: .venv-oldest/.test ## Run the tests on the oldest versions that pyproject.toml promises
	@.venv-oldest/bin/python -m pytest -n 2 -m "not heavy"

# Its environment is brought up to date on every call: new releases are what it is for.
test-newest: .venv-newest/.created ## Run the tests on the newest versions; deprecations are errors
	@echo "Installing the newest of everything into .venv-newest"
	@.venv-newest/bin/python -m pip install -qq --disable-pip-version-check \
		--upgrade --upgrade-strategy eager --editable '.[test]'
	@.venv-newest/bin/python -m pytest -n 2 -m "not heavy" -W error::DeprecationWarning \
		-W error::PendingDeprecationWarning -W error::FutureWarning

fuzz: $(VENV)/.test ## Fuzz with new random input (HICLASS_FUZZ=20000 cases, 15 minutes)
	@HICLASS_FUZZ=$${HICLASS_FUZZ:-20000} $(BIN)/python -m pytest -n 0 -q -s tests/test_fuzz.py

# DATA=folder adds the real sets. Other libraries take part once race.py has made their environments.
bench: $(VENV)/.bench ## Run a short version of the benchmarks (a few minutes); JSON in build/bench
	@$(BIN)/python benchmarks/bench.py --output build/bench $(if $(DATA),--data $(DATA))

lint: $(VENV)/.lint ## Check style, format, types, imports and docstrings
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/check_imports.py
	@$(BIN)/python tools/check_docstrings.py

format: $(VENV)/.lint ## Format the code and apply the safe fixes of the linter
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# The text is built anew each time, so that a warning cannot hide in what was built before; the
# examples of the gallery run again only where they changed.
docs: $(VENV)/.docs ## Build the documentation into build/docs, without network
	@$(BIN)/sphinx-build -E -W --keep-going -b html -d build/doctrees docs build/docs
	@$(BIN)/python tools/check_links.py build/docs

# CONFIG="data=FILE rows=500 trials=2" reads a file of yours, and less of it.
study: $(VENV)/.study ## Re-run the paper's study (an hour; downloads a gigabyte unless CONFIG=data=FILE)
	@$(BIN)/snakemake -s benchmarks/consumer_complaints/Snakefile --cores 1 $(if $(CONFIG),--config $(CONFIG))

clean: ## Remove the virtual environments, caches and build output
	@rm -rf docs/api/generated docs/api/backreferences docs/auto_examples docs/sg_execution_times.rst
	@rm -rf $(VENV) .venv-* build dist .snakemake .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created .venv-oldest/.created .venv-newest/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "hiclass needs Python 3.11 or newer; try: make PYTHON=/path/to/python3.11"; exit 1; }
	@if $(@D)/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		echo "Using $(@D)"; \
		$(@D)/bin/python -c 'import pip' 2>/dev/null || $(@D)/bin/python -m ensurepip -q; \
	else \
		echo "Creating $(@D)"; \
		$(PYTHON) -m venv --clear $(@D); \
	fi
	@touch $@

$(VENV)/.demo $(VENV)/.test $(VENV)/.bench $(VENV)/.lint: $(VENV)/.%: pyproject.toml | $(VENV)/.created
	@echo "Installing the checkout with the extra $* into $(VENV)"
	@$(PIP) --editable '.[$*]'
	@touch $@

# torch first and pinned: this version has a CPU build where the tests run, while an
# unpinned torch resolves to a newer one, which pulls gigabytes of CUDA packages.
$(VENV)/.test-all $(VENV)/.docs: $(VENV)/.%: pyproject.toml | $(VENV)/.created
	@echo "Installing the checkout with the extra $* into $(VENV) (large: torch and others)"
	@$(PIP) torch==2.13.0
	@$(PIP) --editable '.[$*]'
	@touch $@

# The core last and without its dependencies: see tools/oldest.txt.
.venv-oldest/.test: pyproject.toml tools/oldest.txt tools/oldest-extras.txt | .venv-oldest/.created
	@echo "Installing the oldest versions into .venv-oldest"
	@.venv-oldest/bin/python -m pip install -qq --disable-pip-version-check \
		--constraint tools/oldest-extras.txt --editable '.[test]'
	@.venv-oldest/bin/python -m pip install -qq --disable-pip-version-check \
		--no-deps --requirement tools/oldest.txt
	@touch $@

$(VENV)/.study: benchmarks/consumer_complaints/requirements.txt pyproject.toml | $(VENV)/.created
	@echo "Installing hiclass and the tools of the study into $(VENV)"
	@$(PIP) --editable . --requirement $<
	@touch $@
