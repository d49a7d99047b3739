# `make serve` and `make test` need only Python 3.11+ and make.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$p; break; }; done)
BIN := .venv/bin

.PHONY: serve install test lint lock clean

serve: install  ## serve on 127.0.0.1:8000 with the embedded Postgres
	@$(BIN)/pgrecall serve

install: .venv/.installed  ## build .venv from requirements.lock

test: .venv/.installed-dev  ## every test, on a Postgres of its own
	@$(BIN)/python -m pytest

lint: .venv/.installed-dev  ## ruff and strict types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "pgrecall needs Python 3.11 or newer: install it, or name it: make PYTHON=/path/to/python3.12 serve"; exit 1; }
	@echo "Building .venv with $(PYTHON) (once)"
	@$(PYTHON) -m venv .venv

.venv/.installed: requirements.lock pyproject.toml | .venv/bin/python
	@echo "Installing what requirements.lock pins (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

.venv/.installed-dev: requirements-dev.lock .venv/.installed
	@echo "Installing the test tools that requirements-dev.lock pins (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.lock
	@touch $@

lock:  ## pin anew what pyproject.toml asks for (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --upgrade -q -o requirements.lock
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url -q -c requirements.lock -o requirements-dev.lock

clean:  ## remove .venv and caches; the data stay
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache dist
