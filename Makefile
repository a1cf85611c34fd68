# make demo   a kernel, its WGSL, and its result, on the GPU if there is one
# make test   the tests
# make check  what else must hold before a commit: ruff, mypy

PYTHON ?= python3
VENV := .venv
READY := $(VENV)/ready

.PHONY: demo test check bench clean

demo: $(READY)
	$(VENV)/bin/python -m pywgsl demo

test: $(READY)
	$(VENV)/bin/python -m pytest

check: $(READY)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

bench: $(READY)
	$(VENV)/bin/python -m benchmarks compile launch numpy

# Dependency groups need a newer pip than some Pythons bring.
$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/bin/python -m pip install --quiet --editable . --group dev
	touch $@

clean:
	rm -rf $(VENV)
