# Functions for the scripts that test with third-party programs; sourced by them, in the root of the repository.
#
# Each script sets `folder`, defines `install`, and calls `install_once "$@"`. With `--install` as its argument it stops
# there and prints the folder: `test.sh` installs everything while the compiler runs.

target=${CARGO_TARGET_DIR:-$PWD/target}

# Exit code 77: the caller skips the test.
cannot() {
    printf 'cannot install: %s\n' "$1" >&2
    exit 77
}

# The file `complete` shows that the installation was not interrupted.
install_once() {
    if [[ ! -e $folder/complete ]]; then
        rm -rf "$folder"
        mkdir -p "$folder"
        install
        touch "$folder/complete"
    fi
    if [[ ${1:-} == --install ]]; then
        printf '%s\n' "$folder"
        exit 0
    fi
}

# install_python VENV PACKAGE…: with `uv`, which is much faster than `pip`.
install_python() {
    local uv=$target/uv
    command -v python3 >/dev/null || cannot "there is no python3"
    if [[ ! -x $uv/bin/uv ]]; then
        python3 -m venv "$uv" || cannot "python3 has no venv; install the package python3-venv"
        "$uv/bin/pip" install --quiet --disable-pip-version-check uv || cannot "pip can't reach a registry"
    fi
    "$uv/bin/uv" venv --quiet --python "$(command -v python3)" "$1" || cannot "uv can't create a virtual environment"
    VIRTUAL_ENV=$1 "$uv/bin/uv" pip install --quiet --no-cache "${@:2}" || cannot "uv can't install ${*:2}"
}

# install_node FOLDER PACKAGE…
install_node() {
    command -v npm >/dev/null || cannot "there is no npm"
    mkdir -p "$1"
    npm install --silent --no-fund --no-audit --prefix "$1" "${@:2}" || cannot "npm can't install ${*:2}"
}

# The folder of these packages: another version gets another folder.
folder_of() {
    printf '%s/%s-%s' "$target" "$1" "$(printf '%s ' "${@:2}" | cksum | cut -d' ' -f1)"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The whole workspace, as in `test.sh`: with another selection of packages, Cargo selects other features and compiles
# everything again.
build_programs() {
    cargo build --quiet --workspace --bins --examples
}

# ignored_tests NAME: those of the integration tests that need a third-party program. Fails if there is none.
ignored_tests() {
    local output
    if ! output=$(cargo test --quiet --workspace --test it -- --ignored "$1" 2>&1); then
        printf '%s\n' "$output"
        return 1
    fi
    printf '%s\n' "$output"
    if ! grep -q '^running [1-9]' <<<"$output"; then
        printf 'no ignored test is named `%s`\n' "$1" >&2
        return 1
    fi
}
