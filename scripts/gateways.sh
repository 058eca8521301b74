#!/usr/bin/env bash
# Benchmarks our drop-in endpoint against other gateways: LiteLLM's proxy from PyPI and Portkey's gateway from npm, each
# installed in its own folder. A gateway that can't be installed is skipped, and the benchmark reports it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/third_party.sh

portkey=@portkey-ai/gateway@1.15.2
folder=$(folder_of portkey "$portkey")

install() {
    install_node "$folder" "$portkey"
}

if litellm=$(./scripts/litellm.sh --install); then
    export FOREWORD_BENCH_LITELLM=$litellm/venv/bin/litellm
fi
if (install_once); then
    export FOREWORD_BENCH_PORTKEY=$folder/node_modules/@portkey-ai/gateway/build/start-server.js
fi
cargo bench --package foreword-bench -- gateway
