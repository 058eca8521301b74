#!/usr/bin/env bash
# Tests our client with a real gateway in both dialects: LiteLLM's proxy from PyPI, installed in its own folder, in front
# of a fake provider. Exits with 77 if LiteLLM can't be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/third_party.sh

version=1.106.2
folder=$(folder_of litellm "$version")
work=$(mktemp -d)
processes=()

clean_up() {
    # Only processes started by this script.
    for process in "${processes[@]}"; do
        kill "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap clean_up EXIT

install() {
    install_python "$folder/venv" "litellm[proxy]==$version"
}

install_once "$@"
venv=$folder/venv

build_programs
"$target/debug/examples/fake_provider" >"$work/fake" &
processes+=($!)
until [[ -s $work/fake ]]; do sleep 0.1; done
fake=$(<"$work/fake")

# One backend with vLLM's protocol and one with Anthropic's.
cat >"$work/config.yaml" <<YAML
model_list:
  - model_name: speaks-openai
    litellm_params: { model: hosted_vllm/fake-model, api_base: "$fake/v1", api_key: none }
  - model_name: speaks-anthropic
    litellm_params: { model: anthropic/fake-model, api_base: "$fake", api_key: none }
litellm_settings: { num_retries: 0, telemetry: false }
router_settings: { disable_cooldowns: true, num_retries: 0 }
YAML
port=$(free_port)
key=sk-$(python3 -c 'import secrets; print(secrets.token_hex(24))')
(cd "$work" && exec env LITELLM_MASTER_KEY="$key" LITELLM_LOCAL_MODEL_COST_MAP=True \
    "$venv/bin/litellm" --config config.yaml --host 127.0.0.1 --port "$port" --telemetry False) >"$work/log" 2>&1 &
processes+=($!)
gateway=$!

for _ in {1..600}; do
    if "$venv/bin/python" -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/health/liveliness')" 2>/dev/null; then
        break
    fi
    kill -0 "$gateway" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    sleep 0.5
done

export FOREWORD_TEST_LITELLM="http://127.0.0.1:$port" FOREWORD_TEST_LITELLM_KEY="$key"
if ! ignored_tests litellm; then
    printf '\noutput of LiteLLM:\n' >&2
    tail -n 60 "$work/log" >&2
    exit 1
fi
