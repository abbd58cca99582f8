# Targets are what a person calls and what CI calls. Each builds what it needs in an environment of its own first.
PYTHON ?= python3
OLDEST_PYTHON ?= python3.11
ifeq ($(OS),Windows_NT)
SCRIPTS := Scripts
else
SCRIPTS := bin
endif
BIN := .venv/$(SCRIPTS)
BENCH_BIN := .venv-bench/$(SCRIPTS)
OLDEST_BIN := .venv-oldest/$(SCRIPTS)
WHEEL_BIN := build/wheel-check/$(SCRIPTS)
STAMP := .venv/.installed
BENCH_STAMP := .venv-bench/.installed
OLDEST_STAMP := .venv-oldest/.installed
NEW_ENOUGH := $(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'rarefy needs Python >= 3.11, this is ' + sys.version)"
INSTALL := -m pip install --quiet --disable-pip-version-check

.PHONY: help install demo test test-oldest coverage check bench asv trials audit docs dist clean
.DEFAULT_GOAL := help

help:
	@echo "make install | demo | test | test-oldest | coverage | check | bench | asv | trials | audit | docs | dist | clean"

# The newest versions that pyproject.toml allows; with LOCKED=1 those of the lock file, by their hashes.
install: $(if $(LOCKED),.venv/.locked,$(STAMP))

$(STAMP): pyproject.toml
	$(NEW_ENOUGH)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) -e ".[dev,docs]"
	touch $@

.venv/.locked: tools/locked-requirements.txt
	$(NEW_ENOUGH)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) --require-hashes -r tools/locked-requirements.txt
	$(BIN)/python $(INSTALL) --no-deps --no-build-isolation -e .
	touch $@ $(STAMP)

demo: $(STAMP)
	$(BIN)/rarefy demo

test: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist worksteal

# The same with every line watched, which takes half as long again; fails below the floor in pyproject.toml.
coverage: $(STAMP)
	$(BIN)/python -m pytest -n auto --cov=rarefy

# The oldest declared version of everything that the tests import, on the oldest Python.
test-oldest: $(OLDEST_STAMP)
	$(OLDEST_BIN)/python -m pytest -n auto

$(OLDEST_STAMP): pyproject.toml tools/oldest-requirements.txt
	test -x $(OLDEST_BIN)/python || $(OLDEST_PYTHON) -m venv .venv-oldest
	$(OLDEST_BIN)/python $(INSTALL) -c tools/oldest-requirements.txt -e ".[dev]"
	touch $@

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/import_graph.py --check
	$(BIN)/python tools/check_sizes.py
	$(BIN)/python tools/check_docstrings.py
	$(BIN)/python tools/oldest_requirements.py --check
	$(BIN)/python tools/locked_requirements.py --check
	$(MAKE) docs

# The peers' own pins exclude the newest scikit-learn, so they get an environment of their own.
bench: $(BENCH_STAMP)
	$(BENCH_BIN)/python benchmarks/bench_selection.py
	$(BENCH_BIN)/python benchmarks/bench_relief.py
	$(BENCH_BIN)/python benchmarks/bench_lp.py
	$(BENCH_BIN)/python benchmarks/bench_rank.py
	$(BENCH_BIN)/python benchmarks/bench_features.py
	$(BENCH_BIN)/python benchmarks/bench_best_subset.py

# Small sizes, once each: what a change did to the times of the working tree.
asv: $(BENCH_STAMP)
	$(BENCH_BIN)/asv machine --yes --config benchmarks/asv.conf.json
	$(BENCH_BIN)/asv run --config benchmarks/asv.conf.json --python=same --quick --show-stderr

$(BENCH_STAMP): pyproject.toml
	test -x $(BENCH_BIN)/python || $(PYTHON) -m venv .venv-bench
	$(BENCH_BIN)/python $(INSTALL) -e ".[bench]"
	touch $@

# Hours, and on from where it was interrupted; DAILY=1 has small sizes, ONLY=forgery is one trial, RECORD=1 keeps the figures.
trials: $(STAMP)
	$(BIN)/python trials/run.py $(if $(ONLY),--only $(ONLY)) $(if $(DAILY),--daily) $(if $(SIZE),--size $(SIZE)) $(if $(RECORD),--record)

docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Licences of what people install with rarefy, and known vulnerabilities of what is installed here.
audit: $(STAMP)
	$(BIN)/python tools/supply_chain.py licences
	$(BIN)/python tools/supply_chain.py audit

# Sources, wheel (built once more and compared) and a bill of materials, and the wheel alone in an empty environment.
dist: $(STAMP)
	rm -rf dist build/wheel-check
	$(BIN)/python -m build
	$(BIN)/python tools/supply_chain.py wheel
	mkdir -p build
	$(BIN)/python tools/supply_chain.py sbom build/rarefy.cdx.json
	$(PYTHON) -m venv build/wheel-check
	$(WHEEL_BIN)/python $(INSTALL) "$$(ls dist/*.whl)[cli]"
	$(WHEEL_BIN)/rarefy --version
	$(WHEEL_BIN)/rarefy demo --help

clean:
	rm -rf .venv .venv-bench .venv-oldest .asv docs/_build docs/api docs/gallery build dist .coverage .coverage.* rarefy-demo.html rarefy-results
