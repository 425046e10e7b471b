# Everything one does with Towtank, each target doing its own set-up. `make` alone lists them.

# The day whose nightly compiler `make fuzz`, and nothing else, is run with.
NIGHTLY := 2026-05-19
CARGO_DENY := 0.20.2
CARGO_FUZZ := 0.13.2
CARGO_MUTANTS := 27.1.0
FUZZ_SECONDS ?= 60
# How long `make soak` draws scenarios of each study, and from which seed on.
SECONDS := 600
SEED := 1

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The two-core machine this must suit gains nothing from two cargo runs at once: they share a lock.
.NOTPARALLEL:
.PHONY: help build wheel static container demo test lint bench fuzz soak nightly mutants clean
.PHONY: test-python setup-build setup-test setup-node format house clippy test-rust wasm web web-lint deny

STARTED := $(shell date +%s)
MUSL := x86_64-unknown-linux-musl
TARGET := $(or $(CARGO_TARGET_DIR),target)
TOWTANK := $(TARGET)/release/towtank
EXAMPLE := docs/examples/cluster
DENY := .tools/cargo-deny-$(CARGO_DENY)/bin/cargo-deny
FUZZ := .tools/cargo-fuzz-$(CARGO_FUZZ)/bin/cargo-fuzz
MUTANTS := .tools/cargo-mutants-$(CARGO_MUTANTS)/bin/cargo-mutants
ADVISORIES := https://github.com/rustsec/advisory-db

# A comma cannot be written inside an argument of $(call).
, := ,
heading = @printf '\n\033[1m== %s\033[0m\n' '$(1)'
ifneq ($(NO_COLOR)$(shell test -t 1 || echo off),)
heading = @printf '\n== %s\n' '$(1)'
endif

help: ## list the targets
	@echo 'Towtank: what-if answers for distributed storage.'
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

build: setup-build ## build target/release/towtank
	cargo build --release --locked -p towtank-cli
	@echo '$(TOWTANK)'

wheel: setup-build ## build dist/towtank-….whl: the Python package and the command
	rm -rf dist
	@scripts/python.sh wheel dist --release
	@ls -l dist

static: setup-build ## build dist/towtank-static, which needs no libraries of the machine
	@scripts/setup.sh target $(MUSL)
	cargo build --release --locked --target $(MUSL) -p towtank-cli
	@mkdir -p dist
	strip -o dist/towtank-static $(TARGET)/$(MUSL)/release/towtank
	@ls -l dist/towtank-static

container: static ## build the container image `towtank` of that binary, with podman or docker
	@engine=$$(command -v podman || command -v docker) || { echo 'error: neither podman nor docker is installed' >&2; exit 1; }; \
	  rm -rf out/container && mkdir -p out/container && cp dist/towtank-static out/container/towtank && \
	  "$$engine" build -t towtank -f Containerfile out/container

demo: build ## ask what an operator asks, of an example cluster, and write the report
	@rm -rf out/demo
	@echo
	@echo 'A disk of the cluster in $(EXAMPLE) fails. When are all copies back, and what would help?'
	$(TOWTANK) whatif --crush-map $(EXAMPLE)/crush.txt --osd-dump $(EXAMPLE)/osd_dump.json \
	    --pg-dump $(EXAMPLE)/pg_dump.json.gz --fail osd.3 --out out/demo

test: setup-test format house clippy test-rust test-python wasm web ## run every check
	@echo; echo "All checks passed, in $$((($$(date +%s) - $(STARTED)) / 60)) min."

lint: setup-build setup-node format house clippy web-lint ## check form alone: formatting, licences, clippy, types

bench: setup-build ## run every benchmark
	cargo bench --locked --workspace --bench '*'
	cargo run --release --locked --manifest-path peers/Cargo.toml

fuzz: setup-build $(FUZZ) ## fuzz every parser for FUZZ_SECONDS each (60)
	@nightly=$$(scripts/setup.sh nightly $(NIGHTLY)); \
	for target in $$(ls fuzz/fuzz_targets | sed 's/\.rs$$//'); do \
	  echo; echo "== fuzzing $$target"; \
	  mkdir -p fuzz/found/$$target; \
	  RUSTUP_TOOLCHAIN=$$nightly $(FUZZ) run $$target fuzz/found/$$target fuzz/corpus/$$target -- \
	    -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=3000 -print_final_stats=1; \
	done

soak: setup-build ## random scenarios of every study, schedules of replication, for SECONDS each (600), seeds of the store, and other people's tables
	for study in pfs backfill rebuild whatif balance put capacity-sim queue place; do \
	  SOAK_STUDY=$$study SOAK_SECONDS=$(SECONDS) SOAK_SEED=$(SEED) \
	    cargo test --release --locked -p towtank --test soak -- --nocapture --test-threads 1; \
	done
	SOAK_SECONDS=$(SECONDS) SOAK_FROM=$(SEED) cargo test --release --locked -p towtank-replication --test schedules -- \
	  --nocapture --exact schedules_lose_nothing_and_end_equal
	cargo run --release --locked -p towtank-cli -- store simulate --seeds $(SEED)..$$(($(SEED) + 20 * $(SECONDS)))
	cargo run --release --locked --manifest-path peers/maglev/Cargo.toml

nightly: setup-test $(FUZZ) $(DENY) ## everything that takes hours, with one summary in out/nightly
	@scripts/nightly.sh $(SECONDS) $(SEED)

mutants: setup-test $(MUTANTS) ## change the code at random places, and tell which changes no test notices
	CARGO_MUTANTS='$(abspath $(MUTANTS))' scripts/mutants.py

clean: ## remove what was built
	rm -rf target fuzz/target peers/target peers/maglev/target web/node_modules .tools out dist

setup-build:
	@scripts/setup.sh rust
	@scripts/setup.sh packages build

setup-test: setup-node
	@scripts/setup.sh rust
	@scripts/setup.sh packages test

setup-node:
	@scripts/setup.sh node

format:
	$(call heading,formatting)
	cargo fmt --all --check

# Form is in the Rust tests too; first and alone it is told in a minute.
house:
	$(call heading,form: sources$(,) layers$(,) links)
	cargo test --locked --workspace --test house

clippy:
	$(call heading,clippy)
	cargo clippy --locked --workspace --all-targets -- -D warnings

test-rust:
	$(call heading,Rust tests: units$(,) properties$(,) snapshots$(,) layers$(,) form$(,) documents$(,) fuzz corpus)
	@scripts/setup.sh packages wheel
	scripts/test-rust.py

# The wheel, where no Rust is: the first example of the guide in an environment that has nothing else, then all tests
# in one that has pandas, Dask and the rest. It has the profile of the Rust tests, and shares what they have compiled.
test-python: setup-build
	$(call heading,Python: the wheel$(,) its tests$(,) documents$(,) notebooks$(,) types$(,) form)
	rm -rf out/test-wheel
	@scripts/python.sh wheel out/test-wheel --profile dev --strip
	@scripts/test-python.sh out/test-wheel

# What will run in a browser: everything up to the studies, and campaigns, without threads, files or C code.
wasm:
	$(call heading,wasm: what the studies need compiles for a browser)
	cargo check --locked --target wasm32-unknown-unknown -p towtank-operate -p towtank-studies -p towtank-campaign

# The command is the one that the Rust tests have built.
web: web/node_modules/.package-lock.json
	$(call heading,web: types$(,) tests$(,) whether the checked-in bundle is current$(,) and its layout in Chromium)
	cargo build --locked -p towtank-cli
	cd web && npm test && ./check-bundle.sh && npm run browser

web-lint: web/node_modules/.package-lock.json
	cd web && npm run check

# The house test checks licences, bans and sources, too, without a tool to build. New advisories appear without any
# change of ours, and their database lies outside the crates registry.
deny: $(DENY)
	$(call heading,dependencies: licences$(,) bans$(,) sources$(,) advisories)
	$(DENY) --log-level error check licenses bans sources
	@if GIT_TERMINAL_PROMPT=0 timeout 20 git ls-remote --exit-code $(ADVISORIES) HEAD >/dev/null 2>&1; \
	then $(DENY) --log-level error check advisories; \
	else echo 'not checked: $(ADVISORIES) is out of reach from here'; fi

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

# These tools run for a second or two, so what counts is the time to build them.
$(DENY) $(FUZZ) $(MUTANTS): export CARGO_PROFILE_RELEASE_OPT_LEVEL = 0
$(DENY) $(FUZZ) $(MUTANTS): export CARGO_PROFILE_RELEASE_LTO = off
$(DENY) $(FUZZ) $(MUTANTS): export CARGO_PROFILE_RELEASE_DEBUG = 0
$(DENY) $(FUZZ) $(MUTANTS): export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 16

$(DENY):
	cargo install cargo-deny --version $(CARGO_DENY) --locked --root .tools/cargo-deny-$(CARGO_DENY)

$(FUZZ):
	cargo install cargo-fuzz --version $(CARGO_FUZZ) --locked --root .tools/cargo-fuzz-$(CARGO_FUZZ)

$(MUTANTS):
	cargo install cargo-mutants --version $(CARGO_MUTANTS) --locked --root .tools/cargo-mutants-$(CARGO_MUTANTS)
