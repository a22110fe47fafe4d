# The image of the agent and of prefetchctl: two programs, the libraries that they link, CA roots. No shell.
#
#   docker build -t registry.example/prefetchd .          compiles everything
#   deploy/image/build OUT                                 the same from programs that were built and tested before
#
# BuildKit, buildah and Docker's legacy builder all build it. The legacy builder builds every stage, so each must succeed.
# Debian 12, or 13, whose image is 2 MB larger compressed (19 instead of 17).
ARG BASE=docker.io/library/debian:bookworm-slim

FROM ${BASE} AS compile
COPY . /src
WORKDIR /src
RUN tests/run --setup build && \
    meson setup /build --buildtype=release -Doptimization=2 -Dtests=false && \
    ninja -C /build cmd/prefetchd/prefetchd cmd/prefetchctl/prefetchctl && \
    deploy/image/collect /rootfs /build/cmd/prefetchd/prefetchd /build/cmd/prefetchctl/prefetchctl

# deploy/image/build takes this stage by itself, with programs that were built before.
FROM scratch
COPY --from=compile /rootfs /
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PATH=/usr/bin
LABEL org.opencontainers.image.title="prefetchd" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.description="Keeps a declared list of images on a Kubernetes node"
ENTRYPOINT ["/usr/bin/prefetchd"]
