#!/usr/bin/env bash
# Strangers' opinions: kube-score on everything that `kubectl kustomize` makes of config/, actionlint on the workflow.
# Go builds both at pinned versions, once, into the target folder (minutes, the first time). Fails where a linter finds
# something, and where it cannot be had: what was not looked at is not passed.
#
#   scripts/lint-manifests.sh
#   KUBECTL=path/to/kubectl    the one that renders; else that on the PATH, else that of vmctl's cache
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$(realpath -m "${CARGO_TARGET_DIR:-target}")/tools/go
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What kube-score asks for and we do not do:
ignored=(
    container-image-pull-policy                  # tags name versions and never move; kind loads images and cannot pull
    container-ephemeral-storage-request-and-limit # the root is read-only; where kubelets do not count it, nothing would start
    deployment-replicas                          # one by default, two in overlays/ha
    deployment-strategy                          # the mock keeps its VMs in one pod: two must not answer at once
    pod-probes-identical                         # of the mock, which is ready when it lives
)
# An egress policy needs to know where the clouds are; overlays/hardened has one.
without_egress=(default overlays/dev overlays/ha overlays/namespaced)
folders=("${without_egress[@]}" overlays/hardened mock-provider samples quota)

# program NAME MODULE VERSION: prints where it is; builds it first if it is not there.
program() {
    local file=$tools/$1-$3
    if [ ! -x "$file" ]; then
        command -v go >/dev/null || { echo "lint-manifests.sh: Go is missing; it builds $1" >&2; return 1; }
        mkdir -p "$tools"
        GOBIN=$work/bin CGO_ENABLED=0 go install -trimpath "$2@$3" >&2
        mv "$work/bin/$1" "$file"
    fi
    echo "$file"
}

kubectl=${KUBECTL:-$(command -v kubectl || ls "${XDG_CACHE_HOME:-$HOME/.cache}"/vmctl/control-plane/*/kubectl 2>/dev/null | tail -n 1)}
[ -n "$kubectl" ] || { echo 'lint-manifests.sh: kubectl is missing: put it on the PATH, or run vmctl up once' >&2; exit 6; }
score=$(program kube-score github.com/zegl/kube-score/cmd/kube-score v1.20.0)
lint=$(program actionlint github.com/rhysd/actionlint/cmd/actionlint v1.7.7)

failed=0
fine=0
for folder in "${folders[@]}"; do
    "$kubectl" kustomize "config/$folder" >"$work/rendered.yaml"
    flags=()
    for test in "${ignored[@]}"; do flags+=(--ignore-test "$test"); done
    [[ " ${without_egress[*]} " != *" $folder "* ]] || flags+=(--ignore-test pod-networkpolicy)
    # Its exit code tells of critical findings alone.
    "$score" score --output-format ci "${flags[@]}" "$work/rendered.yaml" >"$work/said" || true
    found=$(grep -cE '^\[(WARNING|CRITICAL)\]' "$work/said" || true)
    fine=$((fine + $(grep -c '^\[OK\]' "$work/said" || true)))
    echo "kube-score: config/$folder: $found found"
    if [ "$found" -gt 0 ]; then
        grep -E '^\[(WARNING|CRITICAL)\]' "$work/said"
        failed=1
    fi
done
echo "kube-score: $fine judgements were fine"
[ "$fine" -gt 0 ] || failed=1
"$lint" .github/workflows/*.yml && echo 'actionlint: nothing found' || failed=1
exit "$failed"
