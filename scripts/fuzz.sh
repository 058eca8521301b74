#!/usr/bin/env bash
# Fuzzes the parsers: fuzz.sh [SECONDS] [SEED] [TARGET…]
#
# Coverage-guided, on the stable compiler. Only our own crates are instrumented; dependencies are reused from the tests'
# build, which saves time. The corpus is kept in the build folder for the next run. An input that violates a property is
# written beside it, and the exit code is 1.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-5}"
seed="${2:-1}"
targets=("${@:3}")
if ((${#targets[@]} == 0)); then
    targets=(bracket jinja yaml)
fi

corpora_of() {
    case "$1" in
        bracket) echo crates/foreword-prompt/fuzz_corpus/bracket ;;
        jinja) echo crates/foreword-prompt/fuzz_corpus/jinja ;;
        yaml) echo crates/foreword-workspace/fuzz_corpus/yaml crates/foreword/templates ;;
        *) echo "fuzz.sh: unknown target \`$1\`; use bracket, jinja or yaml" >&2 && return 2 ;;
    esac
}

build="${CARGO_TARGET_DIR:-target}"
state="$build/fuzz"

printf '$ cargo build -p foreword-fuzz --features libfuzzer --bins\n'
RUSTC_WORKSPACE_WRAPPER="$PWD/scripts/instrumented_rustc.sh" cargo build -p foreword-fuzz --features libfuzzer --bins

for target in "${targets[@]}"; do
    seeds="$(corpora_of "$target")"
    found="$state/corpus/$target"
    broken="$state/broken/$target"
    log="$state/$target.log"
    mkdir -p "$found" "$broken"
    printf '\nfuzz_%s for %s seconds, seed %s\n' "$target" "$seconds" "$seed"
    # shellcheck disable=SC2086 # several folders, none with a space
    if ! RUST_BACKTRACE=0 "$build/debug/fuzz_$target" -max_total_time="$seconds" -seed="$seed" -max_len=1024 -timeout=10 \
        -rss_limit_mb=2048 -dict="fuzz/dictionaries/$target.dict" -artifact_prefix="$broken/" -print_final_stats=1 \
        "$found" $seeds >"$log" 2>&1; then
        tail -n 40 "$log"
        printf 'A property is violated. After the fix, copy the input from %s to %s\n' "$broken" "${seeds%% *}"
        exit 1
    fi
    grep -E '^stat::(number_of_executed_units|average_exec_per_sec|new_units_added)' "$log"
done
