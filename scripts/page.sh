#!/usr/bin/env bash
# Builds the web page to web/dist, which the server crate embeds. Exits with 77 if Node is missing; the program is then
# built without a page.
set -euo pipefail
cd "$(dirname "$0")/../web"

if ! command -v npm >/dev/null || ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null; then
    echo "Node 20 or newer with npm is missing: the server is built without its web page" >&2
    exit 77
fi

export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
stamp=node_modules/.installed
if ! cmp -s package-lock.json "$stamp"; then
    # Not `npm ci`: it needs every platform's binaries in the lock file, and some mirrors lack them.
    npm install --no-save --no-audit --no-fund --loglevel=error
    cp package-lock.json "$stamp"
fi

# Rebuilds if a source is newer than the last build.
if [[ -f dist/index.html.br && -z $(find src public index.html openapi.json package-lock.json vite.config.ts scripts -newer dist/index.html.br -print -quit) ]]; then
    echo "the page is up to date"
    exit 0
fi
npm run --silent build
