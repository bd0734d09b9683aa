# make demo, make test: all that is needed is Python 3.11+, a C++ compiler and make.
# The first call of any target creates .venv and builds the package in it; later calls only
# rebuild what changed.

VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip -qq --disable-pip-version-check
READY  := $(VENV)/.ready
RACE   := $(VENV)/.ready-race
DIST   := $(VENV)/.ready-dist
GPU    := $(VENV)/.ready-gpu
DOCS   := $(VENV)/.ready-docs

CORE   := $(wildcard core/*.cpp core/*.hpp core/*.h core/*/*.cpp core/*/*.hpp core/*/*.h)
JOBS   ?= 2

# Workers and the processes that tests start would each compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

PYTEST   := $(BIN)/python -m pytest -q
PARALLEL := -n $(JOBS) --dist worksteal
PRESENT  := from widestreet import _core; print(_core.instruction_set())
OTHERS   := from widestreet import _core; \
           print(*("numeric-" + isa for isa in {*_core.instruction_sets()} - {_core.instruction_set()}))

SANITIZED := build/sanitized
CHECKED   := tests/unit/core tests/unit/engines/working_set/test_small.py \
             tests/unit/engines/sampling/test_multiset.py
,         := ,
# Configures a build: its folder, the sanitizers, further settings.
sanitized = $(BIN)/cmake -S . -B $(SANITIZED)/$(1) -G Ninja --log-level=WARNING \
    -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DPython_EXECUTABLE=$(abspath $(BIN))/python \
    -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) -DWIDESTREET_SANITIZE=$(2) $(3) >/dev/null

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test full done test-gpu faults lint house format sanitize fuzz race docs docs-links \
        dist clean distclean

help: ## this list
	@echo "widestreet"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(READY) ## train on a million rows, print the certificate, draw the decision boundary
	@$(BIN)/widestreet demo

# All tests on the best instruction set, or on the one that WIDESTREET_ISA names; then those that
# depend on the arithmetic on all others that the machine has, side by side.
test: lint $(SANITIZED)/short/passed ## lint, then all tests
	@isa=$$($(BIN)/python -c '$(PRESENT)') && echo "== pytest ($$isa)"
	@$(PYTEST) -m alone $$(grep -rl --include='test_*.py' 'mark\.alone' tests)
	@$(PYTEST) -m "not alone" $(PARALLEL)
	@$(MAKE) -s -j $(JOBS) done $$($(BIN)/python -c '$(OTHERS)')

full: $(READY) ## tests with all combinations of their parameters, on every instruction set
	@$(PYTEST) -m "not alone" --full $(PARALLEL)
	@$(MAKE) -s -j $(JOBS) PART=--full done $$($(BIN)/python -c '$(OTHERS)')

PART ?= --part 8
numeric-%:
	@mkdir -p build
	@WIDESTREET_ISA=$* $(PYTEST) -m numeric $(PART) >build/$@.log 2>&1 \
	    $$(grep -rl --include='test_*.py' 'mark\.numeric' tests); \
	status=$$?; echo "== pytest ($*)"; cat build/$@.log; exit $$status

done: ; # a goal for a machine that has no others

# Tests with Triton's programs are skipped by `make test` where PyTorch is not installed.
test-gpu: $(GPU) ## what runs on a device: on the GPU, or without one by Triton's interpreter
	@$(PYTEST) tests/unit/device tests/unit/rows/test_on_device.py \
	    tests/unit/kernels/test_on_device.py tests/unit/estimators/test_placing.py \
	    tests/properties/test_devices.py tests/properties/test_arrays_of_other_libraries.py \
	    tests/unit/engines/working_set/test_batch_on_device.py \
	    tests/unit/training/test_pairs_on_device.py

faults: $(READY) ## interrupts, kills, failing allocations and disks by the thousand: an hour
	@cd tests && $(abspath $(BIN))/python -m faults

lint: $(READY) ## style, types, layers, limits of the structure
	@echo "== ruff"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "run: make format"; exit 1; }
	@echo "== mypy"
	@$(BIN)/mypy --no-error-summary
	@echo "== import-linter"
	@$(BIN)/lint-imports --no-logo
	@echo "== structure"
	@$(BIN)/python tools/house.py --check
	@echo "== clang-format"
	@$(if $(CORE),$(BIN)/clang-format --dry-run -Werror $(CORE))

house: $(READY) ## tables of the structure: imports, sizes, classes, tests by name
	@$(BIN)/python tools/house.py

format: $(READY) ## let ruff and clang-format rewrite the sources
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format --quiet .
	@$(if $(CORE),$(BIN)/clang-format -i $(CORE))

# The core is built anew for each kind of sanitizer, in folders of their own.
sanitize: $(SANITIZED)/short/passed ## the core and its tests under sanitizers of memory and threads
	@echo "== threads"
	@$(call sanitized,thread,thread,)
	@$(BIN)/cmake --build $(SANITIZED)/thread --target core_driver
	@$(SANITIZED)/thread/core_driver threads
	@echo "== addresses and undefined behaviour"
	@$(call sanitized,address,address$(,)undefined,)
	@$(BIN)/cmake --build $(SANITIZED)/address --target core_driver _core
	@$(SANITIZED)/address/core_driver
	@$(BIN)/python tests/sanitized.py $(SANITIZED)/address $(CHECKED)

# A short run for `make test`: one instruction set, compiled without optimisation.
$(SANITIZED)/short/passed: $(READY) $(CORE) CMakeLists.txt
	@echo "== sanitizers (make sanitize does more)"
	@if echo 'int main() {}' | $(or $(CXX),c++) -x c++ -fsanitize=address,undefined -o /dev/null - 2>/dev/null; then \
	    $(call sanitized,short,address$(,)undefined,-DWIDESTREET_SANITIZE_LEVEL=0 -DWIDESTREET_PORTABLE=ON) && \
	    $(BIN)/cmake --build $(SANITIZED)/short --target core_driver >$(SANITIZED)/short/log && \
	    $(SANITIZED)/short/core_driver; \
	else echo "skipped: this compiler has no sanitizers"; mkdir -p $(@D); fi
	@touch $@

SECONDS ?= 600
SEED    ?= 0
fuzz: $(READY) ## random problems, malformed calls, damaged files; SECONDS=600 SEED=0, or CASE=problems/0/17
	@PYTHONPATH=tests $(BIN)/python -m fuzz \
	    $(if $(CASE),--case $(CASE),--seconds $(SECONDS) --seed $(SEED))

race: $(RACE) ## compare training times with other libraries: hours; widestreet race --quick: five minutes
	@$(BIN)/widestreet race --report docs/race.md

# Examples of the gallery are run with all processors; those of the pages are run by the tests.
SPHINX := $(BIN)/python -m sphinx -q -W --keep-going -n
docs: $(DOCS) ## the documentation site, in build/docs: warnings are errors, the gallery is run
	@$(SPHINX) -b html docs build/docs
	@$(BIN)/python tools/check_links.py build/docs
	@echo "build/docs/index.html"

docs-links: $(DOCS) ## follow all links of the site to other sites
	@$(SPHINX) -b linkcheck -D plot_gallery=0 docs build/links

dist: $(DIST) ## build the sdist and the wheels into dist/, check them with every Python at hand
	@$(BIN)/python .ci/dist.py $(PYTHONS)

clean: ## remove what was built, keep the virtual environment
	@rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@rm -rf docs/gallery docs/generated docs/sg_execution_times.rst
	@rm -f $(READY) $(RACE) $(DIST) $(GPU) $(DOCS) widestreet-demo.png
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## remove the virtual environment too
	@rm -rf $(VENV)

# -- the environment --------------------------------------------------------------------------

# The first of these that is 3.11 or later and can make virtual environments; or name one:
# make PYTHON=/opt/python3.13/bin/python3 test
PYTHONS = python3 python3.14 python3.13 python3.12 python3.11 python
FITS    = import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

$(BIN)/python:
	@python="$(PYTHON)"; \
	for p in $(if $(PYTHON),,$(PYTHONS)); do \
	    if $$p -c '$(FITS)' >/dev/null 2>&1; then python=$$p; break; fi; \
	done; \
	if ! $${python:-false} -c '$(FITS)' >/dev/null 2>&1; then \
	    echo "No Python 3.11+ with venv found; install one or say: make PYTHON=/path/to/python3"; \
	    exit 1; \
	fi; \
	echo "== $(VENV) from $$($$python --version)"; \
	$$python -m venv $(VENV)

# Build tools first, then an editable install without isolation: the build directory is kept, so
# a change in core/ recompiles one file. LIBSVM, which tests compare with, is built by setuptools.
BUILD_REQUIRES = import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); \
                 print(*p["build-system"]["requires"], "cmake", "ninja", "setuptools", "wheel", sep="\n")

$(READY): pyproject.toml CMakeLists.txt $(CORE) | $(BIN)/python
	@echo "== building widestreet (the first time takes a few minutes)"
	@$(BIN)/python -c '$(BUILD_REQUIRES)' > $(VENV)/build-requires.txt
	@$(PIP) install -r $(VENV)/build-requires.txt
	@$(PIP) install --no-build-isolation -e '.[dev,plot]'
	@touch $@

$(RACE): $(READY)
	@$(PIP) install --no-build-isolation -e '.[race]'
	@touch $@

$(GPU): $(READY)
	@$(PIP) install 'torch>=2.6' 'triton>=3.4'
	@touch $@

$(DOCS): $(READY)
	@$(PIP) install --no-build-isolation -e '.[docs]'
	@touch $@

$(DIST): | $(BIN)/python
	@$(PIP) install 'abi3audit>=0.0.20' 'build>=1.2' 'twine>=6'
	@touch $@
