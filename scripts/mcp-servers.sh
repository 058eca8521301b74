#!/usr/bin/env bash
# Tests our MCP client with real servers: the time server from PyPI and the filesystem server from npm, each installed in
# its own folder. Exits with 77 if they can't be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

time_version=2026.10.19
files_version=2026.8.31
target=${CARGO_TARGET_DIR:-$PWD/target}
folder=${FOREWORD_MCP_SERVERS:-$target/mcp-servers-$time_version-$files_version}

cannot() {
    printf 'cannot install the servers: %s\n' "$1" >&2
    exit 77
}

# The marker file shows that the installation is complete.
install() {
    command -v python3 >/dev/null || cannot "there is no python3"
    command -v npm >/dev/null || cannot "there is no npm"
    rm -rf "$folder"
    mkdir -p "$folder/npm"
    python3 -m venv "$folder/venv" || cannot "python3 has no venv; install the package python3-venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "mcp-server-time==$time_version" ||
        cannot "pip could not install mcp-server-time"
    npm install --silent --no-fund --no-audit --prefix "$folder/npm" \
        "@modelcontextprotocol/server-filesystem@$files_version" || cannot "npm could not install the filesystem server"
    touch "$folder/complete"
}

[[ -e $folder/complete ]] || install

export FOREWORD_TEST_MCP_TIME="$folder/venv/bin/mcp-server-time"
export FOREWORD_TEST_MCP_FILES="$folder/npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
if [[ ${1:-} == --where ]]; then
    printf 'export FOREWORD_TEST_MCP_TIME=%q FOREWORD_TEST_MCP_FILES=%q\n' "$FOREWORD_TEST_MCP_TIME" "$FOREWORD_TEST_MCP_FILES"
    exit
fi
cargo test --quiet --package foreword-agent --test it -- --ignored mcp_real
