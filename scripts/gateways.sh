#!/usr/bin/env bash
# Benchmarks our drop-in endpoint against other gateways: LiteLLM's proxy from PyPI and Portkey's gateway from npm, each
# installed in its own folder. A gateway that can't be installed is skipped, and the benchmark reports it.
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
