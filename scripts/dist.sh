#!/usr/bin/env bash
# Builds all packages of this platform from one binary, into target/packages: an archive, a .deb, a Python wheel, npm
# packages, the folder of a container image, and SHA256SUMS. The same binary gives the same bytes. Arguments select
# packages: `archive`, `deb`, `wheel`, `npm`, `container`.
#
#   FOREWORD_BIN=…                an existing binary; otherwise the page and the binary are built
#   FOREWORD_PACKAGE_VERSION=…    another version in the packages, for tests of an upgrade
#   FOREWORD_PACKAGES=…           another folder for the result
#   FOREWORD_COMPRESSION_LEVEL=1  faster and larger; 9 by default
#
# Needs Python 3.10 and npm; dpkg-deb and readelf on Linux. Nothing is published.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

target=${CARGO_TARGET_DIR:-$PWD/target}
packages=${FOREWORD_PACKAGES:-$target/packages}
export FOREWORD_COMPRESSION_LEVEL=${FOREWORD_COMPRESSION_LEVEL:-9}
# The time of all files: that of the last commit, or the earliest that a zip file can have.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

build_binary() {
    local page=0
    ./scripts/page.sh >&2 || page=$?
    ((page == 0 || page == 77)) || fail "the web page can't be built"
    cargo build --profile dist --locked --package foreword >&2
    printf '%s/dist/foreword%s' "$target" "$suffix"
}

# The operating system and the processor, in the words of npm. The processor is that of the binary, if it can be read.
detect_platform() {
    suffix=
    case $(uname -s) in
        Linux) os=linux ;;
        Darwin) os=darwin ;;
        MINGW* | MSYS*) os=win32 suffix=.exe ;;
        *) fail "no packages are defined for $(uname -s)" ;;
    esac
    case $(uname -m) in
        x86_64 | amd64) cpu=x64 ;;
        aarch64 | arm64) cpu=arm64 ;;
        *) fail "no packages are defined for $(uname -m)" ;;
    esac
}

# The newest version of glibc that the binary needs, such as 2.34; and the libraries it loads, which must be few.
inspect_linux_binary() {
    case $(readelf -h "$binary" | sed -n 's/ *Machine: *//p') in
        *X86-64*) cpu=x64 ;;
        AArch64) cpu=arm64 ;;
        *) fail "\`$binary\` is for another processor" ;;
    esac
    glibc=$(readelf --version-info --wide "$binary" | grep -o 'GLIBC_2\.[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -1)
    [[ -n $glibc ]] || fail "\`$binary\` does not use glibc"
    local library
    while read -r library; do
        case $library in
            libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | libgcc_s.so.1 | ld-linux-*) ;;
            *) fail "\`$binary\` needs $library, which the packages do not declare" ;;
        esac
    done < <(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
}

# The names of a platform differ: Rust's for the archive, Debian's, Python's, and npm's.
name_platform() {
    local machine=x86_64
    if [[ $cpu == arm64 ]]; then machine=aarch64; fi
    case $os in
        linux)
            triple=$machine-unknown-linux-gnu
            debian=amd64
            if [[ $cpu == arm64 ]]; then debian=arm64; fi
            wheel_tag=manylinux_${glibc/./_}_$machine
            ;;
        darwin)
            triple=$machine-apple-darwin
            wheel_tag=macosx_10_12_x86_64
            if [[ $cpu == arm64 ]]; then wheel_tag=macosx_11_0_arm64; fi
            ;;
        win32)
            triple=$machine-pc-windows-msvc
            wheel_tag=win_amd64
            ;;
    esac
}

# Files that several packages have: the licences, manual pages and completions.
prepare_shared_files() {
    shared=$work/shared
    mkdir -p "$shared/completions"
    "$binary" man "$shared/man" >&2
    "$binary" completions bash >"$shared/completions/foreword.bash"
    "$binary" completions zsh >"$shared/completions/_foreword"
    "$binary" completions fish >"$shared/completions/foreword.fish"
    "$binary" completions powershell >"$shared/completions/foreword.ps1"
}

make_archive() {
    local folder=$work/foreword-$version-$triple ending=tar.gz
    mkdir -p "$folder"
    install -m 755 "$binary" "$folder/foreword$suffix"
    install -m 644 README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$folder/"
    cp -R "$shared/man" "$shared/completions" "$folder/"
    if [[ $os == linux ]]; then install -m 644 packaging/foreword.service "$folder/"; fi
    if [[ $os == win32 ]]; then ending=zip; fi
    "$python" packaging/archive.py "$folder" "$packages/foreword-$version-$triple.$ending"
}

make_wheel() {
    "$python" packaging/python/wheel.py "$binary" "$version" "$wheel_tag" "$packages"
}

# pack FOLDER: an npm tarball. npm itself gives all files one time.
pack() {
    install -m 644 LICENSE-APACHE LICENSE-MIT "$1/"
    (cd "$packages" && npm pack --silent "$1" | sed "s|^|$packages/|")
}

make_npm() {
    local main=$work/npm/foreword platform=$work/npm/platform libc=
    mkdir -p "$work/npm"
    cp -R packaging/npm/foreword packaging/npm/platform "$work/npm/"
    if [[ $os == linux ]]; then libc=$',\\\n  "libc": ["glibc"]'; fi
    sed -i.bak "s/@VERSION@/$version/" "$main/package.json"
    sed -i.bak "s/@VERSION@/$version/; s/@OS@/$os/; s/@CPU@/$cpu/; s/@OS@/$os/; s/@CPU@/$cpu/; s/@LIBC@/$libc/" \
        "$platform/package.json"
    rm "$main/package.json.bak" "$platform/package.json.bak"
    chmod 755 "$main/bin/foreword.js"
    install -m 755 "$binary" "$platform/foreword$suffix"
    pack "$main"
    pack "$platform"
}

# The unit with the path of the package, without the comment on how to install it by hand.
debian_unit() {
    printf '# Foreword as a systemd service. See foreword(1).\n\n'
    sed -e '1,/^\[Unit\]/{/^\[Unit\]/!d;}' -e 's|/usr/local/bin/foreword|/usr/bin/foreword|' \
        -e 's|^Documentation=.*|Documentation=man:foreword(1)|' packaging/foreword.service
}

make_deb() {
    local root=$work/deb
    mkdir -p "$root"/DEBIAN "$root"/usr/share/{doc/foreword,man/man1,bash-completion/completions}
    install -D -m 755 "$binary" "$root/usr/bin/foreword"
    # `/lib` is a link to `/usr/lib` on today's Debian.
    mkdir -p "$root/usr/lib/systemd/system"
    debian_unit >"$root/usr/lib/systemd/system/foreword.service"
    install -D -m 600 packaging/debian/environment "$root/etc/foreword/environment"
    install -m 644 "$shared"/man/*.1 "$root/usr/share/man/man1/"
    install -m 644 "$shared/completions/foreword.bash" "$root/usr/share/bash-completion/completions/foreword"
    install -D -m 644 "$shared/completions/_foreword" "$root/usr/share/zsh/vendor-completions/_foreword"
    install -D -m 644 "$shared/completions/foreword.fish" "$root/usr/share/fish/vendor_completions.d/foreword.fish"
    install -m 644 packaging/debian/copyright LICENSE-MIT LICENSE-APACHE "$root/usr/share/doc/foreword/"
    install -m 644 CHANGELOG.md "$root/usr/share/doc/foreword/changelog"
    gzip -9 -n "$root"/usr/share/man/man1/* "$root"/usr/share/doc/foreword/{changelog,LICENSE-MIT,LICENSE-APACHE}
    install -m 755 packaging/debian/{postinst,prerm,postrm} "$root/DEBIAN/"
    printf '/etc/foreword/environment\n' >"$root/DEBIAN/conffiles"
    (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    local size
    size=$(find "$root/usr" "$root/etc" -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')
    # passwd has useradd.
    sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$debian/; s/@INSTALLED_SIZE@/$size/" \
        -e "s/@DEPENDS@/libc6 (>= $glibc), libgcc-s1, passwd/" packaging/debian/control.in >"$root/DEBIAN/control"
    dpkg-deb --root-owner-group "-z$FOREWORD_COMPRESSION_LEVEL" "-Z$compression" --build "$root" \
        "$packages/foreword_${version}_$debian.deb" >&2
    printf '%s\n' "$packages/foreword_${version}_$debian.deb"
}

# A folder, not one file: several binaries make an image for several platforms.
make_container() {
    local folder=$packages/container
    mkdir -p "$folder/linux/$debian" "$folder/licenses"
    install -m 644 packaging/Containerfile.binary "$folder/Containerfile"
    install -m 644 LICENSE-APACHE LICENSE-MIT "$folder/licenses/"
    install -m 755 "$binary" "$folder/linux/$debian/foreword"
    printf '%s\n' "$folder"
}

detect_platform
python=$(command -v python3 || command -v python) || fail "Python 3.10 is missing"
command -v npm >/dev/null || fail "npm is missing"
binary=${FOREWORD_BIN:-$(build_binary)}
[[ -x $binary ]] || fail "there is no program \`$binary\`"
version=${FOREWORD_PACKAGE_VERSION:-$("$binary" --version | cut -d' ' -f2)}
if [[ $os == linux ]]; then inspect_linux_binary; fi
name_platform
# gzip is fast at a low level; xz is small at a high one.
compression=xz
if ((FOREWORD_COMPRESSION_LEVEL < 6)); then compression=gzip; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Only an earlier result is replaced.
if [[ -n $(ls -A "$packages" 2>/dev/null) && ! -e $packages/SHA256SUMS ]]; then
    fail "\`$packages\` has other files; empty it, or set FOREWORD_PACKAGES"
fi
rm -rf "$packages"
mkdir -p "$packages"
packages=$(cd "$packages" && pwd)

selected=("$@")
if (($# == 0)); then
    selected=(archive wheel npm)
    if [[ $os == linux ]]; then selected+=(deb container); fi
fi
prepare_shared_files
for package in "${selected[@]}"; do
    case $package in
        archive | deb | wheel | npm | container) "make_$package" ;;
        *) fail "\`$package\` is not one of archive, deb, wheel, npm, container" ;;
    esac
done
sums=(sha256sum)
command -v sha256sum >/dev/null || sums=(shasum -a 256)
(cd "$packages" && find . -type f | sed 's|^\./||' | LC_ALL=C sort | xargs "${sums[@]}" >"$work/SHA256SUMS")
mv "$work/SHA256SUMS" "$packages/"
printf '%s\n' "$packages/SHA256SUMS"
