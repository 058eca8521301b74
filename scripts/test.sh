#!/usr/bin/env bash
# All checks that must pass before a change is merged. After the build, two lanes run at the same time: the Rust tests,
# and the tests with a browser and with third-party programs, whose output is in target/test-logs. A lane stops at its
# first failure. Steps that are unavailable on this machine are skipped and listed. Ends with a table of times.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}
logs=$target/test-logs
rm -rf "$logs"
mkdir -p "$logs"
started=$SECONDS
background=()

clean_up() {
    for job in "${background[@]}"; do
        kill -- "-$job" 2>/dev/null || true
    done
    if [[ -n ${FOREWORD_TEST_POSTGRES_DIR:-} && -z ${own_postgres:-} ]]; then ./scripts/postgres.sh stop; fi
}
trap clean_up EXIT

# in_background COMMAND…: in a process group of its own, so that `clean_up` also reaches what the command has started.
in_background() {
    set -m
    "$@" &
    background+=($!)
    set +m
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
    "$@" || return
    record "$name" $((SECONDS - begun)) passed
}

# logged NAME REASON COMMAND…: shows the output only of a failure. REASON is why exit code 77 skips the step.
logged() {
    local name=$1 reason=$2 begun=$SECONDS code=0
    shift 2
    "$@" >"$logs/$name.log" 2>&1 || code=$?
    if ((code == 0)); then
        record "$name" $((SECONDS - begun)) passed
        printf '\n== %s: passed in %d s\n' "$name" $((SECONDS - begun))
    elif ((code == 77)); then
        skip "$name" "$reason"
    else
        printf '\n== %s\n$ %s\n' "$name" "$*"
        cat "$logs/$name.log"
        printf '\n== %s: FAILED\n' "$name"
        return 1
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
    for script in litellm mcp-servers mcp-client sdk-clients generated-clients api-fuzz; do
        "./scripts/$script.sh" --install || true
    done
    touch "$logs/tools-installed"
}

third_party_tests() {
    wait_for_tools
    logged "client with a gateway" "LiteLLM can't be installed from PyPI" ./scripts/litellm.sh &&
        logged "client with MCP servers" "they can't be installed from PyPI and npm" ./scripts/mcp-servers.sh &&
        logged "server with an MCP client" "it can't be installed from PyPI" ./scripts/mcp-client.sh &&
        logged "with official SDKs" "they can't be installed from PyPI and npm" ./scripts/sdk-clients.sh &&
        logged "with generated clients" "the generators can't be installed from PyPI and npm" ./scripts/generated-clients.sh &&
        logged "HTTP interface against its OpenAPI document" "schemathesis can't be installed from PyPI" ./scripts/api-fuzz.sh &&
        logged "web page in a browser" "Node or Chromium is missing and can't be installed" ./scripts/browser-tests.sh
}

# A process can't `wait` for a job of its parent.
wait_for_tools() {
    until [[ -e $logs/tools-installed ]] || ! kill -0 "$tools" 2>/dev/null; do sleep 0.2; done
}

in_background install_tools >"$logs/tools.log" 2>&1
tools=$!

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
own_postgres=${FOREWORD_TEST_POSTGRES:-}
if [[ -z $own_postgres ]]; then
    until [[ -e $logs/postgres-installed ]]; do sleep 0.2; done
    if settings=$(./scripts/postgres.sh start); then
        eval "$settings"
    else
        export FOREWORD_TEST_POSTGRES=skip
        skip "tests on Postgres" "not available; install the package \`postgresql\`"
    fi
elif [[ $own_postgres == skip ]]; then
    skip "tests on Postgres" "FOREWORD_TEST_POSTGRES=skip"
fi

in_background third_party_tests
third_party=$!
failed=0
step "tests" "${tests[@]}" --no-fail-fast &&
    step "examples in the documentation" cargo test --doc --workspace &&
    step "documentation" env RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --workspace --no-deps ||
    failed=1
wait "$third_party" || failed=1

printf '\n'
awk -F '\t' '{ printf "%6d s  %-50s %s\n", $2, $1, $3 }' "$logs/times"
times >"$logs/processor"
printf '%6d s  in all, %d s of processor time\n' $((SECONDS - started)) "$(processor_seconds)"
if ((failed)); then
    printf 'FAILED; the output is above\n'
    exit 1
fi
printf 'All checks pass, except those skipped.\n'
