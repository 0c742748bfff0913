#!/usr/bin/env bash
# The one gate: format, lints, tests, documentation, dependencies. Passes on a fresh machine with Rust and a C
# compiler; Go is needed only where the control plane's binaries cannot be downloaded. Starts and stops every server
# that it needs, on loopback.
#
#   scripts/check.sh            everything
#   scripts/check.sh STAGE...   only these: format lints tests docs dependencies
set -euo pipefail
cd "$(dirname "$0")/.."

stages=(format lints tests docs dependencies)
[ $# -eq 0 ] || stages=("$@")

# One target folder, one profile; incremental files double its size and serve only whoever edits.
export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}"
export RUST_BACKTRACE="${RUST_BACKTRACE:-1}"
unset VMOPERATOR_FAILPOINT

say() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

run_format() {
    cargo fmt --all --check
}

run_lints() {
    cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
    # What the container holds: no CLI, no mock, no fail points.
    cargo clippy --no-default-features --bin vmoperator --locked -- -D warnings
}

# The control plane's programs, once, before any test waits for them: found, downloaded or built (minutes).
prepare_control_plane() {
    local dir ready pid
    cargo build --all-features --locked --bin vmctl
    dir=$(mktemp -d)
    exec 3< <(exec target/debug/vmctl control-plane --dir "$dir")
    pid=$!
    if ! read -r ready <&3; then
        echo "check.sh: the control plane did not come up; see above for what is missing" >&2
        return 1
    fi
    echo "control plane: $ready"
    kill "$pid"
    # It has stopped its children when it ends.
    while read -r ready <&3; do :; done
    exec 3<&-
    rm -rf "$dir"
}

run_tests() {
    prepare_control_plane
    # Fail points are compiled in: the tests kill the operator at named points. Test files that start a control plane
    # run one after another, as cargo does; inside a file they share it.
    cargo test --workspace --all-features --locked --no-fail-fast
}

run_docs() {
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features --locked
}

run_dependencies() {
    scripts/cargo-deny.sh
}

for stage in "${stages[@]}"; do
    case "$stage" in
        format | lints | tests | docs | dependencies) ;;
        *)
            echo "check.sh: no stage '$stage'; there are: format lints tests docs dependencies" >&2
            exit 2
            ;;
    esac
    say "$stage"
    "run_$stage"
done
say "all stages passed: ${stages[*]}"
