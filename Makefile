# Everything a newcomer or the CI needs. Only git, make and Python 3.11 or newer with its venv module are presumed.
#   make demo PYTHON=python3.12     picks another interpreter
#   make test PYTEST_ARGS="-k help" passes arguments to pytest
PYTHON ?=
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
PYTEST_ARGS ?=
HELPERS := tests:tests/helpers:tests/helpers/plain:tests/helpers/expected:tests/helpers/makers:tests/helpers/hostile
CORPUS ?=
EXAMPLES ?=
BENCH_ARGS ?=
MINUTES ?=
BOMBS ?=
SOAK_ARGS ?=

# The tests start the program some thousand times: where its modules may not be kept compiled, each start compiles them.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo run test quick test-long lint types check format docs snapshots screenshots page bench queries soak gateway-soak bombs ccusage differential writers memory-writers kills test-agents test-gateway build clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do \
		printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: $(STAMP)  ## set everything up and run the program on demo data
	$(BIN)/hermes-tui demo

run: $(STAMP)  ## run the program on this machine's own sessions
	$(BIN)/hermes-tui

test: $(STAMP)  ## set everything up and run all tests
	$(BIN)/python -m pytest -q -n auto --dist worksteal $(PYTEST_ARGS)

quick: $(STAMP)  ## the quick tests: what to run before a commit
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not long" $(PYTEST_ARGS)

test-long: $(STAMP)  ## all tests, with 25 times as many random examples (EXAMPLES=10) of a new seed (HERMES_TUI_SEED=N: of that one)
	HERMES_TUI_SEED=$${HERMES_TUI_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')} HERMES_TUI_EXAMPLES=$(or $(EXAMPLES),10) \
		$(BIN)/python -m pytest -q -n auto --dist worksteal --timeout 7200 $(PYTEST_ARGS)

lint: $(STAMP)  ## formatting, lint rules and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(STAMP)  ## static types, strict
	$(BIN)/mypy

check: lint types test  ## everything that must hold before a commit

format: $(STAMP)  ## format the code, and mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)  ## the tables of docs/ anew: keys, commands, options, settings
	$(BIN)/python docs/make_docs.py

snapshots: $(STAMP)  ## the pictures that tests/snapshots compares with, anew: look at what changed
	$(BIN)/python -m pytest -q -n 0 tests/snapshots --snapshot-update

screenshots: $(STAMP)  ## make screenshots/*.svg anew from the static demo
	PYTHONPATH=$(HELPERS) $(BIN)/python tests/screen_pictures.py screenshots

page: $(STAMP)  ## screenshots/export.png anew: an HTML export in a browser without a window (chromium-headless-shell)
	PYTHONPATH=$(HELPERS) $(BIN)/python tests/page_picture.py screenshots/export.png

bench: $(STAMP)  ## measure speed and memory (CORPUS=DIR keeps the generated sessions there)
	PYTHONPATH=$(HELPERS) $(BIN)/python -m benchmarks $(if $(CORPUS),--corpus $(CORPUS)) $(BENCH_ARGS)

queries: $(STAMP)  ## type ten thousand random and hostile queries, on the corpus and on a store that is read beside
	PYTHONPATH=$(HELPERS) $(BIN)/python -m benchmarks $(if $(CORPUS),--corpus $(CORPUS)) --only queries
	HERMES_TUI_EXAMPLES=400 $(BIN)/python -m pytest -q -n 0 tests/sessions/search/incremental/test_search_live.py -k whatever_is_typed

soak: $(STAMP)  ## run the program beside ten agents that write, with random keys, and count its memory (MINUTES=60)
	PYTHONPATH=$(HELPERS) $(BIN)/python -m benchmarks.soak $(if $(MINUTES),--minutes $(MINUTES)) $(SOAK_ARGS)

gateway-soak: $(STAMP)  ## 100,000 messages through a gateway of ours that is killed again and again (SOAK_ARGS="--messages 2000")
	PYTHONPATH=$(HELPERS) $(BIN)/python -m benchmarks.gateway_soak $(SOAK_ARGS)

bombs: $(STAMP)  ## run every command on hostile stores of every agent, and print what each took (BOMBS=hermes,zstd)
	PYTHONPATH=$(HELPERS) $(BIN)/python -m benchmarks.bombs $(if $(BOMBS),--only $(BOMBS))

ccusage: $(STAMP)  ## what ccusage says of the sample stores, for the tests of costs (needs npm)
	PYTHONPATH=$(HELPERS) $(BIN)/python tests/record_ccusage.py
	$(BIN)/python -m pytest -q tests/sessions/cost/test_cost_compared.py

differential: $(STAMP)  ## compare the store of lanes with the real Hermes at length (EXAMPLES=2000)
	PYTHONPATH=$(HELPERS) $(BIN)/python tests/lifecycle/differential.py $(or $(EXAMPLES),1000)

writers: $(STAMP)  ## eight processes on one session store for minutes, then many random steps beside the real Hermes
	HERMES_TUI_EXAMPLES=25 $(BIN)/python -m pytest -q --timeout 7200 \
		tests/lifecycle/state_db/test_state_writers.py tests/lifecycle/state_db/test_state_oracle.py tests/lifecycle/state_db/test_state_search.py

memory-writers: $(STAMP)  ## sixteen threads write to Hector's memory, on each engine for ten minutes (MINUTES=1)
	HERMES_TUI_MINUTES=$(or $(MINUTES),10) $(BIN)/python -m pytest -q -s -n 0 --timeout 7200 \
		tests/memory/test_memory_service.py -k sixteen_writers

kills: $(STAMP)  ## kill the indexer some fifty times at random moments
	HERMES_TUI_EXAMPLES=12 $(BIN)/python -m pytest -q tests/sessions/index/test_indexer_process.py -k killed

test-agents: $(STAMP)  ## the agents' real programs (from npm) in tmux, and what is said of them; HERMES_TUI_RECORD=DIR keeps what they leave behind
	PYTHONPATH=$(HELPERS) $(BIN)/python -m pytest -q -n 0 -s tests/agents/real_agents.py tests/agents/real_mcp.py $(PYTEST_ARGS)

test-gateway: $(STAMP)  ## take fifty random sequences of steps on the real gateway (EXAMPLES=50)
	HERMES_TUI_EXAMPLES=$$(($(or $(EXAMPLES),50) / 2)) $(BIN)/python -m pytest -q -n auto --timeout 1800 \
		tests/lifecycle/gateway/test_real_gateway_random.py

build: $(STAMP)  ## wheel and source archive in dist/
	$(BIN)/python -m build

clean:  ## remove what was built and set up
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# The stamp is newer than pyproject.toml when the environment has what it asks for.
$(STAMP): pyproject.toml
	@set -eu; \
	fits() { command -v "$$1" >/dev/null 2>&1 && "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	python=""; \
	for name in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
		if fits "$$name"; then python="$$name"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "Python 3.11 or newer is needed and was not found as: $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11)." >&2; \
		echo "Install it, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; \
	fi; \
	if ! "$$python" -c 'import venv, ensurepip' 2>/dev/null; then \
		echo "$$python lacks the venv module; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; \
	fi; \
	[ -x $(BIN)/python ] || "$$python" -m venv $(VENV)
	@echo "setting up $(VENV) (once; a minute or two) …" >&2
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
