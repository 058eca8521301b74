#!/usr/bin/env bash
# Kills a writing process repeatedly and counts acknowledged writes that were lost. `make test` includes the same tests;
# this prints their counts. FOREWORD_KILL_SEED repeats the timing of an earlier run.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=(acknowledged_writes_survive_100_kills_on_sqlite)
if [[ ${FOREWORD_TEST_POSTGRES:-} == skip ]]; then
    echo "Postgres: SKIPPED (FOREWORD_TEST_POSTGRES=skip)"
else
    if [[ -z ${FOREWORD_TEST_POSTGRES:-} ]]; then
        if settings=$(./scripts/postgres.sh start); then
            eval "$settings"
            trap './scripts/postgres.sh stop' EXIT
        else
            echo "Postgres: SKIPPED (can't be started, see above)"
        fi
    fi
    if [[ -n ${FOREWORD_TEST_POSTGRES:-} ]]; then
        tests+=(acknowledged_writes_survive_25_kills_on_postgres)
    fi
fi

cargo build --quiet --package foreword-store --test it
for test in "${tests[@]}"; do
    cargo test --quiet --package foreword-store --test it -- --exact "kill::$test" --nocapture |
        grep -E '^(SQLite|Postgres): '
done
