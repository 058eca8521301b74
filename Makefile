# Everything here is a line of cargo or a short script; nothing needs more than a Rust toolchain and a C compiler. The web
# page is built if there is Node.

SECONDS ?= 5
SEED ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo page test browser-tests pictures kill-tests fuzz bench gateways clean-fuzz

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Build foreword, write a demo workspace into a temporary folder and explain its prompt
	@./scripts/demo.sh

page: ## Build the web page, which the next cargo build takes in; needs Node 20 and npm
	@./scripts/page.sh

test: ## Everything that must hold: format, lints, tests, documentation, a few seconds of fuzzing
	@SECONDS_EACH=$(SECONDS) SEED=$(SEED) ./scripts/test.sh

browser-tests: ## The web page in a real browser, and screenshots of its views
	@./scripts/browser-tests.sh

pictures: ## The pictures of the web page in docs/pictures, taken from the demo
	@FOREWORD_PICTURES="$(CURDIR)/docs/pictures" ./scripts/browser-tests.sh tests/pictures.spec.ts

kill-tests: ## Kill a writing process 100 times on SQLite and 25 times on Postgres, and count what was lost
	@./scripts/kill-tests.sh

fuzz: ## Fuzz each parser for SECONDS (5) from SEED (1; 0 for a new one each time)
	@./scripts/fuzz.sh $(SECONDS) $(SEED)

bench: ## Speed and memory, as ratios against peers in the same run, on a throwaway Postgres too if there can be one
	@if settings=$$(./scripts/postgres.sh start durable); then eval "$$settings"; trap './scripts/postgres.sh stop' EXIT; fi; \
	cargo bench -p foreword-bench

gateways: ## The drop-in endpoint next to a bare proxy, LiteLLM and Portkey, which are installed for it
	@./scripts/gateways.sh

clean-fuzz: ## Forget the inputs that fuzzing has found so far
	rm -rf "$${CARGO_TARGET_DIR:-target}/fuzz/corpus"
