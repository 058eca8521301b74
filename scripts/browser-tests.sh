#!/usr/bin/env bash
# Tests the web page in a real browser, served by the real program. Exits with 77 if Node or Chromium is missing and can't
# be installed. `--install` only installs Chromium; other arguments are those of Playwright.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/third_party.sh

if [[ -z ${CHROMIUM:-} ]]; then
    CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
fi
if [[ -z $CHROMIUM && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    (apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core) >&2 || true
    CHROMIUM=$(command -v chromium || true)
fi
if [[ -z $CHROMIUM ]]; then
    echo "Chromium is missing; install the package \`chromium\`" >&2
    exit 77
fi
if [[ ${1:-} == --install ]]; then exit 0; fi
export CHROMIUM

./scripts/page.sh || exit $?
build_programs
FOREWORD_BIN=${FOREWORD_BIN:-$(realpath "$target")/debug/foreword}
export FOREWORD_BIN
cd web
npm run --silent check
npm test --silent
npm run --silent browser -- "$@"
