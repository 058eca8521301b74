#!/usr/bin/env bash
# Runs the console blocks of README.md and docs/ and updates their output if it differs in more than times and ids. With
# --check it only compares, as `make test` does. Read the diff before you commit it.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
'') export FOREWORD_RECORD_DOCS=1 ;;
--check) ;;
*)
    printf 'usage: %s [--check]\n' "$0" >&2
    exit 2
    ;;
esac

cargo test -p foreword --test it documented_sessions

if [[ -n ${FOREWORD_RECORD_DOCS:-} ]]; then
    git --no-pager diff --stat -- README.md docs
fi
