#!/usr/bin/env bash
# Tests our MCP server with the official Python client from PyPI, installed in its own folder: on standard input and
# output, and over HTTP. Exits with 77 if the client can't be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

version=2.3.0
target=${CARGO_TARGET_DIR:-$PWD/target}
folder=${FOREWORD_MCP_CLIENT:-$target/mcp-client-$version}

cannot() {
    printf 'cannot install the client: %s\n' "$1" >&2
    exit 77
}

# The marker file shows that the installation is complete.
install() {
    command -v python3 >/dev/null || cannot "there is no python3"
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m venv "$folder/venv" || cannot "python3 has no venv; install the package python3-venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "mcp==$version" ||
        cannot "pip could not install mcp"
    touch "$folder/complete"
}

[[ -e $folder/complete ]] || install
cargo build --quiet --package foreword
timeout 120 "$folder/venv/bin/python" scripts/mcp_client.py "$target/debug/foreword"
