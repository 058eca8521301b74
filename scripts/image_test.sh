#!/bin/sh
# Runs in a container of the image, as its user, started by package-tests.sh: uses the program as the image starts it.
# Arguments: the version, and a free port.
set -eu

[ "$(id -u):$(id -g)" = 10001:10001 ]
[ "$(pwd)" = /workspace ]
[ "$(foreword --version)" = "foreword $1" ]
foreword init >/dev/null
foreword build | grep -q .
foreword serve --listen "127.0.0.1:$2" >/tmp/serve.log 2>&1 &
server=$!
# As the health check of the image.
curl --retry 100 --retry-delay 1 --retry-all-errors --fail --silent --output /dev/null "http://127.0.0.1:$2/readyz"
kill -TERM "$server"
wait "$server"
