#!/usr/bin/env bash
# Kills a process that writes, again and again, and counts what was acknowledged and is not there. The same tests are
# part of `make test`; here their counts are shown. FOREWORD_KILL_SEED repeats the moments of an earlier run.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=(what_is_acknowledged_outlasts_100_kills_on_sqlite)
if [[ ${FOREWORD_TEST_POSTGRES:-} == skip ]]; then
    echo "Postgres: SKIPPED (FOREWORD_TEST_POSTGRES=skip)"
else
    if [[ -z ${FOREWORD_TEST_POSTGRES:-} ]]; then
        if settings=$(./scripts/postgres.sh start); then
            eval "$settings"
            trap './scripts/postgres.sh stop' EXIT
        else
            echo "Postgres: SKIPPED (it can't be started, see above)"
        fi
    fi
    if [[ -n ${FOREWORD_TEST_POSTGRES:-} ]]; then
        tests+=(what_is_acknowledged_outlasts_25_kills_on_postgres)
    fi
fi

cargo build --quiet --package foreword-store --test it
for test in "${tests[@]}"; do
    cargo test --quiet --package foreword-store --test it -- --exact "kill::$test" --nocapture |
        grep -E '^(SQLite|Postgres): '
done
