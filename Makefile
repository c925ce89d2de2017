# The front door. Every target sets up what it needs on a fresh Debian machine with Python >= 3.11 and stable
# Rust (a virtual environment in .venv, the extension by maturin) and does it again only when a source has changed.
.PHONY: help build nodes nodes-wheel sbom bpf reproduce reproduce-full paper-tables arena-tables set-tables nr-tables test bench bench-cluster bench-live demo-nodes call-agreement live-agreement live-tables validate test-kernel kernel-oracle kernel-spread kernel-papers bench-kernel readme-check conformance lint targets playground maybe-playground docs wheel wheel-check least newest mutants clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
SHELL := /bin/bash

VENV := .venv
PYTHON ?= python3
# PROFILE=release: as in a wheel. It takes several times as long to build, and runs a little faster, to the same bytes.
PROFILE ?= quick
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps

# One interpreter for every build of the extension, or cargo builds it anew for each.
export PYO3_PYTHON := $(abspath $(BIN)/python)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1

# uv, where it is installed, does the same as pip in a fraction of the time.
UV := $(shell command -v uv 2>/dev/null)
INSTALL := $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/pip install --quiet)

# The stamps of what depends on the profile name it.
NATIVE := $(STAMPS)/native-$(PROFILE)
NODES := $(STAMPS)/nodes-$(PROFILE)
# Nodes are for Linux.
SYSTEM_NODES := $(if $(filter Linux,$(shell uname -s)),$(NODES))

RUST := Cargo.toml Cargo.lock $(shell find crates -type f -not -path '*/target/*' -not -path 'crates/web/*')

help:
	@echo "Times are those of two cores, once airlane is built."
	@echo "make reproduce       published numbers of five papers beside ours: the quick form; three minutes"
	@echo "make reproduce-full  the same with all runs and so narrower intervals; twenty minutes"
	@echo "make paper-tables    reproduce-full, and writes docs/results/experiments"
	@echo "make arena-tables    the whole arena; writes docs/results/arena.json; ten minutes"
	@echo "make set-tables      the arena's sets of sleep, carriers, paths, calls and the field; two hours"
	@echo "make nr-tables       the arena in situations of NR; writes docs/results/arena-nr.json"
	@echo "make test            cargo test and pytest"
	@echo "make readme-check    the examples that take long: what make reproduce prints"
	@echo "make bench           speed, beside ns-3 where it is installed; out/bench.json"
	@echo "make bench-cluster   a sweep on a Dask cluster that loses a worker and the client on the way"
	@echo "make bench-live      airlane live beside Mahimahi and Rattan, where evidence/peers has built them; out/bench-live.json"
	@echo "make demo-nodes      each node of 'airlane node' through a live cell, beside the simulator and the paper"
	@echo "make live-agreement  the kernel's TCP through airlane live beside ours in virtual time; an hour"
	@echo "make live-tables     docs/live-tables.md from the reports of these two"
	@echo "make call-agreement  libwebrtc through airlane call beside app = \"rtc\" in virtual time; ARGS='--fifo --write' writes docs/results/call-agreement.json; an hour"
	@echo "make test-kernel     tests with a guest kernel, which is built first if it is not in the cache"
	@echo "make bench-kernel    what a guest kernel costs, a row for each run"
	@echo "make kernel-oracle   measures the figures of the kernel to which airlane validate compares ours"
	@echo "make kernel-spread   rows of that comparison over several delays and seeds: ARGS='still/vegas --delays -1 0 1'"
	@echo "make kernel-papers   published numbers of two papers beside ours and a kernel: ARGS='mdcc/table4 --seeds 8'"
	@echo "make validate        airlane held against reference figures"
	@echo "make conformance     airlane node rnis against ETSI's OpenAPI and Robot suite, which AIRLANE_RNIS_REFERENCE names"
	@echo "make lint            formats, clippy, rustdoc, ruff, mypy, crate edges, tidiness, words of the texts"
	@echo "make targets         cargo check for macOS and Windows, where rustup has their targets"
	@echo "make playground      the simulator in a web page, out/playground; needs clang, Node and Rust's wasm target"
	@echo "make nodes           the program of airlane node, into $(BIN)"
	@echo "make nodes-wheel     a wheel of that program alone"
	@echo "make bpf             the congestion control of airlane node mdcc, which is committed compiled; needs clang"
	@echo "make docs            the manual as a site, out/docs/index.html"
	@echo "make wheel           a wheel for any Linux with Python >= 3.11, and a source distribution"
	@echo "make sbom            the software bill of materials of the wheel, dist/airlane.cdx.json (CycloneDX)"
	@echo "make wheel-check     installs that wheel as a machine without Rust would, and runs it"
	@echo "make least           tests with the least versions of other packages that we admit; needs the wheel"
	@echo "make newest          the same with the newest, and the newest Python that is here"
	@echo "make mutants         small faults in the code of statistics and verdicts: how many the tests find"
	@echo "make build           only the environment and the extension, as a quick build; PROFILE=release: as in a wheel"
	@echo "make clean           removes what was built and kept"

build: $(NATIVE)

nodes: $(NODES)

reproduce: build
	$(BIN)/airlane reproduce --quick $(ARGS)

reproduce-full: build
	$(BIN)/airlane reproduce $(ARGS)

# The manual takes its numbers from the files that these three write.
paper-tables: build
	$(BIN)/airlane reproduce --record docs/results/experiments $(ARGS)

nr-tables: build
	$(BIN)/airlane arena --set nr --record docs/results/arena-nr.json $(ARGS)

set-tables: build
	for set in sleep carriers paths rmcat field; do $(BIN)/airlane arena --set $$set --record docs/results/arena-$$set.json $(ARGS) || exit; done

arena-tables: build
	$(BIN)/airlane arena --record docs/results/arena.json $(ARGS)

test-kernel: build
	$(BIN)/airlane kernel build 6.12
	$(BIN)/pytest -q -p no:cacheprovider tests/test_kernel.py tests/test_packetdrill_kernel.py $(ARGS)

bench-kernel: build
	$(BIN)/airlane kernel build 6.12
	$(BIN)/python bench/kernel.py $(ARGS)

kernel-oracle: build
	$(BIN)/airlane kernel build 6.12
	$(BIN)/python -m airlane.validation.kernel $(ARGS)

# Whether a row of that comparison is outside of its band by chance.
kernel-spread: build
	$(BIN)/airlane kernel build 6.12
	$(BIN)/python evidence/kernel_spread.py $(ARGS)

# The papers that used the Linux stack, with one at both ends.
kernel-papers: build
	$(BIN)/airlane kernel build 6.12
	$(BIN)/python evidence/kernel_papers.py $(ARGS)

validate: build
	$(BIN)/airlane validate $(ARGS)

# Speed is that of a released build, which stays in the environment.
bench:
	$(MAKE) --no-print-directory build PROFILE=release
	$(BIN)/python bench/run.py $(ARGS)

bench-cluster: build $(STAMPS)/dev
	$(BIN)/python evidence/cluster.py $(ARGS)

bench-live: build
	$(BIN)/python evidence/live.py $(ARGS)

live-agreement: build
	$(BIN)/python evidence/agreement.py $(ARGS)
	$(BIN)/python evidence/agreement_packets.py

call-agreement: build $(STAMPS)/dev
	$(BIN)/python evidence/call_agreement.py $(ARGS)

# Writes the page from the reports of the two above.
live-tables: build
	$(BIN)/python evidence/live_tables.py $(ARGS)

demo-nodes: build nodes
	$(BIN)/python evidence/nodes/demo.py $(ARGS)

bpf:
	tools/bpf.sh

test: $(NATIVE) $(SYSTEM_NODES) $(STAMPS)/dev maybe-playground
	tools/test.sh

# Apart from `test`, for it takes as long as `reproduce`, whose runs it takes from out/cache where they are kept.
# With AIRLANE_BLESS=1 it writes what is printed into the pages.
readme-check: $(NATIVE) $(STAMPS)/dev
	AIRLANE_SLOW=1 $(BIN)/python -m pytest tests/test_docs.py -k "reproduce.md or channel.md"

# ETSI's files are in the folder that AIRLANE_RNIS_REFERENCE names.
conformance: $(NATIVE) $(NODES)
	@$(BIN)/python tools/requirements.py conformance | $(INSTALL) -r /dev/stdin
	$(BIN)/python tools/rnis_conformance.py $(ARGS)

lint: $(STAMPS)/dev
	tools/lint.sh

targets: $(STAMPS)/venv
	@$(BIN)/python -c 'import ziglang' 2>/dev/null || $(INSTALL) ziglang
	tools/targets.sh

# Zig as linker knows the symbols of every glibc: the wheel asks for no newer one than 2.17 (2012), which maturin
# checks in the finished file. macOS has its own linker.
WHEEL_FLAGS := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux2014)
WHEEL_PROFILE := release
WHEEL_TOOLS := maturin, ziglang
# HERE=yes: a wheel for this machine alone, from what `make build` has compiled, to check what is in it.
ifeq ($(HERE),yes)
  WHEEL_FLAGS := --compatibility linux
  WHEEL_PROFILE := $(PROFILE)
  WHEEL_TOOLS := maturin
endif
wheel: $(STAMPS)/venv maybe-playground
	@$(BIN)/python -c 'import $(WHEEL_TOOLS)' 2>/dev/null || $(INSTALL) 'maturin[zig]>=1.13,<2'
	rm -rf dist
	source $(BIN)/activate && maturin build --profile $(WHEEL_PROFILE) --quiet $(WHEEL_FLAGS) --out dist
	$(BIN)/maturin sdist --out dist
	@ls -l dist

# The crates and packages that the wheel contains and needs.
sbom: $(STAMPS)/venv
	@mkdir -p dist
	$(BIN)/python tools/sbom.py dist/airlane.cdx.json

# The program of `airlane node`, without the congestion control of `mdcc`: that needs libelf on the machine.
nodes-wheel: $(STAMPS)/venv
	@$(BIN)/python -c 'import $(WHEEL_TOOLS)' 2>/dev/null || $(INSTALL) 'maturin[zig]>=1.13,<2'
	rm -f dist/airlane_nodes-*
	source $(BIN)/activate && maturin build --manifest-path crates/nodes/Cargo.toml --profile $(WHEEL_PROFILE) --quiet $(WHEEL_FLAGS) --out dist
	@ls -l dist/airlane_nodes-*

# What is missing is named. The manual, the wheel and the tests go on without it, and say so.
PAGE := out/playground/playground.html
playground: $(PAGE)

$(PAGE): $(RUST) $(shell find crates/web playground python/airlane/assets scenarios tools/playground.sh -type f -not -path '*/node_modules/*')
	tools/playground.sh

maybe-playground:
	@if tools/playground.sh --check; then $(MAKE) --no-print-directory playground; else echo "skipped: the playground"; fi

# The pages are made without the network and need none to be read: fonts, search and the crates' pages are inside.
docs: $(NATIVE) $(STAMPS)/docs maybe-playground
	tools/docs.sh

wheel-check: wheel
	tools/check_wheel.sh $(if $(filter yes,$(HERE)),--here) $(ARGS)

# Both take the wheel that is there: it is for any Python >= 3.11.
least: $(if $(wildcard dist/airlane-*.whl),,wheel)
	tools/check_versions.sh least

newest: $(if $(wildcard dist/airlane-*.whl),,wheel)
	tools/check_versions.sh newest

mutants: $(NATIVE) $(STAMPS)/dev
	tools/mutants.sh $(ARGS)

clean:
	rm -rf target out dist $(VENV) python/airlane/_native*.so python/airlane/scenarios python/airlane/playground.html playground/node_modules

# Says what is missing before pip or cargo say it in their own words.
$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Python >= 3.11 is needed ($(PYTHON) is not it): apt-get install python3, or make PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is needed: apt-get install python3-venv"; exit 1; }
	@command -v cc >/dev/null || { echo "A C compiler (as linker for Rust) is needed: apt-get install gcc libc6-dev"; exit 1; }
	@command -v cargo >/dev/null || { echo "Stable Rust is needed: https://rustup.rs"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# The congestion control of `airlane node mdcc` needs libelf. Without its headers everything else is built.
BPF := $(shell printf '\043include <libelf.h>\n\043include <zlib.h>\n' | $${CC:-cc} -E - >/dev/null 2>&1 && echo --features bpf)
LIBELF := $(STAMPS)/libelf-$(if $(BPF),found,missing)
$(LIBELF): $(STAMPS)/venv
	@rm -f $(STAMPS)/libelf-* && touch $@

$(NATIVE): $(STAMPS)/venv pyproject.toml $(filter-out crates/nodes/%,$(RUST))
	@$(BIN)/python -c 'import maturin' 2>/dev/null || $(INSTALL) 'maturin>=1.13,<2'
	source $(BIN)/activate && maturin develop --profile $(PROFILE) --quiet --extras report,tables $(if $(UV),--uv)
	@rm -f $(STAMPS)/native-* && touch $@

$(NODES): $(STAMPS)/venv $(LIBELF) crates/nodes/pyproject.toml $(RUST)
	@$(BIN)/python -c 'import maturin' 2>/dev/null || $(INSTALL) 'maturin>=1.13,<2'
	source $(BIN)/activate && maturin develop --manifest-path crates/nodes/Cargo.toml --profile $(PROFILE) --quiet $(if $(UV),--uv) $(BPF)
	@rm -f $(STAMPS)/nodes-* && touch $@

$(STAMPS)/dev: $(STAMPS)/venv pyproject.toml
	$(BIN)/python tools/requirements.py report dev | $(INSTALL) -r /dev/stdin
	@touch $@

$(STAMPS)/docs: $(STAMPS)/venv pyproject.toml
	$(BIN)/python tools/requirements.py report gym docs | $(INSTALL) -r /dev/stdin
	@touch $@
