#!/usr/bin/env bash
# Tests our drop-in endpoints with third-party clients: the official SDKs of Anthropic and OpenAI from PyPI and npm, and
# the command-line tool `llm`, each installed in its own folder. Exits with 77 if they can't be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

python_packages=(anthropic==2.8.0 openai==3.49.0)
llm_packages=(llm==0.36 llm-anthropic==0.30)
node_packages=(@anthropic-ai/sdk@1.8.0 openai@7.53.0)
target=${CARGO_TARGET_DIR:-$PWD/target}
folder=${FOREWORD_SDK_CLIENTS:-$target/sdk-clients-$(printf '%s ' "${python_packages[@]}" "${llm_packages[@]}" "${node_packages[@]}" | cksum | cut -d' ' -f1)}

cannot() {
    printf 'cannot install the clients: %s\n' "$1" >&2
    exit 77
}

in_venv() {
    local venv=$1
    shift
    python3 -m venv "$venv" || cannot "python3 has no venv; install the package python3-venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" || cannot "pip could not install $*"
}

# The marker file shows that the installation is complete.
install() {
    command -v python3 >/dev/null || cannot "there is no python3"
    command -v npm >/dev/null || cannot "there is no npm"
    rm -rf "$folder"
    mkdir -p "$folder/npm"
    in_venv "$folder/python" "${python_packages[@]}"
    in_venv "$folder/llm" "${llm_packages[@]}"
    npm install --silent --no-fund --no-audit --prefix "$folder/npm" "${node_packages[@]}" ||
        cannot "npm could not install ${node_packages[*]}"
    touch "$folder/complete"
}

[[ -e $folder/complete ]] || install

printf 'clients: %s; %s; %s (node %s)\n' "${python_packages[*]}" "${llm_packages[*]}" "${node_packages[*]}" "$(node --version)"
export FOREWORD_TEST_SDK_CLIENTS="$folder"
cargo test --quiet --package foreword-server --test it -- --ignored sdk_clients
