# Haltere. `make` lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
export CARGO_TARGET_DIR ?= $(CURDIR)/target
BIN := $(VENV)/bin
# Cargo and pip may ask at a terminal or colour a log; neither helps here.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1

# rustup looks for its toolchain under $HOME; where that is another directory, it is in the account's own home.
ifneq ($(shell cargo --version >/dev/null 2>&1 && echo there),there)
ACCOUNT_HOME := $(shell getent passwd "$$(id -u)" 2>/dev/null | cut -d: -f6)
ifneq ($(wildcard $(ACCOUNT_HOME)/.rustup),)
export RUSTUP_HOME := $(ACCOUNT_HOME)/.rustup
export PATH := $(ACCOUNT_HOME)/.cargo/bin:$(PATH)
endif
endif

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml 2>/dev/null)

.PHONY: help setup test-extra tuned run test test-all test-crate test-rust test-python lint lint-words format bench bench-all bench-ns3 bench-check bench-controls docs gallery pages clean need-cargo need-python

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{ printf "  make %-14s %s\n", $$1, $$2 }'

need-cargo:
	@cargo --version >/dev/null 2>&1 || { echo "cargo is missing (Rust 1.90 or newer): install it from https://rustup.rs, or on Debian: apt-get install rustup && rustup default stable" >&2; exit 2; }

need-python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "python3 3.11 or newer is missing: on Debian: apt-get install python3 python3-venv; elsewhere https://www.python.org/downloads, or make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "python3's venv is missing: on Debian: apt-get install python3-venv" >&2; exit 2; }

$(VENV)/bin/maturin: | need-python
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'maturin>=1.9,<2'

# The package, editable, with what runs need, and its extension compiled in release.
$(VENV)/.built: pyproject.toml $(RUST_SOURCES) | need-cargo $(VENV)/bin/maturin
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --extras report,pandas --quiet
	touch $@

# What an extra of pyproject.toml asks for, beside the package.
$(VENV)/.extra-%: pyproject.toml | $(VENV)/.built
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$*"], sep="\n")' \
	  | $(BIN)/python -m pip install --quiet -r /dev/stdin
	touch $@
test-extra: setup $(VENV)/.extra-test

setup: need-cargo need-python $(VENV)/.built ## Make .venv and build the package into it, with what runs need
	@echo "ready: $(BIN)/haltere --help"

tuned: setup ## Build the package for speed: it learns from runs, about a tenth less CPU time (10 minutes, needs llvm-profdata)
	$(BIN)/python benches/tuned.py

run: setup ## The aqm-lab study, quick: tables here, figures where it says
	$(BIN)/haltere reproduce aqm-lab --quick --out results/aqm-lab-quick

test: test-rust test-python ## Every test that guards behaviour (10 minutes on two cores from a built tree)

test-all: test-rust test-extra ## The slow ones too: recipes that compile, Chromium, a crate outside, lowest versions, mutants of changed lines
	$(BIN)/python -m pytest -q -n $(or $(JOBS),2) --dist loadfile
	$(MAKE) test-crate lowest mutants

test-rust: need-cargo
	cargo test --workspace --quiet

test-python: test-extra
	$(BIN)/python -m pytest -q -n $(or $(JOBS),2) --dist loadfile -m 'not slow'

# What codespell reads: documents and code, not measurements.
SPELLED := README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md Makefile bpf crates docs papers python tests tools validation \
  $(wildcard benches/*.py benches/*.md fuzz/*.toml fuzz/fuzz_targets/*.rs)

test-crate: test-extra ## A crate outside the tree builds its own extension, as a user's would (2 to 3 minutes)
	rm -rf $(CARGO_TARGET_DIR)/my-crate
	$(BIN)/haltere new control --lang rust-crate $(CARGO_TARGET_DIR)/my-crate
	$(MAKE) -C $(CARGO_TARGET_DIR)/my-crate PYTHON=$(abspath $(BIN)/python) CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/crate test
	$(BIN)/python tools/release/try_crate.py $(CARGO_TARGET_DIR)/my-crate

lint: lint-words ## rustfmt, clippy, ruff, mypy, words, spelling, links
	cargo fmt --all --check
	@# Modules that a registry's macro declares are not found by cargo fmt.
	rustfmt --edition 2024 --check $$(git ls-files 'crates/*.rs')
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check python tests/python tools papers
	$(BIN)/ruff format --check python tests/python tools papers
	$(BIN)/mypy

lint-words: setup $(VENV)/.extra-lint ## Documents and doc comments alone: words to avoid, spelling, links
	$(BIN)/python tools/lint/words.py
	$(BIN)/python tools/lint/words.py --code
	$(BIN)/python tools/lint/links.py
	$(BIN)/codespell $(SPELLED)

format: setup $(VENV)/.extra-lint ## Format everything
	cargo fmt --all
	rustfmt --edition 2024 $$(git ls-files 'crates/*.rs')
	$(BIN)/ruff check --fix --quiet python tests/python tools papers
	$(BIN)/ruff format --quiet python tests/python tools papers

bench: setup ## Haltere beside ns-3 and a bare loop: results, docs/performance.md and its figure
	$(BIN)/python benches/bench.py

bench-all: setup ## The same with the long cases (a million flows)
	$(BIN)/python benches/bench.py --all

bench-ns3: ## ns-3 for `make bench`: Debian's source, optimised (once)
	benches/ns3/get.sh "$$CARGO_TARGET_DIR/ns3"

bench-check: need-cargo ## Instructions of a packet in five networks beside the committed counts; fails beyond 1 %
	$(PYTHON) benches/instructions.py

bench-controls: setup ## CPU time of a packet by congestion control and size
	cargo build --release --quiet -p haltere-sim --example dumbbell
	@echo "CUBIC over 3 + 3 links, drop tail of 1 BDP, RTT 10 ms +- 30 %: CPU time of a pair (a data packet over the bottleneck and its acknowledgement), memory of a flow"
	@for size in '16 1Gbit 10ms 30% 5' '256 10Gbit 10ms 30% 1' '4096 10Gbit 10ms 30% 1'; do \
	  echo "$$size"; "$$CARGO_TARGET_DIR/release/examples/dumbbell" $$size | grep -E 'CPU of a pair|memory of a flow|peak event'; done
	@echo "CPU time of a pair by control: 16 flows, 1 Gbit/s, 10 ms +- 30 %, 5 s"
	@for control in $$($(BIN)/haltere list congestion | awk 'NR > 1 { print $$1 }'); do \
	  "$$CARGO_TARGET_DIR/release/examples/dumbbell" 16 1Gbit 10ms 30% 5 $$control | grep 'CPU of a pair' | sed "s/  CPU of a pair/  $$control\t/"; done
	@echo "The same: 16 DCTCP senders, 100 Gbit/s, 100 us, 0.1 s, marked at one threshold, with hysteresis, with returned copies"
	@for more in '' ', "lower_fraction": 0.15' ', "return_to_sender": true'; do \
	  "$$CARGO_TARGET_DIR/release/examples/dumbbell" 16 100Gbit 100us 0% 0.1 dctcp '{ "kind": "threshold"'"$$more"' }' | grep 'CPU of a pair' | sed "s/$$/\t$$more/"; done

docs: setup ## Write docs/reference from the schema
	$(BIN)/python tools/reference.py docs/reference

gallery: test-extra ## Run the experiments of `haltere new`, and write docs/gallery.md with their figures
	$(BIN)/python tools/gallery.py

pages: setup ## Run the commands whose output the documents print, and write it into them (half a minute)
	$(BIN)/python tools/pages.py

include tools/reliability/targets.mk
include tools/release/targets.mk

clean: ## Remove what was built (results stay)
	rm -rf $(VENV) target
