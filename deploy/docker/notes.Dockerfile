# examples/notes.cc as a container: docker build -f deploy/docker/notes.Dockerfile -t notes .

ARG DEBIAN=debian:12-slim

FROM ${DEBIAN} AS builder
WORKDIR /build
# Before the sources, so that a change of them does not reinstall the packages.
COPY scripts/setup scripts/setup
RUN scripts/setup build && rm -rf /var/lib/apt/lists/*
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY include include
COPY src src
COPY examples examples
RUN cmake --preset run -D H2SERVER_EXAMPLES=ON && \
    cmake --build --preset run --target example_notes && \
    strip build/release/examples/notes

FROM ${DEBIAN}
# The libraries are linked by the program.
RUN apt-get update -qq && \
    apt-get install --yes -qq --no-install-recommends \
        libssl3 libcrypt1 libnghttp2-14 liburing2 libfmt9 libstdc++6 zlib1g libbrotli1 libzstd1 \
        libsqlite3-0 && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*.log /var/log/apt && \
    useradd --system --uid 10001 --user-group --home-dir /srv --shell /usr/sbin/nologin notes && \
    install --directory --owner=notes --group=notes /srv/data
COPY --from=builder /build/build/release/examples/notes /usr/local/bin/notes

EXPOSE 8080
VOLUME ["/srv/data"]
USER notes
WORKDIR /srv
ENTRYPOINT ["/usr/local/bin/notes", "8080", "/srv/data/notes.db", "0.0.0.0"]
