#!/usr/bin/env bash
# A temporary Postgres for tests and benchmarks, with its own folder and port; removed afterwards.
#
#   scripts/postgres.sh install                    only installs Debian's postgresql, if it is missing
#   eval "$(scripts/postgres.sh start)"            installs Debian's postgresql if it is missing and permitted
#   eval "$(scripts/postgres.sh start durable)"    the same with durable commits (fsync)
#   scripts/postgres.sh stop                       stops it and all servers that the tests have started
#
# Tests need no durable data, so fsync is off for them. Benchmarks need it on for comparable commit costs.
# -E: the error trap also runs for failures inside functions.
set -Eeuo pipefail

fail() {
    printf 'postgres: %s\n' "$1" >&2
    exit 1
}

# The folder with Postgres's programs; the newest version if there are several.
find_programs() {
    local newest
    newest=$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)
    if [[ -x $newest ]]; then
        dirname "$newest"
    elif command -v initdb >/dev/null 2>&1; then
        dirname "$(command -v initdb)"
    fi
}

install() {
    local root=()
    if ((EUID != 0)); then
        sudo -n true 2>/dev/null || return 1
        root=(sudo -n)
    fi
    command -v apt-get >/dev/null 2>&1 || return 1
    # Keeps Debian from starting its own server.
    "${root[@]}" mkdir -p /etc/postgresql-common || return 1
    if [[ ! -e /etc/postgresql-common/createcluster.conf ]]; then
        echo 'create_main_cluster = false' |
            "${root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null || return 1
    fi
    { "${root[@]}" apt-get update -qq || true; } >&2
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >&2
}

# Postgres refuses to run as root.
choose_user() {
    if ((EUID != 0)); then
        return
    elif id postgres >/dev/null 2>&1; then
        echo postgres
    else
        echo nobody
    fi
}

as_user() {
    if [[ -n $user ]]; then
        runuser -u "$user" -- "$@"
    else
        "$@"
    fi
}

free_port() {
    local port
    for _ in {1..50}; do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
    fail "no free port"
}

start() {
    local bin folder port durable=off
    case ${1:-} in
    durable) durable=on ;;
    '') ;;
    *) fail "\`start\` knows \`durable\` and nothing else" ;;
    esac
    bin=$(find_programs)
    if [[ -z $bin ]]; then
        install || fail "there is none, and it can't be installed; install the package \`postgresql\`"
        bin=$(find_programs)
        [[ -n $bin ]] || fail "it was installed, but \`initdb\` can't be found"
    fi
    user=$(choose_user)
    folder=$(mktemp -d "${TMPDIR:-/tmp}/foreword-postgres.XXXXXX")
    if [[ -n $user ]] && chown "$user" "$folder" && ! (cd / && runuser -u "$user" -- test -x "$folder"); then
        # Only root can access this folder, so Postgres can't.
        rmdir "$folder"
        folder=$(mktemp -d /tmp/foreword-postgres.XXXXXX)
    fi
    trap 'remove "$folder"' ERR
    trap 'remove "$folder"; exit 130' INT TERM
    if [[ -n $user ]]; then chown "$user" "$folder"; fi
    cd "$folder"
    as_user "$bin/initdb" --pgdata data --username postgres --auth trust --encoding UTF8 --locale C --no-sync >/dev/null
    as_user tee -a data/postgresql.conf >/dev/null <<-SETTINGS
		listen_addresses = '127.0.0.1'
		fsync = $durable
		full_page_writes = $durable
		synchronous_commit = $durable
		max_connections = 300
		unix_socket_directories = ''
	SETTINGS
    # Tests that stop and restart a server copy this one, which is faster than `initdb`.
    as_user cp -a data template
    for _ in {1..5}; do
        port=$(free_port)
        if as_user "$bin/pg_ctl" start --pgdata data --wait --timeout 60 --log log -o "-p $port" >/dev/null; then
            printf 'export FOREWORD_TEST_POSTGRES=postgres://postgres@127.0.0.1:%s/postgres\n' "$port"
            printf 'export FOREWORD_TEST_POSTGRES_BIN=%q\n' "$bin"
            printf 'export FOREWORD_TEST_POSTGRES_DIR=%q\n' "$folder"
            printf 'export FOREWORD_TEST_POSTGRES_USER=%q\n' "$user"
            trap - ERR INT TERM
            return
        fi
    done
    cat log >&2
    remove "$folder"
    fail "it does not start"
}

remove() {
    local folder=$1 data bin
    bin=${FOREWORD_TEST_POSTGRES_BIN:-$(find_programs)}
    for data in "$folder"/data "$folder"/private-*/data; do
        if [[ -e $data/postmaster.pid ]]; then
            (cd "$folder" && as_user "$bin/pg_ctl" stop --pgdata "$data" --mode immediate --wait >/dev/null) || true
        fi
    done
    rm -rf "$folder"
}

case ${1:-} in
install) [[ -n $(find_programs) ]] || install || fail "it can't be installed; install the package \`postgresql\`" ;;
start) start "${2:-}" ;;
stop)
    folder=${FOREWORD_TEST_POSTGRES_DIR:-}
    [[ -n $folder ]] || fail "FOREWORD_TEST_POSTGRES_DIR is not set"
    [[ -d $folder/template ]] || fail "$folder is none of ours"
    user=${FOREWORD_TEST_POSTGRES_USER-$(choose_user)}
    remove "$folder"
    ;;
*) fail "use \`install\`, \`start\` or \`stop\`" ;;
esac
