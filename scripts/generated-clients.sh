#!/usr/bin/env bash
# Tests clients generated from our OpenAPI document. openapi-spec-validator validates the document, openapi-python-client
# and openapi-typescript generate one client each, and both run against a server, including streams and WebSocket.
# Installs its dependencies from PyPI and npm in its own folder; exits with 77 if that fails.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/third_party.sh

python_packages=(openapi-spec-validator==0.9.0 openapi-python-client==0.29.1 ruff==0.17.5 websockets==17.4)
node_packages=(openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 ws@8.23.0 @types/ws@8.18.2 @types/node@20)
folder=$(folder_of generated-clients "${python_packages[@]}" "${node_packages[@]}")

install() {
    install_python "$folder/python" "${python_packages[@]}"
    install_node "$folder/npm" "${node_packages[@]}"
}

install_once "$@"

printf 'generators: %s; %s (node %s)\n' "${python_packages[*]}" "${node_packages[*]}" "$(node --version)"
export FOREWORD_TEST_GENERATED_CLIENTS="$folder"
ignored_tests generated_clients
