#!/usr/bin/env bash
# Tests our MCP server with the official Python client from PyPI, installed in its own folder: on standard input and
# output, and over HTTP. Exits with 77 if the client can't be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/third_party.sh

version=2.3.0
folder=$(folder_of mcp-client "$version")

install() {
    install_python "$folder/venv" "mcp==$version"
}

install_once "$@"
build_programs
timeout 120 "$folder/venv/bin/python" scripts/mcp_client.py "$target/debug/foreword"
