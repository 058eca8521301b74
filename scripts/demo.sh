#!/usr/bin/env bash
# Shows what Foreword does on a workspace made for it. Writes only into the build folder and a new temporary one.
set -euo pipefail
cd "$(dirname "$0")/.."

bold='' plain=''
if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then
    bold=$'\033[1m' plain=$'\033[0m'
fi

# Each command is shown as one would type it, then run.
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

# One message to the agent, shown in its quotes.
ask() {
    local message=$1
    shift
    show "$bin --workspace $workspace chat${*:+ $*} \"$message\""
    "$bin" --workspace "$workspace" chat "$@" "$message"
}

printf '\nA workspace for an assistant that a household shares:\n'
foreword init "$workspace"

printf '\nWhat the owner gets, and why:\n'
foreword --workspace "$workspace" explain

printf '\nThe same assistant, when bob writes in a group: look at what is withheld.\n'
foreword --workspace "$workspace" explain --user bob --channel signal:bob --situation group

printf '\nAlice asks it something. The model is the offline one, which needs no key; memory, tools and trust are real:\n'
ask "what's Carol's birthday?"

printf '\nBob asks the same in the group, and learns nothing:\n'
ask "what's Carol's birthday?" --user bob --situation group

printf '\nA provider that is busy three times. Nobody has to type anything again:\n'
ask $'!fail 429 times=3 retry-after=1\nwhen do we water the garden?'

printf '\nHow is it running?\n'
foreword --workspace "$workspace" status

if command -v curl >/dev/null; then
    printf '\nThe same over HTTP, for programs, pages and messengers. Every request needs a token; the first start makes one:\n'
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

printf '\nIs anything wrong with it?\n'
foreword --workspace "$workspace" check

keeper="$(dirname "$workspace")/keeper"
printf '\nAn agent that may rewrite some of its own layers. What is stored is in one SQLite file, and every version stays:\n'
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
  $bin serve --demo          # and see it all on a web page, with a household that has been busy
  $bin diff --a user=alice --b user=bob,channel=signal:bob,situation=group
  $bin --help
NEXT
