# Everything a developer does begins here: `make` alone prints the list.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed
DASHBOARD := src/fairlead/dashboard/static/index.html
DASHBOARD_TOOLS := dashboard/node_modules/.installed
DASHBOARD_SOURCES = $(shell find dashboard/src dashboard/public -type f) $(addprefix dashboard/,index.html vite.config.ts tsconfig.json)
PACKAGES_LOCK := /run/lock/fairlead-packages
TORTURE_ROUNDS ?= 5
API_EXAMPLES ?= 200

FAIRLEAD_DATABASE_URL ?= sqlite:///tour.db
PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_DISABLE_PIP_VERSION_CHECK

.PHONY: help setup run test prepare lint format types imports docs screenshots bench torture clean dashboard try-dashboard

help:
	@echo "make setup    install everything into $(VENV) (instant when nothing changed)"
	@echo "make run      start the example application; it prints the link to its dashboard"
	@echo "make test     run all tests"
	@echo "make lint     check style and formatting; 'make format' repairs both"
	@echo "make types    check types"
	@echo "make imports  check that imports go one way"
	@echo "make docs     write the generated pages in docs/ again; 'make screenshots' its pictures"
	@echo "make dashboard  build the web page (needs Node.js; instant when nothing changed)"
	@echo "make bench    measure the workloads of benchmarks/README.md on a temporary SQLite file; STORE=URL names another"
	@echo "make torture  tests/torture, the fault tests $(TORTURE_ROUNDS) times (TORTURE_ROUNDS=n), the HTTP API thoroughly"
	@echo "make torture MINUTES=60  mixed faults at random for so long and a check of the history (SEED=s repeats a plan)"
	@echo "make clean    remove $(VENV), caches and example databases"

setup: $(STAMP)
	@:

# The stamp is written last, so a setup that was interrupted is done again.
$(STAMP): pyproject.toml constraints.txt
	@set -eu; \
	found=""; \
	for candidate in python3.13 python3.12 python3.11 python3; do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        found=$$(command -v "$$candidate"); break; \
	    fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "Fairlead needs Python 3.11 or newer, and none was found on PATH."; \
	    echo "Install one (Debian 12 or newer: apt-get install python3 python3-venv) and run make again."; \
	    exit 1; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        echo "Installing python3-venv, which $$found needs to make environments"; \
	        ( flock 9 && apt-get update -qq && \
	            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null ) 9>$(PACKAGES_LOCK); \
	    fi; \
	    if ! "$$found" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	        echo "$$found cannot make environments: its venv module is missing."; \
	        echo "On Debian or Ubuntu: sudo apt-get install python3-venv. Then run make again."; \
	        exit 1; \
	    fi; \
	fi; \
	if ! $(PYTHON) -m pip --version >/dev/null 2>&1; then \
	    echo "Making $(VENV) with $$found"; \
	    rm -rf $(VENV); \
	    "$$found" -m venv $(VENV); \
	fi; \
	echo "Installing Fairlead and its tools into $(VENV) (about a minute)"; \
	if ! $(PYTHON) -m pip install -qq --constraint constraints.txt --editable '.[dev]'; then \
	    echo "The installation failed; pip's message is above."; \
	    echo "Usual causes: no network, or a Python too new for a pinned version in constraints.txt."; \
	    exit 1; \
	fi; \
	touch $@; \
	echo "Ready."

run: export FAIRLEAD_DATABASE_URL := $(FAIRLEAD_DATABASE_URL)
run: setup try-dashboard
	@echo "Starting the tour (tour.db, unless FAIRLEAD_DATABASE_URL names another database); Ctrl-C stops it"
	@$(VENV)/bin/fairlead migrate >/dev/null
	@$(VENV)/bin/fairlead up examples.tour:app --start visitors

# The build is kept until its sources change; the tools are installed again when their list changes.
dashboard: $(DASHBOARD)
	@:

$(DASHBOARD): $(DASHBOARD_TOOLS) $(DASHBOARD_SOURCES)
	@echo "Building the dashboard"
	@cd dashboard && npm run --silent build
	@touch $@

$(DASHBOARD_TOOLS): dashboard/package.json dashboard/package-lock.json
	@command -v npm >/dev/null || { echo "The dashboard is built with Node.js 20.19 or newer and npm; install them."; exit 1; }
	@echo "Installing the dashboard's tools"
	@cd dashboard && npm ci --no-audit --no-fund --loglevel=error >/dev/null
	@touch $@

# Everything works without the web page, so where it cannot be built it is left out.
try-dashboard:
	@if command -v npm >/dev/null; then \
	    $(MAKE) --no-print-directory dashboard || echo "The dashboard could not be built; its page is left out."; \
	else echo "Node.js was not found, so the dashboard is left out; the HTTP API has all that it shows."; fi

test: setup prepare
	@scripts/run_tests.sh $(PYTHON)

# What the tests need beside Python.
prepare:
	@scripts/ensure_postgres.sh
	@scripts/ensure_node.sh
	@scripts/ensure_chromium.sh
	@$(MAKE) --no-print-directory try-dashboard

lint: setup
	@$(VENV)/bin/ruff check . || { echo "Style: 'make format' repairs what can be repaired."; exit 1; }
	@$(VENV)/bin/ruff format --check --quiet . || { echo "Formatting differs: run 'make format'."; exit 1; }

format: setup
	@$(VENV)/bin/ruff check --fix --quiet . || true
	@$(VENV)/bin/ruff format .

types: setup
	@$(VENV)/bin/mypy

imports: setup
	@$(VENV)/bin/lint-imports

docs: setup
	@$(PYTHON) scripts/generate_docs.py

screenshots: setup dashboard
	@scripts/ensure_chromium.sh
	@$(PYTHON) scripts/screenshots.py

bench: setup
	@$(PYTHON) -m benchmarks workloads $(if $(STORE),--store $(STORE))

# With MINUTES the campaign alone, without it everything else.
ifdef MINUTES
torture: setup
	@scripts/ensure_postgres.sh
	@$(PYTHON) -m tests.torture.campaign --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))
else
torture: setup
	@scripts/ensure_postgres.sh
	@$(PYTHON) -m pytest -q tests/torture
	@set -e; for round in $$(seq $(TORTURE_ROUNDS)); do \
	    echo "Round $$round of $(TORTURE_ROUNDS)"; \
	    $(PYTHON) -m pytest -q -m faults; \
	done
	@FAIRLEAD_API_EXAMPLES=$(API_EXAMPLES) FAIRLEAD_HOSTILE_BODIES=10000 \
	    $(PYTHON) -m pytest -q --timeout 3600 tests/api/test_schemathesis.py tests/api/test_hostile.py
endif

clean:
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@rm -rf dashboard/node_modules src/fairlead/dashboard/static
	@rm -f *.db *.db-wal *.db-shm customers.csv
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
	@echo "Clean."
