# make dashboard: set up and serve the pages · make test: set up and run every test · make bench, make bench-web, make bench-crowd
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8866

.PHONY: dashboard test lint data thumbnails bench bench-web bench-crowd lab clean

dashboard: $(VENV)/pages
	$(BIN)/npcmem dashboard --port $(PORT) --open

lab: $(VENV)/pages
	$(BIN)/jupyter lab notebooks

test: $(VENV)/test
	$(BIN)/ruff check .
	-$(BIN)/python tests/chromium.py
	$(BIN)/pytest -m 'not browser' -rs --nbmake -n logical --maxprocesses 4 tests notebooks
	$(BIN)/pytest -m browser -rs tests

lint: $(VENV)/test
	$(BIN)/ruff check .

data: $(VENV)/test
	$(BIN)/npcmem data data/articles

thumbnails: $(VENV)/test
	$(BIN)/python tests/thumbnails.py

bench: $(VENV)/test
	-$(BIN)/python -m pip install --quiet libcachesim
	$(BIN)/pytest -m '' tests/benchmarks/numbers_bench.py --benchmark-only

bench-web: $(VENV)/test
	-$(BIN)/python tests/chromium.py
	$(BIN)/python tests/benchmarks/web.py

bench-crowd: $(VENV)/test
	$(BIN)/python tests/benchmarks/crowd.py

clean:
	rm -rf $(VENV) build dist

$(VENV)/python: 
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "npcmem needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/pages: $(VENV)/python pyproject.toml
	@echo "Setting up the pages (about a minute) ..."
	$(BIN)/python -m pip install --quiet --editable '.[pages]'
	@touch $@

$(VENV)/test: $(VENV)/python pyproject.toml
	@echo "Setting up the tests (about a minute) ..."
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@
