#!/usr/bin/env bash
# Makes the two base images of the Dockerfile out of this machine, where no registry has them: a Debian with a C
# compiler, the Rust toolchain of this machine and the sources of all crates; and a root with nothing but certificate
# authorities and a user. A build on them needs no network.
#
#   eval "$(scripts/local-bases.sh)"    prints RUST_IMAGE=… and BASE_IMAGE=…; what is there is kept
#
#   ENGINE=docker      or podman
#
# Needs a Debian, root, mmdebstrap, cargo and an engine; says what of it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

engine=${ENGINE:-docker}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/vmoperator-bases
packages=gcc,libc6-dev,ca-certificates
authorities=/etc/ssl/certs/ca-certificates.crt

say() { echo "local-bases.sh: $*" >&2; }

lacks=()
[ "$(id -u)" = 0 ] || lacks+=('root')
for program in mmdebstrap cargo rustc "$engine"; do
    command -v "$program" >/dev/null || lacks+=("$program")
done
[ -f "$authorities" ] || lacks+=("$authorities (package ca-certificates)")
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -f /etc/debian_version ] && [ -n "$codename" ] || lacks+=('a Debian')
if [ ${#lacks[@]} -gt 0 ]; then
    say 'NO BASE IMAGES can be made here; this is missing:'
    printf '  %s\n' "${lacks[@]}" >&2
    exit 6
fi

sysroot=$(rustc --print sysroot)
stamp=$({ rustc -vV; echo "$codename $packages 1"; cat Cargo.lock; } | sha256sum | cut -c1-12)
rust=localhost/vmoperator-rust:$stamp
base=localhost/vmoperator-base:1
mkdir -p "$cache"

debian() {
    local file=$cache/$codename.tar mirror exclude=() folder
    [ -f "$file" ] || {
        say "a Debian $codename with $packages"
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n 1p)
        for folder in doc info lintian locale man; do exclude+=(--dpkgopt="path-exclude=/usr/share/$folder/*"); done
        mmdebstrap --mode=root --format=tar --variant=essential --include="$packages" "${exclude[@]}" \
            "$codename" "$file.part.tar" "deb $mirror $codename main" >&2
        mv "$file.part.tar" "$file"
    }
    tar -C "$1" --numeric-owner -xpf "$file"
}

make_rust() {
    local root=$1
    debian "$root"
    mkdir -p "$root/usr/local/cargo" "$root/usr/local/lib"
    # Neither the documentation nor what formats and lints.
    cp -a "$sysroot/bin" "$root/usr/local/"
    cp -a "$sysroot/lib/." "$root/usr/local/lib/"
    say 'the sources of all crates'
    cargo vendor --locked --versioned-dirs --quiet "$root/usr/local/cargo/vendor" >/dev/null
    cat >"$root/usr/local/cargo/config.toml" <<'END'
[source.crates-io]
replace-with = "vendored"
[source.vendored]
directory = "/usr/local/cargo/vendor"
[net]
offline = true
END
    tar -C "$root" --numeric-owner -cf - . | "$engine" import \
        --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin' --change 'ENV CARGO_HOME=/usr/local/cargo' - "$rust" >&2
}

make_base() {
    local root=$1
    mkdir -p "$root/etc/ssl/certs" "$root/home/nonroot"
    cp "$authorities" "$root/etc/ssl/certs/"
    echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' >"$root/etc/passwd"
    echo 'nonroot:x:65532:' >"$root/etc/group"
    mkdir -m 1777 "$root/tmp"
    tar -C "$root" --owner=0 --group=0 --numeric-owner -cf - . | "$engine" import --change 'USER 65532' - "$base" >&2
}

work=$(mktemp -d -p "$cache")
trap 'rm -rf "$work"' EXIT
mkdir "$work/rust" "$work/base"
"$engine" image inspect "$rust" >/dev/null 2>&1 || make_rust "$work/rust"
"$engine" image inspect "$base" >/dev/null 2>&1 || make_base "$work/base"
echo "RUST_IMAGE=$rust"
echo "BASE_IMAGE=$base"
