# From `python3` (3.11 to 3.14, with venv) alone: every target makes what it needs, and does nothing where that is there.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup demo test test-slow lint bench report wheel clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' || \
		{ echo "$(PYTHON) must be Python 3.11 to 3.14; name another: make PYTHON=python3.12" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(STAMP)

demo: setup
	$(BIN)/simengine run assets/quadruped.urdf --floating --height 0.5 --noise 0.1 --worlds 4 --seconds 3 --record out/demo.usdc

test: setup
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-slow: setup
	$(BIN)/python -m pytest -q -n 2 -m slow

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@awk 'length > 120 { print FILENAME ":" FNR ": " length " characters, above 120"; long = 1 } END { exit long }' \
		$$(find kernels_cuda -type f)

bench: setup
	$(BIN)/python -m benchmarks.robots

ASSETS ?= ../shared/assets

report: setup
	$(BIN)/python -m benchmarks.import_coverage $(ASSETS) --write docs/import_coverage.md

wheel: setup
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:
	rm -rf .venv build dist out
