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
.PHONY: help demo test test-all bench lint format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## Animals, then ICD-10-CM: scores, predicted paths, reports (2 minutes)
	@mkdir -p build/demo
	@$(BIN)/hiclass demo --report-dir build/demo

test: $(VENV)/.test ## Run the tests and the doctests, with coverage
	@$(BIN)/python -m pytest -n 2 -m "not heavy" --cov

# With HICLASS_NO_SKIP=1 a skipped test fails, so that these really run.
test-all: $(VENV)/.test-all ## Run the tests that need large programs (torch, XGBoost, Chromium)
	@HICLASS_NO_SKIP=1 $(BIN)/python -m pytest -m heavy

# DATA=folder adds the real sets. Other libraries take part once race.py has made their environments.
bench: $(VENV)/.bench ## Run a short version of the benchmarks (a few minutes); JSON in build/bench
	@$(BIN)/python benchmarks/bench.py --output build/bench $(if $(DATA),--data $(DATA))

lint: $(VENV)/.lint ## Check style, format, types and the import contract
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python tools/check_imports.py

format: $(VENV)/.lint ## Format the code and apply the safe fixes of the linter
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean: ## Remove the virtual environment, caches and build output
	@rm -rf $(VENV) build dist .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "hiclass needs Python 3.11 or newer; try: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.demo $(VENV)/.test $(VENV)/.bench $(VENV)/.lint: $(VENV)/.%: pyproject.toml | $(VENV)/.created
	@echo "Installing hiclass[$*] into $(VENV)"
	@$(PIP) --editable '.[$*]'
	@touch $@

# torch first and pinned: this version has a CPU build where the tests run, while an
# unpinned torch resolves to a newer one, which pulls gigabytes of CUDA packages.
$(VENV)/.test-all: pyproject.toml | $(VENV)/.created
	@echo "Installing hiclass[test-all] into $(VENV) (large: torch and XGBoost)"
	@$(PIP) torch==2.13.0
	@$(PIP) --editable '.[test-all]'
	@touch $@
