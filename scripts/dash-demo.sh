#!/usr/bin/env bash
# Shows the dashboard in a real terminal (tmux) against a running environment, and keeps what the screen showed:
# 50 machines are made, the provider is throttled, the leader is killed, one machine is deleted through the dialog.
# Each step checks what the screen says and fails if it does not.
#
#   scripts/dash-demo.sh [FOLDER]        captures go to FOLDER (default target/dash-demo)
#   PICTURE=docs/dash.svg scripts/dash-demo.sh     and the busiest moment is drawn into that file
#   VMCTL=path/to/vmctl                  another build than target/debug/vmctl
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-target/dash-demo}
vmctl=$(realpath "${VMCTL:-target/debug/vmctl}")
if ! command -v tmux >/dev/null; then
    echo "dash-demo.sh: tmux is missing: apt-get install tmux" >&2
    exit 6
fi
if [ ! -x "$vmctl" ]; then
    echo "dash-demo.sh: $vmctl is missing: cargo build --bin vmctl" >&2
    exit 6
fi
mkdir -p "$out"

XDG_STATE_HOME=$(mktemp -d)
export XDG_STATE_HOME
unset VMCTL_ENV
tmux=(tmux -L "dash-demo-$$" -f /dev/null)
finish() {
    "${tmux[@]}" kill-server 2>/dev/null || true
    "$vmctl" down --quiet || true
    rm -rf "$XDG_STATE_HOME"
}
trap finish EXIT

say() { printf '%3s s  %s\n' "$SECONDS" "$1"; }
screen() { "${tmux[@]}" capture-pane -p -t dash; }
keys() { "${tmux[@]}" send-keys -t dash "$@"; }
keep() { screen >"$out/$1.txt"; }
# Waits until the screen says something.
until_says() {
    local look
    for look in $(seq 1 600); do
        if grep -qE -- "$1" <<<"$(screen)"; then return; fi
        sleep 0.2
    done
    echo "dash-demo.sh: after $look looks the screen does not say: $1" >&2
    screen >&2
    exit 1
}
machines() {
    local number
    for number in $(seq "$2" "$3"); do
        printf '{"apiVersion":"compute.example.com/v1","kind":"VirtualMachine","metadata":{"name":"%s-%02d","namespace":"default"},"spec":{"image":"ubuntu-22.04","cpu":2,"memory":"4Gi"}}\n' "$1" "$number"
    done | "$vmctl" kubectl apply -f - >/dev/null
}
field() { "$vmctl" status -o json | tr ',' '\n' | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -1; }

say "an environment comes up"
"$vmctl" up --quiet >/dev/null
"${tmux[@]}" new-session -d -s dash -x 120 -y 40 "$vmctl dash; echo ended with \$?; sleep 600"
until_says 'vmoperator.* leads'
until_says '0 machines'
keep 1-at-rest

say "50 machines are made"
machines web 1 50 &
until_says 'Provisioning [0-9]'
keep 2-creating
until_says '50 machines .*Running 50'
wait
keep 3-running

say "the provider is throttled to 2 calls a second, and 15 more are made"
admin=$(field admin)
curl -sSf -X PATCH -H 'content-type: application/json' -d '{"rateLimit":2,"rateBurst":2}' "$admin/settings" >/dev/null
machines slow 1 15
until_says 'RateLimited'
keep 4-throttled
if [ -n "${PICTURE:-}" ]; then
    "$vmctl" dash --svg --duration 45s >"$PICTURE" &
    picture=$!
fi
curl -sSf -X PATCH -H 'content-type: application/json' -d '{"rateLimit":0}' "$admin/settings" >/dev/null

say "the leader is killed"
leader=$(screen | sed -n 's/.* \(vmoperator[^ ]*\) leads.*/\1/p' | head -1)
pid=$("$vmctl" status -o json | tr '{' '\n' | grep -A1 '"name":"operator"' | sed -n 's/.*"pid":\([0-9]*\).*/\1/p' | head -1)
kill -9 "$pid"
until_says 'lost|nobody leads|does not lead'
keep 5-leader-killed
until_says 'new leader'
until_says 'vmoperator.* leads'
new=$(screen | sed -n 's/.* \(vmoperator[^ ]*\) leads.*/\1/p' | head -1)
if [ "$leader" = "$new" ]; then
    echo "dash-demo.sh: $leader still leads" >&2
    exit 1
fi
until_says '65 machines .*Running 65'
keep 6-new-leader
if [ -n "${PICTURE:-}" ]; then wait "$picture"; fi

say "one is reconciled at once; a deletion is asked for, and left by the focus on Cancel"
keys '/'
keys -l 'web-07'
keys Enter
until_says 'web-07 1 of 65'
keys R
until_says 'its reconcile was asked for'
keep 7-reconciled
if ! grep -q 'compute.example.com/reconcile-at: ' <<<"$("$vmctl" get vm web-07 -o yaml)"; then
    echo "dash-demo.sh: web-07 was not written" >&2
    exit 1
fi
keys C-d
until_says 'Delete this machine'
keep 8-asked
keys Enter
sleep 1
"$vmctl" get vm web-07 >/dev/null
say "and asked again, and confirmed"
keys C-d Tab
keep 9-confirming
keys Enter
until_says 'its deletion was asked for|64 machines'
keys Escape
until_says '64 machines'
if "$vmctl" get vm web-07 >/dev/null 2>&1; then
    echo "dash-demo.sh: web-07 is still there" >&2
    exit 1
fi

say "detail, logs and help, and smaller screens"
keys 6
keep 10-detail
keys 5
keep 11-logs
keys '?'
keep 12-help
keys Escape 1
"${tmux[@]}" resize-window -t dash -x 80 -y 24
sleep 1
keep 13-80x24
"${tmux[@]}" resize-window -t dash -x 40 -y 10
sleep 1
keep 14-40x10
"${tmux[@]}" resize-window -t dash -x 120 -y 40
keys q
until_says 'ended with 0'
say "done: $out"
