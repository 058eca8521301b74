#!/usr/bin/env bash
# All checks that must pass before a change is merged. Stops at the first failure; steps that are unavailable on this
# machine are skipped. Third-party programs are installed while the compiler runs. Ends with a table of times.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}
logs=$target/test-logs
rm -rf "$logs"
mkdir -p "$logs"
started=$SECONDS

clean_up() {
    kill -- "-$tools" 2>/dev/null || true
    if [[ -n ${own_postgres:-} ]]; then ./scripts/postgres.sh stop; fi
}

record() {
    printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$logs/times"
}

skip() {
    printf '\n== %s\nSKIPPED: %s\n' "$1" "$2"
    record "$1" 0 skipped
}

# step NAME COMMAND…: shows the output.
step() {
    local name=$1 begun=$SECONDS
    shift
    printf '\n== %s\n$ %s\n' "$name" "$*"
    "$@"
    record "$name" $((SECONDS - begun)) passed
}

# logged NAME REASON COMMAND…: writes the output to a file and shows it only after a failure. Exit code 77 skips the
# step because of REASON.
logged() {
    local name=$1 reason=$2 begun=$SECONDS code=0
    shift 2
    printf '\n== %s\n$ %s >"%s" 2>&1\n' "$name" "$*" "$logs/$name.log"
    "$@" >"$logs/$name.log" 2>&1 || code=$?
    if ((code == 0)); then
        record "$name" $((SECONDS - begun)) passed
        printf 'passed in %d s\n' $((SECONDS - begun))
    elif ((code == 77)); then
        skip "$name" "$reason"
    else
        cat "$logs/$name.log"
        printf '\n== %s: FAILED\n' "$name"
        exit 1
    fi
}

has_cargo() {
    cargo "$1" --version >/dev/null 2>&1
}

# The second line of `times` has the user and system time of all finished commands.
processor_seconds() {
    awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, part, /[ms]/); sum += part[1] * 60 + part[2] } print int(sum) }' \
        "$logs/processor"
}

# Debian packages one after the other, because `apt-get` locks; then packages of PyPI and npm.
install_tools() {
    ./scripts/postgres.sh install || true
    touch "$logs/postgres-installed"
    ./scripts/browser-tests.sh --install || true
    for script in litellm mcp-servers mcp-client sdk-clients generated-clients api-fuzz package-tests; do
        "./scripts/$script.sh" --install || true
    done
}

# In a process group of its own, so that `clean_up` also ends what it has started.
set -m
install_tools >"$logs/tools.log" 2>&1 &
tools=$!
set +m
trap clean_up EXIT

if has_cargo fmt; then
    step "format" cargo fmt --all --check
else
    skip "format" "rustfmt is missing; install it with \`rustup component add rustfmt\`"
fi

# Before the build, because the program embeds it.
logged "web page" "Node 20 with npm is missing" ./scripts/page.sh

if has_cargo clippy; then
    step "lints" cargo clippy --workspace --all-targets -- -D warnings
else
    skip "lints" "clippy is missing; install it with \`rustup component add clippy\`"
fi

# nextest runs each test in its own process and reports failures earlier; plain cargo runs the same tests. No retries: a
# test that fails sometimes has a race, in the test or in the code.
if has_cargo nextest; then
    tests=(cargo nextest run --workspace)
else
    tests=(cargo test --workspace --lib --bins --tests --examples)
fi
step "build of the tests" "${tests[@]}" --no-run

# The store's contract tests also run on a real Postgres: a temporary one, unless the environment names another.
if [[ -z ${FOREWORD_TEST_POSTGRES:-} ]]; then
    until [[ -e $logs/postgres-installed ]]; do sleep 0.2; done
    if settings=$(./scripts/postgres.sh start); then
        eval "$settings"
        own_postgres=yes
    else
        export FOREWORD_TEST_POSTGRES=skip
        skip "tests on Postgres" "not available; install the package \`postgresql\`"
    fi
elif [[ $FOREWORD_TEST_POSTGRES == skip ]]; then
    skip "tests on Postgres" "FOREWORD_TEST_POSTGRES=skip"
fi

step "tests" "${tests[@]}" --no-fail-fast

# A step whose program is missing tries to install it again, and is skipped.
wait "$tools" || true
logged "web page in a browser" "Node or Chromium is missing and can't be installed" ./scripts/browser-tests.sh
logged "client with a gateway" "LiteLLM can't be installed from PyPI" ./scripts/litellm.sh
logged "client with MCP servers" "they can't be installed from PyPI and npm" ./scripts/mcp-servers.sh
logged "server with an MCP client" "it can't be installed from PyPI" ./scripts/mcp-client.sh
logged "with official SDKs" "they can't be installed from PyPI and npm" ./scripts/sdk-clients.sh
logged "with generated clients" "the generators can't be installed from PyPI and npm" ./scripts/generated-clients.sh
logged "HTTP interface against its OpenAPI document" "schemathesis can't be installed from PyPI" ./scripts/api-fuzz.sh
logged "packages in clean places" "their tools can't be installed from PyPI and npm" ./scripts/package-tests.sh
step "examples in the documentation" cargo test --doc --workspace
step "documentation" env RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --workspace --no-deps

printf '\n'
awk -F '\t' '{ printf "%6d s  %-50s %s\n", $2, $1, $3 }' "$logs/times"
times >"$logs/processor"
printf '%6d s  in all, %d s of processor time\n' $((SECONDS - started)) "$(processor_seconds)"
printf 'All checks pass, except those skipped.\n'
