#!/usr/bin/env bash
# Our drop-in endpoint next to the gateways of others: LiteLLM's proxy from PyPI and Portkey's gateway from npm, each in a
# folder of its own; then the benchmark that compares them. One that can't be had is left out, and the benchmark says so.
set -euo pipefail
cd "$(dirname "$0")/.."

litellm=1.106.2
portkey=1.15.2
target=${CARGO_TARGET_DIR:-$PWD/target}
venv=${FOREWORD_LITELLM_VENV:-$target/litellm-$litellm}
node=$target/portkey-$portkey

if [[ ! -e $venv/complete ]]; then
    rm -rf "$venv"
    if python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check uv &&
        VIRTUAL_ENV=$venv "$venv/bin/uv" pip install --quiet --no-cache "litellm[proxy]==$litellm"; then
        touch "$venv/complete"
    fi
fi
if [[ ! -e $node/complete ]]; then
    rm -rf "$node"
    mkdir -p "$node"
    if npm install --silent --no-fund --no-audit --prefix "$node" "@portkey-ai/gateway@$portkey"; then
        touch "$node/complete"
    fi
fi
[[ -e $venv/complete ]] && export FOREWORD_BENCH_LITELLM=$venv/bin/litellm
[[ -e $node/complete ]] && export FOREWORD_BENCH_PORTKEY=$node/node_modules/@portkey-ai/gateway/build/start-server.js
cargo bench --package foreword-bench -- gateway
