#!/usr/bin/env bash
# Everything that must hold before a change goes in. Stops at the first thing that doesn't; a step that can't be done
# on this machine says so and is left out.
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
    skip "format" "no rustfmt here; \`rustup component add rustfmt\` brings it"
fi

# First, because the program takes it in.
printf '\n== the page\n$ ./scripts/page.sh\n'
if ./scripts/page.sh; then
    :
elif (($? == 77)); then
    skip "the page" "there is no Node 20 with npm here"
else
    exit 1
fi

if has_cargo clippy; then
    step "lints" cargo clippy --workspace --all-targets -- -D warnings
else
    skip "lints" "no clippy here; \`rustup component add clippy\` brings it"
fi

# The store's contract is held on a real Postgres as well: one of our own, unless the environment names another.
if [[ -z ${FOREWORD_TEST_POSTGRES:-} ]]; then
    if settings=$(./scripts/postgres.sh start); then
        eval "$settings"
        trap './scripts/postgres.sh stop' EXIT
        printf '\n== Postgres\n%s\n' "$FOREWORD_TEST_POSTGRES"
    else
        export FOREWORD_TEST_POSTGRES=skip
        skip "tests on Postgres" "none can be had here; install the package \`postgresql\`"
    fi
elif [[ $FOREWORD_TEST_POSTGRES == skip ]]; then
    skip "tests on Postgres" "FOREWORD_TEST_POSTGRES=skip"
fi

# nextest runs each test in its own process and tells sooner what failed; plain cargo runs the same tests. What fails once and
# then does not is named as flaky at the end: it is to be mended, but holds nobody up who changed something else.
if has_cargo nextest; then
    step "tests" cargo nextest run --workspace --no-fail-fast --retries 1
else
    step "tests" cargo test --workspace --no-fail-fast --lib --bins --tests --examples
fi

# The page, in a browser that others have written.
printf '\n== the page in a browser\n$ ./scripts/browser-tests.sh\n'
if ./scripts/browser-tests.sh; then
    :
elif (($? == 77)); then
    skip "the page in a browser" "there is no Node or no Chromium, and none can be installed"
else
    exit 1
fi

# A real gateway between our client and a provider: neither side of it was written by us.
printf '\n== through a gateway\n$ ./scripts/litellm.sh\n'
if ./scripts/litellm.sh; then
    :
elif (($? == 77)); then
    skip "through a gateway" "LiteLLM can't be installed from PyPI here"
else
    exit 1
fi

# Servers of tools that others have written.
printf '\n== with servers of tools\n$ ./scripts/mcp-servers.sh\n'
if ./scripts/mcp-servers.sh; then
    :
elif (($? == 77)); then
    skip "with servers of tools" "they can't be installed from PyPI and npm here"
else
    exit 1
fi

# Our interface against its own document, by a program that makes up requests.
printf '\n== the interface against its document\n$ ./scripts/api-fuzz.sh\n'
if ./scripts/api-fuzz.sh; then
    :
elif (($? == 77)); then
    skip "the interface against its document" "schemathesis can't be installed from PyPI here"
else
    exit 1
fi

# And the other way round: a client that others have written uses ours.
printf '\n== with a client of the protocol\n$ ./scripts/mcp-client.sh\n'
if ./scripts/mcp-client.sh; then
    :
elif (($? == 77)); then
    skip "with a client of the protocol" "it can't be installed from PyPI here"
else
    exit 1
fi

# Clients that others have written, through our drop-in endpoints.
printf '\n== with official SDKs\n$ ./scripts/sdk-clients.sh\n'
if ./scripts/sdk-clients.sh; then
    :
elif (($? == 77)); then
    skip "with official SDKs" "they can't be installed from PyPI and npm here"
else
    exit 1
fi

# Clients that are generated from our OpenAPI document.
printf '\n== with generated clients\n$ ./scripts/generated-clients.sh\n'
if ./scripts/generated-clients.sh; then
    :
elif (($? == 77)); then
    skip "with generated clients" "the generators can't be installed from PyPI and npm here"
else
    exit 1
fi

step "examples in the documentation" cargo test --doc --workspace

step "documentation" env RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --workspace --no-deps

# libFuzzer is C++, which the rest does not need. Without it the corpora are still replayed, by the tests above.
if command -v "${CXX:-c++}" >/dev/null 2>&1; then
    step "fuzzing" ./scripts/fuzz.sh "${SECONDS_EACH:-5}" "${SEED:-1}"
else
    skip "fuzzing" "no C++ compiler (\`${CXX:-c++}\`) to build libFuzzer with"
fi

if ((${#skipped[@]})); then
    printf '\nAll that was run passes. Left out: %s.\n' "$(IFS=, && echo "${skipped[*]}")"
else
    printf '\nEverything passes.\n'
fi
