# Two commands for a newcomer: `make demo` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3.11)
BIN := .venv/bin
SETUP := .venv/set-up
JARS := .venv/jars
export PYTHONPATH := $(CURDIR)
export GX_ANALYTICS_ENABLED := false

.PHONY: demo test runs prove bench lint format docs zip wheel clean

demo: java $(SETUP)  ## the main job on the logs in data/
	@$(BIN)/kafka-rewind nightly data/zk-2.4.1/logs --warehouse demo-warehouse

test: java $(JARS)  ## the suite, but whole runs over clusters
	@$(BIN)/python -m pytest -m "not runs" --numprocesses 2 --dist loadgroup

runs: java $(JARS)  ## the rest of it: whole runs over clusters, what reads their tables, several nights of one step
	@$(BIN)/python -m pytest -m runs

prove: java $(SETUP)  ## longer proofs on all captures in ../shared; prints its figures
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,prove]'
	@failed=""; mkdir -p build; $(BIN)/pip freeze --exclude-editable > build/installed.txt; $(BIN)/python -m pip_audit -r build/installed.txt --no-deps --disable-pip --strict --progress-spinner off || failed=" pip-audit"; for proof in tests/proofs/prove_*.py; do echo "== $$proof"; $(BIN)/python $$proof || failed="$$failed $$proof"; done; \
	if [ -n "$$failed" ]; then echo "not proven:$$failed"; exit 1; fi

bench: java $(SETUP)  ## parsing against the text-scan and transport floors, timelines against repartition and sort, merge against heapq and grep; SIZE_MB=200 ROWS=300000
	@$(BIN)/python tests/benchmarks/parse.py --size-mb $(or $(SIZE_MB),200)
	@$(BIN)/python tests/benchmarks/timelines.py --rows $(or $(ROWS),300000)
	@$(BIN)/python tests/benchmarks/merge.py --size-mb $(or $(SIZE_MB),200)

lint: $(SETUP)  ## formatter, linter and strict types over everything
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: $(SETUP)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: $(SETUP)  ## docs/tables.md from schemas
	@mkdir -p build; $(BIN)/python -m schemas.document > build/tables.md && mv build/tables.md docs/tables.md

wheel: $(SETUP)  ## build/kafka_rewind-VERSION-py3-none-any.whl; the same sources give the same bytes
	@$(BIN)/python -m jobs.package build

zip: $(SETUP)  ## the packages as spark-submit's --py-files wants them
	@$(BIN)/python -m jobs.package build/kafka-rewind.zip

clean:
	rm -rf .venv build demo-warehouse *.egg-info

$(JARS): $(SETUP)  # one JVM fetches Delta's jars: two at once would write to one cache
	@$(BIN)/python tests/start_spark.py
	@touch $(JARS)

.PHONY: java
java:
	@java=$${JAVA_HOME:+$$JAVA_HOME/bin/}java; \
	release=$$($$java -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1); \
	if [ -z "$$release" ] || [ "$$release" -lt 17 ]; then \
	  echo "Kafka Rewind needs Java 17 or later to run Spark; install a JDK or JRE 17 and set JAVA_HOME to it." >&2; exit 4; fi

$(SETUP): setup.cfg pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Kafka Rewind needs Python 3.11; install it, or name it: make PYTHON=/path/to/python3.11" >&2; exit 4; }
	@echo "setting up .venv (some minutes the first time: Spark is large) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $(SETUP)
