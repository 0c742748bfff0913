#!/usr/bin/env bash
# Builds the images of operator and mock provider from programs compiled on this machine: no base image has to be
# fetched, and none is needed. The same programs as the Dockerfile's, static, one file and the certificate authorities.
#
#   scripts/image.sh [operator|mock-provider]...   both, unless one is named; their names are the last lines printed
#
#   BASE=scratch       another base that the engine has, such as gcr.io/distroless/static-debian12:nonroot
#   PROFILE=release    or dev: compiles faster, is larger
#   TAG=0.1.0          of both images
#   ENGINE=docker      or podman
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
base=${BASE:-scratch}
profile=${PROFILE:-release}
tag=${TAG:-$version}
engine=${ENGINE:-docker}
authorities=(/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem)

# Nobody edits and nobody debugs what is in an image.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0

say() { echo "image.sh: $*" >&2; }
die() { say "$*"; exit 1; }

# compile PACKAGE PROGRAM [OPTION]...: prints where the program is.
compile() {
    local package=$1 program=$2 target folder
    shift 2
    target=$(rustc -vV | sed -n 's/^host: //p')
    # The target is named so that build scripts and macros, which run here, stay dynamic.
    RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --profile "$profile" --target "$target" \
        --package "$package" --bin "$program" "$@" >&2
    folder=$profile
    [ "$profile" != dev ] || folder=debug
    echo "${CARGO_TARGET_DIR:-target}/$target/$folder/$program"
}

# build IMAGE PROGRAM FILE: an image with that one program.
build() {
    local image=$1 program=$2 file=$3 context authority
    context=$(mktemp -d)
    # It runs in a subshell of its own, which ends with it.
    # shellcheck disable=SC2064 # this folder, whatever the name means later
    trap "rm -rf '$context'" EXIT
    mkdir -p "$context/root/etc/ssl/certs"
    cp "$file" "$context/root/$program"
    for authority in "${authorities[@]}"; do
        [ ! -f "$authority" ] || { cp "$authority" "$context/root/etc/ssl/certs/ca-certificates.crt"; break; }
    done
    [ -f "$context/root/etc/ssl/certs/ca-certificates.crt" ] || die "found no certificate authorities on this machine"
    cat >"$context/Dockerfile" <<END
FROM $base
COPY root/ /
USER 65532:65532
ENTRYPOINT ["/$program"]
END
    "$engine" build --quiet --tag "$image" "$context" >/dev/null
    say "$image: $("$engine" image inspect --format '{{.Size}}' "$image" | awk '{ printf "%.1f MB", $1 / 1e6 }') on $base"
    echo "$image"
}

[ $# -gt 0 ] || set -- operator mock-provider
images=()
for target in "$@"; do
    case "$target" in
        operator)
            file=$(compile vmoperator vmoperator --no-default-features)
            images+=("$(build "vmoperator:$tag" vmoperator "$file")")
            ;;
        mock-provider)
            file=$(compile mock-provider mock-provider)
            images+=("$(build "mock-provider:$tag" mock-provider "$file")")
            ;;
        *) die "no target '$target'; there are: operator mock-provider" ;;
    esac
done
printf '%s\n' "${images[@]}"
