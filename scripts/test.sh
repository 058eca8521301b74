#!/usr/bin/env bash
# All checks that must pass before a change is merged. Stops at the first failure; steps that are unavailable on this
# machine are skipped and listed.
set -euo pipefail
cd "$(dirname "$0")/.."

skipped=()

step() {
    printf '\n== %s\n' "$1"
    shift
    printf '$ %s\n' "$*"
    "$@"
}

skip() {
    printf '\n== %s\nSKIPPED: %s\n' "$1" "$2"
    skipped+=("$1")
}

has_cargo() {
    cargo "$1" --version >/dev/null 2>&1
}

if has_cargo fmt; then
    step "format" cargo fmt --all --check
else
    skip "format" "rustfmt is missing; install it with \`rustup component add rustfmt\`"
fi

# First, because the program embeds it.
printf '\n== web page\n$ ./scripts/page.sh\n'
if ./scripts/page.sh; then
    :
elif (($? == 77)); then
    skip "web page" "Node 20 with npm is missing"
else
    exit 1
fi

if has_cargo clippy; then
    step "lints" cargo clippy --workspace --all-targets -- -D warnings
else
    skip "lints" "clippy is missing; install it with \`rustup component add clippy\`"
fi

# The store's contract tests also run on a real Postgres: a temporary one, unless the environment names another.
if [[ -z ${FOREWORD_TEST_POSTGRES:-} ]]; then
    if settings=$(./scripts/postgres.sh start); then
        eval "$settings"
        trap './scripts/postgres.sh stop' EXIT
        printf '\n== Postgres\n%s\n' "$FOREWORD_TEST_POSTGRES"
    else
        export FOREWORD_TEST_POSTGRES=skip
        skip "tests on Postgres" "not available; install the package \`postgresql\`"
    fi
elif [[ $FOREWORD_TEST_POSTGRES == skip ]]; then
    skip "tests on Postgres" "FOREWORD_TEST_POSTGRES=skip"
fi

# nextest runs each test in its own process and reports failures earlier; plain cargo runs the same tests. No retries: a
# test that fails sometimes has a race, in the test or in the code.
if has_cargo nextest; then
    step "tests" cargo nextest run --workspace --no-fail-fast
else
    step "tests" cargo test --workspace --no-fail-fast --lib --bins --tests --examples
fi

# The web page in a real browser.
printf '\n== web page in a browser\n$ ./scripts/browser-tests.sh\n'
if ./scripts/browser-tests.sh; then
    :
elif (($? == 77)); then
    skip "web page in a browser" "Node or Chromium is missing and can't be installed"
else
    exit 1
fi

# A third-party gateway between our client and a provider.
printf '\n== client with a gateway\n$ ./scripts/litellm.sh\n'
if ./scripts/litellm.sh; then
    :
elif (($? == 77)); then
    skip "client with a gateway" "LiteLLM can't be installed from PyPI"
else
    exit 1
fi

# Third-party MCP servers.
printf '\n== client with MCP servers\n$ ./scripts/mcp-servers.sh\n'
if ./scripts/mcp-servers.sh; then
    :
elif (($? == 77)); then
    skip "client with MCP servers" "they can't be installed from PyPI and npm"
else
    exit 1
fi

# The HTTP interface against its OpenAPI document, with generated requests.
printf '\n== HTTP interface against its OpenAPI document\n$ ./scripts/api-fuzz.sh\n'
if ./scripts/api-fuzz.sh; then
    :
elif (($? == 77)); then
    skip "HTTP interface against its OpenAPI document" "schemathesis can't be installed from PyPI"
else
    exit 1
fi

# A third-party MCP client with our server.
printf '\n== server with an MCP client\n$ ./scripts/mcp-client.sh\n'
if ./scripts/mcp-client.sh; then
    :
elif (($? == 77)); then
    skip "server with an MCP client" "it can't be installed from PyPI"
else
    exit 1
fi

# Third-party clients of our drop-in endpoints.
printf '\n== with official SDKs\n$ ./scripts/sdk-clients.sh\n'
if ./scripts/sdk-clients.sh; then
    :
elif (($? == 77)); then
    skip "with official SDKs" "they can't be installed from PyPI and npm"
else
    exit 1
fi

# Clients that are generated from our OpenAPI document.
printf '\n== with generated clients\n$ ./scripts/generated-clients.sh\n'
if ./scripts/generated-clients.sh; then
    :
elif (($? == 77)); then
    skip "with generated clients" "the generators can't be installed from PyPI and npm"
else
    exit 1
fi

step "examples in the documentation" cargo test --doc --workspace

step "documentation" env RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --workspace --no-deps

# libFuzzer needs a C++ compiler, which nothing else does. Without it the tests above still replay the corpora.
if command -v "${CXX:-c++}" >/dev/null 2>&1; then
    step "fuzzing" ./scripts/fuzz.sh "${SECONDS_EACH:-5}" "${SEED:-1}"
else
    skip "fuzzing" "no C++ compiler (\`${CXX:-c++}\`) to build libFuzzer with"
fi

if ((${#skipped[@]})); then
    printf '\nAll executed checks pass. Skipped: %s.\n' "$(IFS=, && echo "${skipped[*]}")"
else
    printf '\nAll checks pass.\n'
fi
