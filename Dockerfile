# Images of the operator and of the mock provider: one static program each, no shell, no package, user 65532.
#
#   docker build --target operator --tag vmoperator:0.1.0 .
#   docker build --target mock-provider --tag mock-provider:0.1.0 .
#
# Works with BuildKit and with the classic builder, which knows no cache mounts; scripts/dockerfile.sh shows it. Without
# a registry that has the base images: scripts/image.sh, or bases made of this machine: scripts/local-bases.sh.
# A release pins both by digest: --build-arg BASE_IMAGE=NAME@sha256:…
ARG RUST_IMAGE=docker.io/library/rust:1.91-bookworm
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot

FROM ${RUST_IMAGE} AS source
# dev compiles faster and is larger.
ARG PROFILE=release
WORKDIR /source
COPY . .
# The C library is linked in: the base needs none. It resolves names without shared libraries, too.
ENV PROFILE=${PROFILE} RUSTFLAGS="-C target-feature=+crt-static" CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0

# The target is named so that build scripts and macros, which run here, stay dynamic. What was compiled on the way goes
# again: the layer would keep it. Each image has a stage of its own, so that neither waits for the other's program.
FROM source AS build-mock-provider
RUN target="$(rustc -vV | sed -n 's/^host: //p')" && \
    cargo build --profile "$PROFILE" --locked --target "$target" --package mock-provider --bin mock-provider && \
    mkdir /out && cp "target/$target"/*/mock-provider /out/ && rm -rf target

FROM ${BASE_IMAGE} AS mock-provider
COPY --from=build-mock-provider /out/mock-provider /mock-provider
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/mock-provider"]

FROM source AS build-operator
RUN target="$(rustc -vV | sed -n 's/^host: //p')" && \
    cargo build --profile "$PROFILE" --locked --target "$target" --package vmoperator --no-default-features --bin vmoperator && \
    mkdir /out && cp "target/$target"/*/vmoperator /out/ && rm -rf target

FROM ${BASE_IMAGE} AS operator
COPY --from=build-operator /out/vmoperator /vmoperator
USER 65532:65532
EXPOSE 8081 8443
ENTRYPOINT ["/vmoperator"]
