# `make run` and `make test` are all there is to know; each does its own set-up.

.DEFAULT_GOAL := help
.PHONY: help browsers-packages run build dist deb page test bench compare media-relay scaling cascade adaptation connect papers bench-crowd bench-routes lint deny fuzz mutations p4-check setup-build setup-test clean

WEIR := target/release/weir
PAGE_SOURCES := $(shell find web/src web/public web/index.html web/vite.config.ts -type f 2>/dev/null)

help: ## Say what can be made.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: build ## Build Weir and serve it at http://localhost:7880.
	$(WEIR) serve --dev $(ARGS)

build: setup-build page ## Build target/release/weir, page included.
	cargo build --release --locked -p weir

dist: setup-build page ## Build target/dist/weir, the program of a release: smaller, and slower to build.
	cargo build --profile dist --locked -p weir

deb: dist ## Make target/deb/weir_VERSION_ARCHITECTURE.deb of it; docs/operate/operations.md.
	BINARY_MAX=30000000 packaging/deb/build

page: web/dist/index.html ## Build the meeting page.

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && npm ci --no-audit --no-fund && touch node_modules/.package-lock.json

browsers-packages: testkit/browsers/node_modules/.package-lock.json verify/browsers/node_modules/.package-lock.json

%/browsers/node_modules/.package-lock.json: %/browsers/package.json %/browsers/package-lock.json
	cd $*/browsers && npm ci --no-audit --no-fund && touch node_modules/.package-lock.json

web/dist/index.html: web/node_modules/.package-lock.json $(PAGE_SOURCES)
	cd web && npm run --silent build && touch dist/index.html

test: setup-build setup-test browsers-packages ## Run every test there is.
	scripts/test

bench: build ## Measure: CPU per replica, latency and memory beside the floor.
	cargo build --release --locked -p eval
	eval/run $(ARGS)

compare: build ## Measure beside the servers that are installed, as root: ARGS="video audio"; eval/compare/README.md.
	eval/compare/run $(ARGS)

media-relay: build ## Measure relays for SIP calls beside each other, as root: ARGS="calls"; eval/media-relay/README.md.
	eval/media-relay/run $(ARGS)

bench-crowd: build ## Measure rooms of 100, 300 and 1,000, ten of whom publish.
	cargo build --release --locked -p eval
	BENCH_CONFIG=eval/crowd.yaml eval/run --seconds 20 $(or $(ARGS),10of100 10of300 10of1000)

bench-routes: build ## Measure the cost of a packet over TCP and TURN beside UDP: about two minutes.
	cargo build --release --locked -p eval
	BENCH_CONFIG=eval/routes.yaml BENCH_COMMAND=routes eval/run --seconds 3 --settle 1 $(ARGS)

cascade: setup-build ## Measure one room on one, two and four media nodes: ARGS="--rounds 1"; eval/cascade/README.md.
	eval/cascade/run $(ARGS)

scaling: setup-build ## Measure how cost grows with receivers, rooms and tables, into docs/measured/performance.md; it may be a busy machine.
	cargo build --release --locked -p scaling
	target/release/weir-scaling $(ARGS)

adaptation: build setup-test browsers-packages ## Measure real browsers behind limited links, as root: ARGS=vp8, ARGS=all; docs/measured/adaptation.md.
	eval/adaptation/run $(ARGS)

connect: build setup-test browsers-packages ## Measure the time to the first frame in Chromium beside LiveKit, as root; eval/connect/README.md.
	eval/connect/run $(ARGS)

papers: ## Measure the papers' figures for an hour, as root, into docs/measured/papers.md: ARGS=--draw, ARGS="--only NAME".
	eval/papers/run $(ARGS)

fuzz: ## Run every parser on hostile input for a minute each: FUZZ_SECONDS=600, FUZZ_TARGET=sdp.
	FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) cargo test --release --locked -p fuzz --test cost -- --nocapture

mutations: ## Break the data planes in one place after another, as root: ARGS="--only udp"; verify/mutations/README.md.
	verify/mutations/run $(ARGS)

p4-check: page ## Compile the P4 program, compare, and run its tests on BMv2, as root; docs/design/p4.md.
	backends/p4/check

lint: ## What a review would say first: form of the tree, format, clippy, types.
	python3 -m unittest discover -s scripts/tidy/tests
	scripts/tidy/check.py
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cd web && npm run --silent check && npm run --silent lint

deny: ## Check licences, sources and known faults of all dependencies.
	scripts/deny/run

setup-build:
	@scripts/setup build

setup-test:
	@scripts/setup test

clean: ## Remove what was built.
	cargo clean
	rm -rf web/dist web/node_modules testkit/browsers/node_modules verify/browsers/node_modules verify/clients/.venv verify/sip/.venv scripts/deny/.venv packaging/lint/.venv packaging/lint/.tools
