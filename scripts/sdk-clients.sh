#!/usr/bin/env bash
# Tests our drop-in endpoints with third-party clients: the official SDKs of Anthropic and OpenAI from PyPI and npm, and
# the command-line tool `llm`, each installed in its own folder. Exits with 77 if they can't be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/third_party.sh

python_packages=(anthropic==2.8.0 openai==3.49.0)
llm_packages=(llm==0.36 llm-anthropic==0.30)
node_packages=(@anthropic-ai/sdk@1.8.0 openai@7.53.0)
folder=$(folder_of sdk-clients "${python_packages[@]}" "${llm_packages[@]}" "${node_packages[@]}")

install() {
    install_python "$folder/python" "${python_packages[@]}"
    install_python "$folder/llm" "${llm_packages[@]}"
    install_node "$folder/npm" "${node_packages[@]}"
}

install_once "$@"

printf 'clients: %s; %s; %s (node %s)\n' "${python_packages[*]}" "${llm_packages[*]}" "${node_packages[*]}" "$(node --version)"
export FOREWORD_TEST_SDK_CLIENTS="$folder"
ignored_tests sdk_clients
