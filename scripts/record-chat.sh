#!/usr/bin/env bash
# Records the session of `foreword chat` in docs/chat.md again, at a real terminal, with the offline model.
# With --check it only compares, ignoring times and ids; so does `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
'') export FOREWORD_RECORD_CHAT=1 ;;
--check) ;;
*)
    printf 'usage: %s [--check]\n' "$0" >&2
    exit 2
    ;;
esac

cargo test -p foreword --test it recorded_session

if [[ -n ${FOREWORD_RECORD_CHAT:-} ]]; then
    git --no-pager diff --stat -- docs/chat.md
fi
