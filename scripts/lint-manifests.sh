#!/usr/bin/env bash
# Lints by strangers: kube-score on everything that `kubectl kustomize` makes of config/, actionlint on the workflow.
# Both are built by Go at a pinned version, once, into target/tools. What could not be checked is said at the end, in
# capitals; it is never called passed.
#
#   scripts/lint-manifests.sh
#   REQUIRED=1 scripts/lint-manifests.sh    fails where a linter cannot be had
set -euo pipefail
cd "$(dirname "$0")/.."

kube_score=v1.20.0
actionlint=v1.7.12
# What is not heeded, and why.
except=()
tools=$PWD/${CARGO_TARGET_DIR:-target}/tools/go
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

skipped() {
    printf '\n!! NOT CHECKED: %s\n!! Why: %s\n\n' "$1" "$2" >&2
    [ -z "${REQUIRED:-}" ] || failed=1
}

# program NAME MODULE VERSION: prints where it is; builds it first if it is not there.
program() {
    local file=$tools/$1-$3
    if [ ! -x "$file" ]; then
        command -v go >/dev/null || { echo 'there is no Go' >&2; return 1; }
        mkdir -p "$tools"
        GOBIN=$work/bin GOFLAGS=-buildvcs=false CGO_ENABLED=0 go install -trimpath "$2@$3" >&2 || return 1
        mv "$work/bin/$1" "$file"
    fi
    echo "$file"
}

# Renders every folder that can be installed, each into a file.
render() {
    local kubectl=${KUBECTL:-kubectl} folder name
    command -v "$kubectl" >/dev/null || { echo "there is no $kubectl" >&2; return 1; }
    for folder in default overlays/dev overlays/ha overlays/hardened overlays/namespaced mock-provider samples quota; do
        name=${folder//\//-}
        "$kubectl" kustomize "config/$folder" >"$1/$name.yaml" || return 1
    done
}

mkdir "$work/rendered"
if ! linter=$(program kube-score github.com/zegl/kube-score/cmd/kube-score "$kube_score" 2>"$work/why"); then
    skipped 'the manifests by kube-score' "$(tail -n 3 "$work/why")"
elif ! render "$work/rendered" 2>"$work/why"; then
    skipped 'the manifests by kube-score' "$(tail -n 3 "$work/why")"
else
    # One at a time: objects of one name in two overlays are different objects.
    for file in "$work"/rendered/*.yaml; do
        name=$(basename "$file" .yaml)
        if "$linter" score --output-format ci "${except[@]}" "$file" >"$work/found" 2>&1 && ! grep -q '^\[\(WARNING\|CRITICAL\)\]' "$work/found"; then
            echo "kube-score $kube_score: $name: nothing found"
        else
            echo "kube-score $kube_score: $name:"
            grep -v '^\[\(OK\|SKIPPED\)\]' "$work/found" || true
            failed=1
        fi
    done
fi

if ! linter=$(program actionlint github.com/rhysd/actionlint/cmd/actionlint "$actionlint" 2>"$work/why"); then
    skipped 'the workflow by actionlint' "$(tail -n 3 "$work/why")"
elif "$linter" .github/workflows/*.yml; then
    echo "actionlint $actionlint: nothing found"
else
    failed=1
fi
exit "$failed"
