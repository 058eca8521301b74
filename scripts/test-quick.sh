#!/usr/bin/env bash
# The checks for use while you work: format, lints, and the Rust tests without Postgres, without tests of the program as
# a process. `make test` runs everything.
set -euo pipefail
cd "$(dirname "$0")/.."

export FOREWORD_TEST_POSTGRES=skip
cargo fmt --all --check
cargo clippy --workspace --all-targets -- -D warnings
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --exclude foreword --exclude foreword-bench --exclude foreword-fuzz "$@"
else
    cargo test --workspace --exclude foreword --exclude foreword-bench --exclude foreword-fuzz --lib --tests "$@"
fi
printf '\nPassed in %d s. Not run: Postgres, the program, the page, third-party programs, documentation.\n' "$SECONDS"
