#!/usr/bin/env bash
# Builds `foreword` and the bare proxy with the profile `dist`, and prints size, memory, CPU time per proxied request and
# turns per second. Arguments select sections: footprint, processor, turns, gateway. FOREWORD_BIN and
# FOREWORD_BARE_PROXY name programs that are already built.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
if [[ -z ${FOREWORD_BIN:-} ]]; then
    ./scripts/page.sh || (($? == 77))
    cargo build --profile dist --package foreword
fi
cargo build --profile dist --package foreword-bench-http
export FOREWORD_BIN=${FOREWORD_BIN:-$target/dist/foreword}
export FOREWORD_BARE_PROXY=${FOREWORD_BARE_PROXY:-$target/dist/bare-proxy}
if (($# == 0)); then set -- footprint processor turns; fi
exec "$target/dist/bench-http" "$@"
