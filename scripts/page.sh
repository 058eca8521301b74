#!/usr/bin/env bash
# Builds the web page into web/dist, from where the server takes it into the program. Exit code 77: there is no Node here, and
# the program is built without a page.
set -euo pipefail
cd "$(dirname "$0")/../web"

if ! command -v npm >/dev/null || ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null; then
    echo "no Node 20 or newer with npm here: the server is built without its web page" >&2
    exit 77
fi

export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
stamp=node_modules/.installed
if ! cmp -s package-lock.json "$stamp"; then
    # Not `npm ci`: it wants every platform's binaries in the lock file, and registries that mirror others leave some out.
    npm install --no-save --no-audit --no-fund --loglevel=error
    cp package-lock.json "$stamp"
fi

# What is newer than the last build makes another one.
if [[ -f dist/index.html.br && -z $(find src public index.html openapi.json package-lock.json vite.config.ts scripts -newer dist/index.html.br -print -quit) ]]; then
    echo "the page is up to date"
    exit 0
fi
npm run --silent build
