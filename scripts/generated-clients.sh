#!/usr/bin/env bash
# Tests clients generated from our OpenAPI document. openapi-spec-validator validates the document, openapi-python-client
# and openapi-typescript generate one client each, and both run against a server, including streams and WebSocket.
# Installs its dependencies from PyPI and npm in its own folder; exits with 77 if that fails.
set -euo pipefail
cd "$(dirname "$0")/.."

python_packages=(openapi-spec-validator==0.9.0 openapi-python-client==0.29.1 ruff==0.17.5 websockets==17.4)
node_packages=(openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 ws@8.23.0 @types/ws@8.18.2 @types/node@20)
target=${CARGO_TARGET_DIR:-$PWD/target}
folder=${FOREWORD_GENERATED_CLIENTS:-$target/generated-clients-$(printf '%s ' "${python_packages[@]}" "${node_packages[@]}" | cksum | cut -d' ' -f1)}

cannot() {
    printf 'cannot install the generators: %s\n' "$1" >&2
    exit 77
}

# The file `complete` shows that the installation was not interrupted.
install() {
    command -v python3 >/dev/null || cannot "there is no python3"
    command -v npm >/dev/null || cannot "there is no npm"
    rm -rf "$folder"
    mkdir -p "$folder/npm"
    python3 -m venv "$folder/python" || cannot "python3 has no venv; install the package python3-venv"
    "$folder/python/bin/pip" install --quiet --disable-pip-version-check "${python_packages[@]}" ||
        cannot "pip could not install ${python_packages[*]}"
    npm install --silent --no-fund --no-audit --prefix "$folder/npm" "${node_packages[@]}" ||
        cannot "npm could not install ${node_packages[*]}"
    touch "$folder/complete"
}

[[ -e $folder/complete ]] || install

printf 'generators: %s; %s (node %s)\n' "${python_packages[*]}" "${node_packages[*]}" "$(node --version)"
export FOREWORD_TEST_GENERATED_CLIENTS="$folder"
cargo test --quiet --package foreword-server --test it -- --ignored generated_clients
