#!/usr/bin/env bash
# Builds both targets of the Dockerfile with each builder that the engine has, and checks what came out: one static
# program, no shell, not root, and it runs on a root that cannot be written to.
#
#   scripts/dockerfile.sh                 on the bases that the Dockerfile names; the engine fetches what it lacks
#   BASES=local scripts/dockerfile.sh     on bases made of this machine, without a network: scripts/local-bases.sh
#
#   RUST_IMAGE=… BASE_IMAGE=…             on these
#   BUILDERS='classic buildkit'           only some
#   PROFILE=release                       or dev: compiles faster, is larger
#   TAG=dockerfile                        of the images; the last builder's stay
#   ENGINE=docker                         another docker, or podman (its own builder is taken for the classic one)
#   VMCTL=target/debug/vmctl              runs the operator's image against a real API server, too
#
# Ends with 6 where it cannot build, and says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

engine=${ENGINE:-docker}
profile=${PROFILE:-release}
tag=${TAG:-dockerfile}
vmctl=${VMCTL:-${CARGO_TARGET_DIR:-target}/debug/vmctl}
work=$(mktemp -d)
plane=''
failed=0

say() { printf 'dockerfile.sh: %s\n' "$*" >&2; }
cannot() {
    printf '\n*** The Dockerfile was NOT BUILT: %s ***\n\n' "$*" >&2
    exit 6
}
# verdict WHAT COMMAND...: whether it succeeds, in a line.
verdict() {
    local what=$1 status
    shift
    # Not in a condition: there `set -e` would not hold inside the function.
    set +e
    (
        set -e
        "$@"
    ) >"$work/said" 2>&1
    status=$?
    set -e
    if [ "$status" -eq 0 ]; then
        printf 'PASS  %s\n' "$what"
    else
        printf 'FAIL  %s\n' "$what"
        sed 's/^/      /' "$work/said"
        failed=1
    fi
}
no() {
    echo "$*"
    return 1
}
finish() {
    local status=$?
    [ ! -s "$work/containers" ] || xargs "$engine" rm --force <"$work/containers" >/dev/null 2>&1 || true
    if [ -n "$plane" ]; then
        kill "$plane" 2>/dev/null || true
        # It has stopped its children when it ends.
        while read -r _ <&3; do :; done
    fi
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT

# --- what is built on ---

command -v "$engine" >/dev/null || cannot "there is no $engine"
"$engine" info >/dev/null 2>&1 || cannot "no engine answers to $engine"
network=()
if [ "${BASES:-}" = local ]; then
    bases=$(ENGINE=$engine scripts/local-bases.sh) || cannot 'no base images could be made; see above'
    eval "$bases"
    # They hold everything.
    network=(--network none)
fi
default() { sed -n "s/^ARG $1=//p" Dockerfile; }
rust=${RUST_IMAGE:-$(default RUST_IMAGE)}
base=${BASE_IMAGE:-$(default BASE_IMAGE)}
for image in "$rust" "$base"; do
    [ "$image" != scratch ] || continue
    "$engine" image inspect "$image" >/dev/null 2>&1 || timeout 900 "$engine" pull --quiet "$image" >&2 ||
        cannot "$image is not here and cannot be fetched; name others with RUST_IMAGE and BASE_IMAGE, or BASES=local"
done

# Sets build to the command of a builder; fails where the engine has none.
use() {
    case "$1" in
        classic) build=(env DOCKER_BUILDKIT=0 "$engine" build) ;;
        buildkit)
            if "$engine" buildx version >/dev/null 2>&1; then
                build=("$engine" buildx build --load)
            else
                build=(env DOCKER_BUILDKIT=1 "$engine" build)
            fi
            # A client that needs a component for it says so at once.
            echo 'FROM scratch' | "${build[@]}" --quiet - >"$work/said" 2>&1 ||
                grep -qi 'no image was generated\|empty' "$work/said"
            ;;
        *) cannot "no builder '$1'; there are: classic buildkit" ;;
    esac
}

# --- what is looked at ---

has_one_program() {
    local program=$1 container others
    container=$("$engine" create "$2")
    "$engine" export "$container" >"$work/root.tar"
    "$engine" rm "$container" >/dev/null
    # Regular files that somebody may execute; the engine adds an empty one of its own. Scripts that a Debian has in /etc
    # are none without a shell.
    tar -tvf "$work/root.tar" | awk '$1 ~ /^-.*x/ && $3 > 0 { print $NF }' | sed 's|^\./||' | grep -v '^etc/' >"$work/programs"
    grep -qx "$program" "$work/programs" || no "no /$program: $(cat "$work/programs")"
    others=$(grep -vx "$program" "$work/programs" || true)
    [ -z "$others" ] || no "other programs: $others"
    if tar -tf "$work/root.tar" | grep -E '(^|/)(ba|da|a|z)?sh$|(^|/)busybox$|\.so(\.[0-9]+)*$'; then
        no 'a shell or a library'
    fi
}
is_static() {
    tar -C "$work" -xf "$work/root.tar" "$1"
    if command -v readelf >/dev/null; then
        if readelf --program-headers "$work/$1" | grep INTERP; then no 'it asks for a loader'; fi
    else
        ldd "$work/$1" 2>&1 | grep 'statically linked\|not a dynamic' || no 'it asks for libraries'
    fi
}
is_nobodys() {
    local user
    user=$("$engine" image inspect --format '{{ .Config.User }}' "$1")
    [ "$user" = 65532:65532 ] || no "user $user"
}
has_no_shell() {
    local shell
    for shell in sh bash /bin/sh /busybox/sh; do
        if "$engine" run --rm --entrypoint "$shell" "$1" -c true; then no "it runs $shell"; fi
    done
}
bounds=(--read-only --cap-drop ALL --security-opt no-new-privileges)
runs() {
    "$engine" run --rm --network none "${bounds[@]}" "$@"
}
eventually() {
    local look
    for look in $(seq 1 300); do
        if "$@"; then return; fi
        sleep 0.2
    done
    no "not after $look looks: $*"
}
serves() {
    local container address
    container=$("$engine" run --detach --publish 127.0.0.1::8081 "${bounds[@]}" "$1" --listen 0.0.0.0:8080 --admin-listen 0.0.0.0:8081)
    echo "$container" >>"$work/containers"
    address=$("$engine" port "$container" 8081/tcp | head -n 1)
    eventually curl --silent --fail --max-time 5 "http://$address/healthz" || { "$engine" logs "$container"; return 1; }
    "$engine" rm --force "$container" >/dev/null
}
# A control plane of this machine with the operator's definitions and rights.
start_plane() {
    local ready
    mkdir -m 755 "$work/plane"
    exec 3< <(exec "$vmctl" control-plane --dir "$work/plane/dir" 2>"$work/words")
    plane=$!
    read -r ready <&3 || { cat "$work/words" >&2; say 'the control plane did not come up'; exit 1; }
    kubeconfig=$(sed -n 's/.*"kubeconfig":"\([^"]*\)".*/\1/p' <<<"$ready")
    kubectl=$(sed -n 's/.*"kubectl":"\([^"]*\)".*/\1/p' <<<"$ready")
    # For the container's user.
    install -m 644 "$kubeconfig" "$work/plane/kubeconfig"
    "$kubectl" --kubeconfig "$kubeconfig" apply -f config/crd -f config/rbac >/dev/null
}
is_ready() {
    local container
    container=$("$engine" run --detach --network host --volume "$work/plane/kubeconfig:/kubeconfig:ro" "${bounds[@]}" "$1" \
        --kubeconfig /kubeconfig --metrics-bind-address 127.0.0.1:0 --health-probe-bind-address 127.0.0.1:0)
    echo "$container" >>"$work/containers"
    eventually leads "$container" || { "$engine" logs "$container"; return 1; }
    "$engine" rm --force "$container" >/dev/null
}
leads() {
    local holder
    holder=$("$kubectl" --kubeconfig "$kubeconfig" -n vmoperator-system get lease vmoperator-leader -o 'jsonpath={.spec.holderIdentity}') &&
        [ -n "$holder" ] && [ "$("$engine" inspect --format '{{ .State.Running }}' "$1")" = true ]
}

# --- the run ---

chmod 755 "$work"
built=0
for builder in ${BUILDERS:-classic buildkit}; do
    if ! use "$builder"; then
        printf '\n*** NOT BUILT with %s: this engine has no such builder ***\n' "$builder" >&2
        sed 's/^/    /' "$work/said" >&2
        continue
    fi
    for target in mock-provider operator; do
        program=$target
        [ "$target" != operator ] || program=vmoperator
        image=$program:$tag
        say "$builder: $target on $base, built on $rust"
        began=$SECONDS
        "${build[@]}" "${network[@]}" --target "$target" --tag "$image" --build-arg "RUST_IMAGE=$rust" \
            --build-arg "BASE_IMAGE=$base" --build-arg "PROFILE=$profile" . >"$work/build" 2>&1 || {
            tail -n 40 "$work/build" >&2
            say "$builder does not build $target"
            exit 1
        }
        built=$((built + 1))
        printf 'BUILT %s with %s in %d s: %s\n' "$image" "$builder" $((SECONDS - began)) \
            "$("$engine" image inspect --format '{{ .Size }}' "$image" | awk '{ printf "%.1f MB", $1 / 1e6 }')"
        verdict "$image holds one program and no shell" has_one_program "$program" "$image"
        verdict "$image: the program is static" is_static "$program"
        verdict "$image runs as 65532:65532" is_nobodys "$image"
        verdict "$image starts no shell" has_no_shell "$image"
        verdict "$image says its version on a read-only root" runs "$image" --version
    done
    verdict "mock-provider:$tag serves on a read-only root, without rights" serves "mock-provider:$tag"
    if [ -x "$vmctl" ]; then
        [ -n "$plane" ] || start_plane
        verdict "vmoperator:$tag leads on a read-only root, without rights" is_ready "vmoperator:$tag"
        "$kubectl" --kubeconfig "$kubeconfig" -n vmoperator-system delete lease vmoperator-leader --ignore-not-found >/dev/null
    else
        printf '\n*** The operator was NOT RUN: %s is missing (cargo build --bin vmctl) ***\n' "$vmctl" >&2
    fi
done
[ "$built" -gt 0 ] || cannot 'the engine has none of the builders'
exit "$failed"
