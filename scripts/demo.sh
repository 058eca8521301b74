#!/usr/bin/env bash
# Demonstrates Foreword on a demo workspace. Writes only to the build folder and a new temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."

bold='' plain=''
if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then
    bold=$'\033[1m' plain=$'\033[0m'
fi

# Prints a command and runs it.
show() {
    printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"
}

printf 'Building foreword. The first time this takes a minute or two.\n'
show ./scripts/page.sh
./scripts/page.sh || (($? == 77))
show cargo build --bin foreword
cargo build --bin foreword

bin="${CARGO_TARGET_DIR:-target}/debug/foreword"
workspace="$(mktemp -d "${TMPDIR:-/tmp}/foreword-demo.XXXXXX")/workspace"

foreword() {
    show "$bin" "$@"
    "$bin" "$@"
}

# Sends one message to the agent, printed with quotes.
ask() {
    local message=$1
    shift
    show "$bin --workspace $workspace chat${*:+ $*} \"$message\""
    "$bin" --workspace "$workspace" chat "$@" "$message"
}

printf '\nA workspace for an assistant shared by a family:\n'
foreword init "$workspace"

printf '\nThe prompt for the owner, and why each layer is included:\n'
foreword --workspace "$workspace" explain

printf '\nThe prompt when bob writes in a group; note what is withheld:\n'
foreword --workspace "$workspace" explain --user bob --channel signal:bob --situation group

printf '\nAlice asks a question. The offline model needs no key; memory, tools and trust are real:\n'
ask "what's Carol's birthday?"

printf '\nBob asks the same in the group and does not get the answer:\n'
ask "what's Carol's birthday?" --user bob --situation group

printf '\nA provider is busy three times. Foreword retries:\n'
ask $'!fail 429 times=3 retry-after=1\nwhen do we water the garden?'

printf '\nThe status:\n'
foreword --workspace "$workspace" status

if command -v curl >/dev/null; then
    printf '\nThe same over HTTP, for programs, web pages and messengers. Every request needs a token; the first start creates one:\n'
    said="$(dirname "$workspace")/serve.log"
    show "$bin --workspace $workspace serve --listen 127.0.0.1:0 &"
    "$bin" --workspace "$workspace" serve --listen 127.0.0.1:0 >/dev/null 2>"$said" &
    server=$!
    trap 'kill "$server" 2>/dev/null || true' EXIT
    until grep -q 'Ctrl-C stops' "$said"; do
        kill -0 "$server" || { cat "$said" >&2; exit 1; }
        sleep 0.1
    done
    url=$(sed -n 's/^listening on //p' "$said")
    token=$(grep -o -m1 'fwd_[a-z0-9]*' "$said")
    printf 'listening on %s\n' "$url"
    post() {
        show "curl -d '$2' $url$1"
        curl -sS -H "Authorization: Bearer $token" -H 'content-type: application/json' -d "$2" "$url$1"
        printf '\n'
    }
    post /api/v1/conversations '{"title":"Dinner"}'
    conversation=$(curl -sS -H "Authorization: Bearer $token" "$url/api/v1/conversations?limit=1" | grep -o '"id":"[^"]*"' | head -1 | cut -d'"' -f4)
    post "/api/v1/conversations/$conversation/messages" '{"text":"what is Carol'"'"'s birthday?"}'
    kill "$server"
    wait "$server" || true
fi

printf '\nCheck for problems:\n'
foreword --workspace "$workspace" check

keeper="$(dirname "$workspace")/keeper"
printf '\nAn agent that may rewrite some of its own layers. All versions are kept in one SQLite file:\n'
foreword init "$keeper" --blueprint sovereign >/dev/null
show "echo 'Check the runway first, then act.' | $bin --workspace $keeper layers set 6 - --message 'one rule'"
echo 'Check the runway first, then act.' | "$bin" --workspace "$keeper" layers set 6 - --message 'one rule'
foreword --workspace "$keeper" layers rollback 6 --to 1 --yes
foreword --workspace "$keeper" layers list
foreword --workspace "$keeper" store check

cat <<NEXT

The workspace is $workspace
It is yours; remove it when you are done. Try next:

  export FOREWORD_WORKSPACE=$workspace
  \$EDITOR \$FOREWORD_WORKSPACE/SOUL.md     # change who it is,
  $bin chat                  # talk to it,
  $bin build                 # read the prompt word for word,
  $bin serve                 # have it over HTTP: docs/server.md, docs/drop-in.md,
  $bin serve --demo          # and see it on a web page, with sample data
  $bin diff --a user=alice --b user=bob,channel=signal:bob,situation=group
  $bin --help
NEXT
