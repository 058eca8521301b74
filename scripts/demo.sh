#!/usr/bin/env bash
# Builds foreword and shows it in four scenes on a demo workspace. On a terminal it then serves the demo page; in a pipe
# it exits. Writes only to the build folder and a new temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."

bold='' plain=''
if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then
    bold=$'\033[1m' plain=$'\033[0m'
fi

target=${CARGO_TARGET_DIR:-target}
log=$(mktemp "${TMPDIR:-/tmp}/foreword-build.XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null || true; rm -f "$log"' EXIT

# progress PID: one line about the build, rewritten on a terminal until the process ends.
progress() {
    [[ -t 2 ]] || { printf 'Building foreword, about five minutes the first time.\n' >&2; return; }
    while kill -0 "$1" 2>/dev/null; do
        printf '\rBuilding foreword: %d packages compiled, %d s (about five minutes the first time) ' \
            "$(grep -c '^ *Compiling' "$log" || true)" "$SECONDS" >&2
        sleep 0.5
    done
    printf '\r\033[K' >&2
}

# The page is built while the libraries compile; the program embeds it, so it comes last.
build() {
    ./scripts/page.sh &
    local page=$! code=0
    cargo build --profile demo -p foreword-agent -p foreword-providers -p foreword-offline -p foreword-observe
    wait "$page" || code=$?
    if ((code != 0 && code != 77)); then return "$code"; fi
    cargo build --profile demo --bin foreword
}

build >"$log" 2>&1 &
building=$!
progress "$building"
if ! wait "$building"; then
    cat "$log" >&2
    printf 'The build failed.\n' >&2
    exit 1
fi
printf 'Built in %d s.\n' "$SECONDS"

bin=$target/demo/foreword
folder=$(mktemp -d "${TMPDIR:-/tmp}/foreword-demo.XXXXXX")
export FOREWORD_WORKSPACE=$folder/workspace
"$bin" init "$FOREWORD_WORKSPACE" >/dev/null

scene() {
    printf '\n%s%s%s\n' "$bold" "$*" "$plain"
}

# run ARGUMENT…: prints the command as it would be typed, and runs it.
run() {
    printf '$ foreword'
    local argument
    for argument in "$@"; do
        if [[ $argument == *[!a-zA-Z0-9_:/.=-]* ]]; then printf ' "%s"' "$argument"; else printf ' %s' "$argument"; fi
    done
    printf '\n'
    "$bin" "$@"
}

# answer ARGUMENT…: the same for `chat`, without the part of the answer in which the offline model describes its prompt.
answer() {
    run chat "$@" 2>&1 | sed -u '/^I am the offline model/,/^$/d'
}

scene '1. A prompt has layers, and trust decides who gets them. Bob writes in a group:'
run explain --user bob --channel signal:bob --situation group

scene '2. Memory follows the same rule. Alice, the owner, asks; then Bob asks in the group:'
answer "what's Carol's birthday?"
answer "what's Carol's birthday?" --user bob --situation group

scene '3. A provider fails. Foreword retries, and knows afterwards what happened:'
answer $'!fail 429 times=2 retry-after=1\nwhen do we water the garden?'
run trace last

scene '4. A file is edited during a conversation. The frozen prompt stays the same bytes, so the cache still hits:'
{
    echo "who keeps the key to the shed?"
    until [[ $("$bin" --json conversations list) == *'"garden"'* ]]; do sleep 0.2; done
    sleep 1
    printf '$ echo "Be brief." >> SOUL.md\n' >&2
    echo 'Be brief.' >>"$FOREWORD_WORKSPACE/SOUL.md"
    echo "and who waters on Mondays?"
} | answer --conversation garden
run cache --conversation garden

cat <<NEXT

The workspace is $FOREWORD_WORKSPACE
It is yours; remove it when you are done. Try next:

  export FOREWORD_WORKSPACE=$FOREWORD_WORKSPACE
  $bin chat      # talk to it
  $bin serve     # HTTP, WebSocket, web page, drop-in endpoints
  $bin --help
NEXT

if [[ -t 0 && -t 1 ]]; then
    scene 'The web page, with sample data. Ctrl-C ends it.'
    unset FOREWORD_WORKSPACE
    trap 'rm -f "$log"' EXIT
    exec "$bin" serve --demo --listen 127.0.0.1:0
fi
