#!/usr/bin/env bash
# Runs in a minimal Debian, as root, started by package-tests.sh: installs the older package, upgrades it, uses the
# program as the service would, removes and purges it. Arguments: the new version, and a free port.
set -euo pipefail
version=$1
port=$2
home=/var/lib/foreword

fail() {
    printf 'FAILED: %s\n' "$1" >&2
    exit 1
}

# Everything but dpkg's own records and caches.
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /root -o -path /tmp -o -path /var/lib/dpkg \
        -o -path /var/cache \) -prune -o ! -path /var/log/dpkg.log ! -name '*-' ! -name '.pwd.lock' -print | sort
}

# As in the unit.
user=(setpriv --reuid foreword --regid foreword --init-groups env -i PATH=/usr/bin:/bin HOME="$home" FOREWORD_WORKSPACE="$home")

as_foreword() {
    "${user[@]}" foreword "$@"
}

is_ready() {
    exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
    grep -q '^HTTP/1.[01] 200' <&3
}

files >/tmp/before
cp /etc/passwd /tmp/passwd

echo "install 0.1.9"
dpkg -i /root/old.deb
[[ $(dpkg-query -W -f '${Version} ${Status}' foreword) == "0.1.9 install ok installed" ]] || fail "not installed"
[[ $(stat -c '%U:%G %a' $home) == "foreword:foreword 700" ]] || fail "the folder is $(stat -c '%U:%G %a' $home)"
[[ $(stat -c '%U:%G' $home/foreword.yaml) == foreword:foreword ]] || fail "the workspace has another owner"
[[ $(stat -c '%U:%G %a' /etc/foreword/environment) == "root:root 600" ]] || fail "the environment can be read"
[[ $(getent passwd foreword | cut -d: -f6,7) == "$home:/usr/sbin/nologin" ]] || fail "the user is $(getent passwd foreword)"
dpkg --verify foreword

echo "upgrade to $version"
echo 'ANTHROPIC_API_KEY=test' >>/etc/foreword/environment
echo 'Carol grows tomatoes.' >$home/MEMORY.md
dpkg -i /root/new.deb
[[ $(foreword --version) == "foreword $version" ]] || fail "$(foreword --version)"
grep -q ANTHROPIC_API_KEY=test /etc/foreword/environment || fail "the upgrade lost a changed configuration"
grep -q tomatoes $home/MEMORY.md || fail "the upgrade changed the workspace"

echo "use"
as_foreword build | grep -q . || fail "build prints nothing"
# Not through the function, which would be a process of its own. setpriv and env replace themselves.
"${user[@]}" foreword serve --listen "127.0.0.1:$port" >/tmp/serve.log 2>&1 &
for _ in $(seq 150); do
    if is_ready 2>/dev/null; then ready=yes; break; fi
    sleep 0.1
done
[[ ${ready:-} == yes ]] || { cat /tmp/serve.log; fail "serve is not ready"; }
kill -TERM $!
code=0
wait $! || code=$?
((code == 0)) || { cat /tmp/serve.log; fail "serve ends with $code after SIGTERM"; }
[[ -f $home/.foreword/foreword.db ]] || fail "there is no database"
root_home=$(mktemp -d)
foreword init "$root_home/own" >/dev/null
foreword -w "$root_home/own" build | grep -q . || fail "build prints nothing for another user"
rm -rf "$root_home"

echo "remove"
dpkg -r foreword
[[ ! -e /usr/bin/foreword ]] || fail "the program is still there"
[[ -f $home/.foreword/foreword.db && -f /etc/foreword/environment ]] || fail "removal deleted data"

echo "purge"
dpkg -P foreword
files >/tmp/after
diff /tmp/before /tmp/after || fail "purge leaves files, or deleted others"
diff /tmp/passwd /etc/passwd || fail "purge leaves the user"
if getent passwd foreword || getent group foreword; then fail "purge leaves the user"; fi

echo "install again after a purge"
dpkg -i /root/new.deb
as_foreword build | grep -q . || fail "build prints nothing"
dpkg -P foreword
printf 'passed: install, upgrade, use, remove, purge, install again\n'
