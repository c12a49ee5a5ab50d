# `make help` lists the verbs. All that is needed is git, make and Python 3.11 or later.

VENV ?= .venv
BIN := $(VENV)/bin
DEMO_DATA ?= demo-data

# Arguments for pytest, such as PYTEST_ARGS="-m 'not slow' -k window". Tests that share something
# costly, such as a Spark session, stay in one process (TOGETHER in tests/conftest.py).
PYTEST_ARGS ?= -n 2 -m 'not long'

PEERS := chdb deephaven flink pathway

SOURCES := cqlduck rewrite state sql tests benchmarks

.DEFAULT_GOAL := help
.PHONY: help demo test thorough check golden bench bench-smoke peers long interpreted fuzz mutants lock clean

help:  ## list the verbs
	@sed -n -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(VENV)/installed  ## run the demo; its database and drop zone are under ./demo-data
	@$(BIN)/cqlduck demo --data $(DEMO_DATA) $(DEMO_ARGS)

test: check  ## lint, format and types first, then the tests; of costly ones some cases
	BRIEF=true $(BIN)/pytest $(PYTEST_ARGS)

thorough: $(VENV)/installed  ## all tests with all of their cases: hours; PART=2/8 for the second eighth
	PART=$(PART) $(BIN)/pytest $(PYTEST_ARGS)

# Mypy and import-linter follow paths and not import hooks, so they would miss the rooms beside
# cqlduck/. They look at a copy in the shape that is installed. A build/ that was left is packed
# again, deleted modules too: it goes first.
check: $(VENV)/installed  ## formatting, lint, types, and which room imports which
	$(BIN)/ruff format --check $(wildcard $(SOURCES))
	$(BIN)/ruff check $(wildcard $(SOURCES))
	@rm -rf build
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
	    --no-build-isolation --target build/installed .
	cd build/installed && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml \
	    --cache-dir $(CURDIR)/.mypy_cache -p cqlduck
	cd build/installed && PYTHONPATH=. $(CURDIR)/$(BIN)/lint-imports \
	    --config $(CURDIR)/pyproject.toml --no-cache --no-logo

golden: $(VENV)/installed  ## write the golden files and the SQL of the laws anew; then read the diff
	$(BIN)/pytest --update-golden --update-laws tests/test_golden.py tests/test_laws.py -k "written"

bench: $(VENV)/installed  ## the benchmarks
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

bench-smoke: $(VENV)/installed  ## the benchmarks on little data: are all results right?
	$(BIN)/python benchmarks/run.py --smoke

# Flink's requirements exclude cqlduck's, so each has an environment of its own.
peers: $(PEERS:%=.peers/%/installed)  ## other engines for the benchmarks, under ./.peers

long: $(VENV)/installed  ## 20,000 random cases of each generator, and kills; CASES, SEED, GENERATORS, KILLS choose
	CASES=$(or $(CASES),20000) $(BIN)/pytest -n 2 -o faulthandler_timeout=0 -m long -v tests/test_many_cases.py \
	    $(if $(GENERATORS),,tests/test_killed_sharing.py)

interpreted: $(VENV)/installed  ## the parser's tests under sqlglot as it is without sqlglot[c]
	$(BIN)/pytest -o faulthandler_timeout=0 -m long -rs tests/test_interpreted.py

fuzz: $(VENV)/installed  ## a hundred thousand mangled statements, and odd data; FUZZ=5000 for fewer
	FUZZ=$(or $(FUZZ),100000) $(BIN)/pytest -n 2 -o faulthandler_timeout=0 -m long tests/test_fuzz.py tests/test_append_fuzz.py \
	    tests/test_connect_fuzz.py tests/test_damaged_file.py tests/test_damaged_drop_zone.py \
	    tests/test_full_disk.py

mutants: $(VENV)/installed  ## break each delta rule, and see that the tests notice
	$(BIN)/python tests/mutants.py

# Hashes come from the public index alone: a mirror may hold files of its own. "cqlduck" is left out
# because an extra that names another extra would put this folder's path into the file.
lock: $(VENV)/installed  ## resolve requirements.lock anew from pyproject.toml
	PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS= $(BIN)/pip-compile --quiet --upgrade \
	    --generate-hashes --all-extras --all-build-deps --strip-extras --unsafe-package cqlduck \
	    --no-emit-options --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	    --no-header --no-annotate --output-file requirements.lock pyproject.toml
	@{ echo "# Written by make lock; for Python 3.11, all extras."; sed -e '/^#/d' -e '/^$$/d' \
	    requirements.lock; } > requirements.new && mv requirements.new requirements.lock

clean:  ## remove what the other verbs made
	rm -rf $(VENV) .peers build dist *.egg-info $(DEMO_DATA) .mypy_cache .ruff_cache .pytest_cache \
	    .import_linter_cache .hypothesis .coverage spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment ---------------------------------------------------------------------------

# The lock was made with 3.11, so that comes first. A command may be there and not work: each is run.
FIT := import sys; assert sys.version_info >= (3, 11)
first_that_runs = $(shell for p in python3.11 python3 python3.12 python3.13 python3.14; do \
    $$p -c '$(1)' >/dev/null 2>&1 && echo $$p && break; done)
PYTHON = $(or $(call first_that_runs,$(FIT); import venv$(comma) ensurepip),$(error $(MISSING)))
MISSING = $(if $(call first_that_runs,$(FIT)),$(NO_VENV),$(NO_PYTHON))
NO_VENV := Python has no venv here; install it, for example: apt install python3-venv
NO_PYTHON := Python 3.11 or later is needed; install it, for example: apt install python3 python3-venv
comma := ,

# Installs $(1) while dots show that something is happening; they end when the shell does.
define install
(while kill -0 $$$$ 2>/dev/null; do printf .; sleep 2; done) & dots=$$!; \
trap 'kill $$dots 2>/dev/null' EXIT; trap 'exit 130' INT TERM; \
pip="$(BIN)/python -m pip install --disable-pip-version-check --no-deps"; \
{ $(1); } > $(VENV)/install.log 2>&1 \
|| { echo; tail -n 20 $(VENV)/install.log; echo "More in $(VENV)/install.log."; exit 1; }; \
echo " done."
endef

# Pip and setuptools first, so that what has to be built is built by the versions in the lock. What
# makes sqlglot faster is not built: it would need a compiler, and minutes.
$(VENV)/locked: requirements.lock
	@echo "Making $(VENV) with $$($(PYTHON) --version); this can take some minutes."
	@rm -rf $(VENV) && $(PYTHON) -m venv $(VENV)
	@sed -n -E '/^(pip|setuptools)==/,/[^\\]$$/p' requirements.lock > $(VENV)/first.lock
	@sed -n -E '/^sqlglotc==/,/[^\\]$$/p' requirements.lock > $(VENV)/compiled.lock
	@sed -E '/^sqlglotc==/,/[^\\]$$/d' requirements.lock > $(VENV)/rest.lock
	@$(call install,$$pip --require-hashes -r $(VENV)/first.lock && \
	    $$pip --require-hashes --no-build-isolation -r $(VENV)/rest.lock && \
	    { $$pip --require-hashes --only-binary :all: -r $(VENV)/compiled.lock || true; })
	@touch $@

$(VENV)/installed: $(VENV)/locked pyproject.toml
	@echo "Installing cqlduck into $(VENV)."
	@$(call install,$$pip --no-index --no-build-isolation -e .)
	@touch $@

.peers/%/installed: benchmarks/peers/requirements-%.txt
	@echo "Making .peers/$*."
	@rm -rf .peers/$* && $(PYTHON) -m venv .peers/$*
	@.peers/$*/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@
