# Targets are what a person calls and what CI calls. Each builds what it needs in .venv first.
PYTHON ?= python3
BIN := .venv/bin
BENCH_BIN := .venv-bench/bin
STAMP := .venv/.installed
BENCH_STAMP := .venv-bench/.installed

.PHONY: help install demo test check bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make install | demo | test | check | bench | docs | clean"

install: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'rarefy needs Python >= 3.11, this is ' + sys.version)"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

demo: $(STAMP)
	$(BIN)/rarefy demo

test: $(STAMP)
	$(BIN)/python -m pytest -n auto

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# The peers' own pins exclude the newest scikit-learn, so they get an environment of their own.
bench: $(BENCH_STAMP)
	$(BENCH_BIN)/python benchmarks/bench_selection.py
	$(BENCH_BIN)/python benchmarks/bench_relief.py
	$(BENCH_BIN)/python benchmarks/bench_lp.py
	$(BENCH_BIN)/python benchmarks/bench_rank.py
	$(BENCH_BIN)/python benchmarks/bench_features.py

$(BENCH_STAMP): pyproject.toml
	test -x $(BENCH_BIN)/python || $(PYTHON) -m venv .venv-bench
	$(BENCH_BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $@

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf .venv .venv-bench docs/_build build dist rarefy-demo.html rarefy-results
