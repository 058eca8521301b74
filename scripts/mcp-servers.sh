#!/usr/bin/env bash
# Tests our MCP client with real servers: the time server from PyPI and the filesystem server from npm, each installed in
# its own folder. Exits with 77 if they can't be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/third_party.sh

time_version=2026.10.19
files_version=2026.8.31
folder=$(folder_of mcp-servers "$time_version" "$files_version")

install() {
    install_python "$folder/venv" "mcp-server-time==$time_version"
    install_node "$folder/npm" "@modelcontextprotocol/server-filesystem@$files_version"
}

install_once "$@"

export FOREWORD_TEST_MCP_TIME="$folder/venv/bin/mcp-server-time"
export FOREWORD_TEST_MCP_FILES="$folder/npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
if [[ ${1:-} == --where ]]; then
    printf 'export FOREWORD_TEST_MCP_TIME=%q FOREWORD_TEST_MCP_FILES=%q\n' "$FOREWORD_TEST_MCP_TIME" "$FOREWORD_TEST_MCP_FILES"
    exit
fi
ignored_tests mcp_real
