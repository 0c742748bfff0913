#!/usr/bin/env bash
# The one gate: format, lints, simulation, tests, documentation, dependencies. Passes on a fresh machine with Rust and
# a C compiler; Go is needed only where the control plane's binaries cannot be downloaded. Starts and stops every server
# that it needs, on loopback.
#
#   scripts/check.sh            everything
#   scripts/check.sh STAGE...   only these: format lints simulation tests docs dependencies
set -euo pipefail
cd "$(dirname "$0")/.."

stages=(format lints simulation tests docs dependencies)
[ $# -eq 0 ] || stages=("$@")

# One target folder, one profile; incremental files double its size and serve only whoever edits.
export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}"
export RUST_BACKTRACE="${RUST_BACKTRACE:-1}"
unset VMOPERATOR_FAILPOINT

# Tests that passed only when they were run again.
unstable=''

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

# Shows what runs under a process, and for how long: what a program that does not end was waiting for.
show_tree() {
    ps -eo pid,ppid,etimes,time,stat,args --cols 200 | awk -v root="$1" '
        NR == 1 { print; next }
        { line[$1] = $0; parent[$1] = $2; order[++n] = $1 }
        END { for (i = 1; i <= n; i++) for (p = order[i]; p > 1; p = parent[p]) if (p == root) { print line[order[i]]; break } }'
}

# One test program in its package's folder. What it printed is shown when it has ended, or has been ended: a program
# that waits for ever must name itself instead of holding up the whole gate.
run_program() {
    local folder=$1 program=$2 name began=$SECONDS status=0 pid waited=0
    name=$(basename "$program")
    printf '     Runs %s\n' "$name"
    # The one that all others would wait for; its tests wait for leases and time-outs rather than for a core.
    case "$name" in operator_manager-*) export RUST_TEST_THREADS="${RUST_TEST_THREADS:-4}" ;; esac
    (cd "$folder" && exec setsid --wait "$program") >"$logs/$name" 2>&1 </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null && [ "$waited" -lt "$TEST_LIMIT" ]; do
        sleep 1
        waited=$((waited + 1))
    done
    if kill -0 "$pid" 2>/dev/null; then
        printf '\ncheck.sh: %s had not ended after %s s and was killed; it was running:\n' "$name" "$waited" >>"$logs/$name"
        show_tree "$pid" >>"$logs/$name"
        # Its own session: the servers that it started go with it.
        pkill -KILL --session "$pid" 2>/dev/null || kill -KILL "$pid"
    fi
    wait "$pid" || status=$?
    {
        flock 9
        printf '\n     Ran %s in %s s\n' "$name" "$((SECONDS - began))"
        cat "$logs/$name"
    } 9>>"$logs/lock"
    [ "$status" -eq 0 ] || echo "$name: status $status" >>"$logs/failed"
    return "$status"
}

# Tests that failed are run again by themselves, when nothing else runs any more, twice at most: on a machine that stands
# still for seconds, waits are in vain and leases run out. Which ones needed it, and how often, is told at the end. A finding
# about an invariant (`I1: …`) gets no other chance, nor does a program that had to be ended.
run_again() {
    local name rest folder program failed left try
    mv "$logs/failed" "$logs/first"
    while IFS=: read -r name rest; do
        read -r folder program <<<"$(grep -- "/$name\$" "$logs/programs")"
        cp "$logs/$name" "$logs/again"
        for try in 2 3; do
            failed=$(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$logs/again")
            if [ -z "$failed" ] || grep -Eq '^(I[0-9]+: |check\.sh: )' "$logs/again"; then
                echo "$name:$rest" >>"$logs/failed"
                continue 2
            fi
            # .ci/run has to end in time, and what comes after this needs some of it.
            left=$((${CI_LIMIT:-5000} - 400 - SECONDS))
            if [ "$left" -lt 120 ]; then
                echo "$name:$rest, and no time was left for try $try" >>"$logs/failed"
                continue 2
            fi
            printf '\n     Once more, by themselves, of %s:\n%s\n' "$name" "$failed"
            # shellcheck disable=SC2086 # a name a word
            if (cd "$folder" && RUST_TEST_THREADS=1 timeout --kill-after=10 "$left" "$program" --exact $failed) >"$logs/again" 2>&1 </dev/null; then
                sed "s/^/try $try: $name /" <<<"$failed" >>"$logs/unstable"
                continue 2
            fi
            cat "$logs/again"
        done
        echo "$name:$rest, and again, and again" >>"$logs/failed"
    done <"$logs/first"
}

# What failed, and the first words of each reason: the last lines are what a reader of a long log sees.
show_failures() {
    local name
    while IFS=: read -r name _; do
        printf '\n%s\n' "$name"
        grep -E '^test .* \.\.\. FAILED$' "$logs/$name" || true
        awk '/ panicked at |^check.sh: / { left = 5 } left-- > 0 { print "    " substr($0, 1, 300) }' "$logs/$name" | head -n 60
    done <"$1"
}

# A test waits about as long as it works, so some programs run at once: each has servers and folders of its own. More of them
# than this end no sooner on two cores, but each test waits longer for its answers.
run_programs() {
    local failed=0
    logs=$(mktemp -d)
    # In seconds; the longest takes ten minutes.
    TEST_LIMIT=${TEST_LIMIT:-3000}
    export logs TEST_LIMIT
    export -f run_program show_tree
    # Folder of the package, and program; those that take long come first, the longest of all before them.
    sed -n 's/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)".*/\1 \2/p' "$1" |
        awk '{ late = /operator_manager/ ? 0 : /operator_faults|operator_survival/ ? 1 : /operator_|up_survival|verbs/ ? 2 : 3; print late, $0 }' | sort -s -k1,1n | cut -d' ' -f2- >"$logs/programs"
    [ -s "$logs/programs" ] || { echo 'check.sh: cargo named no test program' >&2; return 1; }
    # shellcheck disable=SC2016 # the inner shell's words
    xargs -P "${TEST_JOBS:-3}" -n 2 bash -c 'run_program "$0" "$1"' <"$logs/programs" || failed=1
    if [ -s "$logs/failed" ]; then
        run_again
        show_failures "$logs/first" >&2
        if [ -s "$logs/failed" ]; then
            printf '\ncheck.sh: failed:\n' >&2
            cat "$logs/failed" >&2
        else
            failed=0
            unstable=$(cat "$logs/unstable")
        fi
    fi
    rm -rf "$logs"
    return "$failed"
}

run_tests() {
    local messages failed=0
    messages=$(mktemp)
    # Everything is compiled once, vmctl too: a plain build has other features and would compile all of it twice.
    # Fail points are compiled in: the tests kill the operator at named points.
    cargo test --workspace --all-features --locked --no-run --message-format=json-render-diagnostics >"$messages"
    prepare_control_plane
    cargo test --workspace --all-features --locked --doc || failed=1
    run_programs "$messages" || failed=1
    rm -f "$messages"
    return "$failed"
}

# The seeds that once failed, then many others, on every core. Compiles nothing that the tests do not need too.
run_simulation() {
    scripts/sim corpus
    scripts/sim seeds "${SIM_SEEDS:-100000}"
}

run_docs() {
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features --locked
}

run_dependencies() {
    scripts/cargo-deny.sh
}

for stage in "${stages[@]}"; do
    case "$stage" in
        format | lints | simulation | tests | docs | dependencies) ;;
        *)
            echo "check.sh: no stage '$stage'; there are: format lints simulation tests docs dependencies" >&2
            exit 2
            ;;
    esac
    say "$stage"
    "run_$stage"
done
say "all stages passed: ${stages[*]}"
if [ -n "$unstable" ]; then
    printf '%s\n' '*** UNSTABLE: these failed at first, and passed by themselves; their first words stand above ***' "$unstable"
fi
