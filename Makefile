# Each target is a cargo command or a short script. A Rust toolchain and a C compiler are enough; the web page also needs
# Node.

SECONDS ?= 5
SEED ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo page test test-quick browser-tests pictures dist package-tests kill-tests fuzz bench footprint gateways clean-fuzz

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Build foreword and show it in four scenes; on a terminal, then serve the demo page
	@./scripts/demo.sh

page: ## Build the web page, which the next cargo build embeds; needs Node 20 and npm
	@./scripts/page.sh

test: ## All checks: format, lints, tests, third-party programs, browser, documentation
	@./scripts/test.sh

test-quick: ## Format, lints and the tests that need no other program: a few minutes, for use while you work
	@./scripts/test-quick.sh

browser-tests: ## Test the web page in a real browser, and take screenshots of its views
	@./scripts/browser-tests.sh

pictures: ## Take the screenshots in docs/pictures from the demo
	@FOREWORD_PICTURES="$(CURDIR)/docs/pictures" ./scripts/browser-tests.sh tests/pictures.spec.ts

dist: ## Build all packages of this platform into target/packages: archive, .deb, wheel, npm, container folder
	@./scripts/dist.sh

package-tests: ## Install every package in a clean place, use it there and remove it
	@./scripts/package-tests.sh

kill-tests: ## Kill a writing process 100 times on SQLite and 25 times on Postgres, and count lost writes
	@./scripts/kill-tests.sh

fuzz: ## Fuzz each parser for SECONDS (5) from SEED (1; 0 for a new one each time)
	@./scripts/fuzz.sh $(SECONDS) $(SEED)

bench: ## Measure speed and memory relative to peers in the same run, also on a temporary Postgres if possible
	@if settings=$$(./scripts/postgres.sh start durable); then eval "$$settings"; trap './scripts/postgres.sh stop' EXIT; fi; \
	cargo bench -p foreword-bench

footprint: ## Build with the profile `dist` and measure size, memory, CPU time per proxied request and turns per second
	@./bench/footprint.sh

gateways: ## Compare the drop-in endpoint with a bare proxy, LiteLLM and Portkey, which are installed for it
	@./scripts/gateways.sh

clean-fuzz: ## Delete the inputs that fuzzing has found
	rm -rf "$${CARGO_TARGET_DIR:-target}/fuzz/corpus"
