#!/usr/bin/env bash
# Fuzzes the HTTP interface of a real server with the offline model. schemathesis from PyPI generates valid and invalid
# requests from the OpenAPI document. No response may be a 5xx, and each must match the document. Takes about a minute;
# exits with 77 if schemathesis can't be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/third_party.sh

version=4.32.5
seconds=${SECONDS_EACH_API:-60}
seed=${SEED:-1}
folder=$(folder_of schemathesis "$version")
foreword=$target/debug/foreword
work=$(mktemp -d)
server=
as_bridge=

clean_up() {
    # Only processes started by this script.
    if [[ -n $as_bridge ]]; then kill "$as_bridge" 2>/dev/null || true; fi
    if [[ -n $server ]]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap clean_up EXIT

install() {
    install_python "$folder/venv" "schemathesis==$version"
}

install_once "$@"
build_programs

# A workspace with some data.
mkdir -p "$work/house/workflows"
cat >"$work/house/foreword.yaml" <<'YAML'
agent: { name: Ada, model: offline/echo }
users:
  - { name: alice, trust: full, match: ["terminal:default"] }
  - { name: bob, trust: inner, match: ["signal:bob"] }
schedules: { greeting: { cron: "0 7 1 1 *", prompt: Good morning. } }
YAML
cat >"$work/house/workflows/greet.yaml" <<'YAML'
name: greet
description: Greets somebody.
parameters: [{ name: whom, default: world }]
steps: [{ name: say, prompt: "Say hello to {{ whom }}." }]
YAML
export FOREWORD_WORKSPACE=$work/house
# All scopes except `assert`, without a rate limit.
token=${FOREWORD_FUZZ_TOKEN:-$("$foreword" token create --name fuzz --scope chat,observe,admin \
    --requests-per-minute 1000000 --concurrent-turns 1000 2>/dev/null)}

bridge=$("$foreword" token create --name bridge --scope chat,observe,assert \
    --requests-per-minute 1000000 --concurrent-turns 1000 2>/dev/null)

url=http://127.0.0.1:$(free_port)
"$foreword" serve --listen "${url#http://}" >"$work/log" 2>&1 &
server=$!
for _ in $(seq 100); do
    if curl --silent --fail --output /dev/null "$url/readyz"; then break; fi
    kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    sleep 0.1
done
authorization="Authorization: Bearer $token"
curl --silent --fail --output /dev/null --header "$authorization" --request POST "$url/api/v1/schedules/greeting/run"
curl --silent --fail --output "$work/openapi.json" --header "$authorization" "$url/openapi.json"

# fuzz HEADER SECONDS [OPTIONS]
# One worker in each process: CPython 3.11 counts the recursion depth of `ast.parse` once for all threads, so two workers
# that describe a lambda at the same time fail with a SystemError (python/cpython#106905).
fuzz() {
    "$folder/venv/bin/schemathesis" run openapi.json --url "$url" --header "$1" --max-time "$2" "${@:3}" \
        --phases examples,coverage,fuzzing --seed "$seed" --workers 1 --request-timeout 10 \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
        --suppress-health-check all --warnings off --max-failures 50 --no-color
}

# A bridge sets the user and channel of its messages.
cd "$work"
fuzz "Authorization: Bearer $bridge" "$((seconds / 3))" --include-path-regex '^/api/v1/(channels|conversations)' \
    >"$work/bridge" 2>&1 &
as_bridge=$!
# Excludes the WebSocket, which has no comparable response, and the endpoints of providers and MCP, which are not documented.
failed=0
fuzz "$authorization" "$seconds" --exclude-path-regex '^/(ws$|mcp$|anthropic/|openai/)' || failed=1
wait "$as_bridge" || failed=1
cat "$work/bridge"

# The server is still ready.
curl --silent --fail --output /dev/null "$url/readyz"
exit "$failed"
